"""Compressed sensing: the contract, and decoders held against plain loops with numpy's least squares."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from contract import (
    ClassifierContract,
    VariantContract,
    assert_refused_when_damaged,
    assert_the_same_when_loaded,
    problem,
)
from kernel_helpers import UNTOUCHED, frozen, quick, ranges, seeds
from neartag.comparators.cs import decoding_kernels as kernels
from neartag.comparators.cs.classifier import CompressedSensingClassifier, projection_count, random_projections
from neartag.comparators.cs.decoding import COSAMP_STEPS, Decoder
from neartag.comparators.shared.base import Shape
from neartag.comparators.shared.scores import to_unit_interval
from neartag.core.errors import ParameterError

DECODERS = ["omp", "cosamp"]


class TestContract(ClassifierContract):
    def make_model(self, **changes):
        return CompressedSensingClassifier(**{"decoder": "omp", "sparsity": 10, "n_jobs": 1, **changes})


class TestContractByCoSaMP(VariantContract):
    def make_model(self, **changes):
        options = {"decoder": "cosamp", "sparsity": 6, "dim": 60, "l2": 100.0, "row_scale": "raw", "n_jobs": 1}
        return CompressedSensingClassifier(**{**options, **changes})


def plain_omp(z, A, k):
    """Return the support in the order of choice, and its coefficients."""
    support, coefficients, residual = [], np.zeros(0), z
    while len(support) < k:
        correlations = np.abs(A.T @ residual)
        correlations[support] = 0
        if correlations.max() <= 1e-5 * np.abs(A.T @ z).max():
            break
        support.append(int(correlations.argmax()))
        coefficients = np.linalg.lstsq(A[:, support], z, rcond=None)[0]
        residual = z - A[:, support] @ coefficients
    return support, coefficients


def plain_cosamp(z, A, k, steps):
    """Return the support, the largest coefficient first, and the coefficients."""
    estimate, residual = np.zeros(A.shape[1]), z
    for _ in range(steps):
        if np.abs(A.T @ residual).max() <= 1e-5 * np.abs(A.T @ z).max():
            break
        merged = np.union1d(np.argsort(-np.abs(A.T @ residual))[: 2 * k], np.flatnonzero(estimate))
        found = np.zeros(A.shape[1])
        found[merged] = np.linalg.lstsq(A[:, merged], z, rcond=None)[0]
        found[np.argsort(-np.abs(found))[k:]] = 0
        found[np.abs(found) <= 1e-4 * np.abs(found).max()] = 0
        left = z - A @ found
        if left @ left >= residual @ residual - 1e-7 * np.abs(A.T @ z).max() ** 2:
            break
        estimate, residual = found, left
    support = [int(j) for j in np.argsort(-np.abs(estimate)) if estimate[j]]
    return support, estimate[support]


def plain(decoder, z, A, k):
    z, A = z.astype(np.float64), A.astype(np.float64)
    return plain_omp(z, A, k) if decoder == "omp" else plain_cosamp(z, A, k, COSAMP_STEPS)


def call(decoder, Z, A, ids, values, start, stop):
    arguments = frozen(np.ascontiguousarray(Z @ A), np.ascontiguousarray(A.T @ A))
    if decoder == "omp":
        kernels.orthogonal_matching_pursuit(*arguments, ids, values, start, stop)
    else:
        kernels.compressive_sampling_pursuit(*arguments, COSAMP_STEPS, ids, values, start, stop)


# ---- the decoders


@pytest.mark.parametrize("decoder", DECODERS)
@given(seed=seeds, part=ranges(6), k=st.integers(1, 5), sparse_rows=st.booleans())
@quick
def test_a_decoder_is_its_plain_loop(decoder, seed, part, k, sparse_rows):
    n, start, stop = part
    rng = np.random.default_rng(seed)
    A = random_projections(24, 40, seed)
    Z = rng.standard_normal((n, 24)).astype(np.float32)
    if sparse_rows:
        Z = ((rng.random((n, 40)) < 0.1) * rng.uniform(0.5, 1, (n, 40))).astype(np.float32) @ A.T
    ids, values = np.full((n, k), -7, np.int32), np.full((n, k), UNTOUCHED, np.float32)
    call(decoder, Z, A, ids, values, start, stop)
    outside = np.ones(n, bool)
    outside[start:stop] = False
    assert (ids[outside] == -7).all()
    assert (values[outside] == UNTOUCHED).all()
    for i in range(start, stop):
        support, coefficients = plain(decoder, Z[i], A, k)
        assert ids[i].tolist() == support + [-1] * (k - len(support))
        assert np.abs(values[i, : len(support)] - coefficients).max(initial=0) < 1e-3
        assert (values[i, len(support) :] == 0).all()


@pytest.mark.parametrize("decoder", DECODERS)
def test_sparse_vectors_are_recovered_from_projections_without_noise(decoder):
    rng = np.random.default_rng(0)
    A = random_projections(120, 300, 5)
    Y = np.zeros((200, 300), np.float32)
    for row in Y:
        row[rng.choice(300, rng.integers(1, 7), replace=False)] = 1
    ids, values = Decoder(A).decode(Y @ A.T, 6, decoder)
    found = np.zeros((200, 301))
    np.put_along_axis(found, ids.astype(np.int64), values, axis=1)  # −1, where fewer are found, is the column to spare
    assert np.abs(found[:, :300] - Y).max() < 1e-4
    # Nothing but the labels that are there is chosen: what is left then is rounding.
    assert np.array_equal((ids >= 0).sum(axis=1), Y.sum(axis=1))


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_row_of_zeros_has_no_labels(decoder):
    A = random_projections(10, 15, 0)
    ids, values = Decoder(A).decode(np.zeros((2, 10), np.float32), 4, decoder)
    assert (ids == -1).all()
    assert (values == 0).all()


@pytest.mark.parametrize("decoder", DECODERS)
def test_columns_that_depend_on_each_other_are_not_both_chosen(decoder):
    A = random_projections(6, 5, 0)
    A = np.ascontiguousarray(np.hstack([A, A]))  # each label twice
    Z = np.random.default_rng(1).standard_normal((20, 6)).astype(np.float32)
    ids, values = Decoder(A).decode(Z, 6, decoder)
    assert np.isfinite(values).all()
    for row in ids:
        given_labels = row[row >= 0] % 5
        assert len(given_labels) >= 4
        assert len(set(given_labels)) == len(given_labels)


@pytest.mark.parametrize("decoder", DECODERS)
def test_threads_decode_the_same(decoder):
    A = random_projections(30, 50, 0)
    Z = np.random.default_rng(1).standard_normal((500, 30)).astype(np.float32)
    one, two = (Decoder(A).decode(Z, 5, decoder, threads) for threads in (1, 2))
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])


# ---- projections


def test_projections_are_gaussian_columns_of_unit_length():
    A = random_projections(400, 500, 3)
    assert A.shape == (400, 500)
    assert A.dtype == np.float32
    assert np.abs(np.linalg.norm(A, axis=0) - 1).max() < 1e-6
    scaled = A * np.sqrt(400)
    assert abs(scaled.mean()) < 0.01
    assert (scaled**4).mean() == pytest.approx(3, abs=0.1)
    assert np.array_equal(A, random_projections(400, 500, 3))
    assert not np.array_equal(A, random_projections(400, 500, 4))


def test_so_many_projections_that_sparse_vectors_differ_unless_told():
    settings = CompressedSensingClassifier(sparsity=10).get_params()
    assert projection_count(settings, 159) == 127
    assert projection_count(settings, 10_000) == 500
    assert projection_count(settings, 22) == 20
    assert projection_count(settings, 4) == 4
    assert projection_count({**settings, "dim": 3}, 159) == 3


# ---- the whole


@pytest.mark.parametrize("decoder", DECODERS)
def test_scores_are_the_decoded_regressions(decoder):
    data = problem()
    model = CompressedSensingClassifier(sparsity=4, decoder=decoder, l2=2.0, bias=0.0, row_scale="raw", n_jobs=1)
    inside = model.fit(data.X, data.Y).model_
    X, A = data.X.toarray().astype(np.float64), inside.projections
    Y = data.Y.toarray()[:, inside.info.seen]
    weights = np.linalg.solve(X.T @ X + 2.0 * np.eye(150), X.T @ (Y @ A.T))
    assert np.abs(inside.weights - weights).max() < 1e-4
    found = model.decision_function(data.X_new).toarray()[:, inside.info.seen]
    for row, z in enumerate(data.X_new @ inside.weights):
        support, coefficients = plain(decoder, z, A, 4)
        wanted = np.zeros(29)
        wanted[support] = to_unit_interval(coefficients, 0.5)
        assert np.abs(found[row] - wanted).max() < 1e-3


def test_only_the_labels_chosen_have_scores():
    data = problem()
    model = CompressedSensingClassifier(sparsity=3, n_jobs=1).fit(data.X, data.Y)
    assert (np.diff(model.decision_function(data.X_new).indptr) <= 3).all()
    assert (model.predict_topk(data.X_new, 5)[0][:, 3:] == -1).all()


def test_sparsity_and_decoder_may_be_changed_after_training():
    data = problem()
    model = CompressedSensingClassifier(dim=20, sparsity=3, n_jobs=1).fit(data.X, data.Y)
    model.predict_topk(data.X_new, 5)
    model.set_params(sparsity=6, decoder="cosamp")
    fresh = CompressedSensingClassifier(dim=20, sparsity=6, decoder="cosamp", n_jobs=1).fit(data.X, data.Y)
    assert np.array_equal(model.predict_topk(data.X_new, 5)[0], fresh.predict_topk(data.X_new, 5)[0])


def test_more_labels_asked_for_than_projections_can_tell_apart():
    data = problem()
    model = CompressedSensingClassifier(dim=4, sparsity=1000, n_jobs=1).fit(data.X, data.Y)
    assert (np.diff(model.decision_function(data.X_new).indptr) <= 4).all()


def test_a_pickle_leaves_out_what_can_be_made_again():
    data = problem()
    model = CompressedSensingClassifier(n_jobs=1).fit(data.X, data.Y).model_
    before = len(pickle.dumps(model))
    model.predict_topk(data.X_new, 5)
    assert len(pickle.dumps(model)) == before
    assert "gram" in vars(model.decoder)


def test_the_same_bytes_whatever_the_number_of_jobs():
    rng = np.random.default_rng(1)
    X = csr_matrix(rng.random((1500, 600)) * (rng.random((1500, 600)) < 0.05))
    Y = csr_matrix((rng.random((1500, 300)) < 0.02).astype(np.float32))
    first, second = (CompressedSensingClassifier(dim=100, n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert first.model_.weights.tobytes() == second.model_.weights.tobytes()
    assert first.model_.projections.tobytes() == second.model_.projections.tobytes()
    assert np.array_equal(first.predict_topk(X, 5)[1], second.predict_topk(X, 5)[1])


def test_saved_and_loaded_it_predicts_the_same_and_damage_is_refused(tmp_path):
    data = problem()
    classifier = CompressedSensingClassifier(n_jobs=1).fit(data.X, data.Y)
    assert_the_same_when_loaded(classifier, tmp_path / "model")
    model = classifier.model_
    for name, damaged in (
        ("weights", model.weights[:, 1:]),
        ("weights", model.weights.astype(np.float64)),
        ("projections", model.projections[:, 1:]),
        ("projections", model.projections[0]),
    ):
        assert_refused_when_damaged(classifier.model_, tmp_path / "damaged", **{name: damaged})


def test_too_little_memory_is_said_before_any_work():
    data = problem()
    with pytest.raises(ParameterError, match="memory"):
        CompressedSensingClassifier(max_memory="1MB").fit(data.X, data.Y)


def test_what_prediction_needs_counts_too():
    settings = CompressedSensingClassifier().get_params()
    need = CompressedSensingClassifier()._memory(Shape(1000, 500, 600_000, 10**5, 10**4), settings, 1)
    assert need > 4 * 600_000**2
