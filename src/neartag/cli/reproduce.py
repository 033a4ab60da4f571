"""`neartag reproduce`: the paper's tables and figures, measured on the data sets that are present."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neartag.cli import output
from neartag.cli.options import Quiet
from neartag.core.errors import DataError, ParameterError

BUG = 1  # exit status
FOLDER, QUICK_FOLDER = "reproduction", "reproduction-quick"


def reproduce(
    quick: Annotated[
        bool, typer.Option("--quick", help="Samples of the data and few runs: the whole report in minutes.")
    ] = False,
    only: Annotated[
        str, typer.Option(metavar="NAMES", help="Experiments to measure, such as table3,figure1a.  [default: all]")
    ] = "",
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help="Methods to measure, such as x1,leml.  [default: all]")
    ] = "",
    data: Annotated[
        str, typer.Option(metavar="NAMES", help="Data sets, such as bibtex,debian.  [default: all that are present]")
    ] = "",
    seeds: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Splits or runs of a figure, at most.", show_default=False)
    ] = None,
    results: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where results are kept, and read from.  [default: OUT/results]"),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="DIR", help=f"Where the report goes.  [default: {FOLDER}, or {QUICK_FOLDER}]"),
    ] = None,
    jobs: Annotated[int, typer.Option("--n-jobs", "--jobs", help="Cores used; -1: all.")] = -1,
    report_only: Annotated[
        bool, typer.Option("--report", help="Measure nothing, write the report of the results that are there.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Measure the paper's tables and figures beside what it prints.

    Each figure is measured on those of the paper's data sets that are present, and on the embedded corpus where an
    experiment has none. Every result is kept as it ends: the same command, given again, goes on where it was stopped,
    and what is measured already is not measured again. The report is one HTML page, and Markdown with its plots.
    """
    if seeds is not None and seeds < 1:
        raise ParameterError(f"--seeds must be at least 1, not {seeds}")

    from neartag.experiments import draw, runner
    from neartag.experiments.plan import Plan

    names = tuple(dict.fromkeys(words(only))) or runner.NAMES
    draw.check()
    target = Path(out or (QUICK_FOLDER if quick else FOLDER))
    folder = Path(results) if results else target / "results"
    for place in (target, folder):
        _make(place)

    from neartag.core.threads import resolve_jobs
    from neartag.experiments import datasets, report
    from neartag.experiments import results as kept

    resolve_jobs(jobs)
    for name in names:
        runner.get(name)
    plan = Plan(
        data=datasets.choose(words(data), quick=quick),
        methods=_methods(methods),
        quick=quick,
        jobs=jobs,
        seeds=seeds,
    )
    if report_only:
        found = runner.valid(kept.kept(folder), plan)
    else:
        found = runner.run(plan, names, folder, output.progress(quiet))
    pages = report.write(found, target)
    if not quiet:
        output.show_pairs([("measured", f"{len(found)} cells"), ("failed", f"{len(found.failed)} cells")])
        output.show_pairs([(page.suffix.removeprefix("."), str(page)) for page in pages])
    if any(record.bug for record in found.records.values()):
        raise typer.Exit(BUG)


def words(text: str) -> list[str]:
    """Return the words of a text such as table3,figure1a."""
    return [word.strip() for word in text.split(",") if word.strip()]


def _methods(text: str) -> tuple[str, ...] | None:
    from neartag.experiments.methods import VARIANTS
    from neartag.methods.registry import METHODS

    chosen = tuple(word.lower() for word in words(text))
    known = dict.fromkeys((*METHODS.names(), *VARIANTS))
    for word in chosen:
        if word not in known:
            raise ParameterError(f"--methods: there is no method {word!r}: choose among {', '.join(known)}")
    return chosen or None


def _make(folder: Path) -> None:
    """Make a folder now, before anything is measured that could not be kept."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made: {error.strerror or error}") from error
