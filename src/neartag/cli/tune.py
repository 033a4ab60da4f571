"""`neartag tune`: a method's settings, chosen on a part of the training data."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neartag.cli import output, tune_report
from neartag.cli.encoder_options import find_place, open_sentence_encoder, read_language
from neartag.cli.options import (
    METHOD_NAMES,
    AsJson,
    Jobs,
    MaxMemory,
    Quiet,
    read_settings,
    read_value,
)
from neartag.cli.reading import Reading, with_reading
from neartag.cli.sources import HELP, check_source
from neartag.core.errors import ParameterError
from neartag.core.method import Method
from neartag.core.parameters import by_every_name, parse_bytes
from neartag.methods import presets, registry
from neartag.methods.registry import DEFAULT_METHOD

if TYPE_CHECKING:
    from neartag.methods.points import Points
    from neartag.methods.search_options import SearchOptions

PROGRESS = ".progress"  # ending of the file beside --out that has the finished trials
FEATURES = "features"


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
    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="End within so many minutes, with the best so far. The result then depends on the machine's speed. "
            "[default: try the whole small search]",
        ),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Keep finished trials in this file, and go on from it if it is there.  [default: the file of --out, "
            f"with {PROGRESS}]",
        ),
    ] = None,
    language: Annotated[
        str | None, typer.Option(metavar="NAME", help="Language of the texts, as for neartag train.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="PATH|NAME", help="A sentence encoder, as for neartag train: its vectors stand beside the words."
        ),
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
    """Choose a method's settings, and the features of texts, on a part of the training data.

    A fifth of the points is held out. Settings are trained on few of the others, the best third again on three times as
    many, until the last are trained on all. The default settings are among them in every round, so that the choice is
    never worse than the default on the held-out points. Best is the highest mean of P@1, P@3 and P@5.

    Where DATA holds texts, kinds of features are tried too: --fix features=words, --try features=words,characters.

    With --out, a search that was interrupted goes on from what is finished when the same command is run again.
    """
    begun, chosen = time.monotonic(), registry.get(method)
    fixed_kind, fix = split_features(fix or [], "--fix")
    kinds, attempts = split_features(attempts or [], "--try")
    fixed = {name: value for name, (value,) in read_assignments(fix, chosen, "--fix").items()}
    tried = read_assignments(attempts, chosen, "--try")
    if fixed_kind and kinds:
        raise ParameterError("features is both fixed and to be tried: leave one of the two out")
    if out is not None:
        presets.check_target(out)
        resume = resume or f"{out}{PROGRESS}"
    if max_points is not None and max_points < 1:
        raise ParameterError(f"--max-points must be at least 1, not {max_points}")
    if random_state < 0:
        raise ParameterError(f"--random-state must be at least 0, not {random_state}")
    if minutes is not None and not 0 < minutes < float("inf"):
        raise ParameterError(f"--minutes must be above 0, not {minutes:g}")
    memory = read_settings({"max_memory": max_memory}).get("max_memory")
    parameters = {} if language is None else {"language": read_language(language)}
    check_source(data)

    from neartag.core.threads import resolve_jobs
    from neartag.methods.tune import SearchOptions, tune_points

    resolve_jobs(jobs)
    options = SearchOptions(fixed, tried, random_state, jobs, memory, minutes, resume)
    progress = output.progress(quiet)
    with progress.start(None, f"reading {data}"):
        vectors = open_sentence_encoder(encoder, reading.part)
        points = load_points(data, reading, options, max_points, parameters, fixed_kind, kinds, vectors, progress)
    reading.warn_skipped()
    reading.tell_understood(quiet)
    if minutes is not None:  # reading is part of the time
        options = replace(options, minutes=max(1e-9, minutes - (time.monotonic() - begun) / 60))
    tuned = tune_points(points, chosen.name, options, progress)
    features = None if tuned.features is None else points.describe_features(tuned.features)
    report = tune_report.make_report(tuned, data, features, out, random_state, minutes)
    if out is not None:
        presets.write(out, tuned.method, tuned.settings, report["about"], features, find_place(encoder))
    if resume is not None:
        with contextlib.suppress(OSError):
            Path(resume).unlink()
    if as_json:
        output.show_json(report)
    else:
        tune_report.show(tuned, report)
    step = f"neartag train {data} MODEL --preset {out}" if out is not None else "--out FILE.json"
    purpose = "trains with this choice" if out is not None else "keeps the choice, for neartag train --preset FILE.json"
    output.suggest(step, purpose, quiet=quiet or as_json)


def load_points(
    data: str,
    reading: Reading,
    options: SearchOptions,
    max_points: int | None,
    parameters: dict[str, Any],
    fixed_kind: list[str],
    kinds: list[str],
    encoder: Any = None,
    progress: Any = None,
) -> Points:
    """Return the points to search on: texts with the kinds of features to try, or rows of features.

    `parameters` are those of every kind of features: a language, if one was given. A sentence encoder's vectors stand
    beside the words of every kind.
    """
    from neartag.cli.data import load_training
    from neartag.cli.sources import read_data
    from neartag.data import mapped
    from neartag.data.dataset import Dataset
    from neartag.linalg.validation import check_training
    from neartag.methods.points import RowPoints

    memory = None if options.max_memory is None else parse_bytes(options.max_memory)
    with mapped.memory_limit(memory):
        given = None if reading.part == "vector" else read_data(data, "train", reading)
        if given is None or isinstance(given, Dataset):
            if parameters or fixed_kind or kinds or encoder is not None:
                what = "--language" if parameters else FEATURES if fixed_kind or kinds else "--encoder"
                raise ParameterError(f"{what}: {data} holds rows of features, not texts, so there is nothing to choose")
            dataset = load_training(data, memory, reading).dataset if given is None else given
            rows = draw_rows(dataset.X.shape[0], max_points, options.random_state)
            return RowPoints(*check_training(dataset.X[rows], dataset.Y[rows], "tune"))
        from neartag.tagging.tune_texts import TextPoints, read_texts

        texts, Y = read_texts(given)
    if max_points is not None and max_points < len(texts):
        rows = draw_rows(len(texts), max_points, options.random_state)
        texts, Y = [texts[int(row)] for row in rows], Y[rows]
    limit = options.max_memory
    vectors = None if encoder is None else encoder.fit_transform(texts, progress=progress)
    machine: dict[str, Any] = {"n_jobs": options.n_jobs, "max_memory": limit}
    points = TextPoints(texts, Y, kinds or None, parameters=parameters, vectors=vectors, **machine)
    return points.fix_features(fixed_kind[0]) if fixed_kind else points


def split_features(texts: Sequence[str], option: str) -> tuple[list[str], list[str]]:
    """Return the kinds of features that texts such as features=words name, and the other texts."""
    from neartag.tagging.tune_kinds import check_feature_kinds

    kinds: list[str] = []
    others = []
    for text in texts:
        name, equals, after = text.partition("=")
        if name.strip().lstrip("-") != FEATURES or not equals:
            others.append(text)
            continue
        values = [value.strip() for value in after.split(",")]
        if kinds:
            raise ParameterError(f"{option} {text}: features was given before; give it once")
        if option == "--fix" and len(values) > 1:
            raise ParameterError(f"--fix {text}: name one kind, or use --try")
        check_feature_kinds(values)
        kinds = list(dict.fromkeys(values))
    return kinds, others


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


def draw_rows(points: int, most: int | None, seed: int) -> Any:
    """Return the rows of at most so many points, drawn at random; a slice of all where they are not more."""
    if most is None or most >= points:
        return slice(None)
    import numpy as np

    return np.sort(np.random.default_rng(seed).choice(points, most, replace=False))
