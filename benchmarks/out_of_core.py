"""Training on more data than memory: a made-up set four times `max_memory`, refined, and what it needed at its peak.

    python benchmarks/out_of_core.py                      train within the limit, and say what each task needed
    python benchmarks/out_of_core.py --hard               the same, and whoever takes more is stopped by the system
    python benchmarks/out_of_core.py --compare            train also in memory, and compare the two models byte by byte
    python benchmarks/out_of_core.py --compare --write    put the figures into docs/scaling.md

What is counted is anonymous resident memory (RssAnon of /proc): what the process has made for itself. Pages of mapped
files are left out, because the system takes them back when it needs room. --hard sets RLIMIT_DATA (`ulimit -d`): it
counts all that the process has asked for, also what it never touched. One query is always answered under that limit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pages

from neartag.core.parameters import parse_bytes
from neartag.work.times import read_times

PAGE, NAME = pages.DOCS / "scaling.md", "out_of_core"
PAUSE = 0.01  # seconds between two looks at the memory
ENTRY_BYTES = 8  # of a number in sparse rows: the number and its column
# Rows are long, so that a few points take much memory, and the training does not take hours.
FEATURES, LABELS, FEATURES_PER_POINT, LABELS_PER_POINT = 30_000, 3000, 1000.0, 3.0
# Clusters so small that each fits into what is left of the memory beside Python itself; one learner, to save time.
CLUSTERS = "--n-learners", "1", "--n-clusters", "112", "--max-cluster-size", "1500"
MAKE = """
import sys
from neartag.data import synthetic
from neartag.data.formats.xmc import write_xmc
n, d, L = map(int, sys.argv[2:5])
write_xmc(synthetic.make(n, d, L, float(sys.argv[5]), float(sys.argv[6])), sys.argv[1])
"""


@dataclass(frozen=True)
class Watched:
    """What a command took."""

    report: dict  # that it printed
    seen: list[tuple[float, int, int]]  # when, bytes of its own, bytes of mapped files

    @property
    def peak(self) -> int:
        """Bytes of its own, at most."""
        return max(own for _, own, _ in self.seen)

    def peak_of(self, begun: float, seconds: float) -> int:
        """Bytes of its own at most from a moment on for some seconds; 0 for too few to be looked at."""
        return max((own for moment, own, _ in self.seen if begun < moment <= begun + seconds), default=0)


def limit_data(limit: int) -> None:
    """Let the system refuse this process more bytes of its own."""
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def watch(command: list[str], limit: int | None = None) -> Watched:
    """Run a command that prints JSON, look at its memory all the while, and return what was seen."""
    seen, environment = [], {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # each has a buffer
    enter = None if limit is None else partial(limit_data, limit)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=enter, env=environment)
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        try:
            told = dict(re.findall(r"(RssAnon|RssFile):\s+(\d+) kB", status.read_text()))
            seen.append((time.time(), 1024 * int(told["RssAnon"]), 1024 * int(told["RssFile"])))
        except (OSError, KeyError):
            pass  # it has just ended
        time.sleep(PAUSE)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    assert process.stdout is not None
    return Watched(json.loads(process.stdout.read()), seen)


def digest_model(folder: Path) -> str:
    """SHA-256 of all files of a model but its description, which has the time and the memory allowed."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.safetensors")):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def train(data: Path, model: Path, *options: str, limit: int | None = None) -> Watched:
    """Train by the command line."""
    given = [sys.executable, "-m", "neartag", "train", str(data), str(model), "--quiet", "--json", *options]
    return watch(given, limit)


def answer_one(data: Path, model: Path, place: Path, limit: int) -> Watched:
    """Answer one query, the first point of the data, by a new process that may have so many bytes of its own."""
    with open(data) as file:
        header, first = file.readline(), file.readline()
    (place / "one.txt").write_text("1 " + header.split(" ", 1)[1] + first)
    given = [sys.executable, "-m", "neartag", "predict", str(model), str(place / "one.txt"), "--quiet", "--json"]
    return watch(given, limit)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-memory", default="240MB")
    parser.add_argument("--times", type=float, default=4.0, help="rows, in times of the memory allowed")
    parser.add_argument("--jobs", default="1")
    parser.add_argument("--data", type=Path, help="a file to train on, made if it is not there")
    parser.add_argument("--hard", action="store_true")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    limit = parse_bytes(given.max_memory)
    points = int(given.times * limit / (ENTRY_BYTES * FEATURES_PER_POINT))
    with tempfile.TemporaryDirectory(prefix="neartag-out-of-core-", dir=given.data and given.data.parent) as folder:
        place = Path(folder)
        data = given.data or place / "data.txt"
        if not data.exists():
            numbers = points, FEATURES, LABELS, FEATURES_PER_POINT, LABELS_PER_POINT
            subprocess.run([sys.executable, "-c", MAKE, str(data), *map(str, numbers)], check=True)
        shared = *CLUSTERS, "--n-jobs", given.jobs
        work = "--work-dir", str(place / "work"), "--keep-work", "--max-memory", given.max_memory
        within = train(data, place / "model", *shared, *work, limit=limit if given.hard else None)
        worst: dict[str, tuple[int, float]] = {}
        tasks = read_times(place / "work")
        for task in tasks:
            worst[task.stage] = max(
                worst.get(task.stage, (0, 0.0)), (within.peak_of(task.begun, task.seconds), task.cpu)
            )
        first, last = tasks[0].begun, max(task.begun + task.seconds for task in tasks)
        worst["before all tasks"] = within.peak_of(0, first), 0.0
        worst["after all tasks"] = within.peak_of(last, float("inf")), 0.0
        for stage, (peak, cpu) in sorted(worst.items(), key=lambda pair: -pair[1][0]):
            print(f"{peak / 2**20:8.0f} MB  {stage:16} {cpu:8.1f} s of CPU")
        found = {
            "max_memory": limit,
            "points": within.report["points"],
            "rows": within.report["mapped_bytes"],
            "peak": within.peak,
            "seconds": within.report["seconds"],
            "cpu": within.report["cpu_seconds"],
            "model": within.report["model_bytes"],
            "hard": given.hard,
        }
        found["peak of a query"] = answer_one(data, place / "model", place, limit).peak
        if given.compare:
            free = train(data, place / "free", *shared)
            same = digest_model(place / "free") == digest_model(place / "model")
            found |= {"peak in memory": free.peak, "cpu in memory": free.report["cpu_seconds"], "same": same}
    print(json.dumps(found, indent=1))
    if given.write:
        pages.keep(NAME, found)
        pages.insert("scaling out of core", make_table(found), PAGE)


def make_table(found: dict) -> str:
    """Return the figures as a table."""
    rows = [
        ("memory allowed (`--max-memory`)", found["max_memory"]),
        ("rows, as they are in memory", found["rows"]),
        ("peak of the training, its own memory", found["peak"]),
        ("peak of the same training in memory", found.get("peak in memory", 0)),
        ("the model", found["model"]),
        ("peak of a process that answers one query", found["peak of a query"]),
    ]
    lines = [f"| {found['points']:,} points | MB |", "|---|---|"]
    lines += [f"| {what} | {size / 2**20:,.0f} |" for what, size in rows if size]
    if "same" in found:
        share = found["cpu"] / found["cpu in memory"]
        same = "the same, byte for byte" if found["same"] else "not the same"
        lines += [
            "",
            f"The two models are {same}. Within the limit training took {share:.2f} times the processor time.",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
