"""Rankers: solved as scikit-learn's linear machines are, and read alike by label, by feature and from dense weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

from kernel_helpers import UNTOUCHED, frozen, outside, parts, quick, random_csr, ranges, seeds
from neartag.linalg.rows import TABLE_ENTRIES, normalise
from neartag.rerank import ranker_kernels
from neartag.rerank.rankers import Problems, Rankers, fit_problems, fit_rankers
from refine_helpers import in_plain_python


def made(seed=0, n=50, d=12, n_labels=6, negatives=0.5):
    """Return unit rows, their labels, and where each label is a wrong candidate."""
    random = np.random.default_rng(seed)
    X = normalise(random_csr(random, n, d))
    Y = csr_matrix((random.random((n, n_labels)) < 0.3).astype(np.float32))
    wrong = csr_matrix(((random.random((n, n_labels)) < negatives) & (Y.toarray() == 0)).astype(np.float32))
    return X, Y, wrong


EXACT = {"tolerance": 1e-10, "max_rounds": 100_000}  # descent goes on to the end


def wide(weights: csr_matrix) -> np.ndarray:
    return weights.toarray().astype(np.float64)


def margins_of(X, rankers, label):
    return X.toarray().astype(np.float64) @ wide(rankers.weights)[label] + rankers.bias[label]


# ---- what they are trained to


@pytest.mark.parametrize("cost", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_zero_at_the_end(cost, seed):
    X, Y, wrong = made(seed)
    found = fit_rankers(X, Y, wrong, cost, 1e-9, 1, **EXACT)
    for label in range(6):
        signs = Y.toarray()[:, label] - wrong.toarray()[:, label]  # 1: has it, −1: hard negative, 0: not there
        loss = np.maximum(0, 1 - signs * margins_of(X, found, label)) * (signs != 0)
        pull = 2 * cost * loss * signs  # of each point (n,)
        np.testing.assert_allclose(wide(found.weights)[label], X.T @ pull, atol=2e-4 * cost + 1e-5)
        np.testing.assert_allclose(found.bias[label], pull.sum(), atol=2e-4 * cost + 1e-5)


@pytest.mark.parametrize("cost", [0.5, 5.0])
def test_they_are_scikit_learns(cost):
    X, Y, wrong = made(7)
    found = fit_rankers(X, Y, wrong, cost, 1e-9, 1, **EXACT)
    for label in range(6):
        signs = Y.toarray()[:, label] - wrong.toarray()[:, label]
        machine = LinearSVC(C=cost, loss="squared_hinge", dual=True, tol=1e-9, max_iter=1_000_000, intercept_scaling=1)
        machine.fit(X[signs != 0], signs[signs != 0])
        np.testing.assert_allclose(wide(found.weights)[label], machine.coef_[0], atol=1e-4)
        np.testing.assert_allclose(found.bias[label], machine.intercept_[0], atol=1e-4)


def test_where_it_ends_by_default_is_near_the_end():
    X, Y, wrong = made(1, n=400, d=60, n_labels=10)

    def objective(rankers):
        total = 0.0
        for label in range(10):
            signs = Y.toarray()[:, label] - wrong.toarray()[:, label]
            loss = np.maximum(0, 1 - signs * margins_of(X, rankers, label)) * (signs != 0)
            total += 0.5 * (wide(rankers.weights)[label] ** 2).sum() + 0.5 * rankers.bias[label] ** 2 + (loss**2).sum()
        return total

    usual = objective(fit_rankers(X, Y, wrong, 1.0, 1e-9, 1))
    assert usual < 1.02 * objective(fit_rankers(X, Y, wrong, 1.0, 1e-9, 1, **EXACT))


def test_they_tell_points_apart():
    # A label is there where its feature is.
    random = np.random.default_rng(2)
    Y = csr_matrix((random.random((200, 5)) < 0.3).astype(np.float32))
    X = normalise(csr_matrix(np.hstack([Y.toarray(), random.random((200, 5)).astype(np.float32)])))
    found = fit_rankers(X, Y, csr_matrix(1 - Y.toarray()), 1.0, 0.05, 1)
    margins = found.margins(X, np.tile(np.arange(5, dtype=np.int32), (200, 1)), 1)
    assert ((margins > 0) == (Y.toarray() == 1)).mean() > 0.98
    assert (found.weights.toarray().argmax(axis=1) == np.arange(5)).all()


# ---- how a label's words are read


@pytest.mark.parametrize("plainly", [False, True])
@pytest.mark.parametrize("max_copied", [0, 130, 10_000])
def test_rows_that_are_copied_give_the_same_bits(plainly, max_copied, monkeypatch):
    X, Y, wrong = made(8, d=40)
    problems = Problems.from_labels(X, Y, wrong)
    entries = np.add.reduceat(np.diff(X.indptr)[problems.points], problems.pointer[:-1])  # (L,)
    assert entries.min() < 130 < entries.max()  # of 130 some labels are copied, and some are not
    whole = fit_problems(X, problems, 1.0, 0.1, 1)
    if plainly:
        in_plain_python(monkeypatch)  # an index past an end is an error
    copied = fit_problems(X, problems, 1.0, 0.1, 2, min_scattered=1, max_copied=max_copied)
    assert whole.weights.nnz > 0
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(whole.weights, name), getattr(copied.weights, name))
    assert np.array_equal(whole.bias, copied.bias)


# ---- what is kept


def test_small_weights_are_dropped_and_no_others():
    X, Y, wrong = made(3)
    whole, cut = fit_rankers(X, Y, wrong, 1.0, 1e-9, 1), fit_rankers(X, Y, wrong, 1.0, 0.3, 1)
    weights = whole.weights.toarray()
    assert 0 < cut.weights.nnz < whole.weights.nnz
    assert np.array_equal(cut.weights.toarray(), np.where(np.abs(weights) >= np.float32(0.3), weights, 0))
    assert np.array_equal(cut.bias, whole.bias)
    assert cut.weights.has_sorted_indices
    assert cut.weights.has_canonical_format


def test_weights_of_any_size_are_kept_when_least_is_zero(monkeypatch):
    in_plain_python(monkeypatch)  # there is room for each feature once
    random = np.random.default_rng(4)
    X = csr_matrix(random.random((30, 3)).astype(np.float32))
    Y = csr_matrix((random.random((30, 2)) < 0.5).astype(np.float32))
    found = fit_rankers(X, Y, csr_matrix(1 - Y.toarray()), 1.0, 0.0, 1)
    assert found.weights.shape == (2, 3)
    assert found.weights.nnz == 6
    assert found.weights.has_canonical_format


def test_labels_without_points_have_none():
    X, Y, wrong = made(5)
    Y, wrong = Y.tolil(), wrong.tolil()
    Y[:, [0, 3, 5]] = 0
    wrong[:, 3] = 1  # where it is wrong does not matter
    wrong[:, 4] = 0  # nor need a label be wrong anywhere
    Y, wrong = Y.tocsr(), wrong.tocsr()
    found = fit_rankers(X, Y, wrong, 1.0, 1e-9, 1)
    assert found.known.tolist() == [False, True, True, False, True, False]
    assert (found.bias[[0, 3, 5]] == 0).all()
    assert (np.diff(found.weights.indptr)[[0, 3, 5]] == 0).all()
    # The others are what they are without these.
    alone = fit_rankers(X, Y[:, [1, 2, 4]], wrong[:, [1, 2, 4]], 1.0, 1e-9, 1)
    assert np.array_equal(wide(found.weights)[[1, 2, 4]], wide(alone.weights))
    assert (margins_of(X, found, 4)[np.flatnonzero(Y.toarray()[:, 4])] > 0.5).all()


@pytest.mark.parametrize("points", [0, 1, 2])
def test_hardly_anything_to_learn_from(points):
    X, Y, wrong = (each[:points] for each in made(6))
    found = fit_rankers(X, Y, wrong, 1.0, 0.05, 1)
    assert found.weights.shape == (6, 12)
    assert np.isfinite(found.bias).all()
    assert np.isfinite(found.weights.data).all()


def test_rows_without_features_move_only_the_constant():
    Y = csr_matrix(np.array([[1], [1], [1], [0]], np.float32))
    found = fit_rankers(csr_matrix((4, 3), dtype=np.float32), Y, csr_matrix(1 - Y.toarray()), 1.0, 1e-9, 1, **EXACT)
    assert found.weights.nnz == 0
    # min b²/2 + 3 (1 − b)² + (1 + b)²
    np.testing.assert_allclose(found.bias, [4 / 9], atol=1e-6)


@pytest.mark.parametrize("change", ["dense", "two threads", "again"])
def test_the_same_bytes(change):
    X, Y, wrong = made(8, n=600, d=50, n_labels=70)
    one = fit_rankers(X, Y, wrong, 1.0, 0.05, 1)
    other = fit_rankers(
        X.toarray() if change == "dense" else X, Y, wrong, 1.0, 0.05, 2 if change == "two threads" else 1
    )
    for name in ("indptr", "indices", "data"):
        assert getattr(one.weights, name).tobytes() == getattr(other.weights, name).tobytes()
    assert one.bias.tobytes() == other.bias.tobytes()
    assert (one.known == other.known).all()


# ---- margins


@quick
@given(rows=ranges(), seed=seeds)
def test_margins_are_those_of_dense_weights(rows, seed):
    (m, start, stop), random = rows, np.random.default_rng(seed)
    X, weights = random_csr(random, m, 15), random_csr(random, 7, 15)
    (bias,) = frozen(random.standard_normal(7).astype(np.float32))
    # Nobody, and labels that came later, among the candidates.
    (labels,) = frozen(random.integers(-1, 10, (m, 5)).astype(np.int32))
    whole = np.hstack([X.toarray() @ weights.toarray().T + bias, np.zeros((m, 4))])  # the last for −1
    wanted = np.take_along_axis(whole, np.where(labels < 0, 10, labels), axis=1)
    by_label, by_feature, by_table = np.full((3, m, 5), UNTOUCHED, np.float32)
    ranker_kernels.margins_by_label(parts(X), parts(weights), bias, 15, labels, by_label, start, stop)
    turned = csr_matrix(weights.T.tocsr())
    ranker_kernels.margins_by_feature(parts(X), parts(turned), bias, labels, by_feature, start, stop)
    ranker_kernels.margins_by_table(parts(X), *frozen(turned.toarray()), bias, labels, by_table, start, stop)
    for found in (by_label, by_feature, by_table):
        np.testing.assert_allclose(found[start:stop], wanted[start:stop], atol=1e-5)
        assert (found == by_label).all(), "the form of the weights changes an answer"
        assert (outside(found, start, stop) == UNTOUCHED).all()


@quick
@given(rows=ranges(), seed=seeds)
def test_margins_of_many_are_those_of_each(rows, seed):
    (_, start, stop), random = rows, np.random.default_rng(seed)
    n_labels = max(rows[0], 1)
    X, weights = random_csr(random, 12, 15), random_csr(random, n_labels, 15)
    (bias,) = frozen(random.standard_normal(n_labels).astype(np.float32))
    (labels,) = frozen(random.integers(-1, n_labels + 2, (12, 5)).astype(np.int32))
    wanted = np.empty((12, 5), np.float32)
    ranker_kernels.margins_by_label(parts(X), parts(weights), bias, 15, labels, wanted, 0, 12)
    cells = np.argsort(labels, axis=None, kind="stable")
    places = frozen(np.searchsorted(labels.ravel()[cells], np.arange(n_labels + 1)), cells)
    found = np.full((12, 5), UNTOUCHED, np.float32)
    ranker_kernels.margins_of_many(parts(X), parts(weights), bias, 15, tuple(places), found, start, stop)
    own = (labels >= start) & (labels < stop)
    assert (found[own] == wanted[own]).all(), "to the last bit"
    assert (found[~own] == UNTOUCHED).all()
    rankers = Rankers(weights, bias, np.ones(n_labels, bool), max_table=0, min_turns=0)
    assert (rankers.margins(X, labels, 1) == wanted).all()


@pytest.mark.parametrize("form", ["by label", "by feature", "as a table", "by turns"])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_margins_whatever_the_form(form, dense, threads):
    random = np.random.default_rng(9)
    X, weights = random_csr(random, 40, 15), random_csr(random, 7, 15)
    bias = random.standard_normal(7).astype(np.float32)
    labels = random.integers(0, 7, (40, 5)).astype(np.int32)
    most = TABLE_ENTRIES if form == "as a table" else 0
    turns = 0 if form == "by turns" else 1e9
    rankers = Rankers(weights, bias, np.ones(7, bool), form == "by feature", max_table=most, min_turns=turns)
    found = rankers.margins(X.toarray() if dense else X, labels, threads)
    wanted = np.take_along_axis(X.toarray() @ weights.toarray().T + bias, labels, axis=1)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_a_table_scores_all_labels_and_so_only_where_these_are_few(monkeypatch):
    random = np.random.default_rng(11)
    rankers = Rankers(random_csr(random, 81, 9, 9), np.zeros(81, np.float32), np.ones(81, bool))
    assert rankers._table.shape == (9, 81)
    asked = []
    by_table = ranker_kernels.margins_by_table
    monkeypatch.setattr(ranker_kernels, "margins_by_table", lambda *each: (asked.append(1), by_table(*each)))
    for candidates, tables in ((10, 0), (11, 1)):
        rankers.margins(random_csr(random, 5, 9), np.zeros((5, candidates), np.int32), 1)
        assert len(asked) == tables


@quick
@given(seed=seeds, features=st.integers(0, 4))
def test_few_features_are_looked_up_among_many_weights(seed, features):
    random = np.random.default_rng(seed)
    X, weights = random_csr(random, 9, 400, features), random_csr(random, 5, 400, 400)
    bias = random.standard_normal(5).astype(np.float32)
    labels = random.integers(0, 5, (9, 3)).astype(np.int32)
    found = Rankers(weights, bias, np.ones(5, bool), max_table=0).margins(X, labels, 1)
    wanted = np.take_along_axis(X.toarray() @ weights.toarray().T + bias, labels, axis=1)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_weights_are_read_in_the_way_that_is_less():
    random = np.random.default_rng(10)
    X = random_csr(random, 40, 15)
    labels = np.tile(np.arange(7, dtype=np.int32), (40, 1))
    # Many labels of which few are candidates, and few features in a point: by label; and the other way round.
    many = Rankers(random_csr(random, 500, 15, 3), np.zeros(500, np.float32), np.ones(500, bool))
    few = Rankers(csr_matrix(np.ones((7, 15), np.float32)), np.zeros(7, np.float32), np.ones(7, bool))
    short = csr_matrix(np.eye(40, 15, dtype=np.float32))
    assert not many.choose_layout(X, labels[:, :2]).by_feature
    assert few.choose_layout(short, labels).by_feature
    np.testing.assert_array_equal(
        few.choose_layout(short, labels).margins(short, labels, 1), few.margins(short, labels, 1)
    )
    assert not few.choose_layout(short[:0], labels[:0]).by_feature, "nothing is not less than nothing"


@quick
@given(seed=seeds, asked=st.lists(st.integers(0, 12), max_size=6))
def test_which_labels_have_one(seed, asked):
    random = np.random.default_rng(seed)
    known = random.random(8) < 0.5
    found = Rankers(csr_matrix((8, 3), dtype=np.float32), np.zeros(8, np.float32), known).has(np.array(asked, np.int32))
    assert found.tolist() == [label < 8 and bool(known[label]) for label in asked]


def test_descent_in_plain_python_is_that_of_the_kernel(monkeypatch):
    X, Y, wrong = made(11, n=25)
    wanted = fit_rankers(X, Y, wrong, 1.0, 0.05, 1)
    in_plain_python(monkeypatch)
    found = fit_rankers(X, Y, wrong, 1.0, 0.05, 1)
    np.testing.assert_allclose(wide(found.weights), wide(wanted.weights), atol=1e-6)
    np.testing.assert_allclose(found.bias, wanted.bias, atol=1e-6)


def test_labels_that_nobody_has_change_nothing():
    X, Y, wrong = made(13)
    wide = [csr_matrix((each.data, each.indices * 7 + 3, each.indptr), shape=(50, 60)) for each in (Y, wrong)]
    one, other = fit_rankers(X, Y, wrong, 1.0, 0.05, 1), fit_rankers(X, *wide, 1.0, 0.05, 1)
    assert np.array_equal(one.weights.toarray(), other.weights.toarray()[3::7][:6])
    assert np.array_equal(one.bias, other.bias[3::7][:6])


@pytest.mark.parametrize("dense", [False, True])
def test_what_each_feature_adds_to_a_margin(dense):
    X, Y, wrong = made(14)
    found = fit_rankers(X, Y, wrong, 1.0, 0.05, 1)
    labels = np.tile(np.arange(6, dtype=np.int32), (50, 1))
    margins = found.margins(X, labels, 1)
    for row in range(50):
        for label in range(6):
            features, added = found.contributions(X[[row]].toarray() if dense else X[[row]], label)
            assert found.bias[label] + added.sum() == pytest.approx(margins[row, label], abs=1e-5)
            assert set(features) == set(X[[row]].indices) & set(found.weights[[label]].indices)


def test_labels_of_the_same_points_are_the_same_machines():
    X, Y, wrong = made(12)
    twice = [csr_matrix(np.repeat(each.toarray()[:, :1], 2, axis=1)) for each in (Y, wrong)]
    found = fit_rankers(X, *twice, 1.0, 1e-9, 1)
    assert np.array_equal(wide(found.weights)[0], wide(found.weights)[1])
    assert found.bias[0] == found.bias[1]
