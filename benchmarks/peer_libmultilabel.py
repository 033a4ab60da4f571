"""LibMultiLabel's linear methods: one-vs-rest and a tree of labels, each node a set of linear classifiers."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from peer_method import Method, dump, undump, unit
from peer_settings import AT_ONCE, MAX_DENSE_GB, K
from scipy.sparse import csr_matrix

LIBLINEAR = ("s", "c", "B", "e")  # what liblinear's options are called


class LibMultiLabel(Method):
    module, package = "libmultilabel", "libmultilabel"
    notes = "rows scaled to unit length before (its own tf-idf rows are)"

    @property
    def options(self) -> str:
        """What liblinear is told; nothing by default, as the functions have it."""
        return " ".join(f"-{name} {value}" for name, value in self.some(*LIBLINEAR).items())

    def train_input(self, X: csr_matrix, Y: csr_matrix, file: Path | None) -> Any:
        return unit(X.astype(np.float64)), Y.astype(np.float64)

    def test_input(self, X: csr_matrix) -> Any:
        return unit(X.astype(np.float64))

    def fit(self, given: Any, folder: Path) -> None:
        X, Y = given
        with held_to(self.threads), contextlib.redirect_stdout(io.StringIO()):
            self.model = self.train(Y, X)

    def train(self, Y: csr_matrix, X: csr_matrix) -> Any:
        """Return a model of the package."""
        from libmultilabel import linear

        size = X.shape[1] * Y.shape[1] * 8 / 1e9
        if size > MAX_DENSE_GB:
            raise RuntimeError(f"its weights are a dense matrix of {size:.1f} GB, more than {MAX_DENSE_GB:g}")
        return linear.train_1vsrest(Y, X, options=self.options, verbose=False)

    def save(self, folder: Path) -> None:
        dump(self.model, folder)

    def load(self, folder: Path) -> None:
        self.model = undump(folder)

    def scores(self, rows: csr_matrix) -> np.ndarray:
        """Return the scores of all labels (n, L)."""
        return self.model.predict_values(rows)

    def predict(self, given: Any) -> Any:
        found = np.empty((given.shape[0], K), np.int64)
        for start in range(0, given.shape[0], AT_ONCE):
            scores = self.scores(given[start : start + AT_ONCE])  # (AT_ONCE, L)
            found[start : start + AT_ONCE] = np.argsort(-scores, axis=1, kind="stable")[:, :K]
        return found


class LibMultiLabelTree(LibMultiLabel):
    notes = f"{LibMultiLabel.notes}; predicts each point's beam in Python"

    def train(self, Y: csr_matrix, X: csr_matrix) -> Any:
        from libmultilabel import linear

        np.random.seed(0)  # it draws its clusters from the global generator
        tree = self.some("K", "dmax")
        if trees := self.settings.get("n_trees"):
            return linear.train_ensemble_tree(Y, X, options=self.options, n_trees=trees, verbose=False, **tree)
        return linear.train_tree(Y, X, options=self.options, verbose=False, **tree)

    def scores(self, rows: csr_matrix) -> np.ndarray:
        search = self.some("beam_width", "prob_A")
        # An ensemble hands no prob_A on to its trees: their mean is taken here.
        trees = getattr(self.model, "tree_models", [self.model])
        return np.mean([tree.predict_values(rows, **search) for tree in trees], axis=0)


@contextlib.contextmanager
def held_to(threads: int) -> Iterator[None]:
    """Let the package count so many cores: it starts a thread for each, and has no option for that."""
    import psutil

    counted, psutil.cpu_count = psutil.cpu_count, lambda logical=True: threads
    try:
        yield
    finally:
        psutil.cpu_count = counted
