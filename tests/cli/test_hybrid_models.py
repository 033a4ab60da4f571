"""Words and the vectors of a sentence encoder in one model: every command takes its texts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli_helpers import fail, succeed
from neartag import TextTagger
from neartag.encoders.hybrid import HybridFeatures
from sentence_helpers import make_documents, make_static, write_lines

pytest.importorskip("tokenizers", reason="sentence encoders need tokenizers")
ENGLISH = "a star in the sky"  # only "a" and "the" are words of the documents


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """Documents in Finnish and German, an encoder, and a model of words and vectors, refined."""
    folder = tmp_path_factory.mktemp("hybrid")
    documents = make_documents(260)
    write_lines(folder / "train.jsonl", documents[:230])
    write_lines(folder / "test.jsonl", documents[230:])
    make_static(folder / "static")
    train = ("train", folder / "train.jsonl", folder / "model", "--encoder", folder / "static", "--min-df", 1)
    report = json.loads(succeed(*train, "--embedding-dim", 4, "--n-jobs", 1, "-q", "--json"))
    assert report["features"] > report["encoders"][0]["dim"] == 8
    assert json.loads((folder / "model" / "model.json").read_text())["features"]["kind"] == "hybrid"
    return folder


def best(model: Path, text: str) -> str:
    return json.loads(succeed("tag", model, text, "-k", 1, "--json"))["labels"][0]["label"]


def test_texts_are_tagged_and_explained(work):
    assert best(work / "model", ENGLISH) == "tähti"
    assert best(work / "model", "uusi moottori") == "auto"
    (reason,) = json.loads(succeed("explain", work / "model", "leipä ja bread", "-k", 1, "--json"))["labels"]
    assert reason["label"] == "ruoka"
    voter = reason["voters"][0]
    assert {word["word"] for word in voter["words"]} <= {"leipä", "ja"}
    assert voter["meaning"]
    metrics = json.loads(succeed("evaluate", work / "model", work / "test.jsonl", "--json", "-q"))["metrics"]
    assert metrics["P@1"] == 100


def test_documents_are_added_reviewed_and_forgotten(work, tmp_path):
    shutil.copytree(work / "model", tmp_path / "model")
    new = write_lines(tmp_path / "new.jsonl", [{"id": "new", "text": "yö, pelkkä yö", "labels": ["muu"]}])
    assert json.loads(succeed("add", tmp_path / "model", new, "--json", "-q"))["new_labels"] == ["muu"]
    more = write_lines(tmp_path / "more.jsonl", [{"id": "more", "text": "größe", "labels": ["muu"]}])
    succeed("add", tmp_path / "model", more, "--json", "-q")  # merged with what was added before
    assert "more" in TextTagger.load(tmp_path / "model")
    assert best(tmp_path / "model", "pelkkä yö") == "muu"
    assert succeed("review", tmp_path / "model", work / "test.jsonl", "-n", 2, "--json", "-q").count("\n") == 2
    assert json.loads(succeed("forget", tmp_path / "model", "new", "more", "--json", "-q"))["forgotten"] == 2
    assert best(tmp_path / "model", ENGLISH) == "tähti"


def test_a_server_answers(work):
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    from serve_helpers import Client

    client = Client(work / "model")
    assert client.post("/tag", {"texts": [ENGLISH], "k": 1}).json()["results"][0]["labels"][0]["label"] == "tähti"
    answer = client.post("/explain", {"text": "Leipä on uusi", "k": 1}).json()
    assert answer["labels"][0]["label"] == "ruoka"
    assert "leipä" in {span[2] if isinstance(span, list) else span["word"] for span in answer["spans"]}
    assert client.post("/map", {"text": "leipä"}).json()["points"]
    client.close()


def test_the_labels_of_documents_are_doubted(work):
    tagger = TextTagger.load(work / "model")
    assert isinstance(tagger.review_labels(n=2), list)


def test_settings_are_tuned(work):
    tune = ("tune", work / "train.jsonl", "--encoder", work / "static", "--fix", "features=words", "--json", "-q")
    report = json.loads(succeed(*tune, "--try", "l2=1", "--n-jobs", 1, "--max-points", 120))
    assert report["method"] == "x1"
    assert "there is no encoder 'nothing'" in fail("tune", work / "train.jsonl", "--encoder", "nothing")


def test_a_tagger_in_python(work, tmp_path):
    documents = make_documents(60)
    texts, labels = [each["text"] for each in documents], [each["labels"] for each in documents]
    tagger = TextTagger(HybridFeatures("words", work / "static")).fit(texts, labels)
    tagger.save(tmp_path)
    again = TextTagger.load(tmp_path)
    assert [tags[0].label for tags in again.predict(texts[:6], 1)] == [each[0] for each in labels[:6]]
