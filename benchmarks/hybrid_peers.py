"""Peers of words and vectors side by side, each on one thread: labels of the test points, and what they cost."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from peer_tools import Pecos
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators.knn.classifier import KNNClassifier
from neartag.linalg.hybrid_rows import HybridRows, as_one_matrix
from neartag.metrics import evaluate

K = 5
NEIGHBOURS = (5, 10, 20, 40)
LOGISTIC_C, LOGISTIC_STEPS = 10.0, 60  # for unit rows


def run_pecos(X: csr_matrix, Y: csr_matrix, X_test: csr_matrix) -> tuple[np.ndarray, dict]:
    """XR-Linear with its own defaults, as in peers.py."""
    method = Pecos({}, 1)
    given, asked = method.train_input(csr_matrix(X, dtype=np.float32), Y, None), method.test_input(X_test)
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        method.fit(given, Path(folder))
        trained = time.process_time()
        method.save(Path(folder))
        method.load(Path(folder))
        answering = time.process_time()
        labels = method.labels(method.predict(asked))
        return labels[:, :K], _cost(trained - started, time.process_time() - answering, X_test)


def pecos(
    X: csr_matrix, Y: csr_matrix, X_test: csr_matrix, vectors: np.ndarray, vectors_test: np.ndarray
) -> tuple[np.ndarray, dict]:
    """Words and vectors in one matrix."""
    glued, glued_test = as_one_matrix(HybridRows(X, vectors)), as_one_matrix(HybridRows(X_test, vectors_test))
    return run_pecos(glued, Y, glued_test)


def pecos_words(
    X: csr_matrix, Y: csr_matrix, X_test: csr_matrix, vectors: np.ndarray, vectors_test: np.ndarray
) -> tuple[np.ndarray, dict]:
    """Words alone."""
    return run_pecos(X, Y, X_test)


def knn(
    X: csr_matrix, Y: csr_matrix, X_test: csr_matrix, vectors: np.ndarray, vectors_test: np.ndarray
) -> tuple[np.ndarray, dict]:
    """The nearest points by vectors; k chosen on a tenth of the training part."""
    started = time.process_time()
    order = np.random.default_rng(0).permutation(len(vectors))
    held, rest = np.sort(order[: len(order) // 10][:2000]), np.sort(order[len(order) // 10 :])
    scores = {}
    for count in NEIGHBOURS:
        model = KNNClassifier(neighbours=count, n_jobs=1).fit(vectors[rest], Y[rest])
        found = evaluate(model.predict_topk(vectors[held], K)[0], Y[held])
        scores[count] = sum(found[f"P@{k}"] for k in (1, 3, 5))
    best = max(scores, key=lambda count: scores[count])
    model = KNNClassifier(neighbours=best, n_jobs=1).fit(vectors, Y)
    trained = time.process_time()
    labels, _ = model.predict_topk(vectors_test, K)
    cost = _cost(trained - started, time.process_time() - trained, X_test)
    return labels, {**cost, "neighbours": best}


def logistic(
    X: csr_matrix, Y: csr_matrix, X_test: csr_matrix, vectors: np.ndarray, vectors_test: np.ndarray
) -> tuple[np.ndarray, dict]:
    """One logistic regression for each label, on vectors; all of them in one descent, since their losses add up."""
    from scipy.optimize import minimize

    started = time.process_time()
    known = np.flatnonzero(np.diff(Y.tocsc().indptr))
    truth = np.asarray(Y[:, known].toarray(), np.float32)  # (n, labels)
    rows = np.hstack([vectors, np.ones((len(vectors), 1), np.float32)])  # (n, dim + 1)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(rows.shape[1], len(known)).astype(np.float32)
        margins = rows @ weights  # (n, labels)
        total = LOGISTIC_C * float((np.logaddexp(0, margins) - truth * margins).sum(dtype=np.float64))
        gradient = LOGISTIC_C * (rows.T @ (1 / (1 + np.exp(-margins)) - truth))
        gradient[:-1] += weights[:-1]
        return total + 0.5 * float((weights[:-1] ** 2).sum()), gradient.ravel().astype(np.float64)

    zeros = np.zeros(rows.shape[1] * len(known))
    weights = minimize(loss, zeros, jac=True, method="L-BFGS-B", options={"maxiter": LOGISTIC_STEPS}).x
    trained = time.process_time()
    margins = vectors_test @ weights.reshape(rows.shape[1], -1)[:-1] + weights.reshape(rows.shape[1], -1)[-1]
    labels = known[np.argsort(-margins, axis=1, kind="stable")[:, :K]].astype(np.int32)
    return labels, _cost(trained - started, time.process_time() - trained, X_test)


def _cost(training: float, answering: float, X_test: sparse.spmatrix) -> dict:
    return {"train_cpu_s": training, "predict_cpu_ms": 1000 * answering / X_test.shape[0]}


PEERS: dict[str, Callable[..., tuple[np.ndarray, dict]]] = {
    "pecos": pecos,
    "pecos-words": pecos_words,
    "knn": knn,
    "logistic": logistic,
}
