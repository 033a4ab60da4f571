"""LocalLEML: the contract, that its clusters are X1's, and that a point's scores are those of its clusters alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_matrix

from contract import ClassifierContract, VariantContract, problem
from neartag import store
from neartag.comparators.leml.alternation import factorise
from neartag.comparators.leml.classifier import LEMLClassifier
from neartag.comparators.local_leml.classifier import (
    LocalLEMLClassifier,
    make_clusterings,
    resolve_partition,
    unit_rows,
)
from neartag.comparators.shared.model import dimension
from neartag.comparators.shared.rows import prepare_rows
from neartag.comparators.shared.scores import to_unit_interval
from neartag.core.errors import ModelError, ParameterError
from neartag.core.threads import single_threaded_blas
from neartag.linalg.rows import normalise
from neartag.x1.centroids import route
from neartag.x1.classifier import X1Classifier

SMALL = {"n_learners": 2, "n_clusters": 3, "max_iter": 3, "l2": 1.0, "n_jobs": 1}


class TestContract(ClassifierContract):
    def make_model(self, **changes):
        options = {"n_clusters": 2, "n_learners": 3, "max_iter": 3, "bias": 0.0, "n_jobs": 1}
        return LocalLEMLClassifier(**{**options, **changes})


class TestContractWithoutClusters(VariantContract):
    """The defaults: one cluster for small data sets, and a constant feature."""

    def make_model(self, **changes):
        return LocalLEMLClassifier(**{"n_jobs": 1, **changes})


@pytest.mark.parametrize(
    "settings",
    [
        {"n_clusters": 4, "n_learners": 3},
        {"n_learners": 3},  # "auto": two clusters
        {"n_clusters": 3},  # "auto": three learners
        {},
        {"n_clusters": 3, "max_cluster_size": 70, "cluster_start": "random"},
    ],
)
@pytest.mark.parametrize("own", [{}, {"row_scale": "raw", "bias": 2.0}])
def test_the_clusters_are_those_of_x1(settings, own):
    data = problem()
    x1 = X1Classifier(**settings, random_state=5, embedding_dim=5, svp_max_iter=1, svp_neighbours=5, feature_share=0.0)
    x1 = x1.set_params(vote_neighbours=5, n_jobs=1, refine=False).fit(data.X, data.Y).model_
    model = LocalLEMLClassifier(**settings, **own, random_state=5, max_iter=1, n_jobs=1).fit(data.X, data.Y).model_
    assert len(model.learners) == len(x1.learners)
    full = resolve_partition(240, 0, {**model.settings, **{"n_learners": "auto", "n_clusters": "auto", **settings}})
    seeds = np.random.SeedSequence(5).spawn(full["n_learners"])
    found = make_clusterings(unit_rows(prepare_rows(data.X, full), full), full, seeds, 1)
    for mine, partition, theirs in zip(model.learners, found, x1.learners, strict=True):
        assert mine.centroids.tobytes() == theirs.centroids.tobytes()
        assert len(mine.clusters) == len(theirs.clusters)
        for number, (own_cluster, cluster) in enumerate(zip(mine.clusters, theirs.clusters, strict=True)):
            members = np.flatnonzero(partition.assignment == number)
            assert np.array_equal(members, np.sort(cluster.members))
            assert len(own_cluster.labels) == len(np.unique(data.Y[members].indices))


@pytest.mark.parametrize("bias", [0.0, 1.5])
def test_scores_are_the_mean_of_what_each_rows_cluster_learned(bias):
    data = problem()
    model = LocalLEMLClassifier(**SMALL, bias=bias, random_state=1).fit(data.X, data.Y).model_
    info = model.info
    X, X_new = (prepare_rows(rows, info.settings) for rows in (data.X, data.X_new))
    Y = data.Y[:, info.seen]
    raw = np.zeros((80, len(info.seen)))
    known = np.zeros(raw.shape, bool)
    for number, learner in enumerate(model.learners):
        seed = int(np.random.SeedSequence(1).spawn(2)[number].generate_state(1)[0])
        of_old, of_new = (route(normalise(rows), learner.centroids)[:, 0] for rows in (data.X, data.X_new))
        for c in range(len(learner.clusters)):
            points = X[of_old == c]
            labels = np.unique(Y[of_old == c].indices)
            # Over all features: those that no point of the cluster has get no weight.
            rank = dimension("auto", len(labels))
            with single_threaded_blas():
                found = factorise(points, Y[of_old == c][:, labels], rank, 1.0, max_iter=3, seed=seed + c)
            rows = np.flatnonzero(of_new == c)
            raw[np.ix_(rows, labels)] += X_new[rows] @ found.W @ found.H.T / 2
            known[np.ix_(rows, labels)] = True
    wanted = np.where(known, to_unit_interval(raw, 0.5), 0)
    assert np.abs(model.scores(X_new, 1).toarray() - wanted).max() < 2e-3
    assert not known.all(), "some labels are not known everywhere, or this would show little"


def test_a_cluster_knows_its_own_labels_and_features_only():
    data = problem()
    model = LocalLEMLClassifier(**{**SMALL, "n_clusters": 6, "bias": 0.0}).fit(data.X, data.Y).model_
    clusters = [cluster for learner in model.learners for cluster in learner.clusters]
    assert any(len(cluster.labels) < 29 for cluster in clusters)
    assert any(cluster.features is not None and len(cluster.features) < 150 for cluster in clusters)
    for cluster in clusters:
        assert cluster.H.shape[0] == len(cluster.labels)
        assert cluster.W.shape[0] == (150 if cluster.features is None else len(cluster.features))


def test_one_cluster_is_leml():
    data = problem()
    with pytest.warns(UserWarning, match="with one cluster"):
        local = LocalLEMLClassifier(n_clusters=1, n_learners=3, n_jobs=1).fit(data.X, data.Y)
    assert local.model_.settings["n_learners"] == 1
    seed = int(np.random.SeedSequence(0).spawn(3)[0].generate_state(1)[0])
    whole = LEMLClassifier(random_state=seed, n_jobs=1).fit(data.X, data.Y)
    difference = local.decision_function(data.X_new) - whole.decision_function(data.X_new)
    assert np.abs(difference.toarray()).max() < 1e-6


def test_a_cluster_without_labels_says_nothing():
    data = problem()
    blocks = [
        sparse.hstack([data.X[:40], csr_matrix((40, 150))]),
        sparse.hstack([csr_matrix((40, 150)), data.X[40:80]]),
    ]
    X = csr_matrix(sparse.vstack(blocks), dtype=np.float32)
    Y = csr_matrix(sparse.vstack([data.Y[:40], csr_matrix((40, 30))]), dtype=np.float32)
    model = LocalLEMLClassifier(n_clusters=2, n_learners=1, random_state=2, n_jobs=1).fit(X, Y)
    sizes = sorted(len(cluster.labels) for cluster in model.model_.learners[0].clusters)
    assert sizes[0] == 0 < sizes[1]
    labels, scores = model.predict_topk(X[40:], 1)
    frequency = np.asarray(Y.sum(axis=0)).ravel()
    assert (labels == frequency.argmax()).all()  # nobody has a say: the most frequent label
    assert np.allclose(scores, frequency.max() / 80)


def test_the_same_bytes_whatever_the_number_of_threads():
    data = problem()
    X, Y = sparse.vstack([data.X] * 3, format="csr"), sparse.vstack([data.Y] * 3, format="csr")
    X.data = X.data * np.random.default_rng(0).uniform(0.5, 1, X.nnz).astype(np.float32)
    states = [
        LocalLEMLClassifier(n_clusters=3, n_learners=2, max_iter=2, n_jobs=jobs).fit(X, Y).model_.to_state()
        for jobs in (1, 2)
    ]
    assert states[0][0] == states[1][0]
    for part, arrays in states[0][1].items():
        for name, array in arrays.items():
            assert array.tobytes() == states[1][1][part][name].tobytes(), f"{part} {name}"


def test_too_little_memory_is_refused_before_any_work():
    with pytest.raises(ParameterError, match=r"memory"):
        LocalLEMLClassifier(**SMALL, max_memory="1MB").fit(problem().X, problem().Y)


def test_a_stored_model_predicts_the_same(tmp_path):
    data = problem()
    model = LocalLEMLClassifier(**SMALL, bias=1.0).fit(data.X, data.Y).model_
    store.save(model, tmp_path / "model")
    again = store.load(tmp_path / "model").model
    for wanted, found in zip(model.predict_topk(data.X_new, 5), again.predict_topk(data.X_new, 5), strict=True):
        assert np.array_equal(wanted, found)


def damaged(state, name, change):
    part = dict(state["learner-001"])
    part[name] = change(part[name])
    return {**state, "learner-001": part}


def swapped(numbers):
    return np.concatenate([numbers[1:2], numbers[:1], numbers[2:]])


def beyond(numbers):
    return np.concatenate([numbers[:-1], np.array([10**6], np.int32)])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("centroids", lambda array: array[:-1]),
        ("centroids", lambda array: array[:, :0]),
        ("centroids", lambda array: csr_matrix(array)),
        ("W-1", lambda array: array[:, :-1]),
        ("W-1", lambda array: array[:-1]),
        ("W-1", lambda array: array.astype(np.float64)),
        ("W-1", lambda array: csr_matrix(array)),
        ("H-1", lambda array: array[:-1]),
        ("labels-1", swapped),
        ("labels-1", beyond),
        ("labels-1", lambda array: array.astype(np.int64)),
        ("features-1", swapped),
        ("features-1", beyond),
        ("features-1", lambda array: array[:0]),
    ],
)
def test_a_damaged_state_is_refused(tmp_path, monkeypatch, name, change):
    data = problem()
    model = LocalLEMLClassifier(**{**SMALL, "n_clusters": 6, "bias": 0.0}).fit(data.X, data.Y).model_
    state = damaged(model.arrays(), name, change)
    monkeypatch.setattr(model, "arrays", lambda: state)
    store.save(model, tmp_path / "model")
    with pytest.raises(ModelError):
        store.load(tmp_path / "model")


def test_a_model_without_learners_or_with_one_missing_is_refused(tmp_path, monkeypatch):
    model = LocalLEMLClassifier(**SMALL).fit(problem().X, problem().Y).model_
    whole = model.arrays()
    for number, state in enumerate([{}, {"learner-001": whole["learner-001"]}]):
        monkeypatch.setattr(model, "arrays", lambda state=state: state)
        store.save(model, tmp_path / str(number))
        with pytest.raises(ModelError):
            store.load(tmp_path / str(number))
