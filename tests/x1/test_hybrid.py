"""X1 on words with vectors beside them: better than either, and just the words where there are no vectors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hybrid_helpers import SMALL, hybrid_problem
from neartag import store
from neartag.core.errors import ModelError, ParameterError
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import as_training_rows
from neartag.metrics import evaluate
from neartag.search.vector_index import VectorIndex
from neartag.x1 import update
from neartag.x1.classifier import X1Classifier
from neartag.x1.vector_weight import choose_vector_weight
from refine_helpers import state_bytes

X, Y = hybrid_problem()
X_NEW, Y_NEW = hybrid_problem(100, seed=1)


@pytest.fixture(scope="module")
def refined():
    return X1Classifier(**SMALL).fit(X, Y).model_


@pytest.fixture(scope="module")
def voting():
    return X1Classifier(**SMALL, refine=False).fit(X, Y).model_


@pytest.fixture(params=["refined", "voting"])
def model(request):
    return request.getfixturevalue(request.param)


def precision(labels):
    return evaluate(labels, Y_NEW, ks=(2,))["P@2"]


def same(one, other, rows=X_NEW):
    for mine, theirs in zip(one.predict_topk(rows), other.predict_topk(rows), strict=True):
        assert np.array_equal(mine, theirs)


def test_both_parts_together_beat_either(model):
    assert precision(model.predict_topk(X_NEW)[0]) > 95
    for rows, new in ((X.words, X_NEW.words), (X.vectors, X_NEW.vectors)):
        alone = X1Classifier(**SMALL, refine=model.reranker is not None).fit(rows, Y)
        assert precision(alone.predict_topk(new)[0]) < 70


def test_weight_and_share_are_told(model):
    assert model.parameters["vector_weight"] in (0.25, 0.5, 1.0, 2.0)
    assert 0 < model.parameters["vector_share"] < 1
    given = X1Classifier(**SMALL, vector_weight=0.7, vector_share=0.2).fit(X, Y).model_.parameters
    assert (given["vector_weight"], given["vector_share"]) == (0.7, 0.2)


def words_of_topic(words):
    """Return the words with the one that tells the label as faint as the others."""
    flat = words.copy()
    flat.data[:] = 1 / np.sqrt(6)
    return flat


def test_the_weight_follows_the_part_that_tells_more():
    random, held = np.random.default_rng(0), np.arange(0, 320, 4)
    by_words = csr_matrix(Y.toarray() * (np.arange(24) < 12))  # the labels that words tell
    shuffled = X.vectors[random.permutation(320)]
    misleading = HybridRows(words_of_topic(X.words), shuffled)
    assert choose_vector_weight(misleading, by_words, VectorIndex.from_vectors(shuffled, 1), held, 1) < 1
    words = csr_matrix(np.eye(320, dtype=np.float32)[:, random.permutation(320) % 200])
    dumb = HybridRows(words, X.vectors)
    assert choose_vector_weight(dumb, Y, VectorIndex.from_vectors(X.vectors, 1), held, 1) >= 1
    assert choose_vector_weight(X, Y, VectorIndex.from_vectors(X.vectors, 1), held[:0], 1) == 1


def without_vectors(rows):
    return HybridRows(rows.words, np.zeros((len(rows), 4), np.float32))


def test_zero_vectors_leave_the_rankers_of_the_words():
    options = {**SMALL, "refine_cost": 1.0, "vector_weight": 1.0}
    hybrid = X1Classifier(**options).fit(without_vectors(X), Y).model_.reranker.rankers
    words = X1Classifier(**options).fit(X.words, Y).model_.reranker.rankers
    assert (hybrid.weights != words.weights).nnz == 0
    assert np.array_equal(hybrid.bias, words.bias)


@pytest.mark.parametrize("share", [1.0, 0.0])
def test_zero_vectors_leave_the_votes_of_the_words(share):
    options = {**SMALL, "refine": False, "vote_neighbours": 20, "feature_share": share, "vector_share": 0.0}
    hybrid = X1Classifier(**options, vector_weight=1.0).fit(without_vectors(X), Y)
    words = X1Classifier(**options).fit(X.words, Y)
    answers = hybrid.predict_topk(without_vectors(X_NEW), 3), words.predict_topk(X_NEW.words, 3)
    # By embedding, whose regressors another solver finds: nearly so.
    np.testing.assert_allclose(answers[0][1], answers[1][1], atol=0 if share else 2e-3)


def test_missing_parts_are_answered(model):
    labels, scores = model.predict_topk(X_NEW[:3])
    assert labels[0, 0] == int(Y_NEW[0].indices[1])  # by the vector
    assert labels[1, 0] == int(Y_NEW[1].indices[0])  # by the word
    assert (labels[2] >= 0).all()
    assert np.isfinite(scores).all()


def test_coded_vectors_make_the_same_model(refined):
    assert state_bytes(X1Classifier(**SMALL).fit(as_training_rows(X), Y).model_) == state_bytes(refined)


def test_the_number_of_threads_changes_nothing(refined):
    other = X1Classifier(**{**SMALL, "n_jobs": 3}).fit(X, Y).model_
    settings, parts = refined.to_state()
    again, others = other.to_state()
    assert settings == again
    for part, arrays in parts.items():
        for name, array in arrays.items():
            assert np.array_equal(array, others[part][name]), (part, name)
    same(refined, other)


def test_one_row_is_answered_as_among_others(model):
    labels, scores = model.predict_topk(X_NEW[5:6])
    among = model.predict_topk(X_NEW)
    assert np.array_equal(labels[0], among[0][5])
    np.testing.assert_allclose(scores[0], among[1][5], atol=1e-5)


def test_saved_and_loaded_it_answers_the_same(model, tmp_path):
    store.save(model, tmp_path / "model")
    loaded = store.load(tmp_path / "model").model
    same(model, loaded)
    assert loaded.vectors.rows.codes.dtype == np.int8
    assert loaded.parameters == model.parameters


def test_words_alone_tell_nothing_of_vectors():
    settings, parts = X1Classifier(**SMALL).fit(X.words, Y).model_.to_state()
    assert "n_vector_features" not in settings
    assert not {"vector_weight", "vector_share"} & settings["parameters"].keys()
    assert "vectors" not in parts


@pytest.mark.parametrize("change", ["part", "dim", "settings", "means", "features"])
def test_damaged_vectors_are_refused(refined, change):
    settings, parts = refined.to_state()
    parts = {name: dict(arrays) for name, arrays in parts.items()}
    if change == "part":
        del parts["vectors"]
    elif change == "dim":
        settings["n_vector_features"] = 15
    elif change == "settings":
        settings["parameters"] = {**settings["parameters"], "vector_weight": "auto"}
    elif change == "features":
        known = parts["learner-000"]
        known["0.features"] = np.arange(1, refined.n_features, dtype=np.int32)[: len(known["0.weights"])]
    else:
        parts["refinement"]["mean-vectors.codes"] = parts["refinement"]["mean-vectors.codes"][1:]
    with pytest.raises((ValueError, KeyError, ModelError)):
        type(refined).from_state(settings, parts)


def test_rows_of_another_kind_are_refused(refined):
    with pytest.raises(ParameterError, match=r"0 numbers of a vector .*, but X1Classifier is expecting 16"):
        refined.predict_topk(csr_matrix(X_NEW.toarray()))
    with pytest.raises(ParameterError, match="features"):
        refined.predict_topk(X_NEW.words)
    words = X1Classifier(**SMALL, refine=False).fit(X.words, Y)
    with pytest.raises(ParameterError, match="features"):
        words.predict_topk(X_NEW)


def test_points_are_forgotten_and_added_again(model):
    gone = np.arange(320) >= 280
    fewer = update.forget(model, gone)
    assert len(fewer.vectors.rows) == 280
    again = update.add(fewer, X[280:], Y[280:])
    assert np.array_equal(again.vectors.rows.codes, model.vectors.rows.codes)
    assert precision(again.predict_topk(X_NEW)[0]) > 95
    one_by_one = fewer
    for point in range(280, 320):
        one_by_one = update.add(one_by_one, X[point : point + 1], Y[point : point + 1])
    assert np.array_equal(one_by_one.predict_topk(X_NEW)[0], again.predict_topk(X_NEW)[0])


def test_what_is_added_to_a_folder_is_as_what_is_added_in_memory(refined):
    from neartag.linalg.packing import get_rows, put_rows

    arrays: dict[str, np.ndarray] = {}
    put_rows(arrays, "rows", X_NEW)
    same(update.add(refined, X_NEW, Y_NEW), update.add(refined, get_rows(arrays, "rows"), Y_NEW), X[:50])


def test_new_labels_get_rankers_of_both_parts(refined):
    n = 12
    words = csr_matrix((np.ones(n, np.float32), (np.arange(n), np.full(n, 70))), shape=(n, X.words.shape[1]))
    vectors = np.tile(np.eye(16, dtype=np.float32)[3], (n, 1))
    labels = csr_matrix((np.ones(n, np.float32), (np.arange(n), np.full(n, 24))), shape=(n, 25))
    later = update.add(refined, HybridRows(words, vectors), labels)
    rankers = later.reranker.new_rankers
    assert rankers.known[24]
    assert rankers.vectors.decode(np.array([24]))[0, 3] > 0
    assert later.predict_topk(HybridRows(words[:1], vectors[:1]), 1)[0][0, 0] == 24
    without = update.forget(later, np.arange(later.n_points) >= 320)
    assert without.reranker.new_rankers is None


def test_labels_are_merged(refined):
    merged = update.merge_labels(refined, 13, 14)
    assert merged.n_labels == 23
    assert len(merged.reranker.centroids.vectors.rows) == len(merged.reranker.rankers.vectors) == 23
    truth = Y_NEW.toarray()
    truth[:, 14] = np.maximum(truth[:, 13], truth[:, 14])
    truth = csr_matrix(np.delete(truth, 13, axis=1))
    assert evaluate(merged.predict_topk(X_NEW)[0], truth, ks=(2,))["P@2"] > 95


def test_few_words_that_most_rows_have():
    """Rows of words that are well filled are searched as an array, and so are those that come with vectors."""
    few = HybridRows(csr_matrix(np.abs(X.words.toarray()[:, :6]) + 0.1), X.vectors)
    model = X1Classifier(**SMALL, refine=False, feature_share=0.3).fit(few, Y).model_
    assert not model.index.is_sparse
    labels, _ = model.predict_topk(few[:40], 2)
    assert evaluate(labels, Y[:40], ks=(2,))["P@2"] > 30
