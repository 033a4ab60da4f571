"""What to label next: the greedy choice against its definition, and a tagger that is asked for it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag import TextTagger, VectorFeatures, X1Classifier
from neartag.core.errors import ParameterError
from neartag.linalg.rows import normalise
from neartag.tagging.review import say_why, uncertainty
from neartag.tagging.review_coverage import choose_greedily, nearest_known, similarity_graph

SMALL = {"embedding_dim": 2, "vote_neighbours": 2, "n_jobs": 1, "refine": False}
TEXTS = ["bake bread in the oven", "ride a bicycle", "bread with butter", "the wheel of a bicycle"]
LABELS = [["cooking"], ["cycling"], ["cooking"], ["cycling"]]


@pytest.fixture(scope="module")
def tagger():
    return TextTagger("words", X1Classifier(**SMALL)).fit(TEXTS, LABELS, ["oven", "ride", "butter", "wheel"])


def random_rows(n, seed):
    rng = np.random.default_rng(seed)
    rows = rng.random((n, 12)) * (rng.random((n, 12)) < 0.3)
    return normalise(csr_matrix(rows.astype(np.float32)))


@pytest.mark.parametrize("seed", range(3))
def test_the_greedy_choice_is_the_one_that_covers_most_each_time(seed):
    rng = np.random.default_rng(seed)
    graph = similarity_graph(random_rows(30, seed), neighbours=6)
    covered, weights, worth = rng.random((3, 30))
    chosen, values = choose_greedily(graph, covered, weights, worth, 30)
    dense = graph.toarray()
    left, now = set(range(30)), covered.copy()
    for place, value in zip(chosen.tolist(), values.tolist(), strict=True):
        gains = {each: worth[each] * (weights @ np.maximum(dense[each] - now, 0)) for each in left}
        assert gains[place] == pytest.approx(max(gains.values()), abs=1e-6)
        assert value == pytest.approx(gains[place], abs=1e-6)
        left.remove(place)
        now = np.maximum(now, dense[place])
    assert not left


def test_the_graph_has_the_nearest_of_each_both_ways():
    rows = random_rows(25, 5)
    whole = (rows @ rows.T).toarray()
    graph = similarity_graph(rows, neighbours=4).toarray()
    assert (graph == graph.T).all()
    assert (np.diag(graph) == 1).all()
    there = graph > 0
    np.testing.assert_allclose(graph[there], np.where(np.eye(25), 1, whole)[there], atol=1e-5)
    nearest = np.argsort(-(whole + np.eye(25)), axis=1, kind="stable")[:, 1]
    reached = whole[np.arange(25), nearest] > 0
    assert there[np.arange(25), nearest][reached].all()


def test_a_row_without_features_has_nothing_near():
    rows = csr_matrix(np.array([[0, 0], [1, 0]], np.float32))
    ids, near = nearest_known(rows, rows, 1)
    assert (ids[0, 0], near[0, 0]) == (-1, 0)
    assert (ids[1, 0], near[1, 0]) == (1, pytest.approx(1))


def test_the_least_sure_are_in_the_middle():
    sure, unsure, several = uncertainty(np.array([[1.0, 0.0], [0.5, 0.0], [0.5, 0.5]]))
    assert sure < unsure < several


def test_new_texts_come_before_known_ones_and_copies_last(tagger):
    texts = [TEXTS[0], "stars in the night sky", "stars in the night sky", "the stars at night", "bread and butter"]
    listed = tagger.review(texts, n=5, n_jobs=1)
    assert sorted(entry.index for entry in listed) == [0, 1, 2, 3, 4]
    assert listed[0].index in {1, 3}
    assert {entry.index for entry in listed[-2:]} >= {0}
    assert [entry.score for entry in listed] == sorted((entry.score for entry in listed), reverse=True)
    copies = [place for place, entry in enumerate(listed) if entry.index in {1, 2}]
    assert listed[copies[1]].score == pytest.approx(0, abs=1e-6)  # the other one has taught it all
    butter = next(entry for entry in listed if entry.index == 4)
    assert butter.evidence[0].id == "butter"
    assert butter.evidence[0].labels == ["cooking"]
    assert {word.word for word in butter.evidence[0].words} == {"bread", "butter"}
    assert butter.labels[0].label == "cooking"
    assert len(tagger.review(texts, n=2, n_jobs=1)) == 2


def test_words_that_the_model_does_not_know_are_told_apart(tagger):
    families = ["zinc and copper"] * 3 + ["violin sonata", "violin concerto", "violin solo"]
    first, second = tagger.review(families, n=2, n_jobs=1)
    assert {first.index < 3, second.index < 3} == {True, False}
    assert "new: no word in common" in first.reason
    assert first.evidence == []


def test_nothing_to_choose_from_and_wrong_questions(tagger):
    assert tagger.review([]) == []
    with pytest.raises(ParameterError, match="single string"):
        tagger.review("a text")
    with pytest.raises(ParameterError, match="n"):
        tagger.review(["a text"], n=0)


def test_vectors_are_reviewed_by_their_angles():
    vectors = [[1, 0, 0], [0.9, 0.1, 0], [0, 1, 0], [0, 0.9, 0.1]]
    tagger = TextTagger(VectorFeatures(), X1Classifier(**SMALL, feature_share=0.5)).fit(vectors, LABELS)
    listed = tagger.review([[1.0, 0.0, 0.05], [0.0, 0.0, 1.0]], n=2, n_jobs=1)
    assert listed[0].index == 1


def test_the_reason_says_what_speaks_for_a_document():
    assert say_why(0.2, 0.0, 5) == (
        "unsure: its best label has 20%; new: no word in common with what was learned from; stands for 5 others like it"
    )
    assert say_why(0.9, 0.25, 0) == "new: the nearest known document has a similarity of 0.25"
    assert say_why(0.9, 0.8, 0) == "several labels are possible: the best has 90%"
