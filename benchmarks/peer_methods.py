"""The compared methods by name: X1 at several settings, scikit-learn's, and the tools of peer_tools."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from peer_libmultilabel import LibMultiLabel, LibMultiLabelTree
from peer_method import Method, best, dump, undump, unit
from peer_settings import (
    AT_ONCE,
    BONSAI,
    COMPARATORS,
    KNN_NEIGHBOURS,
    KNN_NEIGHBOURS_ELSEWHERE,
    MAX_MINUTES,
    MIN_WEIGHT,
    SPARSE_ABOVE_LABELS,
    TRIED_FIRST,
    X1_FAST,
    X1_FIVE,
    K,
)
from peer_tools import NapkinXC, Omikuji, Pecos
from scipy.sparse import csc_matrix, csr_matrix, issparse, vstack

from neartag import presets
from neartag.core.errors import ParameterError


class X1(Method):
    module, package = "neartag", "neartag"

    def fit(self, given: Any, folder: Path) -> None:
        from neartag.x1.classifier import X1Classifier

        self.model = X1Classifier(**self.settings, n_jobs=self.threads).fit(*given)

    def save(self, folder: Path) -> None:
        from neartag import store

        store.save(self.model, folder)

    def load(self, folder: Path) -> None:
        from neartag import store

        self.model = store.load(folder).model

    def predict(self, given: Any) -> Any:
        return self.model.predict_topk(given, K, n_jobs=self.threads)

    def labels(self, found: Any) -> np.ndarray:
        return found[0]


class Comparator(X1):
    """A method of the paper's tables, as neartag has it."""

    def __init__(self, settings: dict[str, Any], threads: int, method: str) -> None:
        super().__init__(settings, threads)
        self.method = method

    def fit(self, given: Any, folder: Path) -> None:
        from neartag.methods import registry

        estimator = registry.get(self.method).estimator_class()
        self.model = estimator(**self.settings, n_jobs=self.threads).fit(*given)


class OneVsRest(Method):
    module, package = "sklearn", "scikit-learn"
    notes = (
        "rows scaled to unit length before; its labels' weights in one matrix to predict, not scikit-learn's loop; "
        f"above {SPARSE_ABOVE_LABELS:,} labels without weights below {MIN_WEIGHT:g}"
    )
    sparse_above, at_once, longest_minutes = SPARSE_ABOVE_LABELS, AT_ONCE, MAX_MINUTES

    def train_input(self, X: csr_matrix, Y: csr_matrix, file: Path | None) -> Any:
        return unit(X.astype(np.float64)), Y.tocsc()  # in the type it works in, else every label would convert X again

    def test_input(self, X: csr_matrix) -> Any:
        return unit(X.astype(np.float64))

    def fit(self, given: Any, folder: Path) -> None:
        X, Y = given
        known = np.flatnonzero(np.diff(Y.indptr))
        bias = np.full(Y.shape[1], -np.inf)  # a label without training points has no weights and must come last
        if Y.shape[1] > self.sparse_above:
            self._refuse_if_too_long(X, Y, known)
            rows = [csr_matrix((1, X.shape[1]))] * Y.shape[1]
            for label, solved in zip(known, self._solve(X, Y, known), strict=True):
                rows[label], bias[label] = solved
            self.model = vstack(rows).T.tocsr(), bias  # (d, L)
        else:
            weights = np.zeros((X.shape[1], Y.shape[1]))
            for label, solved in zip(known, self._solve(X, Y, known), strict=True):
                weights[:, label], bias[label] = solved
            self.model = weights, bias

    def _refuse_if_too_long(self, X: csr_matrix, Y: csc_matrix, known: np.ndarray) -> None:
        tried = known[np.linspace(0, len(known) - 1, TRIED_FIRST).astype(int)]
        start = time.process_time()  # of all threads: wall seconds would blame it for what others run meanwhile
        list(self._solve(X, Y, tried))
        minutes = (time.process_time() - start) / self.threads / len(tried) * len(known) / 60
        if minutes > self.longest_minutes:
            raise RuntimeError(f"{len(known):,} labels take about {minutes:.0f} minutes on {self.threads} threads")

    def _solve(self, X: csr_matrix, Y: csc_matrix, labels: np.ndarray) -> Iterator[tuple[Any, float]]:
        """Yield each label's weights, a dense row or, of many labels, a sparse one, and its bias."""
        from joblib import Parallel, delayed
        from sklearn.svm import LinearSVC
        from threadpoolctl import threadpool_limits

        def one(label: int) -> tuple[Any, float]:
            right = np.zeros(X.shape[0], np.int8)
            right[Y.indices[Y.indptr[label] : Y.indptr[label + 1]]] = 1
            if right.all():  # there is nothing to tell apart
                return np.zeros(X.shape[1]), 1.0
            solved = LinearSVC(**{"C": 1.0, "random_state": 0, **self.settings}).fit(X, right)
            weights = solved.coef_[0]
            if Y.shape[1] > self.sparse_above:
                weights = csr_matrix(np.where(np.abs(weights) < MIN_WEIGHT, 0.0, weights))
            return weights, float(solved.intercept_[0])

        # liblinear releases the GIL; processes would each hold the data, and their memory would go uncounted.
        # BLAS would start threads of its own in each of them for vectors of more than some 10,000 features, and these
        # wait for each other: several times slower.
        pool = Parallel(n_jobs=self.threads, backend="threading", return_as="generator")
        with threadpool_limits(1, user_api="blas"):
            yield from pool(delayed(one)(label) for label in labels)

    def save(self, folder: Path) -> None:
        dump(self.model, folder)

    def load(self, folder: Path) -> None:
        self.model = undump(folder)

    def predict(self, given: Any) -> Any:
        weights, bias = self.model
        found = np.empty((given.shape[0], K), np.int64)
        for start in range(0, given.shape[0], self.at_once):
            scores = given[start : start + self.at_once] @ weights  # (at_once, L)
            scores = (scores.toarray() if issparse(scores) else scores) + bias
            top = np.argpartition(-scores, K, axis=1)[:, :K]
            order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1)
            found[start : start + self.at_once] = np.take_along_axis(top, order, axis=1)
        return found


class NearestNeighbours(Method):
    module, package = "sklearn", "scikit-learn"
    notes = "a vote weighted by the cosine, of the best k on the test part itself where that is known"

    def fit(self, given: Any, folder: Path) -> None:
        from sklearn.neighbors import NearestNeighbors

        X, Y = given
        index = NearestNeighbors(metric="cosine", n_jobs=self.threads).fit(X)
        self.model = index, Y, np.bincount(Y.indices, minlength=Y.shape[1])

    def save(self, folder: Path) -> None:
        dump(self.model, folder)

    def load(self, folder: Path) -> None:
        self.model = undump(folder)

    def predict(self, given: Any) -> Any:
        index, Y, frequency = self.model
        index.n_jobs = self.threads if given.shape[0] > 1 else 1  # starting threads takes longer than a single point
        distances, voters = index.kneighbors(given, **self.settings)
        ends = np.arange(len(voters) + 1) * voters.shape[1]
        votes = csr_matrix((1.0 - distances.ravel(), voters.ravel(), ends), (len(voters), Y.shape[0]))
        # Labels that the same neighbours have are equal: the more frequent first.
        return best((votes @ Y).tocsr(), among_equals=frequency)

    def labels(self, found: Any) -> np.ndarray:
        return found


def make(name: str, given: dict[str, Any], threads: int) -> Method:
    """Return a method that is to run with these settings."""
    kind = METHODS[name][1]
    return kind(given, threads, COMPARATORS[name]) if kind is Comparator else kind(given, threads)


# By the name on the command line, under which results are kept: the title in the table, the class.
METHODS: dict[str, tuple[str, type[Method]]] = {
    "x1-refined": ("X1 refined", X1),
    "x1-preset": ("X1 preset", X1),
    "x1-default": ("X1, votes alone", X1),
    "x1-fast": ("X1 fast", X1),
    "x1-five": ("X1, five learners", X1),
    "x1-any": ("X1, refined or votes", X1),
    "pecos": ("PECOS XR-Linear", Pecos),
    "parabel": ("omikuji Parabel", Omikuji),
    "bonsai": ("omikuji Bonsai", Omikuji),
    "plt": ("napkinXC PLT", NapkinXC),
    "one-vs-rest": ("one-vs-rest SVM", OneVsRest),
    "knn": ("cosine kNN", NearestNeighbours),
    "libmultilabel": ("LibMultiLabel one-vs-rest", LibMultiLabel),
    "libmultilabel-tree": ("LibMultiLabel tree", LibMultiLabelTree),
    "one-vs-all": ("neartag 1-vs-All", Comparator),
    "wsabie": ("neartag WSABIE", Comparator),
    "leml": ("neartag LEML", Comparator),
    "fastxml": ("neartag FastXML", Comparator),
}
PEERS = ("pecos", "parabel", "bonsai", "plt", "one-vs-rest", "knn", "libmultilabel", "libmultilabel-tree")
# What runs where no methods are named: with the defaults, and tuned.
AT_DEFAULTS = tuple(name for name in METHODS if name not in (*COMPARATORS, "x1-any"))
TUNED = ("x1-refined", "x1-any", *PEERS, *COMPARATORS)


def settings(name: str, data: str) -> dict[str, Any] | None:
    """Return what a method sets on a data set beside its defaults; None where it has no settings for that set."""
    if name == "x1-preset":
        try:
            return presets.get(data)
        except ParameterError:
            return None
    if name == "knn":
        return {"n_neighbors": KNN_NEIGHBOURS.get(data, KNN_NEIGHBOURS_ELSEWHERE)}
    if name == "x1-fast":
        return X1_FAST.get(data)
    if name == "x1-five":
        return X1_FIVE.get(data)
    votes, refined = {"x1-default": {"refine": False}}, {"x1-refined": {"refine": True}}  # the latter is the default
    return {**votes, **refined, "bonsai": BONSAI, "plt": {"seed": 0}}.get(name, {})


def installed(name: str) -> bool:
    """Return whether the method's package is there."""
    return find_spec(METHODS[name][1].module) is not None
