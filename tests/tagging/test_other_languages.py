"""Texts in Finnish and German: words, stop words, explanations. Nothing in the path may assume English."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest

from neartag import TextTagger, X1Classifier
from neartag.encoders.hybrid import HybridFeatures
from neartag.encoders.terms import spans_of, words_of
from neartag.encoders.tfidf import TfidfFeatures
from sentence_helpers import make_documents

GERMAN = "Die GRÖSSE der Straße: Käse-Brötchen, Öl und „Äpfel“"
FINNISH = "Äiti leipoo hääyöaikeissa ruisleipää; ÅLAND, yö!"


class Meanings:
    """Vectors by hand: bread, cars and stars, in two languages; counts what is encoded."""

    words = (("leipä", "taikina", "brot", "teig"), ("auto", "moottori", "wagen", "triebwerk"), ("tähti", "himmel"))

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts):
        self.encoded += texts
        return np.array([[0.1, *(sum(map(text.lower().count, each)) for each in self.words)] for text in texts])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GERMAN, ["die", "grösse", "der", "straße", "käse", "brötchen", "öl", "und", "äpfel"]),
        (FINNISH, ["äiti", "leipoo", "hääyöaikeissa", "ruisleipää", "åland", "yö"]),
        ("İstanbul ja Ǖ̃", None),
    ],
)
def test_words_are_whole_however_their_letters_are_written(text, words):
    for written in (text, unicodedata.normalize("NFD", text), unicodedata.normalize("NFC", text)):
        found = words_of(written)
        assert words is None or found == words
        spans = spans_of(written)
        assert [word for _, _, word in spans] == found
        for start, end, word in spans:
            assert words is None or unicodedata.normalize("NFC", written[start:end]).lower() == word
            assert 0 <= start < end <= len(written)


@pytest.fixture(scope="module")
def tagger():
    documents = make_documents(60)
    texts, labels = [each["text"] for each in documents], [each["labels"] for each in documents]
    features = HybridFeatures("words", Meanings())
    return TextTagger(features, X1Classifier(embedding_dim=4, refine=False, n_jobs=1)).fit(texts, labels)


def test_texts_without_a_common_word_are_explained(tagger):
    encoder = tagger.stored.features.vectors_.encoder
    encoder.encoded.clear()
    (reason,) = tagger.explain("Die TEIGE, täglich", k=1)
    assert reason.label == "ruoka"
    assert {word.word for voter in reason.voters for word in voter.meaning} == {"teige"}
    assert all("teige" in text.lower() or "täglich" in text for text in encoder.encoded), "no document is encoded again"


@pytest.mark.parametrize(("language", "stop", "kept"), [("fi", "ja", "leipä"), ("de", "und", "brot")])
def test_stop_words_are_those_of_the_language(language, stop, kept):
    pytest.importorskip("snowballstemmer")
    pytest.importorskip("stopwordsiso")
    texts = [f"{kept} {stop} word{number}" for number in range(40)]
    features = HybridFeatures(TfidfFeatures(language=language), Meanings()).fit(texts)
    assert features.transform([stop]).words.nnz == 0
    assert features.transform([kept]).words.nnz == 1
    assert features.language == language
