"""X1, votes alone, with the settings chosen for them: accuracy on each test part, training and prediction time.

    python benchmarks/run.py [bibtex delicious …] [--repeat 3] [--write]

Times are CPU seconds of `fit` and `predict_topk` on arrays in memory, kernels compiled, the median of the repeats;
wall seconds stand beside them. --write replaces benchmarks/results/x1.json and the table of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from pathlib import Path

import pages
from votes import vote_preset

from neartag.cli.references import plain_knn, plain_ridge
from neartag.core.errors import DataError
from neartag.core.threads import available_cores
from neartag.data import debian, registry
from neartag.encoders.tfidf import TfidfFeatures
from neartag.metrics import evaluate
from neartag.x1.classifier import X1Classifier

NAMES = ("bibtex", "delicious", "mediamill-rand", "eurlex4k-partial", "debian")
MEASURES = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")


def parts(name: str):
    """Features and labels of the training and the test part."""
    if name == "debian":
        train, test = debian.load("train"), debian.load("test")
        features = TfidfFeatures()
        tags = debian.tag_names()
        X = features.fit_transform(train.words)
        return X, train.label_matrix(tags), features.transform(test.words), test.label_matrix(tags)
    train, test = registry.load(name, "train"), registry.load(name, "test")
    return train.X, train.Y, test.X, test.Y


def measure(name: str, repeat: int) -> list[dict]:
    """Rows of the table: X1 at its preset and, on the embedded corpus, the references it is held against."""
    X, Y, X_test, Y_test = parts(name)
    settings = {**vote_preset(name), "refine": False}
    fit_cpu, fit_wall, predict_wall = [], [], []
    for _ in range(repeat):
        classifier = X1Classifier(**settings)
        cpu, wall = time.process_time(), time.perf_counter()
        classifier.fit(X, Y)
        fit_cpu.append(time.process_time() - cpu)
        fit_wall.append(time.perf_counter() - wall)
        wall = time.perf_counter()
        labels, _ = classifier.predict_topk(X_test, 5)
        predict_wall.append(time.perf_counter() - wall)
    share = classifier.model_.feature_share
    row = {"data": name, "method": f"X1 with feature votes, {share:g}" if share else "X1", "settings": settings}
    row.update(evaluate(labels, Y_test, Y_train=Y))
    row["train CPU s"] = statistics.median(fit_cpu)
    row["train wall s"] = statistics.median(fit_wall)
    row["predict ms a point"] = 1000 * statistics.median(predict_wall) / X_test.shape[0]
    rows = [row]
    for alone in (0.0, 1.0):  # what either voter does by itself, at the same settings
        if share:  # prediction alone differs, so no training again
            labels, _ = classifier.set_params(feature_share=alone).predict_topk(X_test, 5)
            method = "feature votes alone" if alone else "X1 alone"
            rows.append({"method": method, **evaluate(labels, Y_test, Y_train=Y)})
    rows += references(name, X, Y, X_test, Y_test)
    return [
        {"data": name, **{key: value for key, value in row.items() if "@" not in key or key in MEASURES}}
        for row in rows
    ]


def references(name: str, X, Y, X_test, Y_test) -> list[dict]:
    """Plain kNN, the best over k and both votes on the test part itself (in its favour), and ridge regression."""
    found = []
    for (k, vote), labels in plain_knn(X, Y, X_test, (5, 10, 20, 30, 50, 100, 200, 300), 5).items():
        found.append({"method": f"cosine kNN, best of k: {k}, {vote}", **evaluate(labels, Y_test, Y_train=Y)})
    best = max(found, key=lambda row: row["P@1"])
    if name != "debian":
        return [best]
    scored = [
        {
            "method": f"ridge regression, best of λ: {l2:g}",
            **evaluate(plain_ridge(X, Y, X_test, 5, l2), Y_test, Y_train=Y),
        }
        for l2 in (1.0, 3.0, 5.0)
    ]
    return [best, max(scored, key=lambda row: row["P@1"])]


def table(rows: list[dict]) -> str:
    """The rows as Markdown."""
    extra = ("train CPU s", "train wall s", "predict ms a point")
    lines = [
        "| data | method | P@1 / 3 / 5 | PSP@1 / 3 / 5 | train CPU s (wall) | predict ms a point |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        accuracy = " / ".join(f"{row[key]:.2f}" for key in MEASURES[:3])
        scored = " / ".join(f"{row[key]:.2f}" for key in MEASURES[3:])
        times = f"{row[extra[0]]:.1f} ({row[extra[1]]:.1f}) | {row[extra[2]]:.3f}" if extra[0] in row else "– | –"
        lines.append(f"| {row['data']} | {row['method']} | {accuracy} | {scored} | {times} |")
    return "\n".join(lines)


def machine() -> str:
    """One line on the machine that measured."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        cpu = next((line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line), cpu)
    return (
        f"{cpu}, {available_cores()} of {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    rows: list[dict] = []
    for name in arguments.names:
        try:
            fresh = measure(name, arguments.repeat)
        except DataError as error:
            print(f"{name}: left out: {error}")
            continue
        print(*table(fresh).splitlines()[2 if rows else 0 :], sep="\n", flush=True)
        rows += fresh
    if arguments.write:
        pages.keep("x1", {"machine": machine(), "repeat": arguments.repeat, "rows": rows})
        pages.insert("x1", f"{table(rows)}\n\nMeasured on: {machine()}.")


if __name__ == "__main__":
    main()
