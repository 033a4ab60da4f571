"""How far it goes: X1 on synthetic sets of the paper's large shapes, its growth with n, and what two jobs gain.

    python benchmarks/ladder.py [tenth million full growth refined jobs] [--write]
    python benchmarks/ladder.py [tenth-refined million-refined full-refined] [--write]

Each rung runs in a process of its own, so that its peak memory is its own. What a rung must reach stands beside it: P@1
on 10,000 held-out points at least that of plain cosine kNN on the raw features (the best of k = 5, 10, 20).
--write keeps the rungs measured so far in benchmarks/results/ladder.json and the table of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pages
from run import machine

HELD_OUT = 10_000
# n, d, L, features a point, labels a point: the shapes of the paper's Table 2, scaled.
SHAPES = {
    "tenth": (178_000, 162_000, 32_500, 42, 3.2),  # WikiLSHTC at 1/10
    "full": (1_780_000, 1_620_000, 325_000, 42, 3.2),  # WikiLSHTC
    "million": (1_000_000, 41_000, 1_080_000, 9, 2),  # Ads-1m at 1/4
}
ONE_LEARNER = {"n_learners": 1, "embedding_dim": 50, "refine": False}
REFINED = "-refined"  # behind a shape's name: rankers decide
# Growth: so many of the points of one set (WikiLSHTC's shape at 1/10), clusters of a fixed size, nothing chosen on
# held-out points; and again where features and labels grow in proportion to the points.
GROWTH, CLUSTER_SIZE = (20_000, 60_000, 180_000), 20_000
TEXTS, GROWTH_OF_TEXTS = "yso-finna-en-100k", (12_000, 24_000, 48_000, 96_000)
VOTES = {"refine": False}
FIXED = {**ONE_LEARNER, "feature_share": 0.8, "vote_neighbours": 20}


def rung(name: str) -> dict:
    """Train and measure one of the shapes; runs in its own process."""
    import numpy as np

    from neartag.data import synthetic
    from neartag.linalg.rows import as_rows, normalise
    from neartag.metrics import evaluate
    from neartag.search.inverted_index import FeatureIndex
    from neartag.search.weights import voter_weights
    from neartag.x1.classifier import X1Classifier
    from neartag.x1.vote import vote

    n, d, L, features, labels = SHAPES[name.removesuffix(REFINED)]
    settings = {**ONE_LEARNER, "refine": name.endswith(REFINED)}
    data = synthetic.make(n + HELD_OUT, d, L, features, labels)
    X, Y, X_test, Y_test = data.X[:n], data.Y[:n], data.X[n:], data.Y[n:]
    del data
    before = _memory("VmRSS")
    fit_wall, fit_cpu, model = _time_fit(X1Classifier(**settings), X, Y)
    peak = _memory("VmHWM")
    wall = time.perf_counter()
    found, _ = model.predict_topk(X_test, 5)
    predict = 1000 * (time.perf_counter() - wall) / HELD_OUT
    row = {"rung": name, "n": n, "d": d, "L": L, "train wall s": fit_wall, "train CPU s": fit_cpu}
    row.update({"peak RSS MB": peak, "data MB": before, "predict ms a point": predict})
    row["clusters"] = len(model.model_.learners[0].clusters)
    row["feature share"] = model.model_.feature_share
    row.update(_precisions(evaluate(found, Y_test)))
    if settings["refine"]:
        return row
    alone, _ = model.set_params(feature_share=0.0).predict_topk(X_test, 5)
    row["X1 alone"] = _precisions(evaluate(alone, Y_test))
    index, queries = model.model_.index or FeatureIndex.from_rows(normalise(as_rows(X))), normalise(as_rows(X_test))
    ids, cosines = index.find(queries, 20, 2, prune=0.0)
    plain = []
    for k in (5, 10, 20):
        voters = voter_weights(np.ascontiguousarray(cosines[:, :k]), "uniform")
        best, _ = vote(model.model_.Y, ids[:, :k], voters, model.model_.frequency, 5, 2)
        plain.append(_precisions(evaluate(best, Y_test)))
    row["kNN"] = max(plain, key=lambda each: each["P@1"])
    return row


def growth() -> dict:
    """Training time at three sizes, the median of three, and the slope of its logarithm, for both kinds of growth."""
    from neartag.data import synthetic
    from neartag.x1.classifier import X1Classifier

    largest = synthetic.make(GROWTH[-1], *SHAPES["tenth"][1:])
    found: dict = {"rung": "growth"}
    for kind in ("points of one set", "features and labels too"):
        seconds = {}
        for n in GROWTH:
            X, Y = largest.X[:n], largest.Y[:n]
            if kind != "points of one set":
                X, Y = _make_in_proportion(n)
            settings = {**FIXED, "n_clusters": n // CLUSTER_SIZE}
            seconds[n] = statistics.median(_time_fit(X1Classifier(**settings), X, Y)[0] for _ in range(3))
        found[f"{kind}, clusters of {CLUSTER_SIZE:,}"] = _grown(seconds)
    return found


def _make_in_proportion(n: int) -> tuple:
    """Return a set of WikiLSHTC's shape in which features and labels are in proportion to the points."""
    from neartag.data import synthetic

    made = synthetic.make(n, round(0.91 * n), round(0.1826 * n), 42, 3.2)
    return made.X, made.Y


def refined() -> dict:
    """The same of X1 refined, all of it left to the program, on parts of real texts and on synthetic sets."""
    import numpy as np

    from neartag.data import registry
    from neartag.x1.classifier import X1Classifier

    data = registry.load(TEXTS, "train")
    order = np.random.default_rng(0).permutation(data.n_points)
    seconds = {}
    for n in GROWTH_OF_TEXTS:
        part = np.sort(order[:n])
        runs = (_time_fit(X1Classifier(), data.X[part], data.Y[part])[0] for _ in range(3))
        seconds[n] = statistics.median(runs)
    of_sets = {}
    for n in GROWTH:
        X, Y = _make_in_proportion(n)
        of_sets[n] = statistics.median(_time_fit(X1Classifier(), X, Y)[0] for _ in range(3))
    return {
        "rung": "refined",
        f"{TEXTS}, refined": _grown(seconds),
        "features and labels too, refined": _grown(of_sets),
    }


def _grown(seconds: dict[int, float]) -> dict:
    """Return the seconds by number of points, and the slope of their logarithm."""
    smallest, largest = min(seconds), max(seconds)
    slope = math.log(seconds[largest] / seconds[smallest]) / math.log(largest / smallest)
    return {"seconds": seconds, "slope": slope}


def jobs() -> dict:
    """Training time with one job over that with two, three times each in turn."""
    from votes import vote_preset

    from neartag.core.errors import DataError
    from neartag.data import registry, synthetic
    from neartag.x1.classifier import X1Classifier

    made = synthetic.make(60_000, 54_600, 11_000, 42, 3.2)
    sets = {"60,000 synthetic points, 3 clusters": (made, {**FIXED, "n_clusters": 3})}
    for name, settings in (("eurlex4k-partial", {**vote_preset("eurlex"), **VOTES}), (TEXTS, VOTES)):
        try:
            sets[name] = (registry.load(name, "train"), settings)
        except DataError as error:
            print(f"{name}: left out: {error}")
    ratios = {}
    for name, (data, settings) in sets.items():
        times: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(3):
            for count in times:
                times[count].append(_time_fit(X1Classifier(**settings, n_jobs=count), data.X, data.Y)[0])
        ratios[name] = statistics.median(times[1]) / statistics.median(times[2])
    return {"rung": "jobs", "speed-up": ratios}


def _time_fit(classifier, X, Y):
    wall, cpu = time.perf_counter(), time.process_time()
    classifier.fit(X, Y)
    return time.perf_counter() - wall, time.process_time() - cpu, classifier


def _precisions(measured: dict) -> dict:
    return {f"P@{k}": measured[f"P@{k}"] for k in (1, 3, 5)}


def _memory(field: str) -> float:
    """MB that this process holds (VmRSS) or has held at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def table(rows: dict[str, dict]) -> str:
    """The rungs as Markdown."""
    lines = [
        "| synthetic set | n / d / L | train wall s (CPU) | peak RSS MB (of it data) | clusters | P@1 / 3 / 5 "
        "| X1 alone | plain kNN | predict ms a point |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in (f"{shape}{kind}" for shape in SHAPES for kind in ("", REFINED)):
        if name in rows:
            row = rows[name]
            told = row, row.get("X1 alone"), row.get("kNN")
            accuracy = [
                "–" if each is None else " / ".join(f"{each[f'P@{k}']:.2f}" for k in (1, 3, 5)) for each in told
            ]
            lines.append(
                f"| {name} | {row['n']:,} / {row['d']:,} / {row['L']:,} | {row['train wall s']:.0f} "
                f"({row['train CPU s']:.0f}) | {row['peak RSS MB']:,.0f} ({row['data MB']:,.0f}) | {row['clusters']} | "
                f"{' | '.join(accuracy)} | {row['predict ms a point']:.3f} |"
            )
    for kind, measured in {**rows.get("growth", {}), **rows.get("refined", {})}.items():
        if kind != "rung":
            seconds = ", ".join(f"{int(n):,}: {value:.2f} s" for n, value in measured["seconds"].items())
            lines += ["", f"Growth of {kind}: {seconds}; slope {measured['slope']:.3f}."]
    if "jobs" in rows:
        ratios = ", ".join(f"{name} {value:.2f} ×" for name, value in rows["jobs"]["speed-up"].items())
        lines += ["", f"From one job to two: {ratios}."]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["growth", "refined", "jobs", "tenth", "million", "full"])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        is_shape = arguments.one.removesuffix(REFINED) in SHAPES
        print(json.dumps(rung(arguments.one) if is_shape else globals()[arguments.one]()))
        return
    rows = pages.kept("ladder").get("rows", {})
    for name in arguments.names:
        done = subprocess.run([sys.executable, __file__, "--one", name], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            print(f"{name}: failed with {done.returncode}")
            continue
        rows[name] = json.loads(done.stdout.splitlines()[-1])
        print(table({name: rows[name]}), flush=True)
        if arguments.write:
            pages.keep("ladder", {"machine": machine(), "rows": rows})
            pages.insert("ladder", f"{table(rows)}\n\nMeasured on: {machine()}.")


if __name__ == "__main__":
    main()
