"""Candidates and the labels' centroids against plain loops over dense arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from contract import problem
from kernel_helpers import frozen, quick, random_labels, seeds
from neartag.linalg.rows import TABLE_ENTRIES, as_rows, csr_arrays, normalise
from neartag.rerank import candidates as module
from neartag.rerank import hard_negatives as negatives_module
from neartag.rerank import label_centroids
from neartag.rerank.candidates import (
    CANDIDATES_PER_LABEL,
    MAX_CANDIDATES_PER_SOURCE,
    MIN_CANDIDATES_PER_SOURCE,
    Candidates,
    best_candidates,
    candidates_per_source,
)
from neartag.rerank.hard_negatives import HARD_NEGATIVE_NEIGHBOURS, NeighbourSearch, find_hard_negatives
from neartag.rerank.label_centroids import LabelCentroids
from neartag.search.inverted_index import PRUNE_LOOSELY, FeatureIndex
from neartag.search.weights import no_voters
from refine_helpers import in_plain_python

FORM = {"max_table": TABLE_ENTRIES}


@pytest.fixture(autouse=True, scope="module", params=[TABLE_ENTRIES, 0], ids=["as a table", "by lists"])
def form(request):
    """Have the centroids read in either form."""
    FORM["max_table"] = request.param


def centroids_of(X, Y, threads=1, **options):
    return LabelCentroids.from_rows(X, Y, threads, **FORM, **options)


def centroids(postings, lengths):
    return LabelCentroids(postings, lengths, **FORM)


def generate(X, Y, *rest):
    return module.generate(X, csr_arrays(Y), *rest)


def points(random, n, d, share=0.4):
    """Return unit rows of features above zero, some of them empty."""
    X = random.random((n, d)) * (random.random((n, d)) < share)
    return normalise(csr_matrix(X.astype(np.float32)))


def some_voters(random, m, count, n):
    """Return voters (m, count), each once, some missing, and shares that differ."""
    ids = np.array([random.permutation(n)[:count] for _ in range(m)]).reshape(m, count)
    ids = np.where(random.random((m, count)) < 0.2, -1, ids).astype(np.int32)
    return ids, np.where(ids < 0, 0.0, random.random((m, count)))


def dense_means(X, Y):
    """Return the labels' mean feature vectors of unit length (L, d), zeros where there is no point."""
    sums = Y.toarray().T.astype(np.float64) @ X.toarray()
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)


def votes(Y, voters):
    """Return the summed shares of each label (m, L)."""
    out = np.zeros((len(voters[0]), Y.shape[1]))
    for row, (ids, shares) in enumerate(zip(*voters, strict=True)):
        for point, share in zip(ids, shares, strict=True):
            if point >= 0:
                out[row] += share * Y[[point]].toarray()[0]
    return out


def similarities(X, Y, rows, own_points=None):
    """Return the cosine of each of these rows to each label's mean (m, L), its own labels' made without it."""
    out = X[rows].toarray() @ dense_means(X, Y).T
    if own_points is not None:
        for place, point in enumerate(own_points):
            for label in Y[[point]].indices:
                others = Y.toarray()[:, label].astype(bool)
                others[point] = False
                total = X.toarray()[others].sum(axis=0, dtype=np.float64)
                length = np.linalg.norm(total)
                out[place, label] = X[[rows[place]]].toarray()[0] @ total / length if length > 0 else 0.0
    return out


def assert_candidates(found: Candidates, tables, size: int) -> None:
    """Hold the candidates to what the three tables (m, L) say: `size` best of each, no fewer, no other, none twice."""
    assert found.labels.dtype == np.int32
    for row, labels in enumerate(found.labels):
        there = labels >= 0
        assert not there[1:][~there[:-1]].any(), "−1 stands only at the end"
        given = labels[there]
        assert len(set(given.tolist())) == len(given), "a label stands twice"
        best_somewhere = np.zeros(tables[0].shape[1], bool)
        for table in tables:
            values = table[row]
            wanted = min(size, int((values > 1e-7).sum()))
            level = np.sort(values)[::-1][wanted - 1] if wanted else np.inf
            surely = np.flatnonzero(values > level + 1e-6)
            assert np.isin(surely, given).all(), "one of the best is missing"
            assert (values[given] > level - 1e-6).sum() >= wanted, "there are fewer than asked for"
            best_somewhere |= values > level - 1e-6
        only_rounding = found.evidence[row, there].max(axis=1, initial=0) < 1e-5  # what is left of a point taken out
        assert (best_somewhere[given] | only_rounding).all(), "a label is there that nobody spoke for"
        for part, table in enumerate(tables):
            np.testing.assert_allclose(found.evidence[row, there, part], table[row, given], atol=2e-6)
        assert (found.evidence[row, ~there] == 0).all()


# ---- found by the three


@quick
@given(seed=seeds, size=st.integers(1, 9), threads=st.integers(1, 2))
def test_candidates_are_the_best_by_either_vote_or_the_means(seed, size, threads):
    random = np.random.default_rng(seed)
    X, Y = points(random, 20, 12), random_labels(random, 20, 8)
    near, alike = some_voters(random, 20, 5, 20), some_voters(random, 20, 3, 20)
    found = generate(X, Y, near, alike, centroids_of(X, Y), min(size, 8), threads)
    assert found.labels.shape == (20, min(3 * size, 8))
    assert_candidates(found, (votes(Y, near), votes(Y, alike), similarities(X, Y, np.arange(20))), min(size, 8))


@quick
@given(seed=seeds)
def test_the_form_of_the_means_changes_nothing(seed):
    random = np.random.default_rng(seed)
    X, Y = points(random, 20, 12), random_labels(random, 20, 8)
    near, means = some_voters(random, 20, 5, 20), centroids_of(X, Y)
    by_lists, as_table = (
        generate(X, Y, near, no_voters(20), replace(means, max_table=most), 3, 1, Y) for most in (0, TABLE_ENTRIES)
    )
    ours, theirs = by_lists.sort_by_label(), as_table.sort_by_label()
    assert (ours.labels == theirs.labels).all()
    assert (ours.evidence == theirs.evidence).all()
    there = ours.mask
    assert (np.diff(ours.labels, axis=1)[there[:, 1:]] > 0).all()
    assert (there.sum(axis=1) == by_lists.mask.sum(axis=1)).all()


@quick
@given(seed=seeds)
def test_own_labels_leave_their_means(seed):
    random = np.random.default_rng(seed)
    X, Y = points(random, 20, 12), random_labels(random, 20, 8)
    rows = np.flatnonzero(random.random(20) < 0.5)
    voters = some_voters(random, len(rows), 4, 20)
    found = generate(X[rows], Y, voters, no_voters(len(rows)), centroids_of(X, Y), 8, 1, Y[rows])
    wanted = similarities(X, Y, rows, rows)
    assert_candidates(found, (votes(Y, voters), np.zeros((len(rows), 8)), wanted), 8)


def test_of_a_shortened_centroid_a_point_takes_no_more_than_its_part():
    # Only what is kept of a centroid can be told without a point; features that are not kept say nothing either way.
    random = np.random.default_rng(11)
    X, Y = points(random, 40, 12, 0.6), random_labels(random, 40, 5)
    means = centroids_of(X, Y, entries_kept=4)
    found = generate(X, Y, no_voters(40), no_voters(40), means, 5, 1, Y)
    sums = means.postings.toarray() * means.lengths  # (d, L)
    for row in range(40):
        x = X[[row]].toarray()[0].astype(np.float64)
        own = set(Y[[row]].indices)
        for label, part in zip(found.labels[row], found.evidence[row], strict=True):
            if label in own:
                kept = x * (sums[:, label] > 0)
                length = means.lengths[label] ** 2 - 2 * sums[:, label] @ kept + kept @ kept
                assert part[2] == pytest.approx((sums[:, label] - kept) @ kept / np.sqrt(length), abs=1e-4)
            elif label >= 0:
                assert part[2] == pytest.approx(x @ sums[:, label] / means.lengths[label], abs=1e-5)


def test_the_mean_of_a_label_with_one_point_says_nothing_of_that_point():
    X = normalise(csr_matrix(np.array([[1, 2, 0], [0, 1, 1], [3, 0, 1]], np.float32)))
    Y = csr_matrix(np.eye(3, dtype=np.float32))
    found = generate(X, Y, no_voters(3), no_voters(3), centroids_of(X, Y), 3, 1, Y)
    assert not (found.labels == np.arange(3)[:, None]).any()
    found = generate(X, Y, no_voters(3), no_voters(3), centroids_of(X, Y), 3, 1)
    best = found.evidence[:, :, 2].argmax(axis=1)
    assert found.labels[np.arange(3), best].tolist() == [0, 1, 2]


def leave_out(X, postings, share):
    """Return rows without the features that have the longest lists for what they say, if that saves half the work."""
    lengths, rows = np.diff(postings.indptr), X.toarray()
    for row in rows:
        used = np.flatnonzero(row)
        worth = row[used] ** 2 / np.maximum(lengths[used], 1)
        order = used[np.argsort(worth, kind="stable")]
        gone = order[np.cumsum(row[order].astype(np.float64) ** 2) <= share**2 * (row.astype(np.float64) ** 2).sum()]
        if 2 * (lengths[used].sum() - lengths[gone].sum()) <= lengths[used].sum():
            row[gone] = 0
    return csr_matrix(rows)


@pytest.mark.parametrize("leaves_own", [False, True])
def test_of_very_many_labels_long_lists_that_say_little_are_not_looked_up(monkeypatch, leaves_own):
    random = np.random.default_rng(0)
    X = points(random, 60, 30, 0.3)
    common = csr_matrix(np.hstack([np.full((60, 8), 0.01), X.toarray()[:, 8:]]), dtype=np.float32)
    X = normalise(common)  # everybody has eight features, which say little
    Y = csr_matrix(random.random((60, 25)) < 0.15, dtype=np.float32)
    means = centroids_of(X, Y)
    fewer = leave_out(X, means.postings, label_centroids.LEFT_OUT_OF_A_POINT)
    assert 0 < fewer.nnz < X.nnz
    own = Y if leaves_own else None
    nobody = no_voters(60)
    wanted = generate(fewer, Y, nobody, nobody, means, 5, 1, own)
    monkeypatch.setattr(label_centroids, "LABELS_LOOKED_UP_IN_FULL", 20)
    means = replace(means, max_table=0)
    found = generate(X, Y, nobody, nobody, means, 5, 1, own)
    np.testing.assert_array_equal(np.sort(found.labels, axis=1), np.sort(wanted.labels, axis=1))
    np.testing.assert_allclose(np.sort(found.evidence, axis=1), np.sort(wanted.evidence, axis=1), rtol=1e-5, atol=1e-7)


def test_who_speaks_first_comes_first():
    # By embedding label 2, by features label 0, by the means label 1.
    X = normalise(csr_matrix(np.array([[1, 0], [1, 0], [0, 1]], np.float32)))
    Y = csr_matrix(np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]], np.float32))
    voters = [(np.array([[who]], np.int32), np.ones((1, 1))) for who in (0, 1)]
    means = centroids(csr_matrix(np.array([[0, 0, 0], [0, 1, 0]], np.float32)), np.ones(3, np.float32))
    found = generate(X[2:], Y, *voters, means, 1, 1)
    assert found.labels.tolist() == [[2, 0, 1]]
    assert found.evidence[0].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_nobody_speaks_for_anything():
    X, Y = csr_matrix((2, 4), dtype=np.float32), csr_matrix((3, 5), dtype=np.float32)
    means = centroids(csr_matrix((4, 5), dtype=np.float32), np.zeros(5, np.float32))
    found = generate(X, Y, no_voters(2), no_voters(2), means, 2, 1)
    assert found.labels.tolist() == [[-1] * 5] * 2
    assert not found.evidence.any()
    assert found.fusion_features(np.zeros((2, 5), np.float32), np.ones(5, bool), np.zeros(5)).shape == (0, 6)
    assert not len(found.are_correct(csr_matrix((2, 5))))


def test_rows_do_not_depend_on_those_beside_them():
    random = np.random.default_rng(5)
    X, Y = points(random, 600, 30, 0.2), random_labels(random, 600, 40)
    near, alike, means = some_voters(random, 600, 6, 600), some_voters(random, 600, 6, 600), centroids_of(X, Y)
    whole = generate(X, Y, near, alike, means, 5, 1, Y)
    for threads, rows in ((2, np.arange(600)), (1, random.permutation(600)), (1, np.array([17])), (1, np.arange(0))):
        some = [tuple(np.ascontiguousarray(each[rows]) for each in voters) for voters in (near, alike)]
        found = generate(X[rows], Y, *some, means, 5, threads, Y[rows])
        assert found.labels.tobytes() == whole.labels[rows].tobytes()
        assert found.evidence.tobytes() == whole.evidence[rows].tobytes()


@pytest.mark.parametrize("size", [3, 40])
def test_the_order_of_voters_and_of_their_labels_does_not_matter(size):
    random = np.random.default_rng(6)
    X, Y = points(random, 50, 30), random_labels(random, 50, 40)
    voters, _ = some_voters(random, 50, 8, 50)
    shares = np.where(voters < 0, 0, 0.125)  # one voter, one vote: most labels have as many as others
    means, order = centroids_of(X, Y), random.permutation(8)
    turned = csr_matrix((Y.data, np.concatenate([row.indices[::-1] for row in Y]), Y.indptr), shape=Y.shape)
    mixed = np.ascontiguousarray(voters[:, order]), np.ascontiguousarray(shares[:, order])
    one = generate(X, Y, (voters, shares), no_voters(50), means, size, 1)
    other = generate(X, turned, mixed, no_voters(50), means, size, 1)
    for row in range(50):
        first, second = np.argsort(one.labels[row]), np.argsort(other.labels[row])
        assert np.array_equal(one.labels[row][first], other.labels[row][second])
        assert np.array_equal(one.evidence[row][first], other.evidence[row][second])


def test_dense_rows_are_sparse_rows():
    random = np.random.default_rng(7)
    X, Y = points(random, 30, 12), random_labels(random, 30, 8)
    near, means = some_voters(random, 30, 4, 30), centroids_of(X, Y)
    one, other = (generate(rows, Y, near, near, means, 3, 1) for rows in (X, X.toarray()))
    assert np.array_equal(one.labels, other.labels)
    assert np.array_equal(one.evidence, other.evidence)


# ---- nothing is written past an end: in plain Python an index that is too large is an error


def test_votes_too_small_for_single_precision_are_no_votes(monkeypatch):
    in_plain_python(monkeypatch)
    Y = csr_matrix(np.ones((60, 2), np.float32))
    means = centroids(csr_matrix((3, 2), dtype=np.float32), np.zeros(2, np.float32))
    voters = np.arange(60, dtype=np.int32)[None], np.full((1, 60), 1e-60)
    assert (generate(csr_matrix((1, 3), dtype=np.float32), Y, voters, voters, means, 2, 1).labels == -1).all()


def test_stored_zeros_are_no_features(monkeypatch):
    in_plain_python(monkeypatch)
    means = centroids(csr_matrix(np.full((50, 2), 0.1, np.float32)), np.ones(2, np.float32))
    zeros = csr_matrix((np.zeros(50, np.float32), np.arange(50), [0, 50]), shape=(1, 50))
    found = generate(zeros, csr_matrix((1, 2), dtype=np.float32), no_voters(1), no_voters(1), means, 2, 1)
    assert (found.labels == -1).all()


def test_sums_that_cancel_on_the_way_are_met_once(monkeypatch):
    in_plain_python(monkeypatch)
    means = centroids(csr_matrix(np.full((8, 2), 0.5, np.float32)), np.ones(2, np.float32))
    row = csr_matrix(np.array([[1, -1, 1, -1, 1, -1, 1, 1]], np.float32))
    found = generate(row, csr_matrix((1, 2), dtype=np.float32), no_voters(1), no_voters(1), means, 2, 1)
    assert sorted(found.labels[0].tolist()) == [0, 1]
    assert found.evidence[0, :, 2].tolist() == [1, 1]


@pytest.mark.parametrize("size", [2, 3])
def test_a_label_met_again_does_not_take_the_place_of_others(size, monkeypatch):
    in_plain_python(monkeypatch)
    # Six features of label 0, whose sum comes back to zero three times, and one each of labels 1 and 2.
    leads = np.zeros((9, 3), np.float32)
    leads[:7, 0], leads[7, 1], leads[8, 2] = 0.5, 0.25, 0.125
    row = csr_matrix(np.array([[1, -1, 1, -1, 1, -1, 2, 1, 1]], np.float32))
    means = centroids(csr_matrix(leads), np.ones(3, np.float32))
    found = generate(row, csr_matrix((1, 3), dtype=np.float32), no_voters(1), no_voters(1), means, size, 1)
    told = dict(zip(found.labels[0].tolist(), found.evidence[0, :, 2].tolist(), strict=True))
    assert told == {**dict(zip(range(size), (1, 0.25, 0.125), strict=False)), **({-1: 0} if size < 3 else {})}


def test_similarities_below_zero_are_none():
    # Where features may be negative a vote can speak for a label whose mean speaks against it.
    means = centroids(csr_matrix(np.full((2, 1), 0.7, np.float32)), np.ones(1, np.float32))
    row, voters = np.array([[-0.7, -0.7]], np.float32), (np.zeros((1, 1), np.int32), np.ones((1, 1)))
    found = generate(row, csr_matrix(np.ones((1, 1), np.float32)), voters, no_voters(1), means, 1, 1)
    assert found.labels.tolist() == [[0]]
    assert np.isfinite(found.fusion_features(np.zeros((1, 1), np.float32), np.ones(1, bool), np.ones(1))).all()


# ---- what is told of them


def test_described_by_hand():
    labels = np.array([[3, 0, -1], [1, -1, -1], [2, 0, -1]], np.int32)
    told = np.zeros((3, 3, 3), np.float32)
    told[0, 0], told[0, 1], told[1, 0] = (0.5, 0.25, 0.125), (0, 1, 0), (0, 0, 1)
    margins = np.array([[1, -2, 9], [0.5, 9, 9], [4, -1, 9]], np.float32)
    ranked = np.array([True, True, False, True])  # the margin of label 2 is compared with nobody's
    found = Candidates(labels, told).fusion_features(margins, ranked, np.array([7, 0, 5, 2]))
    assert found.dtype == np.float32
    wanted = [
        [1, np.log(0.501), np.log(0.251), np.log(0.135), 0, np.log(3)],
        [-2, np.log(0.001), np.log(1.001), np.log(0.01), -3, np.log(8)],
        [0.5, np.log(0.001), np.log(0.001), np.log(1.01), 0, np.log(1)],
        [4, np.log(0.001), np.log(0.001), np.log(0.01), 0, np.log(6)],
        [-1, np.log(0.001), np.log(0.001), np.log(0.01), 0, np.log(8)],
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@quick
@given(seed=seeds)
def test_which_are_right(seed):
    random = np.random.default_rng(seed)
    Y = random_labels(random, 9, 12)
    labels = np.full((9, 6), -1, np.int32)
    for row in range(9):
        count = random.integers(0, 7)
        labels[row, :count] = random.permutation(12)[:count]
    found = Candidates(labels, np.zeros((9, 6, 3), np.float32)).are_correct(Y)
    wanted = [Y[row, label] == 1 for row in range(9) for label in labels[row] if label >= 0]
    assert found.tolist() == wanted


def test_rows_times_labels_beyond_32_bits():
    Y = csr_matrix((np.ones(1, np.float32), [2**30], np.append(np.zeros(9, int), [1])), shape=(9, 2**30 + 1))
    labels = np.full((9, 1), 2**30, np.int32)
    assert Candidates(labels, np.zeros((9, 1, 3), np.float32)).are_correct(Y).tolist() == [False] * 8 + [True]


@pytest.mark.parametrize(
    ("n", "n_labels", "each", "wanted"),
    [
        (10, 1000, 1, MIN_CANDIDATES_PER_SOURCE),
        (10, 1000, 5, 5 * CANDIDATES_PER_LABEL),
        (10, 1000, 50, MAX_CANDIDATES_PER_SOURCE),
        (10, 7, 5, 7),
        (10, 1000, 0, MIN_CANDIDATES_PER_SOURCE),
        (0, 9, 0, 9),
    ],
)
def test_how_many_candidates_are_asked_for(n, n_labels, each, wanted):
    Y = csr_matrix((np.ones(n * each), np.tile(np.arange(each), n), np.arange(n + 1) * each), shape=(n, n_labels))
    assert candidates_per_source(Y) == wanted


# ---- the best of them


@quick
@given(seed=seeds, k=st.integers(1, 9), threads=st.integers(1, 2), some=st.booleans())
def test_the_best_and_ties_to_the_more_frequent_and_then_to_the_lower_id(seed, k, threads, some):
    random = np.random.default_rng(seed)
    labels, scores = np.full((10, 7), -1, np.int32), np.full((10, 7), -1.0)
    frequency = random.integers(0, 3, 15)
    for row in range(10):
        count = random.integers(0, 8)
        labels[row, :count] = random.permutation(15)[:count]
        scores[row, :count] = random.integers(0, 4, count) / 4
    allowed = random.random(15) < 0.5 if some else None
    found, values = best_candidates(*frozen(labels, scores), frequency, k, threads, allowed)
    assert found.shape == values.shape == (10, k)
    for row in range(10):
        there = [(label, score) for label, score in zip(labels[row], scores[row], strict=True) if label >= 0]
        there = [pair for pair in there if allowed is None or allowed[pair[0]]]
        wanted = sorted(there, key=lambda pair: (-pair[1], -frequency[pair[0]], pair[0]))[:k]
        wanted += [(-1, 0)] * (k - len(wanted))
        assert list(zip(found[row].tolist(), values[row].tolist(), strict=True)) == wanted


# ---- means


@quick
@given(seed=seeds, threads=st.integers(1, 2))
def test_means_are_those_of_dense_arrays(seed, threads):
    random = np.random.default_rng(seed)
    X, Y = points(random, 15, 10), random_labels(random, 15, 9)
    for rows in (X, X.toarray()):
        found = centroids_of(rows, Y, threads)
        assert found.postings.shape == (10, 9)
        np.testing.assert_allclose(found.postings.toarray().T, dense_means(X, Y), atol=1e-6)
        sums = Y.toarray().T @ X.toarray()
        np.testing.assert_allclose(found.lengths, np.linalg.norm(sums, axis=1), rtol=1e-5, atol=1e-6)


def test_means_of_features_of_either_sign():
    random = np.random.default_rng(12)
    X, Y = normalise(random.standard_normal((15, 10)).astype(np.float32)), random_labels(random, 15, 9)
    found = centroids_of(X, Y)
    wanted = dense_means(csr_matrix(X), Y)
    np.testing.assert_allclose(found.postings.toarray().T, wanted, atol=1e-6)
    told = generate(X, Y, no_voters(15), no_voters(15), found, 9, 1, Y)
    table = similarities(csr_matrix(X), Y, np.arange(15), np.arange(15))
    assert_candidates(told, (np.zeros((15, 9)), np.zeros((15, 9)), np.maximum(table, 0)), 9)


def test_the_largest_entries_are_kept_of_a_centroid():
    random = np.random.default_rng(8)
    X, Y = points(random, 15, 10), random_labels(random, 15, 9)
    whole = dense_means(X, Y)
    found = centroids_of(X, Y, entries_kept=3, labels_at_once=2).postings.toarray().T  # labels in five blocks
    for mean, kept in zip(whole, found, strict=True):
        largest = np.sort(mean)[::-1][:3]
        np.testing.assert_allclose(np.sort(kept)[::-1][:3], largest, atol=1e-6)
        assert np.count_nonzero(kept) == np.count_nonzero(largest)


def test_of_equal_entries_the_lower_feature_is_kept():
    X = normalise(np.array([[0, 0, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 0, 1, 1]], np.float32))
    Y = csr_matrix(np.ones((3, 1), np.float32))
    found = [
        centroids_of(rows, Y, entries_kept=2).postings.toarray()[:, 0]
        for rows in (X, csr_matrix(X), csr_matrix(X[::-1]))
    ]
    assert np.flatnonzero(found[0]).tolist() == np.flatnonzero(found[1]).tolist()
    assert np.flatnonzero(found[1]).tolist() == np.flatnonzero(found[2]).tolist()


def test_means_for_more_labels():
    random = np.random.default_rng(9)
    X, Y = points(random, 15, 10), random_labels(random, 15, 9)
    means = centroids_of(X, Y)
    wide = means.widen(12)
    assert wide.postings.shape == (10, 12)
    assert wide.lengths[9:].tolist() == [0, 0, 0]
    assert wide.lengths.dtype == np.float32
    more = csr_matrix((Y.data, Y.indices, Y.indptr), shape=(15, 12))
    near = some_voters(random, 15, 4, 15)
    one, other = generate(X, Y, near, near, means, 4, 1), generate(X, more, near, near, wide, 4, 1)
    assert np.array_equal(one.labels, other.labels[:, : one.labels.shape[1]])


# ---- hard negatives


def assert_same_matrix(one, other):
    assert one.shape == other.shape
    one, other = one.sorted_indices(), other.sorted_indices()
    assert one.indptr.tolist() == other.indptr.tolist()
    assert one.indices.tolist() == other.indices.tolist()


def test_hard_negatives_are_the_wrong_candidates():
    data = problem()
    X, Y = normalise(as_rows(data.X)), data.Y
    wrong = find_hard_negatives(X, Y, centroids_of(X, Y), 30, NeighbourSearch.from_rows(X, 0), 1)
    assert wrong.shape == Y.shape
    assert (wrong.data == 1).all()
    assert wrong.multiply(Y).nnz == 0, "nothing that is right"
    # With room for all labels: whatever a neighbour has, or a mean shares a word with.
    cosines = (X @ X.T).toarray()
    np.fill_diagonal(cosines, -1)
    shares = similarities(X, Y, np.arange(240)) > 1e-6
    for row in range(0, 240, 17):
        nearest = np.argsort(-cosines[row], kind="stable")[:10]  # well within the 20 that are asked
        surely = set(Y[nearest].indices) | set(np.flatnonzero(shares[row]))
        assert surely - set(Y[[row]].indices) <= set(wrong[[row]].indices)


@pytest.mark.parametrize("dense", [False, True])
def test_a_point_is_no_neighbour_of_its_own(dense, monkeypatch):
    data = problem()
    X, Y = normalise(as_rows(data.X)), data.Y
    asked = []

    def spy(rows, labels, near, alike, means, size, threads, own, *beside):
        asked.append((near, alike, own))
        return module.generate(rows, labels, near, alike, means, size, threads, own, *beside)

    monkeypatch.setattr(negatives_module, "generate", spy)
    rows, means = X.toarray() if dense else X, centroids_of(X, Y)
    wrong = find_hard_negatives(rows, Y, means, 5, NeighbourSearch.from_rows(rows, 0), 1, block_rows=100)
    assert [len(own.indptr) - 1 for _, _, own in asked] == [100, 100, 40]
    assert (np.vstack([near[0] for near, _, _ in asked]) == -1).all(), "embeddings are not asked"
    ids, shares = (np.vstack([alike[piece] for _, alike, _ in asked]) for piece in (0, 1))
    assert not (ids == np.arange(240)[:, None]).any()
    assert ((ids >= 0).sum(axis=1) >= 20).mean() > 0.9
    np.testing.assert_allclose(shares.sum(axis=1)[(ids >= 0).any(axis=1)], 1)
    monkeypatch.undo()
    assert_same_matrix(wrong, find_hard_negatives(rows, Y, means, 5, NeighbourSearch.from_rows(rows, 0), 1))
    assert_same_matrix(wrong, find_hard_negatives(rows, Y, means, 5, NeighbourSearch.from_rows(rows, 0).cache(1), 1))


def test_of_many_points_some_are_searched():
    data = problem()
    X, Y = normalise(as_rows(data.X)), data.Y

    def search(seed=0, **options):
        return NeighbourSearch.from_rows(X, seed, min_searched=100, **options)

    assert len(search().searched) == 240, "the lists are short"
    work = FeatureIndex.from_rows(X).work(X, HARD_NEGATIVE_NEIGHBOURS + 1, PRUNE_LOOSELY)
    assert len(search(max_entries_read=0.7 * work).searched) == 168
    assert len(search(max_entries_read=1).searched) == 100, "no fewer, however long they are"
    means = centroids_of(X, Y)
    first, again, other = (
        find_hard_negatives(X, Y, means, 5, search(seed, max_entries_read=1), 1) for seed in (0, 0, 1)
    )
    assert_same_matrix(first, again)
    assert (first != other).nnz
    assert first.multiply(Y).nnz == 0
    assert (np.diff(first.indptr) > 0).mean() > 0.9


def test_neighbours_among_some_of_the_points():
    X = normalise(as_rows(problem().X))
    kept = np.random.default_rng(0).random(240) < 0.6
    numbers = np.flatnonzero(kept)
    everybody, some = NeighbourSearch.from_rows(X, 0).cache(1), NeighbourSearch.from_rows(X, 0).cache(1).keep(kept)
    assert some.ids.shape == (len(numbers), everybody.ids.shape[1])
    for place, point in enumerate(numbers):
        theirs = [other for other in everybody.ids[point] if other >= 0 and kept[other]]
        found = some.ids[place] >= 0
        assert numbers[some.ids[place][found]].tolist() == theirs
        assert (some.cosines[place][~found] == -np.inf).all()
        np.testing.assert_allclose(some.cosines[place][found], (X[point] @ X[theirs].T).toarray()[0], rtol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_hardly_any_points(n):
    X, Y = normalise(as_rows(problem().X[:n])), problem().Y[:n]
    wrong = find_hard_negatives(X, Y, centroids_of(X, Y), 5, NeighbourSearch.from_rows(X, 0), 1)
    assert wrong.shape == (n, 30)
    assert wrong.multiply(Y).nnz == 0
    assert set(wrong.indices) <= set(Y.indices)


def test_threads_change_nothing():
    X, Y = normalise(as_rows(problem().X)), problem().Y
    one, two = (
        find_hard_negatives(X, Y, centroids_of(X, Y, threads), 5, NeighbourSearch.from_rows(X, 0), threads)
        for threads in (1, 2)
    )
    assert_same_matrix(one, two)
