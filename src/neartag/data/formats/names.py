"""Names of labels, features and points in text files beside a data file: `labels.txt`, `features.txt`, `….points`."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from neartag.core.errors import DataError
from neartag.data.dataset import Dataset
from neartag.data.files import line_error, open_to_replace, read_lines, split_ending


class Names(TypedDict):
    """The three optional lists of names of a Dataset, under its fields' names."""

    label_names: list[str] | None
    feature_names: list[str] | None
    point_names: list[str] | None


def read_names(path: Path) -> list[str]:
    """Return the names in a file: line k + 1 names id k, by the text after its first tab if it has one."""
    names = []
    for number, line in read_lines(path):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise line_error(path, number, f"not UTF-8 ({error.reason})", "save the file as UTF-8") from error
        names.append(text.partition("\t")[2] if "\t" in text else text)
    return names


def read_names_beside(path: Path, points: int, features: int, labels: int) -> Names:
    """Return the names that stand beside a data file of so many points, features and labels."""
    return {
        "label_names": _read_exactly(path.with_name("labels.txt"), labels, "labels", path),
        "feature_names": _read_exactly(path.with_name("features.txt"), features, "features", path),
        "point_names": _read_exactly(_points_file(path), points, "points", path),
    }


def write_names_beside(dataset: Dataset, path: Path) -> None:
    """Write the names of a data set beside its data file; DataError if other names stand there."""
    for target, names, count in (
        (path.with_name("labels.txt"), dataset.label_names, dataset.n_labels),
        (path.with_name("features.txt"), dataset.feature_names, dataset.n_features),
    ):
        # Other data files in the folder share these two, so they must agree and are never replaced.
        present = read_names(target) if target.exists() else None
        if present is not None and (len(present) != count if names is None else present != names):
            raise DataError(f"{target}: holds other names than {dataset.name}; write to another folder")
        if names is not None and present is None:
            _write_names(names, target)
    # This one is the data file's own: without names now, one that is there belongs to the file that is replaced.
    if dataset.point_names is not None:
        _write_names(dataset.point_names, _points_file(path))
    else:
        _points_file(path).unlink(missing_ok=True)


def encode_text(text: str, path: Path | str) -> bytes:
    """Return a text as UTF-8; DataError if it is not valid Unicode."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{path}: cannot hold {text[:40]!a}, which is not valid Unicode; correct the name") from error


def _write_names(names: list[str], target: Path) -> None:
    for number, name in enumerate(names):
        if "\n" in name or "\r" in name:
            raise DataError(
                f"{target}: cannot hold name {number}, {name[:40]!r}, for its line break; use .npz or .jsonl"
            )
    with open_to_replace(target) as stream:
        for number, name in enumerate(names):
            # Reading cuts a name at its first tab; an id and a tab before it keep it whole.
            stream.write(encode_text(f"{number}\t{name}\n" if "\t" in name else f"{name}\n", target))


def _read_exactly(names_file: Path, count: int, what: str, path: Path) -> list[str] | None:
    """Return the names in a file if it is there; DataError if they are not as many as they must be."""
    if not names_file.is_file() or names_file == path:
        return None
    names = read_names(names_file)
    if len(names) != count:
        raise DataError(
            f"{names_file}: {len(names)} names for the {count} {what} of {path.name}; "
            "give it one line for each, or move it elsewhere"
        )
    return names


def _points_file(path: Path) -> Path:
    stem, ending, _ = split_ending(path)
    return path.with_name(f"{stem}{ending}.points")
