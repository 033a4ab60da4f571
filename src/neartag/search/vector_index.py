"""Nearest neighbours among vectors: int8 rows, searched exactly or, where there are many, in IVF cells."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.threads import run_pieces, single_threaded_blas
from neartag.linalg.coded_rows import CodedRows, Vectors, float_rows
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.packing import are_within, get_coded, put_coded, require
from neartag.linalg.rows import Rows
from neartag.search import topk_kernels
from neartag.search.cells import MIN_POINTS_FOR_CELLS, QUERIES_AT_ONCE, Cells, build_cells, get_cells
from neartag.search.exact import QUERY_TILE, Neighbours, nearest, nearest_to_one

# Cells that a query looks into: twice as many changed no figure on held-out fifths of cooking and yso.
NPROBE = 8
POINT_TILE = 2048  # points made float32 at once
# So few queries each look into their cells by themselves: to make a cell float32 for BLAS pays where many share it.
MAX_QUERIES_ALONE = 32


@dataclass(frozen=True, eq=False)
class VectorIndex:
    """Vectors of unit length, or zeros where there is none, ready to be searched."""

    rows: CodedRows  # (n, e)
    cells: Cells | None = None
    order: np.ndarray | None = None  # (n,) int32: the rows' numbers, cell after cell

    @classmethod
    def from_vectors(
        cls, vectors: Vectors, threads: int, *, nprobe: int = NPROBE, min_points: int = MIN_POINTS_FOR_CELLS
    ) -> VectorIndex:
        """Return the index of vectors (n, e); where they are coded, it shares their arrays."""
        cells, order = build_cells(vectors, threads, nprobe, min_points=min_points)
        return cls(CodedRows.encode(vectors), cells, None if cells is None else order.astype(np.int32))

    def find(self, queries: Vectors, count: int, threads: int = 1) -> Neighbours:
        """Return the rows with the largest cosine to each query (m, e), and the cosines (m, count), best first.

        −1 and −inf where there are fewer; a row that is zeros is never found, nor is any for such a query.
        """
        queries = np.ascontiguousarray(float_rows(queries), np.float32)
        if len(queries) == 1:
            ids, cosines = self._find_for_one(queries, count)
        else:
            with single_threaded_blas():
                alone = self.cells is not None and len(queries) <= MAX_QUERIES_ALONE
                search = self._find_by_query if alone else self._find_in_cells
                ids, cosines = search(queries, count, threads)
                few = np.flatnonzero(ids[:, -1] < 0)
                if len(few):
                    ids[few], cosines[few] = self._find_exactly(queries[few], count, threads)
        none = cosines == 0
        ids[none], cosines[none] = -1, -np.inf
        return ids, cosines

    def _find_for_one(self, query: np.ndarray, count: int) -> Neighbours:
        """Return the same for one query (1, e): for it alone, rows need not be made float32, nor BLAS be asked."""
        numbers = np.arange(len(self.rows), dtype=np.int32)
        if self.cells is not None and self.order is not None:
            nprobe, pointer = min(self.cells.nprobe, len(self.cells.centroids)), self.cells.pointer
            cells = nearest_to_one(query[0], self.cells.centroids, nprobe, offset=self.cells.centroid_offset)[0][0]
            near = np.concatenate([self.order[pointer[cell] : pointer[cell + 1]] for cell in np.sort(cells)])
            numbers = near if len(near) >= count else numbers
        products = self.rows.products(query, numbers[None], 1)
        ids, cosines = _empty_lists(1, count)
        topk_kernels.row_top(products, 0, ids, cosines, 0, 1)
        return np.where(ids >= 0, numbers[ids], -1).astype(np.int32), cosines

    def _find_by_query(self, queries: np.ndarray, count: int, threads: int) -> Neighbours:
        """Return what `_find_in_cells` does, query after query, without making any row float32."""
        assert self.cells is not None
        assert self.order is not None
        cells, order = self.cells, self.order
        nprobe, offset = min(cells.nprobe, len(cells.centroids)), cells.centroid_offset
        routes = np.sort(nearest(queries, cells.centroids, nprobe, threads, offset=offset)[0], axis=1)  # (m, nprobe)
        starts, stops = cells.pointer[routes].tolist(), cells.pointer[routes + 1].tolist()
        lists = [
            np.concatenate([order[start:stop] for start, stop in zip(*ends, strict=True)])
            for ends in zip(starts, stops, strict=True)
        ]
        numbers = np.full((len(lists), max(1, *map(len, lists))), -1, np.int32)  # (m, points of the nearest cells)
        for own, near in zip(numbers, lists, strict=True):
            own[: len(near)] = near
        products = self.rows.products(queries, numbers, threads)
        products[numbers < 0] = -np.inf
        ids, cosines = _empty_lists(len(queries), count)
        topk_kernels.row_top(products, 0, ids, cosines, 0, len(queries))
        found = np.isfinite(cosines)
        return np.where(found, np.take_along_axis(numbers, np.where(found, ids, 0), axis=1), -1), cosines

    def _find_exactly(self, queries: np.ndarray, count: int, threads: int) -> Neighbours:
        ids, cosines = _empty_lists(len(queries), count)

        def search_rows(start: int, stop: int) -> None:
            for begin in range(0, len(self.rows), POINT_TILE):
                points = self.rows.decode(slice(begin, begin + POINT_TILE))
                for first in range(start, stop, QUERY_TILE):
                    rows = slice(first, min(first + QUERY_TILE, stop))
                    products = queries[rows] @ points.T  # (≤ QUERY_TILE, ≤ POINT_TILE)
                    topk_kernels.row_top(products, begin, ids[rows], cosines[rows], 0, len(products))

        run_pieces(search_rows, len(queries), threads, min_size=QUERY_TILE)
        return ids, cosines

    def _find_in_cells(self, queries: np.ndarray, count: int, threads: int) -> Neighbours:
        """Return what is in each query's nearest cells; nobody where there are no cells."""
        ids, cosines = _empty_lists(len(queries), count)
        if self.cells is None or self.order is None:
            return ids, cosines
        cells, order = self.cells, self.order
        nprobe = min(cells.nprobe, len(cells.centroids))
        routes, _ = nearest(queries, cells.centroids, nprobe, threads, offset=cells.centroid_offset)  # (m, nprobe)

        def search_rows(start: int, stop: int) -> None:
            looking = np.argsort(routes[start:stop], axis=None, kind="stable")  # i · nprobe + p, cell after cell
            bounds = np.searchsorted(routes[start:stop].ravel()[looking], np.arange(len(cells.centroids) + 1))
            for cell in np.flatnonzero(np.diff(bounds)):
                own = start + looking[bounds[cell] : bounds[cell + 1]] // nprobe
                first, last = int(cells.pointer[cell]), int(cells.pointer[cell + 1])
                products = queries[own] @ self.rows.decode(order[first:last]).T  # (looking, points of the cell)
                own_ids, own_cosines = ids[own], cosines[own]
                # Numbered from 1: the kernel takes 0 for the beginning of a new list.
                topk_kernels.row_top(products, first + 1, own_ids, own_cosines, 0, len(own))
                ids[own], cosines[own] = own_ids, own_cosines
            there = ids[start:stop] > 0
            ids[start:stop] = np.where(there, order[ids[start:stop] - 1], -1)

        run_pieces(search_rows, len(queries), threads, min_size=QUERIES_AT_ONCE)
        return ids, cosines

    def append(self, vectors: np.ndarray, threads: int = 1) -> VectorIndex:
        """Return the index with more vectors (m, e) after those that it has."""
        rows = self.rows.append(CodedRows.encode(vectors))
        if self.cells is None or self.order is None:
            return VectorIndex(rows)
        before, cells = self.cells.insertion_points(np.ascontiguousarray(vectors, np.float32), threads)
        numbers = np.arange(len(self.rows), len(rows), dtype=np.int32)
        return VectorIndex(rows, cells, np.insert(self.order, before, numbers))

    def keep(self, kept: np.ndarray) -> VectorIndex:
        """Return the index of those rows that are kept (n,), numbered anew in their order."""
        rows = self.rows.take(kept)
        if self.cells is None or self.order is None:
            return replace(self, rows=rows)
        stays, number = kept[self.order], np.cumsum(kept, dtype=np.int32) - 1
        return VectorIndex(rows, self.cells.keep(stays), number[self.order[stays]])

    def put_row(self, number: int, vector: np.ndarray) -> VectorIndex:
        """Return the index with another vector (e,) for one of the rows."""
        kept = np.arange(len(self.rows)) != number
        rows = self.rows.put(np.array([number]), CodedRows.encode(vector[None]))
        if self.cells is None or self.order is None:
            return replace(self, rows=rows)
        stays = kept[self.order]
        before, cells = self.cells.keep(stays).insertion_points(vector[None].astype(np.float32), 1)
        return VectorIndex(rows, cells, np.insert(self.order[stays], before, np.int32(number)))

    def put(self, arrays: dict[str, np.ndarray], name: str) -> None:
        """Put the index under a name into `arrays`."""
        put_coded(arrays, name, self.rows)
        if self.cells is not None and self.order is not None:
            arrays[f"{name}.centres"], arrays[f"{name}.pointer"] = self.cells.centroids, self.cells.pointer
            arrays[f"{name}.nprobe"] = np.array([self.cells.nprobe], np.int64)
            arrays[f"{name}.order"] = self.order

    @classmethod
    def get(cls, arrays: dict[str, np.ndarray], name: str, height: int, dim: int) -> VectorIndex:
        """Return the index that `put` put; ValueError unless it has this shape and can be read safely."""
        rows = get_coded(arrays, name, height, dim)
        if f"{name}.centres" not in arrays:
            return cls(rows)
        order = arrays[f"{name}.order"]
        fine = order.dtype == np.int32 and order.shape == (height,) and are_within(order, height)
        require(fine, f"{name} has not one number a row")
        return cls(rows, get_cells(arrays, f"{name}.", height, dim, name), order)


@dataclass(frozen=True, eq=False)
class Beside:
    """The vectors of the points of a feature index, and their weight against the words."""

    vectors: VectorIndex
    weight: float

    def join(self, words: Rows, points: np.ndarray) -> HybridRows:
        """Return the rows of some points, whose words are given."""
        return HybridRows(csr_matrix(words), self.vectors.rows.take(points), self.weight)

    def cosines(self, points: np.ndarray, stop: int) -> np.ndarray:
        """Return the products of the first `stop` vectors with those of some points (stop, points)."""
        queries = np.ascontiguousarray(self.vectors.rows.decode(points).T)  # (e, points)
        out = np.empty((stop, len(points)), np.float32)
        for first in range(0, stop, POINT_TILE):
            block = slice(first, min(first + POINT_TILE, stop))
            out[block] = self.vectors.rows.decode(block) @ queries
        return out

    def times(self, weights: np.ndarray) -> np.ndarray:
        """Return the product of each vector, weighted, with weights (e,): (n,)."""
        numbers = np.zeros((1, len(self.vectors.rows)), np.int32)
        numbers[0] = np.arange(len(self.vectors.rows))
        return np.float32(self.weight) * self.vectors.rows.products(weights[None], numbers, 1)[0]


def _empty_lists(m: int, count: int) -> Neighbours:
    return np.full((m, count), -1, np.int32), np.full((m, count), -np.inf, np.float32)
