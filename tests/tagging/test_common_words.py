"""Texts that have no word in common, such as those of a language without blanks, are warned of."""

from __future__ import annotations

import warnings

import pytest

from neartag.encoders.tfidf import TfidfFeatures
from neartag.tagging.common_words import warn_of_texts_apart
from neartag.tagging.tagger import TextTagger
from neartag.x1.classifier import X1Classifier

SIGNS = "猫狗鸟鱼马牛羊鸡"
CHINESE = [f"我喜欢{one}和{other}" for one in SIGNS for other in SIGNS if one < other]
ENGLISH = [f"a text about the number {number}" for number in range(40)]


def warned(texts, **parameters):
    encoder = TfidfFeatures(**parameters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_texts_apart(encoder.fit_transform(texts), encoder)
    return [str(each.message) for each in caught]


def test_texts_without_blanks_are_warned_of():
    (said,) = warned(CHINESE)
    assert said.startswith("28 of 28 texts have no word that another text has")
    assert "--features characters" in said
    assert len(warned(CHINESE, word_pairs=True)) == 1
    (said,) = warned([*CHINESE, *ENGLISH[:20]])
    assert said.startswith("28 of 48 texts")


@pytest.mark.parametrize(
    ("texts", "parameters"),
    [
        (ENGLISH, {}),
        (CHINESE, {"char_ngrams": (1, 2)}),
        (CHINESE[:10], {}),  # so few may have nothing in common in any language
        ([*CHINESE, *ENGLISH], {}),
        (["", *[""] * 30, "one", "two"], {}),  # texts without any word are another matter
    ],
)
def test_others_are_not(texts, parameters):
    assert warned(texts, **parameters) == []


def test_training_warns_of_them():
    tagger = TextTagger("words", X1Classifier(refine=False, n_learners=1, n_jobs=1))
    with pytest.warns(UserWarning, match="28 of 28 texts have no word"):
        tagger.fit(CHINESE, [[text[3]] for text in CHINESE])
