"""X1Classifier: the contract, scikit-learn's checks, its parameters, and the same bytes again."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import warnings

import joblib
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_matrix
from sklearn.utils.estimator_checks import parametrize_with_checks

from contract import EXEMPT, NEW_TAGS, ClassifierContract, VariantContract, assert_well_formed, problem
from neartag.core.errors import ParameterError
from neartag.core.parameters import Parameter
from neartag.data import synthetic
from neartag.linalg.rows import as_rows, normalise
from neartag.search.inverted_index import FeatureIndex
from neartag.x1.classifier import X1Classifier
from neartag.x1.cluster_training import cluster_steps
from neartag.x1.method import METHOD
from neartag.x1.model import X1Model
from neartag.x1.parameters import DEFAULTS, PARAMETERS

# Votes alone; tests/rerank/test_reranker.py holds the default, where rankers decide, to the same contract.
SMALL = {"n_learners": 2, "n_clusters": 3, "embedding_dim": 16, "svp_neighbours": 20, "n_jobs": 1, "refine": False}


def small_model(**changes):
    """Return X1, votes alone, with settings for a few hundred points."""
    return X1Classifier(**{**SMALL, **changes})


class TestContract(ClassifierContract):
    def make_model(self, **changes):
        return small_model(**changes)


class TestContractOfThePaper(VariantContract):
    """One cluster, one learner, a plain vote, nothing added."""

    def make_model(self, **changes):
        paper = {"n_learners": 1, "n_clusters": 1, "vote_weight": "uniform", "feature_share": 0.0}
        return small_model(**{**paper, **changes})


class TestContractWithEveryOption(VariantContract):
    def make_model(self, **changes):
        options = {
            "n_learners": 1,
            "n_probe": 2,
            "centroid_entries": 20,
            "max_cluster_size": 60,
            "label_similarity": "inner",
        }
        more = {"l1": 0.05, "keep_weights": 0.4, "feature_share": 0.5}
        return small_model(**{**options, **more, **changes})


# ---- scikit-learn's own checks


@pytest.mark.skipif(not NEW_TAGS, reason="before 1.6 scikit-learn's checks know no multi-label-only classifier")
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([X1Classifier(embedding_dim=8, n_jobs=1, refine=False)])
def test_scikit_learns_checks(estimator, check):
    name = getattr(check, "func", check).__name__
    if name not in EXEMPT:
        check(estimator)
        return
    try:
        check(estimator)
    except Exception:
        return
    pytest.fail(f"{name} passes after all: take it out of EXEMPT")


@pytest.mark.skipif(not NEW_TAGS, reason="older versions have fewer checks")
def test_no_exemption_outlives_its_check():
    from sklearn.utils.estimator_checks import estimator_checks_generator

    checks = {getattr(check, "func", check).__name__ for _, check in estimator_checks_generator(X1Classifier())}
    assert set(EXEMPT) <= checks


def test_every_exemption_has_a_reason():
    assert all(len(reason) > 20 for reason in EXEMPT.values())


# ---- parameters


def test_the_table_is_the_constructor():
    signature = inspect.signature(X1Classifier.__init__).parameters
    earlier = {name: "deprecated" for parameter in PARAMETERS for name in parameter.aliases}
    assert [name for name in signature if name != "self"] == [*(each.name for each in PARAMETERS), *earlier]
    assert {name: signature[name].default for name in DEFAULTS} == DEFAULTS
    assert X1Classifier().get_params() == {**DEFAULTS, **earlier}


def test_every_default_is_allowed():
    for parameter in PARAMETERS:
        parameter.check(parameter.default)
        assert parameter.help
        assert parameter.describe()


def bad_values(parameter: Parameter):
    """Yield values outside the limits, just outside them, and of the wrong kind."""
    yield "nonsense"
    yield [1]
    yield 1 if parameter.kind is bool else True
    yield complex(1, 1)
    if not parameter.optional:
        yield None
    if parameter.kind in (str, bool):
        yield 3
        return
    yield from (np.nan, np.inf, -np.inf, np.array([1, 2]))
    if parameter.kind is int:
        yield 1.5
        yield 3.0
    if np.isfinite(parameter.low):
        yield parameter.low - (1 if parameter.kind is int else 1e-7)
    if np.isfinite(parameter.high):
        yield parameter.high + 1 if parameter.kind is int else np.nextafter(parameter.high, np.inf).item()
    if parameter.name == "n_jobs":
        yield 0


BAD = [(parameter.name, value) for parameter in PARAMETERS for value in bad_values(parameter)]


@pytest.mark.parametrize(("name", "value"), BAD, ids=[f"{name}={value!r}" for name, value in BAD])
def test_a_bad_value_is_refused_by_name_and_value(name, value):
    data = problem()
    model = small_model(**{name: value})  # the constructor only stores
    with pytest.raises(ParameterError) as caught:
        model.fit(data.X[:20], data.Y[:20])
    assert name in str(caught.value)
    assert repr(value) in str(caught.value)


def test_a_number_beyond_all_floats_is_refused_like_any_other():
    with pytest.raises(ParameterError, match="n_clusters"):
        small_model(n_clusters=10**400).fit(problem().X, problem().Y)


@pytest.mark.parametrize("name", METHOD.prediction)
def test_what_prediction_uses_may_be_set_after_training(name):
    data = problem()
    other = {
        "n_probe": 3,
        "vote_neighbours": 5,
        "vote_search": "exact",
        "vote_weight": "uniform",
        "vote_sharpness": 1.0,
        "feature_share": 0.9,
        "feature_search": "near",
        "vector_share": 0.5,
        "threshold": 0.2,
    }[name]
    later = small_model().fit(data.X, data.Y).set_params(**{name: other})
    at_once = small_model(**{name: other}).fit(data.X, data.Y)
    assert (later.predict(data.X_new) != at_once.predict(data.X_new)).nnz == 0
    assert (later.decision_function(data.X_new) != at_once.decision_function(data.X_new)).nnz == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_probe", 0), ("vote_neighbours", -5), ("vote_sharpness", -1.0), ("threshold", 7), ("feature_share", 2.0)],
)
def test_what_is_set_after_training_is_checked_too(name, value):
    # One cluster, so that even unchecked these values do nothing worse than wrong.
    data = problem()
    model = small_model(n_learners=1, n_clusters=1).fit(data.X, data.Y).set_params(**{name: value})
    with pytest.raises(ParameterError, match=name):
        model.predict(data.X_new)


def test_numpy_numbers_are_numbers():
    data = problem()
    changes = {"embedding_dim": np.int64(16), "l2": np.float32(1.0), "n_learners": np.int32(2), "n_probe": np.int64(1)}
    model = small_model(**changes).fit(data.X, data.Y)
    wanted = small_model().fit(data.X, data.Y)
    assert (model.decision_function(data.X_new) != wanted.decision_function(data.X_new)).nnz == 0
    settings, _ = model.model_.to_state()
    assert json.loads(json.dumps(settings)) == settings, "settings are JSON types"


# ---- learners and clusters


def test_one_cluster_and_several_learners_train_one_and_say_so():
    data = problem()
    with pytest.warns(UserWarning, match=r"one cluster.*4 learners") as caught:
        model = small_model(n_learners=4, n_clusters=1).fit(data.X, data.Y)
    assert caught[0].filename == __file__, "the warning points at the caller"
    assert len(model.model_.learners) == 1
    alone = small_model(n_learners=1, n_clusters=1).fit(data.X, data.Y)
    assert (model.decision_function(data.X_new) != alone.decision_function(data.X_new)).nnz == 0


def test_learners_differ_and_nothing_is_said():
    data = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = small_model(n_learners=3, n_clusters=2).fit(data.X, data.Y)
    firsts = {learner.clusters[0].members.tobytes() for learner in model.model_.learners}
    assert len(firsts) == 3


def test_automatic_numbers_on_a_small_set_are_one_of_each():
    data = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = X1Classifier(embedding_dim=8, n_jobs=1).fit(data.X, data.Y)
    assert [len(learner.clusters) for learner in model.model_.learners] == [1]


def test_every_point_is_in_one_cluster_of_each_learner():
    model = small_model(n_clusters=4).fit(problem().X, problem().Y).model_
    for learner in model.learners:
        assert sorted(np.concatenate([cluster.members for cluster in learner.clusters])) == list(range(240))
        assert learner.centroids.shape == (150, len(learner.clusters))


def test_no_cluster_is_larger_than_asked_for():
    model = small_model(n_clusters=2, max_cluster_size=50).fit(problem().X, problem().Y).model_
    assert max(len(cluster.members) for learner in model.learners for cluster in learner.clusters) <= 50


def test_clusters_of_one_point():
    data = problem()
    model = small_model(n_learners=1, n_clusters=240, feature_share=0.0).fit(data.X, data.Y)
    sizes = [len(cluster.members) for cluster in model.model_.learners[0].clusters]
    assert min(sizes) == 1
    labels, scores = model.predict_topk(data.X_new, 5)
    assert_well_formed(labels, scores, 80, 5, 30)
    # A training point with a cluster of its own and labels gets just these back.
    lonely = [int(c.members[0]) for c in model.model_.learners[0].clusters if len(c.members) == 1]
    labelled = [row for row in lonely if data.Y[row].nnz]
    assert len(labelled) > 50
    assert (model.predict(data.X[labelled]) != data.Y[labelled]).nnz == 0


def searched(model, rows):
    """Return for each row which training points may vote, by brute force over the centroids, and which do."""
    (learner,) = model.model_.learners
    unit = normalise(as_rows(rows)).toarray()
    distance = ((unit[:, None] - learner.centroids.T[None]) ** 2).sum(axis=2)
    nearest = np.argsort(distance, axis=1)[:, : model.n_probe]
    allowed = [set(np.concatenate([learner.clusters[c].members for c in row])) for row in nearest]
    return allowed, model.model_.neighbours(rows)[0]


@pytest.mark.parametrize("n_probe", [1, 2, 4, 9])
def test_voters_come_from_the_nearest_clusters_only(n_probe):
    data = problem()
    settings = {"n_learners": 1, "n_clusters": 4, "vote_neighbours": 30, "feature_share": 0.0}
    model = small_model(n_probe=n_probe, **settings).fit(data.X, data.Y)
    allowed, voters = searched(model, data.X_new)
    for may, row in zip(allowed, voters, strict=True):
        found = row[row >= 0]
        assert set(found) <= may
        assert len(found) == min(30, len(may))
        assert len(set(found)) == len(found)


def test_several_clusters_are_ranked_by_how_much_of_the_point_they_explain():
    data = problem()
    model = small_model(n_learners=1, n_clusters=4, n_probe=2, vote_neighbours=10, feature_share=0.0)
    model.fit(data.X, data.Y)
    (learner,) = model.model_.learners
    rows = normalise(as_rows(data.X_new)).toarray()
    distance = ((rows[:, None] - learner.centroids.T[None]) ** 2).sum(axis=2)
    _, voters = searched(model, data.X_new)
    for x, near, found in zip(rows, np.argsort(distance, axis=1)[:, :2], voters, strict=True):
        reach = {}
        for c in near:
            known = slice(None) if learner.clusters[c].features is None else learner.clusters[c].features
            z = x[known] @ learner.clusters[c].weights  # ‖z‖ · cosine = z · unit point
            reach.update(zip(learner.clusters[c].members.tolist(), learner.clusters[c].points @ z, strict=True))
        best = sorted(reach.values(), reverse=True)[:10]
        np.testing.assert_allclose(sorted((reach[row] for row in found.tolist()), reverse=True), best, atol=1e-5)


def test_the_shares_of_voters_are_the_scores():
    data = problem()
    model = small_model().fit(data.X, data.Y).model_
    voters, shares = model.neighbours(data.X_new)
    assert voters.shape == shares.shape
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)
    assert (shares[voters < 0] == 0).all()
    scores = np.zeros((80, 30))
    for row in range(80):
        for voter, share in zip(voters[row], shares[row], strict=True):
            if voter >= 0:
                scores[row] += share * data.Y[[voter]].toarray().ravel()
    np.testing.assert_allclose(model.decision_function(data.X_new).toarray(), np.minimum(scores, 1), atol=1e-9)


def test_a_row_without_features_gets_the_most_frequent_labels():
    data = problem()
    # One voter: fewer labels get votes than there are, but a row without features knows how frequent each is.
    model = small_model(n_learners=1, vote_neighbours=1).fit(data.X, data.Y)
    empty = csr_matrix((1, 150), dtype=np.float32)
    frequency = np.asarray(data.Y.sum(axis=0)).ravel()
    order = sorted(np.flatnonzero(frequency), key=lambda label: (-frequency[label], label))
    labels, scores = model.predict_topk(empty, 30)
    assert labels[0, : len(order)].tolist() == order
    np.testing.assert_allclose(scores[0, : len(order)], frequency[order] / 240)
    np.testing.assert_allclose(model.decision_function(empty).toarray()[0], frequency / 240)


# ---- the further voter on raw features


@pytest.mark.parametrize("thin_index", [False, True])
@pytest.mark.parametrize("thin_queries", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_feature_index_is_brute_force(thin_index, thin_queries, threads):
    data = problem()
    X, X_new = normalise(as_rows(data.X)), normalise(as_rows(data.X_new))
    index = FeatureIndex.from_rows(X if thin_index else X.toarray())
    ids, cosines = index.find(X_new if thin_queries else X_new.toarray(), 12, threads)
    exact = (X_new.toarray().astype(np.float64) @ X.toarray().T.astype(np.float64)).round(6)
    assert ids.shape == cosines.shape == (80, 12)
    for row in range(80):
        best = -np.sort(-exact[row])[:12]
        np.testing.assert_allclose(cosines[row], best, atol=2e-6)
        np.testing.assert_allclose(exact[row, ids[row]], best, atol=2e-6)
        assert len(set(ids[row])) == 12


def test_rows_that_share_no_feature_do_not_vote_dense_or_sparse():
    # Two training points have the new point's only feature; the twenty voters asked for must not be filled with others.
    random = np.random.default_rng(0)
    X = np.zeros((60, 40), np.float32)
    X[:, :30] = random.random((60, 30)) * (random.random((60, 30)) < 0.1)
    X[[7, 9], 35] = 1
    Y = csr_matrix(np.eye(60, dtype=np.float32))
    query = np.zeros((1, 40), np.float32)
    query[0, 35] = 1
    answers = []
    for form in (np.asarray, csr_matrix):
        model = small_model(n_learners=1, n_clusters=1, feature_share=1.0).fit(form(X), Y)
        answers.append(model.decision_function(form(query)).toarray())
        assert set(np.flatnonzero(answers[-1])) == {7, 9}
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-5)


def test_without_a_share_the_features_do_not_vote():
    data = problem()
    model = small_model(feature_share=0.0).fit(data.X, data.Y).model_
    voters, _ = model.neighbours(data.X_new)
    assert voters.shape[1] == 2 * 20  # learners · vote_neighbours
    assert model.index is None


# ---- the same bytes


def state_bytes(model):
    """Return every array of a fitted model by name, as bytes with type and shape."""
    _, parts = model.model_.to_state()
    return {
        f"{part}/{name}": (array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes())
        for part, arrays in parts.items()
        for name, array in arrays.items()
    }


OPTIONS = {
    "plain": {},
    "every option": {"l1": 0.05, "keep_weights": 0.4, "centroid_entries": 20, "max_cluster_size": 60},
}


@pytest.mark.parametrize("options", OPTIONS)
def test_run_to_run_the_bytes_are_the_same(options):
    data = problem()
    first = small_model(**OPTIONS[options]).fit(data.X, data.Y)
    again = small_model(**OPTIONS[options]).fit(data.X, data.Y)
    assert state_bytes(first) == state_bytes(again)
    assert first.model_.to_state()[0] == again.model_.to_state()[0]
    other = small_model(**OPTIONS[options], random_state=1).fit(data.X, data.Y)
    assert state_bytes(first) != state_bytes(other)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("n_jobs", [2, 3, 6])
def test_however_many_tasks_at_once_the_bytes_are_the_same(options, n_jobs):
    # Six tasks at least, so each has one thread in all these.
    data = problem()
    alone = small_model(**OPTIONS[options]).fit(data.X, data.Y)
    together = small_model(**OPTIONS[options], n_jobs=n_jobs).fit(data.X, data.Y)
    assert state_bytes(alone) == state_bytes(together)
    assert alone.model_.to_state()[0] == together.model_.to_state()[0]


@pytest.mark.parametrize("backend", ["threading", "sequential", "loky"])
def test_whatever_runs_the_tasks_the_bytes_are_the_same(backend):
    data = problem()
    wanted = small_model().fit(data.X, data.Y)
    # Processes get their arrays as read-only memory maps from this size on, as large ones do.
    changes = {"max_nbytes": 100} if backend == "loky" else {}
    with joblib.parallel_config(backend=backend, **changes):
        found = small_model(n_jobs=2).fit(data.X, data.Y)
    assert state_bytes(found) == state_bytes(wanted)


def test_within_a_cluster_two_threads_are_reproducible():
    data = problem()
    models = [small_model(n_learners=1, n_clusters=1, n_jobs=2).fit(data.X, data.Y) for _ in range(2)]
    assert state_bytes(models[0]) == state_bytes(models[1])


def test_across_thread_counts_the_top_labels_agree():
    data = synthetic.make(4000, 600, 150, 20, 3, seed=1)
    X, Y, X_new = data.X[:1500], data.Y[:1500], data.X[1500:]
    settings = {"n_learners": 1, "n_clusters": 1, "embedding_dim": 30, "svp_neighbours": 30}
    one, two = (small_model(**{**settings, "n_jobs": jobs}).fit(X, Y).predict_topk(X_new, 5)[0] for jobs in (1, 2))
    assert (one == two).all(axis=1).mean() >= 0.999


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_predictions_do_not_depend_on_the_threads_that_predict(n_jobs):
    data = problem()
    model = small_model().fit(data.X, data.Y)
    labels, scores = model.predict_topk(data.X_new, 5)
    found, shares = model.set_params(n_jobs=n_jobs).predict_topk(data.X_new, 5)
    assert np.array_equal(labels, found)
    np.testing.assert_allclose(shares, scores, atol=1e-6)


# ---- the state


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dense", [False, True])
def test_a_model_from_its_state_predicts_the_same(options, dense):
    data = problem()
    X, X_new = (data.X.toarray(), data.X_new.toarray()) if dense else (data.X, data.X_new)
    model = small_model(**OPTIONS[options]).fit(X, data.Y)
    settings, parts = model.model_.to_state()
    for arrays in parts.values():
        for array in arrays.values():
            array.setflags(write=False)  # as a memory map's
    again = X1Model.from_state(json.loads(json.dumps(settings)), parts)
    wanted, found = model.predict_topk(X_new, 5), again.predict_topk(X_new, 5, n_jobs=1)
    assert np.array_equal(wanted[0], found[0])
    assert np.array_equal(wanted[1], found[1])
    assert (again.predict(X_new, n_jobs=1) != model.predict(X_new)).nnz == 0


def test_truncated_models_are_small():
    data = problem()
    model = small_model(keep_weights=0.1, centroid_entries=5, feature_share=0.0).fit(data.X, data.Y).model_
    for learner in model.learners:
        assert learner.centroids.nnz <= 5 * len(learner.clusters)
        for cluster in learner.clusters:
            assert sparse.issparse(cluster.weights)
            assert cluster.weights.nnz <= round(0.1 * cluster.weights.shape[0] * cluster.weights.shape[1])


def test_l1_makes_embeddings_sparse():
    data = problem()
    settings = {"n_learners": 1, "n_clusters": 1, "feature_share": 0.0}
    shares = []
    for l1 in (0.0, 0.1, 0.3):
        model = small_model(l1=l1, **settings).fit(data.X, data.Y).model_
        shares.append((model.learners[0].clusters[0].points == 0).mean())
    assert shares[0] < 0.01 < shares[1] < shares[2]


def test_the_share_left_unexplained_is_kept():
    data = problem()
    few, many = (small_model(embedding_dim=dim).fit(data.X, data.Y).model_ for dim in (2, 40))
    left = [[c.unexplained for learner in model.learners for c in learner.clusters] for model in (few, many)]
    assert all(0 <= share <= 1 for share in left[0] + left[1])
    assert np.mean(left[1]) < np.mean(left[0])


def test_loading_and_predicting_import_no_scikit_learn():
    program = """
import sys, neartag.x1.model
sys.exit(any(name.split(".")[0] in ("sklearn", "joblib") for name in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=120).returncode == 0


def test_progress_is_told_of_every_cluster():
    from neartag.core.progress import Progress

    class Counted(Progress):
        total, done, ended = None, 0, False

        def start(self, total, description):
            self.total, self.done = total, 0
            return self

        def advance(self, steps=1, note=""):
            self.done += steps

        def finish(self):
            self.ended = True

    progress = Counted()
    model = small_model().fit(problem().X, problem().Y, progress=progress).model_
    clusters = sum(len(learner.clusters) for learner in model.learners)
    steps = clusters * cluster_steps(model.settings)  # SVP may end early: what it leaves out counts as done
    others = 3 * len(model.learners) + 2  # each is divided, put together and given the rest; an index, and a vote
    assert (progress.total, progress.done, progress.ended) == (steps + others, steps + others, True)


def test_progress_may_be_asked_for_with_a_word(capsys):
    small_model().fit(problem().X, problem().Y, progress=True)  # too quick to show anything, but no error
    assert capsys.readouterr().out == ""


def test_training_without_any_label_is_warned_of():
    data = problem()
    with pytest.warns(UserWarning, match="no training point has a label"):
        model = small_model(n_learners=1, n_clusters=1).fit(data.X, 0 * data.Y)
    assert (model.predict_topk(data.X_new, 2)[0] == -1).all()


def test_hardly_any_points_to_a_cluster_are_warned_of():
    data = problem()
    with pytest.warns(UserWarning, match="n_clusters = 100 leaves fewer than 10 of the 240 points"):
        small_model(n_learners=1, n_clusters=100).fit(data.X, data.Y)


def test_a_fitted_classifier_can_be_saved_as_it_is(tmp_path):
    from neartag import store

    data = problem()
    model = small_model().fit(data.X, data.Y)
    store.save(model, tmp_path / "model")
    again = store.load(tmp_path / "model").model
    assert np.array_equal(again.predict_topk(data.X_new, 5)[0], model.predict_topk(data.X_new, 5)[0])
    with pytest.raises(ParameterError, match="X1Classifier cannot be saved"):
        store.save(small_model(), tmp_path / "other")


def test_a_model_says_what_it_is_in_a_line():
    data = problem()
    said = repr(small_model().fit(data.X, data.Y).model_)
    assert "240 points" in said
    assert "\n" not in said
    assert len(said) < 150


@pytest.mark.parametrize("column", [150, 2_000_000_000, -1])
def test_columns_that_do_not_exist_are_refused(column):
    data = problem()
    model = small_model().fit(data.X, data.Y)
    wrong = csr_matrix((np.ones(1, np.float32), np.array([0]), np.array([0, 1])), shape=(1, 150))
    wrong.indices = np.array([column], np.int32)
    with pytest.raises(ParameterError, match="ids count from 0"):
        model.predict_topk(wrong)
