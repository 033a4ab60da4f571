"""Languages: their names, their stop words, and words counted by their stems."""

from __future__ import annotations

import json
import pickle
import sys

import pytest

from neartag.core.errors import ModelError, NeartagError, ParameterError
from neartag.encoders.languages import LANGUAGES, frequent_stop_words, language_code
from neartag.encoders.tfidf import TfidfFeatures
from neartag.tagging.tagger import TextTagger
from neartag.x1.classifier import X1Classifier

TEXTS = ["the cats and the dog", "a cat sat on the mat", "dogs barking at the cats", "fire in the system"]


@pytest.fixture
def packages():
    pytest.importorskip("snowballstemmer")
    pytest.importorskip("stopwordsiso")


@pytest.mark.parametrize(
    ("name", "code"), [("fi", "fi"), ("FI", "fi"), (" Finnish ", "fi"), ("english", "en"), ("nb", "no"), ("nn", "no")]
)
def test_a_language_has_a_code_and_a_name(name, code):
    assert language_code(name) == code


@pytest.mark.parametrize("name", ["klingon", "", "xx", 7, ["fi"]])
def test_another_language_is_refused_with_the_list(name):
    with pytest.raises(ParameterError, match=r"ar \(arabic\), .*fi \(finnish\)"):
        language_code(name)
    with pytest.raises(ParameterError, match="language="):
        TfidfFeatures(language=name).fit(TEXTS)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "stopwordsiso", None)
    with pytest.raises(NeartagError, match=r'stopwordsiso: pip install "neartag\[languages\]"'):
        TfidfFeatures(language="fi").fit(TEXTS)


def test_predicting_needs_the_package_for_stems_only(monkeypatch, packages):
    state, arrays = TfidfFeatures(language="en").fit(TEXTS).to_state()
    monkeypatch.setitem(sys.modules, "stopwordsiso", None)
    features = TfidfFeatures.from_state(json.loads(json.dumps(state)), arrays)
    assert features.transform(["my cats"]).nnz == 1
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    features = TfidfFeatures.from_state(state, arrays)
    with pytest.raises(NeartagError, match=r'English words need snowballstemmer: pip install "neartag\[languages\]"'):
        features.transform(["my cats"])


def test_every_language_has_a_stemmer(packages):
    import snowballstemmer

    assert set(LANGUAGES.values()) <= set(snowballstemmer.algorithms())


def test_words_are_counted_by_their_stems(packages):
    features = TfidfFeatures(language="English").fit(TEXTS)
    assert "the" in features.language_stop_words_
    assert {"cat", "dog", "bark"} <= set(features.feature_names_)
    assert not {"cats", "dogs", "barking", "the"} & set(features.feature_names_)
    (term,) = [term for term in features.terms_of("CATS") if term[1] >= 0]
    assert term[0] == "cat"
    assert features.spans("The CATS") == [(0, 3, "the", -1), (4, 8, "cats", term[1])]
    assert features.word_parts("The CATS cat") == [("cats", term[1], 0.5), ("cat", term[1], 0.5)]
    assert (features.fit_transform(TEXTS) != features.transform(TEXTS)).nnz == 0


def test_only_frequent_stop_words_are_left_out(packages):
    texts = ["the system"] + 99 * ["the dog"]
    assert frequent_stop_words("en", texts) == ["the"]
    assert frequent_stop_words("en", texts, min_share=0.01) == ["system", "the"]
    assert frequent_stop_words("yi", texts) == []  # there is no list for it
    own = TfidfFeatures(language="en", stop_words=["Dog"]).fit(texts)
    assert own.feature_names_ == ["system"]


def test_the_state_has_the_language_and_its_stop_words(packages):
    features = TfidfFeatures(language="english", char_ngrams=(3, 4), word_pairs=True).fit(TEXTS)
    state, arrays = features.to_state()
    assert state["language"] == "en"
    again = TfidfFeatures.from_state(json.loads(json.dumps(state)), arrays)
    copied = pickle.loads(pickle.dumps(features))
    for other in (again, copied):
        assert (other.transform(TEXTS) != features.transform(TEXTS)).nnz == 0
        assert other.language_stop_words_ == features.language_stop_words_
    assert "language" not in TfidfFeatures().fit(TEXTS).to_state()[0]
    for wrong in ({"language": "klingon"}, {"language_stop_words": None}, {"language_stop_words": [1]}):
        with pytest.raises(ModelError, match="state cannot be read"):
            TfidfFeatures.from_state({**state, **wrong}, arrays)
    with pytest.raises(ModelError, match="language_stop_words"):
        TfidfFeatures.from_state({name: state[name] for name in state if name != "language_stop_words"}, arrays)


def test_a_reason_shows_the_words_of_the_text(packages):
    tagger = TextTagger(TfidfFeatures(language="en"), X1Classifier(embedding_dim=2, vote_neighbours=2, n_jobs=1))
    tagger.fit([*TEXTS[:3], "baking breads", "a baked bread"], [["pets"]] * 3 + [["food"]] * 2)
    (reason,) = tagger.explain("who bakes bread?", 1)
    assert reason.label == "food"
    assert {word.word for voter in reason.voters for word in voter.words} == {"bakes", "bread"}
