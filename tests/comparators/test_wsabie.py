"""WSABIE: the contract in both rankings, its steps against a plain version, and what training must keep."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_matrix

from contract import ClassifierContract, VariantContract, problem
from kernel_helpers import random_csr
from neartag import store
from neartag.comparators.shared.base import Shape
from neartag.comparators.shared.model import FitInfo
from neartag.comparators.shared.rows import prepare_rows, seen_labels
from neartag.comparators.shared.scores import to_unit_interval
from neartag.comparators.wsabie import METHOD
from neartag.comparators.wsabie import kernels as wsabie_kernels
from neartag.comparators.wsabie import training as wsabie
from neartag.comparators.wsabie.classifier import WSABIEClassifier, WSABIEModel
from neartag.core.errors import ParameterError
from neartag.core.parameters import defaults
from neartag.linalg.random_kernels import draw_below

SMALL = {"dim": 24, "epochs": 15, "neighbours": 15, "n_jobs": 1}


class TestContract(ClassifierContract):
    def make_model(self, **changes):
        return WSABIEClassifier(**{**SMALL, **changes})


class TestContractByDotProduct(VariantContract):
    def make_model(self, **changes):
        return WSABIEClassifier(**{**SMALL, "ranking": "dot", "steps": "plain", "learning_rate": 0.02, **changes})


class TestContractOfRawRowsWithABias(VariantContract):
    def make_model(self, **changes):
        options = {"row_scale": "raw", "bias": 1.0, "vote_weight": "uniform", "max_draws": 5, "max_norm": 1.0}
        return WSABIEClassifier(**{**SMALL, **options, **changes})


def settings(**changes):
    return {**defaults(METHOD.parameters), **SMALL, **changes}


def training(**changes):
    """Return the contract's rows and labels as `_train` gets them, and the settings."""
    data, options = problem(), settings(**changes)
    frequency = np.bincount(data.Y.indices, minlength=30).astype(np.int64)
    info = FitInfo(options, 150, 240, frequency)
    return prepare_rows(data.X, options), seen_labels(data.Y, info.seen, info.width), options


# ---- the parts of a step


@pytest.mark.parametrize("labels", [1, 2, 3, 50])
def test_rank_weights_are_harmonic_numbers(labels):
    wanted = [sum(1 / s for s in range(1, rank + 1)) for rank in range(labels)]
    assert np.allclose(wsabie.rank_weights(labels), wanted)


def test_rows_too_long_are_shortened_and_no_others():
    rows = np.array([[3, 4], [0.3, 0.4], [0, 0]], np.float32)
    assert np.allclose(wsabie.shorten_rows(rows.copy(), 2.0), [[1.2, 1.6], [0.3, 0.4], [0, 0]])


class Plain:
    """The kernel's steps in plain numpy, one pair after another, in float64."""

    def __init__(self, V, W, squares, words):
        self.V, self.W = V.astype(np.float64), W.astype(np.float64)
        self.squares = [each.astype(np.float64) for each in squares]
        self.words = words.copy()

    def rate(self, gradient, which, place, rate):
        if not len(self.squares[which]):
            return rate
        self.squares[which][place] += np.mean(gradient**2)
        return rate / np.sqrt(self.squares[which][place]) if self.squares[which][place] > 0 else 0.0

    def move(self, matrix, which, place, gradient, rate, max_norm):
        matrix[place] -= self.rate(gradient, which, place, rate) * gradient
        length = np.linalg.norm(matrix[place])
        if length > max_norm:
            matrix[place] *= max_norm / length

    def step(self, x, positives, label, max_draws, margin, max_norm, rate):
        """Return the loss of a pair, having taken its step."""
        count = len(self.W)
        if len(positives) == count:
            return 0.0
        z = x @ self.V
        scores = self.W @ z
        draws, other = 0, -1
        while other < 0 or scores[other] <= scores[label] - margin:
            if draws == max_draws:
                return 0.0
            draws, other = draws + 1, draw_below(self.words, count)
            while other in positives:
                other = draw_below(self.words, count)
        weight = sum(1 / s for s in range(1, (count - 1) // draws + 1))
        apart = self.W[label] - self.W[other]
        self.move(self.W, 1, label, -weight * z, rate, max_norm)
        self.move(self.W, 1, other, weight * z, rate, max_norm)
        for feature in np.flatnonzero(x):
            self.move(self.V, 0, feature, -weight * x[feature] * apart, rate, max_norm)
        return weight * (margin - scores[label] + scores[other])


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("adagrad", [False, True])
@pytest.mark.parametrize(("max_norm", "max_draws"), [(0.8, 6), (100.0, 2)])
def test_steps_are_those_of_a_plain_version(dense, adagrad, max_norm, max_draws):
    random = np.random.default_rng(3)
    n, d, labels, dim, margin = 12, 9, 7, 5, 0.5
    X = random_csr(random, n, d, 6)
    Y = csr_matrix((random.random((n, labels)) < 0.4).astype(np.float32))
    Y = csr_matrix(sparse.vstack([Y[:-1], np.ones((1, labels), np.float32)]))  # a point without wrong labels
    V = random.standard_normal((d, dim)).astype(np.float32) / 3
    W = random.standard_normal((labels, dim)).astype(np.float32) / 3
    wsabie.shorten_rows(V, max_norm)
    wsabie.shorten_rows(W, max_norm)
    squares = [np.zeros(count if adagrad else 0, np.float32) for count in (d, labels)]
    words = np.array([11], np.uint64)
    plain = Plain(V, W, squares, words)
    indptr, indices = Y.indptr.astype(np.int64), Y.indices.astype(np.int32)
    points = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
    order = random.permutation(len(points))
    features = wsabie.kernel_rows(X.toarray() if dense else X)
    assert features[3] == dense
    first, last = 0.1, 0.05
    loss, share = wsabie_kernels.warp_steps(
        features,
        (points, indptr, indices),
        order,
        wsabie.rank_weights(labels),
        (max_draws, np.float32(margin), np.float32(max_norm)),
        (np.float32(first), np.float32(last)),
        (V, W),
        tuple(squares),
        np.full(labels, -1, np.int32),
        words,
    )
    lost = []
    for turn, pair in enumerate(order):
        rate = first + (last - first) * turn / len(order)
        x, positives = X.toarray()[points[pair]], set(Y[points[pair]].indices)
        lost.append(plain.step(x, positives, indices[pair], max_draws, margin, max_norm, rate))
    assert words[0] == plain.words[0], "as many draws"
    assert np.allclose(V, plain.V, atol=1e-4)
    assert np.allclose(W, plain.W, atol=1e-4)
    for found, wanted in zip(squares, plain.squares, strict=True):
        assert np.allclose(found, wanted, rtol=1e-3)
    assert loss == pytest.approx(np.mean(lost), rel=1e-3)
    assert share == pytest.approx(np.count_nonzero(lost) / len(lost))
    assert 0 < share < 1


# ---- what training keeps


@pytest.mark.parametrize("steps", ["adagrad", "plain"])
@pytest.mark.parametrize("max_norm", [0.5, 2.0])
def test_no_vector_is_longer_than_allowed(steps, max_norm):
    V, W, _ = wsabie.fit_embedding(*training(steps=steps, max_norm=max_norm))
    longest = max(np.linalg.norm(matrix, axis=1).max() for matrix in (V, W))
    assert longest <= max_norm * (1 + 1e-5)
    assert longest > max_norm * 0.999, "the bound must have been met for this test to say anything"


@pytest.mark.parametrize(("steps", "rate"), [("adagrad", 0.1), ("plain", 0.02)])
def test_the_loss_falls(steps, rate):
    _, _, losses = wsabie.fit_embedding(*training(steps=steps, learning_rate=rate))
    assert len(losses) == 15
    assert losses[-1] < 0.5 * losses[0]
    assert np.mean(losses[-3:]) < np.mean(losses[5:8]) < losses[0]


def test_training_lifts_right_labels_above_wrong_ones():
    rows, Y, options = training()
    V, W, _ = wsabie.fit_embedding(rows, Y, options)
    scores, right = rows.toarray() @ V @ W.T, Y.toarray() > 0
    ahead = [np.mean(row[own][:, None] > row[~own][None]) for row, own in zip(scores, right, strict=True) if own.any()]
    assert np.mean(ahead) > 0.9  # of pairs of a right and a wrong label; 0.5 by chance


def test_how_pairs_are_cut_into_calls_changes_nothing_but_rounding():
    rows, Y, options = training(epochs=3)
    whole = wsabie.fit_embedding(rows, Y, options)
    cut = wsabie.fit_embedding(rows, Y, options, pairs_at_once=100)
    assert np.allclose(whole[0], cut[0], atol=1e-4)
    assert np.allclose(whole[2], cut[2], rtol=1e-4)


def test_the_same_bytes_whatever_the_threads_and_others_for_another_seed():
    data = problem()
    one, two, other = (
        WSABIEClassifier(**{**SMALL, "n_jobs": jobs, "random_state": seed}).fit(data.X, data.Y).model_
        for jobs, seed in ((1, 0), (2, 0), (1, 1))
    )
    for name in ("V", "W", "middle", "Z"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
    assert one.V.tobytes() != other.V.tobytes()


def test_features_too_large_are_named():
    data = problem()
    with pytest.raises(ParameterError, match=r"1e\+30.*row_scale"):
        WSABIEClassifier(**SMALL, row_scale="raw").fit(data.X.sign() * np.float32(-1e30), data.Y)
    for steps in ("plain", "adagrad"):  # at the largest allowed
        model = WSABIEClassifier(**SMALL, row_scale="raw", steps=steps, learning_rate=1e6, max_norm=1e6)
        model.fit(data.X.sign() * np.float32(wsabie.MAX_FEATURE_VALUE), data.Y)
        assert np.isfinite(model.model_.V).all()
        assert np.isfinite(model.model_.W).all()


def test_it_is_refused_where_memory_is_short():
    with pytest.raises(ParameterError, match=r"wsabie would need .* memory"):
        WSABIEClassifier(**SMALL, max_memory="1MB").fit(problem().X, problem().Y)


def test_the_memory_named_covers_what_is_kept():
    data = problem()
    fitted = WSABIEClassifier(**SMALL).fit(data.X, data.Y)
    model = fitted.model_
    shape = Shape(240, 150, 29, data.X.nnz, data.Y.nnz)
    assert fitted._memory(shape, model.settings, 1) > model.V.nbytes + model.W.nbytes + model.Z.nbytes


# ---- prediction


def test_dot_ranking_is_a_dense_product():
    data = problem()
    model = WSABIEClassifier(**SMALL, ranking="dot", row_scale="raw").fit(data.X, data.Y)
    V, W, middle = (getattr(model.model_, name).astype(np.float64) for name in ("V", "W", "middle"))
    raw = data.X_new.toarray() @ V @ W.T  # (80, 29)
    wanted = np.zeros((80, 30))
    wanted[:, model.model_.info.seen] = to_unit_interval(raw, float(middle[0]))
    assert np.allclose(model.decision_function(data.X_new).toarray(), wanted, atol=1e-5)
    at_least = model.predict(data.X_new).toarray() > 0
    clear = np.abs(raw - middle) > 1e-4
    assert np.array_equal(at_least[:, model.model_.info.seen][clear], (raw > middle)[clear])


def test_training_points_get_as_many_labels_as_they_have_by_dot_products():
    data = problem()
    model = WSABIEClassifier(**SMALL, ranking="dot").fit(data.X, data.Y)
    assert abs(model.predict(data.X).nnz - data.Y.nnz) <= 3


@pytest.mark.parametrize("weight", ["uniform", "similarity"])
def test_votes_are_those_of_a_plain_loop(weight):
    data = problem()
    X, X_new = data.X.toarray(), data.X_new.toarray()
    noise = np.random.default_rng(0)  # so that no two cosines are equal
    X, X_new = X * noise.uniform(0.5, 1.5, X.shape), X_new * noise.uniform(0.5, 1.5, X_new.shape)
    model = WSABIEClassifier(**{**SMALL, "neighbours": 8, "vote_weight": weight, "vote_sharpness": 4.0}).fit(X, data.Y)
    V = model.model_.V.astype(np.float64)
    Z, Z_new = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X @ V, X_new @ V))
    wanted = np.zeros((80, 30))
    for row, cosines in enumerate(Z_new @ Z.T):
        voters = np.argsort(-cosines)[:8]
        weights = np.exp(4 * (cosines[voters] - 1)) if weight == "similarity" else np.ones(8)
        wanted[row] = weights / weights.sum() @ data.Y.toarray()[voters]
    assert np.allclose(model.decision_function(X_new).toarray(), wanted, atol=1e-4)


def test_a_point_without_features_gets_the_most_frequent_labels():
    data = problem()
    model = WSABIEClassifier(**SMALL).fit(data.X, data.Y)
    labels, _ = model.predict_topk(csr_matrix((1, 150), dtype=np.float32), 3)
    assert labels[0].tolist() == model.model_.info.seen[:3].tolist()


def test_prediction_may_be_changed_after_training():
    data = problem()
    model = WSABIEClassifier(**SMALL).fit(data.X, data.Y)
    for changes in ({"ranking": "dot"}, {"neighbours": 3}, {"vote_weight": "uniform"}, {"vote_sharpness": 0.5}):
        changed = copy.deepcopy(model).set_params(**changes)
        fresh = WSABIEClassifier(**{**SMALL, **changes}).fit(data.X, data.Y)
        scores = changed.decision_function(data.X_new)
        assert (scores != model.decision_function(data.X_new)).nnz
        assert (scores != fresh.decision_function(data.X_new)).nnz == 0


# ---- storing


def test_a_stored_model_predicts_the_same(tmp_path):
    data = problem()
    model = WSABIEClassifier(**SMALL, bias=0.5).fit(data.X, data.Y)
    store.save(model.model_, tmp_path / "model")
    loaded = store.load(tmp_path / "model").model
    for changes in ({}, {"ranking": "dot"}):
        before, after = (each.with_settings(changes).predict_topk(data.X_new, 5) for each in (model.model_, loaded))
        assert np.array_equal(before[0], after[0])
        assert np.array_equal(before[1], after[1])


@pytest.mark.parametrize(
    ("part", "name", "spoil"),
    [
        ("weights", "V", lambda array: array[:-1]),
        ("weights", "V", lambda array: array.astype(np.float64)),
        ("weights", "W", lambda array: array[:, :-1]),
        ("weights", "middle", lambda array: array[:0]),
        ("points", "Z", lambda array: array[:-1]),
        ("points", "Y.indices", lambda array: array + 100),
        ("points", "Y.shape", lambda array: array + 1),
    ],
)
def test_a_damaged_state_is_refused(part, name, spoil):
    data = problem()
    options, arrays = WSABIEClassifier(**SMALL).fit(data.X, data.Y).model_.to_state()
    arrays[part][name] = spoil(arrays[part][name])
    with pytest.raises(ValueError, match=name.split(".", maxsplit=1)[0]):
        WSABIEModel.from_state(options, arrays)
