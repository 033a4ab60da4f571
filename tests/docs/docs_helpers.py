"""What the tests of the documentation read: its files, their blocks of code, their links and headings."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "site"))

import site_pages as pages  # noqa: E402, F401 (benchmarks have a module pages too)

README = ROOT / "README.md"
TOP = [ROOT / f"{name}.md" for name in ("CONTRIBUTING", "RELEASING", "SECURITY")]
DOCS = [README, *TOP, *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [*DOCS, ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md", *sorted(ROOT.glob("examples/*/README.md"))]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def blocks(path: Path, language: str) -> list[str]:
    """Return the blocks of code that are marked as being of a language."""
    return [content for marked, content in _BLOCK.findall(read(path)) if marked == language]


def prose(path: Path) -> str:
    """Return the text without its blocks of code."""
    return _BLOCK.sub("", read(path))


def links(path: Path) -> list[str]:
    """Return where the links and pictures point that are no web addresses."""
    return [target for target in _LINK.findall(prose(path)) if "://" not in target]


def anchors(path: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = sum(re.fullmatch(rf"{re.escape(words)}(-\d+)?", anchor) is not None for anchor in found)
        found.add(f"{words}-{number}" if number else words)
    return found


def without_numbers(text: str) -> str:
    """Return the text with every number as `#`, and the blanks before it as one: what is left must not change."""
    return re.sub(r" *\d+(\.\d+)?", " #", text)
