"""A refined model's folder: the same again to the last bit, and refused where it is damaged."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from contract import assert_the_same_when_loaded, assert_well_formed, problem
from neartag import store
from neartag.core.errors import ModelError
from neartag.data.mapped import mapped_bytes
from neartag.x1.model import X1Model
from refine_helpers import OPTIONS, fitted, small_model, state_bytes


@pytest.mark.parametrize("options", OPTIONS)
def test_saved_and_loaded_it_predicts_the_same_to_the_last_bit(options, tmp_path):
    assert_the_same_when_loaded(fitted(options), tmp_path / "model")
    again = store.load(tmp_path / "model").model
    assert state_bytes(again) == state_bytes(fitted(options).model_)
    row = problem().X_new[:1]
    assert np.array_equal(again.predict_topk(row, 5)[1], fitted(options).predict_topk(row, 5)[1])


def is_mapped(array):
    return mapped_bytes(array) == array.nbytes > 0


def test_what_is_large_is_mapped(tmp_path):
    store.save(fitted(), tmp_path / "model")
    reranker = store.load(tmp_path / "model").model.reranker
    for matrix in (reranker.centroids.postings, reranker.rankers.weights):
        assert is_mapped(matrix.data)
        assert is_mapped(matrix.indices)
        assert not matrix.data.flags.writeable


def test_a_folder_from_before_refinement_is_loaded(tmp_path):
    data = problem()
    model = small_model(refine=False).fit(data.X, data.Y).model_
    settings, parts = model.to_state()
    assert "refinement" not in parts
    old = copy.deepcopy(settings)
    old["parameters"] = {name: value for name, value in old["parameters"].items() if not name.startswith("refine")}
    old.pop("refinement", None)
    model.to_state = lambda: (old, parts)
    store.save(model, tmp_path / "model")
    found = store.load(tmp_path / "model").model
    assert found.parameters["refine"] is False
    assert np.array_equal(found.predict_topk(data.X_new, 5)[1], model.predict_topk(data.X_new, 5)[1])


@pytest.fixture(scope="module")
def state():
    return fitted().model_.to_state()


def last(value):
    def change(array):
        array = array.copy()
        array.reshape(-1)[-1] = value
        return array

    return change


def first(value):
    def change(array):
        array = array.copy()
        array.reshape(-1)[0] = value
        return array

    return change


def shorter(array):
    return array[:-1]


def wider(array):
    return array.astype(
        np.int64 if array.dtype.kind in "iu" else np.float64 if array.dtype != np.float64 else np.float32
    )


WRONG = [
    ("lengths", shorter),
    ("lengths", wider),
    ("means.indices", last(30)),
    ("means.indices", last(-1)),
    ("means.indices", wider),
    ("means.indptr", last(10**6)),
    ("means.indptr", lambda array: array[::-1].copy()),
    ("means.shape", lambda array: array + 1),
    ("means.shape", lambda array: array[::-1].copy()),
    ("means.data", shorter),
    ("means.data", wider),
    ("rankers.indices", last(150)),
    ("rankers.indices", last(-1)),
    ("rankers.indptr", last(0)),
    ("rankers.indptr", shorter),
    ("rankers.shape", lambda array: array + 1),
    ("rankers.data", shorter),
    ("rankers.bias", shorter),
    ("rankers.bias", wider),
    ("rankers.bias", last(np.nan)),
    ("rankers.bias", last(np.inf)),
    ("rankers.bias", lambda array: array[None]),
    ("rankers.bias", lambda array: np.append(array, array)),
    ("rankers.known", shorter),
    ("rankers.known", lambda array: array.astype(bool)),
    *[(f"{name}.{piece}", shorter) for name in ("mixture", "unranked") for piece in ("fine", "coarse", "weights")],
    *[(f"{name}.{piece}", wider) for name in ("mixture", "unranked") for piece in ("fine", "coarse", "weights")],
    *[(f"{name}.weights", last(np.nan)) for name in ("mixture", "unranked")],
    *[
        (f"{name}.{piece}", lambda array: array[:, ::-1].copy())
        for name in ("mixture",)
        for piece in ("fine", "coarse")
    ],
    ("mixture.fine", lambda array: array[:, :1]),
    ("mixture.fine", lambda array: array[:, 1:]),
    ("mixture.fine", lambda array: array[0]),
    ("mixture.fine", last(np.nan)),
    ("mixture.fine", last(np.inf)),
    ("mixture.coarse", first(-np.inf)),
]


@pytest.mark.parametrize(("name", "change"), WRONG, ids=[f"{place}-{name}" for place, (name, _) in enumerate(WRONG)])
def test_a_wrong_array_is_refused(state, name, change):
    settings, parts = copy.deepcopy(state)
    X1Model.from_state(settings, parts)  # as it is, it loads
    parts["refinement"][name] = change(parts["refinement"][name])
    with pytest.raises(ValueError, match=r"\w"):
        X1Model.from_state(settings, parts)


@pytest.mark.parametrize("name", ["lengths", "means.data", "rankers.bias", "rankers.known", "mixture.fine"])
def test_a_missing_array_is_refused(state, name):
    settings, parts = copy.deepcopy(state)
    del parts["refinement"][name]
    with pytest.raises(LookupError):
        X1Model.from_state(settings, parts)


@pytest.mark.parametrize(
    "change",
    [
        {"usual": "much"},
        {"usual": np.nan},
        {"usual": None},
        {"size": 0},
        {"size": -3},
        {"size": 2.0},
        {"size": True},
        {"size": "9"},
        {"by_feature": 1},
        {"by_feature": "no"},
    ],
)
def test_wrong_settings_are_refused(state, change):
    settings, parts = copy.deepcopy(state)
    settings["refinement"].update(change)
    with pytest.raises(ValueError, match=next(iter(change))):
        X1Model.from_state(settings, parts)


@pytest.mark.parametrize("found", [None, [], {}, "yes"])
def test_settings_of_another_kind_are_told_in_a_line(state, found, tmp_path):
    settings, parts = copy.deepcopy(state)
    model = X1Model.from_state(settings, parts)
    settings["refinement"] = found
    model.to_state = lambda: (settings, parts)
    store.save(model, tmp_path)
    with pytest.raises(ModelError, match="the state of kind 'x1' cannot be read") as error:
        store.load(tmp_path)
    assert "\n" not in str(error.value)


def test_more_candidates_than_labels_are_all_labels(state):
    settings, parts = copy.deepcopy(state)
    settings["refinement"]["size"] = 2**31 - 1
    model = X1Model.from_state(settings, parts)
    assert model.reranker.size == 30
    assert_well_formed(*model.predict_topk(problem().X_new, 5), 80, 5, 30)


@pytest.mark.parametrize(("name", "shape"), [("means", (150, 30)), ("rankers", (30, 150))])
def test_dense_matrices_in_place_of_sparse_ones_are_refused_or_read(state, name, shape):
    settings, parts = copy.deepcopy(state)
    arrays = parts["refinement"]
    pieces = [arrays.pop(f"{name}.{piece}") for piece in ("data", "indices", "indptr")]
    arrays[name] = csr_matrix(tuple(pieces), shape=shape).toarray()
    try:
        model = X1Model.from_state(settings, parts)
    except (ValueError, LookupError):
        return
    found = model.predict_topk(problem().X_new, 5)[1]
    np.testing.assert_allclose(found, fitted().predict_topk(problem().X_new, 5)[1], atol=1e-6)


def test_rankers_of_no_label_are_refused_or_rank_nothing(state):
    settings, parts = copy.deepcopy(state)
    arrays = parts["refinement"]
    arrays["rankers.bias"], arrays["rankers.known"] = np.empty(0, np.float32), np.empty(0, np.uint8)
    arrays["rankers.indptr"], arrays["rankers.shape"] = np.zeros(1, np.int64), np.array([0, 150])
    arrays["rankers.indices"], arrays["rankers.data"] = np.empty(0, np.int32), np.empty(0, np.float32)
    try:
        model = X1Model.from_state(settings, parts)
    except ValueError:
        return
    assert_well_formed(*model.predict_topk(problem().X_new, 5), 80, 5, 30)


def test_read_the_other_way_round_it_says_the_same(state):
    data = problem()
    settings, parts = copy.deepcopy(state)
    settings["refinement"]["by_feature"] = not settings["refinement"]["by_feature"]
    found = X1Model.from_state(settings, parts).predict_topk(data.X_new, 5)[1]
    np.testing.assert_allclose(found, fitted().predict_topk(data.X_new, 5)[1], atol=1e-5)
