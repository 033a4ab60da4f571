"""Each kernel against the plain numpy line that it equals, on a part of the rows, with inputs that are read-only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from kernel_helpers import UNTOUCHED, frozen, outside, parts, quick, random_csr, random_labels, ranges, seeds
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


@given(ranges(), st.sampled_from([1, 2, 9]), st.booleans(), seeds)
@quick
def test_residual_times(rows, width, keep, seed):
    n, start, stop = rows
    random = np.random.default_rng(seed)
    graph = random_csr(random, n, n)
    vectors, values = random.standard_normal((n, width)).astype(np.float32), random.random(width).astype(np.float32)
    residual, out = np.full(graph.nnz if keep else 0, UNTOUCHED, np.float32), np.full((n, width), UNTOUCHED, np.float32)
    arrays = (*parts(graph), *frozen(vectors, values))
    total = kernels.residual_times(*arrays, residual, out, start, stop)
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


@given(ranges(), seeds)
@quick
def test_union_of_two_graphs(rows, seed):
    n, start, stop = rows
    random = np.random.default_rng(seed)
    one, other = random_csr(random, n, n), random_csr(random, n, n)
    for each in (one, other):
        each.data = np.abs(each.data)
    wanted = one.maximum(other).tocsr()
    sizes = np.full(n, -7, np.int64)
    matrices = (*parts(one), *parts(other))
    kernels.union_sizes(*matrices, sizes, start, stop)
    assert sizes[start:stop].tolist() == np.diff(wanted.indptr)[start:stop].tolist()
    assert (outside(sizes, start, stop) == -7).all()
    ids, values = np.full(wanted.nnz, -7, np.int32), np.full(wanted.nnz, UNTOUCHED, np.float32)
    pointer = wanted.indptr.astype(np.int64)
    kernels.union_rows(*matrices, pointer, ids, values, start, stop)
    mine = slice(pointer[start], pointer[stop])
    wanted.sort_indices()
    assert ids[mine].tolist() == wanted.indices[mine].tolist()
    assert values[mine].tolist() == wanted.data[mine].tolist()
    assert (outside(ids, mine.start, mine.stop) == -7).all()


few_values = st.lists(st.sampled_from([-2.0, 0.0, 0.5, 1.0, 3.0]), min_size=1, max_size=30)
any_values = st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=30)


@given(st.one_of(few_values, any_values), st.data())
@settings(max_examples=150)
@example([1.0] * 30, None)
def test_move_largest(values, data):
    count = len(values) if data is None else data.draw(st.integers(1, len(values)))
    wanted = 1 if data is None else data.draw(st.integers(1, count))
    array = np.array(values, np.float32)
    rest, before = array[count:].copy(), np.sort(array[:count])
    kernels._move_largest(array, count, wanted)
    assert np.array_equal(np.sort(array[:count]), before), "reordered only"
    assert np.array_equal(np.sort(array[:wanted]), before[count - wanted :]), "the largest stand first"
    assert np.array_equal(array[count:], rest)


def brute_neighbours(labels, scale, row, wanted):
    """Return the neighbours of a row, best first, ties to the nearest following row number, wrapping round."""
    n = labels.shape[0]
    dense = labels.toarray()
    overlap = (dense[row] @ dense.T).astype(np.float32)
    similar = overlap * (scale[row] * scale)
    sharing = np.flatnonzero(overlap)
    order = sorted(sharing, key=lambda j: (-similar[j], (j - row) % n))
    return {int(j): similar[j] for j in order[:wanted]}


def groups_of(labels, scale, frequent):
    """Return the rows' groups by their frequent labels and scale, as the kernel takes them, by plain loops."""
    rows = labels.toarray()[:, frequent]
    keys = [(tuple(row), size) for row, size in zip(rows.tolist(), scale.tolist(), strict=True)]
    known = sorted(set(keys))
    group = np.array([known.index(key) for key in keys], np.int32)
    members = [[row for row in range(len(keys)) if group[row] == number] for number in range(len(known))]
    shared = np.array([[np.dot(one, other) for other, _ in known] for one, _ in known], np.float32)
    sizes = np.array([size for _, size in known], np.float32)
    order = np.argsort(-shared * (sizes[:, None] * sizes), axis=1, kind="stable").astype(np.int32)
    pointers = np.cumsum([0] + [len(each) for each in members])
    return frozen(group, pointers, np.concatenate(members).astype(np.int32), shared, order)


# Many rows with few labels each are looked at one by one where they tie, few rows in turn: both must give the same.
@given(ranges() | ranges(60), st.integers(1, 5) | st.integers(30, 40), st.integers(1, 14), st.booleans(), seeds)
@settings(max_examples=300)
def test_label_neighbours(rows, n_labels, wanted, cosine, seed):
    n, start, stop = rows
    random = np.random.default_rng(seed)
    labels = random_labels(random, n, n_labels)  # few labels, so that ties abound
    sizes = np.maximum(np.diff(labels.indptr), 1).astype(np.float32)
    scale = 1 / np.sqrt(sizes) if cosine else np.ones(n, np.float32)
    ids, values = np.full((n, wanted), -7, np.int32), np.full((n, wanted), UNTOUCHED, np.float32)
    frequent = random.random(n_labels) < random.choice([0, 0.3, 1])  # any labels may be dealt with as frequent ones
    rare = csr_matrix(labels.multiply(~frequent))
    rare.eliminate_zeros()
    by_label = csr_matrix(rare.T.tocsr())
    groups = groups_of(labels, scale, frequent)
    arguments = (*parts(rare)[:2], *parts(by_label)[:2], *frozen(scale), groups, wanted)
    kernels.label_neighbours(*arguments, ids, values, start, stop)
    for row in range(start, stop):
        expected = brute_neighbours(labels, scale, row, wanted)
        filled = len(expected)
        assert dict(zip(ids[row, :filled].tolist(), values[row, :filled], strict=True)) == expected
        assert (ids[row, filled:] == -1).all()
        assert (values[row, filled:] == 0).all()
    assert (outside(ids, start, stop) == -7).all()
    assert (outside(values, start, stop) == UNTOUCHED).all()


@pytest.mark.parametrize("name", ["sparse_times_dense", "sparse_times_sparse", "residual_times", "gram"])
def test_kernels_let_other_threads_run(name):
    assert getattr(kernels, name).targetoptions["nogil"]
