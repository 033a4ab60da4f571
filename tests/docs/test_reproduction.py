"""The committed report is the one of the committed results: none is older than the other."""

from __future__ import annotations

import pytest
from docs_helpers import ROOT

from neartag.experiments.behaviour import Behaviours
from neartag.experiments.pages import make_sections, to_markdown
from neartag.experiments.plan import Plan
from neartag.experiments.report.blocks import Figure
from neartag.experiments.results_folder import read_records
from neartag.experiments.runner import current_results

DOCS = ROOT / "docs"
RESULTS = DOCS / "reproduction" / "results"


@pytest.fixture(scope="module")
def report():
    results = current_results(read_records(RESULTS), Plan(), Behaviours(RESULTS))
    return results, make_sections(results)


def test_the_page_shows_the_results_that_are_kept(report):
    results, sections = report
    fresh = to_markdown(sections, results) == (DOCS / "reproduction.md").read_text(encoding="utf-8")
    assert fresh, "docs/reproduction.md is older than its results: run make reproduction REPRODUCE=--report"


def test_there_is_a_plot_for_each_figure_and_no_other(report):
    _, sections = report
    figures = {block.name: block for section in sections for block in section.blocks if isinstance(block, Figure)}
    plots = {path.stem: path for path in (DOCS / "reproduction").glob("*.svg")}
    assert set(plots) == set(figures)
    old = [name for name, figure in figures.items() if figure.digest() not in plots[name].read_text(encoding="utf-8")]
    assert not old, "plots of other numbers: run make reproduction REPRODUCE=--report"
