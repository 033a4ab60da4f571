"""Matrix products on our own threads, the same to the last bit whatever the number of threads.

matmul(rows, weights)          rows dense, sparse or hybrid, weights dense or sparse: a dense array (n, width)
matmul_rows(tall, small)       both dense
transpose_matmul(left, right)  leftᵀ right, both dense
gram(rows, transposed)         rowsᵀ rows, dense or sparse: its lower triangle (d, d)
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from neartag.core.threads import run_blocks, run_pieces, run_ranges, sum_blocks
from neartag.linalg import product_kernels
from neartag.linalg.coded_rows import CodedRows, Vectors
from neartag.linalg.hybrid_rows import HybridColumns, HybridRows
from neartag.linalg.rows import Rows, csr_arrays, dense


def matmul(rows: Rows, weights: Rows, threads: int = 1) -> np.ndarray:
    """Return rows @ weights as a dense float32 array (n, width)."""
    if isinstance(rows, HybridRows):
        for_words, for_vectors = rows.split(weights)
        out = matmul(rows.words, for_words, threads)
        out += matmul(rows.vectors, for_vectors, threads)
        return out
    if isinstance(rows, HybridColumns):
        return _transposed_times(rows, weights, threads)
    if isinstance(rows, CodedRows):
        return _coded_times(rows, dense(weights), threads)
    if not sparse.issparse(rows):
        if sparse.issparse(weights):
            return np.ascontiguousarray(rows @ weights)
        return matmul_rows(rows, weights, threads)
    n, left = rows.shape[0], csr_arrays(rows)
    out = np.empty((n, weights.shape[1]), np.float32)
    if sparse.issparse(weights):
        run_ranges(product_kernels.sparse_times_sparse, n, threads, left, csr_arrays(weights), out, work=left[0])
    else:
        table = np.ascontiguousarray(weights, np.float32)  # (d, width)
        run_ranges(product_kernels.sparse_times_dense, n, threads, left, table, out, work=left[0])
    return out


def _transposed_times(columns: HybridColumns, right: np.ndarray, threads: int) -> np.ndarray:
    """Return the transpose of hybrid rows times a dense matrix (n, width): a dense float32 array (d + e, width)."""
    d = columns.words.shape[0]
    out = np.empty((columns.shape[0], right.shape[1]), np.float32)
    out[:d] = matmul(columns.words, right, threads)
    out[d:] = _vectors_transposed_times(columns.vectors, np.ascontiguousarray(right, np.float32), threads)
    out[d:] *= np.float32(columns.vector_weight)
    return out


def _coded_times(rows: CodedRows, weights: np.ndarray, threads: int) -> np.ndarray:
    """Return coded rows (n, e) times weights (e, width); codes are made float32 in blocks that stay in cache."""
    out = np.empty((len(rows), weights.shape[1]), np.float32)

    def multiply(start: int, stop: int) -> None:
        np.matmul(rows.codes[start:stop].astype(np.float32), weights, out=out[start:stop])
        out[start:stop] *= rows.scales[start:stop, None]

    run_blocks(multiply, len(rows), threads)
    return out


def _vectors_transposed_times(vectors: Vectors, right: np.ndarray, threads: int) -> np.ndarray:
    """Return the transpose of vectors (n, e), coded or not, times a dense matrix (n, width): (e, width)."""
    if not isinstance(vectors, CodedRows):
        return transpose_matmul(vectors, right, threads)
    codes, scales = vectors.codes, vectors.scales

    def summand(start: int, stop: int) -> np.ndarray:
        return codes[start:stop].astype(np.float32).T @ (scales[start:stop, None] * right[start:stop])

    return sum_blocks(summand, len(vectors), threads)


def matmul_rows(tall: np.ndarray, small: np.ndarray, threads: int) -> np.ndarray:
    """Return tall @ small, (n, a) by (a, b), the rows divided among the threads."""
    out = np.empty((tall.shape[0], small.shape[1]), np.result_type(tall, small))

    def multiply(start: int, stop: int) -> None:
        np.matmul(tall[start:stop], small, out=out[start:stop])

    run_pieces(multiply, tall.shape[0], threads)
    return out


def transpose_matmul(left: np.ndarray, right: np.ndarray, threads: int) -> np.ndarray:
    """Return leftᵀ @ right, (n, a) and (n, b) to (a, b), summed over blocks of rows in their order."""
    return sum_blocks(lambda start, stop: left[start:stop].T @ right[start:stop], left.shape[0], threads)


def gram(rows: Rows, transposed: Rows, dtype: type = np.float64, threads: int = 1) -> np.ndarray:
    """Return the lower triangle of rowsᵀ @ rows (d, d), all that a Cholesky factor needs, summed in float64."""
    if not sparse.issparse(rows):
        wide = rows.astype(np.float64)  # (n, d)
        return transpose_matmul(wide, wide, threads).astype(dtype, copy=False)
    d = rows.shape[1]
    out = np.zeros((d, d), dtype)  # pages above the diagonal are never touched, and so take no memory
    columns = csr_arrays(transposed)
    run_ranges(product_kernels.gram, d, threads, columns, csr_arrays(rows), out, work=columns[0])
    return out
