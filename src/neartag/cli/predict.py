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
from neartag.cli.options import Jobs, Model, Quiet
from neartag.cli.reading import Reading, with_reading
from neartag.cli.sources import check_source
from neartag.core.errors import ParameterError

_ESCAPES = {**output.CONTROLS, ord("\\"): "\\\\"}


@with_reading
def predict(
    model: Model,
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
    jobs: Jobs = -1,
    as_json: Annotated[
        bool, typer.Option("--json", help='Write JSON lines: {"labels": [...], "scores": [...]}.')
    ] = False,
    quiet: Quiet = False,
    *,
    reading: Reading,
) -> None:
    r"""Write the best labels of each point, one line per point.

    The best label comes first. Labels are names, or ids if the model has no names, separated by tabs. With --scores
    each is LABEL:SCORE; the score (from 0 to 1, as `neartag tag` gives it) follows the last colon. In a name, \\, \t,
    \n and \r stand for a backslash, a tab and line breaks. A point with nothing that the model knows, such as a text of
    unknown words, gets the most frequent labels, scored by their frequency. Labels in INPUT are ignored.
    """
    check_output(target, source, model)
    if not text:
        check_source(source)
    from neartag.cli.data import load_rows
    from neartag.linalg.validation import check_count
    from neartag.methods.predict import predict_batches
    from neartag.storage import store
    from neartag.tagging.calibration import calibrate_scores, from_extras

    check_count("-k", k)
    progress = output.progress(quiet)
    with _open_output(target) as stream:  # first: a file that cannot be written is reported at once
        with progress.start(None, f"loading {model}"):
            stored = store.load(model)
        with progress.start(None, f"reading {source}"):
            rows = load_rows(source, stored, reading, plain_text=text)
        reading.warn_skipped()
        reading.tell_understood(quiet)
        names, calibration = stored.label_names, from_extras(stored.extras)
        k = min(k, stored.model.n_labels)
        for labels, raw in predict_batches(stored.model, rows, k, jobs, progress):
            for ids, values in zip(labels.tolist(), calibrate_scores(calibration, raw).tolist(), strict=True):
                answer = [(label, score) for label, score in zip(ids, values, strict=True) if label >= 0]
                line = _json_line(answer, names) if as_json else _text_line(answer, names, scores)
                stream.write((line + "\n").encode("utf-8", "backslashreplace"))


def _text_line(answer: list[tuple[int, float]], names: list[str] | None, scores: bool) -> str:
    cells = ((str(label) if names is None else names[label].translate(_ESCAPES), score) for label, score in answer)
    return "\t".join(f"{name}:{score:.4f}" if scores else name for name, score in cells)


def _json_line(answer: list[tuple[int, float]], names: list[str] | None) -> str:
    labels = [label if names is None else names[label] for label, _ in answer]
    return output.json_line({"labels": labels, "scores": [score for _, score in answer]})


def check_output(target: str | None, source: str, model: str) -> None:
    """Raise ParameterError where the output would replace a file that is read here."""
    if target is None or not Path(target).exists():
        return
    place = Path(target).resolve()
    if place == Path(source).resolve() or Path(model).resolve() in place.parents:
        raise ParameterError(f"--output {target} would replace a file that is read here: name another")


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
