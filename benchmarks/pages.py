"""What is measured is kept in two places: as JSON in results/, and as text between two marks of a page in docs/."""

from __future__ import annotations

import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parent.parent / "docs"
BENCHMARKS = DOCS / "benchmarks.md"


def keep(name: str, result: dict) -> None:
    """Write a result as results/NAME.json."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def kept(name: str) -> dict:
    """Return what `keep` wrote, nothing where there is none yet."""
    file = RESULTS / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def insert(name: str, text: str, page: Path = BENCHMARKS) -> None:
    """Replace what stands between a page's marks "NAME begin" and "NAME end"."""
    begin, end = f"<!-- {name} begin -->", f"<!-- {name} end -->"
    whole = page.read_text()
    if begin not in whole or end not in whole:
        raise ValueError(f"{page.name} has no marks for {name}: add {begin} and {end}")
    page.write_text(f"{whole.split(begin)[0]}{begin}\n{text}\n{end}{whole.split(end)[1]}")
