"""Hybrid rows: every operation is that of one dense array with the weighted vectors beside the words."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from kernel_helpers import random_rows
from neartag.core.errors import ParameterError
from neartag.linalg import rows as linalg
from neartag.linalg.coded_rows import CodedRows
from neartag.linalg.conjugate_gradients import GramMatrix, column_squares, solve_ridge
from neartag.linalg.hybrid_rows import HybridRows, as_one_matrix, vectors_of, words_of
from neartag.linalg.products import matmul
from neartag.linalg.single_row import as_csr_arrays
from neartag.linalg.validation import check_features, check_training
from neartag.x1.centroids import route
from neartag.x1.kmeans import partition


def made(n=30, d=20, e=7, weight=0.5, seed=0, coded=False) -> HybridRows:
    vectors = np.random.default_rng(seed).standard_normal((n, e)).astype(np.float32)
    vectors[1] = 0
    return HybridRows(random_rows(n, d, seed=seed), CodedRows.encode(vectors) if coded else vectors, weight)


@pytest.mark.parametrize("weight", [1.0, 0.5])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("coded", [False, True])
def test_products_are_those_of_one_array(weight, sparse, coded):
    rows, random = made(weight=weight, coded=coded), np.random.default_rng(1)
    weights = random.standard_normal((27, 4)).astype(np.float32) * (random.random((27, 4)) < 0.5)
    given = csr_matrix(weights) if sparse else weights
    np.testing.assert_allclose(matmul(rows, given), rows.toarray() @ weights, atol=1e-5)
    right = random.standard_normal((30, 4)).astype(np.float32)
    np.testing.assert_allclose(matmul(linalg.transpose(rows), right), rows.toarray().T @ right, atol=1e-5)
    np.testing.assert_allclose(column_squares(rows), (rows.toarray() ** 2).sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(linalg.row_lengths(rows), np.linalg.norm(rows.toarray(), axis=1), rtol=1e-6)
    assert np.array_equal(linalg.dense(rows), rows.toarray())


@pytest.mark.parametrize("coded", [False, True])
def test_products_are_the_same_for_every_number_of_threads(coded):
    rows, random = made(3000, 20, 7, coded=coded), np.random.default_rng(1)
    weights, right = (random.standard_normal((size, 4)).astype(np.float32) for size in (27, 3000))
    assert np.array_equal(matmul(rows, weights, 1), matmul(rows, weights, 3))
    turned = linalg.transpose(rows)
    assert np.array_equal(matmul(turned, right, 1), matmul(turned, right, 3))
    np.testing.assert_allclose(matmul(turned, right, 1), rows.toarray().T @ right, atol=1e-3)  # in several blocks


@pytest.mark.parametrize("coded", [False, True])
def test_ridge_regression_is_that_of_one_array(coded):
    rows, targets = made(coded=coded), np.random.default_rng(2).standard_normal((30, 3)).astype(np.float32)
    whole = rows.toarray().astype(np.float64)
    exact = np.linalg.solve(whole.T @ whole + np.eye(27), whole.T @ targets)
    found = solve_ridge(GramMatrix.of(rows), targets, scale=np.ones(1), l2=1.0, max_iter=200, tolerance=1e-7)
    np.testing.assert_allclose(found, exact, atol=1e-4)


@pytest.mark.parametrize("coded", [False, True])
def test_chosen_rows_and_columns(coded):
    rows = made(coded=coded)
    mask = np.arange(30) % 3 == 0
    for chosen in (slice(4, 9), np.array([5, 2]), mask):
        assert np.array_equal(rows[chosen].toarray(), rows.toarray()[chosen])
    some = rows[np.arange(5, 9)]
    used, columns = linalg.used_columns(some)
    assert columns is not None
    assert columns[-7:].tolist() == list(range(20, 27))
    assert np.array_equal(used.toarray(), some.toarray()[:, columns])
    np.testing.assert_array_equal(linalg.select_columns(rows, columns).toarray(), rows.toarray()[:, columns])
    assert rows.nnz == rows.words.nnz + rows.vectors.size
    assert len(rows) == 30


def test_both_parts_become_unit_rows_and_missing_ones_stay_missing():
    rows = made()
    unit = linalg.normalise(linalg.as_rows(rows))
    for part, before in ((unit.words, rows.words), (unit.vectors, rows.vectors)):
        there = linalg.row_lengths(before) > 0
        assert not there.all()
        np.testing.assert_allclose(linalg.row_lengths(part), there, rtol=1e-6)
    assert unit.vector_weight == 0.5
    assert not linalg.is_dense(unit)


def test_training_holds_unit_vectors_coded_once():
    rows = made(9000, 5, 3)  # in several blocks
    held = linalg.as_training_rows(rows)
    alone = CodedRows.encode(linalg.normalise(rows.vectors))
    assert np.array_equal(held.vectors.codes, alone.codes)
    assert np.array_equal(held.vectors.scales, alone.scales)
    assert linalg.as_training_rows(held).vectors is held.vectors
    assert linalg.normalise(linalg.as_rows(held)).vectors is held.vectors
    assert np.array_equal(linalg.as_training_rows(rows.words).data, held.words.data)


def test_no_copy_of_all_vectors_is_made_to_code_them():
    rows = HybridRows(random_rows(30_000, 2), np.ones((30_000, 64), np.float32))
    tracemalloc.start()
    linalg.as_training_rows(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * rows.vectors.size  # the bytes of one copy as float32


def test_words_are_what_an_inverted_index_sees():
    rows = made()
    assert np.array_equal(as_csr_arrays(rows)[2], rows.words.data)
    assert words_of(rows) is rows.words
    assert vectors_of(rows) is rows.vectors
    assert vectors_of(rows.words) is None
    assert words_of(rows.vectors) is rows.vectors


@pytest.mark.parametrize("coded", [False, True])
def test_k_means_is_that_of_one_array(coded):
    rows = linalg.normalise(made(200))
    rows = linalg.as_training_rows(rows) if coded else rows
    whole = partition(rows.toarray(), 4, seed=3)
    parts = partition(rows, 4, seed=3)
    assert np.array_equal(parts.assignment, whole.assignment)
    np.testing.assert_allclose(parts.centroids, whole.centroids, atol=1e-5)
    assert np.array_equal(route(rows, parts.centroids)[:, 0], route(rows.toarray(), parts.centroids)[:, 0])
    many = partition(rows, 12, seed=3, max_flat=3)  # in two stages
    assert many.n_clusters > 4


def test_bad_rows_are_refused():
    rows, bad = made(), np.full((30, 7), np.nan, np.float32)
    with pytest.raises(ParameterError, match=r"X.vectors contains NaN, first in row 0"):
        check_features(HybridRows(rows.words, bad))
    with pytest.raises(ParameterError, match="27 features, but X1 is expecting 26"):
        check_features(rows, 26, "X1")
    with pytest.raises(ParameterError, match="sparse words and as many dense vectors"):
        check_features(HybridRows(rows.words, rows.vectors[:3]))
    with pytest.raises(ParameterError, match=r"X.vectors must have int8 codes .* and a finite float32 scale"):
        check_features(HybridRows(rows.words, CodedRows(bad, np.ones(30, np.float32))))
    with pytest.raises(ParameterError, match="30 points but Y has 2"):
        check_training(rows, np.eye(2))


def test_one_matrix_for_methods_that_know_of_no_parts():
    words, vectors = csr_matrix([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0, 0.0], [3.0, 4.0]], np.float32)
    rows = HybridRows(words, vectors, 0.5)
    assert np.array_equal(as_one_matrix(rows).toarray(), rows.toarray())
    assert as_one_matrix(words) is words
