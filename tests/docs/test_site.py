"""The site: every page has its place, and every command of its guides runs and prints what is shown."""

from __future__ import annotations

import re
import shlex
import shutil

import pytest
from docs_helpers import README, ROOT, blocks, pages, read, without_numbers

from cli_helpers import invoke, succeed

DOCS = ROOT / "docs"
GUIDES = sorted((DOCS / "guides").glob("*.md"))
TICKETS = ROOT / "examples" / "tickets"


def nav_pages():
    text = read(ROOT / "mkdocs.yml").split("\nnav:\n")[1]
    return re.findall(r"([\w/-]+\.(?:md|ipynb))$", text, re.MULTILINE)


def test_every_page_stands_in_the_navigation_once():
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*") if path.suffix in (".md", ".ipynb")}
    listed = nav_pages()
    assert len(listed) == len(set(listed))
    assert there | set(pages.MADE) | (set(pages.SHOWN.values()) - {"index.md"}) == set(listed)


def test_links_lead_to_where_the_site_shows_a_file():
    pytest.importorskip("mkdocs")
    import hook

    led = hook.lead_links(
        "[a](../SECURITY.md#x) [b](../benchmarks/run.py) [c](formats.md) [d](https://e.f)", "docs/server.md"
    )
    assert led == "[a](project/security.md#x) b [c](formats.md) [d](https://e.f)"
    assert hook.lead_links("```\n[a](../SECURITY.md)\n```", "docs/x.md") == "```\n[a](../SECURITY.md)\n```"


def test_where_a_file_is_shown():
    assert pages.shown_at("SECURITY.md") == "project/security.md"
    assert pages.shown_at("docs/formats.md") == "formats.md"
    assert pages.shown_at("docs/reference/commands.md") == "reference/commands.md"
    assert pages.shown_at("docs/project/security.md") == "project/security.md", "as pages of docs/ name it"
    assert pages.shown_at("docs/nothing.md") is None
    assert pages.shown_at("benchmarks/run.py") is None


def test_the_reference_has_every_command_and_setting():
    import reference

    from neartag.methods import registry

    commands = reference.describe_commands()
    for name in ("train", "tag", "labels", "datasets get"):
        assert f"\n## neartag {name}\n" in commands
    assert "| `--threshold SCORE\\|f1\\|precision=P` |" in commands
    settings = reference.describe_settings()
    assert all(f"| `{each.name}` |" in settings for each in registry.get("x1").parameters)


def test_the_reference_has_every_path():
    pytest.importorskip("fastapi")
    import reference

    described = reference.describe_http()
    assert "## POST /tag\n" in described
    assert "| `text` |" in described


def test_the_picture_of_the_vote_is_of_real_documents():
    text = read(DOCS / "site" / "vote-data.js")
    import json

    from neartag.data import debian

    known = set(debian.load("train").names)
    sentences = json.loads(text.removeprefix("window.neartagVotes = ").rstrip().removesuffix(";"))["sentences"]
    assert len(sentences) == 3
    for sentence in sentences:
        assert {point["id"] for point in sentence["points"]} <= known
        shares = [point["share"] for point in sentence["points"]]
        assert sum(shares) == pytest.approx(1, abs=0.01)


def shown(block):
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(line, printed) for line, _, printed in (part.partition("\n") for part in parts)]


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_its_commands_run_and_print_what_is_shown(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in TICKETS.iterdir():
        shutil.copy(file, tmp_path)
    for line, expected in [each for block in blocks(path, "console") for each in shown(block)]:
        printed = succeed(*shlex.split(line, comments=True)[1:])
        if expected:
            assert without_numbers(printed) == without_numbers(expected)
            numbers = (list(map(float, re.findall(r"\d+\.?\d*", text))) for text in (printed, expected))
            assert next(numbers) == pytest.approx(next(numbers), abs=1.5)


def test_the_first_page_shows_what_the_readme_shows():
    """The commands of the README run in a test of their own."""
    run = [each for block in blocks(README, "console") for each in shown(block)]
    first = [each for block in blocks(DOCS / "start.md", "console") for each in shown(block)]
    first += [each for block in blocks(DOCS / "concepts" / "scores.md", "console") for each in shown(block)]
    assert len(first) == 4
    known = {(line.split("#")[0].strip(), printed) for line, printed in run}
    assert {(line.strip(), printed) for line, printed in first} <= known


def test_the_guide_shows_the_table_that_is_there():
    rows = [line.split(",", 1)[0] for line in read(TICKETS / "tickets.csv").splitlines()[1:]]
    for number in re.findall(r"^\| (\d{4}) \|", read(DOCS / "guides" / "spreadsheet.md"), re.MULTILINE):
        assert number in rows


def test_what_training_says_is_what_the_guide_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(TICKETS / "tickets.csv", tmp_path)
    guide = DOCS / "guides" / "spreadsheet.md"
    (said,) = [block for block in blocks(guide, "") if block.startswith("tickets.csv:")]
    command = shown(blocks(guide, "console")[0])[0][0]
    assert said in invoke(*shlex.split(command)[1:]).stderr
