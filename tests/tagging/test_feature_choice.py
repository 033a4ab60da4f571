"""Text features chosen by a trial: what is chosen, that it is counted and not clocked, and that it is told."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError
from neartag.data import debian
from neartag.data.documents import Document
from neartag.encoders.feature_kinds import ALL, CHARACTERS, KINDS, PAIRS, WORDS, AutoFeatures, FeatureChoice
from neartag.encoders.tfidf import TfidfFeatures
from neartag.tagging.feature_choice import LIMITS, choose_features, fit_corpus, mean_precision
from neartag.tagging.tagger import TextTagger
from neartag.x1.classifier import X1Classifier

SMALL = LIMITS._replace(min_documents=200, always_allowed=800)
STEMS = ["tor", "melb", "quint", "zarg", "plov", "drisk", "hemp", "vuln", "waxt", "yorg", "crend", "fubal"]


def documents_about_stems(n: int, seed: int = 0) -> tuple[list[str], csr_matrix]:
    """Each text has a word that starts with its label's stem, and hardly any word comes back: words tell nothing."""
    chance = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    about = chance.integers(len(STEMS), size=n)
    texts = []
    for label in about:
        ends = ["".join(chance.choice(letters, 4)) for _ in range(3)]
        texts.append(f"{STEMS[label] * 2}{ends[0]} {ends[1]} {ends[2]}")
    return texts, csr_matrix((np.ones(n, np.float32), (np.arange(n), about)), shape=(n, len(STEMS)))


def documents_about_words(n: int, seed: int = 0) -> tuple[list[str], csr_matrix]:
    """Each text has its label's own word among others that come at chance: runs and pairs add nothing."""
    chance = np.random.default_rng(seed)
    about = chance.integers(len(STEMS), size=n)
    texts = [f"{STEMS[label]} {' '.join(f'w{k}' for k in chance.integers(1000, 2000, size=3))}" for label in about]
    return texts, csr_matrix((np.ones(n, np.float32), (np.arange(n), about)), shape=(n, len(STEMS)))


def test_runs_of_characters_are_taken_where_they_tell_more():
    choice = choose_features(*documents_about_stems(700), limits=SMALL)
    assert choice.kind in (CHARACTERS, ALL)
    assert choice.gain is not None
    assert choice.gain > 10
    assert choice.gain == choice.scores[choice.kind] - choice.scores[WORDS]
    assert "runs of characters" in choice.message
    assert choice.learned_from + choice.tested_on == 700


def test_words_are_enough_where_nothing_tells_more():
    choice = choose_features(*documents_about_words(700), limits=SMALL)
    assert choice.kind == WORDS
    assert choice.gain == 0
    assert list(choice.scores) == [WORDS, PAIRS, CHARACTERS]
    assert "nothing else" in choice.message


def test_a_few_documents_are_not_tried():
    choice = choose_features(*documents_about_words(LIMITS.min_documents - 1))
    assert choice == FeatureChoice(WORDS)
    assert choice.gain is None
    assert "too few" in choice.message


def test_documents_without_labels_or_words_are_not_tried():
    texts, Y = documents_about_words(600)
    assert choose_features(texts, csr_matrix(Y.shape, dtype=np.float32)) == FeatureChoice(WORDS)
    assert choose_features(["…"] * 600, Y) == FeatureChoice(WORDS)


def test_the_trial_keeps_to_its_share_of_the_work():
    texts, Y = documents_about_words(1000)
    limits = SMALL._replace(always_allowed=0, work_share=0.5)
    choice = choose_features(texts, Y, limits=limits)
    assert 0.3 < choice.work_share <= 0.5
    assert choice.learned_from + choice.tested_on < 600
    most = choose_features(texts, Y, limits=SMALL._replace(max_documents=300))
    assert most.learned_from + most.tested_on == 300


def test_the_choice_does_not_depend_on_the_number_of_cores():
    texts, Y = documents_about_stems(400)
    assert choose_features(texts, Y, n_jobs=1, limits=SMALL) == choose_features(texts, Y, n_jobs=2, limits=SMALL)


def test_mean_precision_by_hand():
    Y = csr_matrix(np.array([[1, 0, 1, 0], [0, 0, 0, 1]]))
    labels = np.array([[0, 1, 2, -1, -1], [1, 3, -1, -1, -1]])
    one, other = (1 + 2 / 3 + 2 / 5) / 3, (0 + 1 / 3 + 1 / 5) / 3
    assert mean_precision(labels, Y) == pytest.approx([100 * one, 100 * other])


def test_every_document_is_read_once_and_texts_are_kept_only_if_wished():
    texts, Y = documents_about_words(20)
    made = [Document(text, [f"l{Y[row].indices[0]}"], None, None, "") for row, text in enumerate(texts)]
    corpus, encoder = fit_corpus(iter(made), AutoFeatures({"stop_words": ["tor"]}), keep_texts=False)
    assert corpus.texts is None
    assert encoder.choice_.kind == WORDS
    assert encoder.stop_words == ["tor"]
    assert list(fit_corpus(iter(made), AutoFeatures())[0].texts) == texts
    with pytest.raises(DataError, match="no document"):
        fit_corpus(iter(()), AutoFeatures())


@pytest.fixture(scope="module")
def packages():
    found = debian.load("train")
    return [" ".join(words) for words in found.words[:600]], found.tags[:600]


@pytest.fixture(scope="module")
def chosen(packages):
    return TextTagger(classifier=X1Classifier(embedding_dim=20)).fit(*packages)


def test_the_same_documents_give_the_same_bytes(chosen, packages, tmp_path):
    again = TextTagger("auto", X1Classifier(embedding_dim=20, n_jobs=1)).fit(*packages)
    chosen.save(tmp_path / "one")
    again.save(tmp_path / "other")
    one, other = (
        {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*") if path.is_file()}
        for name in ("one", "other")
    )
    assert one.keys() == other.keys()
    different = {name for name in one if one[name] != other[name]}
    assert different <= {"model.json"}  # it says n_jobs
    assert chosen.stored.features.to_state()[0] == again.stored.features.to_state()[0]


def test_the_choice_is_stored_with_the_model(chosen, tmp_path):
    choice = chosen.stored.features.choice_
    assert choice.scores
    chosen.save(tmp_path / "model")
    assert TextTagger.load(tmp_path / "model").stored.features.choice_ == choice


def test_words_of_a_text_are_shown_whole(packages):
    tagger = TextTagger("all", X1Classifier(embedding_dim=20, refine=True)).fit(*packages)
    text = packages[0][7]
    for reason in tagger.explain(text, 5):
        for shown in [reason.words, *(voter.words for voter in reason.voters)]:
            assert {word for word, _ in shown} <= set(text.split())
        sizes = [abs(weight) for _, weight in reason.words]
        assert all(size >= max(0.005, 0.05 * sizes[0]) for size in sizes)
    assert any(reason.words for reason in tagger.explain(text, 5))


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_by_name(kind):
    tagger = TextTagger(kind, X1Classifier(embedding_dim=2, vote_neighbours=2, n_jobs=1))
    texts = ["bake bread", "ride a bicycle", "bake bread daily", "ride bicycle wheels"]
    tagger.fit(texts, [["food"], ["sport"], ["food"], ["sport"]])
    features = tagger.stored.features
    assert {name: getattr(features, name) for name in KINDS[kind]} == KINDS[kind]
    assert features.choice_ is None
    assert "choice" not in features.to_state()[0]


def test_what_is_no_choice_cannot_be_read():
    features = TfidfFeatures().fit(["a b", "b c"])
    features.choice_ = FeatureChoice(CHARACTERS, {WORDS: 40.0, CHARACTERS: 41.5}, 900, 300, 0.4)
    settings, arrays = features.to_state()
    settings = json.loads(json.dumps(settings))
    assert TfidfFeatures.from_state(settings, arrays).choice_ == features.choice_
    good = settings["choice"]
    for wrong in (
        7,
        {},
        {**good, "kind": "letters"},
        {**good, "scores": {WORDS: 40.0}},
        {**good, "scores": {**good["scores"], "x": 1.0}},
        {**good, "scores": {WORDS: "a", CHARACTERS: 1.0}},
        {**good, "tested_on": None},
        {**good, "more": 1},
    ):
        with pytest.raises(Exception, match="state cannot be read"):
            TfidfFeatures.from_state({**settings, "choice": wrong}, arrays)
