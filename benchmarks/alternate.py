"""Two clones of neartag in turn on the same data: how times and memory of one compare with those of the other.

    python benchmarks/alternate.py OTHER_CLONE [bibtex eurlex4k-partial …] [--method x1-refined] [--repeat 7]

Every run is a process of its own, as in peers.py, and the two take turns, so that a machine that slows down slows both.
Printed are the medians of both and their ratio, this clone's by the other's. Kernels of both are compiled before.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = ("bibtex", "eurlex4k-partial", "yso-finna-en-100k")
POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def run(clone: Path, data: str, method: str, *options: str) -> dict:
    """Return what one run of a clone's own code measured."""
    environment = {**os.environ, **dict.fromkeys(POOLS, "2"), "PYTHONPATH": str(clone / "src")}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.json"
        script = str(clone / "benchmarks" / "peer_run.py")
        command = [sys.executable, script, data, method, str(out), "--threads", "2", *options]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        return json.loads(out.read_text()) if out.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, metavar="OTHER_CLONE")
    parser.add_argument("data", nargs="*", default=list(DATA))
    parser.add_argument("--method", default="x1-refined")
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args()
    clones = {"this": HERE.parent, "other": given.other.resolve()}
    for data in given.data:
        runs: dict[str, list[dict]] = {name: [] for name in clones}
        for clone in clones.values():
            run(clone, data, given.method, "--warm-up-only")
        for _ in range(given.repeat):
            for name, clone in clones.items():
                runs[name].append(run(clone, data, given.method))
        print(f"{data}, {given.method}, medians of {given.repeat} runs")
        for measure, value in runs["this"][0].items():
            if isinstance(value, (int, float)):
                this, other = (statistics.median(each[measure] for each in runs[name]) for name in clones)
                ratio = f"{this / other:.3f}" if other else "-"
                print(f"  {measure:24} {this:12.4f} {other:12.4f}  × {ratio}", flush=True)


if __name__ == "__main__":
    main()
