"""What the defaults for large sets of short texts rest on: settings tried on a held-out part of yso-finna-en-100k.

    python benchmarks/study.py [--write]

5,000 training points are held out and every setting is trained on the others; the test part is never looked at. Beside
X1 alone stands the mix with neighbours by features, its share chosen by the program on its own held-out points.
"""

from __future__ import annotations

import argparse
import time
from unittest import mock

import numpy as np
import pages
from run import machine
from scipy.sparse import csr_matrix

from neartag.data import registry
from neartag.linalg.rows import as_rows, normalise
from neartag.metrics import evaluate
from neartag.x1 import centroids, ensemble, kmeans
from neartag.x1.classifier import X1Classifier
from neartag.x1.cluster_training import MAX_SIZE_RATIO

HELD_OUT, SEED = 5000, 5
ONE = {"n_learners": 1, "n_clusters": 1}
STUDY: list[tuple[str, dict]] = [
    ("defaults", {}),
    ("dimension 50", {**ONE, "embedding_dim": 50}),
    ("dimension 200", {**ONE, "embedding_dim": 200}),
    ("dimension 300", {**ONE, "embedding_dim": 300}),
    ("30 label neighbours", {**ONE, "svp_neighbours": 30}),
    ("200 label neighbours", {**ONE, "svp_neighbours": 200}),
    ("4 clusters", {"n_learners": 1, "n_clusters": 4}),
    ("4 clusters, 2 probed", {"n_learners": 1, "n_clusters": 4, "n_probe": 2}),
    ("4 clusters, 4 probed", {"n_learners": 1, "n_clusters": 4, "n_probe": 4}),
    ("16 clusters", {"n_learners": 1, "n_clusters": 16}),
    ("16 clusters, 4 probed", {"n_learners": 1, "n_clusters": 16, "n_probe": 4}),
    ("16 clusters by labels", {"n_learners": 1, "n_clusters": 16, "by_labels": True}),
    ("16 clusters by labels, 4 probed", {"n_learners": 1, "n_clusters": 16, "n_probe": 4, "by_labels": True}),
    ("64 clusters, in two stages", {"n_learners": 1, "n_clusters": 64}),
    ("64 clusters, plain k-means", {"n_learners": 1, "n_clusters": 64, "plain": True}),
    ("5 learners, 4 clusters", {"n_learners": 5, "n_clusters": 4}),
    ("5 learners, 2 clusters", {"n_learners": 5, "n_clusters": 2}),
]


def plain(X, settings, seed, threads):
    """A partition in one stage, however many clusters there are."""
    size = max(2, -(-MAX_SIZE_RATIO * X.shape[0] // settings.count))
    count = settings.count
    return kmeans.partition(X, count, max_size=size, seed=seed, threads=threads, max_flat=count)


def partition_by_labels(Y: csr_matrix):
    """A partition helped by labels: k-means not of a point's own words, but of the mean words of its labels' points."""

    def make_partition(X, settings, seed, threads):
        shares = normalise(as_rows(Y))
        label_words = shares.T @ X  # (L, d)
        smoothed = normalise(as_rows(csr_matrix(shares @ label_words)))  # (n, d)
        smoothed.data[smoothed.data < 0.02] = 0  # the long tail of words says little and makes rows nearly dense
        smoothed.eliminate_zeros()
        found = kmeans.partition(smoothed, settings.count, max_size=None, seed=seed, threads=threads)
        return centroids.Partition(centroids.find_centroids(X, found.assignment, found.n_clusters), found.assignment)

    return make_partition


def measure(name: str, settings: dict, parts) -> dict:
    X, Y, X_held, Y_held = parts
    settings = dict(settings)
    other = plain if settings.pop("plain", False) else None
    other = partition_by_labels(Y) if settings.pop("by_labels", False) else other
    wall = time.perf_counter()
    with mock.patch.object(ensemble, "make_partition", other or ensemble.make_partition):
        model = X1Classifier(refine=False, **settings).fit(X, Y)
    row = {"setting": name, "train s": time.perf_counter() - wall, "share": model.model_.feature_share}
    for column, share in (("mixed", row["share"]), ("alone", 0.0)):
        wall = time.perf_counter()
        labels, _ = model.set_params(feature_share=share).predict_topk(X_held, 5)
        row[f"{column} ms"] = 1000 * (time.perf_counter() - wall) / HELD_OUT
        measured = evaluate(labels, Y_held)
        row[column] = [measured[f"P@{k}"] for k in (1, 3, 5)]
    return row


def table(rows: list[dict]) -> str:
    lines = [
        "| setting | X1 alone, P@1 / 3 / 5 | ms a point | mixed, P@1 / 3 / 5 | share chosen | train s |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        alone, mixed = (" / ".join(f"{value:.2f}" for value in row[column]) for column in ("alone", "mixed"))
        cells = [row["setting"], alone, f"{row['alone ms']:.2f}", mixed, f"{row['share']:g}", f"{row['train s']:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="some of the settings only; with --write the others stay as they were")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    data = registry.load("yso-finna-en-100k", "train")
    order = np.random.default_rng(SEED).permutation(data.n_points)
    held, rest = np.sort(order[:HELD_OUT]), np.sort(order[HELD_OUT:])
    parts = data.X[rest], csr_matrix(data.Y)[rest], data.X[held], csr_matrix(data.Y)[held]
    known = {row["setting"]: row for row in pages.kept("study").get("rows", [])}
    for name, settings in STUDY:
        if not arguments.names or name in arguments.names:
            known[name] = measure(name, settings, parts)
            print(table([known[name]]).splitlines()[-1], flush=True)
    rows = [known[name] for name, _ in STUDY if name in known]
    if arguments.write:
        pages.keep("study", {"machine": machine(), "rows": rows})
        pages.insert("study", f"{table(rows)}\n\nMeasured on: {machine()}.")


if __name__ == "__main__":
    main()
