"""`neartag train`: a model folder from labelled points."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.options import METHOD_NAMES, AsJson, Quiet, read_settings, with_parameters
from neartag.cli.sources import HELP, Reading, with_reading
from neartag.core.errors import ModelError, ParameterError
from neartag.core.parameters import parse_bytes
from neartag.core.usage import Usage
from neartag.methods import presets, registry
from neartag.methods.registry import DEFAULT_METHOD


@with_parameters
@with_reading
def train(
    data: Annotated[str, typer.Argument(metavar="DATA", help=HELP + " Of a data set, its train part.")],
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Folder to save the model in.")],
    method: Annotated[str, typer.Option(metavar="NAME", help=f"What learns: {METHOD_NAMES}.")] = DEFAULT_METHOD,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE.json",
            help=f"Settings chosen for a data set: {', '.join(presets.names())}; or the file that neartag tune wrote. "
            "Options given override them. Other methods have fewer.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model that is in the folder.")] = False,
    word_pairs: Annotated[bool, typer.Option("--word-pairs", help="Also count pairs of adjacent words.")] = False,
    char_ngrams: Annotated[
        str | None, typer.Option("--char-ngrams", metavar="FROM-TO", help="Also count runs of characters, such as 3-5.")
    ] = None,
    min_df: Annotated[
        str, typer.Option("--min-df", help="Keep words of at least so many texts; below 1, such a share.")
    ] = "1",
    max_df: Annotated[
        str, typer.Option("--max-df", help="Keep words of at most so many texts; up to 1.0, such a share.")
    ] = "1.0",
    hashing: Annotated[
        int | None,
        typer.Option("--hashing", metavar="INTEGER", help="Hash words into so many features; none are kept."),
    ] = None,
    stop_words: Annotated[
        str | None, typer.Option("--stop-words", metavar="FILE", help="Words to leave out, one a line.")
    ] = None,
    calibration: Annotated[
        str, typer.Option(metavar="KIND", help="How votes become probabilities: auto, isotonic, platt or none.")
    ] = "auto",
    keep_texts: Annotated[
        bool, typer.Option("--keep-texts/--no-keep-texts", help="Keep texts in the model, for explanations.")
    ] = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    reading: Reading,
    **given: str | None,
) -> None:
    """Train X1, or another method, and save the model in a folder.

    Documents (such as JSON lines with "text" and "labels") are turned into tf-idf rows, or bring vectors of their own,
    and the model then tags texts. Options that are not given are the preset's, or the defaults shown.

    The options below are X1's. Other methods' options: neartag methods NAME.
    """
    chosen = registry.get(method)
    words = (word_pairs, char_ngrams, min_df, max_df, hashing, stop_words)
    if calibration not in ("auto", "isotonic", "platt", "none"):
        raise ParameterError(f"--calibration must be auto, isotonic, platt or none, not {calibration!r}")
    settings = choose_settings(preset, given, chosen.name)
    check_place(Path(model), overwrite)

    from neartag.cli.data import load_training
    from neartag.cli.text_features import read_features
    from neartag.core.threads import resolve_jobs
    from neartag.data.mapped import mapped_bytes
    from neartag.linalg.rows import normalise
    from neartag.storage import store
    from neartag.tagging.calibration import of_held_out

    classifier = chosen.estimator_class()(**settings)
    resolve_jobs(classifier.n_jobs)
    memory = settings.get("max_memory")
    progress = output.progress(quiet)
    with progress.start(None, f"reading {data}"):
        room = None if memory is None else parse_bytes(memory)
        features = read_features(*words, vectors=reading.uses_vectors)
        keep_texts = keep_texts and chosen.explains
        dataset, features, texts = load_training(data, room, reading, features, keep_texts=keep_texts)
    if not quiet:
        reading.say()
    usage = Usage()
    extras = {}
    if chosen.unit_rows:
        dataset.X = normalise(dataset.X, in_place=True)  # as training does, which then needs no rows of its own
    if chosen.holds_out:
        with progress.start(None, "cutting into clusters"):
            wished = None if calibration == "none" or features is None else calibration
            classifier.fit(dataset.X, dataset.Y, progress=progress, held_out=wished is not None)
        extras = of_held_out(classifier.held_out_, dataset.Y, wished)
    else:
        with progress.start(None, f"training {chosen.title}"):
            classifier.fit(dataset.X, dataset.Y, progress=progress)
    cost = usage.measured()
    with progress.start(None, f"saving {model}"):
        check_place(Path(model), overwrite)  # again: somebody may have saved a model there meanwhile
        store.save(
            classifier.model_,
            model,
            label_names=dataset.label_names,
            point_names=dataset.point_names,
            features=features,
            texts=texts,
            extras=extras,
        )
    sizes = {"points": dataset.n_points, "features": dataset.n_features, "labels": dataset.n_labels}
    # The peak is taken again: saving may have needed more than training.
    report = {
        "model": model,
        "method": chosen.name,
        **sizes,
        **cost,
        "peak_rss_bytes": usage.measured()["peak_rss_bytes"],
        **reading.skipped,
    }
    arrays = (dataset.X.indices, dataset.X.data) if hasattr(dataset.X, "indices") else (dataset.X,)
    report["mapped_bytes"] = mapped_bytes(*arrays, dataset.Y.indices, dataset.Y.data)
    show_report({**report, "model_bytes": disk_bytes(Path(model))}, as_json)


def choose_settings(preset: str | None, given: dict[str, str | None], method: str = DEFAULT_METHOD) -> dict[str, Any]:
    """Return a method's settings: those of the preset, overridden by the options given."""
    settings = read_settings(given, method)
    if preset is None:
        return settings
    return {**presets.get(preset, method), **settings}


def check_place(folder: Path, overwrite: bool) -> None:
    """Raise ModelError, before any work is lost, where the model could not be saved in the end."""
    import tempfile

    from neartag.storage.folder import refuse_foreign
    from neartag.storage.manifest import MANIFEST

    refuse_foreign(folder)
    if (folder / MANIFEST).exists() and not overwrite:
        raise ModelError(f"{folder} holds a model: give --overwrite to replace it, or name another folder")
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise ModelError(f"{folder} cannot be saved in: {existing}: {error.strerror}") from error


def disk_bytes(folder: Path) -> int:
    """Return the size of a model folder's files."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def show_report(report: dict[str, Any], as_json: bool) -> None:
    """Print what was trained and what it cost."""
    if as_json:
        output.show_json(report)
        return
    peak = report["peak_rss_bytes"]
    mapped = report["mapped_bytes"]
    title = registry.get(report["method"]).title
    output.show_pairs(
        [
            ("model", f"{report['model']}, {title}, {output.human_bytes(report['model_bytes'])}"),
            ("points n", f"{report['points']:,}"),
            ("features d", f"{report['features']:,}"),
            ("labels L", f"{report['labels']:,}"),
            ("training time", f"{report['seconds']:.2f} s"),
            ("training CPU", f"{report['cpu_seconds']:.2f} s"),
            ("peak memory", "unknown" if peak is None else output.human_bytes(peak)),
            *([("data in files", f"{output.human_bytes(mapped)}, mapped")] if mapped else []),
        ]
    )
