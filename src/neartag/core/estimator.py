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
        """Return the best labels of each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Feature rows.
        k : int, default 5
            Labels for each row.

        Returns
        -------
        labels : array of shape (n, k)
            Ids, best first. Ties go to the label more frequent in training, then to the lower id; −1: no label is left.
        scores : array of shape (n, k)
            From 0 to 1; 0 where the label is −1.

        Raises
        ------
        NotFittedError
            If the classifier has not been fitted.
        ParameterError
            If `k`, or a parameter that prediction uses, cannot be used.
        DataError
            If X cannot be read as rows of as many features as in training.
        """
        return self._current_model().predict_topk(X, k, n_jobs=self.n_jobs)

    def predict(self, X: Any) -> csr_matrix:
        """Return the labels whose score is at least `threshold`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Feature rows.

        Returns
        -------
        csr_matrix of shape (n, L)
            1 where a row has a label.

        Raises
        ------
        NotFittedError, ParameterError, DataError
            As `predict_topk` does.
        """
        return self._current_model().predict(X, n_jobs=self.n_jobs)

    def decision_function(self, X: Any) -> csr_matrix:
        """Return the scores of labels, as many as there are.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Feature rows.

        Returns
        -------
        csr_matrix of shape (n, L)
            The score, above 0 and up to 1, of every label that has one.

        Raises
        ------
        NotFittedError, ParameterError, DataError
            As `predict_topk` does, and where so many scores would not fit into memory.
        """
        return self._current_model().decision_function(X, n_jobs=self.n_jobs)

    def _current_model(self) -> Any:
        """Return the model, with what only prediction uses as it is set now."""
        raise NotImplementedError

    def _keep_model(self, model: Any) -> None:
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


def choose_progress(progress: Progress | bool) -> Progress:
    """Return the progress meant: True is a bar on a terminal and lines elsewhere."""
    return progress_bars.choose("auto" if progress else "silent") if isinstance(progress, bool) else progress


def describe_parameters(table: Sequence[Parameter]) -> str:
    """Return the lines of a docstring on these parameters: described once, where the command line reads them too."""
    return "".join(
        f"\n    {each.name} : {each.describe()}, default {each.default!r}\n        {each.help}." for each in table
    )
