"""The page of the paper's other methods has what was measured, and calls X1 (paper) only what is the paper's X1."""

from __future__ import annotations

import json
import re

import pytest


@pytest.fixture
def tables(module):
    return module("comparator_tables")


def test_the_page_has_the_tables_of_what_was_measured(tables):
    page = (tables.pages.DOCS / "comparators.md").read_text()
    made = tables.tables(tables.pages.kept("comparators"))
    assert set(made) == set(re.findall(r"<!-- (\S+) begin -->", page))
    for mark, text in made.items():
        written = page.split(f"<!-- {mark} begin -->\n")[1].split(f"\n<!-- {mark} end -->")[0]
        assert written == text, f"{mark}: run python benchmarks/comparators.py --page"


def test_rows_of_the_papers_x1_are_from_the_reproduction_and_judged_as_others_are(tables, tmp_path, monkeypatch):
    folder = tmp_path / "reproduction" / "results"
    folder.mkdir(parents=True)
    measured = {"P@1": 64.0, "P@3": 40.0, "P@5": 29.0}
    lines = [
        {"data": "bibtex", "method": "x1-variant", "seed": 0, "measured": {"P@1": 1.0}},
        {"data": "bibtex", "method": "x1", "seed": 1, "measured": {"P@1": 2.0}},
        {"data": "bibtex", "method": "x1", "seed": 0, "measured": measured},
    ]
    (folder / "table3.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (folder / "table1.jsonl").write_text("")
    monkeypatch.setattr(tables.pages, "DOCS", tmp_path)
    scores = {"bibtex": {"x1": {"scores": {"P@1": 70.0, "P@3": 41.0, "P@5": 30.0}}}}
    _, _, paper, own = tables.beside_the_paper(scores).splitlines()
    assert paper.startswith("| BibTeX | X1 (paper) | 64.00 / 40.00 / 29.00 | 65.57 / ")
    assert paper.endswith("| missed at P@1 |")
    assert own.startswith("| BibTeX | neartag, votes alone | 70.00 / 41.00 / 30.00 | 65.57 / ")
    assert own.endswith("| kept |")
    assert tables.paper_figures("delicious") is None


def test_places_count_those_above(tables):
    others = [[3.0, 1.0, 2.0], [5.0, 1.0, 2.0]]
    assert tables.places([4.0, 2.0, 1.0], others) == "P@1 2 of 3, P@3 1 of 3, P@5 3 of 3"
