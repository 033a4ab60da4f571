"""A whole table answered: each chunk of its rows is tagged and written, and what came of it is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from neartag.data.documents.table_writers import Writer
from neartag.data.documents.whole_rows import Chunk
from neartag.tagging.batches import Asked, answer_chunks
from neartag.tagging.tagger import TextTagger


@dataclass
class TableCounts:
    """Rows of a table that was tagged."""

    rows: int = 0
    found: int = 0  # of which the model knows something
    labelled: int = 0  # that have labels


def write_answers(
    tagger: TextTagger, chunks: Iterable[Chunk], asked: Asked, writer: Writer, advance: Callable[[int], None]
) -> TableCounts:
    """Write the rows of all chunks with their labels; `advance` is called with the number of rows just written."""
    counts = TableCounts()
    for chunk, answers in answer_chunks(tagger, chunks, asked):
        writer.write(chunk, answers)
        counts.rows += len(answers)
        counts.found += sum(answer.found for answer in answers)
        counts.labelled += sum(bool(answer.labels) for answer in answers)
        advance(len(answers))
    return counts
