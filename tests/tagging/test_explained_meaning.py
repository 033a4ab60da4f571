"""Which words make two texts near in meaning: those without which they are less alike."""

from __future__ import annotations

import numpy as np

from neartag.encoders.sentence import SentenceFeatures
from neartag.encoders.tfidf import TfidfFeatures
from neartag.storage.bundle import StoredModel
from neartag.storage.texts import Texts
from neartag.tagging.explained_meaning import MAX_LEFT_OUT, TextMeaning, _leave_out


class Animals:
    """Vectors by hand: one number for cats, one for cars, and a little of neither."""

    def encode(self, texts):
        rows = [[0.1, *(sum(text.lower().count(word) for word in words) for words in (("cat", "kissa"), ("car",)))]
                for text in texts]  # fmt: skip
        return np.array(rows, np.float32)


def stored(features, texts=("kissa nukkuu", "a fast car")):
    kept = None if texts is None else Texts.from_strings(texts)
    return StoredModel(None, None, None, features, {}, kept)


def test_the_word_that_counts():
    features = SentenceFeatures(Animals()).fit([])
    meaning = TextMeaning(stored(features), "My Cat likes the car, my cat!", 5)
    (of_cat,) = meaning.near_words(0)
    assert of_cat.word == "cat"
    full, rest = np.array([0.1, 2, 1]), np.array([0.1, 0, 1])
    document = np.array([0.1, 1, 0])
    wanted = full @ document / np.linalg.norm(full) - rest @ document / np.linalg.norm(rest)
    assert np.isclose(of_cat.weight, wanted / np.linalg.norm(document), atol=1e-6)
    assert [word.word for word in meaning.near_words(1)] == ["car"]


def test_a_long_text_is_taken_by_sentences():
    fillers = [" ".join(f"word{number}x{each}" for each in range(6)) for number in range(10)]
    text = ". ".join([*fillers[:5], "The cat sleeps", *fillers[5:]]) + "."
    features = SentenceFeatures(Animals()).fit([])
    assert [word.word for word in TextMeaning(stored(features), text, 5).near_words(0)] == ["The cat sleeps."]
    parts, rest = _leave_out(". ".join(f"Sentence number{n} of many" for n in range(200)))
    assert len(parts) == len(rest) <= MAX_LEFT_OUT


def test_nothing_to_say():
    features = SentenceFeatures(Animals()).fit([])
    assert TextMeaning(stored(features, None), "a cat", 5).near_words(0) == []
    assert TextMeaning(stored(features), "a cat", 0).near_words(0) == []
    assert TextMeaning(stored(TfidfFeatures().fit(["a cat"])), "a cat", 5).near_words(0) == []
    assert TextMeaning(stored(features), "", 5).near_words(0) == []
