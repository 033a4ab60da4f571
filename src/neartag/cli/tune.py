"""`neartag tune`: a method's settings, chosen on a part of the training data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.options import (
    METHOD_NAMES,
    AsJson,
    Jobs,
    MaxMemory,
    Quiet,
    flag,
    in_words,
    read_settings,
    read_value,
)
from neartag.cli.sources import HELP, Reading, check_source, with_reading
from neartag.core.errors import ParameterError
from neartag.core.method import Method
from neartag.core.parameters import by_every_name, parse_bytes
from neartag.methods import presets, registry
from neartag.methods.registry import DEFAULT_METHOD

if TYPE_CHECKING:
    from neartag.methods.tune import Trial, Tuned

MAX_SHOWN_TRIALS = 12  # lines of the table


@with_reading
def tune(
    data: Annotated[str, typer.Argument(metavar="DATA", help=HELP + " Of a data set, its train part.")],
    method: Annotated[str, typer.Option(metavar="NAME", help=f"What learns: {METHOD_NAMES}.")] = DEFAULT_METHOD,
    fix: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A setting that is not to be chosen. May be repeated."),
    ] = None,
    attempts: Annotated[
        list[str] | None,
        typer.Option(
            "--try", metavar="NAME=VALUE,VALUE,…", help="Values to try in place of the usual ones. May be repeated."
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE.json", help="Write the choice, for neartag train --preset FILE.json.")
    ] = None,
    max_points: Annotated[
        int | None,
        typer.Option("--max-points", metavar="INTEGER", help="Use so many points, drawn at random, at most."),
    ] = None,
    random_state: Annotated[int, typer.Option("--random-state", help="Seed of the held-out part and of training.")] = 0,
    jobs: Jobs = -1,
    max_memory: MaxMemory = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Choose a method's settings on a part of the training data.

    A fifth of the points is held out. Each combination of a small grid is trained on few of the others, the best third
    again on three times as many, until the last are trained on all. What only prediction uses, such as the number of
    neighbours that vote, is chosen without training again. Best is the highest mean of P@1, P@3 and P@5.
    """
    chosen = registry.get(method)
    fixed = {name: value for name, (value,) in read_assignments(fix or [], chosen, "--fix").items()}
    tried = read_assignments(attempts or [], chosen, "--try")
    if out is not None:
        presets.check_target(out)
    if max_points is not None and max_points < 1:
        raise ParameterError(f"--max-points must be at least 1, not {max_points}")
    if random_state < 0:
        raise ParameterError(f"--random-state must be at least 0, not {random_state}")
    memory = read_settings({"max_memory": max_memory}).get("max_memory")
    check_source(data)

    from neartag.cli.data import load_training
    from neartag.core.threads import resolve_jobs
    from neartag.methods import tune as search

    resolve_jobs(jobs)
    progress = output.progress(quiet)
    with progress.start(None, f"reading {data}"):
        dataset, *_ = load_training(data, None if memory is None else parse_bytes(memory), reading)
    if not quiet:
        reading.warn_skipped()
    X, Y = draw_points(dataset.X, dataset.Y, max_points, random_state)
    tuned = search.tune(
        X,
        Y,
        chosen.name,
        fixed=fixed,
        tried=tried,
        random_state=random_state,
        n_jobs=jobs,
        max_memory=memory,
        progress=progress,
    )
    about = describe(tuned, data, random_state)
    if out is not None:
        presets.write(out, tuned.method, tuned.settings, about)
    if as_json:
        trials = [{**vars(trial), "score": trial.score if trial.metrics else None} for trial in tuned.trials]
        output.show_json({"method": tuned.method, "settings": tuned.settings, "about": about, "trials": trials})
    else:
        show(tuned, data, out)


def read_assignments(texts: Sequence[str], method: Method, option: str) -> dict[str, list[Any]]:
    """Return the values that texts such as l2=1 or, for --try, l2=1,3 stand for, by the parameter's name."""
    by_name = by_every_name(method.parameters)
    choices: dict[str, list[Any]] = {}
    for text in texts:
        before, equals, after = text.partition("=")
        name, several = before.strip().lstrip("-").replace("-", "_"), option == "--try"
        if not equals or not after.strip():
            raise ParameterError(f"{option} {text}: write NAME=VALUE{',VALUE,…' if several else ''}, such as l2=1")
        if name not in by_name:
            known = ", ".join(parameter.name for parameter in method.parameters)
            raise ParameterError(f"{option} {text}: {method.name} has no parameter {name!r}; it has {known}")
        parameter = by_name[name]
        if parameter.name in choices:
            raise ParameterError(f"{option} {text}: {parameter.name} was given before; give it once")
        values = after.split(",") if several else [after]
        choices[parameter.name] = [read_value(parameter, value.strip(), f"{option} {name}") for value in values]
    return choices


def draw_points(X: Any, Y: Any, most: int | None, seed: int) -> tuple[Any, Any]:
    """Return the rows and labels of at most so many points, drawn at random."""
    if most is None or most >= X.shape[0]:
        return X, Y
    import numpy as np

    rows = np.sort(np.random.default_rng(seed).choice(X.shape[0], most, replace=False))
    return X[rows], Y[rows]


def describe(tuned: Tuned, data: str, seed: int) -> dict[str, Any]:
    """Return where the settings are from, for the preset's file."""
    from neartag.core.version import __version__

    return {
        "data": data,
        "trained_on": tuned.best.points,
        "held_out": tuned.held_out,
        **{name: round(value, 2) for name, value in tuned.best.metrics.items()},
        "tried": len(tuned.trials),
        "random_state": seed,
        "neartag": __version__,
    }


def show(tuned: Tuned, data: str, out: str | None) -> None:
    """Print what was tried, the best first, and how to use it."""
    ranked = sorted(tuned.trials, key=lambda trial: (-trial.points, -trial.score))
    rows = [_cells(trial) for trial in ranked[:MAX_SHOWN_TRIALS]]
    headings = ("points", "P@1", "P@3", "P@5", "train s", "settings")
    name = registry.get(tuned.method).title
    title = f"{len(tuned.trials)} settings of {name}, judged by {tuned.held_out:,} held-out points"
    output.show_table(headings, rows, title=title, words=(5,), strong=0)
    if len(ranked) > MAX_SHOWN_TRIALS:
        output.show_words(
            f"and {len(ranked) - MAX_SHOWN_TRIALS} more that were worse or trained on fewer points (--json has all)"
        )
    print()
    options = " ".join(_option(name, value) for name, value in tuned.settings.items())
    own = "" if tuned.method == DEFAULT_METHOD else f" --method {tuned.method}"
    chosen = f"--preset {out}" if out is not None else options
    output.show_pairs([("best", options), ("train", f"neartag train {data} MODEL{own} {chosen}")])


def _option(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return flag(name if value else f"no_{name}")
    return f"{flag(name)} {in_words(value)}"


def _cells(trial: Trial) -> list[str]:
    settings = " ".join(f"{name}={in_words(value)}" for name, value in trial.settings.items())
    numbers = [f"{value:.2f}" for value in trial.metrics.values()] or ["–"] * 3
    return [
        f"{trial.points:,}",
        *numbers,
        f"{trial.seconds:.1f}",
        f"{settings}: {trial.error}" if trial.error else settings,
    ]
