"""How training grows with the number of points: processor seconds of a refined training, of parts of one made-up set.

    python benchmarks/growth.py run 250000 500000 1000000        each in a process of its own, one after the other;
                                                                 again: one more run of each
    python benchmarks/growth.py table --write                    the slope, and the table of docs/scaling.md

One set of WikiLSHTC's features and labels is made; each training has the first points of it. So features, labels and
topics, and how frequent they are, stay the same, and only the number of points grows. (Sets that are made anew for each
size have clusters of other shapes, which is no growth.) Settings are the defaults: about 100,000 points in a cluster.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pages
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.progress import Progress
from neartag.data import synthetic
from neartag.linalg.rows import as_rows, normalise
from neartag.work.executors.in_process import InProcess
from neartag.work.parts import MemoryParts
from neartag.work.times import TaskTime
from neartag.x1.schedule import Machine
from neartag.x1.settings import X1Settings
from neartag.x1.training import fit_model

PAGE, NAME = pages.DOCS / "scaling.md", "growth"
FEATURES, LABELS, FEATURES_PER_POINT, LABELS_PER_POINT = 1_617_899, 325_056, 42.15, 3.19


class TimedParts(MemoryParts):
    """Parts in memory that keep what their tasks took."""

    def __init__(self) -> None:
        super().__init__()
        self.stages: dict[str, float] = defaultdict(float)

    def record(self, took: TaskTime) -> None:
        """Add up the processor seconds of each stage."""
        self.stages[took.stage] += took.cpu


def train(points: int, folder: Path) -> dict:
    """Train on the first points of the set in a folder; return processor seconds, of all and of each stage."""
    X, Y = (csr_matrix(sparse.load_npz(folder / f"{name}.npz")[:points]) for name in "XY")
    parts, settings = TimedParts(), X1Settings.from_parameters({})
    warm = synthetic.make(600, 300, 60, 10, 2)
    fit_model(normalise(as_rows(warm.X)), warm.Y, settings.replace(n_clusters=2), Machine(1), Progress(), False)
    rows, started = normalise(as_rows(X)), time.process_time()
    fit_model(rows, Y, settings, Machine(1), Progress(), False, InProcess(1, None, parts))
    sizes = [np.diff(parts.get(name)["bounds"]) for name in parts._parts if name.startswith("partition/")]
    return {
        "points": points,
        "entries": int(X.nnz),
        "cpu": time.process_time() - started,
        "largest cluster": max(int(each.max()) for each in sizes),
        "stages": parts.stages,
    }


def run(sizes: list[int], folder: Path) -> None:
    """Make the set, train on each number of points, and keep what was measured."""
    if not (folder / "Y.npz").exists():
        data = synthetic.make(max(sizes), FEATURES, LABELS, FEATURES_PER_POINT, LABELS_PER_POINT)
        for name in "XY":
            sparse.save_npz(folder / f"{name}.npz", getattr(data, name), compressed=False)
    for points in sizes:
        command = [sys.executable, __file__, "train", str(points), "--folder", str(folder)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        result = json.loads(done.stdout)
        print(f"{points:,} points: {result['cpu']:.0f} s of CPU, largest cluster {result['largest cluster']:,}")
        kept = pages.kept(NAME)
        pages.keep(NAME, {**kept, str(points): [*kept.get(str(points), []), result]})


def make_table(results: list[list[dict]]) -> str:
    """Return the table of the runs of each number of points, with the slope of the logarithms of their means."""
    lines = ["| points | CPU of each run | µs of CPU a point, mean | largest cluster |", "|---|---|---|---|"]
    means = []
    for runs in results:
        points, cpu = runs[0]["points"], [run["cpu"] for run in runs]
        means.append([points, np.mean(cpu)])
        told = ", ".join(f"{each:.0f}" for each in cpu)
        lines.append(f"| {points:,} | {told} s | {1e6 * np.mean(cpu) / points:.0f} | {runs[0]['largest cluster']:,} |")
    lines += ["", f"Slope of log CPU seconds against log points: {np.polyfit(*np.log(means).T, 1)[0]:.2f}."]
    return "\n".join(lines)


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "train", "table"))
    parser.add_argument("points", type=int, nargs="*", default=[250_000, 500_000, 1_000_000])
    parser.add_argument("--folder", type=Path, help="where the set is kept; it is made there if it is not")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if given.what == "train":
        print(json.dumps(train(given.points[0], given.folder)))
    elif given.what == "run" and given.folder is not None:
        run(given.points, given.folder)
    elif given.what == "run":
        with tempfile.TemporaryDirectory(prefix="neartag-growth-") as folder:
            run(given.points, Path(folder))
    else:
        table = make_table(sorted(pages.kept(NAME).values(), key=lambda runs: runs[0]["points"]))
        print(table)
        if given.write:
            pages.insert("scaling growth", table, PAGE)


if __name__ == "__main__":
    main()
