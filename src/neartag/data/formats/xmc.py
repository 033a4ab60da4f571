"""The XMC repository's text format: one header line `points features labels`, then one line per point.

A point is written as `label,label id:value id:value …`. A point without labels has a line that begins with a space;
one with neither labels nor features has an empty line. Names stand in `labels.txt` and `features.txt` beside the data
file. Names of points, an addition of neartag, stand in a file with `.points` after the data file's name.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError
from neartag.core.threads import available_cores
from neartag.data.dataset import MAX_ID, Dataset, feature_rows, label_rows, make_rows, sort_and_find_repeated
from neartag.data.files import line_error, open_to_read, open_to_replace, quote, split_ending
from neartag.data.formats.names import read_names_beside, write_names_beside
from neartag.data.formats.xmc_rows import Header, RowBlock, parse_block
from neartag.data.mapped import SpillableArrays
from neartag.data.read_limits import LINE, limit, too_large

_MAX_HEADER_BYTES = 1000  # of three numbers; a wrong file may be one long line
_HEADER = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]*\r?")
BLOCK_BYTES = 1 << 22  # of text, read or written at a time


def read_xmc(
    path: Path | str, *, name: str | None = None, map_from: int | None = None, block_bytes: int = BLOCK_BYTES
) -> Dataset:
    """Return the points of a file in the XMC format, with the names that stand beside it.

    Parameters
    ----------
    path : Path or str
        May be compressed: .gz, .xz or .bz2 after its ending.
    name : str, optional
        Name of the data set; by default the file's name without endings.
    map_from : int, optional
        Rows that take more bytes than this are kept in unnamed temporary files, which are mapped, instead of in
        memory. By default a quarter of the memory.
    block_bytes : int
        Text that is read at a time.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If the file is missing or wrong; the message says in which line.
    """
    path = Path(path)
    with open_to_read(path) as stream:
        header = _parse_header(stream.readline(_MAX_HEADER_BYTES), path)
        X, Y = _read_rows(_read_blocks(stream, block_bytes, path), header, path, SpillableArrays(path, map_from))
    repeated = sort_and_find_repeated(X)
    if repeated is not None:
        ids = X.indices[X.indptr[repeated] : X.indptr[repeated + 1]]
        feature = int(ids[1:][ids[1:] == ids[:-1]][0])
        problem = f"feature {feature} occurs more than once"
        raise line_error(path, repeated + 2, problem, "give each feature one value")
    if not Y.has_canonical_format:  # done here, because the arrays are ours: it takes no copy
        Y.sum_duplicates()
        Y.data[:] = 1
    return Dataset(X=X, Y=label_rows(Y), name=name or split_ending(path)[0], **read_names_beside(path, *header))


def read_sizes(path: Path | str) -> tuple[int, int, int]:
    """Return the numbers of points, features and labels in a file's first line."""
    with open_to_read(path) as stream:
        return _parse_header(stream.readline(_MAX_HEADER_BYTES), Path(path))


def write_xmc(dataset: Dataset, path: Path | str, *, block_bytes: int = BLOCK_BYTES) -> None:
    """Write a data set in the XMC format; values get the fewest digits that read back as the same float32.

    Parameters
    ----------
    dataset : Dataset
    path : Path or str
        Compressed by its ending. Names go into files beside it.
    block_bytes : int
        Text that is made at a time.

    Raises
    ------
    DataError
        If the file cannot be written, a value is not finite, or other names stand beside it already.
    """
    from neartag.data.formats.xmc_kernels import LABEL_BYTES, PAIR_BYTES, render_rows  # numba imports slowly

    path = Path(path)
    X, Y = feature_rows(dataset.X, dataset.name), label_rows(dataset.Y)
    write_names_beside(dataset, path)
    pointers = Y.indptr.astype(np.int64), X.indptr.astype(np.int64)
    # The most bytes that the rows before each row can take: (n + 1,).
    ends = pointers[0] * LABEL_BYTES + pointers[1] * PAIR_BYTES + np.arange(dataset.n_points + 1)
    label_ids, feature_ids = Y.indices.astype(np.int32, copy=False), X.indices.astype(np.int32, copy=False)
    with open_to_replace(path) as stream:
        stream.write(b"%d %d %d\n" % (dataset.n_points, dataset.n_features, dataset.n_labels))
        first = 0
        while first < dataset.n_points:
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + block_bytes, side="right")) - 1)
            out = np.empty(ends[last] - ends[first], dtype=np.uint8)
            size = render_rows(pointers[0], label_ids, pointers[1], feature_ids, X.data, first, last, out)
            stream.write(out[:size].data)
            first = last


def _parse_header(line: bytes, path: Path) -> Header:
    """Return the numbers of points, features and labels in the first line."""
    remedy = "the first line must be the numbers of points, features and labels, such as '4880 1836 159'"
    if not line:
        raise line_error(path, 1, "the file is empty", remedy)
    line = line.removesuffix(b"\n")
    match = _HEADER.fullmatch(line)
    if match is None:
        raise line_error(path, 1, f"the header is {quote(line)}", remedy)
    header = Header(*map(int, match.groups()))
    if max(header.features, header.labels) > MAX_ID + 1:
        problem = f"the header gives {header.features} features and {header.labels} labels"
        raise line_error(path, 1, problem, f"there may be at most {MAX_ID + 1} of either")
    return header


def _read_blocks(stream: IO[bytes], block_bytes: int, path: Path) -> Iterator[bytes]:
    """Yield the rest of a file in blocks of whole lines: all of the text would take more memory than the rows."""
    longest = limit(LINE)
    rest: list[bytes] = []  # of a line that is longer than a block; joined once, at its end
    while block := stream.read(block_bytes):
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join([*rest, block[:end]])
            rest = [block[end:]]
        else:
            rest.append(block)
            if sum(map(len, rest)) > longest:
                raise too_large(path, f"it has a line that is longer than {longest:,} bytes", LINE)
    if any(rest):
        yield b"".join(rest)


def _read_rows(
    blocks: Iterator[bytes], header: Header, path: Path, arrays: SpillableArrays
) -> tuple[csr_matrix, csr_matrix]:
    """Return feature and label rows; ids may still be unsorted and repeated."""
    label_ends, feature_ends = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    label_ids, ones = arrays.new(np.int32), arrays.new(np.float32)
    feature_ids, values = arrays.new(np.int32), arrays.new(np.float32)
    lines, first_error = 0, None
    for count, parsed in _parse_ahead(blocks, header, path):
        lines += count
        if first_error is not None or parsed is None:
            continue  # from here on lines are only counted
        try:
            rows = parsed.result()
        except DataError as error:
            first_error = error  # raised later: if lines are missing, that says more than half a line does
            continue
        label_ends.append(rows.label_ends + label_ends[-1][-1])
        label_ids.append(rows.label_ids)
        ones.append(np.ones(rows.label_ids.size, np.float32))
        feature_ends.append(rows.feature_ends + feature_ends[-1][-1])
        feature_ids.append(rows.feature_ids)
        values.append(rows.values)
    _check_line_count(lines, header.points, path)
    if first_error is not None:
        raise first_error
    X = make_rows(np.concatenate(feature_ends), feature_ids.finish(), values.finish(), header.features)
    return X, make_rows(np.concatenate(label_ends), label_ids.finish(), ones.finish(), header.labels)


def _parse_ahead(blocks: Iterator[bytes], header: Header, path: Path) -> Iterator[tuple[int, Future[RowBlock] | None]]:
    """Yield for each block, in order, how many lines and which rows it has; None for those beyond the last point.

    As many blocks as there are cores are parsed at the same time, while the next ones are read.
    """
    from neartag.data.formats import xmc_kernels  # noqa: F401 (loaded here, before several threads want it)

    cores, lines = available_cores(), 0
    waiting: deque[tuple[int, Future[RowBlock] | None]] = deque()
    with ThreadPoolExecutor(cores) as pool:
        for block in blocks:
            first, lines = lines, lines + block.count(b"\n") + (not block.endswith(b"\n"))
            too_many, count = lines > header.points, lines - first
            parsed = None if too_many else pool.submit(parse_block, block, count, first + 2, header, path)
            waiting.append((count, parsed))
            if len(waiting) > cores:
                yield waiting.popleft()
        yield from waiting


def _check_line_count(lines: int, points: int, path: Path) -> None:
    if lines != points:
        problem = f"the header says {points} points, but {lines} lines follow it"
        line = min(lines, points) + (2 if lines > points else 1)
        remedy = "remove the extra lines or correct the header" if lines > points else "the file may be cut short"
        raise line_error(path, line, problem, remedy)
