"""The XMC repository's text format: a line `points features labels`, then a line `label,label id:value …` a point.

A point without labels has a line that begins with a space; one with neither labels nor features an empty line.
Names stand in `labels.txt` and `features.txt` beside the data file; those of points, an addition of our own, in a file
with `.points` after the data file's name. Split files say which rows of a data file are for training and which for the
test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError
from neartag.data.dataset import LARGEST_ID, Dataset, feature_rows, first_repeated, label_rows, rows_of
from neartag.data.files import fault, read_bytes, reading, replacing, shown, split_ending
from neartag.data.mapped import Arrays
from neartag.data.names import names_beside, write_names_beside

_HEADER = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]*\r?")
_TOKEN = re.compile(rb"[^ \t\r\n]*")
_UNSURE_ROOM = 4096  # values to settle by exact reading: about one in ten million, so one round is the rule
_BLOCK_BYTES = 1 << 22  # text read or made at a time


class _Header(NamedTuple):
    """What a file's first line says."""

    points: int
    features: int
    labels: int


def read_xmc(path: Path | str, *, name: str | None = None, map_from: int | None = None) -> Dataset:
    """Return the points of a file in the XMC format, compressed or not, with the names that stand beside it.

    Entries that take more than `map_from` bytes are kept in unnamed temporary files, which are mapped, instead of in
    memory; None: more than a quarter of the memory there is.
    """
    path = Path(path)
    with reading(path) as stream:
        header = _read_header(stream.readline(), path)
        X, Y = _read_rows(stream, header, path, Arrays(path, map_from))
    repeated = first_repeated(X)
    if repeated is not None:
        ids = X.indices[X.indptr[repeated] : X.indptr[repeated + 1]]
        twice = int(ids[1:][ids[1:] == ids[:-1]][0])
        raise fault(path, repeated + 2, f"feature {twice} occurs more than once", "give each feature one value")
    if not Y.has_canonical_format:  # put right here, for in arrays that are ours it takes no copy
        Y.sum_duplicates()
        Y.data[:] = 1
    return Dataset(X=X, Y=label_rows(Y), name=name or split_ending(path)[0], **names_beside(path, *header))


def read_sizes(path: Path | str) -> tuple[int, int, int]:
    """Return how many points, features and labels a file's first line says that there are."""
    with reading(path) as stream:
        return _read_header(stream.readline(), Path(path))


def write_xmc(dataset: Dataset, path: Path | str) -> None:
    """Write a data set in the XMC format, values with the fewest digits that read back as the same float32."""
    from neartag.data.xmc_kernels import LABEL_BYTES, PAIR_BYTES, render_rows  # numba takes half a second to import

    path = Path(path)
    X, Y = feature_rows(dataset.X, dataset.name), label_rows(dataset.Y)
    write_names_beside(dataset, path)
    pointers = Y.indptr.astype(np.int64), X.indptr.astype(np.int64)
    ends = pointers[0] * LABEL_BYTES + pointers[1] * PAIR_BYTES + np.arange(dataset.n_points + 1)  # most bytes so far
    label_ids, feature_ids = Y.indices.astype(np.int32, copy=False), X.indices.astype(np.int32, copy=False)
    with replacing(path) as stream:
        stream.write(b"%d %d %d\n" % (dataset.n_points, dataset.n_features, dataset.n_labels))
        first = 0
        while first < dataset.n_points:
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + _BLOCK_BYTES, side="right")) - 1)
            out = np.empty(ends[last] - ends[first], dtype=np.uint8)
            size = render_rows(pointers[0], label_ids, pointers[1], feature_ids, X.data, first, last, out)
            stream.write(out[:size].data)
            first = last


def read_split(
    data_path: Path | str, train_split_path: Path | str, test_split_path: Path | str, column: int = 0
) -> tuple[Dataset, Dataset]:
    """Return the training and the test points that one column of the two split files picks from a data file.

    Each column of a split file is a split; its entries are the numbers of rows, from 1.
    """
    data = read_xmc(data_path)
    train, test = (data.take(_read_column(Path(path), column, data)) for path in (train_split_path, test_split_path))
    return train, test


def nearest_single(text: str) -> np.float32:
    """Return the float32 nearest to a decimal number, infinity if it is too large.

    Through a double the number is rounded twice, which goes wrong where the double lies just between two float32.
    """
    double = float(text)
    with np.errstate(over="ignore"):
        single = np.float32(double)
        other = np.float32(2 * double - float(single))  # the other neighbour, where the double lies just between
    halfway = float(single) != double and float(single) + float(other) == 2 * double
    if not halfway or not np.isfinite(single):
        return single
    exact, middle = Decimal(text), Decimal(double)
    if exact == middle:
        return single
    return max(single, other) if exact > middle else min(single, other)


def _read_header(line: bytes, path: Path) -> _Header:
    """Return the numbers of points, features and labels that the first line gives."""
    remedy = "the first line must be the numbers of points, features and labels, such as '4880 1836 159'"
    if not line:
        raise fault(path, 1, "the file is empty", remedy)
    line = line.removesuffix(b"\n")
    match = _HEADER.fullmatch(line)
    if match is None:
        raise fault(path, 1, f"the header is {shown(line)}", remedy)
    header = _Header(*map(int, match.groups()))
    if max(header.features, header.labels) > LARGEST_ID + 1:
        found = f"the header gives {header.features} features and {header.labels} labels"
        raise fault(path, 1, found, f"there may be at most {LARGEST_ID + 1} of either")
    return header


def _read_rows(stream: IO[bytes], header: _Header, path: Path, arrays: Arrays) -> tuple[csr_matrix, csr_matrix]:
    """Return feature and label rows; ids may still be unordered and repeated."""
    label_ends, feature_ends = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    label_ids, ones = arrays.grow(np.int32), arrays.grow(np.float32)
    feature_ids, values = arrays.grow(np.int32), arrays.grow(np.float32)
    lines, wrong = 0, None
    for block in _blocks(stream):
        first, lines = lines, lines + block.count(b"\n") + (not block.endswith(b"\n"))
        if wrong is not None or lines > header.points:
            continue  # lines are only counted any more
        try:
            rows = _parse(block, lines - first, first + 2, header, path)
        except DataError as error:
            wrong = error  # but should lines be missing, that says more than half a line
            continue
        label_ends.append(rows.label_ends + label_ends[-1][-1])
        label_ids.append(rows.label_ids)
        ones.append(np.ones(rows.label_ids.size, np.float32))
        feature_ends.append(rows.feature_ends + feature_ends[-1][-1])
        feature_ids.append(rows.feature_ids)
        values.append(rows.values)
    _check_lines(lines, header.points, path)
    if wrong is not None:
        raise wrong
    X = rows_of(np.concatenate(feature_ends), feature_ids.finished(), values.finished(), header.features)
    return X, rows_of(np.concatenate(label_ends), label_ids.finished(), ones.finished(), header.labels)


def _check_lines(lines: int, points: int, path: Path) -> None:
    if lines != points:
        found = f"the header says {points} points, but {lines} lines follow it"
        line = min(lines, points) + (2 if lines > points else 1)
        remedy = "remove the extra lines or correct the header" if lines > points else "the file may be cut short"
        raise fault(path, line, found, remedy)


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the rest of a file in blocks of whole lines: the text of all of it would take more than the entries."""
    rest = b""
    while block := stream.read(_BLOCK_BYTES):
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
            rest = block[end:]
        else:
            rest += block
    if rest:
        yield rest


class _Block(NamedTuple):
    """Rows read from a block of lines: ids and values, and where those of each row end."""

    label_ends: np.ndarray
    label_ids: np.ndarray
    feature_ends: np.ndarray
    feature_ids: np.ndarray
    values: np.ndarray


def _parse(block: bytes, lines: int, first_line: int, header: _Header, path: Path) -> _Block:
    """Return the rows in a block of whole lines, the first of which has the given number."""
    from neartag.data.xmc_kernels import FINE, TOO_LARGE, parse_rows  # numba takes half a second to import

    _, features, labels = header
    label_pointers, feature_pointers = np.zeros((2, lines + 1), dtype=np.int64)
    # Commas and colons bound the labels and pairs, so that the rows are read in one go.
    label_ids = np.empty(block.count(b",") + lines, dtype=np.int32)
    feature_ids = np.empty(block.count(b":"), dtype=np.int32)
    values = np.empty(feature_ids.size, dtype=np.float32)
    buffer = np.frombuffer(block, dtype=np.uint8)
    unsure_count, unsure = _UNSURE_ROOM, np.empty((0, 2), dtype=np.int64)
    while unsure_count > len(unsure):
        unsure = np.empty((unsure_count, 2), dtype=np.int64)
        problem, position, label_count, pair_count, unsure_count = parse_rows(
            buffer, 0, features, labels, label_pointers, label_ids, feature_pointers, feature_ids, values, unsure
        )
        if problem != FINE:
            raise _row_fault(block, problem, position, first_line, header, path)
    for slot, position in unsure[:unsure_count].tolist():
        values[slot] = nearest_single(_token(block, position).decode())
        if np.isinf(values[slot]):
            raise _row_fault(block, TOO_LARGE, position, first_line, header, path)
    return _Block(
        label_pointers[1:], label_ids[:label_count], feature_pointers[1:], feature_ids[:pair_count], values[:pair_count]
    )


def _row_fault(block: bytes, problem: int, position: int, first_line: int, header: _Header, path: Path) -> DataError:
    """Return the error for the token at a position where the kernel stopped."""
    from neartag.data import xmc_kernels as kernels

    if problem == kernels.BAD_LABEL:
        position = block.rfind(b"\n", 0, position) + 1  # the list of labels as a whole says more than its end
    token = _token(block, position)
    whole = shown(token)
    separate = "labels are separated by commas, and a point without labels begins with a space"
    pair = "write features as id:value, separated by spaces"
    found, remedy = {
        kernels.BAD_LABEL: (f"expected labels, found {whole}", separate),
        kernels.LABEL_RANGE: (
            f"label {shown(token.partition(b',')[0])} is not below {header.labels}",
            "correct it or the header",
        ),
        kernels.BAD_FEATURE: (f"expected a feature, found {whole}", pair),
        kernels.FEATURE_RANGE: (
            f"feature {shown(token.partition(b':')[0])} is not below {header.features}",
            "correct it or the header",
        ),
        kernels.BAD_VALUE: (f"the value in {whole} is not a finite number", pair),
        kernels.TOO_LARGE: (f"the value {whole} does not fit into float32", "scale the features"),
    }[problem]
    return fault(path, first_line + block.count(b"\n", 0, position), found, remedy)


def _token(block: bytes, position: int) -> bytes:
    """Return the bytes from a position to the next blank or line end."""
    match = _TOKEN.match(block, position)
    return match.group() if match else b""


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
