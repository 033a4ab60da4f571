"""`neartag inspect`: what a model folder holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neartag.cli import output
from neartag.cli.options import AsJson, Model, Quiet, in_words
from neartag.core.method import resolve
from neartag.methods import registry

if TYPE_CHECKING:
    from neartag.storage.bundle import StoredModel


def inspect(model: Model, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Print a model's parameters and files, and X1's clusters and rankers.

    Every file is compared with its checksum first. "Unexplained" is the share of a cluster's label graph that the
    embeddings do not reproduce: where it is large, more dimensions (--embedding-dim) or smaller clusters may help.

    Of a model of documents it also tells how far it has drifted (what was added and forgotten since training, and how
    well the embeddings tell the labels of old and new documents: 0% is perfect) and how far its scores can be trusted.
    """
    from neartag.storage import store

    with output.progress(quiet).start(None, f"loading {model}"):
        report = describe(store.load(model))
    if as_json:
        output.show_json(report)
    else:
        show(model, report)


def describe(stored: StoredModel) -> dict[str, Any]:
    """Return what there is to know about a model, fit for JSON."""
    model = stored.model
    method = registry.get(model.kind)
    return {
        "kind": stored.info["kind"],
        "neartag_version": stored.info["neartag_version"],
        "format_version": stored.info["format_version"],
        "points": int(model.n_points),
        "features": int(model.n_features),
        "labels": int(model.n_labels),
        "trained_on_texts": stored.features is not None and stored.features.accepts == "text",
        "label_names": stored.label_names is not None,
        "point_names": stored.point_names is not None,
        "parameters": model.parameters,
        **(resolve(method.inspection)(model) if method.inspection else {}),
        **(_describe_changes(stored) if method.updates else {}),
        "files": stored.info["files"],
        "bytes": stored.info["bytes"],
    }


def show(model: str, report: dict[str, Any]) -> None:
    """Print the report as tables."""
    yes = {True: "yes", False: "no"}
    method = registry.get(report["kind"])
    output.show_pairs(
        [
            ("model", f"{model}, {method.title}, written by neartag {report['neartag_version']}"),
            (
                "holds",
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
    if settings.get("refine"):
        print()
        _show_refinement(report["refinement"], report["labels"])
    if "drift" in report:
        print()
        _show_drift(report["drift"])
    if report.get("calibration"):
        print()
        _show_calibration(report["calibration"])
    print()
    rows = [[name, output.human_bytes(size)] for name, size in report["files"].items()]
    output.show_table(["file", "size"], [*rows, ["all", output.human_bytes(report["bytes"])]])


def _show_refinement(refinement: dict[str, Any] | None, labels: int) -> None:
    if refinement is None:
        output.show_pairs([("rankers", "none: there were too few points to fit them to, and votes decide alone")])
        return
    later = refinement["later_rankers"]
    rankers = refinement["rankers"] + later
    since = f", {later:,} of them trained since for new labels" if later else ""
    output.show_pairs(
        [
            ("rankers", f"{rankers:,}, for {labels:,} labels{since}"),
            ("weights", f"{refinement['weights']:,}, {refinement['weights'] / max(1, rankers):,.0f} a ranker"),
            ("candidates", f"{refinement['candidates']:,} by each vote and by the labels' means, at most"),
        ]
    )


def _describe_changes(stored: StoredModel) -> dict[str, Any]:
    from dataclasses import asdict

    from neartag.tagging.tagger import TextTagger
    from neartag.x1.update import drift

    found = drift(stored.model)
    calibration = TextTagger.of(stored).calibration if stored.features is not None and stored.label_names else None
    drawn = None if calibration is None else calibration.to_json()
    return {"drift": {**asdict(found), "retrain": found.retrain}, "calibration": drawn}


def _show_drift(drift: dict[str, Any]) -> None:
    errors = [
        f"{what} {100 * drift[name]:.1f}%"
        for what, name in (("of trained points", "error_trained"), ("of added ones", "error_added"))
        if drift[name] is not None
    ]
    output.show_pairs(
        [
            ("added since", f"{drift['added']:,} of {drift['points']:,} points"),
            ("forgotten", f"{drift['forgotten']:,} points that were learned from"),
            ("error", ", ".join(errors) or "unknown"),
            ("train again", drift["retrain"] or "not needed"),
        ]
    )


def _show_calibration(calibration: dict[str, Any]) -> None:
    best = calibration["best_f1"]
    output.show_pairs(
        [
            ("scores", f"probabilities, {calibration['kind']}, from {calibration['points']:,} held-out points"),
            (
                "off by",
                f"{100 * calibration['error']:.1f} points of percent on average (Brier {calibration['brier']:.3f})",
            ),
            (
                "best F1",
                f"{100 * best['f1']:.1f} at threshold {best['threshold']:.3f} "
                f"(precision {100 * best['precision']:.1f}, recall {100 * best['recall']:.1f})",
            ),
        ]
    )
    print()
    rows = [
        [
            f"{100 * each['low']:.0f}–{100 * each['high']:.0f}%",
            f"{each['answers']:,}",
            f"{100 * each['probability']:.1f}%",
            f"{100 * each['right']:.1f}%",
        ]
        for each in calibration["bins"]
    ]
    output.show_table(["score", "answers", "mean score", "right"], rows)
    print()
    wishes = [
        [f"{100 * float(wish):g}%", *(["out of reach", "", ""] if found is None else _cut(found))]
        for wish, found in calibration["for_precision"].items()
    ]
    output.show_table(["wished precision", "threshold", "precision", "recall"], wishes)


def _cut(found: dict[str, float]) -> list[str]:
    return [f"{found['threshold']:.3f}", f"{100 * found['precision']:.1f}%", f"{100 * found['recall']:.1f}%"]


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
