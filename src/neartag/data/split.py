"""The XMC repository's split files: which rows of one data file are for training and which for the test."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from neartag.data.dataset import Dataset
from neartag.data.files import fault, read_bytes, shown
from neartag.data.xmc import read_xmc
from neartag.errors import DataError


def read_split(
    data_path: Path | str, train_split_path: Path | str, test_split_path: Path | str, column: int = 0
) -> tuple[Dataset, Dataset]:
    """Return the training and the test points that one column of the two split files picks from a data file.

    Each column of a split file is a split; its entries are the numbers of rows, from 1.
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
        fields = line.split()
        if len(fields) != columns:
            raise fault(path, number + 1, f"{len(fields)} columns, but {columns} in line 1", "make them as many")
        entry = fields[column]
        if not (entry.isdigit() and len(entry) < 19 and 1 <= int(entry) <= data.n_points):
            remedy = f"rows count from 1 to {data.n_points} in {data.name}"
            raise fault(path, number + 1, f"{shown(entry)} is not the number of a row", remedy)
        rows[number] = int(entry) - 1
    return rows
