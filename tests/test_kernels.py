"""Each kernel against the plain numpy line that it equals, on a part of the rows, with inputs that are read-only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from neartag import kernels

UNTOUCHED = -7.0  # stands in `out` before the call, and must still stand in the rows outside start…stop
seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=40)


@st.composite
def ranges(draw, most=12):
    """Return n, start and stop: any part of n rows, the empty one and the whole included."""
    n = draw(st.integers(1, most))
    start = draw(st.integers(0, n))
    return n, start, draw(st.integers(start, n))


def frozen(*arrays):
    """Return the arrays as they come out of a memory map: in the kernels' types, and read-only."""
    for array in arrays:
        array.setflags(write=False)
    return arrays


def parts(matrix):
    return frozen(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float32),
    )


def random_csr(random, n, width, most=9):
    """Return rows of 0 to `most` entries: below, at and above the four that a kernel takes at once."""
    rows = [np.sort(random.permutation(width)[: random.integers(0, min(most, width) + 1)]) for _ in range(n)]
    indptr = np.cumsum([0] + [len(row) for row in rows])
    values = random.standard_normal(indptr[-1]).astype(np.float32)
    return csr_matrix((values, np.concatenate([*rows, []]).astype(np.int32), indptr), shape=(n, width))


def random_labels(random, n, n_labels, most=4):
    labels = random_csr(random, n, n_labels, most)
    labels.data[:] = 1
    return labels


def outside(array, start, stop):
    return np.concatenate([array[:start], array[stop:]])


@given(ranges(), st.integers(1, 15), st.sampled_from([1, 2, 5, 17]), seeds)
@quick
def test_sparse_times_dense(rows, height, width, seed):
    n, start, stop = rows
    random = np.random.default_rng(seed)
    S = random_csr(random, n, height)
    dense = random.standard_normal((height, width)).astype(np.float32)
    out = np.full((n, width), UNTOUCHED, np.float32)
    kernels.sparse_times_dense(*parts(S), *frozen(dense), out, start, stop)
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
    kernels.sparse_times_sparse(*parts(S), *parts(W), out, start, stop)
    wanted = S.toarray().astype(np.float64) @ W.toarray()
    np.testing.assert_allclose(out[start:stop], wanted[start:stop], rtol=0, atol=1e-5)
    assert (outside(out, start, stop) == UNTOUCHED).all()


@given(ranges(), st.integers(1, 15), seeds)
@quick
def test_gram(columns, n, seed):
    d, start, stop = columns
    S = random_csr(np.random.default_rng(seed), n, d)
    out = np.zeros((d, d))
    kernels.gram(*parts(csr_matrix(S.T.tocsr())), *parts(S), out, start, stop)
    dense = S.toarray().astype(np.float64)
    wanted = np.tril(dense.T @ dense)
    np.testing.assert_allclose(out[start:stop], wanted[start:stop], rtol=0, atol=1e-13)  # summed in float64
    assert (outside(out, start, stop) == 0).all()
    assert (np.triu(out, 1) == 0).all()


def symmetric_pattern(random, n):
    """Return a symmetric CSR pattern, some rows empty, with values, and where each entry's transpose stands."""
    full = random.random((n, n)) < 0.4
    full = full | full.T
    full[random.random(n) < 0.2] = False
    full &= full.T
    graph = csr_matrix(full.astype(np.float32))
    graph.data[:] = np.arange(1, graph.nnz + 1)
    mirror = csr_matrix(graph.T.tocsr()).data.astype(np.int64) - 1
    values = random.standard_normal((n, n))
    target = (values + values.T)[full.nonzero()].astype(np.float32)
    return graph, mirror, target


@given(ranges(), st.sampled_from([1, 2, 9]), seeds)
@quick
def test_pattern_residual(rows, width, seed):
    n, start, stop = rows
    random = np.random.default_rng(seed)
    graph, mirror, target = symmetric_pattern(random, n)
    factor = random.standard_normal((n, width)).astype(np.float32)
    out = np.full(graph.nnz, UNTOUCHED, np.float32)
    indptr, indices, _ = parts(graph)
    kernels.pattern_residual(indptr, indices, *frozen(mirror, target, factor), out, start, stop)
    low = np.repeat(np.arange(n), np.diff(indptr)), indices.copy()
    wanted = target - (factor.astype(np.float64) @ factor.T)[low]
    # A pair belongs to the range of its larger row number, and is then written on both sides of the diagonal.
    owner = np.maximum(*low)
    mine = (owner >= start) & (owner < stop)
    np.testing.assert_allclose(out[mine], wanted[mine], rtol=0, atol=2e-5)
    assert (out[~mine] == UNTOUCHED).all()


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


@given(ranges(), st.integers(1, 5), st.integers(1, 14), st.booleans(), seeds)
@settings(max_examples=150)
def test_label_neighbours(rows, n_labels, wanted, cosine, seed):
    n, start, stop = rows
    labels = random_labels(np.random.default_rng(seed), n, n_labels)  # few labels, so that ties abound
    sizes = np.maximum(np.diff(labels.indptr), 1).astype(np.float32)
    scale = 1 / np.sqrt(sizes) if cosine else np.ones(n, np.float32)
    ids, values = np.full((n, wanted), -7, np.int32), np.full((n, wanted), UNTOUCHED, np.float32)
    by_label = csr_matrix(labels.T.tocsr())
    arguments = (*parts(labels)[:2], *parts(by_label)[:2], *frozen(scale), wanted)
    kernels.label_neighbours(*arguments, ids, values, start, stop)
    for row in range(start, stop):
        expected = brute_neighbours(labels, scale, row, wanted)
        filled = len(expected)
        assert dict(zip(ids[row, :filled].tolist(), values[row, :filled], strict=True)) == expected
        assert (ids[row, filled:] == -1).all()
        assert (values[row, filled:] == 0).all()
    assert (outside(ids, start, stop) == -7).all()
    assert (outside(values, start, stop) == UNTOUCHED).all()


@given(ranges(), st.integers(0, 9), st.integers(1, 12), st.booleans(), seeds)
@settings(max_examples=150)
def test_row_top(rows, columns, wanted, ties, seed):
    n, start, stop = rows
    random = np.random.default_rng(seed)
    table = random.choice([-np.inf, -1, 0, 0.5, 1], (n, columns)) if ties else random.standard_normal((n, columns))
    table = table.astype(np.float32)
    ids, values = np.full((n, wanted), -7, np.int32), np.full((n, wanted), UNTOUCHED, np.float32)
    kernels.row_top(*frozen(table), ids, values, start, stop)
    for row in range(start, stop):
        order = np.argsort(-table[row], kind="stable")[:wanted]  # ties to the lower column
        assert ids[row].tolist() == [*order, *[-1] * (wanted - len(order))]
        assert values[row].tolist() == [*table[row, order], *[-np.inf] * (wanted - len(order))]
    assert (outside(ids, start, stop) == -7).all()
    assert (outside(values, start, stop) == UNTOUCHED).all()


def brute_vote(labels, voters, weights, frequency, wanted):
    """Return the labels and scores of one point by the obvious loop."""
    score = {}
    for voter, weight in zip(voters, weights, strict=True):
        if voter >= 0 and weight > 0:
            for label in labels.indices[labels.indptr[voter] : labels.indptr[voter + 1]]:
                score[int(label)] = score.get(int(label), 0.0) + float(weight)
    best = sorted(score, key=lambda label: (-score[label], -frequency[label], label))[:wanted]
    missing = wanted - len(best)
    return [*best, *[-1] * missing], [*(score[label] for label in best), *[0.0] * missing]


@given(ranges(), st.integers(1, 9), st.integers(0, 6), st.integers(1, 11), st.booleans(), seeds)
@settings(max_examples=150)
def test_vote_top(rows, n_labels, n_voters, wanted, ties, seed):
    m, start, stop = rows
    random = np.random.default_rng(seed)
    labels = random_labels(random, 8, n_labels)
    voters = random.integers(-1, 8, (m, n_voters)).astype(np.int32)
    weights = random.choice([0.0, 0.25, 0.5], (m, n_voters)) if ties else random.random((m, n_voters))
    frequency = random.integers(0, 3, n_labels)  # equal ones too, so that the id decides
    ids, scores = np.full((m, wanted), -7, np.int32), np.full((m, wanted), UNTOUCHED)
    arguments = (*parts(labels)[:2], *frozen(voters, weights, frequency), n_labels)
    kernels.vote_top(*arguments, ids, scores, start, stop)
    for row in range(start, stop):
        best, sums = brute_vote(labels, voters[row], weights[row], frequency, wanted)
        assert ids[row].tolist() == best
        assert scores[row].tolist() == sums  # the same sums in the same order: equal to the last bit
    assert (outside(ids, start, stop) == -7).all()
    assert (outside(scores, start, stop) == UNTOUCHED).all()


# Few rows are all looked at, of many only those that share a feature: both ways must give the same.
@given(ranges(), st.integers(1, 8), st.integers(1, 12) | st.integers(80, 120), st.integers(1, 14), st.booleans(), seeds)
@settings(max_examples=200)
def test_sparse_top(rows, width, n, wanted, ties, seed):
    m, start, stop = rows
    random = np.random.default_rng(seed)
    Q, P = random_csr(random, m, width, 3), random_csr(random, n, width, 3)
    if n > 12:
        P = csr_matrix(P.multiply(random.random((n, 1)) < 0.1))  # most rows share nothing
    if ties:
        Q.data[:], P.data[:] = 1, random.choice([-1, 1], P.nnz)
    ids, values = np.full((m, wanted), -7, np.int32), np.full((m, wanted), UNTOUCHED, np.float32)
    kernels.sparse_top(*parts(Q), *parts(csr_matrix(P.T.tocsr())), n, ids, values, start, stop)
    products = Q.toarray() @ P.toarray().T
    for row in range(start, stop):
        found = ids[row][ids[row] >= 0]
        may = np.flatnonzero(products[row])
        assert len(found) == len(set(found)) == min(wanted, len(may))
        assert set(found) <= set(may)
        best = sorted(may, key=lambda j: (-products[row, j], j))[:wanted]  # ties to the lower row
        if ties:
            assert found.tolist() == best
        np.testing.assert_allclose(values[row][: len(best)], products[row, best], rtol=0, atol=1e-5)
        np.testing.assert_allclose(values[row][: len(best)], products[row, found], rtol=0, atol=1e-5)
        assert (ids[row][len(best) :] == -1).all()
        assert (values[row][len(best) :] == -np.inf).all()
    assert (outside(ids, start, stop) == -7).all()
    assert (outside(values, start, stop) == UNTOUCHED).all()


@pytest.mark.parametrize("name", ["sparse_times_dense", "sparse_times_sparse", "pattern_residual", "gram", "row_top"])
def test_kernels_let_other_threads_run(name):
    assert getattr(kernels, name).targetoptions["nogil"]
