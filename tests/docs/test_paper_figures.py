"""The page for researchers repeats figures of the report: each of its tables has what the report has."""

from __future__ import annotations

import re

import pytest
from docs_helpers import ROOT

PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
REPORT = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
# The page's names of the data sets, and the report's.
SETS = {
    "BibTeX": "BibTeX",
    "Delicious": "Delicious",
    "MediaMill": "MediaMill",
    "EUR-Lex, a part": "EURLex (substitute: eurlex4k-partial)",
}
CUTS = ("P@1", "P@3", "P@5")


def rows_after(text: str, heading: str) -> list[list[str]]:
    """Return the entries of the first table after a line that is this heading, its own head first."""
    after = text.split(f"\n{heading}\n", 1)[1]
    lines = re.search(r"(?:^\|.*\n)+", after, re.MULTILINE).group().splitlines()
    return [
        [entry.strip() for entry in line.strip("|").split("|")] for line in lines if not re.match(r"^\|[-:|]+$", line)
    ]


def plain(entry: str) -> str:
    """Return an entry without type, with ASCII's minus."""
    return entry.replace("**", "").replace("\N{MINUS SIGN}", "-")


def numbers(entry: str) -> list[str]:
    return re.findall(r"[+-]?\d+\.\d+", plain(entry))


@pytest.mark.parametrize("title", SETS)
def test_x1_beside_the_printed_numbers(title):
    (row,) = [row for row in rows_after(PAGE, "## How near X1 (paper) comes to the printed numbers") if row[0] == title]
    short = {
        row[1]: row for row in rows_after(REPORT, "### X1 (paper) beside the printed numbers") if row[0] == SETS[title]
    }
    cells = [short[cut] for cut in CUTS]
    assert numbers(row[1]) == [numbers(cell[2])[0] for cell in cells]
    if title == "EUR-Lex, a part":
        assert row[2:] == ["other data", "–"]
        return
    assert numbers(row[2]) == [number for cell in cells for number in numbers(cell[2].split("paper")[1])[:2]]
    assert numbers(row[3]) == [number for cell in cells for number in numbers(cell[3])]


def test_the_best_readings():
    shown = rows_after(PAGE, "## Readings: how the paper's open points may be interpreted")[1:]
    assert [row[0] for row in shown] == list(SETS)
    readings = REPORT.split("\n## Readings of what the paper leaves open\n")[1].split("\n## ")[0]
    for title, paper, compared, best, gained in shown:
        rows = rows_after(readings, f"### {SETS[title]}")[1:]
        assert numbers(paper) == [number for cell in rows[0][2:5] for number in numbers(cell)]
        note = readings.split(f"### {SETS[title]}\n")[1].split("\n### ")[0]
        assert f"the best of {compared} readings, X1 (paper) among them" in note
        (found,) = [row for row in rows if "best" in row[1]]
        assert best.startswith(found[0] + ":")
        assert numbers(best) == [number for cell in found[2:5] for number in numbers(cell)]
        assert numbers(gained) == numbers(found[5])


def test_the_ladder():
    glance = {row[0]: row[1:] for row in rows_after(REPORT, "### At a glance")}
    page = rows_after(PAGE, "## The ladder: what each departure is worth")
    assert page[0][1:] == list(SETS)
    assert [row[0] for row in page] == list(glance)
    for name, *entries in page[1:]:
        for place, entry in enumerate(entries):
            pair = glance[name][2 * place : 2 * place + 2]
            assert entry == " / ".join(shown for each in pair if (shown := as_shown(name, each))) or (
                entry in ("same", "–") and {as_shown(name, each) for each in pair} == {entry}
            ), (name, entry, pair)


def as_shown(name: str, told: str) -> str:
    """Return a difference of the report as the page shows it."""
    if told in ("", "–"):
        return told
    mean, half = numbers(told)
    if (mean, half) == ("+0.00", "0.00"):
        return "none" if name == "rankers" else "same"
    sign = mean.replace("-", "\N{MINUS SIGN}")
    return f"**{sign}**" if abs(float(mean)) > float(half) else sign


def test_the_large_set():
    head, *rows = rows_after(REPORT, "## Table 1 (a): large data sets")
    columns = {name: [numbers(row[place])[0] for row in rows] for place, name in enumerate(head) if place > 1}
    page = rows_after(PAGE, "## A large set")
    # Some methods have what they were run with beside their names.
    shown = {row[0].split(",")[0].removesuffix(" by words"): numbers(row[1]) for row in page[1:]}
    assert len(shown) >= 7
    assert shown == {name: columns[name] for name in shown}
