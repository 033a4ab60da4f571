"""kNN on the features: the contract, and a plain loop's votes."""

from __future__ import annotations

import numpy as np
import pytest

from contract import ClassifierContract, VariantContract, problem
from neartag.comparators.knn.classifier import KNNClassifier


class TestContract(ClassifierContract):
    def make_model(self, **changes):
        return KNNClassifier(**{"neighbours": 30, "n_jobs": 1, **changes})


class TestContractByDistance(VariantContract):
    def make_model(self, **changes):
        options = {"neighbours": 30, "metric": "euclidean", "vote_weight": "similarity", "n_jobs": 1}
        return KNNClassifier(**{**options, **changes})


def plain(X, Y, X_new, k, metric, weight):
    """Return the vote shares (m, L) by the definition."""
    if metric == "cosine":
        unit = [rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30) for rows in (X, X_new)]
        near = unit[1] @ unit[0].T
    else:
        near = 1 / (1 + np.linalg.norm(X_new[:, None] - X[None], axis=2))
    shares = np.zeros((len(X_new), Y.shape[1]))
    for row in range(len(X_new)):
        for voter in np.argsort(-near[row], kind="stable")[:k]:
            shares[row] += Y[voter] * (near[row, voter] if weight == "similarity" else 1)
        best = np.sort(near[row])[::-1][:k]
        shares[row] /= best.sum() if weight == "similarity" else k
    return shares


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("weight", ["uniform", "similarity"])
@pytest.mark.parametrize("dense", [False, True])
def test_votes_are_those_of_a_plain_loop(metric, weight, dense):
    data = problem()
    # Noise, so that no two distances are equal and the k nearest are the same whoever looks for them.
    noise = np.random.default_rng(0)
    X = data.X.toarray() * noise.uniform(0.5, 1.5, data.X.shape)
    X_new = data.X_new.toarray() * noise.uniform(0.5, 1.5, data.X_new.shape)
    if dense:
        X, X_new = X + noise.uniform(0.1, 0.2, X.shape), X_new + noise.uniform(0.1, 0.2, X_new.shape)
    model = KNNClassifier(neighbours=8, metric=metric, vote_weight=weight, row_scale="raw").fit(X, data.Y)
    wanted = plain(X, data.Y.toarray(), X_new, 8, metric, weight)
    assert np.abs(model.decision_function(X_new).toarray() - wanted).max() < 1e-4
