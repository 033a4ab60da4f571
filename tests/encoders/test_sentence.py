"""SentenceFeatures and HybridFeatures: the contract of encoders, the cache of vectors, the budget, and bad encoders."""

from __future__ import annotations

import json
import sqlite3
import warnings
from pathlib import Path

import numpy as np
import pytest
from encoder_contract import EncoderContract

from neartag.core.errors import DataError, ModelError, NeartagError, ParameterError
from neartag.core.progress import Progress
from neartag.data.documents import Document
from neartag.encoders.feature_kinds import AutoFeatures
from neartag.encoders.hybrid import HybridFeatures
from neartag.encoders.sentence import SentenceFeatures
from neartag.encoders.sentence_models import encoding
from neartag.encoders.sentence_models.encoding import EncodingBudgetError
from neartag.encoders.sentence_models.vector_cache import VectorCache
from neartag.encoders.tfidf import TfidfFeatures
from neartag.linalg.coded_rows import CodedRows
from neartag.linalg.hybrid_rows import HybridRows
from neartag.tagging.feature_choice import fit_corpus
from sentence_helpers import Letters, build_onnx, make_bert, make_documents, make_static

TEXTS = ["Leipä ja taikina", "Der Stern ist am Himmel", "uusi auto", "yö", "Größe", "bread and butter", "leipä brot"]


@pytest.fixture(scope="module")
def static(tmp_path_factory) -> Path:
    pytest.importorskip("tokenizers", reason="static vectors need tokenizers")
    return make_static(tmp_path_factory.mktemp("encoders") / "static")


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> Path:
    pytest.importorskip("onnx", reason="building a model needs onnx")
    pytest.importorskip("onnxruntime", reason="models in ONNX need onnxruntime")
    return build_onnx(make_bert(tmp_path_factory.mktemp("encoders") / "bert"))


@pytest.fixture
def cache(tmp_path) -> VectorCache:
    return VectorCache(tmp_path / "cache" / "vectors.sqlite")


@pytest.fixture(autouse=True)
def own_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NEARTAG_CACHE", str(tmp_path / "own"))


class TestStatic(EncoderContract):
    @pytest.fixture
    def encoder(self, static):
        return SentenceFeatures(static)

    @pytest.fixture
    def items(self):
        return TEXTS


class TestBundled(TestStatic):
    @pytest.fixture
    def encoder(self, static):
        return SentenceFeatures(str(static), bundle=True)


class TestSeveral(TestStatic):
    @pytest.fixture
    def encoder(self, static, tmp_path_factory):
        return SentenceFeatures([static, make_static(tmp_path_factory.mktemp("other"), dim=5, seed=3)])


def test_a_transformer_goes_through_its_state(bert):
    features = SentenceFeatures(bert, bundle=True)
    rows = features.fit_transform(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    settings, arrays = features.to_state()
    assert arrays["0.weights"].nbytes == (bert / "model.onnx").stat().st_size
    again = SentenceFeatures.from_state(json.loads(json.dumps(settings)), arrays)
    np.testing.assert_array_equal(again.transform(TEXTS), rows)
    assert again.identities_ == features.identities_
    assert again.identities_[0].describe() == "bert (onnx, 16 dimensions, mean of at most 16 tokens, normalised)"


def test_texts_of_one_meaning_are_near_in_any_language(static):
    rows = SentenceFeatures(static).fit_transform(["leipä ja taikina", "das brot ist teig", "auto", "bread"])
    near = rows @ rows.T
    assert near[0, 1] > 0.9 > 0.5 > near[0, 2]
    assert near[0, 3] > 0.9


# Other weights


def test_other_weights_are_refused(static, tmp_path, monkeypatch):
    folder = make_static(tmp_path / "mine")
    settings, arrays = SentenceFeatures(folder).fit(TEXTS).to_state()
    make_static(folder, seed=1)
    with pytest.raises(ModelError, match=r"needs the sentence encoder mine, digest .*has other weights") as told:
        SentenceFeatures.from_state(settings, arrays)
    assert "\n" not in str(told.value)
    monkeypatch.setenv("NEARTAG_ENCODER", str(static))  # the same weights, elsewhere
    assert SentenceFeatures.from_state(settings, arrays).transform(TEXTS).shape == (len(TEXTS), 8)


def test_a_folder_that_is_gone_is_missed_when_it_is_needed(tmp_path):
    folder = make_static(tmp_path / "mine")
    settings, arrays = SentenceFeatures(folder).fit(TEXTS).to_state()
    (folder / "model.safetensors").unlink()
    folder.rename(tmp_path / "moved")
    features = SentenceFeatures.from_state(settings, arrays)
    assert features.n_features == 8
    with pytest.raises(ModelError, match=r"there is no sentence encoder .*set NEARTAG_ENCODER to the folder"):
        features.transform(TEXTS)


def test_a_state_that_cannot_be_one(static):
    settings, arrays = SentenceFeatures(static, bundle=True).fit(TEXTS).to_state()
    changed = arrays["0.tokenizer"].copy()
    changed[0] ^= 1
    with pytest.raises(ModelError, match="in the model folder is not the one it names"):
        SentenceFeatures.from_state(settings, {**arrays, "0.tokenizer": changed})
    for state in ({}, {"encoders": [], "bundle": True}, {"encoders": [{}], "bundle": False}):
        with pytest.raises(ModelError, match="state cannot be read"):
            SentenceFeatures.from_state(state, arrays)


# An object of the user's


def test_any_object_with_encode():
    features = SentenceFeatures(Letters())
    rows = features.fit_transform(TEXTS)
    settings, arrays = features.to_state()
    again = SentenceFeatures.from_state(settings, arrays)
    with pytest.raises(ModelError, match=r"an object of your own program: TextTagger\.load\(folder, encoder=…\)"):
        again.transform(TEXTS)
    again.attach(Letters())
    np.testing.assert_array_equal(again.transform(TEXTS), rows)

    class Other(Letters):
        def encode(self, texts):
            return super().encode(texts)[:, ::-1]

    with pytest.raises(ModelError, match="gives other vectors"):
        again.attach(Other())
    with pytest.raises(ParameterError, match="has no encode"):
        SentenceFeatures(object()).fit(TEXTS)


def test_training_gets_the_same_vectors_coded(cache):
    for encoder in (Letters(), [Letters(), Letters()]):
        rows = CodedRows.encode(SentenceFeatures(encoder).fit_transform(TEXTS))
        features = SentenceFeatures(encoder, cache=cache)
        for _ in range(2):  # the second time from the cache
            coded = features.fit_transform_coded(TEXTS)
            np.testing.assert_allclose(coded.decode(), rows.decode(), atol=1.5 * rows.scales.max())


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_vectors_that_are_not_finite(bad):
    with pytest.raises(DataError, match="gave a vector that is not finite for the text 'leipä brot'"):
        SentenceFeatures(Letters(bad=bad)).fit_transform(TEXTS)


def test_vectors_of_another_shape():
    class Shrinking(Letters):
        def encode(self, texts):
            return super().encode(texts)[:, : 8 if len(texts) == 1 else 7]

    with pytest.raises(
        DataError, match=r"gave float32 of shape \(7, 7\) for 7 texts: must be numbers of shape \(7, 8\)"
    ):
        SentenceFeatures(Shrinking()).fit_transform(TEXTS)
    with pytest.raises(ParameterError, match="a single string"):
        SentenceFeatures(Letters()).fit_transform("a text")


def test_an_encoder_that_fails_half_way_goes_on_from_there(cache, monkeypatch):
    monkeypatch.setattr(encoding, "FIRST_CHUNK", 10)
    monkeypatch.setattr(encoding, "MAX_CHUNK", 10)
    texts = [f"text {number}" for number in range(35)]
    with pytest.raises(
        NeartagError, match=r"Letters failed after 20 of 35 texts \(out of memory\); what was encoded is"
    ):
        SentenceFeatures(Letters(fail_after=21), cache=cache).fit_transform(texts)
    assert len(cache) == 20
    whole = Letters()
    rows = SentenceFeatures(whole, cache=cache).fit_transform(texts)
    assert whole.encoded == 15 + 1, "those that were missing, and the probe"
    np.testing.assert_array_equal(rows, SentenceFeatures(Letters()).fit_transform(texts))


# The cache


def test_the_cache_has_no_text_and_forgets(cache):
    features = SentenceFeatures(Letters(), cache=cache)
    features.fit_transform([*TEXTS, "a secret text"])
    content = cache.path.read_bytes()
    assert b"secret" not in content
    vector = features.encoder.encode(["a secret text"])[0].tobytes()
    assert vector in content
    features.forget_texts(["a secret text", "never seen"])
    assert len(cache) == len(TEXTS)
    assert vector not in cache.path.read_bytes(), "overwritten, not only marked as free"


def test_models_do_not_share_vectors(cache):
    cache.put("one", ["a"], np.ones((1, 3), np.float32))
    assert cache.get("two", ["a"], 3) == {}
    assert cache.get("one", ["a"], 4) == {}
    assert cache.get("one", ["b", "a"], 3)[1].tolist() == [1, 1, 1]
    assert cache.forget(["a"]) == 1


def test_the_cache_is_bounded(tmp_path):
    cache = VectorCache(tmp_path / "small.sqlite", max_bytes=60_000)
    for start in range(0, 240, 80):
        cache.put("m", [str(number) for number in range(start, start + 80)], np.ones((80, 64), np.float32))
    assert cache.path.stat().st_size <= 60_000
    assert 50 <= len(cache) < 240
    assert len(cache.get("m", [str(number) for number in range(190, 240)], 64)) == 50, "the newest stay"


def test_a_damaged_cache_stops_nothing(cache):
    cache.path.parent.mkdir()
    cache.path.write_bytes(b"no database" * 100)
    with pytest.warns(UserWarning, match=r"vectors\.sqlite cannot be used .*delete the file if it is damaged"):
        rows = SentenceFeatures(Letters(), cache=cache).fit_transform(TEXTS)
    np.testing.assert_array_equal(rows, SentenceFeatures(Letters()).fit_transform(TEXTS))


def test_what_a_killed_process_began_is_not_there(cache):
    cache.put("m", ["a"], np.ones((1, 2), np.float32))
    connection = sqlite3.connect(cache.path)
    connection.execute("DELETE FROM vectors")
    connection.close()  # without a commit, as a process that is killed leaves it
    assert len(cache) == 1


def test_static_vectors_are_not_kept(static, cache):
    SentenceFeatures(static, cache=cache).fit_transform(TEXTS)
    assert not cache.path.exists()


# The budget and progress


class Slow(Letters):
    """A second for each call, by the clock that is patched."""

    def encode(self, texts):
        self.now = getattr(self, "now", 0.0) + 1.0
        return super().encode(texts)


@pytest.fixture
def slow(monkeypatch):
    model = Slow()
    monkeypatch.setattr(encoding.time, "monotonic", lambda: getattr(model, "now", 0.0))
    monkeypatch.setattr(encoding, "FIRST_CHUNK", 10)
    monkeypatch.setattr(encoding, "SHORT_CHUNK", 0.5)
    return model


def test_a_budget_is_told_early(slow, cache):
    texts = [f"text {number}" for number in range(1000)]
    told = "encoding 1,000 texts with Slow would take about 100 s, and may take 0.5 min"
    with pytest.raises(EncodingBudgetError, match=told):
        SentenceFeatures(slow, cache=cache).fit_transform(texts, minutes=0.5)
    assert len(cache) == 10, "the first ten told it, and are kept"
    assert SentenceFeatures(slow).fit_transform(texts, minutes=2).shape == (1000, 8)


def test_texts_that_are_kept_take_nothing_of_the_budget(slow, cache):
    texts = [f"text {number}" for number in range(1000)]
    SentenceFeatures(slow, cache=cache).fit_transform(texts)
    some_new = [*texts[:500], *(f"new {number}" for number in range(20)), *texts[500:]]
    rows = SentenceFeatures(slow, cache=cache).fit_transform(some_new, minutes=0.05)  # three calls, of a second each
    np.testing.assert_array_equal(rows, SentenceFeatures(Letters()).fit_transform(some_new))


def test_too_small_a_budget_falls_back_to_words(slow):
    documents = [Document(each["text"], each["labels"], each["id"], None, "") for each in make_documents(60)]
    with pytest.warns(UserWarning, match="words are used alone: encoding 60 texts with Slow would take about 6 s"):
        corpus, encoder = fit_corpus(documents, HybridFeatures("words", slow), encode_minutes=0.02)
    assert type(encoder) is TfidfFeatures
    assert corpus.X.shape == (60, encoder.n_features)


class Told(Progress):
    """Keeps what it was told."""

    def start(self, total, description):
        self.told = [(total, description)]
        return self

    def advance(self, steps=1, note=""):
        self.told.append((steps, note))


def test_progress_tells_the_time_left(slow):
    shown = Told()
    SentenceFeatures(slow).fit_transform([str(number) for number in range(4010)], progress=shown)
    assert shown.told[:3] == [(4010, "encoding texts with Slow"), (0, ""), (10, "about 7 min left")]
    assert shown.told[-1] == (10, "about 0 s left")
    assert sum(steps for steps, _ in shown.told[1:]) == 4010


# Words beside vectors


def test_hybrid_rows(static):
    features = HybridFeatures("words", static)
    rows = features.fit_transform(TEXTS)
    assert isinstance(rows, HybridRows)
    words, vectors = TfidfFeatures().fit_transform(TEXTS), SentenceFeatures(static).fit_transform(TEXTS)
    np.testing.assert_array_equal(rows.words.toarray(), words.toarray())
    np.testing.assert_array_equal(rows.vectors, vectors)
    assert rows.shape == (len(TEXTS), features.n_features)
    assert features.terms_of("Leipä!") == [("leipä", features.words_.feature_names_.index("leipä"))]
    assert features.spans("Leipä")[0][:3] == (0, 5, "leipä")
    settings, arrays = features.to_state()
    again = HybridFeatures.from_state(json.loads(json.dumps(settings)), arrays)
    found = again.transform(iter(TEXTS))
    np.testing.assert_array_equal(found.words.toarray(), words.toarray())
    np.testing.assert_array_equal(found.vectors, vectors)
    assert again.transform([]).shape == (0, features.n_features)


def test_words_are_chosen_where_they_are_auto(static):
    documents = [Document(each["text"], each["labels"], each["id"], None, "") for each in make_documents(60)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corpus, encoder = fit_corpus(documents, HybridFeatures(encoder=static), progress=False)
    assert type(encoder) is HybridFeatures
    assert encoder.choice_.kind == "words"
    assert corpus.X.words.shape[0] == corpus.X.vectors.shape[0] == 60
    assert isinstance(HybridFeatures(encoder=static).make_parts()[0], AutoFeatures)


def test_bad_parameters(static):
    for features, told in (
        (HybridFeatures("words"), "name a sentence encoder"),
        (HybridFeatures(3, static), "words=3: must be"),
        (SentenceFeatures([]), "name an encoder"),
    ):
        with pytest.raises(ParameterError, match=told):
            features.fit(TEXTS)
    with pytest.raises(NeartagError, match="fit"):
        HybridFeatures("words", static).transform(TEXTS)
    with pytest.raises(ModelError, match="state cannot be read"):
        HybridFeatures.from_state({}, {})
