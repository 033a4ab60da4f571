"""`neartag merge`, and `neartag train --add-learners`: models with more learners."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.engine_options import say_how_to_resume
from neartag.cli.model_folder import check_target, find_digest
from neartag.cli.options import AsJson, Quiet
from neartag.cli.reading import Reading
from neartag.core.errors import ModelError, ParameterError
from neartag.storage.signing import Trust, make_trust
from neartag.work.engines import Engine

if TYPE_CHECKING:
    from neartag.core.progress import Progress
    from neartag.storage.bundle import StoredModel

MACHINE = ("n_jobs", "max_memory")  # the only settings that may be given with more learners


def merge(
    first: Annotated[str, typer.Argument(metavar="MODEL", help="A model folder.")],
    others: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Others, trained on the same data.")],
    target: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Folder to save the model in.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model that is in the folder.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    expect_digest: Annotated[
        list[str] | None,
        typer.Option(
            "--expect-digest",
            metavar="DIGEST",
            help="Fail unless the models have these digests, or such that begin so: give one for each model, in their "
            "order. neartag inspect prints it.",
        ),
    ] = None,
    require_signature: Annotated[
        str | None,
        typer.Option(
            "--require-signature",
            metavar="PUBLIC_KEY",
            help="Fail unless all models are signed with the private half of the key in this file (neartag sign).",
        ),
    ] = None,
) -> None:
    """Put the learners of several models into one.

    The models must have been trained on the same data with the same settings, but each with another --random-state.
    What votes on a point, the rankers and the calibration are those of the first model.
    """
    check_target(target, overwrite)
    names = [first, *others]
    if expect_digest and len(expect_digest) != len(names):
        raise ParameterError(
            f"there are {len(names)} models and {len(expect_digest)} digests: give --expect-digest once for each model"
        )
    digests: list[str | None] = [*expect_digest] if expect_digest else [None] * len(names)
    trusts = [make_trust(digest, require_signature) for digest in digests]
    from neartag.storage import store
    from neartag.x1.more_learners import merge as merge_models

    progress = output.progress(quiet)
    with progress.start(None, f"merging {1 + len(others)} models"):
        stored = _load(first, trusts[0])
        merged = stored.model
        for name, trust in zip(others, trusts[1:], strict=True):
            other = _load(name, trust)
            if other.label_names != stored.label_names:
                raise ModelError(f"{first} and {name} have other labels: only models of the same data can be merged")
            merged = merge_models(merged, other.model)
        store.save_bundle(replace(stored, model=merged), target)
    _show(target, len(merged.learners), as_json, quiet=quiet)


def add_learners(
    data: str,
    model: str,
    count: int,
    given: dict[str, Any],
    engine: Engine,
    reading: Reading,
    trust: Trust,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train so many learners more for a model, on the data that it was trained on, and save it in its folder."""
    refused = sorted(set(given) - set(MACHINE))
    if refused:
        raise ParameterError(
            f"--add-learners takes the model's own settings: leave out --{refused[0].replace('_', '-')}"
        )
    from neartag.cli.data import load_points
    from neartag.core.parameters import parse_bytes
    from neartag.core.threads import resolve_jobs, single_threaded_blas
    from neartag.linalg.rows import as_training_rows
    from neartag.linalg.validation import check_count
    from neartag.storage import store
    from neartag.x1 import more_learners
    from neartag.x1.schedule import Machine

    check_count("--add-learners", count)
    progress = output.progress(quiet)
    if _was_killed_late(data, model, count, engine, reading, progress):
        _show(model, len(_load(model, Trust()).model.learners), as_json, quiet=quiet)
        return
    stored = _load(model, trust)
    with progress.start(None, f"reading {data}"):
        points = load_points(data, "train", stored, reading)
    memory = given.get("max_memory")
    machine = Machine(resolve_jobs(given.get("n_jobs", -1)), None if memory is None else parse_bytes(memory))
    rows, before = as_training_rows(points.X), len(stored.model.learners)
    with (
        say_how_to_resume(engine, model),
        engine.open(model, machine.jobs, machine.room()) as executor,
        single_threaded_blas(),
    ):
        given_points = rows, points.Y, count, machine, progress, executor
        grown = more_learners.add_learners(stored.model, *given_points)
        generation = 0 if stored.manifest is None else stored.manifest.generation
        announce = partial(engine.begin_saving, model)
        store.save_bundle(replace(stored, model=grown), model, generation=generation, announce=announce)
        assert len(grown.learners) == before + count
        del grown  # which maps files of the work folder: Windows would not remove it
    _show(model, before + count, as_json, quiet=quiet)


def _was_killed_late(data: str, model: str, count: int, engine: Engine, reading: Reading, progress: Progress) -> bool:
    """Say whether this very command was killed when its model was saved already; then do what it had left to do.

    The model is not used for anything else, so it need not be the one that was trusted before it had more learners.
    """
    saved = engine.find_saved(model, find_digest(model))
    if saved is None:
        return False
    from neartag.cli.data import load_points
    from neartag.linalg.rows import as_training_rows
    from neartag.x1.more_learners import describe_addition

    stored = _load(model, Trust())
    with progress.start(None, f"reading {data}"):
        points = load_points(data, "train", stored, reading)
    before = len(stored.model.learners) - count
    plan = describe_addition(stored.model, as_training_rows(points.X), points.Y, before, count)
    if not (saved.holds(plan) or saved.removed.holds(plan)):
        return False
    engine.finish(saved)
    return True


def _load(folder: str, trust: Trust) -> StoredModel:
    from neartag.storage import store
    from neartag.x1.model import X1Model

    stored = store.load(folder, trust=trust)
    if not isinstance(stored.model, X1Model):
        raise ModelError(f"{folder} is a model of {stored.model.kind}: only models of x1 have learners")
    return stored


def _show(model: str, learners: int, as_json: bool, *, quiet: bool) -> None:
    if as_json:
        output.show_json({"model": model, "learners": learners})
    elif not quiet:
        output.show_pairs([("model", model), ("learners", f"{learners:,}")])
