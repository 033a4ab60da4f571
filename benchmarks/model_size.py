"""What a smaller model costs: weights and points in float16 or int8, and truncated weights, at the presets.

    python benchmarks/model_size.py [bibtex eurlex4k-partial …] [--write]

Each set is trained once. Rounding and truncation come after training, so every option is made of that one model, as
training with the option would; each is then saved, loaded and measured on the test part. Rounded points are measured
once more when scaled back to unit length, which the method leaves out. --write replaces
benchmarks/results/model_size.json and the table of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pages
from run import machine, parts
from votes import vote_preset

from neartag import store
from neartag.core.errors import DataError
from neartag.linalg.rows import as_rows, normalise, select_columns
from neartag.metrics import evaluate
from neartag.x1.classifier import X1Classifier
from neartag.x1.embedding import embed
from neartag.x1.learner import Learner
from neartag.x1.model import X1Model
from neartag.x1.regression import truncate
from neartag.x1.settings import X1Settings
from neartag.x1.training_steps import round_learner

NAMES = ("bibtex", "eurlex4k-partial")
MEASURES = ("P@1", "P@3", "P@5")
OPTIONS = (
    {},
    {"precision": "float16"},
    {"precision": "int8"},
    {"keep_weights": 0.5},
    {"keep_weights": 0.2},
    {"keep_weights": 0.1},
    {"keep_weights": 0.2, "precision": "float16"},
    {"keep_weights": 0.2, "precision": "int8"},
)


def option(model: X1Model, rows, changes: dict) -> X1Model:
    """The model that training on these unit rows with the option would give."""
    settings = model.settings.replace(**changes)
    learners = [
        round_learner(truncated(each, rows, settings), settings.regression.precision) for each in model.learners
    ]
    return replace(model, settings=settings, learners=learners)


def truncated(learner: Learner, rows, settings: X1Settings) -> Learner:
    """The learner with fewer weights, its points embedded by them."""
    if settings.regression.keep_weights == 1:
        return learner
    if settings.regression.l1 > 0:
        raise ValueError("with an L1 penalty ADMM's levels depend on the truncation: train again")
    clusters = []
    for cluster in learner.clusters:
        weights = truncate(cluster.weights, settings.regression.keep_weights)
        points = embed(select_columns(rows[cluster.members], cluster.features), weights)  # (N, dim)
        points = points if settings.vote.distance == "euclidean" else normalise(points)
        clusters.append(replace(cluster, weights=weights, points=points))
    return Learner(learner.centroids, clusters)


def measure(name: str) -> list[dict]:
    """Rows of the table."""
    X, Y, X_test, Y_test = parts(name)
    model = X1Classifier(**vote_preset(name), refine=False).fit(X, Y).model_
    rows = normalise(as_rows(X))
    found = []
    for changes in OPTIONS:
        with tempfile.TemporaryDirectory() as folder:
            store.save(option(model, rows, changes), folder)
            document = json.loads((Path(folder) / "model.json").read_text())
            size = sum(path.stat().st_size for path in Path(folder).iterdir())
            loaded = store.load(folder).model
        row = {"data": name, "option": words(changes), "changes": changes, "bytes": size}
        row["index bytes"] = document["parts"]["index"]["bytes"] if "index" in document["parts"] else 0
        found.append({**row, **accuracy(loaded, X_test, Y_test)})
        if list(changes) == ["precision"]:
            again = {**row, "option": f"{row['option']}, points of unit length again"}
            found.append({**again, **accuracy(unit(loaded), X_test, Y_test)})
    return found


def accuracy(model: X1Model, X, Y) -> dict[str, float]:
    scores = evaluate(model.predict_topk(X, 5)[0], Y)
    return {key: scores[key] for key in MEASURES}


def unit(model: X1Model) -> X1Model:
    """The model with its points scaled to unit length."""
    learners = [
        Learner(each.centroids, [replace(cluster, points=normalise(cluster.points)) for cluster in each.clusters])
        for each in model.learners
    ]
    return replace(model, learners=learners)


def words(changes: dict) -> str:
    """The option as it would be written."""
    kept = f"keep_weights {changes['keep_weights']:g}, " if "keep_weights" in changes else ""
    return kept + changes.get("precision", "float32")


def table(rows: list[dict]) -> str:
    """The rows as Markdown, with what each option costs and saves beside the model in full."""
    lines = [
        "| data | option | P@1 / 3 / 5 | change | model MB | of which the feature index | rest, of float32's |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        whole = next(one for one in rows if one["data"] == row["data"] and not one["changes"])
        accuracy = " / ".join(f"{row[key]:.2f}" for key in MEASURES)
        change = " / ".join(f"{row[key] - whole[key]:+.2f}" for key in MEASURES) if row["changes"] else "–"
        rest = (row["bytes"] - row["index bytes"]) / (whole["bytes"] - whole["index bytes"])
        sizes = f"{row['bytes'] / 1e6:.2f} | {row['index bytes'] / 1e6:.2f} | {rest:.2f}"
        lines.append(f"| {row['data']} | {row['option']} | {accuracy} | {change} | {sizes} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    rows: list[dict] = []
    for name in arguments.names:
        try:
            fresh = measure(name)
        except DataError as error:
            print(f"{name}: left out: {error}")
            continue
        print(*table(fresh).splitlines()[2 if rows else 0 :], sep="\n", flush=True)
        rows += fresh
    if arguments.write:
        pages.keep("model_size", {"machine": machine(), "rows": rows})
        pages.insert("size", table(rows))


if __name__ == "__main__":
    main()
