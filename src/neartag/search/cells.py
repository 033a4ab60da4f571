"""Cells: embedded points parted by where they lie, so that a search need only look at those of the nearest cells.

Looking at every point is what prediction in a large cluster costs. About √n centres are found by k-means on a sample; a
query looks at the points of a few cells, some hundredths of all, and finds nearly all of its neighbours there. Centres
stay what they were in training: which points a query looks at depends on them and on the points that there are, not on
when these came.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neartag.core.threads import run_pieces, single_threaded_blas
from neartag.linalg import csr
from neartag.search import cell_kernels
from neartag.search.exact import nearest, nearest_to_one

# Points from which on cells pay, and cells looked at for a query.
FEWEST, PROBES = 2000, 8
# Points that k-means looks at for each cell at most, and its rounds.
SAMPLE, ROUNDS = 64, 5
# A centre is the mean of so many points at least: the place of a single one could not be forgotten.
LEAST = 5

NONE = np.empty(0, np.float32)
# Queries answered at once: several look into a cell, whose points are then multiplied with all of these. Fewer where
# cells are so large, as of points all alike, that there would be more products than this.
QUERIES, PRODUCTS = 1024, 2**23


@dataclass
class Cells:
    """Centres, and which points are in whose cell; the points are in the order of their cells."""

    centres: np.ndarray  # (cells, dim) float32
    pointer: np.ndarray  # (cells + 1,) int64: cell c has the points pointer[c]…pointer[c + 1]

    @cached_property
    def offset(self) -> np.ndarray:
        """‖c‖²/2 of each centre (cells,), for Euclidean distances."""
        return _half_squares(self.centres)

    def nearest(
        self, queries: np.ndarray, points: np.ndarray, count: int, threads: int, *, offset: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what `vote.nearest` does, of the points in each query's nearest cells; of all where these are few."""
        m, probes = len(queries), min(PROBES, len(self.centres))
        ids, near = np.empty((m, count), np.int32), np.empty((m, count), np.float32)
        lifted = NONE if offset is None else offset

        widest = int(np.sort(np.diff(self.pointer))[-probes:].sum())
        at_once = max(1, min(QUERIES, PRODUCTS // max(1, widest)))

        def part(start: int, stop: int) -> None:
            for first in range(start, stop, at_once):
                rows = slice(first, min(first + at_once, stop))
                arguments = queries[rows], points, lifted, routes[rows], self.pointer
                cell_kernels.cells_top(*arguments, ids[rows], near[rows])

        if m == 1:
            (cells,), _ = nearest_to_one(queries[0], self.centres, probes, offset=self.offset)
            cell_kernels.cell_top(queries[0], points, lifted, cells, self.pointer, ids[0], near[0])
        else:
            routes, _ = nearest(queries, self.centres, probes, threads, offset=self.offset)
            run_pieces(part, m, threads, min_size=QUERIES)
        few = np.flatnonzero(ids[:, -1] < 0)
        if len(few):
            with single_threaded_blas():
                ids[few], near[few] = nearest(queries[few], points, count, threads, offset=offset)
        return ids, near

    def places(self, points: np.ndarray, threads: int) -> tuple[np.ndarray, Cells]:
        """Return before which of the points each new one goes (m,), at the end of its cell, and the cells then."""
        own = _nearest_centre(points, self.centres, threads)
        more = csr.pointer(np.bincount(own, minlength=len(self.centres)))
        return self.pointer[own + 1], Cells(self.centres, self.pointer + more)

    def fewer(self, stays: np.ndarray) -> Cells:
        """Return the cells of those points that stay (n,)."""
        return Cells(self.centres, csr.pointer(stays)[self.pointer])


def build_cells(points: np.ndarray, threads: int) -> tuple[Cells | None, np.ndarray]:
    """Return the cells of points (n, dim) and the points' order by cells; None where they are too few to be parted."""
    n = len(points)
    if n < FEWEST:
        return None, np.arange(n)
    count = int(np.sqrt(n))
    random = np.random.default_rng(0)  # no seed of the user's: where the centres lie is no part of the method
    sample = points[np.sort(random.choice(n, min(n, SAMPLE * count), replace=False))]
    centres = sample[np.sort(random.choice(len(sample), count, replace=False))]
    for _ in range(ROUNDS):
        own = _nearest_centre(sample, centres, threads)
        sizes = np.bincount(own, minlength=len(centres))
        kept = np.flatnonzero(sizes >= min(LEAST, sizes.max()))
        order = np.argsort(own, kind="stable")
        starts = np.cumsum(sizes) - sizes
        filled = np.flatnonzero(sizes)
        sums = np.zeros_like(centres)
        sums[filled] = np.add.reduceat(sample[order], starts[filled], axis=0)
        centres = sums[kept] / sizes[kept, None].astype(np.float32)
    own = _nearest_centre(points, centres, threads)
    sizes = np.bincount(own, minlength=len(centres))
    pointer = csr.pointer(sizes[sizes > 0])
    return Cells(centres[sizes > 0], pointer), np.argsort(own, kind="stable")


def _nearest_centre(points: np.ndarray, centres: np.ndarray, threads: int) -> np.ndarray:
    with single_threaded_blas():
        return nearest(points, centres, 1, threads, offset=_half_squares(centres))[0][:, 0]


def _half_squares(centres: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", centres, centres) / np.float32(2)
