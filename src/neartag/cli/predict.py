"""`neartag predict`: the best labels of new points."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import typer

from neartag.cli import output
from neartag.cli.engine_options import EngineName, Scheduler, WorkDir, Workers
from neartag.cli.options import Jobs, ModelOrUrl, Quiet
from neartag.cli.output_file import Overwrite, check_output
from neartag.cli.reading import Reading, with_reading
from neartag.cli.sources import check_source
from neartag.cli.trust_options import Trust, with_trust
from neartag.cli.urls import name_of, with_urls
from neartag.core.errors import DataError, ParameterError
from neartag.work.engines import Engine

_ESCAPES = {**output.CONTROLS, ord("\\"): "\\\\"}


@with_trust
@with_reading
@with_urls("model", "source")
def predict(
    model: ModelOrUrl,
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="Points as a data file, a folder, a data set's name (its test part), or - for standard input: "
            "lines of text if the model was trained on texts, otherwise XMC lines, with or without a header.",
        ),
    ],
    k: Annotated[int, typer.Option("-k", help="Labels for each point.")] = 5,
    scores: Annotated[bool, typer.Option("--scores", help="Write each label as LABEL:SCORE.")] = False,
    text: Annotated[bool, typer.Option("--text", help="INPUT is plain text, one point per line.")] = False,
    target: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file, whole or not at all.")
    ] = None,
    overwrite: Overwrite = False,
    fallback: Annotated[
        bool, typer.Option("--fallback", help="Give a point that nothing is known of the most frequent labels.")
    ] = False,
    jobs: Jobs = -1,
    engine: EngineName = "threads",
    workers: Workers = None,
    scheduler: Scheduler = None,
    work_dir: WorkDir = None,
    as_json: Annotated[
        bool, typer.Option("--json", help='Write JSON lines: {"labels": [...], "scores": [...], "found": true}.')
    ] = False,
    quiet: Quiet = False,
    *,
    reading: Reading,
    trust: Trust,
) -> None:
    r"""Write the best labels of each point, one line per point.

    The best label comes first. Labels are names, or ids if the model has no names, separated by tabs. With --scores
    each is LABEL:SCORE; the score (from 0 to 1, as `neartag tag` gives it) follows the last colon. In a name, \\, \t,
    \n and \r stand for a backslash, a tab and line breaks. A point with nothing that the model knows, such as a text of
    unknown words, has an empty line, or with --fallback the most frequent labels, of score 0. Labels in INPUT are
    ignored.
    """
    who = Engine(engine, workers, scheduler, work_dir)
    who.check()
    if who.name != "threads" and work_dir is None and target is None:
        raise ParameterError("say where the work goes: --output FILE, or --work-dir FOLDER")
    check_output(target, source, model, overwrite)
    if not text:
        if " " in source and not Path(source).exists():
            raise DataError(f"there is no file {source[:60]!r}: to tag a text, neartag tag {model} TEXT")
        check_source(source)
    from neartag.cli.data import load_rows
    from neartag.core.threads import resolve_jobs
    from neartag.linalg.validation import check_count
    from neartag.storage import store
    from neartag.tagging.predicted_parts import rank_batches, rank_by_tasks

    check_count("-k", k)
    progress = output.progress(quiet)
    with _open_output(target) as stream:  # first: a file that cannot be written is reported at once
        with progress.start(None, f"loading {name_of(model)}"):
            stored = store.load(model, trust=trust)
        with progress.start(None, f"reading {name_of(source)}"):
            rows = load_rows(source, stored, reading, plain_text=text)
        reading.warn_skipped()
        reading.tell_understood(quiet)
        names = stored.label_names
        k = min(k, stored.model.n_labels)
        with who.open(target or model, resolve_jobs(jobs)) as executor, progress.start(rows.shape[0], "predicting"):
            batches = (
                rank_batches(stored, rows, k, jobs, fallback=fallback)
                if executor is None
                else rank_by_tasks(executor, os.path.abspath(model), stored, rows, k, progress, fallback=fallback)
            )
            for ranked in batches:
                for labels, values, found in zip(*(ranked[place].tolist() for place in (0, 1, 3)), strict=True):
                    answer = [(label, score) for label, score in zip(labels, values, strict=True) if label >= 0]
                    line = _json_line(answer, names, found) if as_json else _text_line(answer, names, scores)
                    stream.write((line + "\n").encode("utf-8", "backslashreplace"))
                progress.advance(len(ranked.labels))
                del ranked  # which maps a file of the work folder: Windows would not remove it
    if target is not None and name_of(model) == model:  # evaluate takes no URL
        output.suggest(f"neartag evaluate {model} DATA", "tells how good it is on labelled points", quiet=quiet)


def _text_line(answer: list[tuple[int, float]], names: list[str] | None, scores: bool) -> str:
    cells = ((str(label) if names is None else names[label].translate(_ESCAPES), score) for label, score in answer)
    return "\t".join(f"{name}:{score:.4f}" if scores else name for name, score in cells)


def _json_line(answer: list[tuple[int, float]], names: list[str] | None, found: bool) -> str:
    labels = [label if names is None else names[label] for label, _ in answer]
    return output.json_line({"labels": labels, "scores": [score for _, score in answer], "found": found})


@contextmanager
def _open_output(target: str | None) -> Iterator[IO[bytes]]:
    """Open the output: a file, which is replaced whole at the end, or standard output."""
    if target is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif Path(target).exists() and not os.path.isfile(target) and not os.path.isdir(target):
        with open(target, "wb") as stream:  # a device or a pipe: it must not be replaced by a file
            yield stream
    else:
        from neartag.data.files import open_to_replace

        with open_to_replace(target) as stream:
            yield stream
