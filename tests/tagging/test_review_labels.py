"""Doubtful labels: the features of pairs against the obvious slow way, and damaged labels found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag import TextTagger, X1Classifier
from neartag.core.errors import ModelError, ParameterError
from neartag.linalg.rows import normalise
from neartag.tagging.review_doubts import REPLACED, add_what_is_lacking, answer_by_folds, choose_documents
from neartag.tagging.review_evidence import ReviewedCorpus
from neartag.tagging.review_labels import gather_corpus
from neartag.tagging.review_pairs import PairFeatures, centroid_cosines, label_lifts, nearest_others, vote_of_others

TOPICS = {
    "bread": (["oven", "dough", "flour", "yeast", "crust"], ["cooking", "baking"]),
    "bicycle": (["wheel", "pedal", "saddle", "chain", "race"], ["cycling", "sport"]),
    "sky": (["star", "planet", "night", "moon", "comet"], ["astronomy"]),
}
MISLABELLED, LACKING = 6, 13  # a text about bread, and one about a bicycle


def make_corpus(n=60):
    rng = np.random.default_rng(0)
    texts, labels = [], []
    for number in range(n):
        topic, (words, own) = list(TOPICS.items())[number % 3]
        texts.append(" ".join([topic, *rng.choice(words, 3, replace=False)]))
        labels.append(list(own))
    labels[MISLABELLED] = ["cooking", "baking", "astronomy"]
    labels[LACKING] = ["cycling"]
    return texts, labels


@pytest.fixture(scope="module")
def tagger():
    settings = {"embedding_dim": 4, "vote_neighbours": 5, "feature_share": 0.5, "refine": False, "n_jobs": 1}
    return TextTagger("words", X1Classifier(**settings)).fit(*make_corpus())


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(3)
    rows = normalise(csr_matrix((rng.random((20, 9)) * (rng.random((20, 9)) < 0.5)).astype(np.float32)))
    return rows, csr_matrix((rng.random((20, 6)) < 0.4).astype(np.float32))


def all_pairs(Y):
    documents, labels = np.indices(Y.shape)
    return documents.ravel(), labels.ravel()


def test_centroids_are_those_of_the_other_documents(points):
    rows, Y = points
    dense, given = rows.toarray(), Y.toarray() > 0
    found = centroid_cosines(rows, Y, *all_pairs(Y)).reshape(Y.shape)
    np.testing.assert_allclose(centroid_cosines(dense, Y, *all_pairs(Y)), found.ravel())
    some = np.array([7, 3, 7]), np.array([5, 0, 1])  # in any order, and not of every label
    np.testing.assert_array_equal(centroid_cosines(rows, Y, *some), found[some])
    for document in range(20):
        others = np.arange(20) != document
        for label in range(6):
            total = dense[others & given[:, label]].sum(axis=0)
            length = np.linalg.norm(total)
            wanted = dense[document] @ total / length if length else 0
            assert found[document, label] == pytest.approx(wanted, abs=1e-5)


def test_lifts_are_counted_in_other_documents(points):
    _, Y = points
    given = Y.toarray() > 0
    mean, largest = (each.reshape(Y.shape) for each in label_lifts(Y, *all_pairs(Y)))
    for document in range(20):
        other = given[np.arange(20) != document]
        for label in range(6):
            chance = (other[:, label].sum() + 1) / 20
            beside = [each for each in np.flatnonzero(given[document]) if each != label]
            counts = [((other[:, each] & other[:, label]).sum(), other[:, each].sum()) for each in beside]
            lifts = [np.log((both + 2 * chance) / (count + 2) / chance) for both, count in counts]
            assert mean[document, label] == pytest.approx(np.mean(lifts) if lifts else 0)
            assert largest[document, label] == pytest.approx(max(lifts, default=0))


def test_a_document_does_not_vote_for_itself(points):
    rows, Y = points
    ids, cosines = nearest_others(rows, np.arange(20), 4)
    assert (ids != np.arange(20)[:, None]).all()
    whole = (rows @ rows.T).toarray()
    np.fill_diagonal(whole, -1)
    np.testing.assert_allclose(cosines, np.sort(whole, axis=1)[:, :-5:-1].clip(0), atol=1e-5)
    votes = vote_of_others((ids, cosines), Y, 4, 2.0).toarray()
    weights = cosines[3].astype(float) ** 2
    np.testing.assert_allclose(votes[3], weights / weights.sum() @ Y.toarray()[ids[3]], atol=1e-6)


def test_only_documents_asked_for_are_looked_at(points):
    rows, _ = points
    ids, cosines = nearest_others(rows, np.array([2, 5]), 3)
    assert (ids[[0, 1, 3, 4]] == -1).all()
    assert (cosines[[0, 1, 3, 4]] == 0).all()
    np.testing.assert_array_equal(ids[[2, 5]], nearest_others(rows, np.arange(20), 3)[0][[2, 5]])


def test_a_label_taken_away_leaves_the_features_of_its_pair_as_they_are(points):
    rows, Y = points
    document, label = (int(each[0]) for each in Y.nonzero())
    less = Y.copy().tolil()
    less[document, label] = 0
    pair = np.array([document]), np.array([label])
    answers = csr_matrix(np.random.default_rng(1).random(Y.shape))
    prepared = [PairFeatures.prepare(rows, csr_matrix(each), answers, np.arange(20)) for each in (Y, less)]
    np.testing.assert_allclose(*(each.of_pairs(*pair, with_size=True) for each in prepared), atol=1e-6)


def test_a_label_is_compared_with_what_is_foreseen_of_it_elsewhere(points):
    rows, Y = points
    answers = np.random.default_rng(2).random(Y.shape)
    told = PairFeatures.prepare(rows, Y, csr_matrix(answers), np.arange(20)).of_pairs(*all_pairs(Y), with_size=True)
    size, answered, of_label, expected = (each.reshape(Y.shape) for each in told.T[-5:-1])
    given, logs = Y.toarray() > 0, np.log(answers + 0.001)
    np.testing.assert_allclose(answered, logs, rtol=1e-5)
    np.testing.assert_allclose(expected, np.log(answers.sum(axis=1, keepdims=True) + 0.01).repeat(6, axis=1), rtol=1e-5)
    for document in range(20):
        others = given & (np.arange(20) % 5 != document % 5)[:, None]
        for label in range(6):
            assert size[document, label] == given[document].sum() - given[document, label]
            sums, count = logs[:, label][others[:, label]].sum(), others[:, label].sum()
            assert of_label[document, label] == pytest.approx((sums + 2 * logs[others].mean()) / (count + 2), abs=1e-5)


def test_answers_by_folds_come_from_models_that_do_not_know_the_document(points):
    _, Y = points
    seen = []

    class Remembers:
        def fit(self, X, Y):
            self.model_, self.rows = self, X.toarray()
            return self

        def decision_function(self, X, n_jobs):
            seen.append(len(self.rows))
            known = (X.toarray()[:, None] == self.rows[None]).all(axis=2).any(axis=1)
            return csr_matrix(np.outer(known + 1, np.ones(6)))

    unlike = normalise(csr_matrix(np.eye(20, dtype=np.float32)))
    answers = answer_by_folds(Remembers, unlike, Y, 4, 1, lambda: None)
    assert (answers.toarray() == 1).all()
    assert seen == [15] * 4


def test_a_label_is_more_doubtful_where_another_is_lacking():
    suspect = np.array([0.0, 0.0, 1.0])
    added = add_what_is_lacking(suspect, np.array([0, 1, 1]), np.array([2.0, -3.0, 5.0]), np.array([1, 0, 2]))
    assert added[1] - added[0] == pytest.approx(REPLACED * 5)
    assert added[2] - added[1] == pytest.approx(1)


@pytest.mark.parametrize("folds", [0, 2])
def test_damaged_labels_come_first_with_their_evidence(tagger, folds):
    doubts = tagger.review_labels(n=10, folds=folds, n_jobs=1)
    assert [doubt.score for doubt in doubts] == sorted((doubt.score for doubt in doubts), reverse=True)
    wrong = next(doubt for doubt in doubts if doubt.kind == "wrong")
    assert (wrong.index, wrong.id, wrong.label) == (MISLABELLED, str(MISLABELLED), "astronomy")
    assert wrong.reason.startswith("0 of the 10 nearest documents have it; they have baking (10), cooking (10)")
    missing = next(doubt for doubt in doubts if doubt.kind == "missing")
    assert (missing.index, missing.label) == (LACKING, "sport")
    assert missing.reason == "10 of the 10 nearest documents have it"
    assert all("sport" in near.labels for near in missing.evidence)
    assert "bicycle" in {word.word for word in missing.evidence[0].words}
    assert str(LACKING) not in {near.id for near in missing.evidence}


@pytest.mark.parametrize("kind", ["wrong", "missing"])
def test_one_kind_of_doubt_can_be_listed_alone(tagger, kind):
    both = tagger.review_labels(n=1000, folds=0, n_jobs=1)
    wanted = [doubt for doubt in both if doubt.kind == kind]
    assert 0 < len(wanted) < len(both)
    assert tagger.review_labels(n=3, kind=kind, folds=0, n_jobs=1) == wanted[:3]


def test_an_unknown_kind_of_doubt_is_refused(tagger):
    with pytest.raises(ParameterError, match="kind must be 'wrong', 'missing' or None \\(both\\), not 'bad'"):
        tagger.review_labels(kind="bad")


def test_other_documents_are_reviewed_among_the_models_own(tagger):
    texts = ["bread oven flour dough", "bicycle wheel pedal chain"]
    doubts = tagger.review_labels(texts, [["astronomy"], ["cycling", "sport"]], ["a", "b"], n=3, n_jobs=1)
    assert {doubt.id for doubt in doubts} <= {"a", "b"}
    assert {(doubt.id, doubt.label, doubt.kind) for doubt in doubts} == {
        ("a", "astronomy", "wrong"),
        ("a", "baking", "missing"),
        ("a", "cooking", "missing"),
    }


def test_a_document_that_the_model_has_is_no_evidence_for_itself(tagger):
    texts, labels = make_corpus()
    documents = list(_documents(tagger, [texts[4], "unheard of"], [["new label"], labels[4]], ["x", "5"]))
    corpus, first = gather_corpus(tagger.stored, documents)
    assert first == 60 - len({place for place, text in enumerate(texts) if text == texts[4]} | {5})
    assert list(corpus.ids[first:]) == ["x", "5"]
    assert corpus.labels_of(first) == ["new label"]
    assert corpus.labels_of(first + 1) == labels[4]


def test_no_documents_no_doubts(tagger):
    assert tagger.review_labels([], [], n=3) == []


def test_a_model_that_has_kept_nothing_is_refused():
    settings = {"embedding_dim": 2, "vote_neighbours": 2, "feature_share": 0.0, "refine": False, "n_jobs": 1}
    texts, labels = make_corpus(15)
    bare = TextTagger("words", X1Classifier(**settings), keep_texts=False).fit(texts, labels)
    with pytest.raises(ModelError, match="kept neither"):
        ReviewedCorpus.of(bare.stored)


def test_a_part_of_many_documents_is_always_the_same():
    mask = choose_documents(100, 30)
    assert mask.sum() == 30
    assert (mask == choose_documents(100, 30)).all()
    assert choose_documents(10, 30).all()


def _documents(tagger, texts, labels, ids):
    from neartag.tagging.labelled_items import make_documents

    return make_documents(tagger.stored.features, texts, labels, ids)
