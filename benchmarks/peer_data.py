"""Training and test part, by name, of every data set that is measured beside the peers, however its rows are made."""

from __future__ import annotations

from pathlib import Path

from scipy.sparse import csr_matrix

from neartag.data import Dataset, registry, write

EMBEDDED = "debian"  # the corpus that comes with neartag
TEXT_ONLY = ("cooking",)  # there is no file of features: neartag makes word tf-idf rows, nothing set


def load(name: str) -> tuple[Dataset, Dataset]:
    """Return both parts, with the same features and the same labels, those included that only one of them has."""
    # Both modules bring most of neartag with them, which a process that measures another tool does without.
    if name == EMBEDDED:
        from run import parts

        X, Y, X_test, Y_test = parts(name)
    elif name in TEXT_ONLY:
        from texts import rows_of, texts_of

        X, Y, X_test, Y_test = rows_of(texts_of(name, "train"), texts_of(name, "test"), {})
        Y = csr_matrix((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], Y_test.shape[1]))
    else:
        return registry.load(name, "train"), registry.load(name, "test")
    return Dataset(X, Y, name=f"{name}/train"), Dataset(X_test, Y_test, name=f"{name}/test")


def training_file(train: Dataset, folder: Path) -> Path:
    """Return a file in the XMC format with all points of a training part, written for tools that read it themselves.

    It is written anew even where the data set has one: omikuji refuses a file in which a point without features has a
    blank after its labels, as it is in yso-finna-en-100k, and takes the same point without that blank.
    """
    file = folder / "train.txt"
    write(Dataset(train.X, train.Y, name=train.name), file)  # no names: they would go into files beside it
    return file
