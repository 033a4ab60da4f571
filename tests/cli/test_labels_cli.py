"""A vocabulary on the command line: given to train, told by tag, and labels listed and changed."""

from __future__ import annotations

import json

import pytest

from cli_helpers import fail, invoke, succeed

DOCUMENTS = [
    ("bake bread in the oven", ["baking"]),
    ("ride a bicycle", ["http://example.org/2"]),
    ("bread with butter", ["Baking"]),
    ("the wheel of a bicycle", ["cycling"]),
]
OPTIONS = ("--features", "words", "--no-refine", "--embedding-dim", "2", "--vote-neighbours", "2", "--n-jobs", "1")


@pytest.fixture
def folder(tmp_path):
    lines = [json.dumps({"text": text, "labels": labels}) + "\n" for text, labels in DOCUMENTS]
    (tmp_path / "docs.jsonl").write_text("".join(lines))
    (tmp_path / "terms.tsv").write_text(
        "<http://example.org/1>\tbaking\n<http://example.org/1>\tBaking\n<http://example.org/2>\tcycling\n"
    )
    return tmp_path


def test_train_tag_and_change_with_a_vocabulary(folder):
    model = folder / "model"
    report = succeed(
        "train", folder / "docs.jsonl", model, "--vocabulary", folder / "terms.tsv", *OPTIONS, "--quiet", "--json"
    )
    assert json.loads(report)["concepts"] == json.loads(report)["labels"] == 2
    answer = json.loads(succeed("tag", model, "bread", "--json", "-k", "1"))["labels"][0]
    assert (answer["label"], answer["uri"], answer["names"]) == ("baking", "http://example.org/1", {"": "baking"})
    figures = json.loads(succeed("evaluate", model, folder / "docs.jsonl", "--json", "--quiet"))
    assert figures["metrics"]["P@1"] == 100.0  # names and URIs are those of the labels
    assert {each["uri"] for each in figures["by_label"]} == {"http://example.org/1", "http://example.org/2"}
    assert "cycling" not in succeed("tag", model, "bread on a bicycle", "--only", "b*")
    assert "baking" not in succeed("tag", model, "bread on a bicycle", "--without", "http://example.org/1")
    assert "no label" in fail("tag", model, "bread", "--only", "swimming")
    listed = [json.loads(line) for line in succeed("labels", model, "--json").splitlines()]
    assert [(each["label"], each["documents"], each["uri"]) for each in listed] == [
        ("baking", 2, "http://example.org/1"),
        ("cycling", 2, "http://example.org/2"),
    ]
    assert json.loads(succeed("labels", model, "--rename", "baking", "bread making", "--json")) == {
        "labels": 2,
        "closed": True,
    }
    assert succeed("labels", model).split() == [
        *("2", "bread", "making", "http://example.org/1"),
        *("2", "cycling", "http://example.org/2"),
    ]
    (folder / "more.jsonl").write_text(json.dumps({"text": "a bicycle race", "labels": ["sport"]}) + "\n")
    assert "more.jsonl:1: the label 'sport' is not in the vocabulary" in fail("add", model, folder / "more.jsonl", "-q")
    assert "taken" in succeed("labels", model, "--open")
    succeed("add", model, folder / "more.jsonl", "--quiet")
    assert "refused" in succeed("labels", model, "--close")
    assert json.loads(succeed("labels", model, "--merge", "sport", "cycling", "--json"))["labels"] == 2
    assert "at a time" in fail("labels", model, "--close", "--merge", "a", "b")


def test_a_closed_vocabulary_names_the_line(folder):
    (folder / "list.txt").write_text("baking\nBaking\ncycling\n")
    arguments = ("train", folder / "docs.jsonl", folder / "model", "--vocabulary", folder / "list.txt", *OPTIONS)
    assert "docs.jsonl:2: the label 'http://example.org/2' is not in the vocabulary" in fail(*arguments, "--quiet")
    done = invoke(*arguments, "--open-vocabulary")
    assert done.exit_code == 0
    assert "labels that differ only in case or punctuation: 'Baking', 'baking'" in done.stderr


def test_options_that_need_a_vocabulary(folder):
    for option in (("--open-vocabulary",), ("--label-language", "fi")):
        assert "--vocabulary FILE" in fail("train", folder / "docs.jsonl", folder / "model", *option)
    assert "no such file" in fail("train", folder / "docs.jsonl", folder / "model", "--vocabulary", "none.tsv")
    rows = folder / "rows.txt"
    rows.write_text("2 2 2\n0 0:1\n1 1:1\n")
    message = fail("train", rows, folder / "model", "--vocabulary", folder / "terms.tsv", "--n-jobs", "1", "--quiet")
    assert "rows of features" in message
