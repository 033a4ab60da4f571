"""Measure how the source tree of the installed neartag is built, and how much of it each command runs.

    python scripts/house.py [--json]

It needs Python 3.11 and the extras `serve` and `lint`. It measures the neartag that `import neartag` finds; with
PYTHONPATH=/other/clone/src that is another clone's. The first run compiles the kernels and takes some minutes.

A function is counted if it starts while the command works, in any thread. Not counted are functions that run only
during an import, special methods such as `__init__`, lambdas, comprehensions and class bodies. Kernels compiled by
numba cannot be seen. Modules are counted if a counted function stands in them.
"""

from __future__ import annotations

import argparse
import http.client
import importlib.util
import inspect
import json
import os
import random
import re
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from types import FrameType

import grimp
import tomllib

TEXT = "word3 word40 word41 word42"
LONG, MAX_COMPLEXITY = 300, 12
IDLE, SETTLED = 1.0, 0.5  # seconds to see work in the background, and to let a request end
NOQA = re.compile(r"#\s*noqa", re.IGNORECASE)
PATCH = re.compile(r"monkeypatch\.setattr\(")
PATCH_OF_CONSTANT = re.compile(PATCH.pattern + r"""\s*(?:[^,"']+,\s*)?["'](?:\w+\.)*_?[A-Z][A-Z0-9_]*["']""")
LOOK_UP = re.compile(r"settings\[\"")
ASSIGNMENT = re.compile(r"settings\[\"[^\]]+\]\s*=(?!=)|settings\.update\(")

Group = tuple[str, ...]
Key = tuple[str, int, str]  # a function's file, first line and name
spec = importlib.util.find_spec("neartag")  # not imported: a command must import all of it itself
PACKAGE = Path(str(spec and spec.origin)).parent
PROJECT = next((folder for folder in PACKAGE.parents if (folder / "pyproject.toml").exists()), PACKAGE)


@dataclass
class Report:
    """Counts, and for some of them the names of what was counted."""

    counts: dict[str, int] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)

    def note(self, title: str, names: Iterable[str]) -> None:
        """Note names and how many they are."""
        self.names[title] = list(names)
        self.counts[title] = len(self.names[title])


class Recorder:
    """A profile function that notes which functions of neartag start, by thread."""

    def __init__(self) -> None:
        self._inside = str(PACKAGE) + os.sep
        self._ran: dict[str, set[Key]] = defaultdict(set)

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(self._inside):
            return
        if code.co_name.startswith(("<", "__")) or not code.co_flags & inspect.CO_OPTIMIZED:
            return
        key, ran = (code.co_filename, code.co_firstlineno, code.co_name), self._ran[threading.current_thread().name]
        if key not in ran and not self._is_importing(frame):
            ran.add(key)

    def take(self) -> dict[str, set[Key]]:
        """Return what ran since the last time."""
        ran, self._ran = self._ran, defaultdict(set)
        return {thread: keys for thread, keys in ran.items() if keys}

    def _is_importing(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(self._inside):
                return frame.f_globals["__name__"] != "__main__"
            frame = frame.f_back
        return False


def run_here(output: Path, arguments: list[str]) -> None:
    """Run a neartag command in this process, and write which functions ran; a server is ended after its request."""
    recorder = Recorder()

    def write(ran: set[Key]) -> None:
        output.write_text(json.dumps(sorted(ran)), encoding="utf-8")

    def run_request() -> None:
        try:
            write(record_request(recorder, int(arguments[-1])))
        except BaseException:
            traceback.print_exc()
        os._exit(0)

    if arguments[0] == "serve":
        threading.Thread(target=run_request, daemon=True).start()
    sys.argv = ["neartag", *arguments]
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        runpy.run_module("neartag", run_name="__main__", alter_sys=True)
    finally:
        sys.setprofile(None)
        write(set().union(*recorder.take().values()))


def record_request(recorder: Recorder, port: int) -> set[Key]:
    """Return what a second request runs, without the threads that also work when nobody asks."""
    asked = False
    while not asked:
        time.sleep(SETTLED)
        with suppress(ConnectionRefusedError):  # the server has not started yet
            ask(port)
            asked = True
    time.sleep(SETTLED)
    recorder.take()
    time.sleep(IDLE)
    background = set(recorder.take()) - {threading.main_thread().name}
    ask(port)
    time.sleep(SETTLED)
    return {key for thread, keys in recorder.take().items() if thread not in background for key in keys}


def ask(port: int) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("POST", "/tag", json.dumps({"text": TEXT}), {"Content-Type": "application/json"})
        if connection.getresponse().status != 200:
            raise RuntimeError("the server refused POST /tag")


def run_command(report: Report, way: str, folder: Path, *arguments: str) -> None:
    """Run a command in a process of its own, and note what ran."""
    output = folder / f"{arguments[0]}.json"
    command = [sys.executable, __file__, "--run", str(output), *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode or not output.exists():
        raise RuntimeError(f"neartag {' '.join(arguments)} failed:\n{done.stderr}")
    keys: list[Key] = json.loads(output.read_text(encoding="utf-8"))
    ran = [(".".join(Path(file).relative_to(PACKAGE).with_suffix("").parts), name) for file, _, name in keys]
    report.note(f"{way}: modules run", sorted({module for module, _ in ran}))
    report.note(f"{way}: functions run", [f"{module}.{name}" for module, name in ran])


def write_documents(path: Path, count: int) -> str:
    """Write documents, each with some of 40 labels and words that go with them."""
    draw = random.Random(count)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(count):
            labels = draw.sample(range(40), draw.randint(1, 4))
            words = [f"word{10 * label + draw.randrange(14)}" for label in labels for _ in range(6)]
            file.write(json.dumps({"text": " ".join(words), "labels": [f"label{label}" for label in labels]}) + "\n")
    return str(path)


def measure_ways(report: Report) -> None:
    """Note what runs when a refined model is trained, asked, and given another document."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    with tempfile.TemporaryDirectory() as name:
        folder, model = Path(name), str(Path(name) / "model")
        many, one = write_documents(folder / "many.jsonl", 600), write_documents(folder / "one.jsonl", 1)
        run_command(report, "train", folder, "train", many, model, "--quiet")
        run_command(report, "tag", folder, "tag", model, TEXT)
        run_command(report, "POST /tag", folder, "serve", model, "--port", port)
        run_command(report, "add", folder, "add", model, one, "--quiet")


def measure_layers(report: Report) -> None:
    tools = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    for contract in tools.get("importlinter", {}).get("contracts", []):
        if contract["type"] == "layers":
            report.counts[f"layers of the contract {contract['name']!r}"] = len(contract["layers"])


def lines_of(pattern: str) -> dict[Path, int]:
    paths = sorted(PACKAGE.rglob(pattern))
    return {path.relative_to(PACKAGE): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}


def measure_files(report: Report) -> None:
    lines = lines_of("*.py")
    report.counts["lines of Python in src"] = sum(lines.values())
    report.counts["lines of the page"] = sum(lines_of("serve/page/*").values())
    report.counts["modules"] = len(lines)
    report.note("modules directly in src/neartag", [path.stem for path in lines if len(path.parts) == 1])
    report.note(f"files over {LONG} lines", [f"{path} {length}" for path, length in lines.items() if length > LONG])


def read_imports(type_checking: bool) -> dict[Group, list[Group]]:
    """Return which groups of modules each group imports. A group is a cycle of imports, or a module in no cycle."""
    graph = grimp.build_graph("neartag", exclude_type_checking_imports=not type_checking, cache_dir=None)
    cycles = {m: graph.find_upstream_modules(m) & graph.find_downstream_modules(m) for m in graph.modules}
    groups = {module: tuple(sorted({module, *cycle})) for module, cycle in cycles.items()}
    found: dict[Group, set[Group]] = {group: set() for group in sorted(groups.values())}
    for module, group in groups.items():
        found[group] |= {groups[other] for other in graph.find_modules_directly_imported_by(module)} - {group}
    return {group: sorted(imported) for group, imported in found.items()}


def measure_imports(report: Report) -> None:
    """Note the longest chain of modules of which each imports the next, and the cycles."""
    real, typed = read_imports(False), read_imports(True)
    chains: dict[Group, list[str]] = {}
    for group in TopologicalSorter(real).static_order():
        chains[group] = [*group, *max((chains[each] for each in real[group]), key=len, default=[])]
    report.note("longest import chain, in modules", max((chains[group] for group in real), key=len))
    for title, groups in (("import cycles", real), ("import cycles, TYPE_CHECKING imports included", typed)):
        report.note(title, [", ".join(group) for group in groups if len(group) > 1])


def measure_complexity(report: Report) -> None:
    """Note the functions that ruff finds too complex, those that a comment excuses too."""
    beside = Path(sys.executable).parent / "ruff"
    limit = f"lint.mccabe.max-complexity={MAX_COMPLEXITY}"
    command = [str(beside) if beside.exists() else "ruff", "check", "--select", "C901", "--config", limit]
    command += ["--isolated", "--no-cache", "--ignore-noqa", "--exit-zero", "--output-format", "json", str(PACKAGE)]
    found = []
    for each in json.loads(subprocess.run(command, capture_output=True, check=True).stdout):
        name, complexity = re.findall(r"`(.+)` is too complex \((\d+)", each["message"])[0]
        found.append(f"{Path(each['filename']).relative_to(PACKAGE)} {name} {complexity}")
    report.note(f"functions of complexity above {MAX_COMPLEXITY}", sorted(found))


def count(pattern: re.Pattern[str], folder: str) -> int:
    return sum(len(pattern.findall(path.read_text(encoding="utf-8"))) for path in (PROJECT / folder).rglob("*.py"))


def measure_habits(report: Report) -> None:
    for folder in ("src", "tests", "benchmarks", "scripts"):
        report.counts[f"noqa comments in {folder}"] = count(NOQA, folder)
    report.counts["monkeypatch.setattr( in tests"] = count(PATCH, "tests")
    report.counts["monkeypatch.setattr( of a constant"] = count(PATCH_OF_CONSTANT, "tests")
    report.counts["settings looked up by a string, in src"] = count(LOOK_UP, "src")
    report.counts["settings assigned to or updated, in src"] = count(ASSIGNMENT, "src")


def show(report: Report) -> None:
    print(f"{PACKAGE}\n")
    for title, number in report.counts.items():
        print(f"{title:<62}{number:>8}")
    for title, names in report.names.items():
        if names and not title.endswith(" run"):  # those are hundreds
            print(f"\n{title}:", *names, sep="\n  ")


def main() -> None:
    if sys.argv[1:2] == ["--run"]:
        run_here(Path(sys.argv[2]), sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON, with all names, instead of a table")
    as_json = parser.parse_args().json
    report = Report()
    for step in (measure_ways, measure_layers, measure_files, measure_imports, measure_complexity, measure_habits):
        step(report)
    print(json.dumps({"package": str(PACKAGE), **asdict(report)}, indent=1)) if as_json else show(report)


if __name__ == "__main__":
    main()
