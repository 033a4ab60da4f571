"""The preset `paper`: every one of its settings beside the paper's line, and what it makes of data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag import presets, store
from neartag.core.parameters import MACHINE
from neartag.data import synthetic
from neartag.experiments.printed import TABLE_2
from neartag.linalg.rows import normalise
from neartag.x1 import algorithm, partition_steps, steps
from neartag.x1.centroids import route
from neartag.x1.classifier import X1Classifier
from neartag.x1.cluster_training import EXACT_SWEEPS, EXACT_TOL
from neartag.x1.kmeans import partition
from neartag.x1.label_graph import neighbour_graph
from neartag.x1.parameters import DEFAULTS, PARAMETERS
from neartag.x1.resolve import DataFacts, resolve
from neartag.x1.selection import GRAPH_CHOICES
from neartag.x1.settings import SVPSettings, X1Settings
from neartag.x1.svp import svp

# Setting, value, and the paper's words for it.
LINES = {
    "n_learners": (
        "paper",
        "number of learners in the ensemble (15); on small sets X1 was restricted to a single learner",
    ),
    "n_clusters": ("paper", "the number of clusters in a learner (⌊N_Train/6000⌋)"),
    "max_cluster_size": ("unlimited", "Algorithm 1, line 1 limits no cluster"),
    "cluster_start": ("random", "different initialization points in our clustering procedure"),
    "k_means": ("plain", "Algorithm 1, line 1: partition X into Q¹ … Q^C using k-means"),
    "n_probe": (1, "kNN classification within the test point's cluster alone"),
    "centroid_entries": (None, "Algorithm 2, line 1: the partition closest to x"),
    "embedding_dim": ("paper", "embedding dimension (100 for the small data sets and 50 for the large)"),
    "svp_neighbours": ("auto", "the number of neighbours considered during SVP … set by limited validation"),
    "label_similarity": ("inner", "the set of α·n points with the largest inner products with y_i"),
    "svp_step": (1.0, "sub-routine SVP, line 1: η = 1"),
    "svp_max_iter": (1000, "sub-routine SVP, line 7: until convergence"),
    "svp_tol": (1e-2, "sub-routine SVP, line 7: until convergence"),
    "svp_projection": ("exact", "sub-routine SVP, line 4: Top-EigenDecomp(M̂, L̂)"),
    "l1": (0.0, "parameters used for optimizing were kept fixed; not printed"),
    "keep_weights": (1.0, "sub-routine ADMM drops no weight"),
    "precision": ("float32", "nothing is rounded"),
    "vote_neighbours": ("auto", "the k in kNN … set by limited validation on a validation set"),
    "vote_distance": ("euclidean", "Algorithm 2, line 3: nearest neighbours of z in Z"),
    "vote_search": ("exact", "Algorithm 2, line 3: the nearest neighbours, not some of them"),
    "vote_weight": ("uniform", "Algorithm 2, line 4: the empirical label distribution; y = Σ y_i over the neighbours"),
    "feature_share": (0.0, "kNN over the set [Vx_1 … Vx_n]"),
    "refine": (False, "Algorithm 2, line 5: Top_p(P_x)"),
}
# Acts, but is not printed ("the parameters used for optimizing" were kept fixed, section 3): neartag's rule or default.
NOT_PRINTED = {"l2": "auto", "rho": 1.0, "admm_max_iter": 200, "admm_tol": 1e-3}
# Parameters that have no part in it: what they belong to is off.
NO_PART = {
    *("vote_sharpness", "feature_search", "refine_candidates", "refine_cost", "refine_min_weight"),
    *("vector_share", "vector_weight"),
    *("threshold", "random_state", *MACHINE),
}


def test_every_setting_is_the_papers():
    assert presets.get("paper") == {name: value for name, (value, _) in LINES.items()}
    assert {each.name for each in PARAMETERS} == LINES.keys() | NOT_PRINTED.keys() | NO_PART
    assert {name: DEFAULTS[name] for name in NOT_PRINTED} == NOT_PRINTED


@pytest.mark.parametrize(
    ("name", "learners", "clusters", "dim"),
    [
        ("BibTeX", 1, 1, 100),  # fewer than 6,000 points
        ("Delicious", 1, 2, 100),
        ("MediaMill", 1, 5, 100),
        ("EURLex", 1, 2, 100),
        ("Wiki10", 15, 2, 50),
        ("WikiLSHTC", 15, 296, 50),
        ("Ads1M", 15, 652, 50),
    ],
)
def test_its_sizes_on_the_papers_data_sets(name, learners, clusters, dim):
    sizes = TABLE_2[name]
    asked = X1Settings.from_parameters(presets.get("paper"))
    found = resolve(asked, DataFacts(sizes.train, sizes.features, labels=sizes.labels)).to_parameters()
    assert (found["n_learners"], found["n_clusters"], found["embedding_dim"]) == (learners, clusters, dim)
    assert found["max_cluster_size"] == "unlimited"


def small_problem():
    return synthetic.make(700, 60, 12, 8, 2, seed=3)


@pytest.mark.filterwarnings("ignore:ADMM")
def test_k_and_the_label_neighbours_are_chosen_on_held_out_points():
    data = small_problem()
    quick = {**presets.get("paper"), "embedding_dim": 5, "svp_max_iter": 2, "n_jobs": 1}
    chosen = X1Classifier(**quick).fit(data.X, data.Y).model_
    settings = chosen.parameters
    assert settings["svp_neighbours"] in GRAPH_CHOICES
    given = {**quick, **{name: settings[name] for name in ("svp_neighbours", "vote_neighbours")}}
    same = X1Classifier(**given).fit(data.X, data.Y).model_
    for one, other in zip(chosen.predict_topk(data.X[:50], 3), same.predict_topk(data.X[:50], 3), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_best_number_of_label_neighbours_is_taken_and_clusters_are_found_once(monkeypatch):
    data, told, partitions = small_problem(), iter([50.0, 70.0, 60.0, 40.0]), []
    real = partition_steps.make_partition
    monkeypatch.setattr(steps, "mean_precision", lambda labels, Y: next(told))
    monkeypatch.setattr(partition_steps, "make_partition", lambda *given: partitions.append(given) or real(*given))
    options = {**presets.get("paper"), "embedding_dim": 3, "svp_max_iter": 1, "vote_neighbours": 5, "n_jobs": 1}
    model = X1Classifier(**options).fit(data.X, data.Y).model_
    assert model.parameters["svp_neighbours"] == GRAPH_CHOICES[1]
    assert len(partitions) == model.parameters["n_learners"], "for all that is tried, and for the model of all points"


def test_a_model_of_one_point_can_be_loaded(tmp_path):
    data = small_problem()
    model = X1Classifier(**presets.get("paper"), n_jobs=1).fit(data.X[:1], data.Y[:1]).model_
    store.save(model, tmp_path / "model")
    assert store.load(tmp_path / "model").model.parameters["max_cluster_size"] == "unlimited"


def test_without_points_to_hold_out_the_first_number_of_neighbours_is_taken():
    data = small_problem()
    options = {**presets.get("paper"), "embedding_dim": 3, "svp_max_iter": 1, "n_jobs": 1}
    model = X1Classifier(**options).fit(data.X[:60], data.Y[:60]).model_
    assert model.parameters["svp_neighbours"] == GRAPH_CHOICES[0]


def test_plain_k_means_ends_where_nobody_moves():
    rows = normalise(csr_matrix(small_problem().X, dtype=np.float32))
    found = partition(rows, 40, start="random", plain=True, seed=1)
    assert 32 < found.n_clusters <= 40  # in one stage
    np.testing.assert_array_equal(route(rows, found.centroids)[:, 0], found.assignment)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_svp_converges_to_where_the_textbooks_iteration_does(seed):
    Y = synthetic.make(150, 40, 25, 5, 3, seed=seed).Y
    dim, tol = 8, 1e-2
    settings = SVPSettings(dim=dim, neighbours=20, similarity="inner")
    G, Omega = algorithm.label_graph(Y.toarray().astype(float), settings)
    objective = [float((G**2).sum())]
    for U, Sigma in algorithm.svp_steps(G, Omega, dim, 1.0):
        objective.append(float((np.where(Omega, G - (U * Sigma) @ U.T, 0) ** 2).sum()))
        if objective[-2] - objective[-1] <= tol * objective[-2]:
            break
    graph = neighbour_graph(Y, 20, similarity="inner")
    np.testing.assert_allclose(graph.toarray(), G, atol=1e-5)
    found = svp(graph, dim, max_iter=1000, tol=tol, sweeps=EXACT_SWEEPS, sweep_tol=EXACT_TOL)
    assert len(found.objective) == len(objective) - 1 > 5  # the first is that of M = 0
    np.testing.assert_allclose(found.objective, objective[1:], rtol=3e-3)
