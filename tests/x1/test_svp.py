"""SVP's own promises: history, stopping, cost, odd graphs. That it is the paper's iteration is shown in test_paper."""

from __future__ import annotations

import tracemalloc
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.core.threads import single_threaded_blas
from neartag.data import synthetic
from neartag.x1 import svp as module
from neartag.x1.label_graph import neighbour_graph
from neartag.x1.svp import svp


@pytest.fixture(autouse=True)
def held():
    """Hold BLAS to one thread, as all callers do."""
    with single_threaded_blas():
        yield


@cache
def label_graph(n=300, neighbours=20, seed=0, labels=80):
    """Return the graph of heavy-tailed label rows, (n, n)."""
    return neighbour_graph(synthetic.make(n, 100, labels, 10, 3, seed=seed).Y, neighbours)


def random_graph(n, neighbours, seed=0):
    """Return a sparse symmetric graph of any size in no time, (n, n)."""
    random = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), neighbours)
    columns = (rows + random.integers(0, 50, rows.size)) % n
    half = csr_matrix((random.random(rows.size).astype(np.float32), (rows, columns)), shape=(n, n))
    return csr_matrix(half.maximum(half.T))


def misfit(graph, found):
    """Return ‖P_Ω(G − Z Zᵀ)‖² by the dense product."""
    Z = found.points.astype(np.float64)
    dense = graph.toarray().astype(np.float64)
    pattern = csr_matrix((np.ones(graph.nnz), graph.indices, graph.indptr), shape=graph.shape).toarray() > 0
    return float((np.where(pattern, dense - Z @ Z.T, 0) ** 2).sum())


# (n, dim): the first by the dense eigen-decomposition, the others by block products
SIZES = [(50, 20), (300, 8), (300, 20)]


@pytest.mark.parametrize(("n", "dim"), SIZES)
def test_what_comes_out(n, dim):
    graph = label_graph(n)
    found = svp(graph, dim)
    assert found.vectors.shape == found.points.shape == (n, dim)
    assert found.vectors.dtype == found.points.dtype == np.float32
    assert found.values.shape == (dim,)
    assert (found.values >= 0).all()
    assert (np.diff(found.values) <= 0).all()
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(dim), atol=1e-5)
    np.testing.assert_allclose(
        found.points @ found.points.T, (found.vectors * found.values) @ found.vectors.T, atol=1e-5
    )


@pytest.mark.parametrize(("n", "dim"), SIZES)
def test_rounding_does_not_add_up_over_many_steps(n, dim):
    # Each step starts from the vectors of the last, and counts on their being orthonormal.
    graph = label_graph(n)
    found = svp(graph, dim, max_iter=150, tol=0)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(dim), atol=1e-4)
    scale = float((graph.data.astype(np.float64) ** 2).sum())
    assert found.objective[-1] == pytest.approx(misfit(graph, found), rel=1e-3, abs=1e-9 * scale)


@pytest.mark.parametrize(("n", "dim"), SIZES)
def test_the_history_is_that_of_the_objective(n, dim):
    graph = label_graph(n)
    for steps in (1, 2, 5):
        found = svp(graph, dim, max_iter=steps, tol=0)
        assert len(found.objective) == steps
        assert found.objective[-1] == pytest.approx(misfit(graph, found), rel=1e-4)
    longer = svp(graph, dim, max_iter=9, tol=0)
    assert longer.objective[:5] == found.objective, "a longer run begins as a shorter one"


@pytest.mark.parametrize("step", [0.3, 0.7, 1.0])
@pytest.mark.parametrize(("n", "dim"), SIZES)
@pytest.mark.parametrize("sweeps", [1, 3])
def test_the_objective_never_rises_at_steps_up_to_one(n, dim, step, sweeps):
    graph = label_graph(n)
    start = float((graph.data.astype(np.float64) ** 2).sum())
    history = np.array([start, *svp(graph, dim, step=step, max_iter=25, tol=0, sweeps=sweeps).objective])
    assert (np.diff(history) <= 1e-6 * history[:-1]).all()


def test_it_stops_when_the_objective_hardly_changes():
    graph = label_graph()
    for tol in (0.2, 0.05, 0.02):
        history = [float((graph.data.astype(np.float64) ** 2).sum()), *svp(graph, 8, max_iter=300, tol=tol).objective]
        changes = np.abs(np.diff(history)) / history[:-1]
        assert changes[-1] <= tol
        assert (changes[:-1] > tol).all(), "not a step longer than needed"
        assert len(history) < 300
    assert len(svp(graph, 8, max_iter=4, tol=0).objective) == 4, "the other end: a maximum of steps"


def test_better_eigenvectors_and_more_steps_fit_better():
    graph = label_graph()
    objective = [svp(graph, 10, max_iter=steps, tol=0).objective[-1] for steps in (1, 5, 20)]
    assert objective[0] > objective[1] > objective[2]
    assert svp(graph, 20, tol=0).objective[-1] < svp(graph, 5, tol=0).objective[-1]


# ---- cost


def count_products(monkeypatch, graph, dim, **settings):
    """Return the columns multiplied by the sparse matrix: those at the start, then in each step."""
    counted = []
    times, residual_times = module._Pattern.times, module._Pattern.residual_times

    def at_the_start(self, values, block, start, stop):
        counted.append(block.shape[1] if start == 0 else 0)  # blocks of rows of one product
        return times(self, values, block, start, stop)

    def in_a_step(self, found, image):
        counted.append(image.shape[1])
        return residual_times(self, found, image)

    monkeypatch.setattr(module._Pattern, "times", at_the_start)
    monkeypatch.setattr(module._Pattern, "residual_times", in_a_step)
    svp(graph, dim, tol=0, **settings)
    monkeypatch.undo()
    return [columns for columns in counted if columns]


def test_a_step_is_one_block_product_whatever_the_size(monkeypatch):
    # O(n·L̂² + n·L̂·n̄): columns multiplied in a step depend on the dimension alone.
    for n in (400, 6400):
        assert count_products(monkeypatch, random_graph(n, 10), 8, max_iter=5) == [8] * (2 + 5)


@pytest.mark.parametrize("dim", [20])
def test_no_array_of_all_pairs_is_formed(dim):
    n = 20_000  # of all pairs: 1.6 GB in float32
    graph = random_graph(n, 10)
    svp(random_graph(200, 5), dim, max_iter=1)
    tracemalloc.start()
    svp(graph, dim, max_iter=2, tol=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # n·dim floats are 1.6 MB: the basis of three blocks, its image and their copies.
    assert peak < 30 * 4 * n * dim + 10 * graph.data.nbytes


# ---- odd graphs


@pytest.mark.parametrize("dim", [1, 5, 50])
@pytest.mark.parametrize("n", [1, 2, 40, 200])
def test_without_any_pair_the_embedding_is_zero(n, dim):
    found = svp(csr_matrix((n, n), dtype=np.float32), dim)
    assert found.points.shape == (n, min(n, dim))
    assert (found.points == 0).all()
    assert found.objective == []


@pytest.mark.parametrize("n", [1, 2, 7, 60, 200])
def test_fewer_points_than_dimensions(n):
    graph = label_graph(n, 10)
    found = svp(graph, 250, max_iter=60, tol=0)
    assert found.points.shape == (n, n)
    assert np.isfinite(found.points).all()
    # With all dimensions allowed the graph can be met: nothing but positive semi-definiteness stands in the way.
    assert found.objective[-1] < 0.02 * float((graph.data.astype(np.float64) ** 2).sum())


@pytest.mark.parametrize(("n", "dim"), [(30, 12), (120, 4)])
def test_equal_label_rows_are_met_exactly(n, dim):
    graph = csr_matrix(np.ones((n, n), np.float32))
    found = svp(graph, dim, tol=0)
    assert found.objective[-1] < 1e-6 * n * n
    assert found.values[0] == pytest.approx(n, rel=1e-5)
    np.testing.assert_allclose(found.points @ found.points.T, 1, atol=1e-3)


def test_groups_without_common_labels_are_orthogonal():
    graph = csr_matrix(sparse.block_diag([np.ones((40, 40)), np.ones((30, 30)), np.ones((20, 20))], dtype=np.float32))
    Z = svp(graph, 3, tol=0, sweeps=5).points
    np.testing.assert_allclose(Z @ Z.T, graph.toarray(), atol=1e-3)


def test_points_without_labels_lie_at_zero():
    Y = synthetic.make(300, 100, 80, 10, 3, seed=0).Y.tolil()
    Y[::10] = 0
    graph = neighbour_graph(csr_matrix(Y), 20)
    lengths = np.linalg.norm(svp(graph, 10, sweeps=30).points, axis=1)
    assert lengths[::10].max() < 1e-3 * np.median(lengths)


def test_the_graph_is_left_as_it_was():
    graph = label_graph()
    before = graph.data.copy(), graph.indices.copy(), graph.indptr.copy()
    svp(graph, 8)
    for array, copy in zip((graph.data, graph.indices, graph.indptr), before, strict=True):
        assert np.array_equal(array, copy)


# ---- the same again


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_seed_and_threads_give_the_same_bytes(threads):
    graph = label_graph()
    found = {svp(graph, 8, seed=3, threads=threads).points.tobytes() for _ in range(3)}
    assert len(found) == 1


def test_threads_change_no_more_than_rounding():
    graph = label_graph()
    one, two = svp(graph, 8, max_iter=3), svp(graph, 8, max_iter=3, threads=2)
    np.testing.assert_allclose(one.objective, two.objective, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize(("n", "dim"), [(60, 20), (300, 8)])
def test_a_step_so_long_that_it_diverges_is_named(n, dim):
    # Small clusters diverge; in large ones the rank holds the iterates down, and they only swing.
    try:
        found = svp(label_graph(n), dim, step=10, max_iter=300)
    except ParameterError as error:
        found, said = None, str(error)
    assert np.isfinite(found.points).all() if found else "svp_step" in said


@pytest.mark.parametrize(("entries", "dim"), [(1, 100), (3, 50), (10, 5), (10, 100)])
def test_a_graph_that_is_soon_met_is_met_exactly(entries, dim):
    # Once all of it is explained the residual is rounding noise, which must not be taken for a direction.
    places = np.random.default_rng(entries).choice(400, entries, replace=False)
    graph = csr_matrix((np.ones(entries, np.float32), (places, places)), shape=(400, 400))
    found = svp(graph, dim, max_iter=30, tol=0)
    assert found.objective[-1] == pytest.approx(0, abs=1e-6)  # unit vectors meet a diagonal of ones in any dimension
    assert np.isfinite(found.points).all()
