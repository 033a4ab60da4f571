"""`neartag review`: documents to label, and doubtful labels, as text, JSON lines and CSV."""

from __future__ import annotations

import csv
import json

import pytest

from cli_helpers import fail, invoke, succeed
from neartag import TextTagger, X1Classifier

BREAD, BICYCLE = ["baking", "cooking"], ["cycling", "sport"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("review") / "model"
    texts = [f"bread oven flour {number}" for number in range(12)] + [f"bicycle wheel {number}" for number in range(12)]
    labels = [BREAD] * 11 + [["baking", "cooking", "sport"]] + [BICYCLE] * 11 + [["cycling"]]
    settings = {"embedding_dim": 2, "vote_neighbours": 3, "feature_share": 0.5, "refine": False, "n_jobs": 1}
    TextTagger("words", X1Classifier(**settings)).fit(texts, labels, [f"d{row}" for row in range(24)]).save(folder)
    return folder


@pytest.fixture
def unlabelled(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("id,text\nn1,a comet in the sky\nn2,bread in the oven\nn3,another comet in the sky\n")
    return path


def test_documents_to_label(model, unlabelled, tmp_path):
    lines = [json.loads(line) for line in succeed("review", model, unlabelled, "--json", "-q").splitlines()]
    assert {line["id"] for line in lines} == {"n1", "n2", "n3"}
    assert lines[0]["id"] in {"n1", "n3"}
    assert lines[0]["why"].startswith("unsure") or "new" in lines[0]["why"]
    bread = next(line for line in lines if line["id"] == "n2")
    assert {each["label"] for each in bread["suggested"]} >= set(BREAD)
    assert set(bread["evidence"][0]["words"]) == {"bread", "oven"}
    target = tmp_path / "review.csv"
    assert succeed("review", model, unlabelled, "-n", "2", "-o", target, "-q") == ""
    with open(target, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["id", "text", "score", "why", "suggested", "evidence"]
    assert [row["id"] for row in rows] == [line["id"] for line in lines[:2]]
    shown = succeed("review", model, unlabelled, "-n", "3", "-q")
    assert "suggested: " in shown
    assert "bread in the oven" in shown


def test_doubtful_labels_of_the_model_and_of_a_file(model, tmp_path):
    lines = [json.loads(line) for line in succeed("review", model, "--labels", "--json", "-n", "4", "-q").splitlines()]
    found = {(line["id"], line["label"], line["kind"]) for line in lines}
    assert {("d11", "sport", "wrong"), ("d23", "sport", "missing")} <= found
    assert all(line["text"] for line in lines)
    path = tmp_path / "docs.jsonl"
    path.write_text(json.dumps({"id": "x", "text": "bread and flour", "labels": ["cycling"]}) + "\n")
    target = tmp_path / "doubts.csv"
    told = invoke("review", model, path, "--labels", "-n", "1", "-o", target)
    assert told.exit_code == 0
    assert "1 doubtful labels" in told.stderr
    assert "next: neartag add" in told.stderr
    (row,) = csv.DictReader(target.read_text().splitlines())
    assert (row["id"], row["text"]) == ("x", "bread and flour")
    assert (row["label"], row["kind"]) in {("cycling", "wrong"), ("baking", "missing"), ("cooking", "missing")}
    assert "bread" in row["evidence"]


def test_mistakes_are_told(model, unlabelled):
    assert "--labels" in fail("review", model)
    assert "--folds goes with --labels" in fail("review", model, unlabelled, "--folds", "3")
    assert "--doubt goes with --labels" in fail("review", model, unlabelled, "--doubt", "wrong")
    assert "--doubt must be wrong or missing, not 'bad'" in fail("review", model, "--labels", "--doubt", "bad")
    assert "would replace" in fail("review", model, unlabelled, "-o", unlabelled)
    assert "-n" in fail("review", model, unlabelled, "-n", "0")
    assert "no such file" in fail("review", model, "nowhere/docs.csv")
