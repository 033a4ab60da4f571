"""IVF cells: embedded points are divided by where they lie, and a search looks only into the nearest cells.

In a large cluster, prediction would spend most of its time on comparing a query with every point. k-means on a sample
finds about √n centroids (`nlist`). A query compares itself with the points of its `nprobe` nearest cells, some
hundredths of all, and finds nearly all of its neighbours there. Centroids never change after training: which points a
query sees depends on them and on the points that are stored, not on when these were added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from neartag.core.threads import run_pieces, single_threaded_blas
from neartag.linalg import csr
from neartag.linalg.coded_rows import CodedRows, Vectors, float_blocks, float_rows
from neartag.linalg.packing import require
from neartag.search import cell_kernels
from neartag.search.exact import Neighbours, nearest, nearest_to_one

# Points from which on cells pay, and cells that a query looks into: where votes only propose labels, and where they
# decide alone.
MIN_POINTS_FOR_CELLS, NPROBE, NPROBE_TO_DECIDE = 2000, 8, 48
# Points that k-means looks at for each cell at most, and its rounds.
SAMPLE_PER_CELL, KMEANS_ROUNDS = 64, 5
# A centroid is the mean of at least so many points: a mean of one would keep the place of a point that is forgotten.
MIN_POINTS_PER_CENTROID = 5
# Queries answered at once: the points of a cell are multiplied with all queries that look into it. Fewer where cells
# are so large that there would be more products than this.
QUERIES_AT_ONCE, MAX_PRODUCTS = 1024, 2**23

_NO_OFFSET = np.empty(0, np.float32)


@dataclass
class Cells:
    """Centroids, and which points are in whose cell; the points are in the order of their cells."""

    centroids: np.ndarray  # (nlist, dim) float32
    pointer: np.ndarray  # (nlist + 1,) int64: cell c has the points pointer[c]…pointer[c + 1]
    nprobe: int = NPROBE

    @cached_property
    def centroid_offset(self) -> np.ndarray:
        """‖c‖²/2 of each centroid (nlist,), for Euclidean distances."""
        return _half_squares(self.centroids)

    def nearest(
        self,
        queries: np.ndarray,
        points: np.ndarray,
        count: int,
        threads: int,
        *,
        offset: np.ndarray | None = None,
        max_products: int = MAX_PRODUCTS,
    ) -> Neighbours:
        """Return what `exact.nearest` does, of the points in each query's nearest cells; of all where these are few."""
        m, nprobe = len(queries), min(self.nprobe, len(self.centroids))
        ids, products = np.empty((m, count), np.int32), np.empty((m, count), np.float32)
        own_offset = _NO_OFFSET if offset is None else offset
        if m == 1:
            (cells,), _ = nearest_to_one(queries[0], self.centroids, nprobe, offset=self.centroid_offset)
            cell_kernels.cell_top(queries[0], points, own_offset, cells, self.pointer, ids[0], products[0])
        else:
            routes, _ = nearest(queries, self.centroids, nprobe, threads, offset=self.centroid_offset)  # (m, nprobe)
            widest = int(np.sort(np.diff(self.pointer))[-nprobe:].sum())
            at_once = max(1, min(QUERIES_AT_ONCE, max_products // max(1, widest)))

            def search_rows(start: int, stop: int) -> None:
                for first in range(start, stop, at_once):
                    rows = slice(first, min(first + at_once, stop))
                    arguments = queries[rows], points, own_offset, routes[rows], self.pointer
                    cell_kernels.cells_top(*arguments, ids[rows], products[rows])

            run_pieces(search_rows, m, threads, min_size=QUERIES_AT_ONCE)
        few = np.flatnonzero(ids[:, -1] < 0)
        if len(few):
            with single_threaded_blas():
                ids[few], products[few] = nearest(queries[few], points, count, threads, offset=offset)
        return ids, products

    def insertion_points(self, points: np.ndarray, threads: int) -> tuple[np.ndarray, Cells]:
        """Return before which of the points each new one goes (m,), at the end of its cell, and the cells then."""
        own = _nearest_centroid(points, self.centroids, threads)
        more = csr.pointer(np.bincount(own, minlength=len(self.centroids)))
        return self.pointer[own + 1], replace(self, pointer=self.pointer + more)

    def keep(self, kept: np.ndarray) -> Cells:
        """Return the cells of those points that are kept (n,)."""
        return replace(self, pointer=csr.pointer(kept)[self.pointer])


def build_cells(
    points: Vectors, threads: int, nprobe: int = NPROBE, *, min_points: int = MIN_POINTS_FOR_CELLS
) -> tuple[Cells | None, np.ndarray]:
    """Return the cells of points (n, dim) and the points' order by cells; None where there are too few points."""
    n = len(points)
    if n < min_points:
        return None, np.arange(n)
    nlist = int(np.sqrt(n))
    random = np.random.default_rng(0)  # not the user's seed: where the centroids lie is no part of the method
    sample = float_rows(points, np.sort(random.choice(n, min(n, SAMPLE_PER_CELL * nlist), replace=False)))
    centroids = sample[np.sort(random.choice(len(sample), nlist, replace=False))]
    for _ in range(KMEANS_ROUNDS):
        own = _nearest_centroid(sample, centroids, threads)
        sizes = np.bincount(own, minlength=len(centroids))
        kept = np.flatnonzero(sizes >= min(MIN_POINTS_PER_CENTROID, sizes.max()))
        order = np.argsort(own, kind="stable")
        starts = np.cumsum(sizes) - sizes
        filled = np.flatnonzero(sizes)
        sums = np.zeros_like(centroids)
        sums[filled] = np.add.reduceat(sample[order], starts[filled], axis=0)
        centroids = sums[kept] / sizes[kept, None].astype(np.float32)
    own = _nearest_centroid(points, centroids, threads)
    sizes = np.bincount(own, minlength=len(centroids))
    pointer = csr.pointer(sizes[sizes > 0])
    return Cells(centroids[sizes > 0], pointer, nprobe), np.argsort(own, kind="stable")


def get_cells(arrays: dict[str, np.ndarray], prefix: str, points: int, width: int, owner: str) -> Cells:
    """Return the cells of so many points; ValueError for cells that would lead beyond them."""
    centres, pointer = arrays[f"{prefix}centres"], arrays[f"{prefix}pointer"]
    nprobe = arrays.get(f"{prefix}nprobe", np.array([NPROBE]))  # folders of earlier versions do not tell it
    fit = nprobe.dtype == np.int64 and nprobe.shape == (1,) and nprobe[0] >= 1
    require(fit, f"{owner} does not tell how many cells are looked into")
    fit = centres.dtype == np.float32 and centres.ndim == 2 and centres.shape[1] == width and len(centres) > 0
    require(fit and bool(np.isfinite(centres).all()), f"cells of {owner} have no centres of {width} numbers")
    fit = pointer.dtype == np.int64 and pointer.shape == (len(centres) + 1,) and pointer[0] == 0
    rising = fit and bool((np.diff(pointer) >= 0).all())
    require(rising and pointer[-1] == points, f"cells of {owner} do not part its {points} points")
    return Cells(centres, pointer, int(nprobe[0]))


def _nearest_centroid(points: Vectors, centroids: np.ndarray, threads: int) -> np.ndarray:
    if isinstance(points, CodedRows):
        return np.concatenate([_nearest_centroid(own, centroids, threads) for _, own in float_blocks(points)])
    with single_threaded_blas():
        return nearest(points, centroids, 1, threads, offset=_half_squares(centroids))[0][:, 0]


def _half_squares(centroids: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", centroids, centroids) / np.float32(2)
