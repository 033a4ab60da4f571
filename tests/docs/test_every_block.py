"""Every command and every piece of Python that the documentation shows is run by a test, or stands here with a reason.

Pages that other tests run are named in RUN_ELSEWHERE. The commands of the rest are run here, page by page and in order,
in a folder with the files that they name.
"""

from __future__ import annotations

import json
import re
import shlex

import pytest
from docs_helpers import DOCS, README, ROOT, blocks
from test_readme import documents

from cli_helpers import succeed

PAGES = [path for path in DOCS if path.suffix == ".md"]
RUN_ELSEWHERE = {
    "README.md": "test_readme",
    "docs/start.md": "test_site: the same as the README's",
    "docs/concepts/scores.md": "test_site: the same as the README's",
    "docs/adding-a-method.md": "tests/methods/test_plugin",
    "docs/adding-an-encoder.md": "tests/encoders/test_encoders",
    "docs/adding-a-format.md": "test_adding_a_format",
    **{f"docs/guides/{path.name}": "test_site" for path in (ROOT / "docs" / "guides").glob("*.md")},
}
# What a test cannot run: servers that run until they are stopped, hours of work, networks, other computers. Their
# options are checked by test_commands, and the tests that are named run them in another way.
NOT_RUN = {
    "serve": "runs until it is stopped: tests/serve and tests/browser run it",
    "reproduce": "hours: tests/experiments run it on small data",
    "tune": "minutes: tests/methods run it on small data",
    "push": "a hub: tests/tagging/test_hub run it against a stand-in",
    "pull": "a hub: tests/tagging/test_hub run it against a stand-in",
    "datasets": "a network: tests/data/test_download run it against a stand-in",
    "merge": "trainings with other seeds: tests/work run it",
    "compare": "minutes: tests/cli run it on small data",
}
PARTS = {  # of commands that a test runs with other words
    "--engine": "tests/cli/test_engines_cli",
    "--work-dir": "tests/cli/test_engines_cli",
    "--add-learners": "tests/work",
    "--encoder": "needs a sentence encoder: tests/cli/test_sentence_encoders",
    "--expect-digest": "the digest of another model: tests/storage",
    "under:": "needs a hierarchy: tests/vocabulary",
    "--overwrite": "of what another line wrote",
    "--method": "tests/comparators",
    "--vectors": "needs a sentence encoder: tests/tagging/test_export",
    "--preset": "of what tune wrote: tests/methods",
}
PYTHON_ELSEWHERE = {
    "docs/sharing.md": "tests/tagging/test_export",
    "docs/encoders.md": "needs a sentence encoder: tests/encoders",
    "docs/scaling.md": "needs a cluster: tests/work",
    "docs/experiments.md": "minutes: tests/methods",
    "docs/paper.md": "test_paper_page",
    "docs/tagging.md": "here",
}


def name(path):
    return path.relative_to(ROOT).as_posix()


def shown_commands(path):
    """Return the words of each command of a page, without comments; blocks with answers are run by other tests."""
    for block in blocks(path, ""):
        for line in re.findall(r"^(?:\$ )?neartag ([a-z].*)$", block, re.MULTILINE):
            yield shlex.split(line, comments=True)


def is_left_out(words):
    return words[0] in NOT_RUN or any(part in word for part in PARTS for word in words)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the pages name, and a model."""
    monkeypatch.chdir(tmp_path)
    for file, n in (("docs", 300), ("test", 40)):
        lines = [json.dumps(each) for each in documents(n)]
        (tmp_path / f"{file}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [f"{number},{each['text']},{';'.join(each['labels'])}" for number, each in enumerate(documents(30))]
    for file in ("docs.csv", "labelled.csv"):
        (tmp_path / file).write_text("\n".join(["id,text,labels", *rows]) + "\n", encoding="utf-8")
    texts = [",".join(row.split(",")[:2]) for row in rows]
    for file in ("backlog.csv", "new.csv"):
        (tmp_path / file).write_text("\n".join(["id,text", *texts]) + "\n", encoding="utf-8")
    more = [{"text": "sourdough crumb", "labels": ["oven-spring"], "id": each} for each in ("q1", "q7")]
    (tmp_path / "more.jsonl").write_text("\n".join(map(json.dumps, more)) + "\n", encoding="utf-8")
    terms = [f"http://example.org/{each}\t{each}" for each in ("bread", "storage", "knives", "sauce", "food storage")]
    (tmp_path / "terms.tsv").write_text("\n".join(terms) + "\n", encoding="utf-8")
    succeed("train", "docs.jsonl", "model", "--features", "words", "-q")
    return tmp_path


@pytest.mark.parametrize("path", [each for each in PAGES if name(each) not in RUN_ELSEWHERE], ids=name)
def test_its_commands_run(path, folder):
    for words in shown_commands(path):
        if is_left_out(words):
            continue
        stands_for = {"DATA": "docs.jsonl", "a text": "a stale loaf", "food*": "s*", "food storage": "storage"}
        words, more = [stands_for.get(word, word) for word in words], []
        if words[0] == "train":  # again, into the folder that is there; and quicker
            more = ["--overwrite", "--features", "words"]
        elif words[:2] == ["card", "model/"] and "-o" not in words and "--overwrite" not in words:
            more = ["--overwrite"]
        elif words[0] == "labels" and len(words) > 2 and words[2] in ("--rename", "--merge"):
            words = [*words[:3], *(("bread", "loaves") if words[2] == "--rename" else ("knives", "sauce"))]
        elif words[0] == "add" and words[2] in ("review.csv", "doubts.csv"):
            continue  # which a person fills in: tests/cli/test_review_cli does
        out = "figures.json" if ">" in words else None
        printed = succeed(*words[: words.index(">")] if out else words, *more)
        if out:
            (folder / out).write_text(printed, encoding="utf-8")


def test_the_python_of_the_tagging_page_runs(folder):
    (block,) = blocks(ROOT / "docs" / "tagging.md", "python")
    found = documents(300)  # fewer would not be calibrated
    texts, labels = [each["text"] for each in found], [each["labels"] for each in found]
    both = {"text": texts, "labels": labels, "title": texts, "body": texts, "tags": labels}
    around = {
        "texts": texts,
        "label_lists": labels,
        "ids": [each["id"] for each in found],
        "backlog": texts[:9],
    }
    kept = block.replace("live.add([...])", "live.refresh()")
    try:
        import pandas

        around["frame"] = pandas.DataFrame(both)
    except ModuleNotFoundError:  # an extra: tests/data read frames where there are any
        kept = "\n".join(line for line in kept.splitlines() if "(frame" not in line)
    exec(compile(kept.replace('tagger.save("model")', 'tagger.save("other")'), "tagging.md", "exec"), around)


def test_every_page_is_accounted_for():
    with_python = {name(path) for path in PAGES if blocks(path, "python")}
    assert with_python - set(RUN_ELSEWHERE) == set(PYTHON_ELSEWHERE)
    shown = [words for path in PAGES for words in shown_commands(path)]
    assert set(NOT_RUN) <= {words[0] for words in shown}, "a reason that nothing needs"
    for part in PARTS:
        assert any(part in word for words in shown for word in words) or part == "--overwrite", part
    run = [words for path in PAGES if name(path) not in RUN_ELSEWHERE for words in shown_commands(path)]
    assert sum(not is_left_out(words) for words in run) >= 25


def test_the_path_of_a_stranger_has_only_commands_of_the_documentation():
    import importlib.util

    spec = importlib.util.spec_from_file_location("strangers_path", ROOT / "scripts" / "strangers_path.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    assert README.name in {step.page for step in found.STEPS.values()}
    for step in found.STEPS.values():
        assert step.command in (ROOT / step.page).read_text(encoding="utf-8"), step.command
