"""Tf-idf rows by hand, against scikit-learn, and through their saved state."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neartag.errors import DataError, ModelError, NeartagError, ParameterError
from neartag.features import CHARACTER_MARK, TfidfFeatures

TEXTS = [
    "The red fox saw the Blue_fox",
    "a fox! and the hound, the hound; THE hound",
    "Grüße aus Köln: 42 Füchse",
    "лиса и 狐狸 και η αλεπού",
    "",
    "red red red blue",
    "... --- ___",
]
TOKEN_PATTERN = r"[^\W_]+"


def same_rows(ours, theirs):
    """Both matrices, columns in the same order, to float32's precision."""
    assert ours.shape == theirs.shape
    assert ours.dtype == np.float32
    assert ours.has_sorted_indices
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), rtol=1e-6, atol=1e-7)


def test_two_texts_by_hand():
    features = TfidfFeatures()
    rows = features.fit_transform(["a b b", "b c"]).toarray()
    assert features.feature_names_ == ["a", "b", "c"]
    rare, common = np.log(3 / 2) + 1, np.log(3 / 3) + 1  # (1 + n) / (1 + df)
    np.testing.assert_allclose(features.idf_, [rare, common, rare])
    first = np.array([rare, (1 + np.log(2)) * common, 0])
    second = np.array([0, common, rare])
    np.testing.assert_allclose(rows, [first / np.linalg.norm(first), second / np.linalg.norm(second)], rtol=1e-6)
    np.testing.assert_array_equal(features.transform(["zzz", "C zzz", ""]).toarray(), [[0, 0, 0], [0, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"sublinear": False}, {"sublinear_tf": False}),
        ({"word_pairs": True}, {"ngram_range": (1, 2)}),
        ({"min_df": 2}, {"min_df": 2}),
        ({"min_df": 0.2, "max_df": 0.4}, {"min_df": 0.2, "max_df": 0.4}),
        ({"max_df": 1}, {"max_df": 1}),
        ({"stop_words": ["the", "a"], "word_pairs": True}, {"stop_words": ["the", "a"], "ngram_range": (1, 2)}),
    ],
)
def test_equal_to_scikit_learn(ours, theirs):
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(**{"sublinear_tf": True, "token_pattern": TOKEN_PATTERN, **theirs})
    features = TfidfFeatures(**ours)
    same_rows(features.fit_transform(TEXTS), vectorizer.fit_transform(TEXTS))
    assert features.feature_names_ == list(vectorizer.get_feature_names_out())
    more = ["a blue hound and nothing known", "", "FOX fox 42"]
    same_rows(features.transform(more), vectorizer.transform(more))


def test_character_ngrams_equal_to_scikit_learn():
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = ["red fox i saw", "a hound", "", "foxes foxes"]  # nothing but words: char_wb itself does not drop signs
    theirs = TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=(3, 5), norm=None)
    expected = theirs.fit_transform(words).toarray()
    features = TfidfFeatures(char_ngrams=(3, 5))
    rows = features.fit_transform(words).toarray()
    is_ngram = np.array([name.startswith(CHARACTER_MARK) for name in features.feature_names_])
    names = [name.removeprefix(CHARACTER_MARK) for name in np.array(features.feature_names_)[is_ngram]]
    assert names == list(theirs.get_feature_names_out())
    # Words and n-grams share one norm, so only the direction within the n-grams is comparable.
    for ours, row in zip(rows[:, is_ngram], expected, strict=True):
        np.testing.assert_allclose(ours * np.linalg.norm(row), row * np.linalg.norm(ours), rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 1, 0, 1], rtol=1e-6)


def test_strings_and_lists_of_words_meet():
    features = TfidfFeatures().fit(["Red fox", ["red", "New York"]])
    assert features.feature_names_ == ["fox", "new york", "red"]
    rows = features.transform(["red FOX", ["Red", "Fox"], ("fox", "red")]).toarray()
    np.testing.assert_array_equal(rows, np.tile(rows[0], (3, 1)))


def test_fit_transform_equals_fit_then_transform():
    features = TfidfFeatures(word_pairs=True, char_ngrams=(2, 3), min_df=2)
    at_once = features.fit_transform(TEXTS)
    assert (at_once != features.fit(iter(TEXTS)).transform(TEXTS)).nnz == 0


texts = st.lists(st.one_of(st.text(), st.lists(st.text(max_size=5), max_size=5)), min_size=1, max_size=8)
parameters = st.fixed_dictionaries(
    {
        "word_pairs": st.booleans(),
        "sublinear": st.booleans(),
        "min_df": st.sampled_from([1, 2, 0.0, 0.25, np.int64(1)]),
        "max_df": st.sampled_from([1.0, 0.9, 3]),
        "stop_words": st.sampled_from([None, [], {"a", "B"}, ("0",)]),
        "char_ngrams": st.sampled_from([None, (1, 1), (3, 5), [2, 2]]),
    }
)


@settings(max_examples=150, deadline=None)
@given(texts, texts, parameters)
def test_state_round_trip_and_unit_rows_on_any_unicode(train, new, chosen):
    features = TfidfFeatures(**chosen)
    try:
        rows = features.fit_transform(train)
    except DataError:
        return  # nothing left to learn from
    assert features.feature_names_ == sorted(set(features.feature_names_))
    written, arrays = features.to_state()
    again = TfidfFeatures.from_state(json.loads(json.dumps(written)), {name: a.copy() for name, a in arrays.items()})
    for batch in (train, new):
        before, after = features.transform(batch), again.transform(batch)
        assert np.array_equal(before.indptr, after.indptr)
        assert np.array_equal(before.indices, after.indices)
        assert before.data.tobytes() == after.data.tobytes()
    lengths = np.sqrt(rows.multiply(rows).sum(axis=1)).A1
    np.testing.assert_allclose(lengths[np.diff(rows.indptr) > 0], 1, rtol=1e-5)
    assert (rows != features.transform(train)).nnz == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("word_pairs", "yes"),
        ("sublinear", None),
        ("min_df", 0),
        ("min_df", 1.5),
        ("min_df", True),
        ("max_df", "all"),
        ("max_df", float("nan")),
        ("stop_words", "the"),
        ("stop_words", [1]),
        ("char_ngrams", 3),
        ("char_ngrams", (5, 3)),
        ("char_ngrams", (0, 3)),
        ("char_ngrams", (3, 4, 5)),
        ("char_ngrams", "35"),
    ],
)
def test_a_bad_parameter_is_named_with_its_value(name, value):
    with pytest.raises(ParameterError) as caught:
        TfidfFeatures(**{name: value}).fit(TEXTS)
    assert str(caught.value).startswith(f"{name}={value!r}")


def test_before_fit_it_says_so():
    for call in (lambda: TfidfFeatures().transform(TEXTS), lambda: TfidfFeatures().to_state()):
        with pytest.raises(NeartagError, match="call fit"):
            call()


@pytest.mark.parametrize("bad", ["one string", [None], [3], [b"bytes"], [["a", 1]]])
def test_what_is_no_list_of_texts_is_refused(bad):
    with pytest.raises(DataError, match="text"):
        TfidfFeatures().fit(bad)


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(DataError, match="no word is left of 2 texts with 0 different words"):
        TfidfFeatures().fit(["", "--"])
    with pytest.raises(DataError, match="min_df=3"):
        TfidfFeatures(min_df=3).fit(["a", "b"])
    with pytest.raises(DataError, match="no word is left"):
        TfidfFeatures().fit([])


def test_a_damaged_state_is_refused():
    written, arrays = TfidfFeatures().fit(TEXTS).to_state()
    damaged = [
        ({}, arrays),
        (written, {}),
        (written, {"idf": arrays["idf"][1:]}),
        ({**written, "feature_names": None}, arrays),
        ({**written, "feature_names": [1] * len(arrays["idf"])}, arrays),
        ({**written, "min_df": "x"}, arrays),
        ({**written, "char_ngrams": [1]}, arrays),
        (None, arrays),
    ]
    for bad_settings, bad_arrays in damaged:
        with pytest.raises(ModelError, match="text features' state"):
            TfidfFeatures.from_state(bad_settings, bad_arrays)


def test_no_scikit_learn_is_imported():
    code = "import sys, neartag.features as f; f.TfidfFeatures().fit(['a']); assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_many_short_titles_take_little_time():
    titles = [f"title {number % 997} of part {number % 31} and word{number}" for number in range(20_000)]
    start = time.process_time()
    rows = TfidfFeatures().fit_transform(titles)
    assert rows.shape[0] == len(titles)
    assert time.process_time() - start < 4  # about 0.2 s; the margin is for busy machines
