"""`neartag reproduce`: measure the paper's tables and figures on the data sets that are present."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neartag.cli import output
from neartag.cli.limit_options import with_limits
from neartag.cli.options import Quiet
from neartag.core.errors import DataError, ParameterError

BUG_STATUS = STALE_STATUS = 1  # exit status
FOLDER, QUICK_FOLDER = "reproduction", "reproduction-quick"


@with_limits
def reproduce(
    quick: Annotated[
        bool, typer.Option("--quick", help="Samples of the data and few runs: the whole report takes minutes.")
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
        int | None, typer.Option(metavar="NUMBER", help="Splits or runs per number, at most.", show_default=False)
    ] = None,
    results: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Folder of the results, read and written.  [default: OUT/results]"),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="DIR", help=f"Folder of the report.  [default: {FOLDER}, or {QUICK_FOLDER}]"),
    ] = None,
    jobs: Annotated[int, typer.Option("--n-jobs", "--jobs", help="Cores used; -1: all.")] = -1,
    report_only: Annotated[
        bool, typer.Option("--report", help="Measure nothing; write the report of the results that are there.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Measure nothing; list the results that are stale. Exit status 1 if any is."),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Measure the paper's tables and figures, and show them beside what it prints.

    Each is measured on those of the paper's data sets that are present; an experiment that has none uses the embedded
    corpus. Every result is kept when it ends. Run again, the command continues where it stopped and does not measure
    anything twice, except what is stale: measured with other settings, or by a method that answers otherwise since.
    The report is one HTML page, and Markdown with its plots.
    """
    if seeds is not None and seeds < 1:
        raise ParameterError(f"--seeds must be at least 1, not {seeds}")

    from neartag.experiments import runner
    from neartag.experiments.plan import Plan
    from neartag.experiments.report import draw

    names = tuple(dict.fromkeys(split_names(only))) or runner.NAMES
    target = Path(out or (QUICK_FOLDER if quick else FOLDER))
    folder = Path(results) if results else target / "results"
    if check:
        _list_stale(folder, names)
        return
    draw.check()
    for place in (target, folder):
        _make_folder(place)

    from neartag.core.threads import resolve_jobs
    from neartag.experiments import datasets
    from neartag.experiments.behaviour import Behaviours
    from neartag.experiments.pages import write_report
    from neartag.experiments.results_folder import read_records

    resolve_jobs(jobs)
    runner.load_experiments(names)
    plan = Plan(
        data=datasets.choose(split_names(data), quick=quick),
        methods=_find_methods(methods),
        quick=quick,
        jobs=jobs,
        seeds=seeds,
    )
    if report_only:
        measured = runner.current_results(read_records(folder), plan, Behaviours(folder))
    else:
        measured = runner.run(plan, names, folder, output.progress(quiet))
    pages = write_report(measured, target)
    if not quiet:
        output.show_pairs([("measured", f"{len(measured)} cells"), ("failed", f"{len(measured.failed)} cells")])
        output.show_pairs([(page.suffix.removeprefix("."), str(page)) for page in pages])
    if any(record.bug for record in measured.records.values()):
        raise typer.Exit(BUG_STATUS)


def _list_stale(folder: Path, names: tuple[str, ...]) -> None:
    """Print each stale result of the named experiments with the reason; exit with 1 if there is any."""
    from neartag.experiments import runner
    from neartag.experiments.behaviour import Behaviours
    from neartag.experiments.results_folder import read_records

    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder; name the folder of the results with --results")
    kept = {cell: record for cell, record in read_records(folder).items() if cell.experiment in names}
    stale = runner.find_stale(kept, Behaviours(folder))
    for cell in sorted(stale, key=lambda cell: cell.order()):
        options = (f"{name}={value}" for name, value in cell.options)
        words = " ".join(filter(None, (cell.experiment, cell.data, cell.method, *options, f"seed {cell.seed}")))
        typer.echo(f"{words}: {stale[cell]}")
    typer.echo(f"{len(stale)} of {len(kept)} results are stale")
    if stale:
        raise typer.Exit(STALE_STATUS)


def split_names(text: str) -> list[str]:
    """Return the names in a text such as table3,figure1a."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _find_methods(text: str) -> tuple[str, ...] | None:
    from neartag.experiments.methods import VARIANTS
    from neartag.methods.registry import METHODS

    chosen = tuple(name.lower() for name in split_names(text))
    known = dict.fromkeys((*METHODS.names(), *VARIANTS))
    for name in chosen:
        if name not in known:
            raise ParameterError(f"--methods: there is no method {name!r}: choose among {', '.join(known)}")
    return chosen or None


def _make_folder(folder: Path) -> None:
    """Make a folder now, before anything is measured that could not be kept."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made: {error.strerror or error}") from error
