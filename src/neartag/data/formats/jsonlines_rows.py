"""Points of JSON lines as rows: collected in arrays that go into files when they are large, block by block of lines."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neartag.core.errors import DataError
from neartag.data.dataset import MAX_ID, Dataset, feature_rows, label_rows, make_rows
from neartag.data.formats.keys import Keys, parse_id
from neartag.data.json_objects import describe_field, json_type, parse_object
from neartag.data.line_blocks import split_lines
from neartag.data.mapped import SpillableArrays

FORMAT = "neartag-sparse"
_FIRST_INFINITE = 2**128 - 2**103  # numbers from here on round to infinity in float32
_MAX_WAITING = 2**16  # entries, before they go where they may be in a file


class PointBlock(NamedTuple):
    """The points of some lines, whose features and labels have numbers of their own here."""

    features: list[str]  # by number
    feature_numbers: np.ndarray  # (nnz,) int32
    values: np.ndarray  # (nnz,) float32
    feature_counts: np.ndarray  # (n,) int32, of each point
    labels: list[str | int]  # by number
    label_numbers: np.ndarray
    label_counts: np.ndarray
    names: list[str]
    last_line: int  # that has a point; 0 where none has


class RowCollector:
    """The points read so far."""

    def __init__(self, path: Path | str, labelled: bool, map_from: int | None = None) -> None:
        self.labelled = labelled
        self.n_points = 0
        self.header_points: int | None = None  # None: there is no header
        self.features, self.labels = Keys("feature"), Keys("label")
        self.features_by_id = False
        self.names: list[str] = []
        arrays = SpillableArrays(path, map_from)
        self._feature_ids, self._values = arrays.new(np.int32), arrays.new(np.float32)
        self._label_ids, self._ones = arrays.new(np.int32), arrays.new(np.float32)
        self._feature_counts, self._label_counts = array("i"), array("i")
        self._clear_waiting()

    def add(self, point: dict[str, Any]) -> None:
        """Add a point, or take the header."""
        if point.get("format") == FORMAT:
            self._add_header(point)
            return
        keys = [self._key(key) for key in _get(point, "features", dict)]
        features = [self.features.number(key) for key in keys]
        values = [_parse_value(value) for value in point["features"].values()]
        labels: list[int] = []
        if self.labelled or "labels" in point:
            labels = [self.labels.number(key) for key in _get(point, "labels", list)]
        if "name" in point:
            self.names.append(_get(point, "name", str))
        self._waiting_features.extend(features)
        self._waiting_values.extend(values)
        self._waiting_labels.extend(labels)
        self._feature_counts.append(len(features))
        self._label_counts.append(len(labels))
        self.n_points += 1
        if len(self._waiting_features) + len(self._waiting_labels) > _MAX_WAITING:
            self._flush()

    def add_block(self, block: PointBlock) -> bool:
        """Add the points of a block; False, with nothing added, where one has a feature or label that cannot be."""
        try:
            feature_ids = [self.features.number(self._key(key)) for key in block.features]
            label_ids = [self.labels.number(key) for key in block.labels]
        except DataError:  # the header does not have it
            return False
        self._flush()
        self._append(
            np.array(feature_ids, np.int32)[block.feature_numbers],
            block.values,
            np.array(label_ids, np.int32)[block.label_numbers],
        )
        self._feature_counts.frombytes(block.feature_counts.tobytes())
        self._label_counts.frombytes(block.label_counts.tobytes())
        self.names += block.names
        self.n_points += len(block.feature_counts)
        return True

    def to_block(self, last_line: int) -> PointBlock:
        """Return all points as a block, where no header was read."""
        self._flush()
        return PointBlock(
            [str(key) for key in self.features.seen],
            self._feature_ids.finish(),
            self._values.finish(),
            np.array(self._feature_counts, np.int32),
            self.labels.seen,
            self._label_ids.finish(),
            np.array(self._label_counts, np.int32),
            self.names,
            last_line,
        )

    def make_dataset(self, name: str) -> Dataset:
        """Return the points as a data set."""
        points = self.n_points
        if self.header_points is None and points == 0:
            raise DataError("the file is empty; give it one JSON object per point")
        if self.header_points not in (None, points):
            raise DataError(
                f"the header says {self.header_points} points, but {points} follow; the file may be cut short"
            )
        if self.names and len(self.names) < points:
            raise DataError(f"only {len(self.names)} of {points} points have a name; name all of them or none")
        self._flush()
        new_feature, n_features, feature_names = self.features.final_ids(digits_are_ids=True)
        new_label, n_labels, label_names = self.labels.final_ids(digits_are_ids=False)
        feature_ids = _renumber(self._feature_ids.finish(), new_feature)
        label_ids = _renumber(self._label_ids.finish(), new_label)
        X = make_rows(_pointer(self._feature_counts), feature_ids, self._values.finish(), n_features)
        Y = make_rows(_pointer(self._label_counts), label_ids, self._ones.finish(), n_labels)
        for rows in (X, Y):  # done here, because the arrays are ours: it takes no copy
            if not rows.has_canonical_format:
                rows.sum_duplicates()
        Y.data[:] = 1
        return Dataset(
            X=feature_rows(X, name),
            Y=label_rows(Y),
            label_names=label_names,
            feature_names=feature_names,
            point_names=self.names or None,
            name=name,
        )

    def _key(self, key: str) -> str | int:
        """Return a feature as the file means it: by its id where the header says so and it is one."""
        number = parse_id(key) if self.features_by_id else None
        return key if number is None else number

    def _add_header(self, header: dict[str, Any]) -> None:
        if self.header_points is not None or self.n_points:
            raise DataError("the header stands after the first line")
        self.header_points = _get(header, "points", int)
        self.features, self.labels = _header_keys(header, "feature"), _header_keys(header, "label")
        self.features_by_id = _get(header, "features_by", str) == "id"

    def _flush(self) -> None:
        """Put what waits into the large arrays."""
        if self._waiting_features or self._waiting_labels:
            # Through float64, as Python has numbers: rounding once.
            values = np.array(self._waiting_values, np.float64).astype(np.float32)
            self._append(np.array(self._waiting_features, np.int32), values, np.array(self._waiting_labels, np.int32))
            self._clear_waiting()

    def _append(self, feature_ids: np.ndarray, values: np.ndarray, label_ids: np.ndarray) -> None:
        self._feature_ids.append(feature_ids)
        self._values.append(values)
        self._label_ids.append(label_ids)
        self._ones.append(np.ones(len(label_ids), np.float32))

    def _clear_waiting(self) -> None:
        self._waiting_features, self._waiting_labels, self._waiting_values = array("i"), array("i"), array("d")


def parse_points(path: Path | str, labelled: bool, first: int, content: bytes) -> PointBlock | None:
    """Return the points in a block of lines, the first of which has this number.

    None where a line is wrong, or is the header: what that means only those can tell who have read all lines before.
    """
    rows = RowCollector(path, labelled, map_from=sys.maxsize)
    last_line = 0
    try:
        for last_line, point in parse_lines(path, first, content):  # noqa: B007 (used after the loop)
            rows.add(point)
    except DataError:
        return None
    return rows.to_block(last_line) if rows.header_points is None else None


def parse_lines(path: Path | str, first: int, content: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line of a block and its object; empty lines are skipped."""
    for number, line in split_lines(first, content):
        if line.strip():
            yield number, parse_object(path, number, line)


def _renumber(ids: np.ndarray, new_id: np.ndarray | None) -> np.ndarray:
    """Return `new_id[ids]`, in the place of the ids, a part at a time; None: they stay."""
    if new_id is not None:
        for start in range(0, len(ids), _MAX_WAITING):
            ids[start : start + _MAX_WAITING] = new_id[ids[start : start + _MAX_WAITING]]
    return ids


def _pointer(counts: array[int]) -> np.ndarray:
    pointer = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(np.frombuffer(counts, np.int32), out=pointer[1:])
    return pointer


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
