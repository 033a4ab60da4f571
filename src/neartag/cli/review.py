"""`neartag review`: which documents to label next, and which labels to look at again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.options import AsJson, Jobs, Model, Quiet
from neartag.cli.output_file import Overwrite, check_output
from neartag.cli.reading import Reading, with_reading
from neartag.cli.review_table import Row, as_csv, say_suggested
from neartag.cli.sources import check_source, read_data
from neartag.cli.trust_options import Trust, with_trust
from neartag.core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from neartag.data.documents import Document
    from neartag.tagging.review import ToLabel
    from neartag.tagging.review_evidence import NearDocument
    from neartag.tagging.review_labels import Doubt
    from neartag.tagging.tagger import TextTagger


@with_trust
@with_reading
def review(
    model: Model,
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="Documents. Left out with --labels, the model's own are reviewed."),
    ] = None,
    n: Annotated[int, typer.Option("-n", help="At most so many.")] = 50,
    labels: Annotated[
        bool, typer.Option("--labels", help="Find labels that are probably wrong or missing, in labelled documents.")
    ] = False,
    doubt: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="With --labels: only wrong or only missing ones.  [default: both]"),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            help="With --labels: models trained to find more, each without a part of the documents.  "
            "[default: 5 for the model's own documents, none for others]"
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write CSV to a file, whole or not at all.")
    ] = None,
    overwrite: Overwrite = False,
    jobs: Jobs = -1,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    reading: Reading,
    trust: Trust,
) -> None:
    """List the documents that are most worth labelling, or with --labels the labels that are most doubtful.

    Documents come first that the model is unsure of, that are unlike what it knows, and that stand for many others;
    labels in DATA are ignored. A doubtful label is probably wrong, or probably missing: other documents like it say
    so. Each comes with its evidence: the nearest labelled documents, and the words that they share.

    FILE has a row for each document, with its whole text and its labels in the column `labels`: correct them there, and
    give FILE to `neartag add`, with --replace for documents that the model has.
    """
    if data is None and not labels:
        raise ParameterError("name the documents to choose from, or give --labels to review the model's own")
    if folds is not None and not labels:
        raise ParameterError("--folds goes with --labels")
    if doubt is not None and not labels:
        raise ParameterError("--doubt goes with --labels")
    if doubt not in (None, "wrong", "missing"):
        raise ParameterError(f"--doubt must be wrong or missing, not {doubt!r}")
    if data is not None:
        check_source(data)
    check_output(target, data or model, model, overwrite)
    from neartag.linalg.validation import check_count
    from neartag.tagging.tagger import TextTagger

    check_count("-n", n)
    progress = output.progress(quiet)
    with progress.start(None, f"loading {model}"):
        tagger = TextTagger.load(model, trust=trust)
    documents = None if data is None else _read_documents(data, reading, labels, quiet, progress)
    if labels:
        doubts = tagger.review_documents(documents, n=n, kind=doubt, folds=folds, n_jobs=jobs, progress=progress)
        rows = [_doubt_row(each, documents, tagger) for each in doubts]
    else:
        given = documents or []
        items = [getattr(each, tagger.stored.features.accepts) for each in given]
        with progress.start(None, "reviewing"):
            listed = tagger.review(items, n, n_jobs=jobs)
        rows = [_to_label_row(each, given) for each in listed]
    _write(rows, target, as_json, labels)
    if target is not None:
        n_documents = len({row["index"] for row in rows})
        what = (
            f"{len(rows):,} doubtful labels of {n_documents:,} documents"
            if labels
            else f"{n_documents:,} documents to label"
        )
        output.message(f"{target}: {what}, the first first", quiet=quiet)
    can_be_added = (
        target is not None and tagger.stored.features.accepts == "text" and all(row["text"] is not None for row in rows)
    )
    _suggest_next(model, target if can_be_added else None, labels, quiet=quiet or as_json)


def _suggest_next(model: str, written: str | None, labels: bool, *, quiet: bool) -> None:
    """Say how corrections get into the model; `written` is a file with all that is needed."""
    if labels:
        step = f"neartag add {model} {written or 'CORRECTED'} --replace"
        purpose = "takes in documents that you corrected" + (" in the column labels" if written else "")
        output.suggest(step, purpose, quiet=quiet)
    else:
        step = f"neartag add {model} {written or 'LABELLED'}"
        where = " in the column labels (delete the other rows)" if written else ""
        output.suggest(step, f"takes in what you labelled{where}; then review again", quiet=quiet)


def _read_documents(data: str, reading: Reading, labelled: bool, quiet: bool, progress: Any) -> list[Document]:
    from neartag.data.dataset import Dataset

    documents = read_data(data, "train", reading, labelled=labelled)
    if isinstance(documents, Dataset):
        raise DataError(f"{data} holds rows of features: give documents, such as JSON lines with 'text'")
    with progress.start(None, f"reading {data}"):
        read = list(documents)
    reading.warn_skipped()
    reading.tell_understood(quiet)
    return read


def _to_label_row(entry: ToLabel, documents: Sequence[Document]) -> Row:
    document = documents[entry.index]
    return {
        "index": entry.index,
        "id": document.id,
        "text": document.text,
        "labels": [],
        "score": round(entry.score, 4),
        "why": entry.reason,
        "suggested": [{"label": tag.label, "score": round(tag.score, 4)} for tag in entry.labels],
        "evidence": [_evidence(each) for each in entry.evidence],
    }


def _doubt_row(doubt: Doubt, documents: Sequence[Document] | None, tagger: TextTagger) -> Row:
    from neartag.tagging.explain import labels_of

    stored = tagger.stored
    text: str | None
    if documents is not None:
        document = documents[doubt.index]
        identity, text, labels = document.id, document.text, document.labels
    else:
        names = stored.label_names or []
        identity, labels = doubt.id, [names[label] for label in labels_of(stored.model, doubt.index)]
        text = None if stored.texts is None else stored.texts[doubt.index]
    return {
        "index": doubt.index,
        "id": identity,
        "text": text,
        "labels": labels,
        "score": round(doubt.score, 4),
        "label": doubt.label,
        "kind": doubt.kind,
        "why": doubt.reason,
        "evidence": [_evidence(each) for each in doubt.evidence],
    }


def _evidence(near: NearDocument) -> Row:
    return {**near._asdict(), "words": [word.word for word in near.words]}


def _write(rows: Sequence[Row], target: str | None, as_json: bool, doubts: bool) -> None:
    """Print JSON lines, or the entries for people; a file gets CSV."""
    if target is not None:
        from neartag.data.files import open_to_replace

        with open_to_replace(target) as stream:
            stream.write(as_csv(rows, _evidence_line, doubts=doubts).encode("utf-8", "backslashreplace"))
    if as_json:
        for row in rows:
            told = {name: value for name, value in row.items() if name != "index" and (doubts or name != "labels")}
            output.show_json({**told, "id": _name(row), "text": row["text"] or ""})
    elif target is None:
        for number, row in enumerate(rows):
            _show(row, number)


def _name(row: Row) -> str:
    """Return what an entry is called on the screen: its id, or its number. A file has ids of documents only."""
    return str(row["index"]) if row["id"] is None else row["id"]


def _evidence_line(near: Row) -> str:
    words = ", ".join(near["words"]) or output.NO_TELLING_WORD
    return f"{near['id']} ({near['similarity']:.2f}; {words}): {', '.join(near['labels'])}"


def _show(row: Row, number: int) -> None:
    """Print an entry for people, its text shortened."""
    about = f"  {row['kind']}: {row['label']}  {100 * row['score']:.0f}%" if "kind" in row else f"  {row['score']:.2f}"
    print(("\n" if number else "") + output.escape_controls(f"{_name(row)}{about}"))
    print(f"  {output.shorten(row['text'] or '')}")
    print(f"  {output.escape_controls(row['why'])}")
    if row.get("suggested"):
        print(f"  suggested: {output.escape_controls(say_suggested(row['suggested']))}")
    for near in row["evidence"]:
        print(f"    {output.shorten(_evidence_line(near))}")
