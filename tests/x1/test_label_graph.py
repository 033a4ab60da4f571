"""Ω against brute force on the dense Y·Yᵀ: values exactly, ids by the documented rule for ties."""

from __future__ import annotations

import tracemalloc
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.data import synthetic
from neartag.x1 import label_graph as neighbours
from neartag.x1.label_graph import Grouping, label_neighbours, neighbour_graph


def some_labels(n=120, seed=0):
    """Return a heavy-tailed label matrix, (n, 25), every tenth row without labels."""
    Y = synthetic.make(n, 60, 25, 8, 2.5, seed=seed).Y.tolil()
    Y[::10] = 0
    return csr_matrix(Y)


def dense_similarities(Y, similarity):
    """Return all of Y·Yᵀ, (n, n); rows of unit length first for cosines."""
    rows = Y.toarray().astype(np.float64)
    if similarity == "cosine":
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    return rows @ rows.T


CASES = [(similarity, count) for similarity in ("cosine", "inner") for count in (1, 5, 40, 120, 500)]


@pytest.mark.parametrize(("similarity", "count"), CASES)
@pytest.mark.parametrize("threads", [1, 2])
def test_neighbours_are_those_of_brute_force(similarity, count, threads):
    Y = some_labels()
    n = Y.shape[0]
    all_pairs = dense_similarities(Y, similarity)
    ids, values = label_neighbours(Y, count, similarity=similarity, threads=threads)
    assert ids.shape == values.shape == (n, min(count, n))
    for row in range(n):
        # Ties to the nearest following row number, wrapping round; rows that share no label are no neighbours.
        sharing = np.flatnonzero(all_pairs[row])
        order = sorted(sharing, key=lambda j: (-round(all_pairs[row, j], 6), (j - row) % n))[:count]
        given = ids[row][ids[row] >= 0]
        assert set(given) == set(order)
        assert len(given) == len(order), "a neighbour stands twice"
        assert (ids[row][len(order) :] == -1).all()
        assert (values[row][len(order) :] == 0).all()
        np.testing.assert_allclose(values[row][: len(order)], all_pairs[row, given], rtol=1e-6)
        if similarity == "inner":
            assert np.array_equal(values[row][: len(order)], all_pairs[row, given]), "counts are exact"


@pytest.mark.parametrize("similarity", ["cosine", "inner"])
def test_the_largest_inner_products_are_kept(similarity):
    # The paper's N_i maximises the sum of ⟨y_i, y_j⟩ over sets of that size: no rule for ties can change that sum.
    Y = some_labels(seed=1)
    all_pairs = dense_similarities(Y, similarity)
    _, values = label_neighbours(Y, 12, similarity=similarity)
    best = -np.sort(-all_pairs, axis=1)[:, :12]
    np.testing.assert_allclose(-np.sort(-values, axis=1), best, rtol=1e-6)


def test_a_point_is_its_own_neighbour():
    Y = some_labels()
    ids, _ = label_neighbours(Y, 1)
    labelled = np.diff(Y.indptr) > 0
    assert np.array_equal(ids[labelled, 0], np.flatnonzero(labelled))


def test_equal_label_rows_are_shared_out_among_each_other():
    # 60 equal rows, 6 neighbours each: everybody is somebody's neighbour, as often as any other.
    Y = csr_matrix(np.ones((60, 1), np.float32))
    ids, _ = label_neighbours(Y, 6)
    assert (np.bincount(ids.ravel(), minlength=60) == 6).all()


@pytest.mark.parametrize("similarity", ["cosine", "inner"])
def test_the_graph_is_the_union_of_both_directions(similarity):
    Y = some_labels()
    n = Y.shape[0]
    ids, _ = label_neighbours(Y, 9, similarity=similarity)
    pairs = np.zeros((n, n), bool)
    for row in range(n):
        pairs[row, ids[row][ids[row] >= 0]] = True
    pairs |= pairs.T
    graph = neighbour_graph(Y, 9, similarity=similarity)
    assert graph.has_sorted_indices
    assert graph.dtype == np.float32
    dense = graph.toarray()
    assert np.array_equal(dense, dense.T), "symmetric to the last bit"
    assert np.array_equal(dense != 0, pairs)
    np.testing.assert_allclose(dense[pairs], dense_similarities(Y, similarity)[pairs], rtol=1e-6)


def test_rows_without_labels_have_no_neighbours():
    Y = some_labels()
    graph = neighbour_graph(Y, 9).toarray()
    assert (graph[::10] == 0).all()
    assert (graph[:, ::10] == 0).all()
    empty = csr_matrix((7, 3), dtype=np.float32)
    assert neighbour_graph(empty, 4).nnz == 0
    assert (label_neighbours(empty, 4)[0] == -1).all()


@st.composite
def label_matrices(draw):
    """Return label rows of which many are equal, with labels on none, some, almost all and all of the points."""
    n, width = draw(st.integers(1, 60)), draw(st.integers(1, 9))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = random.choice([0, 0.05, 0.3, 0.95, 1], width)
    kinds = random.random((draw(st.integers(1, 60)), width)) < share  # the rows are drawn from these
    return csr_matrix(kinds[random.integers(0, len(kinds), n)].astype(np.float32))


def sorted_rows(found):
    ids, values = found
    order = np.argsort(ids, axis=1)
    return np.take_along_axis(ids, order, 1).tolist(), np.take_along_axis(values, order, 1).tolist()


@settings(max_examples=300)
@given(label_matrices(), st.integers(1, 20), st.sampled_from(["cosine", "inner"]), st.integers(1, 2))
def test_frequent_labels_dealt_with_by_groups_change_nothing(Y, count, similarity, threads):
    options = {"similarity": similarity, "threads": threads}
    none = Grouping(frequent_share=2)  # no label is: each row is compared with all that share a label
    wanted = label_neighbours(Y, count, **options, grouping=none)
    graph = neighbour_graph(Y, count, **options, grouping=none)
    for limits in ((0, 16, 1024), (0.1, 2, 1024), (0.5, 16, 8)):
        grouping = Grouping(*limits, min_points_per_group=1, min_points=1)
        found = label_neighbours(Y, count, **options, grouping=grouping)
        assert sorted_rows(found) == sorted_rows(wanted), "to the last bit"
        same = neighbour_graph(Y, count, **options, grouping=grouping)
        for piece in ("indptr", "indices", "data"):
            assert np.array_equal(getattr(same, piece), getattr(graph, piece))


@pytest.mark.parametrize("share", [1, 0.97])
def test_a_label_on_nearly_all_points_costs_no_comparison_of_all_with_all(share):
    n = 40_000
    head = np.random.default_rng(0).random(n) < share
    Y = csr_matrix(np.column_stack([head, np.arange(n) % 2000 == 0]).astype(np.float32))
    compared, run = [], neighbours.run_ranges
    with mock.patch.object(
        neighbours, "run_ranges", lambda *arguments, work: compared.append(work[-1]) or run(*arguments)
    ):
        ids, _ = label_neighbours(Y, 10)
    assert compared[0] <= 20 * n  # pairs of rows, of which there are n² with the label
    alike = np.flatnonzero(head & (np.arange(n) % 2000 > 0))
    assert np.array_equal(np.sort(ids[alike[7]]), alike[7:17])


def test_by_hand():
    # Inner products: ⟨0,1⟩ = 2, ⟨0,2⟩ = 1, ⟨1,2⟩ = 1, the third shares nothing.
    Y = csr_matrix(np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]], np.float32))
    assert neighbour_graph(Y, 4, similarity="inner").toarray().tolist() == [
        [2, 2, 1, 0],
        [2, 3, 1, 0],
        [1, 1, 1, 0],
        [0, 0, 0, 1],
    ]
    cosines = neighbour_graph(Y, 2).toarray()
    assert cosines[0, 1] == pytest.approx(2 / np.sqrt(6))
    assert cosines[2, 0] == pytest.approx(1 / np.sqrt(2))
    assert cosines[2, 1] == 0, "two neighbours each: the third's are itself and the first, nobody's is the third"


def test_memory_grows_with_the_neighbours_not_with_all_pairs():
    # One label that every point has makes Y·Yᵀ full: 36 MB in float32, where the neighbours take 0.24 MB.
    n = 3000
    Y = csr_matrix(
        (np.ones(2 * n, np.float32), np.stack([np.zeros(n), 1 + np.arange(n) % 40], 1).ravel(), 2 * np.arange(n + 1))
    )
    label_neighbours(Y[:50], 10)  # compiled and imported
    tracemalloc.start()
    neighbour_graph(Y, 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6e6


@pytest.mark.parametrize("similarity", ["jaccard", None])
def test_a_similarity_that_is_not_known_is_refused(similarity):
    with pytest.raises(ParameterError, match=f"label_similarity.*{similarity!r}"):
        label_neighbours(some_labels(), 3, similarity=similarity)
