"""What Dask costs beside two processes of joblib, what a second worker is worth, and what it costs to go on.

    python benchmarks/dask_overhead.py [DATA] [--points N] [--rounds 3] [--write]

DATA is yso-finna-en-100k unless another set is named. All run the same plan of tasks, refined, with kernels warm and
the cluster running: two processes of joblib, Dask with two workers of one thread, Dask with one. A round has all three;
the figures are medians of the wall time of `fit`. The scheduler is a process of its own; its resident memory is taken
before and after. Last, a training by two workers is killed at 90% of its time, and the time is taken that the same
call needs then. Nothing else may run on the machine. --write keeps the figures in results/dask_overhead.json, and
writes the table of docs/scaling.md; `--table` only writes that, from the figures that are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pages
import peer_data
import psutil
from distributed import Client
from run import machine

from neartag.data import Dataset, synthetic
from neartag.work.executors.dask import WORKER_ENVIRONMENT, Dask
from neartag.work.executors.joblib_processes import JoblibProcesses
from neartag.work.folder import WorkFolder
from neartag.x1.classifier import X1Classifier

KILLED_AT = 0.9


def load(name: str, points: int | None) -> Dataset:
    """Return the training part of a data set, or its first points."""
    train, _ = peer_data.load(name)
    return train if points is None else Dataset(train.X[:points], train.Y[:points], name=train.name)


def fit(data: Dataset, executor: Any) -> float:
    """Return how long a training takes, in seconds."""
    begun = time.perf_counter()
    X1Classifier(n_jobs=2).fit(data.X, data.Y, executor=executor)
    return time.perf_counter() - begun


def timed(data: Dataset, make: Callable[[WorkFolder], Any]) -> float:
    """Return the same in a new work folder, which is removed."""
    with tempfile.TemporaryDirectory() as folder:
        return fit(data, make(WorkFolder(Path(folder) / "work")))


@contextmanager
def cluster(workers: int) -> Iterator[tuple[str, psutil.Process]]:
    """Start a scheduler and so many workers of one thread, and give the address and the scheduler's process."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    address, environment = f"tcp://127.0.0.1:{port}", {**os.environ, **WORKER_ENVIRONMENT}
    quiet = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    place = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show"]
    running = [subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_scheduler", *place], **quiet)]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
    running += [subprocess.Popen(worker, **quiet) for _ in range(workers)]
    try:
        with Client(address, timeout=60) as client:
            client.wait_for_workers(workers, timeout=120)
        yield address, psutil.Process(running[0].pid)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


def resume_after_kill(given: argparse.Namespace, data: Dataset, address: str, whole: float) -> float:
    """Return how long a training takes that goes on after its client was killed at 90% of the time."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "work"
        command = [sys.executable, __file__, given.data, "--kill-me", str(work), "--address", address]
        command += [] if given.points is None else ["--points", str(given.points)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        child.stdout.readline()  # it begins
        time.sleep(KILLED_AT * whole)
        child.send_signal(signal.SIGKILL)
        child.wait()
        with Client(address) as client:
            return fit(data, Dask(client, WorkFolder(work)))


def measure(given: argparse.Namespace) -> dict[str, Any]:
    data = load(given.data, given.points)
    small = synthetic.make(600, 300, 60, 10, 2)
    times: dict[str, list[float]] = {"2 processes": [], "Dask, 2 workers": [], "Dask, 1 worker": []}
    with cluster(2) as (two, scheduler), cluster(1) as (one, _), Client(two) as of_two, Client(one) as of_one:
        ways: dict[str, Callable[[WorkFolder], Any]] = {
            "2 processes": lambda folder: JoblibProcesses(2, folder),
            "Dask, 2 workers": lambda folder: Dask(of_two, folder),
            "Dask, 1 worker": lambda folder: Dask(of_one, folder),
        }
        for make in ways.values():
            timed(small, make)  # loads the libraries and the kernels
        before = scheduler.memory_info().rss
        for _ in range(given.rounds):
            for name, make in ways.items():
                times[name].append(timed(data, make))
                print(f"{name}: {times[name][-1]:.2f} s", flush=True)
        after = scheduler.memory_info().rss
        whole = median(times["Dask, 2 workers"])
        resumed = resume_after_kill(given, data, two, whole)
    middle = {name: median(each) for name, each in times.items()}
    return {
        "data": data.name,
        "points": data.n_points,
        "seconds": {name: round(value, 2) for name, value in middle.items()},
        "rounds": {name: [round(value, 2) for value in each] for name, each in times.items()},
        "Dask beside processes": round(middle["Dask, 2 workers"] / middle["2 processes"], 3),
        "two workers beside one": round(middle["Dask, 1 worker"] / middle["Dask, 2 workers"], 3),
        "scheduler grew by MB": round((after - before) / 2**20, 1),
        "going on after a kill at 90%": round(resumed / whole, 3),
        "machine": machine(),
    }


def table(report: dict[str, Any]) -> str:
    """The figures, beside what they must be at most or at least."""
    lines = ["| measured | figure | must be |", "|---|---|---|"]
    for name, seconds in report["seconds"].items():
        runs = ", ".join(f"{each:.1f}" for each in report["rounds"][name])
        lines.append(f"| {name}, seconds (rounds: {runs}) | {seconds:.1f} | |")
    for name, unit, bound in (
        ("Dask beside processes", " ×", "at most 1.25 ×"),
        ("two workers beside one", " × faster", "at least 1.5 ×"),
        ("scheduler grew by MB", " MB", "less than 50 MB"),
        ("going on after a kill at 90%", " of the whole", "at most 0.15"),
    ):
        lines.append(f"| {name.replace(' by MB', '')} | {report[name]:.2f}{unit} | {bound} |")
    return "\n".join([*lines, "", f"{report['data']}, {report['points']:,} points. {report['machine']}."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default="yso-finna-en-100k")
    parser.add_argument("--points", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--kill-me", help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.kill_me:  # the client that is killed
        data = load(given.data, given.points)
        with Client(given.address) as client:
            print("begin", flush=True)
            fit(data, Dask(client, WorkFolder(given.kill_me)))
        return
    report = pages.kept("dask_overhead") if given.table else measure(given)
    print(json.dumps(report, indent=1))
    if given.write:
        pages.keep("dask_overhead", report)
    if given.write or given.table:
        pages.insert("dask overhead", table(report), pages.DOCS / "scaling.md")


if __name__ == "__main__":
    main()
