"""The list of slow tests, tests/slow.txt, which conftest.py reads."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = (Path(__file__).parent.parent / "slow.txt").read_text().splitlines()


def test_every_line_names_a_test(unused_slow_lines):
    assert unused_slow_lines == [], "scripts/mark_slow.py writes the list anew"


def test_the_lines_are_sorted_and_no_line_stands_twice():
    assert sorted(set(LINES)) == LINES


@pytest.fixture
def mark_slow(tmp_path, monkeypatch):
    """Return the script, which writes a list beside made-up tests."""
    spec = importlib.util.spec_from_file_location("mark_slow", ROOT / "scripts" / "mark_slow.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "SLOW", tmp_path / "slow.txt")
    (tmp_path / "tests").mkdir()
    for name in ("one", "two"):
        (tmp_path / "tests" / f"test_{name}.py").touch()
    return script


def test_a_run_of_some_files_leaves_the_lines_of_others(mark_slow, tmp_path, monkeypatch):
    lines = ["tests/test_gone.py::test_a", "tests/test_one.py::test_renamed", "tests/test_one.py::test_was_slow"]
    (tmp_path / "slow.txt").write_text("\n".join([*lines, "tests/test_two.py::test_b"]) + "\n")
    cases = {"test_is_slow[1]": 0.1, "test_is_slow[2]": 0.3, "test_was_slow": 0.1}
    told = "".join(f'<testcase classname="tests.test_one" name="{name}" time="{t}"/>' for name, t in cases.items())
    (tmp_path / "times.xml").write_text(f"<testsuites><testsuite>{told}</testsuite></testsuites>")
    monkeypatch.setattr(sys, "argv", ["mark_slow.py", str(tmp_path / "times.xml")])
    mark_slow.main()
    assert (tmp_path / "slow.txt").read_text().split() == [
        "tests/test_one.py::test_is_slow",
        "tests/test_two.py::test_b",
    ]
