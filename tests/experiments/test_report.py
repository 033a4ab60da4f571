"""The report of the paper's experiments: tables and plots in HTML and Markdown, and what it says of itself."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from experiment_helpers import of, record
from neartag.core.errors import NeartagError
from neartag.experiments import details
from neartag.experiments.pages import write_report
from neartag.experiments.plan import Plan
from neartag.experiments.report import draw, html, markdown
from neartag.experiments.report.blocks import Figure, Number, Series, Table, Text


def some_results():
    made = [record("table3", "bibtex", "x1", seed, {f"P@{k}": 60.0 / k for k in (1, 3, 5)}) for seed in (0, 1)]
    return of(*made, record("table3", "bibtex", "cs", 0, {}, failed="too wide"))


TABLE = Table(
    "A <table> | of sorts",
    ["data", "one", "other"],
    [["<b>x</b> | y", Number(66.0, 0.5, 10, 65.57, 0.65), Number(65.0, None, 1, 66.2)]],
    note="with `code`",
    compared=(1, 2),
)
FIGURE = Figure(
    "A plot", "plot-1", [Series("$a$ <b>", [1, 2, 3], [1.0, 4.0, 9.0], [0.1, 0.2, 0.3])], "x", "y", y_log=True
)


def test_markdown_marks_the_winners_of_both_kinds():
    text = markdown.table(TABLE)
    assert text.splitlines()[1] == "|---|--:|--:|"
    assert "**66.00** ± 0.50 (10)<br>paper 65.57 ± 0.65<br>+0.43" in text
    assert "65.00 (1)<br>paper **66.20**<br>-1.20" in text
    assert "<b>x</b> \\| y" in text


def test_html_escapes_and_marks_the_winners_of_both_kinds():
    text = html.render([TABLE, Text(["a < b"], as_list=True)])
    assert "&lt;b&gt;x&lt;/b&gt; | y" in text
    assert "<code>code</code>" in text
    assert '<span class="best">66.00</span><small>± 0.50 (10)</small>' in text
    assert '<small>paper <span class="best">66.20</span></small><small>-1.20</small>' in text
    assert "<li>a &lt; b</li>" in text


def test_the_smallest_may_win():
    table = replace(TABLE, best="smallest")
    assert table.winners(table.rows[0]) == {2}
    assert table.winners(table.rows[0], printed=True) == {1}
    assert replace(TABLE, compared=(1,)).winners(TABLE.rows[0]) == set()


def test_a_plot_is_the_same_each_time_and_has_its_own_ids():
    first, again = draw.svg(FIGURE), draw.svg(FIGURE)
    other = draw.svg(replace(FIGURE, name="plot-2"))
    assert first == again
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (first, other)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for text, known in zip((first, other), ids, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", text)) <= known
        assert set(re.findall(r'href="#([^"]+)"', text)) <= known


@pytest.mark.parametrize("style", ["line", "points", "dashed"])
def test_every_style_is_drawn(style):
    many = [Series(f"series {number}", range(50), np.arange(50.0), style=style) for number in range(10)]
    text = draw.svg(Figure("t", "n", many, "x", "y", x_log=True))
    assert text.startswith("<svg")
    assert "series 9" in text


def test_plots_without_matplotlib_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NeartagError, match=r"neartag\[plot\]"):
        draw.check()


def test_the_page_needs_nothing_else_and_says_where_each_number_is_from(tmp_path):
    pages = write_report(some_results(), tmp_path, ("table3",))
    assert [page.name for page in pages] == ["reproduction.html", "reproduction.md"]
    page, text = (path.read_text() for path in pages)
    assert "<script" not in page
    assert not re.findall(r'(?:src|href)="(?!#)', re.sub(r"xmlns\S+", "", page))
    assert "too wide" in page
    assert "too wide" in text
    assert "a machine" in page
    assert "a machine" in text
    assert "0–1" in text  # the seeds
    assert text.startswith("# ")
    assert "## Table 3" in text


def test_numbers_are_written_as_ranges():
    assert details._join_ranges([3, 1, 0, 2, 7, 9, 10]) == "0–3, 7, 9–10"
    assert details._join_ranges([]) == ""


def test_the_report_says_what_stands_for_what():
    made = [
        record("table2", name, "", 0, {"features": 1}) for name in ("debian", "eurlex4k-partial", "synthetic-wiki10")
    ]
    words = " ".join(" ".join(block.paragraphs) for block in details.introduction(of(*made, plan=Plan(quick=True))))
    for part in ("embedded corpus", "10,251 of EURLex", "synthetic set", "quick run"):
        assert part in words


def test_the_report_says_what_is_planned_and_not_measured():
    first, *_ = details.every_number(some_results())
    assert first.title == "What is planned and not measured yet"
    (words,) = first.paragraphs
    assert words.startswith("table3: ")
    assert "BibTeX x1 (8)" in words  # of ten splits


def test_a_plot_carries_a_digest_of_what_it_shows():
    other = replace(FIGURE, series=[replace(FIGURE.series[0], y=[1.0, 4.0, 9.1])])
    assert FIGURE.digest() in draw.svg(FIGURE)
    assert other.digest() not in draw.svg(FIGURE)
    assert replace(FIGURE, note="another").digest() == FIGURE.digest()
