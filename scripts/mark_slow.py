"""Write tests/slow.txt, the list of slow tests, from the times that a run of all tests, or of some files, took.

    python -m pytest --junitxml=times.xml
    python scripts/mark_slow.py times.xml

A test function is slow if one of its cases is. Of several reports the shortest time of each case counts, since other
work on the machine only makes it longer. A function that was skipped keeps the line that it has, and so do
those of files that were not run.

A line may also name a class or a file: variants of a contract, or tests that share a fixture which takes long (the
report counts it for the first of them only). Such lines are written by hand, and stay.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent
SLOW = ROOT / "tests" / "slow.txt"
SECONDS = 0.15  # the longest that a case of a fast test takes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", type=Path, metavar="JUNIT.xml", help="reports of runs of whole files")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the longest that a case of a fast test takes")
    options = parser.parse_args()
    times, skipped = read_times(options.reports)
    before = SLOW.read_text().split()
    groups = {line for line in before if not line.split("::")[-1].startswith("test_")}
    functions = {function for function, cases in times.items() if max(cases) > options.seconds}
    functions |= {line for line in before if any(is_part(line, node) for node in skipped)}
    ran = {file_of(name) for name in times.keys() | skipped}
    functions |= {line for line in before if file_of(line) not in ran and (ROOT / file_of(line)).exists()}
    lines = sorted(groups | {name for name in functions if not any(is_part(name, group) for group in groups)})
    SLOW.write_text("".join(f"{line}\n" for line in lines))
    fast = [sum(cases) for function, cases in times.items() if not any(is_part(function, line) for line in lines)]
    print(f"{len(lines)} lines; the fast tests took {sum(fast):.0f} s, all {sum(map(sum, times.values())):.0f} s")


def read_times(reports: Iterable[Path]) -> tuple[dict[str, list[float]], set[str]]:
    """Return the seconds of each function's cases, and the functions and files that were skipped as a whole."""
    shortest: dict[tuple[str, str], float] = {}
    skipped = set()
    for report in reports:
        for case in ElementTree.parse(report).iter("testcase"):
            name = case.get("name", "")
            if not case.get("classname"):  # a module that was skipped as a whole
                skipped.add(node_of(name))
                continue
            function = f"{node_of(case.get('classname', ''))}::{name.split('[')[0]}"
            if case.find("skipped") is not None:
                skipped.add(function)
                continue
            seconds = float(case.get("time", 0))
            shortest[function, name] = min(seconds, shortest.get((function, name), seconds))
    times = defaultdict(list)
    for (function, _), seconds in shortest.items():
        times[function].append(seconds)
    return times, skipped - times.keys()


def node_of(dotted: str) -> str:
    """Return pytest's name of a module or class: tests/x1/test_svp.py::TestThis for tests.x1.test_svp.TestThis."""
    words = dotted.split(".")
    for count in range(len(words), 0, -1):
        path = "/".join(words[:count]) + ".py"
        if (ROOT / path).exists():
            return "::".join([path, *words[count:]])
    raise SystemExit(f"there is no file of {dotted}: the report is of other tests")


def file_of(name: str) -> str:
    """Return the file that a line names, or in which stands what it names."""
    return name.split("::")[0]


def is_part(name: str, whole: str) -> bool:
    """Return whether a name is that of a file, class or function, or of something in it."""
    return name == whole or name.startswith(f"{whole}::")


if __name__ == "__main__":
    main()
