"""Tf-idf rows by hand, against scikit-learn, and through their saved state; terms and where they stand in a text."""

import json
import os
import pickle
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from call_counts import count_calls
from neartag.core.errors import DataError, ModelError, NeartagError, ParameterError
from neartag.encoders.terms import WORD, CacheLimits, HashedColumns, Vocabulary, hash_column, words_of
from neartag.encoders.tfidf import CHARACTER_MARK, TfidfFeatures

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


def same_bytes(first, second):
    """Nothing tells the two matrices apart."""
    assert first.shape == second.shape
    for name in ("data", "indices", "indptr"):
        one, other = getattr(first, name), getattr(second, name)
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


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


@pytest.mark.parametrize(
    "options", [{"min_df": 0.0}, {"word_pairs": True, "sublinear": False}, {"min_df": 2, "max_df": 3}]
)
@pytest.mark.parametrize("buckets", [1, 7, 10_000])
def test_hashing_equal_to_scikit_learn_with_our_hash(options, buckets):
    from sklearn.feature_extraction.text import TfidfVectorizer

    span = (1, 2) if options.get("word_pairs") else (1, 1)
    analyse = TfidfVectorizer(token_pattern=TOKEN_PATTERN, ngram_range=span).build_analyzer()
    # Each bucket is a word of its own there; min_df and max_df apply to these.
    theirs = TfidfVectorizer(
        analyzer=lambda text: [f"{hash_column(term, buckets):05}" for term in analyse(text)],
        sublinear_tf=options.get("sublinear", True),
        min_df=options.get("min_df", 1),
        max_df=options.get("max_df", 1.0),
    )
    features = TfidfFeatures(hashing=buckets, **options)
    try:
        expected = theirs.fit_transform(TEXTS)
    except ValueError:  # nothing is left
        with pytest.raises(DataError, match="no word is left"):
            features.fit(TEXTS)
        return
    rows = features.fit_transform(TEXTS)
    used = theirs.get_feature_names_out().astype(int)
    assert rows.shape == (len(TEXTS), buckets)
    np.testing.assert_array_equal(np.flatnonzero(features.idf_), used)
    np.testing.assert_allclose(features.idf_[used], theirs.idf_, rtol=1e-12)
    same_rows(rows[:, used], expected)
    assert rows.nnz == expected.nnz  # a bucket that is left out has no entry, not even a zero
    more = ["a blue hound and nothing known", "", "FOX fox 42"]
    same_rows(features.transform(more)[:, used], theirs.transform(more))
    assert features.transform(more).nnz == theirs.transform(more).nnz


def test_hashing_without_collisions_gives_the_rows_of_a_vocabulary():
    options = {"word_pairs": True, "char_ngrams": (2, 4), "min_df": 2, "stop_words": ["the"]}
    plain, hashed = TfidfFeatures(**options), TfidfFeatures(hashing=2**24, **options)
    rows, buckets = plain.fit_transform(TEXTS), hashed.fit_transform(TEXTS)
    columns = [hash_column(name, 2**24) for name in plain.feature_names_]
    assert len(set(columns)) == len(columns)
    assert hashed.feature_names_ is None
    np.testing.assert_array_equal(hashed.idf_[columns], plain.idf_)
    np.testing.assert_allclose(buckets[:, columns].toarray(), rows.toarray(), rtol=1e-6)
    assert buckets.nnz == rows.nnz


HASHED_DIGEST = """
import hashlib, json, sys
from neartag.encoders.tfidf import TfidfFeatures
features = TfidfFeatures(hashing=5003, word_pairs=True, char_ngrams=(3, 4))
rows = features.fit_transform(json.loads(sys.argv[1]))
parts = (rows.data, rows.indices, rows.indptr, features.idf_)
print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
"""


def test_hashing_is_the_same_in_every_process():
    command = [sys.executable, "-c", HASHED_DIGEST, json.dumps(TEXTS)]
    digests = set()
    for seed in ("0", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        digests.add(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert len(digests) == 1
    # CRC-32's published check value: saved models depend on it for ever.
    assert hash_column("123456789", 2**31 - 1) == 0xCBF43926 % (2**31 - 1)
    assert 0 <= hash_column("\ud800", 1000) < 1000  # what is no valid Unicode has a bucket too


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


@pytest.mark.parametrize("hashing", [None, 64])
def test_texts_may_come_one_by_one_and_are_read_once(hashing):
    options = {"word_pairs": True, "char_ngrams": (2, 3), "hashing": hashing}
    features = TfidfFeatures(**options)
    expected, later = features.fit_transform(TEXTS), features.transform(TEXTS[::-1])

    class SmallBlocks(TfidfFeatures):
        block_terms = 20  # so that there are several

    streamed = SmallBlocks(**options)
    same_bytes(streamed.fit_transform(text for text in TEXTS), expected)
    same_bytes(streamed.transform(iter(TEXTS[::-1])), later)
    assert streamed.idf_.tobytes() == features.idf_.tobytes()
    assert streamed.transform(iter([])).shape == (0, expected.shape[1])


def test_the_texts_of_a_stream_are_not_kept():
    alive = 0

    class Counted(str):
        def __init__(self, _):
            nonlocal alive
            alive += 1

        def __del__(self):
            nonlocal alive
            alive -= 1

    most = 0

    def stream():
        nonlocal most
        for number in range(1000):
            yield Counted(f"text number {number}")
            most = max(most, alive)

    TfidfFeatures(hashing=100).fit_transform(stream())
    assert most <= 3


def test_columns_of_words_are_cached_only_so_far():
    limits = CacheLimits(words=3, longest_word=4)
    for hashing in (None, 50):
        features = TfidfFeatures(char_ngrams=(2, 3), hashing=hashing)
        rows = features.fit_transform(TEXTS)
        used = (features.idf_ > 0).tobytes()
        columns = Vocabulary(features.feature_names_, (2, 3), limits) if hashing is None else None
        features._columns = columns or HashedColumns(used, (2, 3), limits)
        same_bytes(features.transform(TEXTS), rows)
        assert 0 < len(features._columns._ngrams) <= 3
        assert max(map(len, features._columns._ngrams)) <= 4
        again = pickle.loads(pickle.dumps(features))
        assert len(again._columns._ngrams) == 0
        same_bytes(again.transform(TEXTS), rows)


texts = st.lists(st.one_of(st.text(), st.lists(st.text(max_size=5), max_size=5)), min_size=1, max_size=8)
parameters = st.fixed_dictionaries(
    {
        "word_pairs": st.booleans(),
        "sublinear": st.booleans(),
        "min_df": st.sampled_from([1, 2, 0.0, 0.25, np.int64(1)]),
        "max_df": st.sampled_from([1.0, 0.9, 3]),
        "stop_words": st.sampled_from([None, [], {"a", "B"}, ("0",)]),
        "char_ngrams": st.sampled_from([None, (1, 1), (3, 5), [2, 2]]),
        "hashing": st.sampled_from([None, None, 1, 13, np.int64(1024)]),
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
    if features.hashing is None:
        assert features.feature_names_ == sorted(set(features.feature_names_))
    written, arrays = features.to_state()
    again = TfidfFeatures.from_state(json.loads(json.dumps(written)), {name: a.copy() for name, a in arrays.items()})
    for batch in (train, new):
        before = features.transform(batch)
        same_bytes(before, again.transform(batch))
        for number, text in enumerate(batch):
            one = features.transform([text])  # which has a way of its own
            same_bytes(one, before[number])
            assert one.has_canonical_format
            check_terms(features, text, one)
    lengths = np.sqrt(rows.multiply(rows).sum(axis=1)).A1
    np.testing.assert_allclose(lengths[np.diff(rows.indptr) > 0], 1, rtol=1e-5)
    assert (rows != features.transform(train)).nnz == 0


def check_terms(features, text, row):
    """The columns that terms_of names are those of the row, and each is right."""
    found = features.terms_of(text)
    assert {column for _, column in found if column != -1} == set(row.indices.tolist())
    for term, column in found:
        if column == -1:
            continue
        if features.hashing is None:
            assert features.feature_names_[column] in (term, CHARACTER_MARK + term)
        else:
            assert column in (hash_column(name, features.hashing) for name in (term, CHARACTER_MARK + term))


def test_terms_as_people_read_them():
    options = {"word_pairs": True, "char_ngrams": (4, 4), "stop_words": ["the"]}
    features = TfidfFeatures(**options).fit(["the red fox", "fox"])
    column = {name: number for number, name in enumerate(features.feature_names_)}
    assert features.terms_of("The fox, the fox RAN") == [
        ("fox", column["fox"]),
        ("ran", -1),
        ("fox fox", -1),
        ("fox ran", -1),
        (" fox", column["\t fox"]),
        ("fox ", column["\tfox "]),
        (" ran", -1),
        ("ran ", -1),
    ]
    assert features.terms_of(["Red", "fox"])[2] == ("red fox", column["red fox"])
    assert features.terms_of("") == []
    hashed = TfidfFeatures(hashing=2**20, **options).fit(["the red fox", "fox"])
    expected = [
        (term, hash_column(name, 2**20)) for term, name in (("red", "red"), (" red", "\t red"), ("red ", "\tred "))
    ]
    assert hashed.terms_of("red the") == expected
    assert hashed.terms_of("ran")[0] == ("ran", -1)


awkward = st.text(st.one_of(st.characters(), st.sampled_from("İıΣσς' _-aZß")))


@settings(max_examples=300, deadline=None)
@given(awkward)
@example("İstanbul ve İzmir")
@example("aİİb İ")
@example("ΟΔΟΣ ΑΣ'Α")
@example("ẞtraße ﬁsh Ǆ ŉ 𝔸𝕓 x")
def test_spans_stand_where_the_words_are(text):
    features = TfidfFeatures().fit(["i stanbul straße x a"])
    found = features.spans(text)
    words = [word for _, _, word, _ in found]
    assert Counter(words) == Counter(words_of(text))
    assert words == WORD.findall(text.lower())
    assert {(word, column) for _, _, word, column in found} == set(features.terms_of(text))
    end_before = 0
    for start, end, word, _ in found:
        assert end_before <= start < end <= len(text)
        end_before = end
        lowered = text[start:end].lower()
        if "İ" in text[start:end]:
            assert word in lowered
        else:  # a sigma at the end of a span is final for it, but not always in the whole text
            assert lowered.replace("ς", "σ") == word.replace("ς", "σ")
    if "İ" not in text and "Σ" not in text:
        assert [text[start:end].lower() for start, end, _, _ in found] == words


def test_spans_by_hand():
    features = TfidfFeatures(stop_words=["the"]).fit(["a red fox"])
    assert features.spans("The RED  dog") == [(0, 3, "the", -1), (4, 7, "red", 2), (9, 12, "dog", -1)]
    assert features.spans("İ fox") == [(0, 1, "i", -1), (2, 5, "fox", 1)]
    hashed = TfidfFeatures(stop_words=["the"], hashing=2**20).fit(["a red fox"])
    assert hashed.spans("the red dog")[:2] == [(0, 3, "the", -1), (4, 7, "red", hash_column("red", 2**20))]
    assert hashed.spans("dog") == [(0, 3, "dog", -1)]
    one_bucket = TfidfFeatures(stop_words=["the"], hashing=1).fit(["a red fox"])
    assert [column for *_, column in one_bucket.spans("the red dog")] == [-1, 0, 0]  # a dog is in the bucket too
    for bad in (["a", "list"], None, 3):
        with pytest.raises(DataError, match="string"):
            features.spans(bad)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_has_the_same_words_the_short_way(text):
    assert words_of(text) == WORD.findall(text.lower())


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
        ("hashing", 0),
        ("hashing", True),
        ("hashing", 2.0**18),
        ("hashing", 2**31),
    ],
)
def test_a_bad_parameter_is_named_with_its_value(name, value):
    with pytest.raises(ParameterError) as caught:
        TfidfFeatures(**{name: value}).fit(TEXTS)
    assert str(caught.value).startswith(f"{name}={value!r}")


def test_before_fit_it_says_so():
    new = TfidfFeatures()
    calls = (lambda: new.transform(TEXTS), new.to_state, lambda: new.terms_of("a"), lambda: new.spans("a"))
    for call in (*calls, lambda: new.n_features):
        with pytest.raises(NeartagError, match="call fit"):
            call()


@pytest.mark.parametrize("bad", ["one string", [None], [3], [b"bytes"], [["a", 1]]])
def test_what_is_no_list_of_texts_is_refused(bad):
    with pytest.raises(DataError, match="text"):
        TfidfFeatures().fit(bad)
    with pytest.raises(DataError, match="text"):
        TfidfFeatures().fit(TEXTS).transform(bad)


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
        ([], arrays),
        ({**written, "feature_names": "a" * len(arrays["idf"])}, arrays),
        ({**written, "feature_names": ["twice"] * len(arrays["idf"])}, arrays),
        ({**written, "hashing": len(arrays["idf"])}, arrays),
        ({**written, "hashing": "many"}, arrays),
        (written, {"idf": arrays["idf"].astype(str)}),
        (written, {"idf": arrays["idf"].astype(int)}),
        (written, {"idf": np.where(np.arange(len(arrays["idf"])) == 3, np.nan, arrays["idf"])}),
        (written, {"idf": np.where(np.arange(len(arrays["idf"])) == 3, 0, arrays["idf"])}),
        (written, {"idf": arrays["idf"] * 1e200}),
        (written, {"idf": -arrays["idf"]}),
    ]
    written, arrays = TfidfFeatures(hashing=30).fit(TEXTS).to_state()
    assert written["feature_names"] is None
    assert list(arrays) == ["idf"]
    damaged += [
        (written, {"idf": arrays["idf"][1:]}),
        (written, {"idf": -arrays["idf"]}),
        (written, {"idf": np.full(30, np.inf)}),
        ({**written, "feature_names": ["a"] * 30}, arrays),
        ({**written, "hashing": None}, arrays),
        ({**written, "hashing": 31}, arrays),
        ({**written, "hashing": 10**12}, arrays),
    ]
    for bad_settings, bad_arrays in damaged:
        with pytest.raises(ModelError, match="text features' state"):
            TfidfFeatures.from_state(bad_settings, bad_arrays)


def test_a_state_from_before_there_was_hashing_is_read():
    features = TfidfFeatures(word_pairs=True).fit(TEXTS)
    written, arrays = features.to_state()
    del written["hashing"]
    again = TfidfFeatures.from_state(written, arrays)
    assert again.hashing is None
    same_bytes(again.transform(TEXTS), features.transform(TEXTS))


def test_no_scikit_learn_is_imported():
    code = "import sys, neartag.encoders.tfidf as f; f.TfidfFeatures().fit(['a']); assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_short_title_takes_few_calls():
    titles = [f"title {number % 997} of part {number % 31} and word{number}" for number in range(2000)]
    assert count_calls(lambda: TfidfFeatures().fit_transform(titles)) < 25 * len(titles)  # about 15 each


def test_one_sentence_takes_few_calls():
    sentence = "how can i keep the crust of my bread crisp after i take it out of the hot oven again"
    features = TfidfFeatures(char_ngrams=(3, 5)).fit([sentence, *TEXTS])
    features.transform([sentence])  # its words' columns are then cached
    assert count_calls(lambda: features.transform([sentence])) < 100  # 68 with numpy 2
