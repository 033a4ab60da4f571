"""Any data file, by its ending: read, written, or turned into another format without loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from neartag.core.errors import ParameterError
from neartag.data.dataset import Dataset
from neartag.data.files import COMPRESSIONS, split_ending
from neartag.data.jsonlines import read_jsonl, write_jsonl
from neartag.data.npz import read_npz, write_npz
from neartag.data.xmc import read_xmc, write_xmc

Reader = Callable[[Path], Dataset]
Writer = Callable[[Dataset, Path], None]

FORMATS: dict[str, tuple[Reader, Writer]] = {
    ".txt": (read_xmc, write_xmc),
    ".xmc": (read_xmc, write_xmc),
    ".svm": (read_xmc, write_xmc),
    ".npz": (read_npz, write_npz),
    ".jsonl": (read_jsonl, write_jsonl),
}
_COMPRESSIBLE = (".txt", ".xmc", ".svm", ".jsonl")


def read(path: Path | str, *, labelled: bool = True) -> Dataset:
    """Return the data set in a file, whose ending says how it is written.

    Without `labelled`, as for points to predict for, JSON lines need not say what labels a point has.
    """
    reader = _format(path)[0]
    if reader is read_jsonl:
        return read_jsonl(path, labelled=labelled)
    return reader(Path(path))


def write(dataset: Dataset, path: Path | str) -> None:
    """Write a data set to a file in the format that its ending says."""
    _format(path)[1](dataset, Path(path))


def convert(source: Path | str, target: Path | str) -> Dataset:
    """Write the data set in one file to another in the format of that one's ending, and return it."""
    _format(target)  # before the work of reading
    dataset = read(source)
    write(dataset, target)
    return dataset


def is_data_file(path: Path | str) -> bool:
    """Return whether a file's ending is one that can be read."""
    _, ending, compression = split_ending(path)
    return ending in FORMATS and (not compression or ending in _COMPRESSIBLE)


def _format(path: Path | str) -> tuple[Reader, Writer]:
    if not is_data_file(path):
        raise ParameterError(
            f"{path}: its ending does not say how it is written; known are {', '.join(FORMATS)}, "
            f"and {', '.join(COMPRESSIONS)} after any of {', '.join(_COMPRESSIBLE)}"
        )
    return FORMATS[split_ending(path)[1]]
