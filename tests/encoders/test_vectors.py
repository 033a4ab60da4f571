"""Vectors of the user's own: checked, made unit rows, and through their saved state and the model folder."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from neartag import store
from neartag.core.errors import DataError, ModelError, NeartagError, ParameterError
from neartag.encoders.vectors import VectorFeatures


@pytest.fixture
def vectors():
    return np.random.default_rng(0).standard_normal((50, 7))


def test_by_hand():
    given_rows = [[3, 4], [0, 0], [0, -2]]
    features = VectorFeatures()
    rows = features.fit_transform(given_rows)
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, np.float32([[0.6, 0.8], [0, 0], [0, -1]]))
    assert (features.dim_, features.n_features) == (2, 2)
    np.testing.assert_array_equal(VectorFeatures(unit_rows=False).fit_transform(given_rows), given_rows)


def test_every_form_of_the_same_vectors_gives_the_same_rows(vectors, tmp_path):
    class SmallBlocks(VectorFeatures):
        block_numbers = 30  # four rows of seven: so that there are several blocks

    np.save(tmp_path / "v.npy", vectors)
    features = SmallBlocks().fit(vectors)
    rows = features.transform(vectors)
    exact = vectors.astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(rows, exact / np.linalg.norm(exact, axis=1, keepdims=True), rtol=1e-6)
    forms = [
        vectors.astype(np.float32),
        np.asfortranarray(vectors),
        np.repeat(vectors, 2, axis=0)[::2],
        np.load(tmp_path / "v.npy", mmap_mode="r"),
        list(vectors),
        vectors.tolist(),
        (vector for vector in vectors),
        iter(vectors.tolist()),
    ]
    for form in forms:
        assert features.transform(form).tobytes() == rows.tobytes()
    assert VectorFeatures().fit_transform(iter(vectors)).tobytes() == rows.tobytes()
    for number, vector in enumerate(vectors):  # a vector's row does not depend on the others
        assert features.transform([vector]).tobytes() == rows[number].tobytes()


def test_the_given_array_is_left_as_it_is(vectors):
    given_rows = vectors.astype(np.float32)
    before = given_rows.copy()
    given_rows.flags.writeable = False
    VectorFeatures().fit_transform(given_rows)
    np.testing.assert_array_equal(given_rows, before)
    rows = VectorFeatures(unit_rows=False).fit(given_rows).transform(given_rows)
    assert np.shares_memory(rows, given_rows)  # nothing to change: nothing copied


@settings(deadline=None)
@given(st.integers(1, 9), st.data())
def test_rows_are_finite_and_of_unit_length_for_all_finite_vectors(dim, data):
    number = st.floats(width=32, allow_nan=False, allow_infinity=False)
    given_rows = data.draw(st.lists(st.lists(number, min_size=dim, max_size=dim), min_size=1, max_size=5))
    rows = VectorFeatures().fit_transform(given_rows)
    assert np.isfinite(rows).all()
    any_number = np.any(np.array(given_rows) != 0, axis=1)
    np.testing.assert_allclose(np.linalg.norm(rows.astype(float), axis=1), any_number, rtol=1e-5)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("text", "must be an array"),
        (["a text", "another"], "vector 0 is of <U6: must be real numbers; texts need TfidfFeatures"),
        (np.array(["a", "b"]), "texts need TfidfFeatures"),
        (None, "must be an array"),
        (3.0, "must be an array"),
        ({"a": [1.0]}, "must be an array"),
        ([1.0, 2.0], r"vector 0 has shape \(\): must be one row"),
        (np.ones(3), r"shape \(3,\): must be \(n, dim\)"),
        (np.ones((2, 3, 1)), r"shape \(2, 3, 1\)"),
        ([np.ones((1, 3))], r"vector 0 has shape \(1, 3\)"),
        ([[1.0, 2.0, 3.0], [1.0, 2.0]], r"vector 1 has shape \(2,\): must be \(3,\)"),
        ([[1.0, [2.0], 3.0]], "vector 0 cannot be read"),
        ([[1.0, None, 3.0]], "vector 0 is of object"),
        (np.ones((2, 3), dtype=complex), "complex128: must be real"),
        (np.array([[1, 2, 3], [1, np.nan, 3]]), "vector 1 has a number that is not finite"),
        ([[1, 2, 3], [np.inf, 2, 3]], "vector 1 has a number that is not finite"),
        (np.array([[1, 2, 3], [1, 2, -1e39]]), "vector 1 has a number that is not finite in float32"),
        ([[1, 2, 1e39]], "vector 0 has a number that is not finite in float32"),
        (sparse.csr_matrix(np.ones((2, 3))), "sparse"),
    ],
)
def test_what_are_no_vectors_is_refused(bad, message):
    features = VectorFeatures().fit([[1, 2, 3]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (VectorFeatures().fit, features.transform):
            with pytest.raises(DataError, match=message):
                call(bad)


def test_vectors_of_another_length_are_refused(vectors):
    features = VectorFeatures().fit(vectors)
    for other in (vectors[:, :5], vectors[:, :5].tolist(), np.empty((0, 5)), [[], []]):
        with pytest.raises(DataError, match="but 7 in fit"):
            features.transform(other)


def test_no_vectors():
    features = VectorFeatures().fit([[1, 2, 3]])
    for none in ([], iter([]), np.array([]), np.empty((0, 3))):
        assert features.transform(none).shape == (0, 3)
    for none in ([], np.empty((0, 3)), np.empty((3, 0)), [[], []]):
        with pytest.raises(DataError, match="nothing to learn"):
            VectorFeatures().fit(none)


def test_before_fit_it_says_so():
    new = VectorFeatures()
    for call in (lambda: new.transform([[1.0]]), new.to_state, lambda: new.n_features):
        with pytest.raises(NeartagError, match="call fit"):
            call()


def test_a_bad_parameter_is_named_with_its_value():
    with pytest.raises(ParameterError, match="unit_rows='yes'"):
        VectorFeatures(unit_rows="yes").fit([[1.0]])


@pytest.mark.parametrize("unit_rows", [True, np.False_])
def test_state_round_trip(vectors, unit_rows):
    features = VectorFeatures(unit_rows=unit_rows).fit(vectors)
    written, arrays = features.to_state()
    again = VectorFeatures.from_state(json.loads(json.dumps(written)), arrays)
    assert again.to_state() == (written, arrays)
    assert again.transform(vectors).tobytes() == features.transform(vectors).tobytes()


@pytest.mark.parametrize(
    ("settings", "arrays"),
    [
        (None, {}),
        ([], {}),
        ({}, {}),
        ({"unit_rows": True}, {}),
        ({"dim": 3}, {}),
        ({"unit_rows": 1, "dim": 3}, {}),
        *(({"unit_rows": True, "dim": dim}, {}) for dim in (0, -1, 2.0, "3", True, None, [3], 2**31)),
        ({"unit_rows": True, "dim": 3}, {"more": np.ones(3)}),
    ],
)
def test_a_crafted_state_is_refused(settings, arrays):
    with pytest.raises(ModelError, match="vector features' state"):
        VectorFeatures.from_state(settings, arrays)


def test_a_model_of_vectors_is_saved_and_loaded(vectors, tmp_path):
    from neartag import X1Classifier

    features = VectorFeatures()
    X = features.fit_transform(vectors)
    Y = sparse.csr_matrix((vectors[:, :3] > 0).astype(np.float32))
    settings = {"n_learners": 1, "embedding_dim": 4, "svp_neighbours": 5, "vote_neighbours": 3, "n_jobs": 1}
    model = X1Classifier(**settings).fit(X, Y)
    store.save(model, tmp_path / "model", features=features)
    stored = store.load(tmp_path / "model")
    assert isinstance(stored.features, VectorFeatures)
    labels, scores = stored.model.predict_topk(stored.features.transform(iter(vectors.tolist())), 2)
    expected_labels, expected_scores = model.predict_topk(X, 2)
    np.testing.assert_array_equal(labels, expected_labels)
    np.testing.assert_array_equal(scores, expected_scores)


def test_no_scikit_learn_is_imported():
    code = "import sys; from neartag import VectorFeatures as V; V().fit([[1]]); assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
