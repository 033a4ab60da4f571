"""Labels renamed, merged, closed and selected in a trained model, which add, forget and loading again respect."""

from __future__ import annotations

import numpy as np
import pytest

from neartag.comparators.knn import KNNClassifier
from neartag.core.errors import DataError, ModelError, ParameterError
from neartag.data import debian
from neartag.data.documents import Document
from neartag.rerank.merged_labels import merge_in_reranker
from neartag.storage import folder, store
from neartag.tagging.live import LiveTagger
from neartag.tagging.tagger import TextTagger
from neartag.vocabulary.concepts import Concept, Vocabulary
from neartag.x1.classifier import X1Classifier

TEXTS = ["bake bread in the oven", "ride a bicycle", "bread with butter", "the wheel of a bicycle", "fly a kite"]
LABELS = [["cooking"], ["cycling"], ["Cooking"], ["cycling"], ["kites"]]
VOCABULARY = Vocabulary(
    (
        Concept("cooking", "http://example.org/c", {"en": "cooking", "de": "Kochen"}, ("Cooking",)),
        Concept("cycling", "http://example.org/b", {"en": "cycling"}, (), ("http://example.org/s",)),
        Concept("kites", "http://example.org/k"),
        Concept("sport", "http://example.org/s", {"en": "sport"}),
    ),
    True,
    "en",
)


def small(vocabulary=None) -> TextTagger:
    classifier = X1Classifier(embedding_dim=2, vote_neighbours=2, refine=False, n_jobs=1)
    return TextTagger("words", classifier, vocabulary=vocabulary).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def refined():
    packages = debian.load("train")
    texts = [" ".join(words) for words in packages.words[:400]]
    return TextTagger("words", X1Classifier(embedding_dim=16, n_jobs=1)).fit(texts, packages.tags[:400])


def best(tagger: TextTagger, text: str, **wishes) -> list[str]:
    return [tag.label for tag in tagger.predict([text], 3, **wishes)[0]]


def test_labels_are_mapped_and_the_vocabulary_is_kept(tmp_path):
    tagger = small(VOCABULARY)
    assert tagger.labels == ["cooking", "cycling", "kites"]
    tagger.save(tmp_path)
    loaded = TextTagger.load(tmp_path)
    assert loaded.vocabulary == VOCABULARY
    assert loaded.vocabulary.get(best(loaded, "butter")[0]).uri == "http://example.org/c"
    assert loaded.stored.manifest.info["vocabulary"]


def test_a_closed_vocabulary_refuses_new_labels_and_takes_its_own(tmp_path):
    with pytest.raises(DataError, match="'sailing' is not in the vocabulary"):
        TextTagger("words", vocabulary=VOCABULARY).fit(TEXTS, [*LABELS[:-1], ["sailing"]])
    small(VOCABULARY).save(tmp_path)
    live = LiveTagger(tmp_path)
    with pytest.raises(DataError, match=r"docs.jsonl:3: the label 'sailing'"):
        live.add([Document("a boat", ["sailing"], "boat", None, "docs.jsonl:3")])
    assert "boat" not in live.tagger
    live.add([Document("a football match", ["sport", "Kochen"], "ball", None, "")])
    assert live.tagger.labels == ["cooking", "cycling", "kites", "sport"]


def test_a_rename_changes_names_only_and_survives(tmp_path):
    small().save(tmp_path)
    live = LiveTagger(tmp_path)
    live.add([Document("a game with the wheel", ["chess"], "game", None, "")])
    before = live.tagger.predict(TEXTS)
    live.change_labels(lambda tagger: tagger.rename_label("cycling", "bicycles"))
    live.change_labels(lambda tagger: tagger.rename_label("chess", "board games"))
    after = TextTagger.load(tmp_path)
    new = {"cycling": "bicycles", "chess": "board games"}
    assert after.predict(TEXTS) == [
        [tag._replace(label=new.get(tag.label, tag.label)) for tag in tags] for tags in before
    ]
    assert any(tag.label == "board games" for tags in after.predict(TEXTS) for tag in tags)
    live.add([Document("kite and oven", ["chess"], "clock", None, ""), Document("a tyre", ["cycling"], "t", None, "")])
    assert live.tagger.labels == ["Cooking", "cooking", "bicycles", "kites", "board games"]
    live.forget(["game"])
    assert best(TextTagger.load(tmp_path), "kite in oven")[0] == "board games"


def test_a_merge_is_as_if_documents_had_the_label_from_the_start(tmp_path):
    """Votes need no training: where votes decide, the merged model has the label matrix of merged documents."""
    small().save(tmp_path)
    live, watching = LiveTagger(tmp_path), LiveTagger(tmp_path)
    live.change_labels(lambda tagger: tagger.merge_label("Cooking", "cooking"))
    assert watching.refresh()
    for tagger in (live.tagger, watching.tagger, TextTagger.load(tmp_path)):
        assert tagger.labels == ["cooking", "cycling", "kites"]
        np.testing.assert_array_equal(tagger.stored.model.Y.toarray(), small(VOCABULARY).stored.model.Y.toarray())
        assert best(tagger, "bread")[0] == "cooking"
    live.add([Document("butter in the oven", ["Cooking"], "egg", None, "")])
    assert len(live.tagger.labels) == 3
    live.forget(["0", "2"])
    assert best(TextTagger.load(tmp_path), "butter in the oven")[0] == "cooking"


def test_a_document_that_has_both_labels_has_one_after_a_merge():
    tagger = small()
    tagger.add(["toast bread"], [["Cooking", "cooking"]])
    tagger.merge_label("cooking", "Cooking")
    assert tagger.stored.model.Y.max() == 1
    assert tagger.stored.model.Y[-1].nnz == 1


@pytest.mark.parametrize("swap", [False, True])
def test_a_refined_model_ranks_the_merged_label(refined, tmp_path, swap):
    labels = np.array(refined.labels)
    common = labels[np.argsort(-refined.stored.model.frequency, kind="stable")[[3, 6]]].tolist()
    gone, into = reversed(common) if swap else common
    refined.save(tmp_path)
    live = LiveTagger(tmp_path)
    live.add([Document("a brand new thing", ["brand::new", gone], "new", None, "")])
    live.change_labels(lambda tagger: tagger.merge_label(gone, into))
    stored = TextTagger.load(tmp_path).stored
    assert gone not in stored.label_names
    assert stored.label_names[-1] == "brand::new"
    number = stored.label_names.index(into)
    old = refined.stored.model
    either = np.asarray(old.Y[:, [refined.labels.index(each) for each in (gone, into)]].max(axis=1).todense()).ravel()
    np.testing.assert_array_equal(stored.model.Y[:-1, number].toarray().ravel(), either)
    reranker = stored.model.reranker
    assert reranker.rankers.has(np.array([number]))[0]
    rows = stored.model.index.rows(np.arange(len(either)))
    margins = reranker.rankers.margins(rows, np.full((len(either), 1), number, np.int32), 1).ravel()
    assert margins[either > 0].min() > margins[either == 0].mean()  # it learned from the documents of both
    # Most documents of the label that is gone now get the one that is left.
    rows = np.flatnonzero(old.Y[:, refined.labels.index(gone)].toarray().ravel())[:20]
    answers = live.tagger.predict([refined.stored.texts[int(row)] for row in rows], 5)
    assert np.mean([into in [tag.label for tag in tags] for tags in answers]) > 0.5
    live.forget(["new"])
    live.add([Document("another thing", [gone], "other", None, "")])
    assert gone not in live.tagger.labels


def test_the_merged_centroid_is_the_sum_of_both(refined):
    model = refined.stored.model
    reranker = model.reranker
    merged = merge_in_reranker(reranker, 2, 5, np.ones(model.n_points, bool), None, 1.0, 0.0).centroids
    before, lengths = reranker.centroids.postings.toarray(), reranker.centroids.lengths
    wanted = lengths[2] * before[:, 2] + lengths[5] * before[:, 5]
    after = merged.postings.toarray()
    np.testing.assert_allclose(merged.lengths[4] * after[:, 4], wanted, atol=1e-5)
    np.testing.assert_array_equal(np.delete(after, 4, axis=1), np.delete(before, [2, 5], axis=1))


def test_new_labels_that_are_merged_get_a_ranker_from_five_documents_on(refined):
    tagger = refined.copy()
    texts = list(refined.stored.texts[:5])
    tagger.add(texts, [["new::one"], ["new::one"], ["new::one"], ["new::two"], ["new::two"]])
    assert tagger.stored.model.reranker.new_rankers is None
    tagger.merge_label("new::two", "new::one")
    number = tagger.labels.index("new::one")
    assert tagger.stored.model.reranker.new_rankers.has(np.array([number]))[0]
    first = refined.labels[0]
    tagger.merge_label("new::one", first)  # a label that was trained takes it in
    assert tagger.stored.model.reranker.new_rankers is None
    assert tagger.labels == refined.labels


def test_closing_and_opening(tmp_path):
    small().save(tmp_path)
    live = LiveTagger(tmp_path)
    live.change_labels(lambda tagger: tagger.close_labels())
    boat = [Document("a boat", ["sailing"], "boat", None, "")]
    with pytest.raises(DataError, match="closed"):
        LiveTagger(tmp_path).add(boat)
    live.add([Document("a bicycle bell", ["cycling"], "bell", None, "")])
    live.change_labels(lambda tagger: tagger.close_labels(False))
    live.add(boat)
    assert live.tagger.labels[-1] == "sailing"


def test_what_cannot_be_changed_is_refused():
    tagger = small(VOCABULARY)
    for wrong in (
        lambda: tagger.rename_label("sailing", "boats"),
        lambda: tagger.rename_label("cooking", "cycling"),
        lambda: tagger.rename_label("cooking", "sport"),
        lambda: tagger.rename_label("cooking", " "),
        lambda: tagger.merge_label("cooking", "Kochen"),
        lambda: tagger.merge_label("cooking", "sport"),
    ):
        with pytest.raises(ParameterError):
            wrong()
    assert tagger.vocabulary == VOCABULARY
    other = TextTagger("words", KNNClassifier(neighbours=2)).fit(TEXTS, LABELS)
    other.rename_label("kites", "kite")
    assert best(other, "kite")[0] == "kite"
    with pytest.raises(ModelError, match="knn"):
        other.merge_label("Cooking", "cooking")


def test_labels_can_be_asked_for_and_left_out():
    tagger = small(VOCABULARY)
    text = "bread on a bicycle"
    everything = tagger.predict([text], 3)[0]
    assert {tag.label for tag in everything} == {"cooking", "cycling"}
    assert tagger.predict([text], 3, exclude=["Kochen"])[0] == [tag for tag in everything if tag.label == "cycling"]
    assert best(tagger, text, include=["under:sport"]) == ["cycling"]
    assert best(tagger, text, include=["c*"], exclude=["cy*"]) == ["cooking"]
    assert best(tagger, text, include=["kites"]) == []
    assert best(tagger, text, include=[]) == []
    tagger.merge_label("kites", "cooking")
    assert best(tagger, text, include=["kites"]) == ["cooking"]  # the name leads to the label that is left


def test_scores_of_a_refined_model_stay_where_labels_are_left_out(refined):
    texts = list(refined.stored.texts[:30])
    width = len(refined.labels)
    everything = refined.predict(texts, width)
    gone = sorted({tags[0].label for tags in everything})[:5]
    less = refined.predict(texts, width, exclude=gone)
    assert less == [[tag for tag in tags if tag.label not in gone] for tags in everything]
    assert less != everything
    only = refined.predict(texts, width, include=gone)
    assert only == [[tag for tag in tags if tag.label in gone] for tags in everything]
    assert refined.predict(texts, width) == everything
    rows, some = refined.stored.features.transform(texts), refined.restrict([everything[0][-1].label], None)
    whole, left = (model.decision_function(rows).toarray() for model in (refined.stored.model, some))
    np.testing.assert_array_equal(left, np.where(some.allowed, whole, 0))  # no frequent label stands in
    assert 0 < left.any(axis=1).sum() < len(texts)


def test_other_methods_answer_with_some_labels_too():
    tagger = TextTagger("words", KNNClassifier(neighbours=5)).fit(TEXTS, LABELS)
    everything = tagger.predict(["bread on a bicycle"], 4)[0]
    without = tagger.predict(["bread on a bicycle"], 4, exclude=["cycling"])[0]
    assert [tag.label for tag in without] == [tag.label for tag in everything if tag.label != "cycling"]


def test_a_change_that_cannot_be_written_changes_nothing(tmp_path, monkeypatch):
    small().save(tmp_path)
    live = LiveTagger(tmp_path)

    def fail(source, target):
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(folder, "replace_file", fail)
        with pytest.raises(ModelError, match="no room"):
            live.change_labels(lambda tagger: tagger.merge_label("Cooking", "cooking"))
    assert live.tagger.labels == TextTagger.load(tmp_path).labels == ["Cooking", "cooking", "cycling", "kites"]
    live.change_labels(lambda tagger: tagger.merge_label("Cooking", "cooking"))
    assert TextTagger.load(tmp_path).labels == ["cooking", "cycling", "kites"]


def test_a_damaged_vocabulary_is_told(tmp_path, monkeypatch):
    small(VOCABULARY).save(tmp_path)
    twice = {"closed": True, "language": "", "concepts": [["a", "", {}, [], []]] * 2}
    monkeypatch.setattr(store, "to_json", lambda vocabulary: twice)
    small(VOCABULARY).save(tmp_path)
    with pytest.raises(ModelError, match="the vocabulary cannot be read"):
        TextTagger.load(tmp_path)
