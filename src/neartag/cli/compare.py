"""`neartag compare`: methods side by side on the same data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.encoder_options import EncoderOptions
from neartag.cli.inspect import describe_encoders
from neartag.cli.options import (
    METHOD_NAMES,
    AsJson,
    Jobs,
    MaxMemory,
    PropensityA,
    PropensityB,
    Quiet,
    RandomState,
    read_settings,
    read_value,
)
from neartag.cli.reading import Reading, with_reading
from neartag.cli.sources import check_source
from neartag.core.errors import DataError, ParameterError
from neartag.core.method import Method, Settings
from neartag.core.parameters import by_every_name, parse_bytes
from neartag.methods import presets, registry

if TYPE_CHECKING:
    from neartag.methods.compare import Parts

ALL = "all"
BUG_STATUS = 1  # exit status
MAX_CUT = 1000  # labels a point; nobody reads further


@with_reading
def compare(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA", help="A folder with train.txt and test.txt, or a data set's name, such as debian."
        ),
    ] = None,
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help=f"all, or some of {METHOD_NAMES}, separated by commas.")
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
    features: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="What is counted in texts, for all methods: words, pairs, characters, all or auto, as for neartag "
            "train.  [default: what the preset's file says, else auto]",
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="PATH|NAME",
            help="A sentence encoder for all methods, as for neartag train: its vectors stand beside the words, for "
            "methods that know of no parts in one matrix with them.  [default: what the preset's file says]",
        ),
    ] = None,
    words: Annotated[
        bool, typer.Option("--words/--no-words", help="Use words beside the vectors of a sentence encoder.")
    ] = True,
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
    *,
    reading: Reading,
) -> None:
    """Train methods on the same data and print them side by side.

    Each method learns from the train part and answers the test part, one after the other; the table says how good, how
    fast and how large it is. P and PSP are in percent, time is wall time but for CPU, a model's size is that of its
    folder. Intervals are those of a paired bootstrap over the test points. A method that cannot be trained is told with
    the reason, and the others go on.

    All methods get the same rows. Where DATA holds texts, the features are chosen as neartag train chooses them: by a
    trial on the train part, unless --features or the preset's file names them.
    """
    source, target = train or data, test or data
    if source is None or target is None:
        raise ParameterError("name the data: a folder with parts, a data set, or --train FILE --test FILE")
    if test is not None and Path(source).is_file() and Path(test).is_file() and Path(test).samefile(source):
        raise ParameterError(f"--test {test} is the same file as the one to learn from: name another")
    numbers = read_cuts(cuts)
    shared = {**read_settings({"random_state": random_state, "max_memory": max_memory}), "n_jobs": jobs}
    check_source(source)
    check_source(target)
    options = EncoderOptions(
        encoder if encoder is not None or preset is None else presets.get_encoder(preset),
        features,
        preset=None if preset is None else presets.get_features(preset),
        words=words,
        cache=True,
    )
    options.check()

    from neartag.cli import compare_report
    from neartag.core.threads import resolve_jobs
    from neartag.evaluation import plots
    from neartag.methods.compare import Comparison, plan

    chosen = choose_methods(methods)
    tasks = plan(list(chosen.values()), preset, source, read_changes(changes or [], chosen))
    to_fit = options.make_encoder(reading.part)
    if plot is not None:
        plots.check_target(plot)
    resolve_jobs(jobs)
    progress = output.progress(quiet)
    memory = shared.get("max_memory")
    with progress.start(None, f"reading {source}"):
        room = None if memory is None else parse_bytes(memory)
        parts, encoder_used = load_parts(source, target, room, to_fit, reading, n_jobs=jobs, progress=progress)
    reading.tell_understood(quiet)
    if encoder_used is None:
        replace(options, name=encoder).refuse_rows(source)
        if options.preset is not None:
            output.message(f"the features of {preset} are for texts, and {source} holds rows of features", quiet=quiet)
    choice = getattr(encoder_used, "choice_", None)
    propensities = propensity_a, propensity_b
    comparison = Comparison(parts, numbers, shared, progress, propensities=propensities, model_bytes=stored_bytes)
    outcomes = []
    for task in tasks:
        outcomes.append(comparison.run(task))
        output.message(outcomes[-1].in_a_line, quiet=quiet or not outcomes[-1].took_long)
    report = {
        "data": source if source == target else f"{source}, {target}",
        **({} if choice is None else {"feature_choice": choice.describe()}),
        **describe_encoders(encoder_used),
        **comparison.report(outcomes),
    }
    if as_json:
        output.show_json(report)
    else:
        compare_report.show(report)
    if plot is not None:  # last: whatever a drawing may fail of, the results are told
        compare_report.draw(report, chosen, plot)
    output.suggest(f"neartag train {source} MODEL --method NAME", "trains one of them", quiet=quiet or as_json)
    if any(outcome.bug for outcome in outcomes):
        raise typer.Exit(BUG_STATUS)


def read_cuts(text: str) -> list[int]:
    """Return the numbers of a text such as 1,3,5, in order."""
    try:
        numbers = sorted({int(word) for word in text.split(",")})
    except ValueError:
        numbers = [0]
    if not 1 <= numbers[0] <= numbers[-1] <= MAX_CUT:
        limits = f"from 1 to {MAX_CUT}, separated by commas, such as 1,3,5"
        raise ParameterError(f"-k must be whole numbers {limits}, not {text!r}")
    return numbers


def choose_methods(words: str) -> dict[str, Method]:
    """Return the methods named, by name and in the order in which they are named; "all" is all there are."""
    if words.strip().lower() == ALL:
        return registry.METHODS.all()
    named = [registry.get(word) for word in words.split(",") if word.strip()]
    if not named:
        raise ParameterError(f"--methods names none: give some of {', '.join(registry.METHODS.names())}, or {ALL}")
    return {method.name: method for method in named}


def read_changes(changes: Sequence[str], methods: dict[str, Method]) -> dict[str, Settings]:
    """Return the settings that texts such as leml.rank=50 stand for, by method."""
    by_method: dict[str, Settings] = {}
    for text in changes:
        place, equals, value = text.partition("=")
        before, dot, name = (part.strip().replace("-", "_") for part in place.partition("."))
        if not (equals and dot):
            raise ParameterError(f"--set {text}: write METHOD.PARAMETER=VALUE, as in leml.rank=50")
        method = registry.get(before)
        if method.name not in methods:
            raise ParameterError(f"--set {text}: {method.name} is not among the methods to compare")
        by_name = by_every_name(method.parameters)
        if name not in by_name:
            known = ", ".join(parameter.name for parameter in method.parameters)
            raise ParameterError(f"--set {text}: {method.name} has no parameter {name!r}; it has {known}")
        settings = by_method.setdefault(method.name, {})
        settings[by_name[name].name] = read_value(by_name[name], value.strip(), f"--set {method.name}.{name}")
    return by_method


def load_parts(
    train: str, test: str, memory: int | None, to_fit: Any, reading: Reading, *, n_jobs: int, progress: Any
) -> tuple[Parts, Any]:
    """Return both parts as rows of the same features, and the encoder; None where they are no texts.

    The encoder `to_fit` is chosen by a trial if it is AutoFeatures, and fitted, on the train part alone.
    """
    from neartag.cli.data import load_points, load_training
    from neartag.methods.compare import Parts
    from neartag.storage.bundle import StoredModel

    if train == test and Path(train).is_file():
        raise DataError(f"{train} is one file: name the points to test on too, by --test FILE")
    dataset, encoder, _ = load_training(train, memory, reading, to_fit, n_jobs=n_jobs, progress=progress)
    reading.warn_skipped()
    # What `load_points` asks of a model: no method is trained yet.
    sizes = SimpleNamespace(n_features=dataset.n_features, n_labels=dataset.n_labels)
    points = load_points(test, "test", StoredModel(sizes, dataset.label_names, None, encoder, {}), reading)
    reading.warn_skipped()
    if points.X.shape[0] == 0:
        raise DataError(f"{test} has no points to test on")
    return Parts(dataset.X, dataset.Y, points.X, points.Y), encoder


def stored_bytes(model: Any) -> int:
    """Return the size of a model's folder."""
    import tempfile

    from neartag.cli.model_folder import disk_bytes
    from neartag.storage import store

    with tempfile.TemporaryDirectory(prefix="neartag-") as folder:
        store.save(model, Path(folder) / "model")
        return disk_bytes(Path(folder) / "model")
