"""Points added and forgotten: the model is then that of exactly those points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_matrix

from contract import problem
from neartag import store
from neartag.linalg.rows import as_rows, normalise
from neartag.search.inverted_index import FeatureIndex
from neartag.x1.centroids import route
from neartag.x1.classifier import X1Classifier
from neartag.x1.learner import Learner
from neartag.x1.model import X1Model
from neartag.x1.update import Drift, add, drift, forget, reconstruction_error

OPTIONS = {
    "n_learners": 2,
    "n_clusters": 3,
    "embedding_dim": 16,
    "svp_neighbours": 20,
    "vote_neighbours": 10,
    "n_jobs": 1,
    "refine": False,
}


def trained(**changes) -> X1Model:
    data = problem()
    return X1Classifier(**{**OPTIONS, "feature_share": 0.3, **changes}).fit(data.X, data.Y).model_


def of_points(model: X1Model, X, Y: csr_matrix, routes=None) -> X1Model:
    """Return a model with the same regressors whose stored points are exactly these, made in the obvious way."""
    rows = normalise(as_rows(X))
    learners = []
    for number, learner in enumerate(model.learners):
        found = route(rows, learner.centroids, 1, 1)[:, 0] if routes is None else routes[number]
        clusters = []
        for c, cluster in enumerate(learner.clusters):
            members = np.flatnonzero(found == c).astype(np.int32)
            known = rows[members] if cluster.features is None else rows[members][:, cluster.features]
            points = normalise(np.ascontiguousarray(known @ cluster.weights))
            clusters.append(replace(cluster, members=members, points=points))
        learners.append(Learner(learner.centroids, clusters))
    index = None if model.index is None else FeatureIndex.from_rows(rows)
    return X1Model(model.settings, model.n_features, csr_matrix(Y), learners, index)


def assignments(model: X1Model) -> list[np.ndarray]:
    """Return for each learner the cluster that each point is in."""
    found = []
    for learner in model.learners:
        clusters = np.full(model.n_points, -1)
        for c, cluster in enumerate(learner.clusters):
            clusters[cluster.members] = c
        found.append(clusters)
    return found


def same(one: X1Model, other: X1Model) -> None:
    data = problem()
    labels, scores = one.predict_topk(data.X_new, 8, n_jobs=1)
    found, shares = other.predict_topk(data.X_new, 8, n_jobs=1)
    assert np.allclose(scores, shares, atol=1e-5)
    assert (labels == found).mean() > 0.99  # rounding may swap two labels of the same score
    assert np.abs((one.decision_function(data.X_new) - other.decision_function(data.X_new)).toarray()).max() < 1e-5


@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("dense", [False, True])
def test_after_adding_it_is_the_model_of_all_those_points(share, dense):
    data = problem()
    X = data.X.toarray() if dense else data.X
    model = X1Classifier(**OPTIONS, feature_share=share).fit(X, data.Y).model_
    new = data.X_new[:30].toarray() if dense else data.X_new[:30]
    rows = normalise(as_rows(new))
    both = add(model, rows, data.Y_new[:30])
    assert both.n_points == 270
    assert both.added.sum() == 30
    stack = np.vstack([X, new]) if dense else sparse.vstack([X, new], format="csr")
    Y = sparse.vstack([data.Y, data.Y_new[:30]], format="csr")
    same(both, of_points(model, stack, Y, assignments(both)))
    # Where new points are sent is where any point would be.
    for learner, clusters in zip(both.learners, assignments(both), strict=True):
        assert np.array_equal(clusters[240:], route(rows, learner.centroids, 1, 1)[:, 0])


def test_what_was_added_and_forgotten_again_leaves_no_trace():
    data = problem()
    model = trained()
    both = add(model, normalise(as_rows(data.X_new)), data.Y_new)
    again = forget(both, both.added)
    one, other = model.to_state(), again.to_state()
    assert one[0] == other[0]
    for part, arrays in one[1].items():
        assert arrays.keys() == other[1][part].keys()
        for name, array in arrays.items():
            assert array.tobytes() == other[1][part][name].tobytes(), f"{part}/{name}"


def test_after_forgetting_it_is_the_model_of_the_others():
    data = problem()
    model = trained()
    gone = np.zeros(240, bool)
    gone[::5] = True
    fewer = forget(model, gone)
    assert fewer.n_points == 192
    assert fewer.forgotten == 48
    where = [clusters[~gone] for clusters in assignments(model)]
    same(fewer, of_points(model, data.X[~gone], data.Y[~gone], where))
    voters, _ = fewer.neighbours(data.X_new)
    assert voters.max() < 192


def test_a_new_label_is_given_to_a_similar_point_at_once():
    data = problem()
    model = trained()
    fresh = csr_matrix((np.ones(3, np.float32), [30, 30, 30], [0, 1, 2, 3]), shape=(3, 31))
    more = add(model, normalise(as_rows(data.X_new[[0, 0, 0]])), fresh)
    assert more.n_labels == 31
    labels, _ = more.predict_topk(data.X_new[:1], 5)
    assert 30 in labels[0]
    assert 30 not in model.predict_topk(data.X_new[:1], 5)[0]


def test_everything_may_be_forgotten():
    data = problem()
    empty = forget(trained(), np.ones(240, bool))
    assert empty.n_points == 0
    for X in (data.X_new, data.X_new[:1]):
        labels, scores = empty.predict_topk(X, 3)
        assert (labels == -1).all()
        assert (scores == 0).all()
    # And from nothing it may begin again.
    again = add(empty, normalise(as_rows(data.X_new)), data.Y_new)
    assert (again.predict_topk(data.X_new, 1)[0] >= 0).any()


def test_adding_nothing_changes_nothing():
    data = problem()
    model = trained()
    again = add(model, normalise(as_rows(data.X_new[:0])), data.Y_new[:0])
    assert np.array_equal(model.predict_topk(data.X_new, 5)[1], again.predict_topk(data.X_new, 5)[1])


def test_what_came_later_is_kept_in_the_folder(tmp_path):
    data = problem()
    both = add(trained(), normalise(as_rows(data.X_new)), data.Y_new)
    gone = np.zeros(both.n_points, bool)
    gone[[0, 1, 2, 250]] = True
    changed = forget(both, gone)
    store.save(changed, tmp_path / "model")
    found = store.load(tmp_path / "model").model
    assert found.forgotten == 3
    assert np.array_equal(found.added, changed.added)
    assert np.array_equal(found.predict_topk(data.X_new, 5)[1], changed.predict_topk(data.X_new, 5)[1])


def test_one_point_and_many_agree_after_an_update():
    data = problem()
    model = add(trained(), normalise(as_rows(data.X_new[:40])), data.Y_new[:40])
    gone = np.zeros(280, bool)
    gone[3::7] = True
    model = forget(model, gone)
    scores = model.predict_topk(data.X_new, 5)[1]
    for row in range(0, 80, 9):
        share = model.predict_topk(data.X_new[[row]], 5)[1]
        assert np.allclose(share[0], scores[row], atol=1e-5)


class TestDrift:
    def test_a_fresh_model_has_not_drifted(self):
        found = drift(trained())
        assert (found.points, found.added, found.forgotten) == (240, 0, 0)
        assert found.error_added is None
        assert 0 < found.error_trained < 1
        assert found.retrain == ""

    def test_points_whose_labels_do_not_fit_their_features_have_a_larger_error(self):
        data = problem()
        model = trained()
        shuffled = data.Y_new[np.random.default_rng(0).permutation(80)]
        right = drift(add(model, normalise(as_rows(data.X_new[:40])), data.Y_new[:40]))
        wrong = drift(add(model, normalise(as_rows(data.X_new[:40])), shuffled[:40]))
        assert wrong.error_added > right.error_added
        assert wrong.error_trained == pytest.approx(right.error_trained, rel=0.2)

    def test_the_error_is_that_of_the_definition(self):
        model = trained(n_learners=1, n_clusters=1)
        Y = model.Y.toarray()
        unit = Y / np.maximum(np.linalg.norm(Y, axis=1, keepdims=True), 1)
        rows = np.flatnonzero(Y.any(axis=1))
        wanted, found = unit @ unit.T, model.learners[0].clusters[0].points @ model.learners[0].clusters[0].points.T
        wrong = whole = 0.0
        for row in np.random.default_rng(0).permutation(rows)[:200]:
            near = np.argsort(-wanted[row])[:20]
            near = near[wanted[row, near] > 0]
            wrong += ((wanted[row, near] - found[row, near]) ** 2).sum()
            whole += (wanted[row, near] ** 2).sum()
        # Of equal similarities either may be among the nearest, which moves the figure a little.
        assert reconstruction_error(model, np.arange(240)) == pytest.approx(wrong / whole, rel=0.05)

    @pytest.mark.parametrize(
        ("found", "word"),
        [
            (Drift(100, 30, 0, 0.3, 0.3), "30 of 100 points were added"),
            (Drift(100, 0, 40, 0.3, None), "40 points"),
            (Drift(100, 5, 0, 0.2, 0.4), "2.0 times worse"),
            (Drift(100, 5, 5, 0.3, 0.33), ""),
        ],
    )
    def test_it_says_why_to_train_again(self, found, word):
        assert word in found.retrain
        assert bool(word) == bool(found.retrain)
