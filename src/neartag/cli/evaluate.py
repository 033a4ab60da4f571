"""`neartag evaluate`: how good a model is on labelled points."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.options import AsJson, Jobs, Model, PropensityA, PropensityB, Quiet
from neartag.cli.output_file import check_output
from neartag.cli.reading import Reading, with_reading
from neartag.cli.sources import HELP, check_source
from neartag.cli.tag import read_threshold
from neartag.cli.trust_options import Trust, with_trust
from neartag.core.errors import ParameterError

CUTS = (1, 3, 5)
_FAMILIES = {
    "P": "precision",
    "nDCG": "nDCG",
    "R": "recall",
    "PSP": "precision, propensity-scored",
    "PSnDCG": "nDCG, propensity-scored",
}
_WAYS = {"asked": "as asked", "model": "the model's own", "here": "the best here", "top5": "none: the first 5"}


@with_trust
@with_reading
def evaluate(
    model: Model,
    data: Annotated[str, typer.Argument(metavar="DATA", help=HELP + " Of a data set, its test part.")],
    report: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write all figures as one HTML page, with plots.")
    ] = None,
    labels_tsv: Annotated[
        str | None, typer.Option("--labels-tsv", metavar="FILE", help="Write the figures of each label as TSV.")
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="SCORE|f1|precision=P",
            help="The score from which labels count as given.  [default: f1, the model's own for the best F1; where it "
            "has none, the best for these documents]",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files of --report and --labels-tsv that are there already.")
    ] = False,
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
    trust: Trust,
) -> None:
    """Print how often a model is right on labelled points.

    P, nDCG, R, PSP and PSnDCG at 1, 3 and 5, in percent, over all points; then precision, recall and F1 of the labels
    that are given from a score on. A third table has one row for each band of labels, by how many training points have
    them: what the band adds to P (the rows add up to it), and which share of its labels was found. Points without
    labels, and labels that the model does not know, are told above the tables.

    --json has more: figures of each label, curves, and the worst points. --report writes all of it as a page.
    """
    check_source(data)
    if train is not None:
        check_source(train)
    wish = read_threshold(threshold)
    _check_targets(report, labels_tsv, (data, train), model, overwrite)
    from neartag.core.usage import Usage
    from neartag.evaluation.propensities import LabelCounts
    from neartag.report.evaluation import make_evaluation
    from neartag.report.figures import list_labels, measure
    from neartag.storage import store

    progress = output.progress(quiet)
    with progress.start(None, f"loading {model}"):
        stored = store.load(model, trust=trust)
    in_full = as_json or report is not None
    with progress.start(None, f"reading {data}"):
        from neartag.cli.data import load_points

        points = load_points(data, "test", stored, reading, keep_texts=in_full)
        skipped = reading.skipped
        reading.warn_skipped()
        reading.tell_understood(quiet)
        counts = LabelCounts(stored.model.frequency, stored.model.n_points)
        if train is not None:
            # Labels that the model does not know have other columns there than in DATA.
            counts = LabelCounts.of(load_points(train, "train", stored, reading).Y[:, : stored.model.n_labels])
            reading.warn_skipped()
    usage = Usage()
    answers = _answer(stored.model, points.X, jobs, progress)
    seconds = usage.measure()["seconds"]
    evaluation = make_evaluation(
        stored,
        points.X,
        points.Y,
        answers,
        counts,
        threshold=wish,
        label_names=points.label_names,
        ids=points.ids,
        texts=points.texts,
    )
    found = {
        "digest": stored.info["digest"],
        **_describe_points(points.Y, stored.model.n_labels),
        "seconds": seconds,
        **skipped,
        **measure(evaluation, CUTS, a=propensity_a, b=propensity_b),
    }
    if in_full or labels_tsv is not None:
        found["by_label"] = list_labels(evaluation)
    if in_full:
        from neartag.report.worst import list_worst

        found["worst"] = list_worst(evaluation)
    _write_files(found, report, labels_tsv, model, data, quiet)
    if as_json:
        output.show_json(found)
    else:
        show(found, output.things(stored.features is not None))
    if report is None:
        step = f"neartag evaluate {model} {data}{reading.as_options()} --report report.html"
        output.suggest(step, "shows it by label and the worst documents", quiet=quiet or as_json)
    else:
        step = f"neartag review {model} --labels"
        output.suggest(step, "finds labels that are probably wrong or missing", quiet=quiet or as_json)


def _check_targets(
    report: str | None, labels_tsv: str | None, read: Sequence[str | None], model: str, overwrite: bool
) -> None:
    """Raise ParameterError, before any work, where a file could not be written, or would take the place of another."""
    from neartag.data.files import check_writable

    for option, target in (("--report", report), ("--labels-tsv", labels_tsv)):
        for source in filter(None, read):
            check_output(target, source, model, overwrite, option)
        if target is not None:
            check_writable(target, option)
    if None not in (report, labels_tsv) and os.path.realpath(report or "") == os.path.realpath(labels_tsv or ""):
        raise ParameterError(f"--report and --labels-tsv are the same file, {report}: name two")


def _answer(model: Any, X: Any, jobs: int, progress: Any) -> tuple[Any, Any]:
    """Return the best labels of all rows and their scores, (n, depth) each."""
    import numpy as np

    from neartag.methods.predict import predict_batches
    from neartag.report.evaluation import choose_depth

    depth = choose_depth(X.shape[0], int(model.n_labels), max(CUTS))
    batches = list(predict_batches(model, X, depth, jobs, progress))
    if not batches:
        return np.empty((0, depth), np.int64), np.empty((0, depth))
    labels, scores = (np.vstack(each) for each in zip(*batches, strict=True))
    return labels, scores


def _describe_points(Y: Any, n_known: int) -> dict[str, int]:
    import numpy as np

    used = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))  # labels that points have; new ones last
    return {
        "points": Y.shape[0],
        "points_without_labels": int((np.diff(Y.indptr) == 0).sum()),
        "labels": len(used),
        "unknown_labels": int((used >= n_known).sum()),
    }


def _write_files(
    found: Mapping[str, Any], report: str | None, labels_tsv: str | None, model: str, data: str, quiet: bool
) -> None:
    from neartag.data.files import open_to_replace
    from neartag.report.labels_section import write_labels
    from neartag.report.page import make_report

    if labels_tsv is not None:
        write_labels(found["by_label"], labels_tsv)
        output.message(f"the figures of {len(found['by_label']):,} labels are in {labels_tsv}", quiet=quiet)
    if report is not None:
        page = make_report(found, model, data)
        with open_to_replace(report) as stream:
            stream.write(page.encode("utf-8", "replace"))
        output.message(f"the report is in {report}: open it in a browser", quiet=quiet)


def show(report: dict[str, Any], things: str) -> None:
    """Print what can never be right, then the tables; `things` are documents or points."""
    points, seconds, scores = report["points"], report["seconds"], report["metrics"]
    without, unknown = report["points_without_labels"], report["unknown_labels"]
    if without:
        print(f"{things} without a label: {without:,} of {points:,}, which score 0")
    if unknown:
        print(f"labels that the model does not know: {unknown:,} of {report['labels']:,}, which it cannot find")
    rows = [[about, *(f"{scores[f'{family}@{k}']:.2f}" for k in CUTS)] for family, about in _FAMILIES.items()]
    title = f"{points:,} {things}, {1000 * seconds / points:.3g} ms each"
    output.show_table(["percent", *(f"@{k}" for k in CUTS)], rows, title=title)
    print()
    _show_thresholds(report, things)
    headings = [
        f"{things} in training",
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
    output.show_table(headings, rows, title=f"by how many {things} in training have the label")


def _show_thresholds(report: Mapping[str, Any], things: str) -> None:
    """Print what the labels given from a score on are worth."""
    headings = ["threshold", "score", f"labels per {things[:-1]}", "precision", "recall", "F1 micro", "F1 macro"]
    rows = [
        [
            _WAYS[way["name"]],
            "-" if way["threshold"] is None else f"{way['threshold']:.3f}",
            f"{way['labels_per_document']:.2f}",
            *(f"{way['micro'][name]:.2f}" for name in ("precision", "recall", "f1")),
            f"{way['macro']['f1']:.2f}",
        ]
        for way in report["thresholds"]
    ]
    output.show_table(headings, rows, title="labels given from a score on, in percent")
