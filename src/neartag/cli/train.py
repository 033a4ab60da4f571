"""`neartag train`: a model folder from labelled points."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from neartag import presets
from neartag.cli import output
from neartag.cli.options import OWN, AsJson, Quiet, find_method, read_settings, with_parameters
from neartag.cli.sources import HELP
from neartag.cli.usage import Usage
from neartag.comparators import METHODS
from neartag.errors import ModelError
from neartag.parameters import parse_bytes


@with_parameters
def train(
    data: Annotated[str, typer.Argument(metavar="DATA", help=HELP + " Of a data set, its train part.")],
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Folder to save the model in.")],
    method: Annotated[str, typer.Option(metavar="NAME", help=f"What learns: {', '.join(METHODS)}.")] = OWN,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Settings chosen for a data set: {', '.join(presets.names())}. Options given override them. "
            "Other methods have fewer.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model that is in the folder.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    **given: str | None,
) -> None:
    """Train X1, or another method, and save the model in a folder.

    Texts (JSON lines with "text" and "labels", or the embedded Debian corpus) are turned into tf-idf rows, and the
    model then tags texts. Options that are not given are the preset's, or the defaults shown.

    The options below are X1's. Other methods' options: neartag methods NAME.
    """
    chosen = find_method(method)
    settings = choose_settings(preset, given, chosen.name)
    check_place(Path(model), overwrite)

    from neartag import store
    from neartag.cli.data import load_training
    from neartag.data.mapped import mapped_bytes
    from neartag.rows import normalise
    from neartag.threads import resolve_jobs

    classifier = chosen.classifier()(**settings)
    resolve_jobs(classifier.n_jobs)
    memory = settings.get("max_memory")
    progress = output.progress(quiet)
    with progress.start(None, f"reading {data}"):
        dataset, features = load_training(data, None if memory is None else parse_bytes(memory))
    usage = Usage()
    if chosen.name == "x1":
        dataset.X = normalise(dataset.X, in_place=True)  # as training does, which then needs no rows of its own
    with progress.start(None, "cutting into clusters" if chosen.name == "x1" else f"training {chosen.title}"):
        classifier.fit(dataset.X, dataset.Y, progress=progress)
    cost = usage.measured()
    with progress.start(None, f"saving {model}"):
        check_place(Path(model), overwrite)  # again: somebody may have saved a model there meanwhile
        labels, points = dataset.label_names, dataset.point_names
        store.save(classifier.model_, model, features=features, label_names=labels, point_names=points)
    sizes = {"points": dataset.n_points, "features": dataset.n_features, "labels": dataset.n_labels}
    # The peak is taken again: saving may have needed more than training.
    report = {
        "model": model,
        "method": chosen.name,
        **sizes,
        **cost,
        "peak_rss_bytes": usage.measured()["peak_rss_bytes"],
    }
    X, Y = dataset.X, dataset.Y
    report["mapped_bytes"] = mapped_bytes(X.indices, X.data, Y.indices, Y.data)
    show_report({**report, "model_bytes": disk_bytes(Path(model))}, as_json)


def choose_settings(preset: str | None, given: dict[str, str | None], method: str = OWN) -> dict[str, Any]:
    """Return a method's settings: those of the preset, overridden by the options given."""
    settings = read_settings(given, method)
    if preset is None:
        return settings
    return {**presets.get(preset, method), **settings}


def check_place(folder: Path, overwrite: bool) -> None:
    """Raise ModelError, before any work is lost, where the model could not be saved in the end."""
    import tempfile

    from neartag.folder import refuse_foreign
    from neartag.manifest import MANIFEST

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
    output.show_pairs(
        [
            (
                "model",
                f"{report['model']}, {METHODS[report['method']].title}, {output.human_bytes(report['model_bytes'])}",
            ),
            ("points n", f"{report['points']:,}"),
            ("features d", f"{report['features']:,}"),
            ("labels L", f"{report['labels']:,}"),
            ("training time", f"{report['seconds']:.2f} s"),
            ("training CPU", f"{report['cpu_seconds']:.2f} s"),
            ("peak memory", "unknown" if peak is None else output.human_bytes(peak)),
            *([("data in files", f"{output.human_bytes(mapped)}, mapped")] if mapped else []),
        ]
    )
