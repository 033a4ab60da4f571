"""DATA as rows: to train on, or with the features and labels of a model.

Heavy imports stand inside the functions: `neartag --help` reads this file.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neartag.cli.reading import Reading
from neartag.cli.sources import read_data
from neartag.cli.text_lines import STDIN, read_text_lines
from neartag.core.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from neartag.data.dataset import Dataset
    from neartag.storage.bundle import StoredModel
    from neartag.vocabulary.concepts import Vocabulary

_XMC_HEADER = re.compile(rb"\s*[0-9]+[ \t]+[0-9]+[ \t]+[0-9]+\s*")


class Training(NamedTuple):
    """What to learn from: rows and labels; for documents also the fitted encoder, and the texts if they are kept."""

    dataset: Dataset
    encoder: Any = None
    texts: Any = None


def load_training(
    data: str,
    memory: int | None = None,
    reading: Reading | None = None,
    encoder: Any = None,
    *,
    keep_texts: bool = False,
    vocabulary: Vocabulary | None = None,
    n_jobs: int | None = -1,
    progress: Any = False,
    encode_minutes: float | None = None,
) -> Training:
    """Return the points to train on; of a data set, its train part.

    The encoder (None: the default one for these documents; AutoFeatures: one that a trial chooses) is fitted to
    documents, whose labels are mapped to the concepts of a vocabulary. A sentence encoder may take `encode_minutes`;
    where it would take longer, words are used alone. Rows that would take a good part of `memory`, in
    bytes (None: of the computer's), are mapped from files.
    """
    from neartag.data import mapped
    from neartag.data.dataset import Dataset
    from neartag.tagging.helper_processes import offer_helpers

    with mapped.memory_limit(memory), offer_helpers(n_jobs, memory):
        points = read_data(data, "train", reading)
        if isinstance(points, Dataset):
            if vocabulary is not None:
                raise DataError(f"{data} holds rows of features: --vocabulary is for documents with label names")
            return Training(points)
        from neartag.data.documents.describe import describe_labels

        if vocabulary is not None:
            from neartag.vocabulary.mapping import map_documents

            points = map_documents(points, vocabulary)
        from neartag.encoders.registry import DEFAULTS, ENCODERS
        from neartag.tagging.feature_choice import fit_corpus

        if encoder is None:
            encoder = ENCODERS.get(DEFAULTS[(reading or Reading()).part])()
        machine = {"n_jobs": n_jobs, "max_memory": memory}
        with _naming(data):
            corpus, encoder = fit_corpus(
                points, encoder, keep_texts=keep_texts, progress=progress, encode_minutes=encode_minutes, **machine
            )
    if reading is not None:
        reading.understood.extend(describe_labels(corpus.Y, corpus.label_names or []))
    rows = Dataset(X=corpus.X, Y=corpus.Y, label_names=corpus.label_names, point_names=corpus.ids, name=data)
    return Training(rows, encoder, corpus.texts)


@contextmanager
def _naming(data: str) -> Iterator[None]:
    """Put DATA before an error about all its documents; one about a single document names its file already."""
    try:
        yield
    except DataError as error:
        if data in str(error):
            raise
        raise DataError(f"{data}: {error}") from error


class Points(NamedTuple):
    """Labelled points with a model's features and labels; labels that the model does not know come after its own."""

    X: csr_matrix  # (n, d)
    Y: csr_matrix  # (n, at least the model's labels)
    label_names: list[str] | None  # of Y's columns
    ids: Sequence[str | None] | None = None
    texts: Any = None  # if they were asked for


def load_points(
    data: str, part: str, stored: StoredModel, reading: Reading | None = None, *, keep_texts: bool = False
) -> Points:
    """Return the points of DATA, with the texts of documents if they are to be kept."""
    from neartag.data.dataset import Dataset

    points = read_data(data, part, reading)
    known = stored.label_names
    if not isinstance(points, Dataset):
        from neartag.tagging.corpus import encode_corpus

        if stored.vocabulary is not None:  # other names are names of the same labels; none is refused here
            from neartag.vocabulary.mapping import map_documents

            points = map_documents(points, replace(stored.vocabulary, closed=False))
        corpus = encode_corpus(points, _encoder_of(stored, data), keep_texts=keep_texts)
        aligned = _align_labels(corpus.Y, corpus.label_names or [], known or [])
        return Points(corpus.X, *aligned, corpus.ids, corpus.texts)
    X = _fit_columns(points.X, stored.model.n_features, "features", data)
    if points.label_names is None or known is None or points.label_names == known:
        names = known or points.label_names
        return Points(X, _fit_columns(points.Y, stored.model.n_labels, "labels", data), names, points.point_names)
    return Points(X, *_align_labels(points.Y, points.label_names, known), points.point_names)


def load_rows(
    data: str, stored: StoredModel, reading: Reading | None = None, *, plain_text: bool = False
) -> csr_matrix:
    """Return feature rows (n, d) to predict for; labels, if there are any, are ignored.

    Standard input has lines of text, or of JSON objects with a text, and so has a file with `plain_text`. For a model
    that was not trained on documents, standard input has lines in the XMC format, with or without its header.
    """
    from neartag.data.dataset import Dataset

    if plain_text or (data == STDIN and stored.features is not None):
        texts = [_extract_text(line) for line in read_text_lines(data)]
        return _encoder_of(stored, data).transform(texts)
    if data == STDIN:
        return _read_xmc_lines(sys.stdin.buffer.read(), stored)
    points = read_data(data, "test", reading, labelled=False)
    if isinstance(points, Dataset):
        return _fit_columns(points.X, stored.model.n_features, "features", data)
    from neartag.tagging.corpus import encode_corpus

    return encode_corpus(points, _encoder_of(stored, data)).X


def _extract_text(line: str) -> str:
    """Return the text of a line, which may be a JSON object with a text: its labels must not be read as words."""
    if not line.lstrip().startswith("{"):
        return line
    try:
        value = json.loads(line)
    except ValueError:
        return line
    text = value.get("text") if isinstance(value, dict) else None
    return text if isinstance(text, str) else line


def _encoder_of(stored: StoredModel, data: str) -> Any:
    if stored.features is None:
        raise DataError(f"{data} holds texts, but the model was not trained on texts: give it rows of features")
    return stored.features


def _read_xmc_lines(content: bytes, stored: StoredModel) -> csr_matrix:
    from neartag.data.formats.xmc import read_xmc

    n_features, n_labels = stored.model.n_features, stored.model.n_labels
    added = not _XMC_HEADER.fullmatch(content.partition(b"\n")[0])
    if added:
        lines = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
        content = b"%d %d %d\n" % (lines, n_features, n_labels) + content
    with tempfile.TemporaryDirectory(prefix="neartag-") as folder:
        path = Path(folder) / "stdin.txt"
        path.write_bytes(content)
        try:
            return _fit_columns(read_xmc(path).X, n_features, "features", "standard input")
        except DataError as error:
            # The person knows nothing of the file, nor of the header that was added before the first line.
            place = re.escape(str(path)) + r":(\d+)"
            text = re.sub(place, lambda match: f"standard input, line {int(match[1]) - added}", str(error))
            raise DataError(text) from None


def _align_labels(Y: csr_matrix, names: list[str], known: list[str]) -> tuple[csr_matrix, list[str]]:
    """Return the label rows with columns of the known names first, those of other names after them; and all names."""
    import numpy as np
    from scipy.sparse import csr_matrix

    column_of = {name: column for column, name in enumerate(known)}
    width = len(known)
    columns = np.empty(len(names), dtype=np.int32)
    for place, name in enumerate(names):
        columns[place] = column_of.setdefault(name, width)
        width += columns[place] == width
    aligned = csr_matrix((Y.data, columns[Y.indices], Y.indptr), shape=(Y.shape[0], width))
    aligned.sum_duplicates()  # sorts too; two columns of one name become one
    aligned.data[:] = 1
    return aligned, [*known, *(name for name, column in column_of.items() if column >= len(known))]


def _fit_columns(matrix: csr_matrix, wanted: int, what: str, data: str) -> csr_matrix:
    """Return the matrix with the wanted number of columns, which JSON lines do not always say."""
    from neartag.data.files import split_ending
    from neartag.linalg import csr

    count = matrix.shape[1]
    if count < wanted and split_ending(data)[1] == ".jsonl":
        return csr.widen(matrix, wanted)
    if count != wanted:
        raise DataError(
            f"{data} has {count} {what}, but the model was trained on {wanted}: is it of the same data set?"
        )
    return matrix
