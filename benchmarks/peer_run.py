"""One run of one method on one data set in a process of its own, so that its memory is its own; peers.py starts it.

    python benchmarks/peer_run.py DATA METHOD OUT.json [--threads 2] [--labels OUT.npz] [--settings JSON]
    python benchmarks/peer_run.py DATA METHOD OUT.json [--threads 2] --tune | --warm-up-only

Writes seconds, milliseconds, megabytes and percent by name, and the labels found for every test point. What is
compiled, loaded or allocated on the first call is paid on a tiny data set before anything is timed. --tune writes the
settings that were chosen on held-out training points instead.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

MB = 1e6
SCORES = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")


class Timer:
    """Wall and CPU seconds of a block, those of all its threads and of processes that it started and awaited."""

    def __enter__(self) -> Timer:
        self.cpu, self.wall = -_cpu(), -time.perf_counter()
        return self

    def __exit__(self, *_) -> None:
        self.wall += time.perf_counter()
        self.cpu += _cpu()


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def busy() -> float:
    """Return the CPU seconds that all processes of the machine have used since it started; 0 where it does not tell."""
    try:
        ticks = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    except (OSError, ValueError):
        return 0.0
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")  # all but idle and waiting for disks


def memory(field: str) -> float:
    """Return megabytes of memory: VmRSS now, VmHWM at the highest; elsewhere than on Linux always the highest."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 / MB for line in lines if line.startswith(f"{field}:"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / MB


def forget_peak() -> None:
    """Let VmHWM start again from what is in use, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def tiny(folder: Path):
    """Return features, labels and file of 400 points that have 200 labels."""
    import numpy as np
    from scipy.sparse import csr_matrix

    from neartag.data import Dataset, write

    generator = np.random.default_rng(0)
    X = csr_matrix(np.where(generator.random((400, 60)) < 0.2, generator.random((400, 60)), 0), dtype=np.float32)
    Y = csr_matrix(generator.random((400, 200)) < 0.02, dtype=np.float32)
    write(Dataset(X, Y), folder / "tiny.txt")
    return X, Y, folder / "tiny.txt"


def warm_up(method, X, Y, file: Path) -> None:
    """Take the method once through everything."""
    __import__(method.module)
    train_and_load(method, method.train_input(X, Y, file), file.with_suffix(""), {})
    method.predict(method.test_input(X))
    method.predict_one(method.test_input(X[:1]))
    method.model = None


def train_and_load(method, given, folder: Path, run: dict) -> None:
    """Train, store, forget and load the model, and put into `run` what each took."""
    folder.mkdir()
    gc.collect()
    run["RSS before training MB"] = memory("VmRSS")
    forget_peak()
    with Timer() as timer:
        method.fit(given, folder)
    run["train wall s"], run["train CPU s"] = timer.wall, timer.cpu
    run["peak RSS training MB"] = memory("VmHWM")
    if not method.saves_in_fit:
        with Timer() as timer:
            method.save(folder)
        run["save s"] = timer.wall
    run["model MB"] = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / MB
    method.model = None
    gc.collect()
    with Timer() as timer:
        method.load(folder)
    run["load s"] = timer.wall


def measure(
    data: str,
    name: str,
    threads: int,
    labels: Path | None = None,
    chosen: dict | None = None,
    warm_up_only: bool = False,
) -> dict:
    """Return what one run of a method on a data set took and how good it is; what it found goes into `labels`.

    It runs with the settings chosen for it, without any with those that it has for the data set.
    """
    run: dict[str, float] = {}
    begin = time.perf_counter()
    import numpy as np
    import peer_data
    from peer_methods import make, settings

    from neartag.metrics import evaluate

    method = make(name, settings(name, data) or {}, threads)
    with tempfile.TemporaryDirectory() as temporary:
        given = tiny(Path(temporary))
        with Timer() as timer:
            warm_up(method, *given)
        run["first call s"] = timer.wall
        run["start s"] = time.perf_counter() - begin  # what neartag compiles to read and score is in here too
        if warm_up_only:
            return run
        method.settings = method.settings if chosen is None else chosen
        with Timer() as timer:
            train, test = peer_data.load(data)
        run["read s"] = timer.wall
        file = peer_data.training_file(train, Path(temporary)) if method.reads_file else None
        with Timer() as timer:
            given = method.train_input(train.X, train.Y, file)
        if method.reads_file:
            run["read s"] = timer.wall
        busy_before = busy()
        with Timer() as timer:
            train_and_load(method, given, Path(temporary) / "model", run)
            predict(method, test.X, run)
        # Times say little where others wanted the same cores.
        run["cores used by others"] = max(0.0, busy() - busy_before - timer.cpu) / timer.wall
    found = run.pop("labels")
    if labels is not None:
        part = labels.with_suffix(".part.npz")
        np.savez_compressed(part, labels=found.astype(np.int32))
        part.replace(labels)
    scores = evaluate(found, test.Y, Y_train=train.Y)
    return {**{key: scores[key] for key in SCORES}, **run}


def predict(method, X, run: dict) -> None:
    """Predict all rows at once, then some by a call each, and put into `run` what it took and what was found."""
    from peer_settings import ONE_AT_A_TIME

    given = method.test_input(X)
    rows = [method.test_input(X[row]) for row in range(min(ONE_AT_A_TIME, X.shape[0]))]
    gc.collect()
    forget_peak()
    with Timer() as timer:
        found = method.predict(given)
    run["batch ms"], run["batch CPU ms"] = 1000 * timer.wall / X.shape[0], 1000 * timer.cpu / X.shape[0]
    run["peak RSS predicting MB"] = memory("VmHWM")
    run["labels"] = method.labels(found)
    took, same = [], 0
    for number, row in enumerate(rows):
        start = time.perf_counter()
        found = method.predict_one(row)
        took.append(1000 * (time.perf_counter() - start))
        same += int((method.labels(found)[0] == run["labels"][number]).all())
    run["one ms"] = statistics.median(took)
    run["one as in batch %"] = 100 * same / len(rows)  # a call a point must not be another model


def find_settings(data: str, name: str, threads: int) -> dict:
    """Return the settings that are best on held-out points of the training part, and what was tried."""
    from peer_methods import make
    from peer_tune import first_settings, tuned_settings

    with tempfile.TemporaryDirectory() as temporary:
        warm_up(make(name, first_settings(name, data), threads), *tiny(Path(temporary)))
    return tuned_settings(data, name, threads, Timer)


def rounded(value):
    """Return numbers with six digits, also those within lists and dictionaries."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("method")
    parser.add_argument("out", type=Path)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--labels", type=Path, help="where the labels found are kept")
    parser.add_argument("--settings", type=json.loads, help="settings in place of those for the data set, as JSON")
    parser.add_argument("--tune", action="store_true", help="choose settings, and write these")
    parser.add_argument("--warm-up-only", action="store_true")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # a tool that does not keep to its threads gets no more cores than the others
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    given = arguments.data, arguments.method, arguments.threads
    if arguments.tune:
        run = find_settings(*given)
    else:
        run = measure(*given, arguments.labels, arguments.settings, arguments.warm_up_only)
    arguments.out.write_text(json.dumps(rounded(run)))


if __name__ == "__main__":
    main()
