"""Each kernel against the plain numpy line that it equals, on a part of the rows, with inputs that are read-only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from kernel_helpers import UNTOUCHED, frozen, outside, parts, quick, random_csr, ranges, seeds
from neartag.linalg import kernels


@given(ranges(), st.integers(1, 15), st.sampled_from([1, 2, 5, 17]), seeds)
@quick
def test_sparse_times_dense(rows, height, width, seed):
    n, start, stop = rows
    random = np.random.default_rng(seed)
    S = random_csr(random, n, height)
    dense = random.standard_normal((height, width)).astype(np.float32)
    out = np.full((n, width), UNTOUCHED, np.float32)
    kernels.sparse_times_dense(parts(S), *frozen(dense), out, start, stop)
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
    kernels.sparse_times_sparse(parts(S), parts(W), out, start, stop)
    wanted = S.toarray().astype(np.float64) @ W.toarray()
    np.testing.assert_allclose(out[start:stop], wanted[start:stop], rtol=0, atol=1e-5)
    assert (outside(out, start, stop) == UNTOUCHED).all()


@given(ranges(), st.integers(1, 15), seeds)
@quick
def test_gram(columns, n, seed):
    d, start, stop = columns
    S = random_csr(np.random.default_rng(seed), n, d)
    out = np.zeros((d, d))
    kernels.gram(parts(csr_matrix(S.T.tocsr())), parts(S), out, start, stop)
    dense = S.toarray().astype(np.float64)
    wanted = np.tril(dense.T @ dense)
    np.testing.assert_allclose(out[start:stop], wanted[start:stop], rtol=0, atol=1e-13)  # summed in float64
    assert (outside(out, start, stop) == 0).all()
    assert (np.triu(out, 1) == 0).all()


@pytest.mark.parametrize("name", ["sparse_times_dense", "sparse_times_sparse", "gram"])
def test_kernels_let_other_threads_run(name):
    assert getattr(kernels, name).targetoptions["nogil"]
