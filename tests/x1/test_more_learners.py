"""Learners added to a trained model, and models merged that were trained apart."""

from __future__ import annotations

import pytest

from neartag.core.errors import ModelError, ParameterError
from neartag.core.progress import Progress
from neartag.linalg.rows import as_rows, normalise
from neartag.work.executors.in_process import InProcess
from neartag.work.folder import WorkFolder
from neartag.x1.classifier import X1Classifier
from neartag.x1.more_learners import add_learners, merge
from neartag.x1.schedule import Machine
from refine_helpers import state_bytes
from work_helpers import PLAIN, REFINED, small_data

FIXED = {**PLAIN, "vote_neighbours": 10, "feature_share": 0.2, "n_jobs": 1}


def trained(**options):
    data = small_data()
    return X1Classifier(**options).fit(data.X, data.Y).model_


def added(model, count, executor=None, **options):
    data = small_data()
    return add_learners(model, normalise(as_rows(data.X)), data.Y, count, Machine(1), Progress(), executor, **options)


@pytest.mark.parametrize("folder", [False, True])
def test_learners_added_are_those_of_a_training_with_all_of_them(folder, tmp_path):
    executor = InProcess(1, None, WorkFolder(tmp_path / "work")) if folder else None
    found = added(trained(**{**FIXED, "n_learners": 2}), 3, executor)
    wanted = trained(**{**FIXED, "n_learners": 5})
    assert state_bytes(found) == state_bytes(wanted)


def test_a_refined_model_keeps_its_reranker():
    model = trained(**REFINED, n_jobs=1)
    found = added(model, 2)
    assert len(found.learners) == 4
    assert found.parameters["n_learners"] == 4
    assert found.reranker is model.reranker
    data = small_data()
    labels, _ = found.predict_topk(data.X[:20], 3)
    assert (labels >= 0).all()


def test_other_data_are_refused():
    data = small_data()
    with pytest.raises(ModelError, match="not the data that the model was trained on"):
        add_learners(trained(**FIXED), normalise(as_rows(data.X))[1:], data.Y[1:], 1, Machine(1), Progress())


def test_with_one_cluster_there_is_nothing_to_add():
    with pytest.raises(ParameterError, match="with one cluster all are"):
        added(trained(**{**FIXED, "n_learners": 1, "n_clusters": 1}), 1)


def test_models_trained_apart_are_merged():
    one, other = trained(**FIXED), trained(**{**FIXED, "random_state": 1})
    both = merge(one, other)
    assert len(both.learners) == 4
    assert both.learners[2:] == other.learners
    data = small_data()
    labels, _ = both.predict_topk(data.X[:20], 3)
    assert (labels >= 0).all()


def test_the_same_model_twice_is_refused():
    with pytest.raises(ParameterError, match="another random_state"):
        merge(trained(**FIXED), trained(**FIXED))


def test_models_of_other_settings_or_data_are_refused():
    one = trained(**FIXED)
    with pytest.raises(ModelError, match="embedding_dim is 8 in the first and 5 in the second"):
        merge(one, trained(**{**FIXED, "embedding_dim": 5, "random_state": 1}))
    data = small_data()
    fewer = X1Classifier(**{**FIXED, "random_state": 1}).fit(data.X[1:], data.Y[1:]).model_
    with pytest.raises(ModelError, match="not trained on the same data"):
        merge(one, fewer)
