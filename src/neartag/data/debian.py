"""The embedded real corpus: Debian packages as word sets, with the tags that people gave them.

`scripts/build_debian_corpus.py` builds the file. Packages of one source package are all in the same part.
"""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import chain
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.data.dataset import make_rows
from neartag.linalg import csr

FILE_NAME = "debian.json.xz"
PARTS = ("train", "test")


@dataclass
class DebianPart:
    """The packages of one part; the same position in every list is the same package."""

    names: list[str]
    sources: list[str]  # source package of each; packages of one source must stay together in a further split
    words: list[list[str]]  # the sorted set of words of name and summary line
    tags: list[list[str]]  # sorted, at least one each

    def label_matrix(self, label_names: list[str]) -> csr_matrix:
        """Return the tags as a 0/1 matrix: one row per package, one column per name.

        Parameters
        ----------
        label_names : list of str
            Tags that are not among them are left out.

        Returns
        -------
        csr_matrix of shape (packages, names)
        """
        column_of = {name: column for column, name in enumerate(label_names)}
        rows = [[column_of[tag] for tag in tags if tag in column_of] for tags in self.tags]
        indptr = csr.pointer([len(row) for row in rows])
        indices = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=indptr[-1])
        matrix = make_rows(indptr, indices, None, len(label_names))
        matrix.sort_indices()
        return matrix


def load(part: Literal["train", "test"] = "train") -> DebianPart:
    """Return the packages of one part.

    Parameters
    ----------
    part : {"train", "test"}

    Returns
    -------
    DebianPart
        Its lists belong to the caller, who may change them.

    Raises
    ------
    ParameterError
        If there is no such part.

    Examples
    --------
    >>> from neartag.data import debian
    >>> packages = debian.load("test")
    >>> len(packages.names) == len(packages.words) == len(packages.tags)
    True
    """
    if part not in PARTS:
        raise ParameterError(f"part={part!r}: must be one of {', '.join(map(repr, PARTS))}")
    columns = _read()[part]
    names = columns["names"].split("\n")
    sources = columns["sources"].split("\n")
    return DebianPart(
        names=names,
        sources=[source or name for source, name in zip(sources, names, strict=True)],
        words=[line.split() for line in columns["words"].split("\n")],
        tags=[line.split() for line in columns["tags"].split("\n")],
    )


def tag_names() -> list[str]:
    """Return all tags of both parts, sorted: the label names in the order of their ids."""
    return sorted({tag for part in PARTS for tag in _read()[part]["tags"].split()})


def info() -> dict[str, Any]:
    """Return the Debian release and the numbers of packages, sources, words and tags, and of each part."""
    corpus = _read()
    return {"release": corpus["release"], **corpus["counts"]}


@lru_cache(maxsize=1)
def _read() -> dict[str, Any]:
    content = resources.files("neartag.data").joinpath(FILE_NAME).read_bytes()
    return json.loads(lzma.decompress(content))
