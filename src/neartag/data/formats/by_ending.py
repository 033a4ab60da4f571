"""Any data file, by its ending: read, written, or converted into another format without loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from neartag.core.errors import ParameterError
from neartag.data.dataset import Dataset
from neartag.data.files import COMPRESSIONS, split_ending
from neartag.data.formats.jsonlines import read_jsonl, write_jsonl
from neartag.data.formats.npz import read_npz, write_npz
from neartag.data.formats.xmc import read_xmc, write_xmc

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
    """Return the data set in a file.

    Parameters
    ----------
    path : Path or str
        The ending says the format: .txt, .xmc or .svm (XMC text), .npz, .jsonl. After those of text, .gz, .xz or .bz2
        may follow.
    labelled : bool, default True
        Whether each point of a .jsonl file must say which labels it has. False for points to predict for.

    Returns
    -------
    Dataset

    Raises
    ------
    ParameterError
        If the ending is not known.
    DataError
        If the file is missing or wrong.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from neartag import data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "points.txt")
    ...     _ = path.write_text("2 3 2\\n0 1:0.5\\n0,1 0:1 2:2\\n")
    ...     points = data.read(path)
    >>> points.X.toarray().tolist()
    [[0.0, 0.5, 0.0], [1.0, 0.0, 2.0]]
    >>> points.Y.toarray().tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    reader, _ = _find_format(path)
    if reader is read_jsonl:
        return read_jsonl(path, labelled=labelled)
    return reader(Path(path))


def write(dataset: Dataset, path: Path | str) -> None:
    """Write a data set to a file.

    Parameters
    ----------
    dataset : Dataset
    path : Path or str
        The ending says the format, as for `read`. A file that is there is replaced whole or not at all.

    Raises
    ------
    ParameterError
        If the ending is not known.
    DataError
        If the file cannot be written, or cannot hold the data.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from neartag import data
    >>> points = data.synthetic.make(5, 20, 4, features_per_point=3, labels_per_point=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data.write(points, Path(folder, "points.npz"))
    ...     data.read(Path(folder, "points.npz")).n_points
    5
    """
    _, writer = _find_format(path)
    writer(dataset, Path(path))


def convert(source: Path | str, target: Path | str) -> Dataset:
    """Write the data set in one file to another file, in that one's format.

    Parameters
    ----------
    source, target : Path or str
        The endings say the formats, as for `read`.

    Returns
    -------
    Dataset
        What was read and written.

    Raises
    ------
    ParameterError
        If an ending is not known.
    DataError
        If the source is wrong or the target cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from neartag import data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "points.txt").write_text("1 3 2\\n0 1:0.5\\n")
    ...     _ = data.convert(Path(folder, "points.txt"), Path(folder, "points.jsonl"))
    ...     print(Path(folder, "points.jsonl").read_text().splitlines()[1])
    {"features": {"1": 0.5}, "labels": [0]}
    """
    _find_format(target)  # before the work of reading
    dataset = read(source)
    write(dataset, target)
    return dataset


def is_data_file(path: Path | str) -> bool:
    """Return whether `read` knows the ending of a file."""
    _, ending, compression = split_ending(path)
    return ending in FORMATS and (not compression or ending in _COMPRESSIBLE)


def _find_format(path: Path | str) -> tuple[Reader, Writer]:
    if not is_data_file(path):
        raise ParameterError(
            f"{path}: its ending does not say how it is written; known are {', '.join(FORMATS)}, "
            f"and {', '.join(COMPRESSIONS)} after any of {', '.join(_COMPRESSIBLE)}"
        )
    return FORMATS[split_ending(path)[1]]
