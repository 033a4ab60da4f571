"""What the estimators of all methods have in common: scikit-learn's conventions over a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin

from neartag.core import progress as progress_bars
from neartag.core.parameters import Parameter
from neartag.core.progress import Progress


class LabelClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose points have any number of labels; what was learned is in `model_`."""

    n_jobs: int | None

    def predict_topk(self, X: Any, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best labels of each row, best first, and their scores, both (n, k); −1: no label left."""
        return self._fitted().predict_topk(X, k, n_jobs=self.n_jobs)

    def predict(self, X: Any) -> csr_matrix:
        """Return the labels whose score is at least `threshold`, as an indicator CSR (n, L)."""
        return self._fitted().predict(X, n_jobs=self.n_jobs)

    def decision_function(self, X: Any) -> csr_matrix:
        """Return the score of every label that has one, as CSR (n, L)."""
        return self._fitted().decision_function(X, n_jobs=self.n_jobs)

    def _fitted(self) -> Any:
        """Return the model, with what only prediction uses as it is set now."""
        raise NotImplementedError

    def _learned(self, model: Any) -> None:
        """Keep the model and what scikit-learn wants to be told of it."""
        self.model_ = model
        self.n_features_in_ = int(model.n_features)
        self.n_labels_ = int(model.n_labels)
        self.classes_ = np.arange(self.n_labels_)

    def __sklearn_tags__(self) -> Any:
        """Say what fits: sparse rows, and targets that are 0/1 matrices only."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags

    def _more_tags(self) -> dict[str, Any]:
        # scikit-learn before 1.6
        return {"multioutput_only": True, "multilabel": True, "binary_only": True}


def shown(progress: Progress | bool) -> Progress:
    """Return the progress meant: True is a bar on a terminal and lines elsewhere."""
    return progress_bars.choose("auto" if progress else "silent") if isinstance(progress, bool) else progress


def describe(table: Sequence[Parameter]) -> str:
    """Return the lines of a docstring on these parameters: described once, where the command line reads them too."""
    return "".join(
        f"\n    {each.name} : {each.describe()}, default {each.default!r}\n        {each.help}." for each in table
    )
