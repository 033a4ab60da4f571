"""The page for researchers: its table has the settings of X1 (paper), and its Python trains such a model."""

from __future__ import annotations

import re

import numpy as np
import pytest
from docs_helpers import ROOT, blocks

from neartag.experiments import datasets, methods
from neartag.experiments.readings.open_points import SHIPPED
from neartag.x1.resolve import DataFacts, resolve
from neartag.x1.settings import X1Settings

PAGE = ROOT / "docs" / "paper.md"
SETS = {
    "BibTeX": ("bibtex", 4_880),
    "Delicious": ("delicious", 12_920),
    "MediaMill": ("mediamill-rand", 30_993),
    "EUR-Lex, a part": ("eurlex4k-partial", 8_233),
    "yso-finna-en-100k": ("yso-finna-en-100k", 99_003),
}
HEADING = "| set | n̄ | λ | k | learners | clusters of each | L̂ |"


@pytest.mark.parametrize("title", SETS)
def test_the_table_of_choices_has_the_settings(title):
    table = PAGE.read_text(encoding="utf-8").split(HEADING)[1].split("\n\n")[0]
    (row,) = re.findall(rf"^\| {re.escape(title)} \| (.*) \|$", table, re.MULTILINE)
    data, points = SETS[title]
    large = datasets.is_large(data)
    settings = methods.resolve_clusters(methods.paper_settings(data, large=large), points)
    facts = DataFacts(points, 100, labels=23_969 if large else 100)
    resolved = resolve(X1Settings.from_parameters({**methods.VOTES_ALONE, **settings}), facts)
    expected = [settings["svp_neighbours"], settings["l2"], settings["vote_neighbours"]]
    expected += [resolved.learners, resolved.clusters.count, resolved.svp.dim]
    assert [float(entry) for entry in row.split(" | ")] == expected


@pytest.mark.parametrize("title", ["BibTeX", "Delicious", "MediaMill", "EURLex"])
def test_the_table_of_the_authors_program_is_what_the_reading_takes(title):
    table = PAGE.read_text(encoding="utf-8").split("| set | learners | clusters | n̄ | L̂ | k |")[1].split("\n\n")[0]
    (row,) = re.findall(rf"^\| {title} \| (.*) \|$", table, re.MULTILINE)
    assert tuple(int(entry) for entry in row.split(" | ")) == SHIPPED[title.lower()]


def test_the_python_of_the_page_is_x1_of_the_paper():
    (code,) = blocks(PAGE, "python")
    names: dict = {}
    exec(code, names)
    classifier = names["classifier"]
    given = classifier.get_params()
    assert {name: given[name] for name in methods.PAPER_CHOICES["bibtex"]} == methods.PAPER_CHOICES["bibtex"]
    draw = np.random.default_rng(0)
    X, Y = draw.random((300, 20)), draw.random((300, 8)) < 0.2
    assert classifier.fit(X, Y).predict_topk(X[:5], 3)[0].shape == (5, 3)
