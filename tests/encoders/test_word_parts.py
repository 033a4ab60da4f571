"""Which words of a text hold its features."""

from __future__ import annotations

import numpy as np
import pytest

from neartag.encoders.tfidf import TfidfFeatures
from neartag.tagging.explained_words import ColumnHolders, telling_words

TEXTS = ["red fox ran", "the red dog", "foxes and dogs ran and ran", "a firefox"]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"word_pairs": True},
        {"char_ngrams": (3, 5)},
        {"word_pairs": True, "char_ngrams": (2, 4), "stop_words": ["the"]},
        {"hashing": 16, "word_pairs": True, "char_ngrams": (3, 4)},
    ],
)
def test_the_parts_of_a_column_add_up(settings):
    features = TfidfFeatures(**settings).fit(TEXTS)
    for text in [*TEXTS, "unknown words and a red fox, foxes", ""]:
        parts = features.word_parts(text)
        columns = features.transform([text]).indices
        assert sorted({column for _, column, _ in parts}) == columns.tolist()
        totals = np.bincount([column for _, column, _ in parts], [part for *_, part in parts], features.n_features)
        assert totals[columns] == pytest.approx(1)
        assert {word for word, _, _ in parts} <= set(text.replace(",", "").split())


def test_parts_by_hand():
    features = TfidfFeatures(word_pairs=True, char_ngrams=(3, 3)).fit(TEXTS)
    column = {name: place for place, name in enumerate(features.feature_names_)}
    parts = features.word_parts("Fox foxes fox")
    assert [part for part in parts if part[1] == column["fox"]] == [("fox", column["fox"], 1.0)]
    assert sorted(part for part in parts if part[1] == column["\tfox"]) == [
        ("fox", column["\tfox"], pytest.approx(2 / 3)),
        ("foxes", column["\tfox"], pytest.approx(1 / 3)),
    ]
    pair = features.word_parts("red fox")
    assert sorted(part for part in pair if part[1] == column["red fox"]) == [
        ("fox", column["red fox"], 0.5),
        ("red", column["red fox"], 0.5),
    ]


def test_weights_are_added_up_on_words():
    features = TfidfFeatures(word_pairs=True).fit(TEXTS)
    column = {name: place for place, name in enumerate(features.feature_names_)}
    holders = ColumnHolders(features, "red fox and dogs")
    columns = np.array([column["red fox"], column["red"], column["the"]])
    weights = holders.add_up(columns, np.array([1.0, 0.25, 9.0]))
    assert dict(zip(holders.words, weights, strict=True)) == {"red": 0.75, "fox": 0.5, "and": 0, "dogs": 0}
    assert holders.add_up(columns[:0], np.empty(0)).tolist() == [0] * 4
    assert ColumnHolders(features, "").add_up(columns, np.ones(3)).tolist() == []


def test_terms_stand_for_themselves_where_an_encoder_says_no_more():
    class Terms:
        def terms_of(self, text):
            return [("a", 3), ("b", -1), ("c", 1), ("d", 3)]

    holders = ColumnHolders(Terms(), "")
    assert dict(zip(holders.words, holders.add_up(np.array([1, 3]), np.array([2.0, 5.0])), strict=True)) == {
        "a": 5,
        "c": 2,
    }


def test_words_that_say_nothing_are_not_shown():
    words, weights = ["a", "b", "c", "d", "e"], np.array([0.0, -1.0, 0.5, 0.049, 0.051])
    assert telling_words(words, weights, 9, 0.05) == [("b", -1.0), ("c", 0.5), ("e", 0.051)]
    assert telling_words(words, weights, 2, 0.05) == [("b", -1.0), ("c", 0.5)]
    assert telling_words(words, weights / 20, 9, 0.05, least=0.005) == [("b", -0.05), ("c", 0.025)]
    assert telling_words([], np.empty(0), 9, 0.05) == []
