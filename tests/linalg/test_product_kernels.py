"""Each kernel against the plain numpy line that it equals, on a part of the rows, with inputs that are read-only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from kernel_helpers import UNTOUCHED, frozen, outside, parts, quick, random_csr, ranges, seeds
from neartag.linalg import product_kernels


@given(ranges(), st.integers(1, 15), st.sampled_from([1, 2, 5, 17]), seeds)
@quick
def test_sparse_times_dense(rows, height, width, seed):
    n, start, stop = rows
    random = np.random.default_rng(seed)
    S = random_csr(random, n, height)
    dense = random.standard_normal((height, width)).astype(np.float32)
    out = np.full((n, width), UNTOUCHED, np.float32)
    product_kernels.sparse_times_dense(parts(S), *frozen(dense), out, start, stop)
    wanted = S.toarray().astype(np.float64) @ dense
    np.testing.assert_allclose(out[start:stop], wanted[start:stop], rtol=0, atol=1e-5)
    assert (outside(out, start, stop) == UNTOUCHED).all()


@given(ranges(), st.integers(1, 15), st.sampled_from([1, 2, 5, 17]), seeds)
@quick
def test_sparse_times_sparse(rows, height, width, seed):
    n, start, stop = rows
    random = np.random.default_rng(seed)
    S, W = random_csr(random, n, height), random_csr(random, height, width)
    out = np.full((n, width), UNTOUCHED, np.float32)
    product_kernels.sparse_times_sparse(parts(S), parts(W), out, start, stop)
    wanted = S.toarray().astype(np.float64) @ W.toarray()
    np.testing.assert_allclose(out[start:stop], wanted[start:stop], rtol=0, atol=1e-5)
    assert (outside(out, start, stop) == UNTOUCHED).all()


@given(ranges(), st.integers(1, 15), seeds)
@quick
def test_gram(columns, n, seed):
    d, start, stop = columns
    S = random_csr(np.random.default_rng(seed), n, d)
    out = np.zeros((d, d))
    product_kernels.gram(parts(csr_matrix(S.T.tocsr())), parts(S), out, start, stop)
    dense = S.toarray().astype(np.float64)
    wanted = np.tril(dense.T @ dense)
    np.testing.assert_allclose(out[start:stop], wanted[start:stop], rtol=0, atol=1e-13)  # summed in float64
    assert (outside(out, start, stop) == 0).all()
    assert (np.triu(out, 1) == 0).all()


def test_row_times_dense_and_dense_times_vector():
    random = np.random.default_rng(0)
    S = random_csr(random, 5, 12)
    weights, out = random.standard_normal((12, 7)).astype(np.float32), np.empty(7, np.float32)
    for row in range(5):
        product_kernels.row_times_dense(parts(S), row, *frozen(weights), out)
        np.testing.assert_allclose(out, (S @ weights)[row], rtol=0, atol=1e-6)
    products = np.full(12, UNTOUCHED, np.float32)
    product_kernels.dense_times_vector(weights, *frozen(out.copy()), products, 2, 9)
    np.testing.assert_allclose(products[2:9], (weights @ out)[2:9], rtol=0, atol=1e-5)
    assert (outside(products, 2, 9) == UNTOUCHED).all()


@given(st.lists(st.integers(0, 20), max_size=12), st.integers(-1, 21))
@quick
def test_first_not_below(numbers, wanted):
    rising = np.sort(np.array(numbers, np.int32))
    for start, stop in ((0, len(rising)), (len(rising) // 2, len(rising)), (0, 0)):
        found = product_kernels.first_not_below(*frozen(rising), start, stop, wanted)
        assert found == start + np.searchsorted(rising[start:stop], wanted)


@pytest.mark.parametrize(
    "name", ["sparse_times_dense", "sparse_times_sparse", "gram", "row_times_dense", "dense_times_vector"]
)
def test_kernels_let_other_threads_run(name):
    assert getattr(product_kernels, name).compile().targetoptions["nogil"]
