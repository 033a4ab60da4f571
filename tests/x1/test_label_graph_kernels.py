"""Each kernel against the plain numpy line that it equals, on a part of the rows, with inputs that are read-only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from kernel_helpers import UNTOUCHED, frozen, outside, parts, quick, random_csr, random_labels, ranges, seeds
from neartag.x1 import label_graph_kernels as kernels


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
    matrices = parts(one), parts(other)
    kernels.union_sizes(*matrices, sizes, start, stop)
    assert sizes[start:stop].tolist() == np.diff(wanted.indptr)[start:stop].tolist()
    assert (outside(sizes, start, stop) == -7).all()
    ids, values = np.full(wanted.nnz, -7, np.int32), np.full(wanted.nnz, UNTOUCHED, np.float32)
    pointer = wanted.indptr.astype(np.int64)
    kernels.union_rows(*matrices, (pointer, ids, values), start, stop)
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
    kernels.move_largest(array, count, wanted)
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
    arguments = parts(rare)[:2], parts(by_label)[:2], *frozen(scale), groups
    kernels.label_neighbours(*arguments, (ids, values), start, stop)
    for row in range(start, stop):
        expected = brute_neighbours(labels, scale, row, wanted)
        filled = len(expected)
        assert dict(zip(ids[row, :filled].tolist(), values[row, :filled], strict=True)) == expected
        assert (ids[row, filled:] == -1).all()
        assert (values[row, filled:] == 0).all()
    assert (outside(ids, start, stop) == -7).all()
    assert (outside(values, start, stop) == UNTOUCHED).all()


@pytest.mark.parametrize("name", ["label_neighbours", "union_sizes", "union_rows"])
def test_kernels_let_other_threads_run(name):
    assert getattr(kernels, name).compile().targetoptions["nogil"]
