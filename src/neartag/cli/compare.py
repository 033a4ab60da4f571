"""`neartag compare`: methods side by side on the same data."""

from __future__ import annotations

from typing import Annotated

import typer

from neartag.cli import output
from neartag.cli.options import (
    AsJson,
    Jobs,
    MaxMemory,
    PropensityA,
    PropensityB,
    Quiet,
    RandomState,
    read_settings,
)
from neartag.comparators import METHODS
from neartag.core.errors import ParameterError
from neartag.core.parameters import parse_bytes

BUG = 1  # exit status
LARGEST_CUT = 1000  # labels a point; nobody reads further


def compare(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA", help="A folder with train.txt and test.txt, or a data set's name, such as debian."
        ),
    ] = None,
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help=f"all, or some of {', '.join(METHODS)}, separated by commas.")
    ] = "x1,knn",
    train: Annotated[
        str | None, typer.Option(metavar="FILE", help="Data file to learn from, in place of DATA.")
    ] = None,
    test: Annotated[str | None, typer.Option(metavar="FILE", help="Data file to test on, in place of DATA's.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|none",
            help="Settings chosen for a data set, for the methods that have them.  [default: DATA's, if there are any]",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="METHOD.NAME=VALUE", help="A setting, such as leml.rank=50. May be repeated."),
    ] = None,
    cuts: Annotated[str, typer.Option("-k", "--k", metavar="NUMBERS", help="The k of P@k.")] = "1,3,5",
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw accuracy against training time and model size: an .svg or .png file."),
    ] = None,
    propensity_a: PropensityA = 0.55,
    propensity_b: PropensityB = 1.5,
    random_state: RandomState = None,
    jobs: Jobs = -1,
    max_memory: MaxMemory = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train methods on the same data and print them side by side.

    Each method learns from the train part and answers the test part, one after the other; the table says how good, how
    fast and how large it is. P and PSP are in percent, time is wall time but for CPU, a model's size is that of its
    folder. Intervals are those of a paired bootstrap over the test points. A method that cannot be trained is told with
    the reason, and the others go on.
    """
    source, target = train or data, test or data
    if source is None or target is None:
        raise ParameterError("name the data: a folder with parts, a data set, or --train FILE --test FILE")
    numbers = read_cuts(cuts)
    shared = {**read_settings({"random_state": random_state, "max_memory": max_memory}), "n_jobs": jobs}

    from neartag.cli import figure, side_by_side
    from neartag.cli.comparison import Comparison, load_parts, plan

    tasks = plan(methods, preset, source, changes or [])
    if plot is not None:
        figure.check_target(plot)

    from neartag.core.threads import resolve_jobs

    resolve_jobs(jobs)
    progress = output.progress(quiet)
    memory = shared.get("max_memory")
    with progress.start(None, f"reading {source}"):
        parts = load_parts(source, target, None if memory is None else parse_bytes(memory))
    comparison = Comparison(parts, numbers, shared, progress, propensities=(propensity_a, propensity_b))
    outcomes = []
    for task in tasks:
        outcomes.append(comparison.run(task))
        output.message(outcomes[-1].told, quiet=quiet or not outcomes[-1].took_long)
    report = {"data": source if source == target else f"{source}, {target}", **comparison.report(outcomes)}
    if as_json:
        output.show_json(report)
    else:
        side_by_side.show(report)
    if plot is not None:  # last: whatever a drawing may fail of, the results are told
        side_by_side.draw(report, plot)
    if any(outcome.bug for outcome in outcomes):
        raise typer.Exit(BUG)


def read_cuts(text: str) -> list[int]:
    """Return the numbers of a text such as 1,3,5, in order."""
    try:
        numbers = sorted({int(word) for word in text.split(",")})
    except ValueError:
        numbers = [0]
    if not 1 <= numbers[0] <= numbers[-1] <= LARGEST_CUT:
        limits = f"from 1 to {LARGEST_CUT}, separated by commas, such as 1,3,5"
        raise ParameterError(f"-k must be whole numbers {limits}, not {text!r}")
    return numbers
