"""What the demo holds X1 against: small cases by hand, and dense oracles on random ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse import random as random_sparse

from neartag.cli.references import best_neighbours, most_frequent, plain_knn, plain_ridge
from neartag.core.errors import ParameterError


def matrix(rows):
    return csr_matrix(np.array(rows, dtype=np.float32))


# Labels 0 to 3 have 1, 3, 3 and 0 points.
LABELS = matrix([[1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 1, 0]])


def test_most_frequent_by_hand():
    assert most_frequent(LABELS, 2, 2).tolist() == [[1, 2], [1, 2]]
    assert most_frequent(LABELS, 1, 5).tolist() == [[1, 2, 0, -1, -1]]
    assert most_frequent(LABELS, 0, 3).shape == (0, 3)


def test_knn_by_hand():
    train = matrix([[2, 0, 0], [3, 4, 0], [0, 0, 0], [0, 5, 0]])
    test = matrix([[1, 0, 0], [0, 7, 0], [0, 0, 1], [0, 0, 0]])
    # Cosines of the first test point: 1, 0.6, none, none; of the second: none, 0.8, none, 1; the others have none.
    answer = plain_knn(train, LABELS, test, [1, 2, 4], k=3)
    nothing = [-1, -1, -1]
    assert answer[1, "uniform"].tolist() == [[1, 0, -1], [2, -1, -1], nothing, nothing]
    assert answer[2, "uniform"].tolist() == [[1, 2, 0], [2, 1, -1], nothing, nothing]
    assert answer[2, "similarity"].tolist() == [[1, 0, 2], [2, 1, -1], nothing, nothing]
    assert answer[4, "similarity"].tolist() == answer[2, "similarity"].tolist()


def test_of_equally_near_points_the_first_counts_and_of_equal_votes_the_more_frequent_label():
    answer = plain_knn(matrix([[1, 0]] * 4), LABELS, matrix([[1, 0]]), [1, 2, 4], k=4)
    assert answer[1, "uniform"].tolist() == [[1, 0, -1, -1]]
    assert answer[2, "uniform"].tolist() == [[1, 2, 0, -1]]
    assert answer[4, "uniform"].tolist() == [[1, 2, 0, -1]]


def test_points_that_point_the_other_way_are_no_neighbours():
    train = matrix([[1, 0], [-1, 0], [-1, 1], [0, 1]])
    answer = plain_knn(train, LABELS, matrix([[1, 0]]), [4], k=3)
    assert answer[4, "uniform"].tolist() == answer[4, "similarity"].tolist() == [[1, 0, -1]]


def random_problem(seed=0, n_train=60, n_test=25, n_features=30, n_labels=12):
    def draw(n, width, density, offset):
        return random_sparse(n, width, density, format="csr", dtype=np.float32, random_state=seed + offset)

    labels = draw(n_train, n_labels, 0.2, 2)
    labels.data[:] = 1
    return draw(n_train, n_features, 0.2, 0), labels, draw(n_test, n_features, 0.2, 1)


@pytest.mark.parametrize("vote", ["uniform", "similarity"])
def test_knn_equals_a_dense_loop(vote):
    X, Y, X_test = random_problem()
    frequency = Y.toarray().sum(axis=0)
    got = plain_knn(X, Y, X_test, [3, 9], k=4)
    for count in (3, 9):
        for row, point in enumerate(X_test.toarray()):
            lengths = np.linalg.norm(X.toarray(), axis=1) * np.linalg.norm(point)
            cosine = np.divide(X.toarray() @ point, lengths, out=np.zeros(X.shape[0]), where=lengths > 0)
            near = [i for i in np.argsort(-cosine, kind="stable")[:count] if cosine[i] > 0]
            votes = sum((Y.toarray()[i] * (1 if vote == "uniform" else cosine[i]) for i in near), np.zeros(Y.shape[1]))
            ranked = sorted(np.flatnonzero(votes), key=lambda label: (-votes[label], -frequency[label], label))[:4]
            assert got[count, vote][row].tolist() == [*ranked, *[-1] * (4 - len(ranked))]


@pytest.mark.parametrize("n_train", [20, 60])  # fewer points than features, and more
@pytest.mark.parametrize("l2", [0.3, 2.0])
def test_ridge_equals_the_closed_form(n_train, l2):
    X, Y, X_test = random_problem(seed=5, n_train=n_train)
    answer = plain_ridge(X, Y, X_test, 5, l2)
    dense = X.toarray().astype(np.float64)
    weights = np.linalg.solve(dense.T @ dense + l2 * np.eye(X.shape[1]), dense.T @ Y.toarray())
    scores = X_test.toarray() @ weights
    # Compared by score, since a point without features leaves all labels equal.
    best = -np.sort(-scores, axis=1)[:, :5]
    np.testing.assert_allclose(np.take_along_axis(scores, answer, axis=1), best, atol=1e-4)


def test_ridge_of_one_feature_by_hand_and_ties():
    X, Y = matrix([[1], [1], [2]]), matrix([[1, 0, 1], [0, 0, 1], [1, 0, 0]])
    # Xᵀ·Y = (3, 0, 2), so the labels rank 0, 2 for a positive feature; without features label frequency decides.
    answer = plain_ridge(X, Y, matrix([[1], [0], [-1]]), 4, 1.0)
    assert answer.tolist() == [[0, 2, -1, -1], [0, 2, -1, -1], [2, 0, -1, -1]]


def test_the_inputs_are_left_as_they_were():
    X, Y, X_test = random_problem()
    before = [part.toarray() for part in (X, Y, X_test)]
    plain_knn(X, Y, X_test, [3], k=2)
    plain_ridge(X, Y, X_test, 2, 1.0)
    for part, copy in zip((X, Y, X_test), before, strict=True):
        np.testing.assert_array_equal(part.toarray(), copy)


def test_matrices_that_do_not_fit_are_refused():
    X, Y, X_test = random_problem()
    with pytest.raises(ParameterError, match="one group"):
        best_neighbours(X, Y, ["same"] * 60)
    with pytest.raises(ValueError, match="59"):
        plain_knn(X, Y[:59], X_test, [5], k=3)
