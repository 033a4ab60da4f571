"""The embedded real corpus: Debian's packages as word sets, with the tags that people gave them.

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

FILE_NAME = "debian.json.xz"
PARTS = ("train", "test")


@dataclass
class DebianPart:
    """Packages of one part, the same position in every list being the same package."""

    names: list[str]
    sources: list[str]  # the source package each was built from: what a further split must keep together
    words: list[list[str]]  # the sorted set of words of name and summary line
    tags: list[list[str]]  # sorted, at least one each

    def label_matrix(self, label_names: list[str]) -> csr_matrix:
        """Return the tags as a 0/1 matrix, a row a package, a column a name; tags not among the names are left out."""
        column_of = {name: column for column, name in enumerate(label_names)}
        rows = [[column_of[tag] for tag in tags if tag in column_of] for tags in self.tags]
        starts = np.cumsum([0, *map(len, rows)])
        columns = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=starts[-1])
        shape = (len(rows), len(label_names))
        matrix = csr_matrix((np.ones(len(columns), dtype=np.float32), columns, starts), shape=shape)
        matrix.sort_indices()
        return matrix


def load(part: Literal["train", "test"] = "train") -> DebianPart:
    """Return the packages of a part; the lists are the caller's own to change."""
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
    """Return every tag of both parts, sorted: the label names, in the order of their ids."""
    return sorted({tag for part in PARTS for tag in _read()[part]["tags"].split()})


def info() -> dict[str, Any]:
    """Return the Debian release and the counts of packages, sources, words, tags, and of each part."""
    corpus = _read()
    return {"release": corpus["release"], **corpus["counts"]}


@lru_cache(maxsize=1)
def _read() -> dict[str, Any]:
    content = resources.files("neartag.data").joinpath(FILE_NAME).read_bytes()
    return json.loads(lzma.decompress(content))
