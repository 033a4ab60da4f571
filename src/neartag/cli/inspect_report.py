"""What `neartag inspect` prints: tables of parameters, clusters, rankers, drift, calibration and files."""

from __future__ import annotations

from typing import Any

from neartag.cli import output
from neartag.cli.options import in_words
from neartag.encoders.languages import LANGUAGES
from neartag.methods import registry


def show(model: str, report: dict[str, Any], *, whole: bool = False) -> None:
    """Print the report of `neartag.cli.inspect.describe`; tables of parameters, clusters and files if it is whole."""
    method = registry.get(report["kind"])
    of_texts = report["trained_on_texts"]
    things = output.things(of_texts)
    output.show_pairs(
        [
            ("model", f"{model}, {method.title}{', refined' if report.get('refinement') else ''}"),
            ("learned from", f"{report['points']:,} {things} with {report['labels']:,} labels"),
            ("takes", f"texts; {report['features']:,} features" if of_texts else f"{report['features']:,} features"),
            *_quality(report.get("calibration"), things),
            ("written", f"{report['written']}, by neartag {report['neartag_version']}"),
            ("size", output.human_bytes(report["bytes"])),
            ("digest", report["digest"]),
            *([("signed by", report["signed_by"])] if report["signed_by"] else []),
            *_features(report),
        ]
    )
    settings = report["parameters"]
    if "drift" in report:
        print()
        _show_drift(report["drift"], things)
    if settings.get("refine"):
        print()
        _show_refinement(report, things)
    if report.get("calibration"):
        print()
        _show_calibration(report["calibration"], things)
    if whole:
        _show_all(report, things)


def _quality(calibration: dict[str, Any] | None, things: str) -> list[tuple[str, str]]:
    """Return how good the model was on what was held out of training, if there were any."""
    if calibration is None:
        return [("how good", "not known: neartag evaluate MODEL DATA tells it")]
    best = calibration["best_f1"]
    return [
        (
            "how good",
            f"F1 {100 * best['f1']:.1f} (precision {100 * best['precision']:.1f}, recall {100 * best['recall']:.1f}), "
            f"on {calibration['points']:,} held-out {things}, with --threshold f1",
        )
    ]


def _show_all(report: dict[str, Any], things: str) -> None:
    """Print parameters, clusters and files."""
    yes = {True: "yes", False: "no"}
    print()
    output.show_pairs(
        [("names", f"of labels: {yes[report['label_names']]}, of {things}: {yes[report['point_names']]}")]
    )
    print()
    settings = report["parameters"]
    rows = [
        [parameter.name, in_words(settings[parameter.name]), in_words(parameter.default), parameter.help]
        for parameter in registry.get(report["kind"]).parameters
        if parameter.name in settings
    ]
    output.show_table(["parameter", "value", "default", "meaning"], rows, words=(0, 1, 2, 3))
    if "learners" in report:
        print()
        _show_learners(report["learners"], things)
    print()
    rows = [[name, output.human_bytes(size)] for name, size in report["files"].items()]
    output.show_table(["file", "size"], [*rows, ["all", output.human_bytes(report["bytes"])]])


def _features(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what there is to say about the features of texts."""
    choice, language = report.get("feature_choice"), report.get("language")
    chosen = [] if choice is None else [("features", choice["message"])]
    from neartag.encoders.sentence_models.base import Identity  # here: it needs numpy

    encoders = [("encoder", Identity.from_json(each).describe()) for each in report.get("encoders", [])]
    return [*chosen, *([] if language is None else [("language", LANGUAGES[language].capitalize())]), *encoders]


def _show_refinement(report: dict[str, Any], things: str) -> None:
    refinement, labels = report["refinement"], report["labels"]
    if refinement is None:
        from neartag.x1.resolve import MIN_POINTS_TO_RERANK

        few = report["points"] < MIN_POINTS_TO_RERANK
        why = f"there were too few {things} to fit them to" if few else f"votes alone were better on {things} held out"
        output.show_pairs([("rankers", f"none: {why}, and votes decide alone")])
        return
    later = refinement["later_rankers"]
    rankers = refinement["rankers"] + later
    since = f", {later:,} of them trained since for new labels" if later else ""
    output.show_pairs(
        [
            ("rankers", f"{rankers:,}, for {labels:,} labels{since}"),
            ("weights", f"{refinement['weights']:,}, {refinement['weights'] / max(1, rankers):,.0f} per ranker"),
            ("candidates", f"{refinement['candidates']:,} at most, by each vote and by the labels' means"),
        ]
    )


def _show_drift(drift: dict[str, Any], things: str) -> None:
    errors = [
        f"{what} {100 * drift[name]:.1f}%"
        for what, name in ((f"of trained {things}", "error_trained"), ("of added ones", "error_added"))
        if drift[name] is not None
    ]
    output.show_pairs(
        [
            ("added since", f"{drift['added']:,} of {drift['points']:,} {things}"),
            ("forgotten", f"{drift['forgotten']:,} {things} that were learned from"),
            ("error", ", ".join(errors) or "unknown"),
            ("train again", drift["retrain"] or "not needed"),
        ]
    )


def _show_calibration(calibration: dict[str, Any], things: str) -> None:
    best = calibration["best_f1"]
    output.show_pairs(
        [
            ("scores", f"probabilities, {calibration['kind']}, from {calibration['points']:,} held-out {things}"),
            (
                "off by",
                f"{100 * calibration['error']:.1f} percentage points on average (Brier {calibration['brier']:.3f})",
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
        [f"{100 * float(wish):g}%", *(["out of reach", "", ""] if cut is None else _cut_cells(cut))]
        for wish, cut in calibration["for_precision"].items()
    ]
    output.show_table(["wished precision", "threshold", "precision", "recall"], wishes)


def _cut_cells(cut: dict[str, float]) -> list[str]:
    return [f"{cut['threshold']:.3f}", f"{100 * cut['precision']:.1f}%", f"{100 * cut['recall']:.1f}%"]


def _show_learners(learners: list[dict[str, Any]], things: str) -> None:
    headings = ["learner", "clusters", f"{things}: min", "median", "max", "unexplained: min", "median", "max"]
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
