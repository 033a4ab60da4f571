"""Spreadsheets on the command line: what was understood is told, and the same options settle the rest everywhere."""

from __future__ import annotations

import json

import pytest

from cli_helpers import fail, invoke, succeed

TEXTS = [
    "bake bread with yeast",
    "knead the dough",
    "grill a steak",
    "a steak of beef",
    "bread and butter",
    "roast beef",
]
LABELS = ["food,Bread", "Bread,dough", "food,meat", "meat", "food,bread", "food,meat"]
NAMES = ["--text-field", "Body", "--label-field", "Tags"]
FAST = ["--method", "knn", "--neighbours", "2", "--features", "words"]


@pytest.fixture
def table(tmp_path):
    rows = [f"{text} {number};{labels}" for number in range(3) for text, labels in zip(TEXTS, LABELS, strict=True)]
    path = tmp_path / "docs.csv"
    path.write_bytes("\r\n".join(["Body;Tags", *rows, "crème brûlée;food"]).encode("cp1252"))
    return path


def test_what_was_understood_is_told_before_training(table, tmp_path):
    done = invoke("train", table, tmp_path / "m", *NAMES, *FAST)
    assert done.exit_code == 0, done.stderr
    told = [
        f"{table}: cells separated by ';'; encoding cp1252; text from Body; labels from Tags, separated by ','",
        "19 documents, 5 labels",
        "most frequent: food (13), meat (9), Bread (6), bread (3), dough (3)",
        "suspicious: labels that differ only in case or punctuation: 'Bread', 'bread'; to make two one: neartag labels "
        "MODEL --merge FROM INTO",
    ]
    assert [line for line in done.stderr.splitlines() if line in told] == told
    assert "cells separated" not in invoke("train", table, tmp_path / "n", *NAMES, *FAST, "-q").stderr


def test_all_commands_have_the_options(table, tmp_path):
    succeed("train", table, tmp_path / "m", *NAMES, *FAST)
    evaluated = json.loads(succeed("evaluate", tmp_path / "m", table, *NAMES, "--json"))
    assert (evaluated["points"], evaluated["unknown_labels"]) == (19, 0)
    assert len(succeed("predict", tmp_path / "m", table, *NAMES).splitlines()) == 19
    other = tmp_path / "other.csv"
    other.write_bytes(table.read_bytes())
    options = ["--methods", "knn", "--set", "knn.neighbours=2", "--features", "words", "--json"]
    report = json.loads(succeed("compare", "--train", table, "--test", other, *options, *NAMES))
    assert (report["train"]["points"], report["train"]["labels"]) == (19, 5)


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("text,labels\na,0\nb,1\n", [], "--indicators"),
        ("text,labels\na,x\na,y\nb,x\nb,z\n", [], "--label-per-row"),
        ('text,labels\na,"Paris, France"\nb,Rome\n', [], "--separator"),
        ("text,tags\na,x\n", [], "--label-field"),
        ("text,labels\na,x\n", ["--delimiter", "ab"], "delimiter='ab'"),
        ("text,labels\na,x\n", ["--encoding", "klingon"], "encoding='klingon'"),
        ("text,labels\na,x\n", ["--quoting", "loud"], "quoting='loud'"),
        ("text,labels\na,x\n", ["--sheet", "one"], "sheet='one'"),
    ],
)
def test_what_is_open_is_an_error_in_a_line(tmp_path, content, options, said):
    (tmp_path / "docs.csv").write_text(content)
    assert said in fail("train", tmp_path / "docs.csv", tmp_path / "m", *options)


def test_options_settle_it(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_text("title,body,labels\n" + "".join(f"t{n},b{n},{label}\n" for n in range(4) for label in ("x", "y")))
    options = ["--text-field", "title", "--text-field", "body", *FAST, "--json"]
    assert json.loads(succeed("train", path, tmp_path / "one", *options, "--label-per-row"))["points"] == 4
    assert json.loads(succeed("train", path, tmp_path / "two", *options, "--document-per-row"))["points"] == 8


def test_a_folder_of_classes(tmp_path):
    for number, (text, labels) in enumerate(zip(TEXTS, LABELS, strict=True)):
        file = tmp_path / "set" / labels.split(",")[0].lower() / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert json.loads(succeed("train", tmp_path / "set", tmp_path / "m", *FAST, "--json"))["labels"] == 3
