"""A sentence encoder in every command: train, tag, explain, add, forget, evaluate, review, inspect, serve and tune.

Vectors alone, and words and vectors in one model. The documents are Finnish and German; nothing in the path may assume
English.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli_helpers import fail, invoke, succeed
from neartag import TextTagger, X1Classifier, presets
from neartag.data import mapped
from neartag.encoders.hybrid import HybridFeatures
from neartag.encoders.sentence import SentenceFeatures
from neartag.encoders.sentence_models.vector_cache import VectorCache, default_cache
from sentence_helpers import Letters, build_onnx, make_bert, make_documents, make_static, write_lines

pytest.importorskip("tokenizers", reason="sentence encoders need tokenizers")
TRAIN = ("--embedding-dim", 4, "--n-jobs", 1, "-q", "--json")
ENGLISH = "a star in the sky"  # only "a" and "the" are words of the documents
KINDS = {"vectors": ("--no-words",), "both": ("--min-df", 1)}


@pytest.fixture(scope="module", autouse=True)
def cache_folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEARTAG_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """Documents, an encoder, a model of its vectors alone, and one of words and vectors, refined."""
    folder = tmp_path_factory.mktemp("work")
    documents = make_documents(260)
    write_lines(folder / "train.jsonl", documents[:230])
    write_lines(folder / "few.jsonl", documents[:90])
    write_lines(folder / "test.jsonl", documents[230:])
    make_static(folder / "static")
    for kind, options in KINDS.items():
        command = ("train", folder / "train.jsonl", folder / kind, "--encoder", folder / "static", *options, *TRAIN)
        report = json.loads(succeed(*command))
        (encoder,) = report["encoders"]
        assert (encoder["name"], encoder["dim"], encoder["format"]) == ("static", 8, "static")
        assert (report["features"] > 8) == (kind == "both")
    return folder


@pytest.fixture(params=list(KINDS))
def model(work, request) -> Path:
    return work / request.param


def train_command(folder: Path, model: str, encoder: str, *options: object) -> tuple[object, ...]:
    place = str(folder / encoder) if (folder / encoder).exists() else encoder
    return "train", folder / "few.jsonl", folder / model, "--encoder", place, "--no-words", *TRAIN, *options


def best(model: Path, text: str) -> str:
    return json.loads(succeed("tag", model, text, "-k", 1, "--json"))["labels"][0]["label"]


def test_texts_are_tagged_by_their_meaning(work, model):
    assert best(model, "Taikina ja leipä") == "ruoka"
    assert best(model, "Das Triebwerk") == "auto"
    assert best(model, ENGLISH) == "tähti", "though it has no word in common with any document but a and the"
    (reason,) = json.loads(succeed("explain", model, ENGLISH, "-k", 1, "--json"))["labels"]
    assert reason["voters"][0]["labels"] == ["tähti"]
    assert {word["word"] for word in reason["voters"][0]["meaning"]} & {"star", "sky"}
    assert reason["voters"][0]["meaning"][0]["weight"] > 0
    assert "near in meaning by " in succeed("explain", model, ENGLISH, "-k", 1)
    report = json.loads(succeed("evaluate", model, work / "test.jsonl", "--json", "-q"))
    assert report["metrics"]["P@1"] == 100


def test_words_in_files_are_told_of_where_vectors_stand_beside_them(work, tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "IN_MEMORY_SHARE", 1e-9)  # as where the data take much of the memory
    command = ("train", work / "train.jsonl", tmp_path / "m", "--encoder", work / "static", *KINDS["both"], *TRAIN)
    labels = 8 * 230  # bytes: each document has one
    assert json.loads(succeed(*command))["mapped_bytes"] > 2 * labels


def test_shared_words_stand_beside_those_near_in_meaning(work):
    (reason,) = json.loads(succeed("explain", work / "both", "leipä ja bread", "-k", 1, "--json"))["labels"]
    assert reason["label"] == "ruoka"
    voter = reason["voters"][0]
    assert {word["word"] for word in voter["words"]} <= {"leipä", "ja"}
    assert voter["meaning"]


def test_the_folder_names_its_encoder(work, model):
    report = json.loads(succeed("inspect", model, "--json", "-q"))
    (encoder,) = report["encoders"]
    assert encoder["digest"] == SentenceFeatures(work / "static").fit([]).identities_[0].digest
    assert "static (static, 8 dimensions, mean of all tokens, normalised)" in succeed("inspect", model, "-q")


def test_documents_are_added_reviewed_and_forgotten(work, model, tmp_path):
    copy = shutil.copytree(model, tmp_path / "model")
    new = write_lines(tmp_path / "new.jsonl", [{"id": "new", "text": "yö, pelkkä yö", "labels": ["muu"]}])
    report = json.loads(succeed("add", copy, new, "--json", "-q"))
    assert report["new_labels"] == ["muu"]
    assert "without_a_known_word" not in report
    more = write_lines(tmp_path / "more.jsonl", [{"id": "more", "text": "größe ja yö", "labels": ["muu"]}])
    succeed("add", copy, more, "--json", "-q")  # merged with what was added before
    assert "more" in TextTagger.load(copy)
    assert best(copy, "pelkkä yö") == "muu"
    lines = succeed("review", copy, work / "test.jsonl", "-n", 2, "--json", "-q").splitlines()
    assert [json.loads(line)["suggested"] != [] for line in lines] == [True, True]
    assert json.loads(succeed("forget", copy, "new", "more", "--json", "-q"))["forgotten"] == 2
    assert best(copy, ENGLISH) == "tähti"


def test_a_server_answers(model):
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    from serve_helpers import Client

    client = Client(model)
    assert client.post("/tag", {"texts": [ENGLISH], "k": 1}).json()["results"][0]["labels"][0]["label"] == "tähti"
    answer = client.post("/explain", {"text": "Leipä on uusi", "k": 1}).json()
    (label,) = answer["labels"]
    assert label["label"] == "ruoka"
    assert "leipä" in {word["word"] for word in label["voters"][0]["meaning"]}
    assert client.post("/map", {"text": "leipä"}).json()["points"]
    client.close()


def test_the_labels_of_documents_are_doubted(work):
    tagger = TextTagger.load(work / "both")
    assert isinstance(tagger.review_labels(n=2), list)


def test_weights_in_the_model_folder(work, tmp_path):
    make_static(work / "bundled-encoder")
    succeed(*train_command(work, "bundled", "bundled-encoder", "--bundle-encoder"))
    shutil.rmtree(work / "bundled-encoder")
    shutil.copytree(work / "bundled", tmp_path / "model")
    assert best(tmp_path / "model", ENGLISH) == "tähti"
    new = write_lines(tmp_path / "new.jsonl", [{"id": "new", "text": "yö", "labels": ["muu"]}])
    succeed("add", tmp_path / "model", new, "--json", "-q")
    succeed("forget", tmp_path / "model", "new", "--json", "-q")  # the folder is written anew
    assert best(tmp_path / "model", ENGLISH) == "tähti"


def test_other_weights_are_refused_in_one_line(work, tmp_path):
    make_static(work / "changing")
    succeed(*train_command(work, "of-changing", "changing"))
    make_static(work / "changing", seed=5)
    assert "has other weights, tokenizer or settings" in fail("tag", work / "of-changing", "leipä")
    shutil.rmtree(work / "changing")
    assert "needs the sentence encoder changing" in fail("tag", work / "of-changing", "leipä")


def test_bad_options(work, tmp_path):
    assert "there is no encoder 'nothing'" in fail(*train_command(work, "m", "nothing"))
    (tmp_path / "empty").mkdir()
    assert "is empty: give a folder" in fail(*train_command(work, "m", str(tmp_path / "empty")))
    assert "--encoder hybrid: give the sentence encoder itself" in fail(*train_command(work, "m", "hybrid"))
    assert "--encode-minutes must be above 0" in fail(*train_command(work, "m", "static", "--encode-minutes", 0))
    assert "--no-words leaves no words to count" in fail(*train_command(work, "m", "static", "--min-df", 2))
    assert "--bundle-encoder is for a sentence encoder" in fail(
        "train", work / "few.jsonl", work / "m", "--bundle-encoder"
    )


def test_none_is_words_alone(work):
    report = json.loads(succeed("train", work / "few.jsonl", work / "words", "--encoder", "none", *TRAIN))
    assert "encoders" not in report
    assert json.loads((work / "words" / "model.json").read_text())["features"]["kind"] == "tfidf"


def test_a_preset_holds_the_encoder(work, tmp_path):
    preset = tmp_path / "tuned.json"
    tune = ("tune", work / "train.jsonl", "--encoder", work / "static", "--fix", "features=words", "--json", "-q")
    report = json.loads(succeed(*tune, "--try", "l2=1", "--n-jobs", 1, "--max-points", 120, "--out", preset))
    assert report["method"] == "x1"
    assert presets.get_encoder(str(preset)) == str(work / "static")
    train = ("train", work / "few.jsonl", "--preset", preset, *TRAIN)
    trained = json.loads(succeed(*train[:2], tmp_path / "both", *train[2:]))
    assert trained["encoders"][0]["name"] == "static"
    words = json.loads(succeed(*train[:2], tmp_path / "words", *train[2:], "--encoder", "none"))
    assert "encoders" not in words
    preset.write_text('{"settings": {}, "encoder": 7}')
    assert "encoder=7: must be a sentence encoder's folder or name" in fail(*train[:2], tmp_path / "m", *train[2:])


def test_tune_refuses_what_is_no_sentence_encoder(work):
    tune = ("tune", work / "few.jsonl", "--method", "knn", "--try", "neighbours=3", "--json", "-q")
    assert "is no sentence encoder" in fail(*tune, "--encoder", "tfidf")
    assert "there is no encoder 'nothing'" in fail(*tune, "--encoder", "nothing")


def test_methods_are_compared_on_words_and_vectors(work):
    parts = ("--train", work / "train.jsonl", "--test", work / "test.jsonl", "--features", "words")
    options = ("--methods", "x1,knn", "--set", "knn.neighbours=5", "--n-jobs", 1, "--json", "-q")
    report = json.loads(succeed("compare", *parts, *options, "--encoder", work / "static"))
    assert report["encoders"][0]["name"] == "static"
    assert [row["metrics"]["P@1"] for row in report["methods"]] == [100, 100]
    alone = ("--encoder", work / "static", "--no-words", "--methods", "knn", "--n-jobs", 1, "-q")
    assert "static, 8 dimensions" in succeed("compare", *parts[:4], *alone)
    assert "--no-words is for a sentence encoder" in fail("compare", *parts, "--no-words")


def test_other_methods_take_words_and_vectors_as_one_matrix(work, tmp_path):
    command = ("train", work / "few.jsonl", tmp_path / "m", "--method", "knn", "--neighbours", 5, "--n-jobs", 1)
    succeed(*command, "--encoder", work / "static", "-q")
    assert best(tmp_path / "m", ENGLISH) == "tähti"


def test_vectors_are_kept_for_the_next_training(work, tmp_path):
    pytest.importorskip("onnx", reason="building a model needs onnx")
    pytest.importorskip("onnxruntime", reason="models in ONNX need onnxruntime")
    build_onnx(make_bert(work / "bert"))
    succeed(*train_command(work, "no-cache", "bert", "--no-vector-cache"))
    assert len(default_cache()) == 0
    succeed(*train_command(work, "of-bert", "bert"))
    kept = len(default_cache())
    texts = {each["text"] for each in make_documents(90)}
    assert kept == len(texts)
    first, second = (json.loads((work / name / "model.json").read_text()) for name in ("no-cache", "of-bert"))
    assert first["parts"] == second["parts"], "the same model to the last bit"
    (gone,) = [each["id"] for each in make_documents(90) if each["text"] == make_documents(90)[0]["text"]][:1]
    succeed("forget", work / "of-bert", gone, "-q")
    assert len(default_cache()) == kept - 1


def test_an_object_of_the_users(tmp_path):
    documents = make_documents(60)
    texts, labels = [each["text"] for each in documents], [each["labels"] for each in documents]
    features = SentenceFeatures(Letters(), cache=VectorCache(tmp_path / "vectors.sqlite"))
    tagger = TextTagger(features, X1Classifier(embedding_dim=4, n_jobs=1)).fit(texts, labels)
    tagger.save(tmp_path / "model")
    assert "an object of your own program" in fail("tag", tmp_path / "model", "leipä")
    again = TextTagger.load(tmp_path / "model", encoder=Letters())
    assert again.predict(texts[:5]) == tagger.predict(texts[:5])


def test_a_budget_that_words_cannot_replace(work, monkeypatch):
    from neartag.encoders.sentence_models import encoding

    monkeypatch.setattr(encoding, "_is_too_long", lambda *_: True)
    monkeypatch.setattr(encoding, "FIRST_CHUNK", 10)
    told = fail(*train_command(work, "m", "static", "--encode-minutes", 1))
    assert "encoding 90 texts with static would take about" in told
    result = invoke(
        "train", work / "few.jsonl", work / "fallen", "--encoder", work / "static", *TRAIN, "--encode-minutes", 1
    )
    assert result.exit_code == 0
    assert "words are used alone: encoding 90 texts" in result.stderr
    assert json.loads((work / "fallen" / "model.json").read_text())["features"]["kind"] == "tfidf"


def test_a_tagger_in_python(work, tmp_path):
    documents = make_documents(60)
    texts, labels = [each["text"] for each in documents], [each["labels"] for each in documents]
    tagger = TextTagger(HybridFeatures("words", work / "static")).fit(texts, labels)
    tagger.save(tmp_path)
    again = TextTagger.load(tmp_path)
    assert [tags[0].label for tags in again.predict(texts[:6], 1)] == [each[0] for each in labels[:6]]
