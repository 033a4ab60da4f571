"""The paper's figures: what each measures, against small computations that are obviously right, and what is claimed."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag.comparators.fastxml.classifier import FastXMLClassifier
from neartag.comparators.leml.classifier import LEMLClassifier
from neartag.comparators.local_leml.classifier import LocalLEMLClassifier
from neartag.core.errors import ParameterError
from neartag.data import synthetic
from neartag.experiments import (
    approximation,
    claims,
    dimensions,
    figure1a,
    figure1b,
    figure1c,
    figure2,
    learners,
    methods,
)
from neartag.experiments.datasets import Parts
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report import html
from neartag.experiments.report.blocks import Figure, Table
from neartag.experiments.results import Record, Results
from neartag.experiments.runner import Work
from neartag.methods import registry
from neartag.x1.classifier import X1Classifier
from neartag.x1.label_graph import neighbour_graph
from neartag.x1.settings import SVPSettings
from neartag.x1.svp import svp


def labels(n, L, seed, share=0.15):
    return csr_matrix((np.random.default_rng(seed).random((n, L)) < share).astype(np.float32))


@pytest.fixture(scope="module")
def parts():
    data = synthetic.make(360, 150, 40, 15, 3, seed=2)
    return Parts(data.X[:260], data.Y[:260], data.X[260:], data.Y[260:])


@pytest.fixture
def toy_data(monkeypatch, parts):
    """Give every experiment the toy data, whatever data set it asks for."""
    monkeypatch.setattr("neartag.experiments.datasets.split", lambda name, seed, quick=False: parts)
    monkeypatch.setattr("neartag.experiments.datasets.load_official", lambda name: parts)


def measured(experiment, plan):
    """Return the results of an experiment's cells."""
    cells = experiment.cells(plan)
    return Results({cell: Record(cell, experiment.run(cell, Work(1))) for cell in cells}, plan)


def check_blocks(blocks):
    """Hold that tables are whole and that everything can be shown."""
    for block in blocks:
        if isinstance(block, Table):
            assert all(len(row) == len(block.columns) for row in block.rows)
        if isinstance(block, Figure):
            assert all(len(series.x) == len(series.y) > 0 for series in block.series)
    names = [block.name for block in blocks if isinstance(block, Figure)]
    assert len(set(names)) == len(names)
    html.render(blocks)


# ---- Figure 1 (a)


@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (20, 20)])
def test_squared_singular_values_are_those_of_the_whole_matrix(shape):
    Y = labels(*shape, seed=1)
    wanted = np.linalg.svd(Y.toarray().astype(np.float64), compute_uv=False) ** 2
    np.testing.assert_allclose(approximation.squared_singular_values(Y, 5), wanted[:5], atol=1e-10)
    few = approximation.squared_singular_values(Y, 5, max_dense_side=4)
    np.testing.assert_allclose(few, wanted[:5], atol=1e-8)


def test_labels_that_nobody_has_have_no_spectrum():
    assert approximation.squared_singular_values(csr_matrix((5, 4), dtype=np.float32), 3).size == 0


def rank_left(Y, rank):
    """‖Y − Y_rank‖² by the SVD itself."""
    U, sizes, V = np.linalg.svd(Y.astype(np.float64), full_matrices=False)
    return float(((Y - (U[:, :rank] * sizes[:rank]) @ V[:rank]) ** 2).sum())


def test_what_svds_leave_is_what_they_do_not_approximate():
    Y = labels(40, 14, seed=2)
    clusters = [np.arange(25), np.arange(25, 40)]
    dims = [1, 3, 6]
    found = approximation.error_of_svd(Y, clusters, dims, Work(1))
    whole = Y.toarray()
    for place, dim in enumerate(dims):
        assert found["global"][place] == pytest.approx(rank_left(whole, dim) / Y.nnz)
        local = sum(rank_left(whole[members], dim) for members in clusters)
        assert found["equal_rank"][place] == pytest.approx(local / Y.nnz)


def test_equal_stored_numbers_are_the_best_that_clusters_can_do_with_them():
    Y = labels(24, 9, seed=3, share=0.25)
    clusters = [np.arange(9), np.arange(9, 24)]
    dims = [1, 2, 4]
    found = approximation.error_of_svd(Y, clusters, dims, Work(1))
    whole = Y.toarray()
    known = [whole[members][:, whole[members].any(axis=0)] for members in clusters]
    used = int(whole.any(axis=0).sum())
    for place, dim in enumerate(dims):
        budget = dim * (24 + used)
        best = min(
            rank_left(known[0], one) + rank_left(known[1], other)
            for one in range(10)
            for other in range(10)
            if one * sum(known[0].shape) + other * sum(known[1].shape) <= budget
        )
        # By gain a number, one after the other: at most one direction short of the best.
        largest = max(np.linalg.svd(matrix, compute_uv=False)[0] ** 2 for matrix in known)
        assert best / Y.nnz - 1e-9 <= found["equal_stored"][place] <= (best + largest) / Y.nnz


def test_one_cluster_of_all_points_is_the_global_svd():
    Y = labels(30, 10, seed=4)
    found = approximation.error_of_svd(Y, [np.arange(30)], [1, 4, 8], Work(1))
    np.testing.assert_allclose(found["equal_rank"], found["global"])
    np.testing.assert_allclose(found["equal_stored"], found["global"])


def test_x1s_error_is_that_of_its_embeddings_on_the_pairs_of_neighbours():
    Y = labels(60, 20, seed=5)
    clusters = [np.arange(35), np.arange(35, 60)]
    settings = SVPSettings(neighbours=8, similarity="inner", step=1.0, max_iter=6, tol=0.0)
    (found,) = approximation.error_of_x1(Y, clusters, [4], settings, Work(1))["x1"]
    left = whole = 0.0
    for members in clusters:
        graph = neighbour_graph(Y[members], 8, similarity="inner")
        points = svp(graph, 4, step=1.0, max_iter=6, tol=0.0).points.astype(np.float64)
        products, on_pairs = Y[members] @ Y[members].T, graph.toarray() > 0
        assert (graph.toarray()[on_pairs] == products.toarray()[on_pairs]).all()
        left += float((np.where(on_pairs, products.toarray() - points @ points.T, 0) ** 2).sum())
        whole += float((products.toarray()[on_pairs] ** 2).sum())
    assert found == pytest.approx(left / whole, rel=1e-3)


@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
def test_the_svd_of_the_target_is_the_best_matrix_of_its_rank(shape):
    Y = labels(*shape, seed=7, share=0.3)
    products = (Y @ Y.T).toarray().astype(np.float64)
    values, vectors = np.linalg.eigh(products)
    wanted = (vectors[:, -3:] * values[-3:]) @ vectors[:, -3:].T
    for most in (4000, 4):
        factors = approximation.left_factors(Y, 3, max_dense_side=most)
        np.testing.assert_allclose(factors @ factors.T, wanted, atol=1e-8)


def test_the_svd_of_the_target_is_judged_on_the_pairs_of_neighbours():
    Y = labels(60, 20, seed=5)
    clusters, dims = [np.arange(35), np.arange(35, 60)], [2, 5, 19, 30]
    settings = SVPSettings(neighbours=8, similarity="inner")
    found = approximation.error_of_target_svd(Y, clusters, dims, settings, Work(1))
    for place, dim in enumerate(dims):
        left = whole = 0.0
        for members in clusters:
            on_pairs = neighbour_graph(Y[members], 8, similarity="inner").toarray() > 0
            products = (Y[members] @ Y[members].T).toarray().astype(np.float64)
            values, vectors = np.linalg.eigh(products)
            approximated = (vectors[:, -dim:] * values[-dim:]) @ vectors[:, -dim:].T
            left += float((np.where(on_pairs, products - approximated, 0) ** 2).sum())
            whole += float((products[on_pairs] ** 2).sum())
        assert found[place] == pytest.approx(left / whole, abs=1e-9)


def test_svp_ends_near_its_minimum_and_says_how_near():
    Y = labels(60, 20, seed=5)
    settings = SVPSettings(neighbours=8, similarity="inner", step=1.0, max_iter=400, tol=1e-2)
    found = approximation.error_of_x1(Y, [np.arange(60)], [3, 4], settings, Work(1))
    assert max(found["steps"]) < 400
    assert max(found["last_falls"]) <= 1e-2
    few = approximation.error_of_x1(
        Y, [np.arange(60)], [3, 4], SVPSettings(neighbours=8, similarity="inner", step=1.0, max_iter=3, tol=0), Work(1)
    )
    assert few["steps"] == [3, 3]
    assert all(late < early for late, early in zip(found["x1"], few["x1"], strict=True))


def test_dimensions_are_the_papers_where_there_are_labels_enough():
    assert figure1a.dimensions(600, (0.1,)) == [100, 200, 300, 400, 500]
    assert figure1a.dimensions(159, (0.1, 0.8)) == [16, 127]


def test_figure_1a_on_toy_data(toy_data):
    results = measured(figure1a.EXPERIMENT, Plan(quick=True))
    blocks = figure1a.EXPERIMENT.report(results)
    check_blocks(blocks)
    plot = blocks[0]
    assert [len(series.y) for series in plot.series] == [4] * 5
    for series in plot.series[:3]:
        assert list(series.y) == sorted(series.y, reverse=True), "more dimensions leave less"
    everywhere, local = plot.series[0].y, plot.series[1].y
    assert all(inside <= outside + 1e-9 for inside, outside in zip(local, everywhere, strict=True))


# ---- Figure 1 (b)


def test_documents_of_each_label_and_the_share_of_rare_ones():
    counts = [50, 20, 7, 5, 4, 4, 1, 0, 0]
    Y = np.zeros((50, 9), np.float32)
    for label, count in enumerate(counts):
        Y[:count, label] = 1
    found = figure1b.frequencies(csr_matrix(Y))
    assert (found["labels"], found["unseen"], found["rare"]) == (9, 2, 3)
    assert found["ranks"] == [1, 2, 3, 4, 5, 6, 7]
    assert found["documents"] == counts[:7]


def test_many_labels_are_thinned_out_evenly_on_the_logarithmic_axis():
    Y = labels(100, 5000, seed=6)
    found = figure1b.frequencies(Y)
    assert len(found["ranks"]) == len(found["documents"]) <= figure1b.MAX_CURVE_POINTS
    assert found["ranks"][0] == 1
    assert found["ranks"][-1] == 5000 - found["unseen"]
    counts = np.sort(np.bincount(Y.indices, minlength=5000))[::-1]
    assert found["documents"] == counts[np.array(found["ranks"]) - 1].tolist()


def test_figure_1b_on_toy_data(toy_data, parts):
    results = measured(figure1b.EXPERIMENT, Plan(quick=True))
    plot, table = figure1b.EXPERIMENT.report(results)
    check_blocks([plot, table])
    share = table.rows[0][-1].value
    assert share == pytest.approx(100 * (np.bincount(parts.Y.indices, minlength=40) < 5).mean())


# ---- smaller ensembles inside a trained one

LEARNED = {"n_clusters": 2, "random_state": 3, "n_jobs": 1}
VOTES = {"refine": False, "vote_neighbours": 10, "feature_share": 0.0}


@pytest.mark.parametrize(
    "make",
    [
        lambda count: X1Classifier(n_learners=count, embedding_dim=10, svp_neighbours=20, **VOTES, **LEARNED),
        lambda count: LocalLEMLClassifier(n_learners=count, **LEARNED),
        lambda count: FastXMLClassifier(trees=count, random_state=3, n_jobs=1),
    ],
    ids=["x1", "local_leml", "fastxml"],
)
def test_the_first_learners_are_what_training_them_alone_gives(make, parts):
    whole = make(4).fit(parts.X, parts.Y).model_
    sizes = []
    for count in (1, 3, 4):
        part, alone = learners.first_learners(whole, count), make(count).fit(parts.X, parts.Y).model_
        found, wanted = part.predict_topk(parts.X_test, 5), alone.predict_topk(parts.X_test, 5)
        assert (found[0] == wanted[0]).all()
        np.testing.assert_allclose(found[1], wanted[1], atol=1e-6)
        assert learners.model_size(part) == learners.model_size(alone)
        sizes.append(learners.model_size(part))
    assert sizes == sorted(set(sizes)), "more learners take more room"


def test_clusters_are_the_papers_and_at_least_some():
    assert learners.clusters_for(3000) == learners.MIN_CLUSTERS
    assert learners.clusters_for(99_003) == 16


# ---- Figure 1 (c) and Figure 2


def test_local_leml_has_the_clusters_of_x1_and_with_one_of_them_is_leml(parts):
    learned = {}
    for method, kind in ((methods.STRICT, X1Classifier), ("local_leml", LocalLEMLClassifier)):
        for clusters in (1, 4):
            cell = Cell("figure1c", "debian", method, 1, (("clusters", clusters),))
            settings = {**figure1c.EXPERIMENT.settings(cell), "random_state": cell.seed, "n_jobs": 1}
            learned[method, clusters] = kind(**settings).fit(parts.X, parts.Y).model_
    (x1,), (local,) = (learned[method, 4].learners for method in (methods.STRICT, "local_leml"))
    np.testing.assert_array_equal(x1.centroids, local.centroids)
    assert x1.centroids.shape[1] == 4
    leml = LEMLClassifier(**methods.preset("leml", "debian"), random_state=1, n_jobs=1).fit(parts.X, parts.Y)
    ours, theirs = learned["local_leml", 1].predict_topk(parts.X_test, 5), leml.predict_topk(parts.X_test, 5)
    assert (ours[0][:, 0] == theirs[0][:, 0]).mean() > 0.95  # they start from other random numbers
    assert figure1c.local_leml_settings("eurlex4k-partial")["rank"] == 1500  # as LEML's
    assert figure1c.describe_rank("eurlex4k-partial") == ""


def test_where_local_lemls_rank_is_not_lemls_it_is_told():
    large = "yso-finna-en-100k"
    local, whole = figure1c.local_leml_settings(large), methods.settings_for("leml", large, large=True)
    assert (local["rank"], whole["rank"]) == (500, 1000)
    assert figure1c.describe_rank(large) == "LocalLEML's rank is 500, LEML's in Table 1 (a) 1,000"


def test_figure_1c_on_toy_data(toy_data):
    experiment = figure1c.Clusters(quick_clusters=(1, 2, 4))
    results = measured(experiment, Plan(quick=True))
    blocks = experiment.report(results)
    check_blocks(blocks)
    assert [series.label for series in blocks[0].series] == ["X1 (paper)", "neartag's variant", "LocalLEML"]
    assert list(blocks[0].series[0].x) == [1, 2, 4]
    assert all(0 < value <= 100 for series in blocks[0].series for value in series.y)


def test_figure_2_on_toy_data(toy_data):
    experiment = figure2.Ensembles(counts={"x1": (1, 2), "local_leml": (1, 2), "fastxml": (1, 3)})
    results = measured(experiment, Plan(quick=True))
    blocks = experiment.report(results)
    check_blocks(blocks)
    assert sum(isinstance(block, Figure) for block in blocks) == 6
    for cell, found in results.items():
        assert found["learners"] == list(experiment.counts[cell.method])
        assert found["bytes"] == sorted(set(found["bytes"]))
        assert found["P@1"][0] > 0
    assert {found["n_clusters"] for found in results.values()} == {learners.MIN_CLUSTERS, None}


def test_where_steps_along_the_tangent_diverge_whole_ones_are_made(monkeypatch):
    graph, real, asked = neighbour_graph(labels(30, 8, 0), 5), approximation.svp, []

    def diverging(graph, dim, **options):
        asked.append("sweeps" in options)
        if "sweeps" not in options:
            raise ParameterError("SVP diverges")
        return real(graph, dim, **options)

    monkeypatch.setattr(approximation, "svp", diverging)
    settings = SVPSettings(projection="tangent", step=1.0, max_iter=5, neighbours=5)
    found = approximation.error_of_x1(labels(30, 8, 0), [np.arange(30)], [4], settings, Work(1))
    assert asked == [False, True]
    wanted = real(graph, 4, step=1.0, max_iter=5, tol=settings.tol, sweeps=20, sweep_tol=1e-3).objective[-1]
    assert found["x1"][0] == pytest.approx(wanted / (graph.data.astype(float) ** 2).sum(), rel=1e-4)


@dataclass
class FakeModel:
    learners: list


def test_of_ensembles_those_stay_that_were_used_last(parts, monkeypatch):
    trained = []

    def train(method, settings, parts, seed, work):
        trained.append(seed)
        return SimpleNamespace(model_=FakeModel([0, 1])), {"train_seconds": 1.0}

    monkeypatch.setattr(methods, "train", train)
    kept, settings = (
        learners.Ensembles(2),
        {**methods.paper_settings("debian", large=True, quick=True), "n_learners": 2},
    )
    for seed in (0, 1, 0, 2, 0):
        kept.train(Cell("table1", "debian", "x1", seed), settings, parts, Work(1))
    assert trained == [0, 1, 2]


def test_an_ensemble_that_is_kept_gives_the_learners_of_a_smaller_one(parts, monkeypatch):
    trained = []
    train = methods.train
    monkeypatch.setattr(methods, "train", lambda *given: trained.append(given[1]) or train(*given))
    settings = {**methods.paper_settings("debian", large=True, quick=True), "svp_neighbours": 10}
    cell, kept = Cell("table1", "debian", "x1"), learners.Ensembles(1)
    three, cost = kept.train(cell, {**settings, "n_learners": 3}, parts, Work(1))
    two, same_cost = kept.train(cell, {**settings, "n_learners": 2}, parts, Work(1))
    assert (len(three.learners), len(two.learners), len(trained)) == (3, 2, 1)
    assert cost == same_cost
    assert cost["trained_learners"] == 3
    alone, _ = learners.Ensembles(1).train(cell, {**settings, "n_learners": 2}, parts, Work(1))
    for ours, theirs in zip(two.predict_topk(parts.X_test, 5), alone.predict_topk(parts.X_test, 5), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    kept.train(cell, {**settings, "n_learners": 4}, parts, Work(1))  # more than there are
    kept.train(Cell("table1", "debian", "x1", 1), {**settings, "n_learners": 2}, parts, Work(1))  # another seed
    kept.train(cell, {**settings, "n_learners": 2}, parts, Work(1))  # which took the place of the first
    assert [given["n_learners"] for given in trained] == [3, 2, 4, 2, 2]


def test_only_methods_that_are_wanted_are_measured():
    plan = Plan(quick=True, methods=("fastxml",))
    assert {cell.method for cell in figure2.EXPERIMENT.cells(plan)} == {"fastxml"}
    assert figure1c.EXPERIMENT.cells(plan) == []
    assert claims.EXPERIMENT.cells(plan) == []


@pytest.mark.parametrize("experiment", [figure1a, figure1b, figure1c, figure2, claims])
def test_nothing_measured_gives_no_section(experiment):
    assert experiment.EXPERIMENT.report(Results({}, Plan())) == []


# ---- 0.8 L dimensions


@pytest.mark.parametrize("method", sorted(dimensions.SETTINGS))
def test_every_embedding_method_takes_a_share_of_the_labels(method):
    name = dimensions.SETTINGS[method]
    settings = dimensions.dimension_in_numbers(method, {name: dimensions.SHARE}, 159)
    assert settings[name] in (0.8, 127)
    X, Y = csr_matrix(np.eye(20, dtype=np.float32)), csr_matrix(np.eye(20, 10, dtype=np.float32))
    settings = dimensions.dimension_in_numbers(method, {name: dimensions.SHARE}, 10)
    registry.get(method).estimator_class()(**settings).fit(X, Y)
    assert dimensions.dimension_in_numbers(method, {name: 5}, 159) == {name: 5}


def test_embedding_methods_have_their_own_dimension_and_a_share_of_the_labels(toy_data):
    plan = Plan(data=("bibtex",), quick=True, methods=("leml", "cplst"))
    cells = dimensions.EXPERIMENT.cells(plan)
    assert len(cells) == 4
    shared = next(cell for cell in cells if cell.option("dimension") == dimensions.SHARED)
    assert dimensions.EXPERIMENT.settings(shared)["rank"] == 0.8
    (table,) = dimensions.EXPERIMENT.report(measured(dimensions.EXPERIMENT, plan))
    assert [row[1:3] for row in table.rows] == [
        [name, what] for name in ("LEML", "CPLST") for what in ("as chosen", "0.8 L")
    ]
    known = {name for method in dimensions.SETTINGS for name in [p.name for p in registry.get(method).parameters]}
    assert set(dimensions.SETTINGS.values()) <= known
