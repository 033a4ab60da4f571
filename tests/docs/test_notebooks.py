"""The notebooks of the site run, cell by cell, and draw their pictures."""

from __future__ import annotations

import json
import warnings

import pytest
from docs_helpers import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def code_cells(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_there_are_three_without_outputs():
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert all(cell["outputs"] == [] for cell in cells if cell["cell_type"] == "code"), "the site runs them itself"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path, monkeypatch, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.append(len(plt.gcf().axes)) or plt.close("all"))
    around: dict = {}
    for cell in code_cells(path):
        quicker = cell.replace("STEP = 6", "STEP = 40")  # the same on fewer documents
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of few documents
            exec(compile(quicker, path.name, "exec"), around)
    assert drawn, "no picture"
    assert all(drawn), "an empty picture"
    if path.stem == "tag-and-explain":
        found = ["kitchen::coffee" in line for line in capsys.readouterr().out.splitlines()[-3:]]
        assert found == [False, True, False], "before the document is added, with it, and after it is forgotten"
