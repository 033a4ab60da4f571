"""JSON lines, and sparse rows written so: one object a point, `{"features": {"12": 0.5, "40": 1}, "labels": [3, 17]}`.

A point may have a `"name"`. What `write_jsonl` writes begins with a header, so that nothing is lost:
`{"format": "neartag-sparse", "points": n, "features": d, "labels": L, "features_by": "name" or "id",
"feature_names": […], "label_names": […]}`, the lists only where there are names. Labels are ids where they are numbers
and names where they are strings. Without a header, labels that are all numbers are ids, and so are features that are
all written in digits; names get their ids in sorted order. Points that are only to be predicted for need no `"labels"`:
`read_jsonl` with `labelled=False` takes one without them as a point without labels.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from neartag.core.errors import DataError
from neartag.data.dataset import LARGEST_ID, Dataset, feature_rows, label_rows, rows_of
from neartag.data.files import fault, read_lines, replacing, split_ending
from neartag.data.names import encoded

_OBJECT_REMEDY = "each line must be one JSON object, in UTF-8"
_FORMAT = "neartag-sparse"
_TOO_LARGE = 2**128 - 2**103  # from here on a number rounds to infinity in float32
_BLOCK_ROWS = 4096  # points whose values are shortened at a time
_POINT_REMEDY = 'a point is written as {"features": {"id or name": value}, "labels": [ids or names]}'
_KINDS = {
    dict: "object",
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def objects(path: Path | str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each line's number and its object; empty lines are passed over, compression is by ending."""
    for number, line in read_lines(path):
        if line.strip():
            yield number, object_in(path, number, line)


def object_in(path: Path | str, number: int, line: bytes) -> dict[str, Any]:
    """Return the object that a line is; a byte order mark may stand before the first."""
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        value = json.loads(text, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise fault(path, number, f"cannot be read as JSON ({error})", _OBJECT_REMEDY) from error
    if not isinstance(value, dict):
        raise fault(path, number, f"is a JSON {kind(value)}", _OBJECT_REMEDY)
    return value


def kind(value: object) -> str:
    """Return what JSON calls a value."""
    return _KINDS.get(type(value), "value")


def found(point: dict[str, Any], field: str) -> str:
    """Return what an object has in a field, for an error's message."""
    return f"{field!r} is a JSON {kind(point[field])}" if field in point else f"there is no {field!r}"


def read_jsonl(path: Path | str, *, name: str | None = None, labelled: bool = True) -> Dataset:
    """Return the sparse rows of a file of JSON lines, with or without the header that `write_jsonl` gives it.

    A point must have `"labels"`, be it an empty list, unless `labelled` is false: then one without has no labels.
    """
    rows, number = _Rows(labelled), 1
    for number, point in objects(path):
        try:
            rows.add(point)
        except DataError as error:
            raise fault(path, number, str(error), _POINT_REMEDY) from error
    try:
        return rows.dataset(name or split_ending(path)[0])
    except DataError as error:
        raise DataError(f"{path}:{number}: {error}") from error


def write_jsonl(dataset: Dataset, path: Path | str) -> None:
    """Write a data set as JSON lines, by names where each stands for one id only, else by ids."""
    X, Y = feature_rows(dataset.X, dataset.name), label_rows(dataset.Y)
    features = _unique(dataset.feature_names) or range(dataset.n_features)
    labels = _unique(dataset.label_names) or range(dataset.n_labels)
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
    with replacing(path) as stream:
        stream.write(_line(header, path))
        for start in range(0, dataset.n_points, _BLOCK_ROWS):
            stop = min(start + _BLOCK_ROWS, dataset.n_points)
            first = X.indptr[start]
            values = _short(X.data[first : X.indptr[stop]])
            for row in range(start, stop):
                pairs = slice(X.indptr[row], X.indptr[row + 1])
                keys = [str(features[place]) for place in X.indices[pairs].tolist()]
                point: dict[str, Any] = {
                    "features": dict(zip(keys, values[pairs.start - first : pairs.stop - first], strict=True)),
                    "labels": [labels[place] for place in Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist()],
                }
                if dataset.point_names is not None:
                    point["name"] = dataset.point_names[row]
                stream.write(_line(point, path))


class _Rows:
    """The points read so far, in arrays that grow."""

    def __init__(self, labelled: bool) -> None:
        self.labelled = labelled
        self.points: int | None = None  # as the header says
        self.features, self.labels = _Keys("feature"), _Keys("label")
        self.features_by_id = False
        self.feature_ids, self.label_ids, self.values = array("i"), array("i"), array("d")
        self.feature_pointers, self.label_pointers = array("q", [0]), array("q", [0])
        self.names: list[str] = []

    def add(self, point: dict[str, Any]) -> None:
        if point.get("format") == _FORMAT:
            self._add_header(point)
            return
        keys: list[Any] = list(_field(point, "features", dict))
        if self.features_by_id:
            keys = [_whole(key) if _whole(key) is not None else key for key in keys]
        self.feature_ids.extend([self.features.find(key) for key in keys])
        self.values.extend([_finite(value) for value in point["features"].values()])
        if self.labelled or "labels" in point:
            self.label_ids.extend([self.labels.find(key) for key in _field(point, "labels", list)])
        if "name" in point:
            self.names.append(_field(point, "name", str))
        self.feature_pointers.append(len(self.feature_ids))
        self.label_pointers.append(len(self.label_ids))

    def _add_header(self, header: dict[str, Any]) -> None:
        if self.points is not None or len(self.feature_pointers) > 1:
            raise DataError("the header stands after the first line")
        self.points = _field(header, "points", int)
        counts = {what: _field(header, what, int) for what in ("features", "labels")}
        names: dict[str, list[str] | None] = {}
        for what, count in counts.items():
            key = f"{what[:-1]}_names"
            names[what] = _field(header, key, list) if key in header else None
            if not 0 <= count <= LARGEST_ID + 1:
                raise DataError(f"the header says {count} {what}")
            if names[what] is not None and not all(isinstance(name, str) for name in header[key]):
                raise DataError(f"the header's {key!r} must be strings")
            if names[what] is not None and len(header[key]) != count:
                raise DataError(f"the header has {len(header[key])} {key} for {count} {what}")
        self.features = _Keys("feature", count=counts["features"], names=names["features"])
        self.labels = _Keys("label", count=counts["labels"], names=names["labels"])
        self.features_by_id = _field(header, "features_by", str) == "id"

    def dataset(self, name: str) -> Dataset:
        points = len(self.feature_pointers) - 1
        if self.points is None and points == 0:
            raise DataError("the file is empty; give it one JSON object a point")
        if self.points not in (None, points):
            raise DataError(f"the header says {self.points} points, but {points} follow; the file may be cut short")
        if self.names and len(self.names) < points:
            raise DataError(f"only {len(self.names)} of {points} points have a name; name all of them or none")
        places = np.array(self.feature_ids, dtype=np.int32), np.array(self.label_ids, dtype=np.int32)
        feature_ids, n_features, feature_names = self.features.settled(places[0], digits_are_ids=True)
        label_ids, n_labels, label_names = self.labels.settled(places[1], digits_are_ids=False)
        values = np.array(self.values, dtype=np.float64).astype(np.float32)
        X = rows_of(np.array(self.feature_pointers, dtype=np.int64), feature_ids, values, n_features)
        Y = rows_of(np.array(self.label_pointers, dtype=np.int64), label_ids, None, n_labels)
        return Dataset(
            X=feature_rows(X, name),
            Y=label_rows(Y),
            label_names=label_names,
            feature_names=feature_names,
            point_names=self.names or None,
            name=name,
        )


class _Keys:
    """The ids of a file's features or labels: told by its header, or found out as the file is read."""

    def __init__(self, what: str, *, count: int | None = None, names: list[str] | None = None) -> None:
        self.what = what
        self.count = count  # None where there is no header: then whatever comes is noted down
        self.names = names
        self.place: dict[str | int, int] = {}
        if names is not None:
            # A name that two ids share cannot say which of them is meant.
            shared: set[str] = set()
            for number, name in enumerate(names):
                if self.place.setdefault(name, number) != number:
                    shared.add(name)
            for name in shared:
                del self.place[name]

    def find(self, key: str | int) -> int:
        """Return the id of a name or of an id; without a header, the place at which `settled` will put it."""
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise DataError(f"a {self.what} must be an id or a name, not {key!r}")
        if self.count is None:
            return self.place.setdefault(key, len(self.place))
        if isinstance(key, int):
            if not 0 <= key < self.count:
                raise DataError(f"{self.what} {key} is not from 0 to {self.count - 1}")
            return key
        if key not in self.place:
            raise DataError(f"the header has no {self.what} {key[:40]!r}, or has it twice")
        return self.place[key]

    def settled(self, places: np.ndarray, *, digits_are_ids: bool) -> tuple[np.ndarray, int, list[str] | None]:
        """Return what `find` returned as final ids, how many ids there are, and their names."""
        if self.count is not None:
            return places, self.count, self.names
        keys = list(self.place)
        ids = [key if isinstance(key, int) else _whole(key) if digits_are_ids else None for key in keys]
        numbers = [number for number in ids if number is not None]
        if len(numbers) == len(keys):
            if numbers and not 0 <= min(numbers) <= max(numbers) <= LARGEST_ID:
                raise DataError(
                    f"{self.what} ids run from {min(numbers)} to {max(numbers)}, not within 0 to {LARGEST_ID}"
                )
            return np.array(numbers, dtype=np.int32)[places], max(numbers, default=-1) + 1, None
        texts = [key for key in keys if isinstance(key, str)]
        if len(texts) < len(keys):
            raise DataError(f"some {self.what}s are numbers and some are strings; write all as ids or all as names")
        names = sorted(texts)
        rank = {name: number for number, name in enumerate(names)}
        return np.array([rank[name] for name in texts], dtype=np.int32)[places], len(names), names


def _whole(text: str) -> int | None:
    """Return the id that a text writes in the one usual way (no sign, no leading zero), else None."""
    if text.isascii() and text.isdigit() and len(text) < 19 and str(int(text)) == text:
        return int(text)
    return None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's fields; JSON would silently keep the last of two alike."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"{key!r} occurs twice in one object")
            seen.add(key)
    return fields


def _field(point: dict[str, Any], field: str, wanted: type) -> Any:
    if type(point.get(field)) is not wanted:
        raise DataError(f"{found(point, field)}, wanted a JSON {kind(wanted())}")
    return point[field]


def _finite(value: object) -> float:
    """Return a value that float32 can hold."""
    if type(value) in (int, float) and abs(value) < _TOO_LARGE:  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    raise DataError(f"the value {str(value)[:40]} is not a finite float32 number")


def _unique(names: list[str] | None) -> list[str] | None:
    return names if names and len(set(names)) == len(names) else None


def _short(values: np.ndarray) -> list[float]:
    """Return float32 values as the doubles with few digits that read back as the same float32."""
    short = values.astype("U").astype(np.float64)
    return np.where(short.astype(np.float32) == values, short, values.astype(np.float64)).tolist()


def _line(value: dict[str, Any], path: Path | str) -> bytes:
    return encoded(json.dumps(value, ensure_ascii=False) + "\n", path)
