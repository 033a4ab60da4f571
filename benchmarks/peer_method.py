"""What the harness asks of every compared method, and what several of them need.

The harness calls train_input, fit, save, load, then predict on all test points and predict_one on some. It times fit
and predict alone: what a tool takes (`train_input`, `test_input`) and gives (`labels`) is converted outside of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from peer_settings import K
from scipy.sparse import csr_matrix


class Method:
    """A tool: `settings` are what differs from its defaults, `threads` how many it may use."""

    module: ClassVar[str]  # what must be there to import
    package: ClassVar[str]  # whose version is told
    notes: ClassVar[str] = ""
    reads_file: ClassVar[bool] = False  # `train_input` reads the file by itself
    saves_in_fit: ClassVar[bool] = False

    def __init__(self, settings: dict[str, Any], threads: int) -> None:
        self.settings = settings
        self.threads = threads
        self.model: Any = None

    def some(self, *names: str) -> dict[str, Any]:
        """Return those of the settings that are set."""
        return {name: self.settings[name] for name in names if name in self.settings}

    def train_input(self, X: csr_matrix, Y: csr_matrix, file: Path | None) -> Any:
        """Return what `fit` takes, of the training part in memory or, where the method reads it itself, of its file."""
        return X, Y

    def test_input(self, X: csr_matrix) -> Any:
        """Return the rows as `predict` takes them."""
        return X

    def fit(self, given: Any, folder: Path) -> None:
        """Learn; the folder, empty, is for tools that store while they learn."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Store the model in an empty folder."""
        raise NotImplementedError

    def load(self, folder: Path) -> None:
        """Make the stored model ready to predict."""
        raise NotImplementedError

    def predict(self, given: Any) -> Any:
        """Return the K best labels of every row in the tool's own form."""
        raise NotImplementedError

    def predict_one(self, given: Any) -> Any:
        """Return the same for a single row."""
        return self.predict(given)

    def labels(self, found: Any) -> np.ndarray:
        """Return what `predict` found as label ids (n, K), best first, −1 where there are fewer."""
        return found


def unit(X: csr_matrix) -> csr_matrix:
    """Return the rows scaled to length one; rows without features stay as they are."""
    from sklearn.preprocessing import normalize

    return normalize(X)


def best(scores: csr_matrix, among_equals: np.ndarray | None = None) -> np.ndarray:
    """Return the K best columns of each sparse row, best first, −1 where there are fewer.

    Among equal scores the column that has more in `among_equals` (L,) comes first, without that the one before.
    """
    rows = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    preferred = scores.indices if among_equals is None else -among_equals[scores.indices]
    order = np.lexsort((preferred, -scores.data, rows))
    rank = np.arange(len(order)) - scores.indptr[rows]  # rows stay where they were: only entries within them move
    found = np.full((scores.shape[0], K), -1)
    keep = rank < K
    found[rows[keep], rank[keep]] = scores.indices[order][keep]
    return found


def padded(rows: list[list[int]]) -> np.ndarray:
    """Return lists of labels as an array (n, K), −1 where there are fewer."""
    return np.array([[*row[:K], *[-1] * (K - len(row))] for row in rows])


def dump(model: Any, folder: Path) -> None:
    """Store a model that has no format of its own."""
    import joblib

    joblib.dump(model, folder / "model.joblib")


def undump(folder: Path) -> Any:
    """Return what `dump` stored."""
    import joblib

    return joblib.load(folder / "model.joblib")
