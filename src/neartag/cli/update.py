"""`neartag add` and `neartag forget`: documents into a model and out of it, without training again."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.options import AsJson, Model, Quiet
from neartag.cli.reading import Reading, with_reading
from neartag.cli.sources import check_source, read_data
from neartag.cli.text_lines import STDIN, read_text_lines
from neartag.cli.trust_options import Trust, with_trust
from neartag.core.errors import DataError, NeartagError

if TYPE_CHECKING:
    from neartag.core.progress import Progress
    from neartag.data.documents import Document
    from neartag.tagging.live import Added, LiveTagger

BATCH_DOCUMENTS = 1000  # added at once: a crash loses no more of the work, and never half a batch
MAX_SHOWN_LABELS = 10


@with_trust
@with_reading
def add(
    model: Model,
    data: Annotated[str, typer.Argument(metavar="DATA", help="Documents with labels, as for train.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace documents whose id is there already.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    reading: Reading,
    trust: Trust,
) -> None:
    """Add documents to a model without training again.

    They vote at once, and labels never seen before are predicted for similar texts. `neartag inspect` tells when so
    much has been added that training again is worth while.
    """
    check_source(data)
    from neartag.data.dataset import Dataset
    from neartag.storage.bundle import update_module
    from neartag.tagging.live import LiveTagger

    progress = output.progress(quiet)
    with progress.start(None, f"loading {model}"):
        live = LiveTagger(model, trust=trust)
    update_module(live.tagger.stored.model)  # a model that takes no documents is told before any is read
    documents = read_data(data, "train", reading)
    if isinstance(documents, Dataset):
        raise DataError(f"{data} holds rows of features: give documents, such as JSON lines with 'text' and 'labels'")
    reading.tell_understood(quiet)
    with progress.start(None, "adding"):
        added, n_unknown, n_unlabelled = add_in_batches(live, documents, replace=replace, progress=progress)
    reading.warn_skipped()
    report: dict[str, Any] = {
        "added": len(added.ids) - added.replaced,
        **({"replaced": added.replaced} if replace else {}),
        "points": len(live.tagger),
        "new_labels": added.new_labels,
        **reading.skipped,
    }
    if n_unknown:
        report["without_a_known_word"] = n_unknown
    if n_unlabelled:
        report["without_a_label"] = n_unlabelled
    _report(as_json, {**report, **({"ids": added.ids} if as_json else {})})
    output.suggest(f"neartag inspect {model}", "tells when to train again", quiet=quiet or as_json)


@with_trust
def forget(
    model: Model,
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Ids of documents, or - for lines of input.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    trust: Trust,
) -> None:
    """Remove documents from a model: texts, features, embeddings and votes, on disk too.

    What was learned from them stays until the model is trained again.
    """
    from neartag.tagging.live import LiveTagger

    names = [line for line in read_text_lines() if line] if ids == [STDIN] else ids
    progress = output.progress(quiet)
    with progress.start(None, f"loading {model}"):
        live = LiveTagger(model, trust=trust)
    with progress.start(None, f"writing {model}"):
        count = live.forget(names)
    _report(as_json, {"forgotten": count, "points": len(live.tagger)})
    output.suggest(f"neartag inspect {model}", "tells when to train again", quiet=quiet or as_json)


def add_in_batches(
    live: LiveTagger,
    documents: Iterable[Document],
    *,
    replace: bool,
    progress: Progress,
    batch_documents: int = BATCH_DOCUMENTS,
) -> tuple[Added, int, int]:
    """Add documents to a model's folder; return what changed, how many have no known word, how many have no label.

    A document without a known word is near no text until the model is trained again.
    """
    from neartag.tagging.live import Added
    from neartag.tagging.update import count_unknown

    ids: list[str] = []
    new_labels: list[str] = []
    n_replaced = n_unknown = n_unlabelled = 0
    left = iter(documents)
    try:
        while batch := list(islice(left, batch_documents)):
            now = live.add_documents(batch, replace=replace)
            ids += now.ids
            new_labels += now.new_labels
            n_replaced += now.replaced
            n_unknown += count_unknown(live.tagger.stored.features, batch)
            n_unlabelled += sum(not document.labels for document in batch)
            progress.advance(len(batch))
    except NeartagError as error:
        if not ids:
            raise
        # Whoever mends the file and adds it again must know, or would have these twice.
        raise type(error)(f"{error}; the first {len(ids):,} documents are added: give those after them") from error
    return Added(ids, n_replaced, new_labels), n_unknown, n_unlabelled


def _report(as_json: bool, report: dict[str, Any]) -> None:
    if as_json:
        output.show_json(report)
        return
    pairs = []
    for name, value in report.items():
        if name == "skipped_because":
            continue
        if isinstance(value, int):
            text = f"{value:,}"
        else:
            text = ", ".join(map(output.escape_controls, value[:MAX_SHOWN_LABELS])) or "none"
            if len(value) > MAX_SHOWN_LABELS:
                text += f" and {len(value) - MAX_SHOWN_LABELS} more"
        pairs.append((name.replace("_", " "), text))
    output.show_pairs(pairs)
