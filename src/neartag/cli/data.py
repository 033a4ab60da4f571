"""Points that fit a model: rows of its features, labels under its ids, whatever kind of DATA they come from.

Heavy imports stand inside the functions: `neartag --help` reads this file.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from neartag.cli.sources import Texts, read
from neartag.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from neartag.data.dataset import Dataset
    from neartag.features import TfidfFeatures
    from neartag.store import StoredModel

STDIN = "-"
_XMC_HEADER = re.compile(rb"\s*[0-9]+[ \t]+[0-9]+[ \t]+[0-9]+\s*")


def load_training(data: str, memory: int | None = None) -> tuple[Dataset, TfidfFeatures | None]:
    """Return the points to train on (of a data set, its train part) and, if they are texts, what made rows of them.

    Rows that would take a good part of the memory allowed, in bytes (None: of what there is), are mapped from files.
    """
    from neartag.data import mapped

    with mapped.within(memory):
        found = read(data, "train")
    if not isinstance(found, Texts):
        return found, None
    from neartag.data.dataset import Dataset
    from neartag.features import TfidfFeatures

    features = TfidfFeatures()
    X = features.fit_transform(found.texts)
    Y, names = _label_rows(found.labels)
    return Dataset(X=X, Y=Y, label_names=names, point_names=found.point_names, name=data), features


def load_points(data: str, part: str, stored: StoredModel) -> tuple[csr_matrix, csr_matrix]:
    """Return feature rows and label rows; labels that the model does not know stand after its own."""
    found = read(data, part)
    known = stored.label_names
    if isinstance(found, Texts):
        return _text_rows(found, data, stored), _under_known(*_label_rows(found.labels), known or [])
    X = _columns(found.X, stored.model.n_features, "features", data)
    if found.label_names is None or known is None or found.label_names == known:
        return X, _columns(found.Y, stored.model.n_labels, "labels", data)
    return X, _under_known(found.Y, found.label_names, known)


def load_rows(data: str, stored: StoredModel, *, plain_text: bool = False) -> csr_matrix:
    """Return feature rows to predict for; labels, if there are any, are not looked at.

    Standard input and, with `plain_text`, files are lines of text, or of JSON objects with a text; standard input for
    a model that was not trained on texts is lines in the XMC format, with or without its header.
    """
    if plain_text or (data == STDIN and stored.features is not None):
        content = sys.stdin.buffer.read() if data == STDIN else Path(data).read_bytes()
        lines = [line.removesuffix(b"\r").decode(errors="replace") for line in content.split(b"\n")]
        texts = [_text_of(line) for line in lines[: -1 if not lines[-1] else None]]
        return _text_rows(Texts(texts, []), data, stored)
    if data == STDIN:
        return _read_xmc_lines(sys.stdin.buffer.read(), stored)
    found = read(data, "test", labelled=False)
    if isinstance(found, Texts):
        return _text_rows(found, data, stored)
    return _columns(found.X, stored.model.n_features, "features", data)


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


def _text_rows(found: Texts, data: str, stored: StoredModel) -> csr_matrix:
    if stored.features is None:
        raise DataError(f"{data} holds texts, but the model was not trained on texts: give it rows of features")
    return stored.features.transform(found.texts)


def _read_xmc_lines(content: bytes, stored: StoredModel) -> csr_matrix:
    from neartag.data.xmc import read_xmc

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


def _label_rows(labels: list[list[str]]) -> tuple[csr_matrix, list[str]]:
    """Return an indicator of the labels of each point, and their names in the order of its columns."""
    import numpy as np
    from scipy.sparse import csr_matrix

    names = sorted(set(chain.from_iterable(labels)))
    column_of = {name: column for column, name in enumerate(names)}
    columns = [sorted({column_of[name] for name in row}) for row in labels]
    pointers = np.cumsum([0, *map(len, columns)])
    indices = np.fromiter(chain.from_iterable(columns), dtype=np.int32, count=pointers[-1])
    ones = np.ones(len(indices), dtype=np.float32)
    return csr_matrix((ones, indices, pointers), shape=(len(labels), len(names))), names


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
