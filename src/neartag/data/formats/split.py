"""Split files of the XMC repository: which rows of a data file are for training and which for the test."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from neartag.core.errors import DataError
from neartag.data.dataset import Dataset
from neartag.data.files import line_error, quote, read_bytes
from neartag.data.formats.xmc import read_xmc


def read_split(
    data_path: Path | str, train_split_path: Path | str, test_split_path: Path | str, column: int = 0
) -> tuple[Dataset, Dataset]:
    """Return the training points and the test points of one split.

    Parameters
    ----------
    data_path : Path or str
        File with all points, in the XMC format.
    train_split_path, test_split_path : Path or str
        Files of row numbers, from 1; each column is a split of its own.
    column : int, default 0
        The split, from 0.

    Returns
    -------
    train : Dataset
    test : Dataset

    Raises
    ------
    DataError
        If a file is missing or wrong.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from neartag.data.formats.split import read_split
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = [Path(folder, name) for name in ("data.txt", "train.idx", "test.idx")]
    ...     for file, text in zip(files, ("3 1 2\\n0 0:1\\n1 0:2\\n0 0:3\\n", "3\\n1\\n", "2\\n")):
    ...         _ = file.write_text(text)
    ...     train, test = read_split(*files)
    >>> train.X.toarray().ravel().tolist(), test.X.toarray().ravel().tolist()
    ([3.0, 1.0], [2.0])
    """
    data = read_xmc(data_path)
    train, test = (data.take(_read_column(Path(path), column, data)) for path in (train_split_path, test_split_path))
    return train, test


def _read_column(path: Path, column: int, data: Dataset) -> np.ndarray:
    """Return the row numbers, from 0, in a column of a split file."""
    lines = read_bytes(path).rstrip().split(b"\n")
    columns = len(lines[0].split())
    if not 0 <= column < columns:
        raise DataError(f"{path}: has {columns} columns, so there is no column {column}; they count from 0")
    rows = np.empty(len(lines), dtype=np.int64)
    for number, line in enumerate(lines):
        cells = line.split()
        if len(cells) != columns:
            raise line_error(path, number + 1, f"{len(cells)} columns, but {columns} in line 1", "make them as many")
        cell = cells[column]
        if not (cell.isdigit() and len(cell) < 19 and 1 <= int(cell) <= data.n_points):
            remedy = f"rows count from 1 to {data.n_points} in {data.name}"
            raise line_error(path, number + 1, f"{quote(cell)} is not the number of a row", remedy)
        rows[number] = int(cell) - 1
    return rows
