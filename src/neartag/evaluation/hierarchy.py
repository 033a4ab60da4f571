"""Hierarchical precision, recall and F: a label that is near the right one in the hierarchy is not all wrong.

Each set of labels is completed with all broader concepts of its labels; then the completed sets are compared.
S. Kiritchenko, S. Matwin, F. Famili, "Functional annotation of genes using hierarchical text categorization", 2005.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix

from neartag.evaluation.matches import Matches
from neartag.evaluation.thresholds import figures
from neartag.linalg import csr

_BATCH_ROWS = 4096


def complete_upwards(parents: Sequence[Sequence[int]]) -> csr_matrix:
    """Return which nodes are each node itself or above it, (m, m) of ones; `parents` are numbers of nodes.

    Circles do no harm: all nodes of a circle are above each other.
    """
    counts, columns = [], []
    for node in range(len(parents)):
        above, waiting = {node}, list(parents[node])
        while waiting:
            parent = waiting.pop()
            if parent not in above:
                above.add(parent)
                waiting.extend(parents[parent])
        counts.append(len(above))
        columns.extend(sorted(above))
    pieces = np.ones(len(columns), np.float32), np.array(columns, np.int32), csr.pointer(counts)
    return csr_matrix(pieces, shape=(len(parents), len(parents)))


def hierarchical_figures(matches: Matches, given: np.ndarray, nodes: csr_matrix) -> dict[str, dict[str, float]]:
    """Return hierarchical precision, recall and F1 in percent, over all pairs ("micro") and as means over documents.

    `nodes` (L, m) says which nodes of the hierarchy a label stands for: its own and all above.
    """
    true, found, both = (np.zeros(len(matches.labels)) for _ in range(3))
    for first in range(0, len(matches.labels), _BATCH_ROWS):
        rows = slice(first, first + _BATCH_ROWS)
        answered = csr.from_lists(matches.labels[rows], None, nodes.shape[0], given[rows])
        own, theirs = ((each @ nodes).sign() for each in (matches.truth[rows].astype(np.float32), answered))
        true[rows], found[rows] = np.diff(own.indptr), np.diff(theirs.indptr)
        both[rows] = np.asarray(own.multiply(theirs).sum(axis=1)).ravel()
    averages = {
        "micro": figures(true.sum(), found.sum(), both.sum()),
        "documents": [values.mean() for values in figures(true, found, both)],
    }
    names = ("precision", "recall", "f1")
    return {name: dict(zip(names, map(float, values), strict=True)) for name, values in averages.items()}
