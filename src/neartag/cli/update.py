"""`neartag add` and `neartag forget`: documents into a model and out of it, without training again."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.options import AsJson, Model, Quiet
from neartag.cli.sources import Reading, read, with_reading
from neartag.core.errors import DataError, NeartagError

BATCH = 1000  # documents added at once: a crash loses no more of the work, and never half a batch


@with_reading
def add(
    model: Model,
    data: Annotated[str, typer.Argument(metavar="DATA", help="Documents with labels, as for train.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace documents whose id is there already.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Add documents to a model without training again.

    They vote at once, and labels never seen before are predicted for similar texts. `neartag inspect` tells when so
    much has been added that training again is worth while.
    """
    from neartag.data.dataset import Dataset
    from neartag.tagging.live import LiveTagger
    from neartag.tagging.update import rows_of

    progress = output.progress(quiet)
    with progress.start(None, f"loading {model}"):
        live = LiveTagger(model)
    labels = len(live.tagger.labels)
    found = read(data, "train", reading)
    if isinstance(found, Dataset):
        raise DataError(f"{data} holds rows of features: give documents, such as JSON lines with 'text' and 'labels'")
    ids: list[str] = []
    strange = 0  # documents of which the model knows no word: they are near nobody until it is trained again
    with progress.start(None, "adding"):
        documents = iter(found)
        try:
            while batch := list(islice(documents, BATCH)):
                ids += live.add(batch, replace=replace)
                strange += int((abs(rows_of(live.tagger.stored.features, batch)).sum(axis=1) == 0).sum())
                progress.advance(len(batch))
        except NeartagError as error:
            count = len(ids)
            if not count:
                raise
            # Whoever mends the file and adds it again must know, or would have these twice.
            raise type(error)(f"{error}; the first {count:,} documents are added: give those after them") from error
    if not quiet:
        reading.say()
    new = live.tagger.labels[labels:]
    report = {"added": len(ids), "points": len(live.tagger), "new_labels": new, **reading.skipped}
    if strange:
        report["without_a_known_word"] = strange
    _report(as_json, {**report, **({"ids": ids} if as_json else {})})


def forget(
    model: Model,
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Ids of documents, or - for lines of input.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Remove documents from a model: texts, features, embeddings and votes, on disk too.

    What was learned from them stays until the model is trained again.
    """
    import sys

    from neartag.tagging.live import LiveTagger

    names = _lines(sys.stdin.buffer.read()) if ids == ["-"] else ids
    progress = output.progress(quiet)
    with progress.start(None, f"loading {model}"):
        live = LiveTagger(model)
    with progress.start(None, f"writing {model}"):
        count = live.forget(names)
    _report(as_json, {"forgotten": count, "points": len(live.tagger)})


def _lines(content: bytes) -> list[str]:
    # Not splitlines: ids may have characters that it takes for the end of a line.
    lines = (line.removesuffix("\r") for line in content.decode(errors="replace").split("\n"))
    return [line for line in lines if line]


def _report(as_json: bool, report: dict[str, Any]) -> None:
    if as_json:
        output.show_json(report)
        return
    shown = {name: value for name, value in report.items() if name != "skipped_because"}
    pairs = []
    for name, value in shown.items():
        text = f"{value:,}" if isinstance(value, int) else ", ".join(map(output.visible, value[:10])) or "none"
        more = f" and {len(value) - 10} more" if isinstance(value, list) and len(value) > 10 else ""
        pairs.append((name.replace("_", " "), text + more))
    output.show_pairs(pairs)
