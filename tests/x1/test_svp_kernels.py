"""SVP's kernel against the plain numpy line that it equals, on a part of the rows, with inputs that are read-only."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernel_helpers import UNTOUCHED, frozen, outside, parts, quick, random_csr, ranges, seeds
from neartag.x1 import svp_kernels


@given(ranges(), st.sampled_from([1, 2, 9]), st.booleans(), seeds)
@quick
def test_residual_times(rows, width, keep, seed):
    n, start, stop = rows
    random = np.random.default_rng(seed)
    graph = random_csr(random, n, n)
    vectors, values = random.standard_normal((n, width)).astype(np.float32), random.random(width).astype(np.float32)
    residual, out = np.full(graph.nnz if keep else 0, UNTOUCHED, np.float32), np.full((n, width), UNTOUCHED, np.float32)
    total = svp_kernels.residual_times(parts(graph), frozen(vectors, values), residual, out, start, stop)
    places = np.repeat(np.arange(n), np.diff(graph.indptr)), graph.indices
    wanted = graph.data - ((vectors * values).astype(np.float64) @ vectors.T)[places]
    dense = np.zeros((n, n))
    dense[places] = wanted
    mine = (places[0] >= start) & (places[0] < stop)
    np.testing.assert_allclose(total, (wanted[mine] ** 2).sum(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(out[start:stop], (dense @ vectors)[start:stop], rtol=1e-4, atol=2e-4)
    assert (outside(out, start, stop) == UNTOUCHED).all()
    if keep:
        np.testing.assert_allclose(residual[mine], wanted[mine], rtol=0, atol=2e-5)
        assert (residual[~mine] == UNTOUCHED).all()


def test_it_lets_other_threads_run():
    assert svp_kernels.residual_times.compile().targetoptions["nogil"]
