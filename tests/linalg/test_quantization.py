"""Models in fewer bytes: what rounding keeps, that it changes nothing twice, and that the saved model is the fitted."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_matrix

from contract import problem
from neartag import store
from neartag.linalg.quantization import pack, round_to, unpack
from neartag.linalg.rows import as_rows, normalise
from neartag.x1.classifier import X1Classifier
from x1_helpers import fit_joined

COMPACT = {"float16": np.float16, "int8": np.int8}
SMALL = {"n_learners": 2, "n_clusters": 2, "embedding_dim": 16, "svp_neighbours": 20, "vote_neighbours": 10}
KINDS = {
    "dense": {},
    "truncated": {"keep_weights": 0.3},
    "sparse points": {"l1": 1.0},
    "euclidean": {"vote_distance": "euclidean"},
}
matrices = arrays(np.float32, (7, 3), elements=st.floats(-(2.0**99), 2.0**99, width=32))


@cache
def fitted(**changes):
    """Return a model of the problem, made once: tests must not change it."""
    data = problem()
    return X1Classifier(**{**SMALL, "feature_share": 0.2, **changes}).fit(data.X, data.Y).model_


def clusters(model):
    return [cluster for learner in model.learners for cluster in learner.clusters]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# ---- arrays


@pytest.mark.parametrize("precision", COMPACT)
@given(matrix=matrices)
def test_nothing_is_lost_after_the_first_rounding(precision, matrix):
    values, scale = pack(matrix, precision)
    again, same = pack(unpack(values, scale), precision)
    assert (values.dtype, scale.dtype, scale.shape) == (COMPACT[precision], np.float32, (3,))
    assert values.tobytes() == again.tobytes()
    assert scale.tobytes() == same.tobytes()


@pytest.mark.parametrize("precision", COMPACT)
@given(matrix=matrices)
def test_sparse_rows_are_rounded_as_dense_ones(precision, matrix):
    rounded = round_to(csr_matrix(matrix), precision)
    assert rounded.dtype == np.float32
    assert np.array_equal(rounded.toarray(), round_to(matrix, precision))
    assert (rounded.data != 0).all(), "what became zero is not stored"


def test_int8_is_a_column_in_steps_of_a_127th_of_its_largest():
    matrix = np.random.default_rng(0).standard_normal((500, 4)).astype(np.float32) * [1e-12, 1, 1e6, 0]
    values, scale = pack(matrix.astype(np.float32), "int8")
    largest = np.abs(matrix).max(axis=0)
    assert np.allclose(scale[:3], largest[:3] / 127, rtol=2e-5)
    assert scale[3] == 1
    assert (np.abs(values.astype(int)).max(axis=0) == [127, 127, 127, 0]).all()
    assert (np.abs(unpack(values, scale) - matrix) <= 0.5001 * scale).all()


def test_float16_keeps_its_eleven_bits_whatever_the_size_of_a_column():
    matrix = np.random.default_rng(0).standard_normal((500, 4)).astype(np.float32) * [1e-12, 1, 1e20, 0]
    matrix = matrix.astype(np.float32)
    values, scale = pack(matrix, "float16")
    assert (np.frexp(scale)[0] == 0.5).all(), "powers of two, which cost no bit"
    assert np.allclose(unpack(values, scale), matrix, rtol=2.0**-11, atol=0)


@pytest.mark.parametrize("precision", COMPACT)
def test_columns_of_next_to_nothing_become_zero(precision):
    matrix = np.array([[1e-45, 1e-38, 0], [0, -1e-38, 0]], np.float32)
    assert not round_to(matrix, precision).any()


def test_float32_is_left_alone_and_what_is_given_is_never_changed():
    matrix = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    rows, before = csr_matrix(matrix), matrix.copy()
    assert round_to(matrix, "float32") is matrix
    assert round_to(rows, "float32") is rows
    for precision in COMPACT:
        round_to(matrix, precision)
        round_to(rows, precision)
    assert np.array_equal(matrix, before)
    assert np.array_equal(rows.toarray(), before)


# ---- models


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", ["float32", *COMPACT])
def test_the_saved_model_predicts_as_the_fitted_one_and_is_saved_alike_again(tmp_path, precision, kind):
    data, model = problem(), fitted(precision=precision, **KINDS[kind])
    store.save(model, tmp_path / "one")
    loaded = store.load(tmp_path / "one").model
    store.save(loaded, tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert loaded.parameters["precision"] == model.parameters["precision"] == precision
    for ours, theirs in zip(clusters(model), clusters(loaded), strict=True):
        assert theirs.points.dtype == theirs.weights.dtype == np.float32
        assert np.array_equal(ours.points, theirs.points)
        assert (ours.weights != theirs.weights).sum() == 0
    for rows in (data.X_new, data.X_new[:1]):
        for ours, theirs in zip(model.predict_topk(rows, 5), loaded.predict_topk(rows, 5), strict=True):
            assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("precision", COMPACT)
def test_training_rounds_what_it_would_keep_otherwise(precision):
    whole, rounded = fitted(), fitted(precision=precision)
    for ours, theirs in zip(clusters(whole), clusters(rounded), strict=True):
        assert not np.array_equal(ours.points, theirs.points)
        assert np.array_equal(round_to(ours.points, precision), theirs.points)
        assert np.array_equal(round_to(ours.weights, precision), theirs.weights)


@pytest.mark.parametrize("precision", COMPACT)
def test_points_that_join_later_are_rounded_too(precision):
    data, options = problem(), {**SMALL, "feature_share": 0.2, "precision": precision, "vote_neighbours": "auto"}
    model = fit_joined(data.X, data.Y, np.arange(0, data.X.shape[0], 5), **options)
    assert sum(len(cluster.members) for cluster in model.learners[0].clusters) == problem().X.shape[0]
    for cluster in clusters(model):
        assert np.array_equal(round_to(cluster.points, precision), cluster.points)


@pytest.mark.parametrize(("precision", "share"), [("float16", 0.5), ("int8", 0.25)])
@pytest.mark.parametrize("kind", ["dense", "truncated", "sparse points"])
def test_arrays_take_fewer_bytes(precision, share, kind):
    whole, rounded = (
        fitted(precision=name, **KINDS[kind]).to_state()[1]["learner-000"] for name in ("float32", precision)
    )
    names = [name for name in whole if name.startswith("0.") and whole[name].dtype == np.float32]
    assert len(names) == 2, "weights and points, or their data"
    for name in names:
        assert rounded[name].dtype == COMPACT[precision]
        assert rounded[name].nbytes <= share * whole[name].nbytes


@pytest.mark.parametrize("precision", COMPACT)
def test_the_largest_penalty_leaves_weights_that_float16_alone_could_not_hold(precision):
    model = fitted(precision=precision, l2=1e12, feature_share=0.0)
    assert all(np.abs(cluster.weights).max() < 1e-8 for cluster in clusters(model))
    assert all(cluster.weights.any() for cluster in clusters(model))


@pytest.mark.parametrize("precision", COMPACT)
def test_accuracy_stays(precision):
    data = problem()
    hits = [
        float(data.Y_new[np.arange(80), fitted(precision=name).predict_topk(data.X_new, 1)[0][:, 0]].mean())
        for name in ("float32", precision)
    ]
    assert abs(hits[0] - hits[1]) <= 0.05


# ---- the benchmark


def test_the_benchmark_makes_of_a_trained_model_what_training_with_the_option_would(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    option = importlib.import_module("model_size").option
    rows = normalise(as_rows(problem().X))
    for changes in ({"precision": "int8"}, {"keep_weights": 0.3}, {"keep_weights": 0.3, "precision": "float16"}):
        made, trained = option(fitted(refine=False), rows, changes), fitted(refine=False, **changes)
        assert made.settings == trained.settings
        for ours, theirs in zip(clusters(made), clusters(trained), strict=True):
            assert np.array_equal(ours.points, theirs.points)
            assert (ours.weights != theirs.weights).sum() == 0
