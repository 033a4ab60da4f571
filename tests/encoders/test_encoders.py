"""Every encoder keeps the contract, and a new one is a single file: neartag's commands take it by its name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from encoder_contract import EncoderContract

from cli_helpers import fail, succeed
from neartag import LiveTagger, TextTagger, X1Classifier
from neartag.core.errors import DataError, ModelError, ParameterError
from neartag.data.documents import Document
from neartag.encoders.base import check_encoder, read_items
from neartag.encoders.registry import DEFAULTS, ENCODERS
from neartag.encoders.tfidf import TfidfFeatures
from neartag.encoders.vectors import VectorFeatures
from plugin_helpers import write_distribution

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "adding-an-encoder.md"
TEXTS = ["a red fox", "Blue sky and sea", "the fox saw the sky", "zebras zip", "", "42 words, or fewer"]


@pytest.fixture(scope="module")
def toy_package(tmp_path_factory):
    """The folder of the package that docs/adding-an-encoder.md shows."""
    (source,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    points = {"neartag.encoders": {"toy": "toy_encoder:ToyEncoder"}}
    return write_distribution(tmp_path_factory.mktemp("toy"), "toy-package", points, toy_encoder=source)


@pytest.fixture
def installed(toy_package, monkeypatch):
    monkeypatch.syspath_prepend(str(toy_package))


class TestTfidf(EncoderContract):
    @pytest.fixture(params=[{}, {"word_pairs": True, "char_ngrams": (2, 3)}, {"hashing": 64}])
    def encoder(self, request):
        return TfidfFeatures(**request.param)

    @pytest.fixture
    def items(self):
        return TEXTS


class TestVectors(EncoderContract):
    @pytest.fixture(params=[True, False])
    def encoder(self, request):
        return VectorFeatures(unit_rows=request.param)

    @pytest.fixture
    def items(self):
        return list(np.random.default_rng(0).normal(size=(6, 4)))


@pytest.mark.usefixtures("installed")
class TestToy(EncoderContract):
    @pytest.fixture
    def encoder(self, installed):
        return ENCODERS.get("toy")()

    @pytest.fixture
    def items(self):
        return TEXTS


# The registry


def test_neartags_own_encoders():
    assert list(ENCODERS.builtin()) == ["hybrid", "sentence", "tfidf", "vectors"]
    assert {part: ENCODERS.get(name).accepts for part, name in DEFAULTS.items()} == {"text": "text", "vector": "vector"}
    with pytest.raises(
        ParameterError, match="there is no encoder 'toy': choose one of hybrid, sentence, tfidf, vectors"
    ):
        ENCODERS.get("toy")


def test_what_is_no_encoder():
    with pytest.raises(TypeError, match="is no encoder: it has no kind, accepts, fit, "):
        check_encoder(object())

    class Odd(TfidfFeatures):
        accepts = "smell"

    with pytest.raises(TypeError, match="accepts 'smell'"):
        check_encoder(Odd)


def test_a_document_without_the_part_is_named():
    documents = [Document("a", ["x"], None, np.ones(2), "file:1"), Document("b", ["x"], None, None, "file:2")]
    assert list(read_items(TfidfFeatures(), documents)) == ["a", "b"]
    with pytest.raises(DataError, match="file:2: it has no vector"):
        list(read_items(VectorFeatures(), documents))


# A new one, in every command


def lines(count: int, label_of) -> str:
    words = {"a": "apples and apricots", "b": "bananas by boat", "c": "cherries cost coins"}
    documents = (
        {"id": f"{letter}{number}", "text": f"{text} {number % 3}", "labels": [label_of(letter)]}
        for number in range(count)
        for letter, text in words.items()
    )
    return "".join(json.dumps(each) + "\n" for each in documents)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, toy_package):
    """A model that another process trained, which had the package on its PYTHONPATH."""
    folder = tmp_path_factory.mktemp("toy-model")
    (folder / "docs.jsonl").write_text(lines(40, str.upper))
    path = os.pathsep.join([str(toy_package), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "neartag", "train", "docs.jsonl", "model", "--encoder", "toy", "-q", "--json"]
    options = ["--embedding-dim", "4", "--n-jobs", "1"]
    done = subprocess.run(
        [*command, *options], cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["points"], report["labels"]) == (120, 3)
    assert json.loads((folder / "model" / "model.json").read_text())["features"]["kind"] == "toy"
    return folder


@pytest.mark.usefixtures("installed")
def test_its_models_tag_and_explain(folder):
    (found,) = json.loads(succeed("tag", folder / "model", "all apples are apt", "-k", 1, "--json"))["labels"]
    assert found["label"] == "A"
    (reason,) = json.loads(succeed("explain", folder / "model", "big blue boats", "-k", 1, "--json"))["labels"]
    assert reason["label"] == "B"
    assert reason["voters"][0]["words"][0]["word"] == "b"
    assert json.loads(succeed("inspect", folder / "model", "--json", "-q"))["trained_on_texts"] is True


@pytest.mark.usefixtures("installed")
def test_its_models_take_documents(folder, tmp_path):
    import shutil

    shutil.copytree(folder / "model", tmp_path / "model")
    (tmp_path / "new.jsonl").write_text(json.dumps({"id": "new", "text": "dates do dry", "labels": ["D"]}) + "\n")
    report = json.loads(succeed("add", tmp_path / "model", tmp_path / "new.jsonl", "--json", "-q"))
    assert report["new_labels"] == ["D"]
    assert report["without_a_known_word"] == 1, "no text had begun with d"
    (tmp_path / "more.jsonl").write_text(json.dumps({"id": "more", "text": "bc cb bc", "labels": ["E"]}) + "\n")
    succeed("add", tmp_path / "model", tmp_path / "more.jsonl", "--json", "-q")
    assert "more" in LiveTagger(tmp_path / "model").tagger
    assert json.loads(succeed("forget", tmp_path / "model", "new", "--json", "-q"))["forgotten"] == 1


@pytest.mark.usefixtures("installed")
def test_its_models_are_evaluated(folder, tmp_path):
    (tmp_path / "test.jsonl").write_text(lines(5, str.upper))
    report = json.loads(succeed("evaluate", folder / "model", tmp_path / "test.jsonl", "--json", "-q"))
    assert report["metrics"]["P@1"] == 100
    predicted = succeed("predict", folder / "model", tmp_path / "test.jsonl", "-k", 1, "-q").split()
    assert predicted == ["A", "B", "C"] * 5


@pytest.mark.usefixtures("installed")
def test_a_tagger_takes_it(tmp_path):
    encoder = ENCODERS.get("toy")(lower=False)
    documents = [json.loads(line) for line in lines(40, str.upper).splitlines()]
    texts, labels = [each["text"] for each in documents], [each["labels"] for each in documents]
    tagger = TextTagger(encoder, X1Classifier(embedding_dim=4, n_jobs=1)).fit(texts, labels)
    tagger.add(["Dates do dry"], [["D"]], ["new"])
    tagger.save(tmp_path)
    again = TextTagger.load(tmp_path)
    assert again.stored.features.lower is False
    assert "new" in again
    assert again.predict(texts[:6]) == tagger.predict(texts[:6])
    assert again.explain(texts[0]) == tagger.explain(texts[0])


@pytest.mark.usefixtures("installed")
def test_it_is_served(folder):
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    from serve_helpers import Client

    client = Client(folder / "model")
    answer = client.post("/explain", {"text": "big blue boats", "k": 1}).json()
    assert answer["labels"][0]["label"] == "B"
    assert answer["spans"] == []
    assert client.post("/map", {"text": "big blue boats"}).json()["points"]
    client.close()


def test_without_its_package_the_folder_says_what_is_missing(folder):
    with pytest.raises(ModelError, match=r"'toy' is unknown .*install the package that brings it"):
        TextTagger.load(folder / "model")
    assert "there is no encoder 'toy'" in fail("train", folder / "docs.jsonl", folder / "other", "--encoder", "toy")


@pytest.mark.usefixtures("installed")
def test_options_that_it_does_not_have_are_refused(folder, tmp_path):
    train = ("train", folder / "docs.jsonl", tmp_path / "model", "--encoder", "toy")
    assert "--min-df is no option of the encoder 'toy'" in fail(*train, "--min-df", "2")
    (tmp_path / "rows.txt").write_text("1 2 1\n0 0:1\n")
    assert "rows of features, which need no encoder" in fail("train", tmp_path / "rows.txt", tmp_path / "m", *train[3:])


def test_tune_learns_from_vectors_too(tmp_path):
    chance = np.random.default_rng(0)
    np.save(tmp_path / "vectors.npy", chance.normal(size=(120, 3)) + np.arange(120)[:, None] % 2)
    rows = ({"text": "", "labels": [f"l{n % 2}"]} for n in range(120))
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tune = ("tune", tmp_path / "docs.jsonl", "--method", "knn", "--try", "neighbours=3,5", "--json", "-q")
    assert "no word is left" in fail(*tune)
    assert json.loads(succeed(*tune, "--vectors", tmp_path / "vectors.npy"))["settings"]["neighbours"] in (3, 5)


def test_vectors_can_be_named_too(tmp_path):
    rows = ({"text": "", "labels": [f"l{n % 2}"], "vector": [n % 2, 1 - n % 2, 0.1 * n]} for n in range(30))
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    train = ("train", tmp_path / "docs.jsonl", tmp_path / "m", "--encoder", "vectors", "--embedding-dim", 2, "-q")
    assert "it has no vector" in fail(*train)
    succeed(*train, "--vector-field", "vector", "--n-jobs", 1)
    assert json.loads((tmp_path / "m" / "model.json").read_text())["features"]["kind"] == "vectors"
