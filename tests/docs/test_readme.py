"""The README's commands run, print what it shows, and its figures are those that were measured."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from docs_helpers import README, ROOT, blocks, read, without_numbers

from cli_helpers import succeed

TAGGING = ROOT / "docs" / "tagging.md"
TOPICS = {
    "bread": "loaf dough flour yeast crumb crust sourdough",
    "storage": "fridge freezer jar stale fresh keep days",
    "knives": "knife blade sharpen steel edge cut board",
    "sauce": "thicken reduce butter cream whisk simmer pan",
}


def documents(n):
    """Return some short texts with the topics that their words are from."""
    names, found = sorted(TOPICS), []
    for number in range(n):
        one, two = names[number % 4], names[number * 7 % 3]
        first, second = TOPICS[one].split(), TOPICS[two].split()
        words = [first[number % 7], first[number * 3 % 7], second[number * 5 % 7], f"word{number % 40}"]
        found.append({"id": f"d{number}", "text": " ".join(words), "labels": sorted({one, two})})
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the files that the README names."""
    from neartag import data
    from neartag.data.synthetic import make

    monkeypatch.chdir(tmp_path)
    for file, part in (("docs", documents(300)), ("test", documents(40))):
        lines = [json.dumps(each) for each in part]
        (tmp_path / f"{file}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = "".join(f"{number},{each['text']}\n" for number, each in enumerate(documents(8)))
    (tmp_path / "new.csv").write_text(f"nr,text\n{rows}", encoding="utf-8")
    more = {"text": "sourdough crumb with holes", "labels": ["oven-spring"], "id": "new"}
    (tmp_path / "more.jsonl").write_text(json.dumps(more) + "\n", encoding="utf-8")
    made = make(400, 60, 20, 8, 2)
    data.write(made, tmp_path / "train.txt")
    data.write(made, tmp_path / "test.txt")
    return tmp_path


def commands(block):
    """Return the arguments of each `neartag` command of a block, its comment left out."""
    lines = [line.removeprefix("$ ") for line in block.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("neartag ")]


def shown(block):
    """Return each command of a console's block with the lines that it prints."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(line, printed) for line, _, printed in (part.partition("\n") for part in parts)]


def test_it_is_short_and_begins_with_what_to_do():
    lines = read(README).splitlines()
    assert len(lines) <= 120
    first = "\n".join(lines[:35])
    assert "make demo" in first
    assert "make test" in first
    assert "docs/page.png" in first


def test_it_says_how_many_sentences_the_demo_tags():
    from neartag.cli.demo import SENTENCES

    assert len(SENTENCES) == 4
    assert "tags four sentences" in read(README)


def test_its_commands_run(folder):
    own = [block for block in blocks(README, "") if "docs.jsonl" in block]
    assert len(own) == 1
    for arguments in commands(own[0]):
        if arguments[0] != "serve":  # which runs until it is stopped
            assert succeed(*arguments)
    assert "oven-spring" in succeed("tag", "model", "sourdough crumb with holes", "-k", "20")


def test_its_python_runs(folder):
    found = documents(300)
    around = {"texts": [each["text"] for each in found], "labels": [each["labels"] for each in found]}
    both = blocks(README, "python")
    assert len(both) == 2
    for block in both:
        exec(compile(block, "README.md", "exec"), around)
    assert "oven-spring" in around["tagger"].labels
    assert around["scores"].shape == (400, 5)


def test_what_commands_print_is_what_is_shown(folder):
    """On the embedded corpus, so that a reader can repeat it; numbers may differ in their last digit."""
    trained = set()
    for path in (README, TAGGING):
        examples = [each for block in blocks(path, "console") for each in shown(block)]
        assert any(expected for _, expected in examples)
        for line, expected in examples:
            arguments = tuple(shlex.split(line, comments=True)[1:])
            if expected:
                printed = succeed(*arguments)
                assert without_numbers(printed) == without_numbers(expected)
                numbers = (list(map(float, re.findall(r"\d+\.?\d*", text))) for text in (printed, expected))
                assert next(numbers) == pytest.approx(next(numbers), abs=1.5)
            elif arguments not in trained:  # both pages train the same model
                trained.add(arguments)
                succeed(*arguments)


def test_the_picture_shows_the_same_example():
    script = read(ROOT / "scripts" / "page_picture.py")
    sentence, label = (re.search(rf'^{name} = "(.+?)"', script, re.MULTILINE)[1] for name in ("SENTENCE", "LABEL"))
    (block,) = blocks(README, "console")
    assert f'neartag tag model/ "{sentence}"' in block
    assert f"%  {label}\n" in block


def test_its_figures_are_those_of_the_benchmarks():
    measured = read(ROOT / "docs" / "benchmarks.md")
    refined = measured.split("<!-- refined begin -->")[1].split("<!-- refined end -->")[0]
    known = {tuple(re.findall(r"\d+\.\d+", line)) for line in refined.splitlines() if "| X1 refined |" in line}
    rows = [line.replace("*", "") for line in read(README).splitlines() if re.match(r"\| .+ \(\d", line)]
    assert len(rows) == len(known) == 7
    for row in rows:
        cells = [re.findall(r"\d+\.\d+", cell) for cell in row.split("|")[2:-1]]
        assert tuple(cells[0] + cells[2] + cells[4]) in known
        for figure in cells[1] + cells[3]:
            assert re.search(rf"\b{re.escape(figure)} [A-Za-z]", refined), f"{figure} is no best peer's"
    counts = re.search(
        r"At or above the best peer: (\d+ of \d+) figures; .* above zero for (\d+) and below it for (\d+)", refined
    )
    assert counts is not None
    assert f"in {counts[1]} " in read(README)
    assert f"{counts[2]} of the" in read(README)
    assert f"{('none', 'one', 'two', 'three')[int(counts[3])]} against it" in read(README)
