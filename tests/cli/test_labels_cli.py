"""A vocabulary on the command line: given to train, told by tag, and labels listed and changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from cli_helpers import fail, invoke, succeed
from neartag import TextTagger, X1Classifier

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
    told = "labels that differ only in case or punctuation: 'Baking', 'baking'"
    assert done.stderr.count(told) == 1
    listed = invoke("labels", folder / "model")
    assert f"{told}; to make two one: neartag labels {folder / 'model'} --merge FROM INTO" in listed.stderr
    assert listed.stderr.splitlines()[-1].startswith(f"next: neartag labels {folder / 'model'} --merge")
    assert invoke("labels", folder / "model", "--json").stderr == ""
    assert "next: neartag tag" in invoke("labels", folder / "model", "--merge", "Baking", "baking").stderr
    assert told not in invoke("labels", folder / "model").stderr


def test_lists_end_with_what_to_do_next(folder):
    assert "next: neartag methods NAME" in invoke("methods").stderr
    assert "next: neartag train DATA MODEL --method knn" in invoke("methods", "knn").stderr
    assert "next: neartag datasets get NAME" in invoke("datasets").stderr
    for command in ("methods", "datasets"):
        assert invoke(command, "--json").stderr == ""
    succeed("train", folder / "docs.jsonl", folder / "model", *OPTIONS, "--quiet")
    report = ("evaluate", folder / "model", folder / "docs.jsonl", "--report", folder / "report.html")
    assert f"next: neartag review {folder / 'model'} --labels" in invoke(*report).stderr


def test_options_that_need_a_vocabulary(folder):
    for option in (("--open-vocabulary",), ("--label-language", "fi")):
        assert "--vocabulary FILE" in fail("train", folder / "docs.jsonl", folder / "model", *option)
    assert "no such file" in fail("train", folder / "docs.jsonl", folder / "model", "--vocabulary", "none.tsv")
    rows = folder / "rows.txt"
    rows.write_text("2 2 2\n0 0:1\n1 1:1\n")
    message = fail("train", rows, folder / "model", "--vocabulary", folder / "terms.tsv", "--n-jobs", "1", "--quiet")
    assert "rows of features" in message


@pytest.mark.skipif(os.name != "posix", reason="needs fork and SIGKILL")
@pytest.mark.parametrize("change", [("--rename", "baking", "bread"), ("--merge", "baking", "cycling")])
def test_a_change_that_is_killed_leaves_the_model_before_it_or_after_it(tmp_path, change):
    """A process is killed at every third of its writes, renames and removals in turn, until one ends by itself."""
    texts = [text for text, _ in DOCUMENTS]
    tagger = TextTagger("words", X1Classifier(embedding_dim=2, vote_neighbours=2, refine=False, n_jobs=1))
    tagger.fit(texts, [["baking", "food"], ["cycling"], ["baking", "cycling"], ["cycling"]]).save(tmp_path / "model")
    program = """
import os, shutil, signal, sys
from neartag.cli.main import run
from neartag.tagging.live import LiveTagger
before, folder, change = sys.argv[1], sys.argv[2], sys.argv[3:]

def run_change():
    sys.argv = ["neartag", "labels", folder, *change]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        run()
    except SystemExit as end:
        return end.code or 0
    return 0

def die_at(moment):
    left = [moment]
    def count(*_):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    def watch(event, details):
        writes = event == "open" and isinstance(details[2], int) and details[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if (writes or event in ("os.rename", "os.remove")) and folder in str(details[0]):
            count()
    sys.addaudithook(watch)
    sync = os.fsync
    os.fsync = lambda file: (sync(file), count())

def labels_of_points():
    stored = LiveTagger(folder).tagger.stored
    Y = stored.model.Y
    return [sorted(stored.label_names[label] for label in Y[row].indices) for row in range(Y.shape[0])]

shown = os.dup(1)
shutil.copytree(before, folder)
assert run_change() == 0  # all that it imports is here before the forks
os.dup2(shown, 1)
seen, moment, status = [], -2, -1
while status:
    moment += 3
    shutil.rmtree(folder)
    shutil.copytree(before, folder)
    child = os.fork()
    if child == 0:
        die_at(moment)
        os._exit(run_change())
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
    seen.append(labels_of_points())
import json
print(json.dumps(seen))
"""
    arguments = [sys.executable, "-c", program, str(tmp_path / "model"), str(tmp_path / "changed"), *change]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    old = [["baking", "food"], ["cycling"], ["baking", "cycling"], ["cycling"]]
    new = [sorted({change[2] if name == "baking" else name for name in names}) for names in old]
    first = seen.index(new)
    assert first > 2, "killed before it, at several moments"
    assert seen == [old] * first + [new] * (len(seen) - first)
    assert len(seen) > first + 1, "killed after it, too"
