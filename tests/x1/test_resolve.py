"""What "auto" stands for, on data of every size and kind."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag.x1.classifier import X1Classifier
from neartag.x1.parameters import PARAMETERS
from neartag.x1.resolve import (
    FEATURE_SHARE_RERANKED,
    L2,
    L2_DENSE,
    MAX_HELD_OUT,
    MIN_HELD_OUT,
    NEIGHBOURS_RERANKED,
    SVP_STEPS,
    SVP_STEPS_RERANKED,
    DataFacts,
    held_out_count,
    partition_counts,
    resolve,
)
from neartag.x1.settings import X1Settings


def resolved(n=1000, d=500, dense=False, **given):
    return resolve(X1Settings.from_parameters(given), DataFacts(n, d, dense)).to_parameters()


# ---- learners, clusters, dimensions


@pytest.mark.parametrize(
    ("n", "learners", "clusters", "dim", "wanted"),
    [
        (1, "auto", "auto", "auto", (1, 1, 200)),
        (40_000, "auto", "auto", "auto", (1, 1, 200)),
        (100_000, "auto", "auto", "auto", (1, 1, 100)),
        (400_000, "auto", "auto", "auto", (3, 4, 100)),
        (1, 3, "auto", "auto", (3, 2, 200)),  # several learners are to differ, so they get at least two clusters
        (1_000_000, 3, "auto", 50, (3, 10, 50)),
        (1_000_000, 1, "auto", "auto", (1, 10, 100)),
        (100, 1, "auto", 7, (1, 1, 7)),
        (100, "auto", 1, "auto", (1, 1, 200)),
        (100, "auto", 7, "auto", (3, 7, 200)),
        (100, 4, 1, "auto", (4, 1, 200)),
        (100_000, 1, 4, "auto", (1, 4, 200)),
    ],
)
def test_automatic_numbers(n, learners, clusters, dim, wanted):
    found = resolved(n, refine=False, n_learners=learners, n_clusters=clusters, embedding_dim=dim)
    assert tuple(found[name] for name in ("n_learners", "n_clusters", "embedding_dim")) == wanted
    assert partition_counts(n, learners, clusters) == wanted[:2]


@pytest.mark.parametrize(("n", "dense", "dim"), [(1000, False, 64), (1000, True, 100), (10**6, True, 100)])
def test_fewer_dimensions_where_a_reranker_decides(n, dense, dim):
    options = {"n_learners": 1}
    assert resolved(n, dense=dense, **options)["embedding_dim"] == dim
    assert resolved(n, dense=dense, **options, embedding_dim=7)["embedding_dim"] == 7


# ---- the penalty


def test_dense_measurements_of_many_points_get_a_small_penalty():
    random = np.random.default_rng(0)

    def penalty(rows, **given):
        return resolve(X1Settings.from_parameters(given), DataFacts.of(rows)).regression.l2

    many, few = random.random((200, 20)).astype(np.float32), random.random((199, 20)).astype(np.float32)
    assert penalty(many) == penalty(csr_matrix(many)) == L2_DENSE
    assert penalty(few) == L2
    assert penalty(many, n_clusters=2, n_learners=1) == L2  # of which each has half the points
    assert penalty(many, l2=0.5) == 0.5
    late = np.concatenate([np.zeros((3000, 20)), random.random((3000, 20))]).astype(np.float32)
    assert penalty(late) == penalty(late[::-1]) == L2_DENSE  # whatever the order
    words = csr_matrix(many * (random.random((200, 20)) < 0.1), dtype=np.float32)
    assert penalty(words) == penalty(words.toarray()) == L2


def test_the_classifier_takes_that_penalty_and_says_so():
    random = np.random.default_rng(0)
    X, Y = random.random((200, 10)), csr_matrix(random.random((200, 6)) < 0.3, dtype=np.float32)
    options = {"n_clusters": 1, "embedding_dim": 4, "svp_neighbours": 5}
    assert X1Classifier(**options).fit(X, Y).model_.parameters["l2"] == L2_DENSE
    assert X1Classifier(**options, l2=0.5).fit(X, Y).model_.parameters["l2"] == 0.5


# ---- SVP, the vote, and what is left to held-out points


def test_votes_alone():
    found = resolved(refine=False)
    assert (found["svp_max_iter"], found["vote_search"], found["feature_search"]) == (SVP_STEPS, "exact", "all")
    assert found["vote_neighbours"] == found["feature_share"] == "auto", "chosen on held-out points"


@pytest.mark.parametrize("dense", [False, True])
def test_votes_that_only_propose(dense):
    found = resolved(dense=dense)
    assert (found["svp_max_iter"], found["vote_search"]) == (SVP_STEPS_RERANKED, "cells")
    assert found["vote_neighbours"] == NEIGHBOURS_RERANKED
    assert found["feature_share"] == (0.0 if dense else FEATURE_SHARE_RERANKED)
    assert found["feature_search"] == found["refine_cost"] == found["refine_candidates"] == "auto"


@pytest.mark.parametrize("n", [3, 199, 200, 50_000])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("refine", [False, True])
def test_what_is_given_is_kept_and_nothing_else_left_open(n, dense, refine):
    given = {
        "n_learners": 2,
        "n_clusters": 3,
        "embedding_dim": 11,
        "svp_neighbours": 150,
        "svp_max_iter": 4,
        "l2": 0.25,
        "vote_neighbours": 9,
        "vote_search": "cells",
        "feature_share": 0.45,
        "feature_search": "near",
        "refine_candidates": 17,
        "refine_cost": 2.0,
        "vector_share": 0.2,
        "vector_weight": 0.5,
    }
    assert set(given) == {each.name for each in PARAMETERS if "auto" in each.choices}
    found = resolved(n, dense=dense, refine=refine, **given)
    assert {name: found[name] for name in given} == given
    assert found["refine"] == (refine and n >= 200)
    left = {name for name, value in resolved(n, dense=dense, refine=refine).items() if value == "auto"}
    on_held_out = {"feature_search"} if found["refine"] else {"vote_neighbours", "feature_share"}
    assert left == on_held_out | {"refine_candidates", "refine_cost"}


def test_the_settings_given_stay_as_they_are():
    given = X1Settings.from_parameters({})
    before = given.to_parameters()
    resolve(given, DataFacts(10, 5, False))
    resolve(given, DataFacts(10**6, 5, True))
    assert given.to_parameters() == before


# ---- how many are held out


def test_how_many_are_held_out():
    assert held_out_count(10 * MIN_HELD_OUT - 1) == 0
    assert held_out_count(10 * MIN_HELD_OUT) == MIN_HELD_OUT
    assert held_out_count(10**6) == held_out_count(10**6, to_rerank=True) == MAX_HELD_OUT
    assert held_out_count(199, to_rerank=True) == 0
    assert held_out_count(200, to_rerank=True) == 50
    assert held_out_count(1200, to_rerank=True) == held_out_count(2000, to_rerank=True) == 300
