"""Feature and label rows as JSON lines, one object per point: `{"features": {"12": 0.5}, "labels": [3, 17]}`.

A point may have a `"name"`. `write_jsonl` begins the file with a header, so that nothing is lost:
`{"format": "neartag-sparse", "points": n, "features": d, "labels": L, "features_by": "name" or "id",
"feature_names": […], "label_names": […]}`; the lists only if there are names. Labels are ids if they are numbers, and
names if they are strings. Without a header, labels that are all numbers are ids, and so are features that are all
written in digits; names get their ids in sorted order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from neartag.core.errors import DataError
from neartag.core.processes import map_in_order, offered_processes
from neartag.data.dataset import Dataset, feature_rows, label_rows
from neartag.data.files import line_error, open_to_replace, split_ending
from neartag.data.formats.jsonlines_rows import FORMAT, RowCollector, parse_lines, parse_points
from neartag.data.formats.names import encode_text
from neartag.data.json_objects import read_objects
from neartag.data.line_blocks import read_line_blocks

_BLOCK_POINTS = 4096  # whose values are shortened at a time
_IN_A_SECOND = 2**23  # bytes of lines that one process reads
_POINT_REMEDY = 'a point is written as {"features": {"id or name": value}, "labels": [ids or names]}'


def read_jsonl(
    path: Path | str, *, name: str | None = None, labelled: bool = True, map_from: int | None = None
) -> Dataset:
    """Return the rows in a file of JSON lines, with or without the header that `write_jsonl` writes.

    Parameters
    ----------
    path : Path or str
    name : str, optional
        Name of the data set; by default the file's name without endings.
    labelled : bool, default True
        Whether each point must have `"labels"`, if only an empty list. Otherwise a point without has no labels.
    map_from : int, optional
        Rows that take more bytes than this are kept in unnamed temporary files, which are mapped, instead of in
        memory. By default a quarter of the memory.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If the file is missing or wrong; the message says in which line.
    """
    rows = RowCollector(path, labelled, map_from)
    read = _collect_lines if offered_processes() is None or not Path(path).is_file() else _collect_blocks
    last_line = read(rows, path)
    try:
        return rows.make_dataset(name or split_ending(path)[0])
    except DataError as error:
        raise DataError(f"{path}:{last_line}: {error}") from error


def _collect_lines(rows: RowCollector, path: Path | str) -> int:
    """Collect the points of a file line by line, and return the number of the last line that has one."""
    return _collect_points(rows, path, read_objects(path)) or 1


def _collect_blocks(rows: RowCollector, path: Path | str) -> int:
    """Do the same block by block, which other processes parse; what they cannot settle is parsed here again."""
    last_line = 1
    parse = partial(parse_points, path, rows.labelled)
    for block, parsed in map_in_order(parse, read_line_blocks(path), lambda block: len(block[1]) / _IN_A_SECOND):
        if parsed is not None and rows.add_block(parsed):
            last_line = parsed.last_line or last_line
        else:
            last_line = _collect_points(rows, path, parse_lines(path, *block)) or last_line
    return last_line


def _collect_points(rows: RowCollector, path: Path | str, points: Iterable[tuple[int, dict[str, Any]]]) -> int:
    """Add points, and return the number of the last one's line, 0 where there is none."""
    number = 0
    for number, point in points:
        try:
            rows.add(point)
        except DataError as error:
            raise line_error(path, number, str(error), _POINT_REMEDY) from error
    return number


def write_jsonl(dataset: Dataset, path: Path | str) -> None:
    """Write a data set as JSON lines: by names if each stands for one id only, else by ids."""
    X, Y = feature_rows(dataset.X, dataset.name), label_rows(dataset.Y)
    features = _if_unique(dataset.feature_names) or range(dataset.n_features)
    labels = _if_unique(dataset.label_names) or range(dataset.n_labels)
    header: dict[str, Any] = {
        "format": FORMAT,
        "points": dataset.n_points,
        "features": dataset.n_features,
        "labels": dataset.n_labels,
        "features_by": "id" if isinstance(features, range) else "name",
    }
    for key in ("feature_names", "label_names"):
        if getattr(dataset, key) is not None:
            header[key] = getattr(dataset, key)
    with open_to_replace(path) as stream:
        stream.write(_encode_line(header, path))
        for start in range(0, dataset.n_points, _BLOCK_POINTS):
            stop = min(start + _BLOCK_POINTS, dataset.n_points)
            first = X.indptr[start]
            values = _shorten(X.data[first : X.indptr[stop]])
            for row in range(start, stop):
                pairs = slice(X.indptr[row], X.indptr[row + 1])
                keys = [str(features[column]) for column in X.indices[pairs].tolist()]
                point: dict[str, Any] = {
                    "features": dict(zip(keys, values[pairs.start - first : pairs.stop - first], strict=True)),
                    "labels": [labels[column] for column in Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist()],
                }
                if dataset.point_names is not None:
                    point["name"] = dataset.point_names[row]
                stream.write(_encode_line(point, path))


def _if_unique(names: list[str] | None) -> list[str] | None:
    return names if names and len(set(names)) == len(names) else None


def _shorten(values: np.ndarray) -> list[float]:
    """Return float32 values as the doubles with few digits that read back as the same float32."""
    short = values.astype("U").astype(np.float64)
    return np.where(short.astype(np.float32) == values, short, values.astype(np.float64)).tolist()


def _encode_line(value: dict[str, Any], path: Path | str) -> bytes:
    return encode_text(json.dumps(value, ensure_ascii=False) + "\n", path)
