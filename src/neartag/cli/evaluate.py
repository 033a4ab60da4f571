"""`neartag evaluate`: how good a model is on labelled points."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.options import AsJson, Jobs, Model, PropensityA, PropensityB, Quiet
from neartag.cli.reading import Reading, with_reading
from neartag.cli.sources import HELP, check_source

CUTS = (1, 3, 5)
_FAMILIES = {
    "P": "precision",
    "nDCG": "nDCG",
    "R": "recall",
    "PSP": "precision, propensity-scored",
    "PSnDCG": "nDCG, propensity-scored",
}


@with_reading
def evaluate(
    model: Model,
    data: Annotated[str, typer.Argument(metavar="DATA", help=HELP + " Of a data set, its test part.")],
    train: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Where label frequencies come from.  [default: what the model learned from]"),
    ] = None,
    propensity_a: PropensityA = 0.55,
    propensity_b: PropensityB = 1.5,
    jobs: Jobs = -1,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Print how often a model is right on labelled points.

    P, nDCG, R, PSP and PSnDCG at 1, 3 and 5, in percent, over all points. A second table has one row for each band of
    labels, by how many training points have them: what the band adds to P (the rows add up to it), and which share of
    its labels was found. Points without labels, and labels that the model does not know, are told above the tables.
    """
    check_source(data)
    if train is not None:
        check_source(train)
    import numpy as np

    from neartag.cli.data import load_points
    from neartag.core.usage import Usage
    from neartag.evaluation.propensities import LabelCounts
    from neartag.evaluation.report import report_metrics
    from neartag.methods.predict import predict_batches
    from neartag.storage import store

    progress = output.progress(quiet)
    with progress.start(None, f"loading {model}"):
        stored = store.load(model)
    with progress.start(None, f"reading {data}"):
        X, Y = load_points(data, "test", stored, reading)
        skipped = reading.skipped
        reading.warn_skipped()
        reading.tell_understood(quiet)
        counts = LabelCounts(stored.model.frequency, stored.model.n_points)
        if train is not None:
            counts = LabelCounts.of(load_points(train, "train", stored, reading)[1])
            reading.warn_skipped()
    usage = Usage()
    batches = [labels for labels, _ in predict_batches(stored.model, X, max(CUTS), jobs, progress)]
    seconds = usage.measure()["seconds"]
    labels = np.vstack(batches) if batches else np.empty((0, max(CUTS)), np.int64)
    scores = report_metrics(labels, Y, counts, CUTS, a=propensity_a, b=propensity_b)
    used = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))  # labels that points have; new ones last
    report = {
        "points": X.shape[0],
        "points_without_labels": int((np.diff(Y.indptr) == 0).sum()),
        "labels": len(used),
        "unknown_labels": int((used >= stored.model.n_labels).sum()),
        "seconds": seconds,
        **skipped,
        **scores,
    }
    if as_json:
        output.show_json(report)
    else:
        show(report)
    output.suggest(f"neartag inspect {model}", "tells thresholds, and how far to trust scores", quiet=quiet or as_json)


def show(report: dict[str, Any]) -> None:
    """Print what can never be right, then the two tables."""
    points, seconds, scores = report["points"], report["seconds"], report["metrics"]
    without, unknown = report["points_without_labels"], report["unknown_labels"]
    if without:
        print(f"points without a label: {without:,} of {points:,}, which score 0")
    if unknown:
        print(f"labels that the model does not know: {unknown:,} of {report['labels']:,}, which it cannot find")
    rows = [[about, *(f"{scores[f'{family}@{k}']:.2f}" for k in CUTS)] for family, about in _FAMILIES.items()]
    title = f"{points:,} points, {1000 * seconds / points:.3g} ms each"
    output.show_table(["percent", *(f"@{k}" for k in CUTS)], rows, title=title)
    headings = [
        "points in training",
        "labels",
        "pairs",
        *(f"P@{k}" for k in CUTS),
        *(f"R@{k}" for k in CUTS),
        *(f"PSP@{k}" for k in CUTS),
    ]
    rows = [
        [name, f"{band['labels']:,.0f}", f"{band['pairs']:,.0f}", *(f"{band[heading]:.2f}" for heading in headings[3:])]
        for name, band in report["by_frequency"].items()
    ]
    print()
    output.show_table(headings, rows, title="by how many training points have the label")
