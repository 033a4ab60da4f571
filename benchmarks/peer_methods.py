"""The compared methods by name: X1 at several settings, scikit-learn's, and the tools of peer_tools."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from peer_method import Method, best, dump, undump, unit
from peer_settings import BONSAI, KNN_NEIGHBOURS, KNN_NEIGHBOURS_ELSEWHERE, X1_FAST, X1_FIVE, K
from peer_tools import NapkinXC, Omikuji, Pecos
from scipy.sparse import csr_matrix

from neartag import presets
from neartag.errors import ParameterError


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


class OneVsRest(Method):
    module, package = "sklearn", "scikit-learn"
    notes = "rows scaled to unit length before; its labels' weights in one matrix to predict, not scikit-learn's loop"

    def train_input(self, X: csr_matrix, Y: csr_matrix, file: Path) -> Any:
        # In the types it works in, else every label's problem would convert X again. (scikit-learn 1.9.1 shuffles the
        # columns of an int8 Y with more than 128 labels.)
        return unit(X.astype(np.float64)), Y.astype(np.int64)

    def test_input(self, X: csr_matrix) -> Any:
        return unit(X.astype(np.float64))

    def fit(self, given: Any, folder: Path) -> None:
        from joblib import parallel_config
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.svm import LinearSVC

        # liblinear releases the GIL; processes would each hold the data, and their memory would go uncounted.
        with parallel_config(backend="threading", n_jobs=self.threads):
            fitted = OneVsRestClassifier(LinearSVC(C=1.0, random_state=0, **self.settings)).fit(*given)
        # A label without training points has no weights. It must come last, where scikit-learn gives it 0.
        weights = np.zeros((given[0].shape[1], len(fitted.estimators_)))
        bias = np.full(len(fitted.estimators_), -np.inf)
        for label, estimator in enumerate(fitted.estimators_):
            if hasattr(estimator, "coef_"):
                weights[:, label], bias[label] = estimator.coef_[0], estimator.intercept_[0]
        self.model = weights, bias

    def save(self, folder: Path) -> None:
        dump(self.model, folder)

    def load(self, folder: Path) -> None:
        self.model = undump(folder)

    def predict(self, given: Any) -> Any:
        weights, bias = self.model
        scores = given @ weights + bias
        found = np.argpartition(-scores, K, axis=1)[:, :K]
        order = np.argsort(-np.take_along_axis(scores, found, axis=1), axis=1)
        return np.take_along_axis(found, order, axis=1)


class NearestNeighbours(Method):
    module, package = "sklearn", "scikit-learn"
    notes = "a vote weighted by the cosine, of the best k on the test part itself where that is known"

    def fit(self, given: Any, folder: Path) -> None:
        from sklearn.neighbors import NearestNeighbors

        X, Y = given
        self.model = NearestNeighbors(metric="cosine", n_jobs=self.threads, **self.settings).fit(X), Y

    def save(self, folder: Path) -> None:
        dump(self.model, folder)

    def load(self, folder: Path) -> None:
        self.model = undump(folder)

    def predict(self, given: Any) -> Any:
        index, Y = self.model
        index.n_jobs = self.threads if given.shape[0] > 1 else 1  # starting threads takes longer than a single point
        distances, voters = index.kneighbors(given)
        ends = np.arange(len(voters) + 1) * voters.shape[1]
        votes = csr_matrix((1.0 - distances.ravel(), voters.ravel(), ends), (len(voters), Y.shape[0]))
        return best((votes @ Y).tocsr())

    def labels(self, found: Any) -> np.ndarray:
        return found


# By the name on the command line: the title in the table, the class.
METHODS: dict[str, tuple[str, type[Method]]] = {
    "x1-preset": ("X1 preset", X1),
    "x1-default": ("X1 default", X1),
    "x1-fast": ("X1 fast", X1),
    "x1-five": ("X1, five learners", X1),
    "pecos": ("PECOS XR-Linear", Pecos),
    "parabel": ("omikuji Parabel", Omikuji),
    "bonsai": ("omikuji Bonsai", Omikuji),
    "plt": ("napkinXC PLT", NapkinXC),
    "one-vs-rest": ("one-vs-rest SVM", OneVsRest),
    "knn": ("cosine kNN", NearestNeighbours),
}


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
    return {"bonsai": BONSAI, "plt": {"seed": 0}}.get(name, {})


def installed(name: str) -> bool:
    """Return whether the method's package is there."""
    return find_spec(METHODS[name][1].module) is not None
