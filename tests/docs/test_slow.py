"""The list of slow tests, tests/slow.txt, which conftest.py reads."""

from __future__ import annotations

from pathlib import Path

LINES = (Path(__file__).parent.parent / "slow.txt").read_text().splitlines()


def test_every_line_names_a_test(unused_slow_lines):
    assert unused_slow_lines == [], "scripts/mark_slow.py writes the list anew"


def test_the_lines_are_sorted_and_no_line_stands_twice():
    assert sorted(set(LINES)) == LINES
