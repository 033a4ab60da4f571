"""The data that cells are measured on: the paper's sets where they are present, what stands for them, and samples.

Names are the registry's; `debian` is the embedded corpus, and `synthetic-wikilshtc-10` a made-up set of WikiLSHTC's
shape with a tenth of its points, features and labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, vstack

from neartag.core.errors import ParameterError
from neartag.data import debian, registry, synthetic
from neartag.encoders.tfidf import TfidfFeatures
from neartag.experiments.printed import TABLE_2
from neartag.linalg import csr

EMBEDDED = "debian"
# The paper's data sets by the registry's names, in the order of the paper's tables; the first stands for the paper's.
SMALL = {
    "bibtex": "BibTeX",
    "delicious": "Delicious",
    "mediamill": "MediaMill",
    "mediamill-rand": "MediaMill",
    "eurlex": "EURLex",
    "eurlex4k-partial": "EURLex",
}
LARGE = {
    "wiki10": "Wiki10",
    "delicious-large": "DeliciousLarge",
    "wikilshtc": "WikiLSHTC",
    "amazon": "Amazon",
    "ads-1m": "Ads1M",
}
OTHER_LARGE = ("yso-finna-en-100k",)  # none of the paper's, but real and large
SUBSTITUTES = {"eurlex4k-partial": "10,251 of EURLex's 19,348 documents, features made anew"}
# Made-up sets in the place of missing large ones: one part of so many of the whole size, so that two cores take hours.
SYNTHETIC_PARTS = {"wiki10": 1, "delicious-large": 10, "wikilshtc": 10, "amazon": 10, "ads-1m": 10}
QUICK_PARTS = {"wiki10": 10}
QUICK_TRAIN, QUICK_TEST = 3000, 1000  # points of a sample, at most
_SYNTHETIC = re.compile(rf"synthetic-(?P<set>{'|'.join(LARGE)})-(?P<part>[1-9]\d*)")
_KEPT = 2  # data sets held in memory between cells


class Parts(NamedTuple):
    """Points to learn from and points to answer."""

    X: csr_matrix
    Y: csr_matrix
    X_test: csr_matrix
    Y_test: csr_matrix


def present() -> tuple[str, ...]:
    """Return the names of the data sets that experiments can use here, the embedded corpus last."""
    return (*(name for name in (*SMALL, *LARGE, *OTHER_LARGE) if registry.is_here(name)), EMBEDDED)


def choose(words: Sequence[str] = (), *, quick: bool = False) -> tuple[str, ...]:
    """Return the names of the data sets wanted, all of which are there.

    Where none is named that is all that are present, and made-up sets in the place of the paper's missing large ones.
    """
    here, made = present(), _stand_ins(quick)
    for word in words:
        if word not in here and not _SYNTHETIC.fullmatch(word):
            registry.find(word)  # which says where to put it, if it is not there at all
            raise ParameterError(f"data set {word!r} is in no experiment: choose among {', '.join((*here, *made))}")
    return ordered(words) if words else (*here, *made)


def ordered(names: Iterable[str]) -> tuple[str, ...]:
    """Return different names in the order of the paper's tables, what is not the paper's behind."""
    places = {name: place for place, name in enumerate((*SMALL, *LARGE, *OTHER_LARGE, EMBEDDED))}
    return tuple(sorted(dict.fromkeys(names), key=lambda name: (places.get(name, len(places)), name)))


def small(wanted: Sequence[str]) -> list[str]:
    """Return the small sets among those wanted, each of the paper's once; the embedded corpus where there is none."""
    return _first(SMALL, wanted) or [EMBEDDED]


def large(wanted: Sequence[str]) -> list[str]:
    """Return the large sets among those wanted, the paper's before the others."""
    return [*_first(LARGE, wanted), *(name for name in OTHER_LARGE if name in wanted)]


def paper_name(name: str) -> str:
    """Return the paper's name of a data set, or of the one that it stands for; "" where it has none."""
    return {**SMALL, **LARGE}.get(name, "")


def title(name: str) -> str:
    """Return a data set's name for people, with a mark where it only stands for one of the paper's."""
    if name == EMBEDDED:
        return "Debian (embedded corpus)"
    if made := _SYNTHETIC.fullmatch(name):
        part = "" if made["part"] == "1" else f", 1/{made['part']} of its size"
        return f"synthetic, {LARGE[made['set']]}'s shape{part}"
    if name in SUBSTITUTES:
        return f"{paper_name(name)} (substitute: {name})"
    return paper_name(name) or name


def synthetic_sets(wanted: Sequence[str]) -> list[str]:
    """Return the made-up sets among those wanted."""
    return [name for name in wanted if _SYNTHETIC.fullmatch(name)]


def synthetic_name(name: str, part: int) -> str:
    """Return the name of the made-up set that has the shape of a large set, at one part of so many of its size."""
    return f"synthetic-{name}-{part}"


def load(name: str) -> tuple[csr_matrix, csr_matrix]:
    """Return the features and labels of a whole data set, the official test part behind the training part."""
    parts = official(name)
    return vstack([parts.X, parts.X_test], format="csr"), vstack([parts.Y, parts.Y_test], format="csr")


@lru_cache(maxsize=_KEPT)
def official(name: str) -> Parts:
    """Return a data set's own training and test part."""
    if name == EMBEDDED:
        words, labels, _, count = _corpus()
        return _embedded(words, labels, np.arange(count), np.arange(count, len(words)))
    if made := _SYNTHETIC.fullmatch(name):
        return _made(LARGE[made["set"]], int(made["part"]))
    train, test = registry.load(name, "train"), registry.load(name, "test")
    columns = max(train.n_features, test.n_features), max(train.n_labels, test.n_labels)
    # A part's file may say fewer columns than the other's.
    X, X_new = (csr.widen(part.X, columns[0]) for part in (train, test))
    Y, Y_new = (csr.widen(part.Y, columns[1]) for part in (train, test))
    return Parts(X, Y, X_new, Y_new)


@lru_cache(maxsize=_KEPT)
def split(name: str, seed: int, quick: bool = False) -> Parts:
    """Return a random split of the paper's sizes; split 0 is the data set's own, on whose training part presets chose.

    Where the paper says nothing of a set, or what is there has other sizes, splits have the sizes of its own parts.
    Packages of one source stay together. A quick split is a sample of at most 3,000 and 1,000 points.
    """
    random = np.random.default_rng([seed, 7])
    if name == EMBEDDED:
        words, labels, sources, count = _corpus()
        train, test = np.arange(count), np.arange(count, len(words))
        if seed:
            train, test = _by_source(sources, count, random)
        return _embedded(words, labels, *_sampled(train, test, random, quick))
    parts = official(name)
    count, own = _train_size(name, parts), parts.X.shape[0]
    if not seed and count == own:
        train, test = _sampled(np.arange(own), np.arange(parts.X_test.shape[0]), random, quick)
        return Parts(parts.X[train], parts.Y[train], parts.X_test[test], parts.Y_test[test])
    X, Y = load(name)
    order = random.permutation(X.shape[0])
    train, test = _sampled(order[:count], order[count:], random, quick)
    return Parts(X[train], Y[train], X[test], Y[test])


def _stand_ins(quick: bool) -> tuple[str, ...]:
    parts = QUICK_PARTS if quick else SYNTHETIC_PARTS
    return tuple(synthetic_name(name, part) for name, part in parts.items() if not registry.is_here(name))


def _first(names: dict[str, str], wanted: Sequence[str]) -> list[str]:
    found: dict[str, str] = {}
    for name, paper in names.items():
        if name in wanted:
            found.setdefault(paper, name)
    return list(found.values())


def _train_size(name: str, parts: Parts) -> int:
    printed = TABLE_2.get(paper_name(name))
    points = parts.X.shape[0] + parts.X_test.shape[0]
    if printed is not None and printed.train + printed.test == points:
        return printed.train
    return int(parts.X.shape[0])


def _sampled(
    train: np.ndarray, test: np.ndarray, random: np.random.Generator, quick: bool
) -> tuple[np.ndarray, np.ndarray]:
    if not quick:
        return train, test
    chosen = (random.permutation(train)[:QUICK_TRAIN], random.permutation(test)[:QUICK_TEST])
    return np.sort(chosen[0]), np.sort(chosen[1])


@lru_cache(maxsize=1)
def _corpus() -> tuple[list[list[str]], csr_matrix, np.ndarray, int]:
    """Return the embedded corpus's words, labels and sources, training part first, and that part's size."""
    train, test = debian.load("train"), debian.load("test")
    tags = debian.tag_names()
    labels = vstack([train.label_matrix(tags), test.label_matrix(tags)], format="csr")
    return train.words + test.words, labels, np.array(train.sources + test.sources), len(train.words)


def _by_source(sources: np.ndarray, count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return row numbers of two parts, the first of at least `count`, none of whose sources is in both."""
    names, source_of, sizes = np.unique(sources, return_inverse=True, return_counts=True)
    order = random.permutation(names.size)
    before = csr.pointer(sizes[order])[:-1]
    is_train = np.zeros(names.size, dtype=bool)
    is_train[order[before < count]] = True
    return np.flatnonzero(is_train[source_of]), np.flatnonzero(~is_train[source_of])


def _embedded(words: list[list[str]], labels: csr_matrix, train: np.ndarray, test: np.ndarray) -> Parts:
    features = TfidfFeatures()
    X = features.fit_transform([words[row] for row in train])
    return Parts(X, labels[train], features.transform([words[row] for row in test]), labels[test])


def _made(paper: str, part: int) -> Parts:
    shape = TABLE_2[paper]
    train, test, features, labels = (
        max(2, (count or 0) // part) for count in (shape.train, shape.test, shape.features, shape.labels)
    )
    averages = float(shape.features_per_point or 1), float(shape.labels_per_point or 1)  # which all of the paper's have
    made = synthetic.make(train + test, features, labels, *averages)
    return Parts(made.X[:train], made.Y[:train], made.X[train:], made.Y[train:])
