"""A sentence encoder in every command: train, tag, explain, add, forget, evaluate, review, inspect, serve and tune.

The documents are Finnish and German; nothing in the path may assume English.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli_helpers import fail, invoke, succeed
from neartag import TextTagger, X1Classifier
from neartag.encoders.sentence import SentenceFeatures
from neartag.encoders.sentence_models.vector_cache import VectorCache, default_cache
from sentence_helpers import Letters, build_onnx, make_bert, make_documents, make_static, write_lines

pytest.importorskip("tokenizers", reason="sentence encoders need tokenizers")
TRAIN = ("--embedding-dim", 4, "--n-jobs", 1, "-q", "--json")
ENGLISH = "a star in the sky"  # no word of it is in the documents


@pytest.fixture(scope="module", autouse=True)
def cache_folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEARTAG_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """Documents, an encoder, and a model trained with its vectors alone."""
    folder = tmp_path_factory.mktemp("work")
    documents = make_documents(120)
    write_lines(folder / "train.jsonl", documents[:90])
    write_lines(folder / "test.jsonl", documents[90:])
    make_static(folder / "static")
    report = json.loads(succeed(*train_command(folder, "model", "static")))
    (encoder,) = report["encoders"]
    assert (encoder["name"], encoder["dim"], encoder["format"]) == ("static", 8, "static")
    assert report["features"] == 8
    return folder


def train_command(folder: Path, model: str, encoder: str, *options: object) -> tuple[object, ...]:
    place = str(folder / encoder) if (folder / encoder).exists() else encoder
    return "train", folder / "train.jsonl", folder / model, "--encoder", place, "--no-words", *TRAIN, *options


def best(model: Path, text: str) -> str:
    return json.loads(succeed("tag", model, text, "-k", 1, "--json"))["labels"][0]["label"]


def test_texts_are_tagged_by_their_meaning(work):
    assert best(work / "model", "Taikina ja leipä") == "ruoka"
    assert best(work / "model", "Das Triebwerk") == "auto"
    assert best(work / "model", ENGLISH) == "tähti", "though it has no word in common with any document"
    (reason,) = json.loads(succeed("explain", work / "model", ENGLISH, "-k", 1, "--json"))["labels"]
    assert reason["voters"][0]["labels"] == ["tähti"]
    assert {word["word"] for word in reason["voters"][0]["meaning"]} & {"star", "sky"}
    assert reason["voters"][0]["meaning"][0]["weight"] > 0
    assert "near in meaning by " in succeed("explain", work / "model", ENGLISH, "-k", 1)
    report = json.loads(succeed("evaluate", work / "model", work / "test.jsonl", "--json", "-q"))
    assert report["metrics"]["P@1"] == 100


def test_the_folder_names_its_encoder(work):
    report = json.loads(succeed("inspect", work / "model", "--json", "-q"))
    (encoder,) = report["encoders"]
    assert encoder["digest"] == SentenceFeatures(work / "static").fit([]).identities_[0].digest
    assert "static (static, 8 dimensions, mean of all tokens, normalised)" in succeed("inspect", work / "model", "-q")


def test_documents_are_added_and_forgotten(work, tmp_path):
    shutil.copytree(work / "model", tmp_path / "model")
    new = write_lines(tmp_path / "new.jsonl", [{"id": "new", "text": "yö ja größe", "labels": ["muu"]}])
    report = json.loads(succeed("add", tmp_path / "model", new, "--json", "-q"))
    assert report["new_labels"] == ["muu"]
    assert "without_a_known_word" not in report
    assert best(tmp_path / "model", "größe ja yö") == "muu"
    assert json.loads(succeed("forget", tmp_path / "model", "new", "--json", "-q"))["forgotten"] == 1


def test_documents_are_reviewed(work):
    lines = succeed("review", work / "model", work / "test.jsonl", "-n", 2, "--json", "-q").splitlines()
    assert [json.loads(line)["suggested"] != [] for line in lines] == [True, True]


def test_a_server_answers(work):
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    from serve_helpers import Client

    client = Client(work / "model")
    assert client.post("/tag", {"texts": [ENGLISH], "k": 1}).json()["results"][0]["labels"][0]["label"] == "tähti"
    (label,) = client.post("/explain", {"text": "Leipä on uusi", "k": 1}).json()["labels"]
    assert label["label"] == "ruoka"
    assert label["voters"][0]["meaning"][0]["word"] == "leipä"
    assert client.post("/map", {"text": "leipä"}).json()["points"]
    client.close()


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
        "train", work / "train.jsonl", work / "m", "--bundle-encoder"
    )


def test_none_is_words_alone(work):
    report = json.loads(succeed("train", work / "train.jsonl", work / "words", "--encoder", "none", *TRAIN))
    assert "encoders" not in report
    assert json.loads((work / "words" / "model.json").read_text())["features"]["kind"] == "tfidf"


def test_tune_takes_its_vectors(work):
    tune = ("tune", work / "train.jsonl", "--method", "knn", "--try", "neighbours=3", "--json", "-q")
    assert "is no sentence encoder" in fail(*tune, "--encoder", "tfidf")


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
        "train", work / "train.jsonl", work / "fallen", "--encoder", work / "static", *TRAIN, "--encode-minutes", 1
    )
    assert result.exit_code == 0
    assert "words are used alone: encoding 90 texts" in result.stderr
    assert json.loads((work / "fallen" / "model.json").read_text())["features"]["kind"] == "tfidf"
