"""The data of the experiments: the paper's sets if they are there, what stands for them, and samples.

Names are the registry's. `debian` is the embedded corpus, and `synthetic-wikilshtc` made-up data of WikiLSHTC's shape,
of which experiments/scale/ takes fractions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, vstack

from neartag.core.errors import ParameterError
from neartag.data import debian, registry
from neartag.data.registry.dataset_facts import PAPER, Sizes
from neartag.encoders.tfidf import TfidfFeatures
from neartag.experiments.printed import TABLE_2
from neartag.linalg import csr

EMBEDDED = "debian"
# The paper's data sets by the registry's names, in the order of its tables. Of two with the same title the first wins.
SMALL_SETS = {
    "bibtex": "BibTeX",
    "delicious": "Delicious",
    "mediamill": "MediaMill",
    "mediamill-rand": "MediaMill",
    "eurlex": "EURLex",
    "eurlex4k-partial": "EURLex",
}
LARGE_SETS = {
    "wiki10": "Wiki10",
    "delicious-large": "DeliciousLarge",
    "wikilshtc": "WikiLSHTC",
    "amazon": "Amazon",
    "ads-1m": "Ads1M",
}
OTHER_LARGE_SETS = ("yso-finna-en-100k",)  # real and large, but not the paper's
SUBSTITUTES = {"eurlex4k-partial": "10,251 of EURLex's 19,348 documents, features made anew"}
QUICK_SHAPES = ("wiki10",)  # made up in place of missing sets if minutes are all there is
QUICK_TRAIN, QUICK_TEST = 3000, 1000  # points of a sample, at most
_SYNTHETIC = re.compile(rf"synthetic-(?P<set>{'|'.join(LARGE_SETS)})")
# The paper's sets by the names that the extreme classification repository gives them, in lower case.
_REPOSITORY_NAMES = {
    facts.source.rpartition(" under ")[2].split(" ")[0].lower(): facts.name for facts in PAPER if facts.source
}
_SYNTHETIC_PREFIX = "synthetic-"
_CACHED_SETS = 2  # held in memory between cells


class Parts(NamedTuple):
    """The training part and the test part of a data set."""

    X: csr_matrix
    Y: csr_matrix
    X_test: csr_matrix
    Y_test: csr_matrix


def available() -> tuple[str, ...]:
    """Return the names of the data sets that experiments can use here, the embedded corpus last."""
    return (*(name for name in (*SMALL_SETS, *LARGE_SETS, *OTHER_LARGE_SETS) if registry.is_here(name)), EMBEDDED)


def choose(names: Sequence[str] = (), *, quick: bool = False) -> tuple[str, ...]:
    """Return the data sets that are wanted, all of which are there.

    Without names: all that are present, and made-up sets in place of the paper's missing large ones. The names of the
    extreme classification repository, such as WikiLSHTC-325K, mean the registry's.
    """
    names = [_REPOSITORY_NAMES.get(name.lower(), name) for name in names]
    here, made = available(), _synthetic_substitutes(quick)
    for name in names:
        if name not in here and not _SYNTHETIC.fullmatch(name):
            registry.find(name)  # its error says where to put the set, if it is not there at all
            raise ParameterError(f"data set {name!r} is in no experiment: choose among {', '.join((*here, *made))}")
    return in_table_order(names) if names else (*here, *made)


def in_table_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names, each once, in the order of the paper's tables; others come last."""
    places = {name: place for place, name in enumerate((*SMALL_SETS, *LARGE_SETS, *OTHER_LARGE_SETS, EMBEDDED))}
    return tuple(sorted(dict.fromkeys(names), key=lambda name: (places.get(name, len(places)), name)))


def choose_small(wanted: Sequence[str]) -> list[str]:
    """Return the small sets among those wanted, one for each of the paper's; without any, the embedded corpus."""
    return _one_per_title(SMALL_SETS, wanted) or [EMBEDDED]


def choose_all(wanted: Sequence[str]) -> list[str]:
    """Return the small sets among those wanted, then the large ones; without any, the embedded corpus."""
    large = choose_large(wanted)
    return [*_one_per_title(SMALL_SETS, wanted), *large] if large else choose_small(wanted)


def choose_large(wanted: Sequence[str]) -> list[str]:
    """Return the large sets among those wanted, the paper's first."""
    return [*_one_per_title(LARGE_SETS, wanted), *(name for name in OTHER_LARGE_SETS if name in wanted)]


def is_large(name: str) -> bool:
    """Return whether a data set is one of the large ones, real or made up, for which X1 has more learners."""
    return name in LARGE_SETS or name in OTHER_LARGE_SETS or _SYNTHETIC.fullmatch(name) is not None


def paper_name(name: str) -> str:
    """Return the paper's name of a data set, or of the one that it stands for; "" if there is none."""
    return {**SMALL_SETS, **LARGE_SETS}.get(name, "")


def title(name: str) -> str:
    """Return the name of a data set for people; it says if the set only stands for one of the paper's."""
    if name == EMBEDDED:
        return "Debian (embedded corpus)"
    if match := _SYNTHETIC.fullmatch(name):
        return f"synthetic, {LARGE_SETS[match['set']]}'s shape"
    if name in SUBSTITUTES:
        return f"{paper_name(name)} (substitute: {name})"
    return paper_name(name) or name


def synthetic_sets(wanted: Sequence[str]) -> list[str]:
    """Return the made-up sets among those wanted."""
    return [name for name in wanted if _SYNTHETIC.fullmatch(name)]


def shape_of(name: str) -> str:
    """Return the paper's name of the set whose shape a made-up set has."""
    return LARGE_SETS[name.removeprefix(_SYNTHETIC_PREFIX)]


def load(name: str) -> tuple[csr_matrix, csr_matrix]:
    """Return the features and labels of a whole data set, the training part first."""
    return _join(load_official(name))


@lru_cache(maxsize=_CACHED_SETS)
def load_official(name: str) -> Parts:
    """Return a data set's own training and test part."""
    if name == EMBEDDED:
        words, labels, _, count = _read_corpus()
        return _encode_corpus(words, labels, np.arange(count), np.arange(count, len(words)))
    train, test = registry.load(name, "train"), registry.load(name, "test")
    # The file of one part may declare fewer features or labels than the other's.
    features, labels = max(train.n_features, test.n_features), max(train.n_labels, test.n_labels)
    return Parts(
        csr.widen(train.X, features),
        csr.widen(train.Y, labels),
        csr.widen(test.X, features),
        csr.widen(test.Y, labels),
    )


@lru_cache(maxsize=_CACHED_SETS)
def split(name: str, seed: int, quick: bool = False) -> Parts:
    """Return a random split of a data set; split 0 is the set's own, on whose training part presets were chosen.

    A quick split is a sample of at most 3,000 and 1,000 points.
    """
    if name == EMBEDDED:
        return _split_corpus(seed, quick)
    parts = load_official(name)
    return make_split(parts, train_size(parts, printed_sizes(name)), seed, quick)


def printed_sizes(name: str) -> Sizes | None:
    """Return the sizes that the paper prints for a data set, or for the one that it stands for."""
    return TABLE_2.get(paper_name(name))


def train_size(parts: Parts, printed: Sizes | None) -> int:
    """Return how many points to train on: as many as the paper, if it has as many points in all, else the own part."""
    points = parts.X.shape[0] + parts.X_test.shape[0]
    if printed is not None and printed.train + printed.test == points:
        return printed.train
    return int(parts.X.shape[0])


def make_split(parts: Parts, count: int, seed: int, quick: bool = False) -> Parts:
    """Return a random split with `count` training points; for seed 0 the own parts, if they have that size."""
    random = np.random.default_rng([seed, 7])
    own = parts.X.shape[0]
    if not seed and count == own:
        train, test = _sample(np.arange(own), np.arange(parts.X_test.shape[0]), random, quick)
        return Parts(parts.X[train], parts.Y[train], parts.X_test[test], parts.Y_test[test])
    X, Y = _join(parts)
    order = random.permutation(X.shape[0])
    train, test = _sample(order[:count], order[count:], random, quick)
    return Parts(X[train], Y[train], X[test], Y[test])


def _join(parts: Parts) -> tuple[csr_matrix, csr_matrix]:
    return vstack([parts.X, parts.X_test], format="csr"), vstack([parts.Y, parts.Y_test], format="csr")


def _synthetic_substitutes(quick: bool) -> tuple[str, ...]:
    shapes = QUICK_SHAPES if quick else tuple(LARGE_SETS)
    return tuple(f"{_SYNTHETIC_PREFIX}{name}" for name in shapes if not registry.is_here(name))


def _one_per_title(titles: dict[str, str], wanted: Sequence[str]) -> list[str]:
    """Return the first wanted data set of each title."""
    chosen: dict[str, str] = {}
    for name, paper in titles.items():
        if name in wanted:
            chosen.setdefault(paper, name)
    return list(chosen.values())


def _sample(
    train: np.ndarray, test: np.ndarray, random: np.random.Generator, quick: bool
) -> tuple[np.ndarray, np.ndarray]:
    if not quick:
        return train, test
    chosen = (random.permutation(train)[:QUICK_TRAIN], random.permutation(test)[:QUICK_TEST])
    return np.sort(chosen[0]), np.sort(chosen[1])


@lru_cache(maxsize=1)
def _read_corpus() -> tuple[list[list[str]], csr_matrix, np.ndarray, int]:
    """Return the embedded corpus's words, labels and sources, training part first, and the size of that part."""
    train, test = debian.load("train"), debian.load("test")
    tags = debian.tag_names()
    labels = vstack([train.label_matrix(tags), test.label_matrix(tags)], format="csr")
    return train.words + test.words, labels, np.array(train.sources + test.sources), len(train.words)


def _split_corpus(seed: int, quick: bool) -> Parts:
    random = np.random.default_rng([seed, 7])
    words, labels, sources, count = _read_corpus()
    train, test = np.arange(count), np.arange(count, len(words))
    if seed:
        train, test = _split_by_source(sources, count, random)
    return _encode_corpus(words, labels, *_sample(train, test, random, quick))


def _split_by_source(sources: np.ndarray, count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the row numbers of two parts, the first with at least `count`; no source is in both."""
    names, source_of, sizes = np.unique(sources, return_inverse=True, return_counts=True)
    order = random.permutation(names.size)
    before = csr.pointer(sizes[order])[:-1]
    is_train = np.zeros(names.size, dtype=bool)
    is_train[order[before < count]] = True
    return np.flatnonzero(is_train[source_of]), np.flatnonzero(~is_train[source_of])


def _encode_corpus(words: list[list[str]], labels: csr_matrix, train: np.ndarray, test: np.ndarray) -> Parts:
    features = TfidfFeatures()
    X = features.fit_transform([words[row] for row in train])
    return Parts(X, labels[train], features.transform([words[row] for row in test]), labels[test])
