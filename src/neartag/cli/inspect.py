"""`neartag inspect`: what a model folder holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neartag.cli import output
from neartag.cli.options import AsJson, Model, Quiet, in_words
from neartag.comparators import METHODS

if TYPE_CHECKING:
    from neartag.store import StoredModel
    from neartag.x1.learner import Learner


def inspect(model: Model, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Print a model's parameters and files, and X1's clusters.

    Every file is compared with its checksum first. "Unexplained" is the share of a cluster's label graph that the
    embeddings do not reproduce: where it is large, more dimensions (--embedding-dim) or smaller clusters may help.
    """
    from neartag import store

    with output.progress(quiet).start(None, f"loading {model}"):
        report = describe(store.load(model))
    if as_json:
        output.show_json(report)
    else:
        show(model, report)


def describe(stored: StoredModel) -> dict[str, Any]:
    """Return what there is to know about a model, fit for JSON."""
    model = stored.model
    learners = {"learners": [_describe_learner(learner) for learner in model.learners]} if model.kind == "x1" else {}
    return {
        "kind": stored.info["kind"],
        "neartag_version": stored.info["neartag_version"],
        "format_version": stored.info["format_version"],
        "points": int(model.n_points),
        "features": int(model.n_features),
        "labels": int(model.n_labels),
        "trained_on_texts": stored.features is not None,
        "label_names": stored.label_names is not None,
        "point_names": stored.point_names is not None,
        "parameters": model.settings,
        **learners,
        "files": stored.info["files"],
        "bytes": stored.info["bytes"],
    }


def spread(values: list[float]) -> dict[str, float]:
    """Return the smallest, the middle and the largest value."""
    import statistics

    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def show(model: str, report: dict[str, Any]) -> None:
    """Print the report as tables."""
    yes = {True: "yes", False: "no"}
    method = METHODS[report["kind"]]
    output.show_pairs(
        [
            ("model", f"{model}, {method.title}, written by neartag {report['neartag_version']}"),
            (
                "trained on",
                f"{report['points']:,} points, {report['features']:,} features, {report['labels']:,} labels",
            ),
            ("takes texts", yes[report["trained_on_texts"]]),
            ("names", f"of labels: {yes[report['label_names']]}, of points: {yes[report['point_names']]}"),
        ]
    )
    print()
    settings = report["parameters"]
    rows = [
        [parameter.name, in_words(settings[parameter.name]), in_words(parameter.default), parameter.help]
        for parameter in method.parameters
        if parameter.name in settings
    ]
    output.show_table(["parameter", "value", "default", "meaning"], rows, words=(0, 1, 2, 3))
    if "learners" in report:
        print()
        _show_learners(report["learners"])
    print()
    rows = [[name, output.human_bytes(size)] for name, size in report["files"].items()]
    output.show_table(["file", "size"], [*rows, ["all", output.human_bytes(report["bytes"])]])


def _show_learners(learners: list[dict[str, Any]]) -> None:
    headings = ["learner", "clusters", "points: min", "median", "max", "unexplained: min", "median", "max"]
    rows = [
        [
            str(number),
            str(len(learner["cluster_sizes"])),
            *(f"{value:,.0f}" for value in learner["cluster_size"].values()),
            *(f"{100 * value:.1f}%" for value in learner["unexplained"].values()),
        ]
        for number, learner in enumerate(learners)
    ]
    output.show_table(headings, rows)


def _describe_learner(learner: Learner) -> dict[str, Any]:
    sizes = [len(cluster.members) for cluster in learner.clusters]
    unexplained = [float(cluster.unexplained) for cluster in learner.clusters]
    return {
        "clusters": len(sizes),
        "cluster_size": spread([float(size) for size in sizes]),
        "cluster_sizes": sizes,
        "unexplained": spread(unexplained),
    }
