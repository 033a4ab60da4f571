"""Points that fit a model: rows of its features, labels under its ids, whatever kind of DATA they come from.

Heavy imports stand inside the functions: `neartag --help` reads this file.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neartag.cli.sources import Reading, read
from neartag.core.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from neartag.data.dataset import Dataset
    from neartag.storage.bundle import StoredModel

STDIN = "-"
_XMC_HEADER = re.compile(rb"\s*[0-9]+[ \t]+[0-9]+[ \t]+[0-9]+\s*")


class Training(NamedTuple):
    """What is to be learned from: rows and labels and, of documents, what made rows of them and their texts."""

    dataset: Dataset
    features: Any = None
    texts: Any = None


def load_training(
    data: str,
    memory: int | None = None,
    reading: Reading | None = None,
    features: Any = None,
    *,
    keep_texts: bool = False,
) -> Training:
    """Return the points to train on; of a data set, its train part. Features, tf-idf by default, are fitted to texts.

    Rows that would take a good part of the memory allowed, in bytes (None: of what there is), are mapped from files.
    """
    from neartag.data import mapped
    from neartag.data.dataset import Dataset

    with mapped.memory_limit(memory):
        found = read(data, "train", reading)
        if isinstance(found, Dataset):
            return Training(found)
        from neartag.encoders.tfidf import TfidfFeatures
        from neartag.tagging.corpus import build_corpus

        features = TfidfFeatures() if features is None else features
        corpus = build_corpus(found, features, keep_texts=keep_texts)
    rows = Dataset(X=corpus.X, Y=corpus.Y, label_names=corpus.label_names, point_names=corpus.ids, name=data)
    return Training(rows, features, corpus.texts)


def load_points(
    data: str, part: str, stored: StoredModel, reading: Reading | None = None
) -> tuple[csr_matrix, csr_matrix]:
    """Return feature rows and label rows; labels that the model does not know stand after its own."""
    from neartag.data.dataset import Dataset

    found = read(data, part, reading)
    known = stored.label_names
    if not isinstance(found, Dataset):
        from neartag.tagging.corpus import encode_corpus

        corpus = encode_corpus(found, _features(stored, data))
        return corpus.X, _under_known(corpus.Y, corpus.label_names or [], known or [])
    X = _columns(found.X, stored.model.n_features, "features", data)
    if found.label_names is None or known is None or found.label_names == known:
        return X, _columns(found.Y, stored.model.n_labels, "labels", data)
    return X, _under_known(found.Y, found.label_names, known)


def load_rows(
    data: str, stored: StoredModel, reading: Reading | None = None, *, plain_text: bool = False
) -> csr_matrix:
    """Return feature rows to predict for; labels, if there are any, are not looked at.

    Standard input and, with `plain_text`, files are lines of text, or of JSON objects with a text; standard input for
    a model that was not trained on texts is lines in the XMC format, with or without its header.
    """
    from neartag.data.dataset import Dataset

    if plain_text or (data == STDIN and stored.features is not None):
        content = sys.stdin.buffer.read() if data == STDIN else Path(data).read_bytes()
        lines = [line.removesuffix(b"\r").decode(errors="replace") for line in content.split(b"\n")]
        return _features(stored, data).transform([_text_of(line) for line in lines[: -1 if not lines[-1] else None]])
    if data == STDIN:
        return _read_xmc_lines(sys.stdin.buffer.read(), stored)
    found = read(data, "test", reading, labelled=False)
    if isinstance(found, Dataset):
        return _columns(found.X, stored.model.n_features, "features", data)
    from neartag.tagging.corpus import encode_corpus

    return encode_corpus(found, _features(stored, data)).X


def _text_of(line: str) -> str:
    """Return the text of a line, which may be a JSON object that has one: its labels must not be read as words."""
    if not line.lstrip().startswith("{"):
        return line
    try:
        found = json.loads(line)
    except ValueError:
        return line
    text = found.get("text") if isinstance(found, dict) else None
    return text if isinstance(text, str) else line


def _features(stored: StoredModel, data: str) -> Any:
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
            return _columns(read_xmc(path).X, n_features, "features", "standard input")
        except DataError as error:
            # The person knows neither of the file nor of the header before the first line.
            place = re.escape(str(path)) + r":(\d+)"
            text = re.sub(place, lambda found: f"standard input, line {int(found[1]) - added}", str(error))
            raise DataError(text) from None


def _under_known(Y: csr_matrix, names: list[str], known: list[str]) -> csr_matrix:
    """Return the label rows with the columns of the known names first, and of the others after them."""
    import numpy as np
    from scipy.sparse import csr_matrix

    column_of = {name: column for column, name in enumerate(known)}
    width = len(known)
    columns = np.empty(len(names), dtype=np.int32)
    for place, name in enumerate(names):
        columns[place] = column_of.setdefault(name, width)
        width += columns[place] == width
    moved = csr_matrix((Y.data, columns[Y.indices], Y.indptr), shape=(Y.shape[0], width))
    moved.sum_duplicates()  # sorts too; two columns of one name become one
    moved.data[:] = 1
    return moved


def _columns(matrix: csr_matrix, wanted: int, what: str, data: str) -> csr_matrix:
    """Return the matrix with the wanted number of columns, which JSON lines do not always say."""
    from scipy.sparse import csr_matrix

    from neartag.data.files import split_ending

    count = matrix.shape[1]
    if count < wanted and split_ending(data)[1] == ".jsonl":
        return csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], wanted))
    if count != wanted:
        raise DataError(
            f"{data} has {count} {what}, but the model was trained on {wanted}: is it of the same data set?"
        )
    return matrix
