"""LPSR: the contract, its kernels and each step against plain loops, and the labels assigned against all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_matrix

from contract import (
    ClassifierContract,
    VariantContract,
    assert_refused_when_damaged,
    assert_the_same_when_loaded,
    problem,
)
from neartag.comparators.lpsr import kernels, parts
from neartag.comparators.lpsr.classifier import LPSRClassifier
from neartag.comparators.lpsr.label_assignment import (
    Rankings,
    assign,
    hits_within,
    nearness_to_top,
    project_to_sum,
    rank_labels,
)
from neartag.comparators.lpsr.naive_bayes import fit_naive_bayes
from neartag.core.errors import ParameterError
from neartag.linalg.rows import csr_arrays, normalise
from neartag.x1.centroids import Partition, route
from neartag.x1.kmeans import partition

SMALL = {"partitions": 3, "labels_per_partition": 20, "n_jobs": 1}


def made(**changes):
    return LPSRClassifier(**{**SMALL, **changes})


class FewScores(LPSRClassifier):
    """LPSR that assigns labels from a sample of the points, however few they are."""

    max_scores = 500


class TestContract(ClassifierContract):
    def make_model(self, **changes):
        return made(**changes)


class TestContractLinear(VariantContract):
    def make_model(self, **changes):
        return made(**{"scorer": "one_vs_all", "n_probe": 2, "weighted_rounds": 1, **changes})


# ---- kernels


@pytest.mark.parametrize("features", [2, 60])  # rows of the table searched, and gone through
def test_pattern_products_are_entries_of_the_product(features):
    rng = np.random.default_rng(0)
    rows = sparse.random(9, 200, features / 200, "csr", np.float32, rng)
    table = sparse.random(12, 200, 0.5, "csr", np.float32, rng)
    pattern = sparse.random(9, 12, 0.4, "csr", np.float32, rng)
    for matrix in (rows, table, pattern):
        matrix.sort_indices()
    pointer, labels, _ = csr_arrays(pattern)
    out = np.full(len(labels), np.nan, np.float32)
    kernels.pattern_products(csr_arrays(rows), csr_arrays(table), pointer, labels, 200, out, 0, 9)
    wanted = (rows @ table.T).toarray()[np.repeat(np.arange(9), np.diff(pointer)), labels]
    assert np.allclose(out, wanted, atol=1e-5)
    assert np.count_nonzero(wanted)


def random_rankings(rng, points=25, candidates=8, density=0.3):
    """Return rankings of a problem whose scores are better than chance, and its scores and labels."""
    Y = rng.random((points, candidates)) < density * rng.random(candidates) * 2
    scores = rng.standard_normal((points, candidates)) + Y + rng.standard_normal(candidates)
    pointer, order, hit = [0], [], []
    for t in range(points):
        ranked = np.argsort(-scores[t])
        last = 1 + max(np.flatnonzero(Y[t][ranked]), default=-1)
        order += list(ranked[:last])
        hit += list(Y[t][ranked[:last]])
        pointer.append(len(order))
    ranked = Rankings(np.array(pointer, np.int64), np.array(order, np.int32), np.array(hit, bool), candidates)
    return ranked, scores, Y


def precise_hits(scores, Y, chosen, at):
    """Return how many of the best `at` chosen labels are right, by the definition."""
    chosen = np.asarray(chosen)
    return sum(int(Y[t][chosen[np.argsort(-scores[t][chosen])[:at]]].sum()) for t in range(len(Y)))


def objective(ranked, shares, at, steepness):
    """Return the relaxed objective by its formula."""
    total = 0.0
    for t in range(len(ranked.pointer) - 1):
        for p in range(ranked.pointer[t], ranked.pointer[t + 1]):
            if ranked.hit[p]:
                ahead = shares[ranked.order[ranked.pointer[t] : p]].sum()
                total += shares[ranked.order[p]] / (1 + np.exp(steepness * (ahead - at + 0.5)))
    return total


@pytest.mark.parametrize("at", [1, 3])
def test_the_gradient_is_that_of_the_objective(at):
    rng = np.random.default_rng(1)
    ranked, _, _ = random_rankings(rng)
    shares, gradient = rng.random(8), np.empty(8)
    kernels.assignment_gradient(ranked.pointer, ranked.order, ranked.hit, shares, at, 2.0, gradient)
    for label in range(8):
        step = 1e-5 * (np.arange(8) == label)
        slope = (objective(ranked, shares + step, at, 2.0) - objective(ranked, shares - step, at, 2.0)) / 2e-5
        assert gradient[label] == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize("at", [1, 2, 5])
def test_hits_are_counted_among_the_best_of_those_chosen(at):
    rng = np.random.default_rng(2)
    for _ in range(5):
        ranked, scores, Y = random_rankings(rng)
        chosen = rng.permutation(8)[:4]
        assert hits_within(ranked, chosen, at) == precise_hits(scores, Y, chosen, at)


# ---- the steps


def test_shares_with_a_sum_are_the_nearest():
    rng = np.random.default_rng(3)
    given = rng.normal(0.5, 1, 7)
    found = project_to_sum(given, 3)
    assert found.sum() == pytest.approx(3)
    assert ((found >= 0) & (found <= 1)).all()
    for _ in range(200):  # no other such numbers are nearer
        other = project_to_sum(rng.normal(0.5, 1, 7), 3)
        assert np.linalg.norm(found - given) <= np.linalg.norm(other - given) + 1e-9


@pytest.mark.parametrize("at", [1, 2])
def test_labels_assigned_are_nearly_the_best_of_all_subsets(at):
    rng = np.random.default_rng(4)
    reached, frequent_reached, optimum = 0, 0, 0
    for _ in range(20):
        ranked, scores, Y = random_rankings(rng)
        chosen = assign(ranked, 4, at)
        assert len(chosen) == 4
        found = precise_hits(scores, Y, chosen, at)
        best = max(precise_hits(scores, Y, subset, at) for subset in combinations(range(8), 4))
        frequent = precise_hits(scores, Y, np.argsort(-Y.sum(axis=0), kind="stable")[:4], at)
        assert frequent <= found <= best
        assert found >= 0.8 * best
        reached, frequent_reached, optimum = reached + found, frequent_reached + frequent, optimum + best
    assert reached >= 0.98 * optimum
    assert reached > frequent_reached


def test_all_candidates_are_assigned_where_there_is_room():
    ranked, _, _ = random_rankings(np.random.default_rng(5))
    assert assign(ranked, 8, 2).tolist() == list(range(8))


@pytest.mark.parametrize("block", [2**20, 40])
def test_rankings_are_those_of_the_scores(block):
    data = problem()
    scorer = fit_naive_bayes(data.X, data.Y, 0.1)
    Y = data.Y[:50]
    candidates = np.unique(Y.indices)
    found = rank_labels(data.X[:50], Y, scorer, candidates, block)
    scores = scorer.of_labels(data.X[:50], candidates)
    for t in range(50):
        part = slice(found.pointer[t], found.pointer[t + 1])
        order = np.argsort(-scores[t], kind="stable")
        right = np.isin(candidates[order], Y[[t]].indices)
        last = 1 + max(np.flatnonzero(right), default=-1)
        assert found.order[part].tolist() == order[:last].tolist()
        assert found.hit[part].tolist() == right[:last].tolist()


def test_nearness_to_the_top_is_the_mean_of_one_by_rank():
    ranked = Rankings(
        np.array([0, 3, 3, 5], np.int64), np.array([2, 0, 1, 1, 0], np.int32), np.array([1, 0, 1, 0, 1], bool), 3
    )
    assert nearness_to_top(ranked) == pytest.approx([(1 + 1 / 3) / 2, 0, 1 / 2])


def test_equal_weights_leave_k_means_as_it_was():
    unit = normalise(problem().X)
    before = partition(unit, 3)
    after = parts.reweigh_partition(unit, before, np.full(240, 0.5), 3, 1)
    changed = np.count_nonzero(after.assignment != before.assignment)
    assert changed <= 12  # it may not have settled to the last point


def test_heavy_points_draw_their_centroid():
    unit = normalise(problem().X)
    before = Partition(np.zeros((150, 2), np.float32), (np.arange(240) % 2).astype(np.int32))
    weights = np.ones(240)
    weights[[0, 1]] = 1e9
    after = parts.reweigh_partition(unit, before, weights, 1, 1)
    assert np.abs(after.centroids - unit[:2].toarray().T).max() < 1e-5
    assert np.array_equal(after.assignment, route(unit, after.centroids)[:, 0])


def test_points_that_are_ranked_well_weigh_more():
    data = problem()
    scorer = fit_naive_bayes(data.X, data.Y, 0.1)
    whole = Partition(np.zeros((150, 1), np.float32), np.zeros(240, np.int32))
    weights = parts.weigh_points(data.X, data.Y, whole, scorer, 1)
    scores = scorer.of_labels(data.X, np.arange(29))
    for t in range(0, 240, 10):
        rank = [1 + np.count_nonzero(scores[t] > scores[t, label]) for label in data.Y[[t]].indices]
        wanted = np.mean(1 / np.array(rank)) if rank else 0
        assert weights[t] == pytest.approx(max(wanted, parts.MIN_WEIGHT))


# ---- the whole


@pytest.mark.parametrize("scorer", ["naive_bayes", "one_vs_all"])
@pytest.mark.parametrize("n_probe", [1, 2])
def test_only_labels_of_the_nearest_parts_are_given(scorer, n_probe):
    data = problem()
    model = made(scorer=scorer, partitions=5, labels_per_partition=8, n_probe=n_probe).fit(data.X, data.Y).model_
    near = route(normalise(data.X_new), model.centroids, n_probe)
    scores = model.decision_function(data.X_new)
    assert (np.diff(model.assigned.indptr) <= 8).all()
    for row in range(80):
        allowed = model.info.seen[np.unique(model.assigned[near[row]].indices)]
        assert sorted(scores[[row]].indices) == sorted(allowed)


def test_a_parts_labels_occur_among_its_points():
    data = problem()
    model = made(partitions=6, labels_per_partition=30).fit(data.X, data.Y).model_
    assignment = partition(normalise(data.X), 6, seed=0).assignment
    for part in range(model.assigned.shape[0]):
        found = model.info.seen[model.assigned[[part]].indices]
        assert sorted(found) == sorted(np.unique(data.Y[assignment == part].indices))


@pytest.mark.parametrize("scorer", ["naive_bayes", "one_vs_all"])
def test_with_one_part_and_every_label_it_is_its_base_scorer(scorer):
    data = problem()
    model = made(scorer=scorer, partitions=1, labels_per_partition=30).fit(data.X, data.Y).model_
    rows = normalise(data.X_new)
    if scorer == "one_vs_all":
        rows = csr_matrix(sparse.hstack([rows, np.ones((80, 1), np.float32)], format="csr"))
    base = model.scorer.of_labels(rows, np.arange(29))
    labels, _ = model.predict_topk(data.X_new, 29)
    wanted = model.info.seen[np.argsort(-base, axis=1, kind="stable")]
    assert np.mean(labels == wanted) > 0.99  # labels of nearly the same score may change places


def test_parts_with_many_scores_are_assigned_from_a_sample(monkeypatch):
    data = problem()
    seen = []

    def noted(rows, Y, scorer, candidates):
        seen.append(rows.shape[0] * len(candidates))
        return rank_labels(rows, Y, scorer, candidates)

    monkeypatch.setattr(parts, "rank_labels", noted)
    model = FewScores(**{**SMALL, "labels_per_partition": 10}).fit(data.X, data.Y)
    assert seen
    assert max(seen) <= 500
    assert (np.diff(model.model_.assigned.indptr) == 10).all()


def test_more_probes_may_be_set_after_training():
    data = problem()
    model = made(labels_per_partition=8, partitions=5).fit(data.X, data.Y)
    few = model.decision_function(data.X_new).nnz
    assert model.set_params(n_probe=3).decision_function(data.X_new).nnz > few


def test_features_below_zero_are_no_matter_to_linear_machines():
    data = problem()
    with pytest.raises(ParameterError, match="at least 0"):
        made().fit(-data.X, data.Y)
    made(scorer="one_vs_all").fit(-data.X, data.Y)


@pytest.mark.parametrize("scorer", ["naive_bayes", "one_vs_all"])
def test_the_same_bytes_whatever_the_threads(scorer):
    data = problem()
    options = {"scorer": scorer, "weighted_rounds": 2, "labels_per_partition": 8, "partitions": 5}
    one, two = (made(n_jobs=jobs, **options).fit(data.X, data.Y).model_.to_state()[1] for jobs in (1, 2))
    for part in ("scorer", "parts"):
        assert one[part].keys() == two[part].keys()
        assert all(one[part][name].tobytes() == two[part][name].tobytes() for name in one[part])


@pytest.mark.parametrize("scorer", ["naive_bayes", "one_vs_all"])
def test_saved_and_loaded_it_predicts_the_same(tmp_path, scorer):
    data = problem()
    model = made(scorer=scorer).fit(data.X, data.Y)
    assert_the_same_when_loaded(model, tmp_path / "model")


def damage_scorer(**arrays):
    def damage(model):
        for name, change in arrays.items():
            object.__setattr__(model.scorer, name, change(getattr(model.scorer, name)))

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        damage_scorer(table=lambda table: table[:-1]),
        damage_scorer(table=lambda table: table[:, :-1]),
        damage_scorer(table=lambda table: table.toarray()),
        damage_scorer(prior=lambda prior: prior[:-1]),
        damage_scorer(slope=lambda slope: slope.astype(np.float64)),
        damage_scorer(common=lambda common: common[:-1]),
        lambda model: setattr(model, "centroids", model.centroids[:-1]),
        lambda model: setattr(model, "centroids", np.ascontiguousarray(model.centroids[:, :-1])),
        lambda model: setattr(model, "centroids", csr_matrix(model.centroids)),
        lambda model: setattr(model, "assigned", model.assigned[:, :-1]),
        lambda model: setattr(model, "assigned", model.assigned.toarray()),
    ],
)
def test_a_damaged_state_is_refused(tmp_path, damage):
    data = problem()
    model = made().fit(data.X, data.Y).model_
    damage(model)
    assert_refused_when_damaged(model, tmp_path / "model")


@pytest.mark.parametrize("scorer", ["naive_bayes", "one_vs_all"])
def test_what_needs_more_memory_than_allowed_is_refused(scorer):
    data = problem()
    with pytest.raises(ParameterError, match=r"lpsr would need about .* memory"):
        made(scorer=scorer, max_memory="1MB").fit(data.X, data.Y)


def test_parts_may_be_sampled_without_a_seed():
    data = problem()
    model = FewScores(**{**SMALL, "labels_per_partition": 10}, random_state=None).fit(data.X, data.Y)
    assert (np.diff(model.model_.assigned.indptr) == 10).all()


@pytest.mark.parametrize("name", ["at", "n_probe"])
def test_numbers_beyond_any_count_are_refused(name):
    with pytest.raises(ParameterError, match=rf"{name} must be .* 2147483647"):
        made(labels_per_partition=3, **{name: 10**25}).fit(problem().X, problem().Y)
