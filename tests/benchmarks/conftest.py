"""The benchmarks as modules, and a data set that every method learns at once."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag.data import Dataset, write

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    """Return a function that imports a file of the benchmarks by its name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "pages", raising=False)  # that of the documentation site has the same name
    return importlib.import_module


@pytest.fixture
def toy(tmp_path, monkeypatch) -> Path:
    """Return a folder with a page to write to, where a data set `toy` of three separate topics is to be found."""
    generator = np.random.default_rng(0)
    for part, points in (("train", 150), ("test", 30)):
        topic = np.arange(points) % 3
        X = generator.random((points, 12)) * (np.arange(12) // 4 == topic[:, None])
        Y = np.arange(6) // 2 == topic[:, None]
        folder = tmp_path / "data" / "toy"
        folder.mkdir(parents=True, exist_ok=True)
        write(Dataset(csr_matrix(X, dtype=np.float32), csr_matrix(Y, dtype=np.float32)), folder / f"{part}.txt")
    monkeypatch.setenv("NEARTAG_DATA", str(tmp_path / "data"))
    places = ("peers", "refined", "peers-tuned", "refined-tuned")
    marks = "".join(f"<!-- {place} begin -->\nold\n<!-- {place} end -->\n" for place in places)
    (tmp_path / "benchmarks.md").write_text(f"before\n{marks}after\n")
    return tmp_path
