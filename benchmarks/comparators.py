"""Every method of the paper's Table 3 on the same data, measured beside the printed figures.

    python benchmarks/comparators.py [bibtex delicious …] [--methods leml,knn] [--again] [--write]
    python benchmarks/comparators.py --page

Each method and data set is a process of its own, with the settings of its preset. What is measured is kept as it ends
in benchmarks/results/comparators.json (the labels given, for paired intervals, in the cache folder), so that an
interrupted run goes on where it was; --again measures what is there already. --write also renews docs/comparators.md;
--page does only that, from what is kept.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pages
from comparator_tables import CUTS, DATA, ROWS, WIDE, tables
from run import machine
from votes import vote_preset

from neartag import presets, store
from neartag.core.errors import NeartagError, ParameterError
from neartag.data import registry
from neartag.methods import registry as methods
from neartag.metrics import evaluate, paired_bootstrap

LIMIT = 3600  # seconds for one method on one data set


def settings_of(row: str, name: str) -> tuple[str, dict]:
    """Return a row's method, and its settings on a data set: the preset's, the defaults where there is none."""
    method, changes = ROWS[row]
    if method == "x1":
        return method, {**vote_preset(name), **changes}
    try:
        return method, {**presets.get(name, method), **changes}
    except ParameterError:
        return method, dict(changes)


def labels_file(row: str, name: str) -> Path:
    """Return where the labels that a row gave to the test points are kept."""
    return registry.cache_folder() / "comparators" / f"{name}.{row}.npy"


def measure(row: str, name: str) -> dict:
    """Train and test one method on one data set; for a process of its own."""
    method, settings = settings_of(row, name)
    train, test = registry.load(name, "train"), registry.load(name, "test")
    classifier = methods.get(method).estimator_class()(**settings)
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        classifier.fit(train.X, train.Y)
    except NeartagError as error:
        return {"refused": str(error), "settings": settings}
    cost = {"cpu": time.process_time() - cpu, "seconds": time.perf_counter() - wall}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    wall = time.perf_counter()
    labels, _ = classifier.predict_topk(test.X, 5)
    cost["ms_a_point"] = 1000 * (time.perf_counter() - wall) / test.n_points
    with tempfile.TemporaryDirectory() as folder:
        store.save(classifier.model_, folder)
        size = store.inspect(folder)["bytes"]
    file = labels_file(row, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    np.save(file, labels)
    scores = evaluate(labels, test.Y, Y_train=train.Y)
    return {**cost, "peak_bytes": peak, "model_bytes": size, "settings": settings, "scores": scores}


def run(row: str, name: str) -> dict:
    """Return what `measure` returns, from a process of its own; a failure is a result too."""
    command = [sys.executable, __file__, "--one", row, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"refused": f"not done after {LIMIT} s", "settings": settings_of(row, name)[1]}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise SystemExit(f"{row} on {name} failed: {last}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def lead(row: str, name: str) -> dict[str, list[float]]:
    """Return by how much neartag's votes alone lead over a row: the difference and its interval, for each P@k."""
    Y = registry.load(name, "test").Y
    own, labels = np.load(labels_file("x1", name)), np.load(labels_file(row, name))
    found = {f"P@{k}": paired_bootstrap(own, labels, Y, metric=f"P@{k}") for k in CUTS}
    return {key: [each.difference, each.low, each.high] for key, each in found.items()}


def renew_leads(results: dict) -> None:
    """Set the leads of all rows whose labels, and those of neartag's votes alone, are kept here."""
    for name in [*DATA, *WIDE]:
        for row, result in results.get(name, {}).items():
            here = labels_file("x1", name).exists() and labels_file(row, name).exists()
            if row != "x1" and "scores" in result and here:
                result["lead"] = lead(row, name)


def write_page(results: dict) -> None:
    """Renew the tables of docs/comparators.md."""
    for mark, text in tables(results).items():
        pages.insert(mark, text, pages.DOCS / "comparators.md")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*DATA, *WIDE])
    parser.add_argument("--methods", default=",".join(ROWS))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one)))
        return
    results = pages.kept("comparators")
    if arguments.page:
        write_page(results)
        return
    for name in arguments.names:
        for row in arguments.methods.split(","):
            if name in WIDE and row not in WIDE[name]:
                continue
            old = results.get(name, {}).get(row)
            same = old is not None and old["settings"] == settings_of(row, name)[1] and labels_file(row, name).exists()
            if same and not arguments.again:
                continue
            result = run(row, name)
            results = pages.kept("comparators")
            results.setdefault(name, {})[row] = result
            if row == "x1":  # leads over the others are those of the labels before
                for other in results[name].values():
                    other.pop("lead", None)
            results["machine"] = machine()
            pages.keep("comparators", results)
            said = result.get("refused") or " / ".join(f"{result['scores'][f'P@{k}']:.2f}" for k in (1, 3, 5))
            print(f"{name} {row}: {said}, {result.get('cpu', 0):.1f} s CPU", flush=True)
    if arguments.write:
        renew_leads(results)
        pages.keep("comparators", results)
        write_page(results)


if __name__ == "__main__":
    main()
