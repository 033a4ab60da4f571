"""A model's arrays, damaged or crafted: refused before a kernel reads past an end."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from contract import problem
from neartag import store
from neartag.core.errors import ModelError, ParameterError
from neartag.x1.classifier import X1Classifier
from neartag.x1.model import X1Model


@pytest.fixture(scope="module")
def state():
    data = problem()
    options = {"n_learners": 2, "n_clusters": 2, "embedding_dim": 6, "centroid_entries": 20, "keep_weights": 0.3}
    return X1Classifier(**options, l1=0.5, svp_neighbours=10, vote_neighbours=5).fit(data.X, data.Y).model_.to_state()


def damaged(state, part, name, change):
    settings, parts = copy.deepcopy(state)
    parts[part][name] = change(parts[part][name])
    return settings, parts


def last(value):
    def change(array):
        array = array.copy()
        array[-1] = value
        return array

    return change


WRONG = [
    ("labels", "indices", last(10**6)),
    ("labels", "indices", last(-1)),
    ("labels", "indices", lambda array: array.astype(np.int64)),
    ("labels", "indptr", last(10**6)),
    ("labels", "indptr", lambda array: array[::-1].copy()),
    ("labels", "indptr", lambda array: array[:-1]),
    ("index", "postings.indices", last(10**6)),
    ("index", "postings.indptr", last(0)),
    ("index", "postings.shape", lambda array: array + 1),
    ("index", "postings.data", lambda array: array[:-1]),
    ("learner-000", "0.members", last(10**6)),
    ("learner-000", "0.members", last(-1)),
    ("learner-000", "0.members", lambda array: array[:-1]),
    ("learner-000", "1.weights.indices", last(6)),
    ("learner-000", "1.weights.shape", lambda array: array[::-1].copy()),
    ("learner-001", "centroids.indices", last(2)),
    ("learner-001", "centroids.data", lambda array: array.astype(np.float64)),
    ("learner-001", "zero_below", lambda array: array[:-1]),
    ("learner-001", "0.history", lambda array: array.reshape(1, -1)),
]


@pytest.mark.parametrize(("part", "name", "change"), WRONG)
def test_a_wrong_array_is_refused(state, part, name, change):
    X1Model.from_state(*state)  # as it is, it loads
    with pytest.raises(ValueError, match=r"\w"):
        X1Model.from_state(*damaged(state, part, name, change))


# Packed arrays: dense weights and points of int8, truncated weights and sparse points of float16.
PACKED = {
    "int8": {"precision": "int8"},
    "float16": {"precision": "float16", "keep_weights": 0.3, "l1": 1.0},
}
VALUES = {"int8": ("0.weights", "0.points"), "float16": ("0.weights.data", "0.points.data")}
WRONG_VALUES = {
    "in full": lambda array: array.astype(np.float32),
    "of another type": lambda array: array.astype(np.uint8),
    "too few": lambda array: array[:-1],
}
WRONG_SCALES = {
    "infinite": last(np.inf),
    "no number": last(np.nan),
    "zero": last(0),
    "negative": last(-1),
    "of another type": lambda array: array.astype(np.float64),
    "too few": lambda array: array[:-1],
    "one for all": lambda array: array[0],
    "a matrix": lambda array: array.reshape(1, -1),
}


@pytest.fixture(scope="module", params=PACKED)
def packed(request):
    """Return the state of a model of packed arrays, and its precision."""
    data = problem()
    options = {"n_clusters": 1, "embedding_dim": 6, "svp_neighbours": 10, "vote_neighbours": 5, **PACKED[request.param]}
    return X1Classifier(**options).fit(data.X, data.Y).model_.to_state(), request.param


@pytest.mark.parametrize("wrong", WRONG_VALUES)
def test_wrong_packed_values_are_refused(packed, wrong):
    state, precision = packed
    X1Model.from_state(*state)  # as it is, it loads
    for name in VALUES[precision]:
        with pytest.raises(ValueError, match=f"{name.removesuffix('.data')} .*{precision}"):
            X1Model.from_state(*damaged(state, "learner-000", name, WRONG_VALUES[wrong]))


@pytest.mark.parametrize("wrong", WRONG_SCALES)
@pytest.mark.parametrize("what", ["weights", "points"])
def test_wrong_scales_are_refused(packed, what, wrong):
    state, _ = packed
    with pytest.raises(ValueError, match=f"0.{what} has .*scale"):
        X1Model.from_state(*damaged(state, "learner-000", f"0.{what}.scale", WRONG_SCALES[wrong]))


def test_packed_rows_without_scales_are_refused(packed):
    settings, parts = copy.deepcopy(packed[0])
    del parts["learner-000"]["0.points.scale"]
    with pytest.raises(LookupError):
        X1Model.from_state(settings, parts)


def test_a_precision_that_is_not_the_arrays_is_refused(packed):
    (settings, parts), precision = copy.deepcopy(packed)
    for claimed in {"float32", "float16", "int8", "int4"} - {precision}:
        settings["parameters"]["precision"] = claimed
        with pytest.raises(ValueError, match=r"0\.weights|precision"):
            X1Model.from_state(settings, parts)


def test_a_model_older_than_precision_is_float32(state):
    settings, parts = copy.deepcopy(state)
    del settings["parameters"]["precision"]
    assert X1Model.from_state(settings, parts).parameters["precision"] == "float32"


def test_a_damaged_scale_in_a_folder_is_told_in_a_line(packed, tmp_path):
    (settings, parts), _ = copy.deepcopy(packed)
    model = X1Model.from_state(settings, parts)
    parts["learner-000"]["0.points.scale"][0] = np.inf
    model.to_state = lambda: (settings, parts)
    store.save(model, tmp_path)
    with pytest.raises(ModelError, match=r"0.points has scales that are no sizes") as error:
        store.load(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("part", ["labels", "learner-001"])
def test_a_missing_part_is_refused(state, part):
    settings, parts = copy.deepcopy(state)
    del parts[part]
    with pytest.raises(LookupError):
        X1Model.from_state(settings, parts)


def test_a_model_that_does_not_name_refine_has_votes_alone():
    data = problem()
    model = X1Classifier(n_clusters=1, embedding_dim=4, svp_neighbours=10, refine=False).fit(data.X, data.Y).model_
    settings, parts = model.to_state()
    del settings["parameters"]["refine"]
    again = X1Model.from_state(settings, parts)
    assert again.parameters["refine"] is False
    assert again.reranker is None


def test_parameters_of_an_older_version_get_their_defaults(state):
    settings, parts = copy.deepcopy(state)
    del settings["parameters"]["vote_weight"]
    model = X1Model.from_state(settings, parts)
    assert model.parameters["vote_weight"] == "similarity"
    model.predict_topk(problem().X_new, 3)


@pytest.mark.parametrize(
    ("name", "value"), [("n_probe", 0), ("vote_neighbours", -1), ("vote_weight", "loud"), ("x", 1)]
)
def test_parameters_that_cannot_be_used_are_refused(state, name, value):
    settings, parts = copy.deepcopy(state)
    settings["parameters"][name] = value
    with pytest.raises(ValueError, match=name):
        X1Model.from_state(settings, parts)


@pytest.mark.parametrize("name", ["n_features", "n_labels", "n_learners"])
@pytest.mark.parametrize("change", [float, str, lambda number: True, lambda number: 0, lambda number: -number])
def test_numbers_that_are_no_counts_are_refused(state, name, change):
    settings, parts = copy.deepcopy(state)
    settings[name] = change(settings[name])
    with pytest.raises(ValueError, match=name):
        X1Model.from_state(settings, parts)


@pytest.mark.parametrize("name", ["n_features", "n_labels"])
@pytest.mark.parametrize("value", [2**31, 10**30])
def test_more_columns_than_ids_can_count_are_refused(state, name, value):
    settings, parts = copy.deepcopy(state)
    settings[name] = value
    with pytest.raises(ValueError, match=name):
        X1Model.from_state(settings, parts)


def test_a_cluster_whose_points_were_all_forgotten_finds_nobody(state):
    settings, parts = copy.deepcopy(state)
    arrays = parts["learner-000"]
    width = arrays["0.weights.shape"][1]
    arrays["0.members"] = np.empty(0, np.int32)
    for name in [name for name in arrays if name.startswith("0.points")]:
        del arrays[name]
    arrays["0.points"] = np.empty((0, width), np.float32)
    data = problem()
    voters, _ = X1Model.from_state(settings, parts).neighbours(data.X)
    assert (voters < 240).all()
    assert (voters >= -1).all()


def test_a_learner_without_clusters_is_refused(state):
    settings, parts = copy.deepcopy(state)
    d = settings["n_features"]
    parts["learner-001"] = {"zero_below": np.empty(0), "centroids": np.empty((d, 0), np.float32)}
    with pytest.raises(ValueError, match="no cluster"):
        X1Model.from_state(settings, parts)


def test_sparse_points_are_stored_sparse_and_come_back_the_same():
    data = problem()
    model = X1Classifier(n_clusters=1, embedding_dim=6, svp_neighbours=10, l1=1.0).fit(data.X, data.Y).model_
    points = model.learners[0].clusters[0].points
    assert 0 < np.count_nonzero(points) < points.size / 2, "most entries are zero at this penalty"
    settings, parts = model.to_state()
    assert "0.points" not in parts["learner-000"]
    assert len(parts["learner-000"]["0.points.data"]) == np.count_nonzero(points)
    again = X1Model.from_state(settings, parts)
    assert np.array_equal(again.learners[0].clusters[0].points, points)
    assert np.array_equal(again.predict_topk(data.X_new, 3)[0], model.predict_topk(data.X_new, 3)[0])


@pytest.mark.parametrize("names", [{"label_names": ["a", "b"]}, {"point_names": ["a"]}])
def test_names_must_be_as_many_as_what_they_name(tmp_path, names):
    data = problem()
    model = X1Classifier(n_clusters=1, embedding_dim=6).fit(data.X, data.Y).model_
    with pytest.raises(ParameterError, match=r"names for \d+"):
        store.save(model, tmp_path / "model", **names)
    assert not (tmp_path / "model").exists()
    # A folder that says otherwise is refused as well: here the names of a smaller model.
    small = X1Classifier(n_clusters=1, embedding_dim=6).fit(data.X[:50], data.Y[:50, :20]).model_
    store.save(
        small, tmp_path / "small", label_names=[f"l{i}" for i in range(20)], point_names=[str(i) for i in range(50)]
    )
    small.Y = csr_matrix((50, 21), dtype=np.float32)
    settings, parts = small.to_state()
    small.to_state = lambda: (settings, parts)
    small.Y = csr_matrix((50, 20), dtype=np.float32)
    store.save(small, tmp_path / "small", label_names=[f"l{i}" for i in range(20)])
    with pytest.raises(ModelError, match="20 label names for 21 labels"):
        store.load(tmp_path / "small")
