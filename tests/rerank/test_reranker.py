"""Refinement as a whole: the contract, odd sets, the same bytes again, probabilities, and what it is good for."""

from __future__ import annotations

import copy
import json
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_matrix
from sklearn.utils.estimator_checks import parametrize_with_checks

from cli_helpers import succeed
from contract import (
    DENSE_FORMS,
    EXEMPT,
    NEW_TAGS,
    VariantContract,
    assert_the_same_when_loaded,
    assert_well_formed,
    hits_at_1,
    problem,
)
from neartag import store
from neartag.core.errors import ParameterError
from neartag.data import debian, formats, synthetic
from neartag.encoders.tfidf import TfidfFeatures
from neartag.linalg.rows import as_rows, normalise
from neartag.metrics import evaluate, precision_at
from neartag.rerank import preparation
from neartag.rerank import training as module
from neartag.rerank.fusion import Fusion
from neartag.x1 import steps
from neartag.x1.classifier import X1Classifier
from neartag.x1.resolve import MIN_HELD_OUT
from neartag.x1.selection import held_out_rows, retrieve_held_out
from refine_helpers import CLUSTERS, OPTIONS, fitted, in_plain_python, sharp, small_model, state_bytes

LEAST = 4 * MIN_HELD_OUT  # points, from which on some can be held out


# ---- what every classifier keeps


@pytest.mark.filterwarnings("ignore:.* too few to refine", "ignore:n_clusters = 3 leaves fewer")
class RefinedContract(VariantContract):
    """The contract of all, but for what rounding can do here."""

    @classmethod
    @cache
    def of_distinct_points(cls):
        """Return points whose neighbours are not equally near, their labels, and a model of the first 300 of them."""
        made = synthetic.make(380, 150, 40, 12, 2)
        X = made.X.copy()
        X.data = np.round(1e4 * X.data).astype(np.float32)
        return X, made.Y, cls().make_model(refine_candidates=40).fit(X[:300], made.Y[:300])

    @pytest.mark.parametrize("form", DENSE_FORMS)
    def test_dense_features_give_the_same_predictions(self, form):
        # With the contract's tolerance, but where nothing is cut off between equals: on data whose neighbours are not
        # equally near, as the contract's small whole numbers are, and with room for every label. Else rounding decides
        # who is on this side of a cut; a single hard negative of thousands then moves scores by 0.01, on the contract's
        # own data by 0.05 and, with few candidates and one vote each, by 0.18.
        X, Y, sparse_one = self.of_distinct_points()
        other = self.make_model(refine_candidates=40).fit(DENSE_FORMS[form](X[:300]), Y[:300])
        assert other.model_.settings == sparse_one.model_.settings
        wanted = sparse_one.decision_function(X[300:]).toarray()
        assert np.abs(other.decision_function(DENSE_FORMS[form](X[300:])).toarray() - wanted).max() < 1e-3


class TestContract(RefinedContract):
    def make_model(self, **changes):
        return small_model(**changes)


class TestContractWithEveryOption(RefinedContract):
    def make_model(self, **changes):
        return small_model(**{**OPTIONS["every option"], **changes})


@pytest.mark.skipif(not NEW_TAGS, reason="before 1.6 scikit-learn's checks know no multi-label-only classifier")
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([X1Classifier(embedding_dim=8, n_jobs=1)])
def test_scikit_learns_checks(estimator, check):
    if getattr(check, "func", check).__name__ not in EXEMPT:
        check(estimator)


# ---- whether and how it refines


@pytest.mark.parametrize("options", OPTIONS)
def test_it_refines_and_says_with_what(options):
    model = fitted(options).model_
    assert model.reranker is not None
    settings = model.parameters
    assert settings["refine_candidates"] == OPTIONS[options].get("refine_candidates", 20) == model.reranker.size
    assert settings["refine_cost"] in (OPTIONS[options].get("refine_cost"), *preparation.COSTS)
    assert model.reranker.rankers.known.tolist() == (model.frequency > 0).tolist()
    assert all(not isinstance(value, str) or value != "auto" for value in settings.values())
    assert json.loads(json.dumps(model.to_state()[0])) == model.to_state()[0], "settings are JSON types"
    assert sorted(np.concatenate([c.members for c in model.learners[0].clusters]).tolist()) == list(range(240))


@pytest.mark.parametrize("options", OPTIONS)
def test_it_learns(options):
    data = problem()
    labels, scores = fitted(options).predict_topk(data.X_new, 5)
    assert_well_formed(labels, scores, 80, 5, 30)
    refined = hits_at_1(labels, data.Y_new)
    plain = small_model(**{**OPTIONS[options], "refine": False}).fit(data.X, data.Y).predict_topk(data.X_new, 1)[0]
    assert refined > hits_at_1(plain, data.Y_new) - 0.1


@pytest.mark.parametrize("n", [*range(1, 13), 30, 49, 60, LEAST - 1, LEAST, LEAST + 1])
def test_any_number_of_points(n):
    data = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of hardly any points to a cluster
        models = [small_model(**options).fit(data.X[:n], data.Y[:n], held_out=True) for options in ({}, CLUSTERS)]
    for model in models:
        assert (model.model_.reranker is not None) == (n >= LEAST), "with too few votes decide alone"
        assert (model.held_out_ is not None) == (n >= LEAST)
        labels, scores = model.predict_topk(data.X_new, 5)
        assert_well_formed(labels, scores, 80, 5, 30)
        assert set(labels[labels >= 0]) <= set(data.Y[:n].indices)


def test_a_single_point_is_too_few_to_refine():
    data = problem()
    with pytest.warns(UserWarning, match="1 point is too few to refine"):
        small_model(vote_neighbours=1, feature_share=0.3, n_clusters=1).fit(data.X[:1], data.Y[:1])


def test_too_few_to_refine_are_what_they_are_without(tmp_path):
    data = problem()
    vote = {"vote_neighbours": 10, "feature_share": 0.3}
    with pytest.warns(UserWarning, match="90 points are too few to refine") as caught:
        one = small_model(**vote).fit(data.X[:90], data.Y[:90])
    assert caught[0].filename == __file__, "the warning points at the caller"
    other = small_model(**vote, refine=False).fit(data.X[:90], data.Y[:90])
    assert (one.decision_function(data.X_new) != other.decision_function(data.X_new)).nnz == 0
    assert_the_same_when_loaded(one, tmp_path / "model")


@pytest.mark.parametrize("n", [LEAST, 400, 5000, 10**6])
def test_a_quarter_of_a_small_set_may_be_held_out(n):
    held = held_out_rows(n, 0, to_rerank=True)
    assert len(held) == {LEAST: 50, 400: 100, 5000: 500, 10**6: 2000}[n]
    assert len(set(held.tolist())) == len(held)
    assert held.max() < n


@pytest.mark.parametrize("size", [1, 2, 29, 30, 31, 10**6])
def test_any_number_of_candidates(size):
    data = problem()
    model = small_model(refine_candidates=size, refine_cost=1.0).fit(data.X, data.Y)
    assert model.model_.reranker.size == min(size, 30)
    assert np.diff(model.decision_function(data.X_new).indptr).max() <= min(3 * size, 30)
    assert_well_formed(*model.predict_topk(data.X_new, 5), 80, 5, 30)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("refine", 1),
        ("refine", "yes"),
        ("refine_candidates", 0),
        ("refine_cost", 0.0),
        ("refine_cost", "dear"),
        ("refine_min_weight", -0.1),
    ],
)
def test_values_that_make_no_sense_are_refused(name, value):
    with pytest.raises(ParameterError, match=name):
        small_model(**{name: value}).fit(problem().X, problem().Y)


def test_the_cost_is_that_which_fits_the_held_out_points_best(monkeypatch):
    tried = []
    fit = Fusion.fit

    def spy(features, correct, *rest):
        found = fit(features, correct, *rest)
        tried.append((features.shape[1], found.loss))
        return found

    monkeypatch.setattr(Fusion, "fit", spy)
    model = small_model().fit(problem().X, problem().Y).model_
    losses = [loss for count, loss in tried if count == 6][: len(preparation.COSTS)]
    assert model.parameters["refine_cost"] == preparation.COSTS[int(np.argmin(losses))]


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.5, 0.9])
def test_thresholds_are_of_probabilities(threshold):
    data = problem()
    model = copy.deepcopy(fitted()).set_params(threshold=threshold)
    found = model.predict(data.X_new)
    assert (found != (fitted().decision_function(data.X_new) >= threshold).astype(int)).nnz == 0
    if found.nnz > 30:  # of what is told to be at least so likely, at least so much is right
        assert found.multiply(data.Y_new).sum() / found.nnz > threshold - 0.15


def test_progress_is_told_to_its_end():
    from neartag.core.progress import Progress

    class Counted(Progress):
        def __init__(self):
            self.totals, self.done = {}, {}

        def start(self, total, description):
            self.now = description
            self.totals[description], self.done[description] = total, 0
            return self

        def advance(self, steps=1, note=""):
            self.done[self.now] += steps

        def finish(self):
            pass

    for changes in ({}, {"refine_cost": 1.0}):
        progress = Counted()
        small_model(**changes).fit(problem().X, problem().Y, progress=progress)
        assert progress.done == progress.totals
        assert list(progress.totals) == ["training"]


@pytest.mark.parametrize("options", OPTIONS)
def test_dense_features_are_sparse_ones(options):
    data = synthetic.make(380, 150, 40, 12, 2)
    settings = {**OPTIONS[options], "refine_candidates": 40}  # room for all: at a cut rounding may decide
    one = small_model(**settings).fit(data.X[:300], data.Y[:300])
    other = small_model(**settings).fit(data.X[:300].toarray(), data.Y[:300])
    assert one.model_.settings == other.model_.settings
    wanted, found = one.decision_function(data.X[300:]), other.decision_function(data.X[300:].toarray())
    assert np.abs((wanted - found).toarray()).max() < 1e-3


# ---- odd sets


def test_features_of_either_sign():
    random = np.random.default_rng(0)
    directions = random.standard_normal((30, 20))
    Y = problem().Y
    X = (Y @ directions + random.standard_normal((240, 20))).astype(np.float32)
    for form in (X, csr_matrix(X), csr_matrix(np.where(np.abs(X) > 1.5, X, 0))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = small_model().fit(form, Y)
            labels, scores = model.predict_topk(form, 5)
        assert_well_formed(labels, scores, 240, 5, 30)
        assert hits_at_1(labels, Y) > 0.6


def test_stored_zeros_among_the_features():
    data = problem()
    X = data.X.copy()
    X.data[::3] = 0
    rows = [X, X.copy()]
    rows[1].eliminate_zeros()
    one, other = (small_model().fit(each, data.Y).decision_function(each) for each in rows)
    assert np.abs((one - other).toarray()).max() < 1e-5


def test_labels_of_one_point_each():
    data = problem()
    labels, scores = small_model().fit(data.X, sparse.identity(240, format="csr")).predict_topk(data.X_new, 5)
    assert_well_formed(labels, scores, 80, 5, 240)


def test_one_label_that_a_word_tells():
    random = np.random.default_rng(1)
    there = random.random(400) < 0.5
    X = csr_matrix(np.hstack([there[:, None], random.random((400, 20)) < 0.2]).astype(np.float32))
    model = small_model().fit(X, there[:, None])
    given = model.predict(X).toarray()[:, 0] == 1
    assert (given == there).mean() > 0.95


def test_every_point_has_the_same_labels():
    data = problem()
    Y = np.tile([1, 1, 1, 0], (240, 1))
    labels, scores = small_model().fit(data.X, Y).predict_topk(data.X_new, 4)
    assert (np.sort(labels[:, :3], axis=1) == [0, 1, 2]).all()
    assert (labels[:, 3] == -1).all()
    assert (scores[:, :3] > 0.9).all()


def test_half_the_points_have_neither_labels_nor_features():
    data = problem()
    keep = sparse.diags((np.arange(240) % 2).astype(np.float32))
    model = small_model().fit(keep @ data.X, keep @ data.Y)
    labels, scores = model.predict_topk(data.X_new, 5)
    assert_well_formed(labels, scores, 80, 5, 30)
    assert hits_at_1(labels, data.Y_new) > 0.3


def test_a_point_that_nobody_knows_gets_the_most_frequent_labels():
    data = problem()
    X = data.X.copy().tolil()
    X[:, 149] = 0
    model = small_model().fit(X.tocsr(), data.Y)
    wanted = np.argsort(-model.model_.frequency, kind="stable")[:3].tolist()
    only = csr_matrix(([1.0], ([0], [149])), shape=(1, 150))
    for rows in (only, sparse.vstack([only, data.X_new[:3]], format="csr"), csr_matrix((1, 150))):
        assert model.predict_topk(rows, 3)[0][0].tolist() == wanted


@pytest.mark.parametrize("sharpness", [0.0, 1000.0])
def test_votes_of_any_sharpness(sharpness):
    data = problem()
    labels, scores = small_model(vote_sharpness=sharpness).fit(data.X, data.Y).predict_topk(data.X_new, 5)
    assert_well_formed(labels, scores, 80, 5, 30)
    assert hits_at_1(labels, data.Y_new) > 0.4


@pytest.mark.parametrize("least", [0.0, 1e9])
def test_all_weights_and_none(least):
    data = problem()
    model = small_model(refine_min_weight=least).fit(data.X, data.Y)
    weights = model.model_.reranker.rankers.weights
    assert weights.nnz <= 30 * 150
    assert (weights.nnz > 0) == (least == 0)
    assert_well_formed(*model.predict_topk(data.X_new, 5), 80, 5, 30)


def test_in_plain_python_it_is_the_same(monkeypatch):
    # Python says where an index is past an end, which compiled kernels do not.
    made = synthetic.make(LEAST + 10, 40, 8, 6, 1.5, seed=9)
    X, Y = made.X[:LEAST], made.Y[:LEAST]
    settings = {"refine_cost": 1.0, "refine_candidates": 4, "feature_share": 0.3, "vote_neighbours": 10}
    wanted = small_model(**settings).fit(X, Y).decision_function(made.X[LEAST:])
    in_plain_python(monkeypatch)
    found = small_model(**settings).fit(X, Y).decision_function(made.X[LEAST:])
    assert np.abs((found - wanted).toarray()).max() < 1e-4


# ---- the same again


@pytest.mark.parametrize("options", ["clusters", "every option"])
def test_the_same_bytes_for_one_job_and_two(options):
    data = problem()
    one = fitted(options).model_
    two = small_model(**OPTIONS[options], n_jobs=2).fit(data.X, data.Y).model_
    assert state_bytes(one) == state_bytes(two)
    assert one.to_state()[0] == two.to_state()[0]


def test_the_same_bytes_for_one_thread_and_two():
    # Enough points that all that is cut into pieces is cut.
    data = synthetic.make(2500, 400, 60, 20, 3, seed=5)
    settings = {"embedding_dim": 8, "svp_max_iter": 2}
    one, two = (small_model(**settings, n_jobs=jobs).fit(data.X, data.Y).model_ for jobs in (1, 2))
    refinements = [state_bytes(model) for model in (one, two)]
    for name, content in refinements[0].items():
        if name.startswith("refinement/means") or name.startswith("refinement/rankers"):
            assert content == refinements[1][name], name
    assert (one.predict_topk(data.X, 5)[0] == two.predict_topk(data.X, 5)[0]).mean() > 0.999


def test_the_seed_decides():
    data = problem()
    again, other = (small_model(random_state=seed).fit(data.X, data.Y).model_ for seed in (0, 1))
    assert state_bytes(again) == state_bytes(fitted().model_)
    assert state_bytes(other) != state_bytes(again)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_do_not_change_predictions(n_jobs):
    data = problem()
    model = fitted().model_
    labels, scores = model.predict_topk(data.X_new, 5, n_jobs=1)
    found, others = model.predict_topk(data.X_new, 5, n_jobs=n_jobs)
    assert np.array_equal(labels, found)
    assert np.array_equal(scores, others)


@pytest.mark.parametrize("batch", [1, 7])
def test_batches_do_not_change_predictions(batch):
    data = problem()
    model = fitted().model_
    labels, scores = model.predict_topk(data.X_new, 5)
    found, others = replace(model, batch_rows=batch).predict_topk(data.X_new, 5)
    np.testing.assert_allclose(others, scores, atol=1e-6)
    assert (labels == found).mean() > 0.99


@pytest.mark.parametrize("options", OPTIONS)
def test_a_point_alone_gets_what_it_gets_in_a_batch(options):
    data = synthetic.make(380, 150, 40, 12, 2)  # of values that differ: of equal neighbours rounding would choose
    model = small_model(**OPTIONS[options]).fit(data.X[:300], data.Y[:300])
    rows = data.X[300:].copy()
    rows.data[rows.indptr[3] : rows.indptr[4]] = 0  # a row of stored zeros
    labels, scores = model.predict_topk(rows, 5)
    for row in range(80):
        found, others = model.predict_topk(rows[[row]], 5)
        np.testing.assert_allclose(others[0], scores[row], atol=1e-4)
        apart = np.abs(np.diff(np.append(scores[row], -1))) > 1e-3  # rounding may swap equals
        clear = apart & np.append(True, apart[:-1])
        assert (found[0][clear] == labels[row][clear]).all()


def test_several_threads_at_once(tmp_path):
    rows = [problem().X_new[[row]] for row in range(20)]
    store.save(fitted(), tmp_path / "model")
    wanted = [fitted().predict_topk(row, 4)[0].tolist() for row in rows]
    fresh = store.load(tmp_path / "model").model  # its caches are made by whoever comes first
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda row: fresh.predict_topk(row, 4)[0].tolist(), rows * 5))
    assert found == wanted * 5


def test_without_a_seed_it_works_too():
    data = problem()
    labels, scores = small_model(random_state=None).fit(data.X, data.Y).predict_topk(data.X_new, 5)
    assert_well_formed(labels, scores, 80, 5, 30)


def test_what_prediction_uses_may_be_set_after_training():
    data = problem()
    model = copy.deepcopy(fitted())
    usual = model.decision_function(data.X_new)
    for changes in ({"vote_neighbours": 3}, {"feature_share": 0.0}, {"vote_weight": "uniform"}):
        changed = model.set_params(**changes)
        assert_well_formed(*changed.predict_topk(data.X_new, 5), 80, 5, 30)
        assert np.abs((changed.decision_function(data.X_new) - usual).toarray()).max() > 1e-3
        model = copy.deepcopy(fitted())


@pytest.mark.parametrize("options", ["plain", "clusters", "every option"])
def test_for_one_point_no_sparse_matrix_is_made(options):
    # To make and check one takes longer than the arithmetic of an answer.
    model, row = fitted(options).model_, problem().X_new[:1]
    model.predict_topk(row, 5)  # what is made once is made
    made = []

    def watch(frame, event, _):
        if event == "call" and frame.f_code.co_name == "__init__" and "sparse" in frame.f_code.co_filename:
            made.append(frame.f_code.co_filename)

    sys.setprofile(watch)
    try:
        model.predict_topk(row, 5)
    finally:
        sys.setprofile(None)
    assert not made


# ---- probabilities


def test_held_out_points_are_answered_with_probabilities():
    data = synthetic.make(4000, 500, 60, 20, 3, seed=7)
    model = small_model(embedding_dim=30, svp_max_iter=3).fit(data.X, data.Y, held_out=True)
    held = model.held_out_
    assert np.array_equal(held.points, held_out_rows(4000, 0, to_rerank=True))
    assert_well_formed(held.labels, held.scores, 400, steps.HELD_OUT_ANSWERS, 60)
    there = held.labels >= 0
    right = np.zeros(there.shape, bool)
    right[there] = np.asarray(data.Y[np.repeat(held.points, there.sum(axis=1)), held.labels[there]]).ravel() == 1
    told, truth = held.scores[there], right[there]
    for part in np.array_split(np.argsort(told), 8):
        spread = np.sqrt((told[part] * (1 - told[part])).sum()) / len(part)
        assert abs(told[part].mean() - truth[part].mean()) < 4 * spread + 0.01
    # Nobody voted for himself: what is told of these points is no better than of new ones.
    new = synthetic.make(4400, 500, 60, 20, 3, seed=7).take(np.arange(4000, 4400))
    fresh = evaluate(model.predict_topk(new.X, 5)[0], new.Y)
    known = evaluate(held.labels[:, :5], data.Y[held.points])
    assert known["P@1"] < fresh["P@1"] + 8


def test_scores_of_new_points_are_probabilities():
    whole = synthetic.make(5000, 500, 60, 20, 3, seed=8)
    model = small_model(embedding_dim=30, svp_max_iter=3).fit(whole.X[:4000], whole.Y[:4000])
    scores = model.decision_function(whole.X[4000:])
    truth = whole.Y[4000:].toarray()[scores.nonzero()] == 1
    told = scores.toarray()[scores.nonzero()]
    for part in np.array_split(np.argsort(told), 8):
        spread = np.sqrt((told[part] * (1 - told[part])).sum()) / len(part)
        assert abs(told[part].mean() - truth[part].mean()) < 5 * spread + 0.03


def test_a_held_out_point_is_answered_by_what_was_fitted_to_others():
    # Of every other point all candidates are right, of the rest none: each half is answered as the other half was.
    random = np.random.default_rng(11)
    labels = np.tile(np.arange(3, dtype=np.int32), (200, 1))
    labels[random.random((200, 3)) < 0.3] = -1
    rows = np.nonzero(labels >= 0)[0]
    features, correct = random.standard_normal((len(rows), 5)).astype(np.float32), rows % 2 == 0
    whole = Fusion.fit(features, correct)
    held = module.HeldOutCandidates(labels, features, correct, np.ones(len(rows), bool))
    found, scores = held.answers(whole, 1)
    assert np.array_equal(found, labels)
    assert (scores[labels < 0] == -1).all()
    there = labels >= 0
    assert (scores[::2][there[::2]] < 0.2).all()
    assert (scores[1::2][there[1::2]] > 0.8).all()


def test_held_out_points_do_not_vote_by_their_features():
    data = problem()
    held, rows = np.flatnonzero(np.arange(240) % 4), normalise(as_rows(data.X))
    ids, shares = retrieve_held_out(fitted().model_, rows, held, 1).feature_voters
    assert ids.shape == (180, 40)
    assert (ids < 0).any(), "so many are held out that there are fewer than asked for"
    assert not np.isin(ids, held).any()
    assert (shares[ids < 0] == 0).all()
    np.testing.assert_allclose(shares.sum(axis=1)[(ids >= 0).any(axis=1)], 1)


def test_where_nothing_can_be_told_nothing_is_claimed():
    # Labels that have nothing to do with the features: whoever lets a point speak for itself would be sure of them.
    sums, expected = [], []
    for seed in (10, 11, 12):  # the fusion has 2,000 candidates to learn from: one draw says little
        random = np.random.default_rng(seed)
        X = csr_matrix(
            (random.random((1300, 200)) < 0.1).astype(np.float32) * random.random((1300, 200)).astype(np.float32)
        )
        Y = csr_matrix((random.random((1300, 20)) < 0.1).astype(np.float32))
        model = small_model().fit(X[:1000], Y[:1000], held_out=True)
        answers = model.held_out_.scores, model.predict_topk(X[1000:], 20)[1]
        assert all(scores[:, 0].mean() < 0.25 for scores in answers)
        sums.append([scores.sum(axis=1).mean() for scores in answers])
        expected.append(Y.sum() / 1300)
    np.testing.assert_allclose(np.mean(sums, axis=0), np.mean(expected), rtol=0.15)


def test_without_asking_there_are_no_answers():
    assert fitted().held_out_ is None


# ---- what it is good for


def test_a_word_that_decides_is_seen():
    (X, Y), (X_new, Y_new) = sharp(1000, 0), sharp(400, 1)
    settings = {"embedding_dim": 40, "svp_neighbours": 40}
    found = {}
    for refine in (False, True):
        labels, _ = small_model(**settings, refine=refine).fit(X, Y).predict_topk(X_new, 3)
        found[refine] = evaluate(labels, Y_new, ks=(1, 3))
    assert found[True]["P@1"] > found[False]["P@1"] + 15
    assert found[True]["P@3"] > found[False]["P@3"] + 10
    assert found[True]["P@1"] > 90


def test_it_is_better_on_the_embedded_corpus():
    train, test = debian.load("train"), debian.load("test")
    features, tags = TfidfFeatures(), debian.tag_names()
    X, X_test = features.fit_transform(train.words), features.transform(test.words)
    Y, Y_test = train.label_matrix(tags), test.label_matrix(tags)
    random = np.random.default_rng(0)
    some, asked = random.permutation(X.shape[0])[:4000], random.permutation(X_test.shape[0])[:2000]
    reached = {}
    for refine in (False, True):
        model = X1Classifier(n_learners=1, n_clusters=1, n_jobs=1, refine=refine).fit(X[some], Y[some])
        labels, _ = model.predict_topk(X_test[asked], 5)
        reached[refine] = np.array([precision_at(labels, Y_test[asked], k) for k in (1, 3, 5)])
    assert (reached[True] > reached[False]).all(), reached
    assert (reached[True] - reached[False]).mean() > 0.5, reached


# ---- the command line


def test_from_file_to_figures(tmp_path):
    (X, Y), (X_new, Y_new) = sharp(400, 0), sharp(60, 1)
    from neartag.data.dataset import Dataset

    formats.write(Dataset(X=X, Y=Y), tmp_path / "train.txt")
    formats.write(Dataset(X=X_new, Y=Y_new), tmp_path / "test.txt")
    options = ["--n-learners", 1, "--n-clusters", 1, "--embedding-dim", 16, "--n-jobs", 1]
    succeed("train", tmp_path / "train.txt", tmp_path / "model", *options, "--refine", "--refine-cost", 2)
    succeed("train", tmp_path / "train.txt", tmp_path / "plain", *options, "--no-refine")
    model = store.load(tmp_path / "model").model
    assert model.reranker is not None
    assert model.parameters["refine_cost"] == 2.0
    assert store.load(tmp_path / "plain").model.reranker is None
    lines = succeed("predict", tmp_path / "model", tmp_path / "test.txt", "-k", 3, "--json").splitlines()
    labels, scores = model.predict_topk(X_new, 3)
    assert len(lines) == 60
    for line, wanted, told in zip(map(json.loads, lines), labels, scores, strict=True):
        assert [int(label) for label in line["labels"]] == wanted[wanted >= 0].tolist()
        np.testing.assert_allclose(line["scores"], told[wanted >= 0], atol=1e-4)
    reached = {}
    for name in ("model", "plain"):
        report = json.loads(succeed("evaluate", tmp_path / name, tmp_path / "test.txt", "--json"))
        reached[name] = report["metrics"]["P@1"]
        found = evaluate(store.load(tmp_path / name).model.predict_topk(X_new, 5)[0], Y_new)
        assert reached[name] == pytest.approx(found["P@1"], abs=0.01)
    assert reached["model"] > reached["plain"]
    report = json.loads(succeed("inspect", tmp_path / "model", "--json"))
    assert report["parameters"]["refine_cost"] == 2.0
    assert report["refinement"]["rankers"] == int((model.frequency > 0).sum())
    assert report["refinement"]["weights"] == model.reranker.rankers.weights.nnz
    assert json.loads(succeed("inspect", tmp_path / "plain", "--json"))["refinement"] is None
    assert "rankers" in succeed("inspect", tmp_path / "model")
