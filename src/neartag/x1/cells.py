"""Cells: embedded points parted by where they lie, so that a search need only look at those of the nearest cells.

Looking at every point is what prediction in a large cluster costs. About √n cells are found by k-means on a sample; a
query looks at the points of a few of them, some hundredths of all, and finds nearly all of its neighbours there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neartag import search_kernels
from neartag.threads import run_ranges
from neartag.x1.vote import nearest

# Points from which on cells pay, and cells looked at for a query.
FEWEST, PROBES = 2000, 8
# Points that k-means looks at for each cell at most, and its rounds.
SAMPLE, ROUNDS = 64, 5
# Points that came later are always looked at; with more than this share of them all cells are made anew.
LATER = 1 / 8

NONE = np.empty(0, np.float32)


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
        """Return what `vote.nearest` does, of the points in each query's nearest cells and those in none."""
        m = len(queries)
        probes = min(PROBES, len(self.centres))
        routes, _ = nearest(queries, self.centres, probes, threads, offset=self.offset)
        ids, near = np.empty((m, count), np.int32), np.empty((m, count), np.float32)
        arguments = queries, points, NONE if offset is None else offset, routes, self.pointer, ids, near
        run_ranges(search_kernels.cell_top, m, threads, *arguments)
        return ids, near

    def outgrown(self, points: int) -> bool:
        """Return whether too many of so many points came after the cells were made."""
        return points - int(self.pointer[-1]) > LATER * points

    def fewer(self, stays: np.ndarray) -> Cells:
        """Return the cells of those points that stay (n,)."""
        return Cells(self.centres, np.concatenate([[0], np.cumsum(stays)])[self.pointer])


def cells_of(points: np.ndarray, threads: int) -> tuple[Cells | None, np.ndarray]:
    """Return the cells of points (n, dim) and the points' order by cells; None where they are too few to be parted."""
    n = len(points)
    if n < FEWEST:
        return None, np.arange(n)
    count = int(np.sqrt(n))
    random = np.random.default_rng(0)  # where cells lie is no part of the method: any of them find the same neighbours
    sample = points[np.sort(random.choice(n, min(n, SAMPLE * count), replace=False))]
    centres = sample[np.sort(random.choice(len(sample), count, replace=False))]
    for _ in range(ROUNDS):
        own = _nearest_centre(sample, centres, threads)
        sizes = np.bincount(own, minlength=count)
        order = np.argsort(own, kind="stable")
        filled = np.flatnonzero(sizes)
        sums = np.add.reduceat(sample[order], (np.cumsum(sizes) - sizes)[filled], axis=0)
        centres = centres.copy()
        centres[filled] = sums / sizes[filled, None]
    own = _nearest_centre(points, centres, threads)
    pointer = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=count))])
    return Cells(centres, pointer), np.argsort(own, kind="stable")


def _nearest_centre(points: np.ndarray, centres: np.ndarray, threads: int) -> np.ndarray:
    return nearest(points, centres, 1, threads, offset=_half_squares(centres))[0][:, 0]


def _half_squares(centres: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", centres, centres) / np.float32(2)
