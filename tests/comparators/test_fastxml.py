"""FastXML: the contract, each step against a plain version, and trees that hold together."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.linear_model import LogisticRegression

from contract import ClassifierContract, VariantContract, problem
from kernel_helpers import frozen, parts, quick, random_csr, random_labels, seeds
from neartag import store
from neartag.comparators.fastxml import logistic_kernels, ndcg_kernels
from neartag.comparators.fastxml import tree_kernels as kernels
from neartag.comparators.fastxml.classifier import FastXMLClassifier, FastXMLModel, discounts, normalisers
from neartag.comparators.shared.rows import prepare_rows
from neartag.core.errors import ModelError, ParameterError

SCIKIT = tuple(int(number) for number in sklearn.__version__.split(".")[:2])
SMALL = {"trees": 12, "row_scale": "raw", "random_state": 0, "n_jobs": 1}


class TestContract(ClassifierContract):
    def make_model(self, **changes):
        return FastXMLClassifier(**{**SMALL, "trees": 6, **changes})


class TestContractOfSeveralRounds(VariantContract):
    def make_model(self, **changes):
        options = {"max_iter": 3, "max_leaf": 5, "row_scale": "unit", "log_loss_coefficient": 5.0, "bias": 0.5}
        return FastXMLClassifier(**{**SMALL, "trees": 6, **options, **changes})


@pytest.fixture(scope="module")
def fitted():
    return FastXMLClassifier(**SMALL).fit(problem().X, problem().Y)


# ---- parting by nDCG


def ndcg(ranking, labels):
    """Return the nDCG of a ranking (labels,) by its definition."""
    gains = labels[list(ranking)] / np.log2(np.arange(2, len(labels) + 2))
    return gains.sum() / (1 / np.log2(np.arange(2, int(labels.sum()) + 2))).sum()


def ranks_by_worth(Y, ideal):
    """Return each label's rank by Σ ideal of the points that have it, ties to the lower label."""
    worth = [sum(ideal[i] for i in range(len(Y)) if Y[i, label]) for label in range(Y.shape[1])]
    order = sorted(range(Y.shape[1]), key=lambda label: (-worth[label], label))
    return np.argsort(order)


def plain_parts(Y, ideal, sides, weight, offset):
    """Return the sides and the objective a point as the definition has them, until it grows no more."""
    discount, sides, before = discounts(Y.shape[1]), sides.copy(), -np.inf
    while True:
        ranks = {side: ranks_by_worth(Y[sides == side], ideal[sides == side]) for side in (1, -1)}
        total = 0.0
        for i in range(len(Y)):
            gain = {}
            for side in (1, -1):
                dcg = 0.0
                for label in np.flatnonzero(Y[i]):
                    dcg += discount[ranks[side][label]]
                gain[side] = weight * ideal[i] * dcg - (offset[i] if side > 0 else 0.0)
            if gain[1] != gain[-1]:
                sides[i] = 1 if gain[1] > gain[-1] else -1
            total += max(gain.values())
        if total - before <= 1e-4 * abs(total):
            return sides, total / len(Y)
        before = total


@quick
@given(seeds, st.integers(1, 30), st.integers(1, 9), st.booleans())
def test_points_are_parted_as_by_the_definition(seed, n, n_labels, with_offset):
    random = np.random.default_rng(seed)
    Y = random_labels(random, n + 3, n_labels)
    points = np.sort(random.permutation(n + 3)[:n]).astype(np.int32)
    # Of no common measure, so that no two sums are equal but for rounding, which differs with the order of adding.
    ideal = random.uniform(0.5, 1.5, n + 3)
    offset = random.uniform(-0.5, 0.5, n) if with_offset else np.zeros(n)
    start = random.choice([-1, 1], n).astype(np.int8)
    sides, place = start.copy(), np.full(n_labels, -1, np.int32)
    y = frozen(Y.indptr.astype(np.int64), Y.indices.astype(np.int32), ideal, discounts(n_labels))
    found = ndcg_kernels.part_by_ndcg(y, points, 0.7, offset, place, sides)
    own = Y[points].toarray()
    seen = own.any(axis=0)  # labels of other points have no rank
    wanted, objective = plain_parts(own[:, seen], ideal[points], start, 0.7, offset)
    assert np.array_equal(sides, wanted)
    assert found == pytest.approx(objective, abs=1e-12)
    assert (place == -1).all()


@quick
@given(seeds, st.integers(1, 8), st.integers(1, 5))
def test_no_ranking_has_a_better_ndcg_than_that_by_worth(seed, n, n_labels):
    Y = (np.random.default_rng(seed).random((n, n_labels)) < 0.4).astype(float)
    Y[~Y.any(axis=1), 0] = 1
    ideal = normalisers(csr_matrix(Y), discounts(n_labels))
    order = np.argsort(ranks_by_worth(Y, ideal))
    best = max(sum(ndcg(ranking, row) for row in Y) for ranking in itertools.permutations(range(n_labels)))
    assert sum(ndcg(order, row) for row in Y) == pytest.approx(best)
    for row, each in zip(Y, ideal, strict=True):
        assert ndcg(order, row) == pytest.approx(each * (row[order] * discounts(n_labels)).sum())


def test_a_point_without_labels_has_no_ndcg():
    assert normalisers(csr_matrix([[0, 0], [1, 1]]), discounts(2)).tolist() == [0, 1 / (1 + 1 / np.log2(3))]


# ---- the separator


def separator_problem(random, n, width, dense):
    X = random.standard_normal((n, width)) if dense else random_csr(random, n, width, 8).toarray()
    X = np.hstack([X, np.ones((n, 1))]).astype(np.float32)
    sides = np.where(X[:, 0] + X[:, 1] + 0.7 * random.standard_normal(n) > 0, 1, -1).astype(np.int8)
    sides[:2] = 1, -1
    return X, sides


def columns(X):
    X = csc_matrix(X)
    X.sort_indices()
    return frozen(X.indptr.astype(np.int64), X.indices.astype(np.uint32), X.data.astype(np.float32))


def learned(X, sides, plus, minus, tolerance=1e-6, steps=500):
    weights, reach = np.empty(X.shape[1]), np.empty(len(X))
    random = np.array([1], np.uint64)
    made = logistic_kernels.l1_logistic(columns(X), sides, (plus, minus), tolerance, steps, weights, reach, random)
    assert np.allclose(reach, X @ weights, atol=1e-5)
    return weights, made


def objective(X, sides, weights, plus, minus):
    cost = np.where(sides > 0, plus, minus)
    return np.abs(weights).sum() + (cost * np.logaddexp(0, -sides * (X.astype(np.float64) @ weights))).sum()


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("cost", [0.03, 0.5, 20.0])
@pytest.mark.parametrize("ratio", [1.0, 3.0])
def test_the_separator_is_as_good_as_liblinears(dense, cost, ratio):
    X, sides = separator_problem(np.random.default_rng(5), 200, 30, dense)
    # scikit-learn 1.8 renamed how an L1 penalty is asked for.
    asked = {"l1_ratio": 1.0} if SCIKIT >= (1, 8) else {"penalty": "l1"}
    options = {"C": cost, "class_weight": {1: ratio, -1: 1.0}, "fit_intercept": False, "tol": 1e-8, "max_iter": 10**5}
    rival = LogisticRegression(solver="liblinear", random_state=0, **asked, **options)
    rival.fit(X, sides)
    best = objective(X, sides, rival.coef_.ravel(), ratio * cost, cost)
    weights, _ = learned(X, sides, ratio * cost, cost)
    assert objective(X, sides, weights, ratio * cost, cost) == pytest.approx(best, rel=1e-5)
    rough, _ = learned(X, sides, ratio * cost, cost, 0.01, 10)
    assert objective(X, sides, rough, ratio * cost, cost) < 1.02 * best


@pytest.mark.parametrize("dense", [False, True])
def test_the_separator_meets_the_conditions_of_the_best(dense):
    X, sides = separator_problem(np.random.default_rng(6), 150, 25, dense)
    weights, _ = learned(X, sides, 1.5, 1.0, 1e-8)
    cost = np.where(sides > 0, 1.5, 1.0)
    slope = X.T.astype(np.float64) @ (-cost * sides / (1 + np.exp(sides * (X @ weights))))
    assert 0 < np.count_nonzero(weights) < len(weights)
    assert np.allclose(slope[weights != 0], -np.sign(weights[weights != 0]), atol=1e-4)
    assert (np.abs(slope[weights == 0]) <= 1 + 1e-4).all()


def test_separators_of_any_size_of_numbers_stay_finite():
    X, sides = separator_problem(np.random.default_rng(7), 60, 10, True)
    for scale in (1e-6, 1e6):
        weights, _ = learned(np.float32(scale) * X, sides, 1e3, 1e3, 0.01, 10)
        assert np.isfinite(weights).all()
    assert (learned(X, sides, 1e-6, 1e-6)[0] == 0).all()


@quick
@given(seeds, st.integers(2, 40), st.integers(1, 20))
def test_columns_left_out_have_no_weight_and_the_others_are_whole(seed, n, width):
    random = np.random.default_rng(seed)
    X = random_csr(random, n + 3, width)
    points = np.sort(random.permutation(n + 3)[:n]).astype(np.int32)
    sides = random.choice([-1, 1], n).astype(np.int8)
    plus, minus = random.uniform(0.05, 0.6, 2)
    room = (
        *(np.empty(width, np.int32), np.empty((width, 2)), np.zeros(width, np.int64), np.empty(width, np.int32)),
        *(np.empty(width + 1, np.int64), np.empty(X.nnz, np.uint32), np.empty(X.nnz, np.float32)),
    )
    indptr, indices, data = parts(X)
    kept = kernels.gather_columns((indptr, indices.view(np.uint32), data), points, sides, (plus, minus), room)
    features = room[3][:kept]
    assert (np.diff(features) > 0).all()
    assert not room[2].any()
    own = X[points].toarray()
    found = csc_matrix((room[6][: room[4][kept]], room[5][: room[4][kept]], room[4][: kept + 1]), shape=(n, kept))
    assert np.array_equal(found.toarray(), own[:, features])
    left = np.setdiff1d(np.arange(width), features)
    weights, _ = learned(own, sides, plus, minus, 1e-8)
    assert (weights[left] == 0).all()
    # And no more than needed: a column stays only where its slope could exceed 1 at some w.
    slope = np.where(sides > 0, -plus, minus)[:, None] * own
    could = np.maximum(slope.clip(min=0).sum(axis=0), (-slope).clip(min=0).sum(axis=0))
    assert np.array_equal(np.flatnonzero(could > 1), features)


# ---- trees


def walked(model, X, tree):
    """Return each row's leaf by a plain walk."""
    leaves = []
    weights = model.weights.toarray()
    for row in X.toarray():
        node = int(model.roots[tree])
        while model.child[node]:
            node = int(model.child[node]) + int(float(weights[node].astype(np.float64) @ row) > 0)
        leaves.append(node)
    return leaves


def test_predictions_are_those_of_a_plain_walk(fitted):
    model = fitted.model_
    X = prepare_rows(problem().X_new, model.settings)
    leaves = np.array([walked(model, X, tree) for tree in range(12)])  # (trees, m)
    wanted = np.mean([model.shares[row].toarray() for row in leaves], axis=0)
    found = model.scores(X, 1)
    assert found.has_sorted_indices
    assert np.abs(found.toarray() - wanted).max() < 1e-6
    assert np.array_equal(model.leaves(X, 1), leaves.T)


def test_leaves_hold_the_shares_of_the_training_points_that_come_to_them(fitted):
    model, data = fitted.model_, problem()
    leaves = model.leaves(prepare_rows(data.X, model.settings), 1)
    seen = data.Y.toarray()[:, model.info.seen]
    for tree in range(12):
        last = model.roots[tree + 1] if tree < 11 else len(model.child)
        own = np.arange(model.roots[tree], last)
        assert set(leaves[:, tree]) == set(own[model.child[own] == 0]), "a leaf without points, or points in no leaf"
        for leaf in set(leaves[:, tree]):
            share = seen[leaves[:, tree] == leaf].mean(axis=0)
            assert np.abs(model.shares[[leaf]].toarray().ravel() - share).max() < 1e-6


@pytest.mark.parametrize("max_leaf", [5, 40, 1000])
def test_leaves_are_no_larger_than_told_unless_nothing_parts_them(max_leaf):
    data = problem()
    model = FastXMLClassifier(**{**SMALL, "trees": 3, "max_leaf": max_leaf, "log_loss_coefficient": 100.0})
    leaves = model.fit(data.X, data.Y).model_.leaves(prepare_rows(data.X, model.get_params()), 1)
    sizes = np.concatenate([np.unique(column, return_counts=True)[1] for column in leaves.T])
    assert (sizes > max_leaf).mean() < 0.1
    assert max_leaf < 1000 or (sizes == 240).all()


def test_few_labels_of_a_leaf_are_kept_and_the_commonest():
    data = problem()
    options = {**SMALL, "trees": 1, "max_leaf": 240}
    whole = FastXMLClassifier(**options).fit(data.X, data.Y).predict_topk(data.X_new, 30)
    few = FastXMLClassifier(**options, labels_per_leaf=4).fit(data.X, data.Y).predict_topk(data.X_new, 30)
    assert np.array_equal(few[0][:, :4], whole[0][:, :4])
    assert np.array_equal(few[1][:, :4], whole[1][:, :4])
    assert (few[0][:, 4:] == -1).all()
    assert (whole[0][:, 4] >= 0).all()


def test_points_of_the_same_labels_are_not_parted():
    data = problem()
    Y = csr_matrix(np.tile([1.0, 0, 1], (240, 1)))
    model = FastXMLClassifier(**SMALL).fit(data.X, Y).model_
    assert len(model.child) == 12


def test_trees_differ_and_more_are_better():
    data = problem()
    hits = []
    for trees in (1, 40):
        model = FastXMLClassifier(**{**SMALL, "trees": trees}).fit(data.X, data.Y)
        labels, _ = model.predict_topk(data.X_new, 3)
        hits.append(np.mean([data.Y_new[row, label] for row in range(80) for label in labels[row] if label >= 0]))
    assert hits[1] > hits[0] + 0.02


def state_bytes(model):
    _, arrays = model.model_.to_state()
    return {name: array.tobytes() for name, array in arrays["trees"].items()}


def test_the_same_bytes_whatever_the_threads():
    data = problem()
    one, two = (FastXMLClassifier(**{**SMALL, "n_jobs": jobs}).fit(data.X, data.Y) for jobs in (1, 2))
    assert state_bytes(one) == state_bytes(two)
    other = FastXMLClassifier(**{**SMALL, "random_state": 1}).fit(data.X, data.Y)
    assert state_bytes(one) != state_bytes(other)
    X = sparse.vstack([data.X_new] * 3, format="csr")
    answers = [one.model_.predict_topk(X, 5, n_jobs=jobs) for jobs in (1, 2)]
    assert np.array_equal(answers[0][0], answers[1][0])
    assert np.array_equal(answers[0][1], answers[1][1])


def test_learning_again_changes_separators_and_so_does_the_weight_of_ndcg_then():
    data = problem()
    trees = {}
    for rounds, weight in itertools.product((1, 3), (1.0, 50.0)):
        # Costs at which the points are not told apart beyond doubt.
        options = {**SMALL, "row_scale": "unit", "log_loss_coefficient": 3.0, "trees": 3}
        options = {**options, "max_iter": rounds, "ndcg_coefficient": weight}
        trees[rounds, weight] = state_bytes(FastXMLClassifier(**options).fit(data.X, data.Y))
    assert trees[1, 1.0] == trees[1, 50.0]
    assert trees[3, 1.0] != trees[1, 1.0]
    assert trees[3, 1.0] != trees[3, 50.0]


# ---- stored


def test_a_stored_model_predicts_the_same(fitted, tmp_path):
    data = problem()
    store.save(fitted.model_, tmp_path / "model")
    loaded = store.load(tmp_path / "model").model
    assert np.array_equal(loaded.predict_topk(data.X_new, 5)[0], fitted.predict_topk(data.X_new, 5)[0])
    assert np.array_equal(loaded.predict_topk(data.X_new, 5)[1], fitted.predict_topk(data.X_new, 5)[1])


def _first_inner(trees):
    return int(np.flatnonzero(trees["child"])[0])


DAMAGE = {
    "a child before its parent": lambda trees: trees["child"].__setitem__(_first_inner(trees), -1),
    "a child that is its parent": lambda trees: trees["child"].__setitem__(5, 5),
    "a second child that there is not": lambda trees: trees["child"].__setitem__(0, len(trees["child"]) - 1),
    "a root outside": lambda trees: trees["roots"].__setitem__(3, len(trees["child"])),
    "a root below zero": lambda trees: trees["roots"].__setitem__(3, -1),
    "fewer roots": lambda trees: trees.__setitem__("roots", trees["roots"][:-1]),
    "wide children": lambda trees: trees.__setitem__("child", trees["child"].astype(np.int64)),
    "fewer nodes": lambda trees: trees.__setitem__("child", trees["child"][:-2]),
    "children in a table": lambda trees: trees.__setitem__("child", trees["child"].reshape(-1, 1)),
    "fewer features": lambda trees: trees.__setitem__("weights", trees["weights"][:, :-1]),
    "more labels": lambda trees: trees.__setitem__("shares", csr_matrix(sparse.hstack([trees["shares"]] * 2))),
    "a share above 1": lambda trees: trees["shares"].data.__setitem__(0, 1.5),
    "a share that is no number": lambda trees: trees["shares"].data.__setitem__(0, np.nan),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_state_is_refused(fitted, damage):
    info, trees = fitted.model_.info, {name: matrix.copy() for name, matrix in fitted.model_.arrays()["trees"].items()}
    FastXMLModel.from_arrays(info, {"trees": trees})
    DAMAGE[damage](trees)
    with pytest.raises(ValueError, match=r"\w"):
        FastXMLModel.from_arrays(info, {"trees": trees})


def test_a_damaged_folder_is_refused(fitted, tmp_path):
    class Crafted:
        kind = "fastxml"

        @staticmethod
        def to_state():
            settings, arrays = fitted.model_.to_state()
            trees = {**arrays["trees"], "child": np.zeros_like(arrays["trees"]["child"]) - 7}
            return settings, {**arrays, "trees": trees}

    store.save(Crafted(), tmp_path / "model")
    with pytest.raises(ModelError):
        store.load(tmp_path / "model")


def test_too_little_memory_is_said_before_any_work():
    with pytest.raises(ParameterError, match=r"fastxml.*memory"):
        FastXMLClassifier(**SMALL, max_memory="1MB").fit(problem().X, problem().Y)
