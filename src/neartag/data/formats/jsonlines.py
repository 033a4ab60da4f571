"""Feature and label rows as JSON lines, one object per point: `{"features": {"12": 0.5}, "labels": [3, 17]}`.

A point may have a `"name"`. `write_jsonl` begins the file with a header, so that nothing is lost:
`{"format": "neartag-sparse", "points": n, "features": d, "labels": L, "features_by": "name" or "id",
"feature_names": […], "label_names": […]}`; the lists only if there are names. Labels are ids if they are numbers, and
names if they are strings. Without a header, labels that are all numbers are ids, and so are features that are all
written in digits; names get their ids in sorted order.
"""

from __future__ import annotations

import json
from array import array
from pathlib import Path
from typing import Any

import numpy as np

from neartag.core.errors import DataError
from neartag.data.dataset import MAX_ID, Dataset, feature_rows, label_rows, make_rows
from neartag.data.files import line_error, open_to_replace, split_ending
from neartag.data.formats.keys import Keys, parse_id
from neartag.data.formats.names import encode_text
from neartag.data.json_objects import describe_field, json_type, read_objects

_FORMAT = "neartag-sparse"
_FIRST_INFINITE = 2**128 - 2**103  # numbers from here on round to infinity in float32
_BLOCK_POINTS = 4096  # whose values are shortened at a time
_POINT_REMEDY = 'a point is written as {"features": {"id or name": value}, "labels": [ids or names]}'


def read_jsonl(path: Path | str, *, name: str | None = None, labelled: bool = True) -> Dataset:
    """Return the rows in a file of JSON lines, with or without the header that `write_jsonl` writes.

    Parameters
    ----------
    path : Path or str
    name : str, optional
        Name of the data set; by default the file's name without endings.
    labelled : bool, default True
        Whether each point must have `"labels"`, if only an empty list. Otherwise a point without has no labels.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If the file is missing or wrong; the message says in which line.
    """
    rows, number = _RowCollector(labelled), 1
    for number, point in read_objects(path):
        try:
            rows.add(point)
        except DataError as error:
            raise line_error(path, number, str(error), _POINT_REMEDY) from error
    try:
        return rows.make_dataset(name or split_ending(path)[0])
    except DataError as error:
        raise DataError(f"{path}:{number}: {error}") from error


def write_jsonl(dataset: Dataset, path: Path | str) -> None:
    """Write a data set as JSON lines: by names if each stands for one id only, else by ids."""
    X, Y = feature_rows(dataset.X, dataset.name), label_rows(dataset.Y)
    features = _if_unique(dataset.feature_names) or range(dataset.n_features)
    labels = _if_unique(dataset.label_names) or range(dataset.n_labels)
    header: dict[str, Any] = {
        "format": _FORMAT,
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


class _RowCollector:
    """The points read so far, in arrays that grow."""

    def __init__(self, labelled: bool) -> None:
        self.labelled = labelled
        self.header_points: int | None = None  # None: there is no header
        self.features, self.labels = Keys("feature"), Keys("label")
        self.features_by_id = False
        self.feature_ids, self.label_ids, self.values = array("i"), array("i"), array("d")
        self.feature_pointers, self.label_pointers = array("q", [0]), array("q", [0])
        self.names: list[str] = []

    def add(self, point: dict[str, Any]) -> None:
        """Add a point, or take the header."""
        if point.get("format") == _FORMAT:
            self._add_header(point)
            return
        keys: list[Any] = list(_get(point, "features", dict))
        if self.features_by_id:
            keys = [parse_id(key) if parse_id(key) is not None else key for key in keys]
        self.feature_ids.extend([self.features.number(key) for key in keys])
        self.values.extend([_parse_value(value) for value in point["features"].values()])
        if self.labelled or "labels" in point:
            self.label_ids.extend([self.labels.number(key) for key in _get(point, "labels", list)])
        if "name" in point:
            self.names.append(_get(point, "name", str))
        self.feature_pointers.append(len(self.feature_ids))
        self.label_pointers.append(len(self.label_ids))

    def _add_header(self, header: dict[str, Any]) -> None:
        if self.header_points is not None or len(self.feature_pointers) > 1:
            raise DataError("the header stands after the first line")
        self.header_points = _get(header, "points", int)
        self.features, self.labels = _header_keys(header, "feature"), _header_keys(header, "label")
        self.features_by_id = _get(header, "features_by", str) == "id"

    def make_dataset(self, name: str) -> Dataset:
        """Return the points as a data set."""
        points = len(self.feature_pointers) - 1
        if self.header_points is None and points == 0:
            raise DataError("the file is empty; give it one JSON object per point")
        if self.header_points not in (None, points):
            raise DataError(
                f"the header says {self.header_points} points, but {points} follow; the file may be cut short"
            )
        if self.names and len(self.names) < points:
            raise DataError(f"only {len(self.names)} of {points} points have a name; name all of them or none")
        numbers = np.array(self.feature_ids, dtype=np.int32), np.array(self.label_ids, dtype=np.int32)
        feature_ids, n_features, feature_names = self.features.final_ids(numbers[0], digits_are_ids=True)
        label_ids, n_labels, label_names = self.labels.final_ids(numbers[1], digits_are_ids=False)
        values = np.array(self.values, dtype=np.float64).astype(np.float32)
        X = make_rows(np.array(self.feature_pointers, dtype=np.int64), feature_ids, values, n_features)
        Y = make_rows(np.array(self.label_pointers, dtype=np.int64), label_ids, None, n_labels)
        return Dataset(
            X=feature_rows(X, name),
            Y=label_rows(Y),
            label_names=label_names,
            feature_names=feature_names,
            point_names=self.names or None,
            name=name,
        )


def _header_keys(header: dict[str, Any], what: str) -> Keys:
    """Return the ids of the features or labels that a header declares."""
    count, key = _get(header, f"{what}s", int), f"{what}_names"
    names: list[str] | None = _get(header, key, list) if key in header else None
    if not 0 <= count <= MAX_ID + 1:
        raise DataError(f"the header says {count} {what}s")
    if names is not None and not all(isinstance(name, str) for name in names):
        raise DataError(f"the header's {key!r} must be strings")
    if names is not None and len(names) != count:
        raise DataError(f"the header has {len(names)} {key} for {count} {what}s")
    return Keys(what, count=count, names=names)


def _get(point: dict[str, Any], field: str, wanted: type) -> Any:
    if type(point.get(field)) is not wanted:
        raise DataError(f"{describe_field(point, field)}, wanted a JSON {json_type(wanted())}")
    return point[field]


def _parse_value(value: object) -> float:
    """Return a value that float32 can hold."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _FIRST_INFINITE:
        return float(value)
    raise DataError(f"the value {str(value)[:40]} is not a finite float32 number")


def _if_unique(names: list[str] | None) -> list[str] | None:
    return names if names and len(set(names)) == len(names) else None


def _shorten(values: np.ndarray) -> list[float]:
    """Return float32 values as the doubles with few digits that read back as the same float32."""
    short = values.astype("U").astype(np.float64)
    return np.where(short.astype(np.float32) == values, short, values.astype(np.float64)).tolist()


def _encode_line(value: dict[str, Any], path: Path | str) -> bytes:
    return encode_text(json.dumps(value, ensure_ascii=False) + "\n", path)
