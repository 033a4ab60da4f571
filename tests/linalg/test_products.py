"""Every product against plain numpy on the dense array, on one thread and on several."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from kernel_helpers import random_rows
from neartag.core.threads import BLOCK_ROWS
from neartag.linalg import products
from neartag.linalg.rows import transpose


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("width", [1, 7])
@pytest.mark.parametrize("sparse_rows", [True, False])
@pytest.mark.parametrize("sparse_weights", [True, False])
def test_matmul(threads, width, sparse_rows, sparse_weights):
    X, W = random_rows(seed=1), random_rows(20, width, 0.4, seed=2)
    product = products.matmul(
        X if sparse_rows else X.toarray(), W if sparse_weights else np.asfortranarray(W.toarray()), threads
    )
    assert type(product) is np.ndarray
    assert product.dtype == np.float32
    assert product.flags.c_contiguous, "kernels take nothing else"
    np.testing.assert_allclose(product, X.toarray() @ W.toarray(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("sparse_rows", [True, False])
def test_matmul_of_no_rows_and_of_rows_without_entries(sparse_rows):
    W = np.ones((20, 3), np.float32)
    for n in (0, 5):
        X = csr_matrix((n, 20), dtype=np.float32)
        product = products.matmul(X if sparse_rows else X.toarray(), W, 2)
        assert product.shape == (n, 3)
        assert (product == 0).all()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("sparse_rows", [True, False])
def test_gram(threads, sparse_rows):
    X = random_rows()
    given = X if sparse_rows else X.toarray()
    dense = X.toarray().astype(np.float64)
    for matrix, square in ((given, dense.T @ dense), (transpose(given), dense @ dense.T)):
        for dtype, close in ((np.float64, 1e-12), (np.float32, 1e-6)):
            found = products.gram(matrix, transpose(matrix), dtype, threads)
            assert found.dtype == dtype
            np.testing.assert_allclose(np.tril(found), np.tril(square), rtol=close, atol=close)


@pytest.mark.parametrize("n", [0, 1, 40, 3 * BLOCK_ROWS + 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_products_are_numpys_and_the_same_for_any_number_of_threads(n, dtype):
    random = np.random.default_rng(0)
    tall, other = random.standard_normal((n, 4)).astype(dtype), random.standard_normal((n, 3)).astype(dtype)
    small = random.standard_normal((4, 3)).astype(dtype)
    product, squares = products.matmul_rows(tall, small, 1), products.transpose_matmul(tall, other, 1)
    assert product.dtype == squares.dtype == dtype
    np.testing.assert_allclose(product, tall @ small, rtol=0, atol=1e-5)
    np.testing.assert_allclose(squares, tall.T @ other, rtol=1e-4, atol=1e-4)
    for threads in (2, 3, 2, 3):
        assert products.matmul_rows(tall, small, threads).tobytes() == product.tobytes()
        assert products.transpose_matmul(tall, other, threads).tobytes() == squares.tobytes()
