"""`neartag review`: documents to label, and doubtful labels, as text, JSON lines and CSV."""

from __future__ import annotations

import csv
import json
import shutil

import pytest

from cli_helpers import fail, invoke, succeed
from neartag import TextTagger, X1Classifier
from neartag.cli.review import _evidence_line
from neartag.cli.review_table import as_csv
from neartag.data.documents.label_cells import find_separator, split_cell

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
    assert list(rows[0]) == ["id", "text", "labels", "score", "why", "suggested", "evidence"]
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
    assert "1 doubtful labels of 1 documents" in told.stderr
    assert f"next: neartag add {model} {target} --replace" in told.stderr
    (row,) = csv.DictReader(target.read_text().splitlines())
    assert (row["id"], row["text"], row["labels"]) == ("x", "bread and flour", "cycling")
    assert (row["label"], row["kind"]) in {("cycling", "wrong"), ("baking", "missing"), ("cooking", "missing")}
    assert "bread" in row["evidence"]


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write_rows(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_a_file_of_documents_to_label_teaches_whole_texts(model, tmp_path):
    """Shortened texts in the file would be what the model learns; numbers of rows would be taken for ids."""
    folder, target = shutil.copytree(model, tmp_path / "model"), tmp_path / "review.csv"
    long = 'a comet in the sky,\nsaid "she" ' + "of many words " * 60
    (tmp_path / "new.jsonl").write_text(json.dumps({"text": long}) + "\n" + json.dumps({"text": "bread, flour"}) + "\n")
    told = invoke("review", folder, tmp_path / "new.jsonl", "-o", target)
    assert f"next: neartag add {folder} {target}  " in told.stderr
    rows = read_rows(target)
    assert {row["text"] for row in rows} == {long, "bread, flour"}
    assert {row["id"] for row in rows} == {""}
    write_rows(target, [{**row, "labels": "astronomy" if row["text"] == long else ""} for row in rows])
    assert json.loads(succeed("add", folder, target, "--json", "-q"))["without_a_label"] == 1
    tagger = TextTagger.load(folder)
    assert long in tagger.stored.texts
    assert "astronomy" in tagger.labels


def test_corrected_labels_replace_those_of_the_document(model, tmp_path):
    """A document of several doubts has one row, with all its labels: added again unchanged, it changes nothing."""
    folder, target = shutil.copytree(model, tmp_path / "model"), tmp_path / "doubts.csv"
    succeed("review", folder, "--labels", "--folds", 0, "-n", 40, "-o", target, "-q")
    rows = read_rows(target)
    assert len({row["id"] for row in rows}) == len(rows)
    assert max(len(row["label"].split(";")) for row in rows) > 1  # several doubts of one document
    assert all(len(row["kind"].split(";")) == len(row["label"].split(";")) for row in rows)
    before = labels_by_id(folder)
    assert all(set(row["labels"].split(";")) == before[row["id"]] for row in rows)
    write_rows(target, [{**row, "labels": "baking;cooking"} if row["id"] == "d11" else row for row in rows])
    assert json.loads(succeed("add", folder, target, "--replace", "--json", "-q"))["replaced"] == len(rows)
    assert labels_by_id(folder) == {**before, "d11": {"baking", "cooking"}}


def labels_by_id(folder):
    stored = TextTagger.load(folder).stored
    rows = zip(stored.model.Y.indptr, stored.model.Y.indptr[1:], strict=False)
    names = [{stored.label_names[label] for label in stored.model.Y.indices[start:stop]} for start, stop in rows]
    return dict(zip(stored.point_names, names, strict=True))


def test_labels_that_hold_marks_are_written_so_that_they_are_read_again():
    entry = {"index": 0, "id": "a", "text": "x", "score": 1, "why": "", "evidence": [], "kind": "wrong"}
    for labels in (["Paris, France", "b"], ["Paris, France"], ["a;b", "c|d", "e\tf"], ["{x}"], []):
        cell = next(csv.DictReader(as_csv([{**entry, "labels": labels, "label": "b"}], str, doubts=True).splitlines()))
        assert split_cell(cell["labels"], find_separator([cell["labels"]])) == labels


def test_files_are_replaced_only_where_that_is_asked_for(model, unlabelled, tmp_path):
    for command in (["review", model, unlabelled], ["predict", model, unlabelled], ["tag", model, unlabelled]):
        target = tmp_path / f"{command[0]}.csv"
        target.write_text("mine")
        assert "is there already: give --overwrite" in fail(*command, "-o", target)
        assert target.read_text() == "mine"
        succeed(*command, "-o", target, "--overwrite", "-q")
        assert target.read_text() != "mine"
        assert "there is no folder" in fail(*command, "-o", tmp_path / "none" / "x.csv")


def test_mistakes_are_told(model, unlabelled):
    assert "--labels" in fail("review", model)
    assert "--folds goes with --labels" in fail("review", model, unlabelled, "--folds", "3")
    assert "--doubt goes with --labels" in fail("review", model, unlabelled, "--doubt", "wrong")
    assert "--doubt must be wrong or missing, not 'bad'" in fail("review", model, "--labels", "--doubt", "bad")
    assert "would replace" in fail("review", model, unlabelled, "-o", unlabelled)
    assert "-n" in fail("review", model, unlabelled, "-n", "0")
    assert "no such file" in fail("review", model, "nowhere/docs.csv")


def test_words_that_say_little_are_not_said_to_be_none():
    near = {"id": "7", "similarity": 0.2, "labels": ["a"], "words": []}
    assert _evidence_line(near) == "7 (0.20; no telling word in common): a"
