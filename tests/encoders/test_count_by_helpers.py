"""Texts counted by helper processes: the features and the rows are those of one process, byte for byte."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neartag.core.errors import DataError
from neartag.data.mapped import mapped_bytes, memory_limit
from neartag.encoders import count_by_helpers
from neartag.encoders.tfidf import TfidfFeatures
from process_helpers import inline_helpers

KINDS = [
    {},
    {"word_pairs": True, "char_ngrams": (2, 4), "min_df": 2},
    {"max_df": 0.5, "stop_words": ["b"]},
    {"hashing": 7, "char_ngrams": (2, 3), "min_df": 2},
    {"hashing": 50, "sublinear": False},
]
texts = st.lists(st.text("aabbcdeéf ", max_size=12) | st.lists(st.sampled_from("abc"), max_size=3), max_size=12)


def learn(parameters, given_texts):
    """Return all that is learned, and the rows; or the text of the error."""
    features = TfidfFeatures(**parameters)
    features.block_terms = 5
    try:
        X = features.fit_transform(given_texts)
    except DataError as error:
        return str(error)
    arrays = X.data, X.indices, X.indptr, features.idf_
    return [(array.dtype.str, array.tobytes()) for array in arrays], X.shape, features.feature_names_


@pytest.mark.parametrize("parameters", KINDS)
@given(texts, st.integers(1, 3), st.sampled_from([None, 0, 1, 3]), st.sampled_from([0.0, 1e-6]))
def test_the_same_is_learned(parameters, given_texts, count, works, here):
    wanted = learn(parameters, given_texts)
    with pytest.MonkeyPatch.context() as patch, inline_helpers(count, works=works, here=here):
        patch.setattr(count_by_helpers, "BLOCK_CHARACTERS", 8)
        patch.setattr(count_by_helpers, "MAX_HELPER_TERMS", 4)  # their vocabularies begin anew
        assert learn(parameters, iter(given_texts)) == wanted


@pytest.mark.parametrize("parameters", KINDS)
@given(texts, st.integers(1, 2), st.integers(1, 4))
def test_the_same_is_learned_where_a_result_is_lost(parameters, given_texts, count, loses):
    """With it the terms are lost that a helper numbered: what it counts after that must not be taken by number."""
    wanted = learn(parameters, given_texts)
    with pytest.MonkeyPatch.context() as patch, inline_helpers(count, loses=loses):
        patch.setattr(count_by_helpers, "BLOCK_CHARACTERS", 8)
        assert learn(parameters, iter(given_texts)) == wanted


@pytest.mark.parametrize("number", [0, 7, 19])
@pytest.mark.parametrize("wrong", [3, None, ["a", 3]])
def test_what_is_no_text_is_named_by_its_number(number, wrong, monkeypatch):
    monkeypatch.setattr(count_by_helpers, "BLOCK_CHARACTERS", 8)
    given_texts = ["some words"] * 20
    given_texts[number] = wrong
    with inline_helpers(2), pytest.raises(DataError, match=f"text {number} is"):
        TfidfFeatures().fit(given_texts)


def test_a_single_string_is_refused():
    with inline_helpers(2), pytest.raises(DataError, match="single string"):
        TfidfFeatures().fit("some words")


@pytest.mark.parametrize("parameters", KINDS)
def test_rows_in_files_are_the_same(parameters):
    random = np.random.default_rng(0)
    given_texts = [" ".join(random.choice(list("abcdefgh"), 6)) for _ in range(50)]
    wanted = learn(parameters, given_texts)
    with memory_limit(0):
        assert learn(parameters, given_texts) == wanted
        features = TfidfFeatures(**parameters).fit(given_texts)
        X = features.transform(given_texts)
    assert mapped_bytes(X.data, X.indices) == X.data.nbytes + X.indices.nbytes > 0
    assert (TfidfFeatures(**parameters).fit_transform(given_texts) != X).nnz == 0


def test_rows_take_little_more_than_their_entries():
    random = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(2000)])
    given_texts = [" ".join(words[random.integers(0, len(words), 200)]) for _ in range(2000)]
    features = TfidfFeatures()
    features.block_terms = 2**14
    for limit, most in ((None, 1.6), (2**16, 0.5)):
        tracemalloc.start()
        try:
            with memory_limit(limit):
                X = features.fit_transform(given_texts)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < most * 8 * X.nnz
