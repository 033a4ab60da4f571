"""Which concepts are below which, as arrays: what is below a concept is found in microseconds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neartag.linalg import csr
from neartag.vocabulary import hierarchy_kernels


class Hierarchy:
    """The concepts just below each concept, by number."""

    def __init__(self, parents: Sequence[Sequence[int]]) -> None:
        """Take the numbers of the concepts just above each concept."""
        above = np.array([parent for own in parents for parent in own], np.int64)
        below = np.repeat(np.arange(len(parents), dtype=np.int32), [len(own) for own in parents])
        self._indices = below[np.argsort(above, kind="stable")]
        self._indptr = csr.pointer(np.bincount(above, minlength=len(parents)))  # (C + 1,)

    def below(self, concept: int) -> np.ndarray:
        """Return the numbers of a concept and of all below it, however far, each once."""
        found, seen = np.empty(len(self._indptr) - 1, np.int32), np.zeros(len(self._indptr) - 1, np.uint8)
        count = hierarchy_kernels.find_below(self._indptr, self._indices, concept, seen, found)
        return found[:count]
