"""The kernels of prediction against the plain lines that they equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from kernel_helpers import UNTOUCHED, frozen, outside, parts, random_csr, random_labels, ranges, seeds
from neartag.data.synthetic import make
from neartag.search import cell_kernels, inverted_index_kernels, topk_kernels
from neartag.x1 import vote_kernels


@given(ranges(), st.integers(0, 9), st.integers(1, 12), st.booleans(), seeds)
@settings(max_examples=150)
def test_row_top(rows, columns, wanted, ties, seed):
    n, start, stop = rows
    random = np.random.default_rng(seed)
    table = random.choice([-np.inf, -1, 0, 0.5, 1], (n, columns)) if ties else random.standard_normal((n, columns))
    table = table.astype(np.float32)
    ids, values = np.full((n, wanted), -7, np.int32), np.full((n, wanted), UNTOUCHED, np.float32)
    topk_kernels.row_top(*frozen(table), 0, ids, values, start, stop)
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
    arguments = parts(labels), frozen(voters, weights), *frozen(frequency)
    sums, touched = np.zeros(n_labels), np.empty(n_labels, np.int32)
    vote_kernels.vote_top(*arguments, (sums, touched), ids, scores, start, stop)
    assert not sums.any(), "left as it was found"
    for row in range(start, stop):
        best, sums = brute_vote(labels, voters[row], weights[row], frequency, wanted)
        assert ids[row].tolist() == best
        assert scores[row].tolist() == sums  # the same sums in the same order: equal to the last bit
    assert (outside(ids, start, stop) == -7).all()
    assert (outside(scores, start, stop) == UNTOUCHED).all()


@given(ranges(), st.integers(1, 9), st.integers(0, 6), st.integers(1, 5), seeds)
@settings(max_examples=100)
def test_label_shares(rows, n_labels, n_voters, k, seed):
    m, start, stop = rows
    random = np.random.default_rng(seed)
    labels = random_labels(random, 8, n_labels)
    voters, weights = random.integers(-1, 8, (m, n_voters)).astype(np.int32), random.random((m, n_voters))
    asked = random.integers(-1, n_labels, (m, k)).astype(np.int32)
    out, sums = np.full((m, k), UNTOUCHED), np.zeros(n_labels)
    vote_kernels.label_shares(parts(labels), frozen(voters, weights), *frozen(asked), sums, out, start, stop)
    assert not sums.any(), "left as it was found"
    for row in range(start, stop):
        best, scores = brute_vote(labels, voters[row], weights[row], np.zeros(n_labels), n_labels)
        share_of = dict(zip(best, scores, strict=True))
        wanted = [share_of.get(int(label), 0.0) if label >= 0 else 0.0 for label in asked[row]]
        assert out[row].tolist() == wanted  # the same sums in the same order: equal to the last bit
    assert (outside(out, start, stop) == UNTOUCHED).all()


def sparse_top(Q, P, prune, rescored, ids, values, start, stop):
    n, d = P.shape
    score, touched, query = np.zeros(n, np.float32), np.empty(n, np.int32), np.zeros(d, np.float32)
    matrices = parts(Q), parts(csr_matrix(P.T.tocsr())), parts(P)
    scratch = score, touched, query
    inverted_index_kernels.sparse_top(*matrices, prune, rescored, scratch, ids, values, start, stop)
    assert not score.any(), "left as they were found"
    assert not query.any(), "left as they were found"


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
    sparse_top(Q, P, 0.0, wanted, ids, values, start, stop)
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


@given(ranges(), st.integers(1, 6), st.integers(1, 12), st.integers(1, 9), st.integers(0, 8), seeds)
@settings(max_examples=150)
def test_restricted_top(rows, width, n, wanted, many, seed):
    m, start, stop = rows
    random = np.random.default_rng(seed)
    Q, P = random_csr(random, m, width), random_csr(random, n, width)
    listed = np.array([random.permutation(np.arange(-4, n))[:many] for _ in range(m)]).reshape(m, -1)
    listed = np.maximum(listed, -1).astype(np.int32)
    ids, values = np.full((m, wanted), -7, np.int32), np.full((m, wanted), UNTOUCHED, np.float32)
    query = np.zeros(width, np.float32)
    inverted_index_kernels.restricted_top(parts(Q), parts(P), *frozen(listed), query, ids, values, start, stop)
    assert not query.any(), "left as it was found"
    table = (Q @ P.T).toarray()
    for row in range(start, stop):
        there = [point for point in listed[row] if point >= 0 and table[row, point] != 0]
        order = sorted(there, key=lambda point: (-table[row, point], point))[:wanted]
        np.testing.assert_allclose(values[row, : len(order)], table[row, order], rtol=1e-5)
        assert set(ids[row, : len(order)].tolist()) <= set(there)
        assert (ids[row, len(order) :] == -1).all()
        assert (values[row, len(order) :] == -np.inf).all()
    assert (outside(ids, start, stop) == -7).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_same_rows_among_very_many_features_are_scored_to_the_same_bits(seed):
    random = np.random.default_rng(seed)
    narrow = random_csr(random, 20, 40), random_csr(random, 30, 40)
    # Half of the features share their place in the small table with one of the others.
    step, half = int(inverted_index_kernels.SLOTS), np.sort(random.choice(10_000, 20, replace=False))
    places = np.concatenate([half, half + 8 * step]).astype(np.int32)
    width = 16 * step
    assert width >= inverted_index_kernels.MIN_WIDE > 40
    wide = tuple(csr_matrix((each.data, places[each.indices], each.indptr), (each.shape[0], width)) for each in narrow)
    listed = np.tile(np.arange(30, dtype=np.int32), (20, 1))
    found = []
    for Q, P in (narrow, wide):
        ids, values = np.empty((20, 5), np.int32), np.empty((20, 5), np.float32)
        query = np.zeros(Q.shape[1], np.float32)
        inverted_index_kernels.restricted_top(parts(Q), parts(P), *frozen(listed), query, ids, values, 0, 20)
        found.append((ids.tolist(), values.tolist()))
    assert found[0] == found[1]
    assert sum(ids[0] >= 0 for ids in found[0][0]) > 10


@given(ranges(), st.integers(1, 300), st.integers(1, 12), st.integers(1, 200), st.booleans(), seeds)
@settings(max_examples=60)
def test_row_top_goes_on_where_it_was(rows, columns, wanted, cut, ties, seed):
    n, start, stop = rows
    random = np.random.default_rng(seed)
    table = (random.integers(0, 9, (n, columns)) if ties else random.standard_normal((n, columns))).astype(np.float32)
    whole = np.empty((n, wanted), np.int32), np.empty((n, wanted), np.float32)
    topk_kernels.row_top(*frozen(table), 0, *whole, start, stop)
    piecewise = np.empty((n, wanted), np.int32), np.empty((n, wanted), np.float32)
    for first in range(0, columns, cut):
        (piece,) = frozen(np.ascontiguousarray(table[:, first : first + cut]))
        topk_kernels.row_top(piece, first, *piecewise, start, stop)
    for one, other in zip(whole, piecewise, strict=True):
        assert (one[start:stop] == other[start:stop]).all()
    for row in range(start, stop):
        assert (
            whole[0][row][: min(wanted, columns)].tolist() == np.argsort(-table[row], kind="stable")[:wanted].tolist()
        )


def test_what_is_left_out_of_the_first_look_hardly_changes_who_is_found():
    rows = make(3100, 4000, 200, 60, 3).X
    P, Q = rows[:3000], rows[3000:]
    found = {}
    for prune in (0.0, 0.3):
        ids, values = np.empty((100, 10), np.int32), np.empty((100, 10), np.float32)
        sparse_top(Q, P, prune, 40, ids, values, 0, 100)
        found[prune] = ids
        exact = np.take_along_axis((Q @ P.T).toarray(), ids.astype(np.int64), axis=1)
        np.testing.assert_allclose(values, exact, rtol=1e-5)  # in full, whatever was left out at first
        assert (np.diff(values, axis=1) <= 0).all()
    same = np.mean([len(set(one) & set(other)) / 10 for one, other in zip(found[0.0], found[0.3], strict=True)])
    assert 0.97 < same < 1, "not exact, so something was left out, but nearly"


@pytest.mark.parametrize(
    "kernel",
    [
        topk_kernels.row_top,
        cell_kernels.cell_top,
        cell_kernels.cells_top,
        inverted_index_kernels.sparse_top,
        inverted_index_kernels.restricted_top,
        vote_kernels.vote_top,
        vote_kernels.label_shares,
    ],
    ids=lambda kernel: kernel.py_func.__name__,
)
def test_kernels_let_other_threads_run(kernel):
    assert kernel.compile().targetoptions["nogil"]


@given(st.integers(20, 120), st.integers(1, 6), st.booleans(), seeds)
@settings(max_examples=100)
def test_leaving_features_out_stays_within_bounds(n, wanted, ties, seed):
    # Stored zeros, features that weigh the same, signs that cancel, all features in most rows.
    random = np.random.default_rng(seed)
    P = csr_matrix(random.choice([-1.0, 0.0, 1.0] if ties else [-1.0, 0.5, 2.0], (n, 6)).astype(np.float32))
    Q = csr_matrix(random.choice([-1.0, 1.0], (8, 6)).astype(np.float32))
    Q.data[: 6 * 2] = 0  # rows of stored zeros
    Q.data[6 * 3] = 1e-3
    ids, values = np.full((8, wanted), -7, np.int32), np.full((8, wanted), UNTOUCHED, np.float32)
    sparse_top(Q, P, 0.3, wanted, ids, values, 0, 8)
    products = Q.toarray() @ P.toarray().T
    assert (ids[:2] == -1).all()
    for row in range(8):
        found = ids[row][ids[row] >= 0]
        assert len(found) == len(set(found))
        np.testing.assert_allclose(values[row][: len(found)], products[row, found], atol=1e-5)
        assert (products[row, found] != 0).all()
