"""The numba kernel of the review: how near documents are to the other documents of a label.

It releases the GIL and is compiled once for the types named. A test holds it against plain numpy lines.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, CSR, DOUBLE, POINTER, kernel

MIN_SQUARED_LENGTH = 1e-9  # of a sum of unit rows: what is shorter counts as nothing


@kernel(DOUBLE(CSR, COUNT, DOUBLE[::1]))
def _dot(rows, i, total):
    """The product of row i with a dense vector."""
    indptr, indices, data = rows
    out = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        out += data[p] * total[indices[p]]
    return out


@kernel(types.void(CSR, CSR, COUNT, POINTER, POINTER, DOUBLE[::1]))
def centroid_cosines(rows, members, width, pointer, documents, out):
    """The cosine of documents to the sum of a label's other documents; 0 where there is none.

    `members` (L, n) has the documents of each label. Those asked for with label l are documents[pointer[l]…].
    """
    indptr, indices, data = rows
    of_label, numbers, _ = members
    total, touched = np.zeros(width), np.empty(width, np.int64)
    noted, is_own = np.zeros(width, np.bool_), np.zeros(indptr.shape[0] - 1, np.bool_)
    for label in range(pointer.shape[0] - 1):
        if pointer[label] == pointer[label + 1]:
            continue
        count, length = 0, 0.0
        for m in range(of_label[label], of_label[label + 1]):
            member = numbers[m]
            is_own[member] = True
            for p in range(indptr[member], indptr[member + 1]):
                feature = indices[p]
                total[feature] += data[p]
                if not noted[feature]:
                    noted[feature] = True
                    touched[count] = feature
                    count += 1
        for t in range(count):
            length += total[touched[t]] * total[touched[t]]
        for a in range(pointer[label], pointer[label + 1]):
            document = documents[a]
            dot, rest = _dot(rows, document, total), length
            if is_own[document]:
                square = 0.0
                for p in range(indptr[document], indptr[document + 1]):
                    square += np.float64(data[p]) * data[p]
                rest -= 2 * dot - square
                dot -= square
            out[a] = dot / np.sqrt(rest) if rest > MIN_SQUARED_LENGTH else 0.0
        for t in range(count):
            total[touched[t]], noted[touched[t]] = 0.0, False
        for m in range(of_label[label], of_label[label + 1]):
            is_own[numbers[m]] = False
