"""A search for settings on texts, which tries kinds of features too.

Features are learned, in each round, from the texts that the round trains on: never from those that judge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.progress import Progress
from neartag.data.documents import Document
from neartag.encoders.feature_kinds import AUTO
from neartag.encoders.tfidf import TfidfFeatures
from neartag.linalg.hybrid_rows import HybridRows
from neartag.methods.points import Split, digest_all, digest_of
from neartag.methods.registry import DEFAULT_METHOD
from neartag.methods.search_options import SearchOptions
from neartag.methods.tune import Tuned, tune_points
from neartag.tagging.corpus import collect_texts
from neartag.tagging.feature_choice import choose_features, make_features
from neartag.tagging.labelled_items import make_documents
from neartag.tagging.tune_kinds import TRIED, check_feature_kinds

# Entries of feature rows that are kept for the next trial: some 400 MB.
MAX_KEPT_ENTRIES = 50_000_000


class TextPoints:
    """Labelled texts, with the kinds of features that a search tries.

    Parameters
    ----------
    texts : sequence of str
        The texts.
    Y : csr_matrix, (n, L)
        Their labels.
    features : sequence of str, optional
        Names of TRIED; all of them unless given.
    parameters : dict, optional
        Parameters of TfidfFeatures that every kind gets, such as a language.
    n_jobs : int, default -1
        Cores used.
    max_memory : int or str, optional
        Memory that the trial of "auto" may use.
    max_kept_entries : int
        Entries of rows that are kept for the next trial.
    vectors : ndarray, (n, e), optional
        Vectors of a sentence encoder, which stand beside the words of every kind.
    """

    def __init__(
        self,
        texts: Sequence[str],
        Y: csr_matrix,
        features: Sequence[str] | None = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        n_jobs: int | None = -1,
        max_memory: int | str | None = None,
        max_kept_entries: int = MAX_KEPT_ENTRIES,
        vectors: np.ndarray | None = None,
    ) -> None:
        self.Y = Y
        self.features: Sequence[str] = list(TRIED if features is None else features)
        check_feature_kinds(self.features)
        self.default_features: str | None = AUTO
        self._texts, self._parameters = texts, dict(parameters or {})
        self._n_jobs, self._max_memory = n_jobs, max_memory
        self._max_kept_entries, self._vectors = max_kept_entries, vectors
        self._rows: dict[tuple[str, int], tuple[csr_matrix, csr_matrix]] = {}  # by kind and number of training texts
        self._chosen: dict[int, str] = {}  # what "auto" stands for, by number of training texts
        self._settled: str | None = None  # what it stands for in all rounds

    def fix_features(self, name: str) -> TextPoints:
        """Use this kind in all trials, and return self."""
        check_feature_kinds([name])
        self.features, self.default_features = [], name
        return self

    def split(self, train: np.ndarray, held: np.ndarray, features: str | None) -> Split:
        """Return both parts; the features are learned from the texts `train`, which are fewer in earlier rounds."""
        kind = self.resolve_features(train, features)
        if (kind, len(train)) not in self._rows:
            self._forget(len(train))
            encoder = _make_encoder(str(kind), self._parameters)
            X = encoder.fit_transform(self._texts[int(row)] for row in train)
            self._rows[str(kind), len(train)] = X, encoder.transform(self._texts[int(row)] for row in held)
        X, X_held = self._rows[str(kind), len(train)]
        if self._vectors is not None:
            X, X_held = HybridRows(X, self._vectors[train]), HybridRows(X_held, self._vectors[held])
        return Split(X, self.Y[train], X_held, self.Y[held])

    def resolve_features(self, train: np.ndarray, features: str | None) -> str | None:
        """Return the kind of features; for "auto" that which a trial within the texts `train` chooses."""
        if features != AUTO:
            return features
        if self._settled is not None:
            return self._settled
        if len(train) not in self._chosen:
            choice = choose_features(
                _Selected(self._texts, train),
                self.Y[train],
                self._parameters,
                n_jobs=self._n_jobs,
                max_memory=self._max_memory,
            )
            self._chosen[len(train)] = choice.kind
        return self._chosen[len(train)]

    def settle_features(self, features: str) -> None:
        """Let "auto" stand for this kind of features from now on, whatever texts it is learned from."""
        check_feature_kinds([features])
        self._settled = features

    def digest(self) -> str:
        """Return a text that is the same for the same texts, labels and parameters only."""
        return digest_of(
            digest_all(self._texts),
            self.Y,
            repr(sorted(self._parameters.items())),
            repr(self.default_features),
            *([] if self._vectors is None else [hashlib.sha256(self._vectors.tobytes()).hexdigest()]),
        )

    def describe_features(self, features: str) -> dict[str, Any]:
        """Return a kind of features as a preset has it, with the parameters that every kind gets."""
        return {**TRIED[features], **self._parameters}

    def _forget(self, size: int) -> None:
        """Drop the rows of other rounds, and the oldest where there are too many entries."""
        self._rows = {key: rows for key, rows in self._rows.items() if key[1] == size}
        while self._rows and sum(rows[0].nnz for rows in self._rows.values()) > self._max_kept_entries:
            del self._rows[next(iter(self._rows))]


class _Selected(Sequence[str]):
    """Some of the texts; each is read when it is asked for."""

    def __init__(self, texts: Sequence[str], rows: np.ndarray) -> None:
        self._texts, self._rows = texts, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: Any) -> Any:
        return self._texts[int(self._rows[place])]


def read_texts(documents: Iterable[Document]) -> tuple[Sequence[str], csr_matrix]:
    """Return the texts of documents and their label rows; DataError where there is no text."""
    collector, texts = collect_texts(documents)
    return texts, collector.label_rows()[0]


def tune_texts(
    texts: Iterable[str],
    labels: Iterable[Sequence[str]],
    method: str = DEFAULT_METHOD,
    *,
    features: str | Sequence[str] | None = None,
    n_jobs: int | None = -1,
    progress: Progress | None = None,
    **options: Any,
) -> Tuned:
    """Choose the settings of a method, and the features of texts, that are best on a part of these texts.

    Parameters
    ----------
    texts : iterable of str
        The texts.
    labels : iterable of lists of str
        The labels of each.
    method : str, default "x1"
        The method's name.
    features : str or list of str, optional
        Kinds of features to try: auto, words, words-2 (without words that a single text has), pairs, characters,
        characters-3-5, all. All of them unless given. A single name: this kind is not to be chosen.
    n_jobs : int, default -1
        Cores used; -1: all.
    progress : Progress, optional
        What is told of the work.
    **options
        As `tune` takes them: fixed, tried, random_state, max_memory, minutes, resume.

    Returns
    -------
    Tuned
        The settings, the features, and every trial with its figures.

    Raises
    ------
    DataError
        If there are too few texts, or they cannot be learned from.
    ParameterError
        If a setting or a kind of features cannot be used, or there is nothing to choose.

    Examples
    --------
    >>> from neartag import tune
    >>> texts, labels = ["a red apple", "a grey stone"] * 60, [["fruit"], ["rock"]] * 60
    >>> found = tune.tune_texts(texts, labels, "knn", features=["words", "pairs"], tried={"neighbours": [3]})
    >>> found.features, found.best.metrics["P@1"]
    ('auto', 100.0)
    """
    search = SearchOptions(n_jobs=n_jobs, **options)
    content, Y = read_texts(make_documents(TfidfFeatures(), texts, labels, None))
    single = isinstance(features, str)
    points = TextPoints(content, Y, None if single else features, n_jobs=n_jobs, max_memory=search.max_memory)
    if isinstance(features, str):
        points.fix_features(features)
    return tune_points(points, method, search, progress)


def _make_encoder(name: str, parameters: Mapping[str, Any]) -> TfidfFeatures:
    own = {key: value for key, value in TRIED[name].items() if key != "kind"}
    return make_features(TRIED[name]["kind"], {**own, **parameters})
