"""Text features chosen by a trial: what is chosen, that it is counted and not clocked, and that it is told."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from cli_helpers import succeed
from neartag.comparators.knn import KNNClassifier
from neartag.core.errors import DataError, ParameterError
from neartag.core.parameters import parse_bytes
from neartag.data import debian
from neartag.data.documents import Document
from neartag.encoders.feature_kinds import (
    ALL,
    CHARACTERS,
    KINDS,
    NO_LABELS,
    NO_WORDS,
    PAIRS,
    WORDS,
    AutoFeatures,
    FeatureChoice,
)
from neartag.encoders.tfidf import TfidfFeatures
from neartag.tagging import feature_choice, tune_texts
from neartag.tagging.feature_choice import LIMITS, choose_features, fit_corpus
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
    unlabelled = choose_features(texts, csr_matrix(Y.shape, dtype=np.float32))
    assert unlabelled == FeatureChoice(WORDS, untried=NO_LABELS)
    assert unlabelled.message == "words, as the documents to learn from have no labels"
    wordless = choose_features(["…"] * 600, Y)
    assert wordless == FeatureChoice(WORDS, untried=NO_WORDS)
    assert wordless.message == "words, as there is no word in the documents that were looked at"


def test_why_nothing_was_tried_is_stored_where_it_is_not_the_usual_reason():
    assert "untried" not in FeatureChoice(WORDS).to_json()
    assert "untried" not in FeatureChoice(CHARACTERS, {WORDS: 40.0, CHARACTERS: 41.5}, 900, 300, 0.4).to_json()
    choice = FeatureChoice(WORDS, untried=NO_LABELS)
    assert FeatureChoice.from_json(json.loads(json.dumps(choice.to_json()))) == choice


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


def test_the_trial_keeps_to_the_limit_of_memory(monkeypatch):
    fit, limits = X1Classifier.fit, []
    monkeypatch.setattr(X1Classifier, "fit", lambda self, *given: limits.append(self.max_memory) or fit(self, *given))
    texts, Y = documents_about_words(300)
    choice = choose_features(texts, Y, n_jobs=1, max_memory="64GB", limits=SMALL)
    assert limits == [64 * 2**30] * len(choice.scores)
    assert choice == choose_features(texts, Y, n_jobs=1, limits=SMALL)
    with pytest.raises(ParameterError, match=r"no room for the trial that chooses the features .* name the features"):
        choose_features(texts, Y, n_jobs=1, max_memory="1KB", limits=SMALL)
    with pytest.raises(ParameterError, match="lots"):
        choose_features(texts, Y, n_jobs=1, max_memory="lots", limits=SMALL)


def test_who_lets_features_be_chosen_passes_the_limit_on(monkeypatch, tmp_path):
    told = []

    def choose(texts, Y, parameters, *, n_jobs, max_memory):
        told.append(max_memory)
        return FeatureChoice(WORDS)

    for module in (feature_choice, tune_texts):
        monkeypatch.setattr(module, "choose_features", choose)
    texts, labels = ["bake bread", "ride a bicycle"] * 60, [["food"], ["sport"]] * 60
    knn = KNNClassifier(neighbours=2, max_memory="4GB", n_jobs=1)
    TextTagger("auto", knn).fit(texts, labels)
    tune_texts.tune_texts(texts, labels, "knn", tried={"neighbours": [2]}, n_jobs=1, max_memory="4GB")
    assert set(told) == {"4GB"}
    told.clear()
    lines = [json.dumps({"text": text, "labels": given}) for text, given in zip(texts, labels, strict=True)]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    common = ("--method", "knn", "--n-jobs", 1, "--max-memory", "4GB", "-q")
    succeed("train", tmp_path / "train.jsonl", tmp_path / "model", *common)
    succeed("tune", tmp_path / "train.jsonl", *common, "--try", "neighbours=2")
    assert {parse_bytes(limit) for limit in told} == {4 * 2**30}


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
        {**good, "untried": "no reason"},
        {**good, "untried": [1]},
    ):
        with pytest.raises(Exception, match="state cannot be read"):
            TfidfFeatures.from_state({**settings, "choice": wrong}, arrays)
