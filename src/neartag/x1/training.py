"""Training: which points are held out, which clusters are trained when, and what is chosen and refined after that."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from scipy.sparse import csr_matrix

from neartag.core.progress import Progress
from neartag.linalg.quantization import round_to
from neartag.linalg.rows import Rows
from neartag.rerank import training as rerank
from neartag.rerank.candidates import best_candidates
from neartag.search.inverted_index import MOST_WORK, PRUNE_LOOSELY, FeatureIndex
from neartag.search.weights import Voters
from neartag.x1.kmeans import Partition
from neartag.x1.learner import Cluster, Learner, cluster_steps, make_partition, train_cluster
from neartag.x1.model import X1Model
from neartag.x1.retrieval import Retrieved
from neartag.x1.schedule import Machine, cluster_bytes, kept_bytes, plan
from neartag.x1.selection import (
    CHOICES,
    PART,
    SMALL,
    HeldOut,
    answers,
    auto_reranked_vote,
    auto_settings,
    choose,
    held_out_rows,
    retrieve_held_out,
)
from neartag.x1.settings import X1Settings

NOBODY = np.empty(0, np.int64)
# Up to so many points learners are trained again where only answers were asked for, and no choice was to be made.
SMALL_ENOUGH = 100_000
ANSWERS = 20  # labels kept of each held-out point's answer


def fit_model(
    rows: Rows, Y: csr_matrix, settings: dict[str, Any], machine: Machine, progress: Progress, ask: bool
) -> tuple[X1Model, HeldOut | None]:
    """Return the model, how it votes chosen on held-out points if left to us, and, if asked, their answers."""
    n = rows.shape[0]
    if settings["refine"]:
        settings.update(auto_reranked_vote(rows, settings))
    elif settings["vote_search"] == "auto":
        settings["vote_search"] = "exact"
    names = auto_settings(settings)
    settings.update({name: CHOICES[name][0] for name in names})
    wanted = names or ask or settings["refine"]
    held = held_out_rows(n, settings["random_state"], few=settings["refine"]) if wanted else NOBODY
    answered = None
    again = len(held) > 0 and n <= (SMALL if names else SMALL_ENOUGH)
    if settings["refine"]:  # rankers are trained again on all points, and learners where they missed many
        again = len(held) > PART * n
    what = "trying on held-out points" if again else "training"
    learners = train(rows, Y, settings, machine, progress, held, what)
    if settings["vote_search"] == "cells":
        learners = [learner.with_cells(machine.jobs) for learner in learners]
    settings["n_learners"] = len(learners)
    index = FeatureIndex.from_rows(rows) if settings["feature_share"] > 0 else None
    try_near = settings["feature_search"] == "auto" and settings["refine"]
    if settings["feature_search"] == "auto":
        settings["feature_search"] = "all"
    model = X1Model(
        X1Settings.from_parameters(settings), int(rows.shape[1]), Y, learners, index, approximate=settings["refine"]
    )
    if len(held):
        if names:
            settings.update(choose(model, rows, held, names, machine.jobs))
            model.settings = X1Settings.from_parameters(settings)
        if settings["feature_share"] == 0:
            model.index = None
        if ask or settings["refine"]:
            found = retrieve_held_out(model, rows, held, machine.jobs)
        if settings["refine"]:
            nearby = None
            if (
                try_near
                and model.index is not None
                and model.index.work(rows[held], model.n_neighbours, PRUNE_LOOSELY) > MOST_WORK
            ):
                other = model.adjusted({"feature_search": "near"})
                nearby = retrieve_held_out(other, rows, held, machine.jobs).feature_voters
            learned = _fit_reranker(model, rows, held, found, nearby, machine, progress)
            settings.update(refine_candidates=learned.size, refine_cost=learned.cost)
            if learned.is_nearby:
                settings["feature_search"] = "near"
            model.settings = X1Settings.from_parameters(settings)
            model.reranker = learned.reranker
            if ask:
                candidates = learned.held_out_answers(machine.jobs)
                answered = HeldOut(held, *best_candidates(*candidates, model.frequency, ANSWERS, machine.jobs))
        elif ask:
            answered = answers(model, held, found, ANSWERS)
        if again:
            model.learners = train(rows, Y, settings, machine, progress)
        else:
            distance = settings["vote_distance"]
            model.learners = [learner.add_points(rows[held], held, distance, machine.jobs) for learner in learners]
        if settings["vote_search"] == "cells":
            model.learners = [learner.with_cells(machine.jobs) for learner in model.learners]
    model.learners = [rounded(learner, settings["precision"]) for learner in model.learners]
    return model, answered


def _fit_reranker(
    model: X1Model,
    rows: Rows,
    held: np.ndarray,
    found: Retrieved,
    nearby: Voters | None,
    machine: Machine,
    progress: Progress,
) -> rerank.FittedReranker:
    given = model.settings.rerank
    options = rerank.RerankOptions(
        size=None if given.candidates == "auto" else int(given.candidates),
        cost=None if given.cost == "auto" else float(given.cost),
        min_weight=given.min_weight,
        seed=model.settings.random_state or 0,
    )
    votes = rerank.HeldOutVotes(held, found.embedding_voters, found.feature_voters, nearby)
    with progress:
        progress.start(rerank.STEPS, "refining")
        return rerank.fit_reranker(rows, model.Y, votes, options, machine.jobs, progress.advance)


def rounded(learner: Learner, precision: str) -> Learner:
    """Return the learner with its weights and points as they will be after saving and loading."""
    clusters = [
        replace(cluster, weights=round_to(cluster.weights, precision), points=round_to(cluster.points, precision))
        for cluster in learner.clusters
    ]
    return Learner(learner.centroids, clusters)


def train(
    rows: Rows,
    Y: csr_matrix,
    settings: dict[str, Any],
    machine: Machine,
    progress: Progress,
    held: np.ndarray = NOBODY,
    what: str = "training",
) -> list[Learner]:
    """Return the trained learners: first all partitions, then all clusters of all learners side by side.

    The points `held` out help to place the clusters, but are members of none.
    """
    seeds = np.random.SeedSequence(settings["random_state"]).spawn(settings["n_learners"])
    partitions = make_partitions(rows, settings, seeds, machine.jobs)
    members: dict[tuple[int, int], np.ndarray] = {}
    for number, found in enumerate(partitions):
        order = np.argsort(found.assignment, kind="stable")
        bounds = np.searchsorted(found.assignment[order], np.arange(found.n_clusters + 1))
        for cluster in range(found.n_clusters):
            everybody = order[bounds[cluster] : bounds[cluster + 1]]
            others = np.setdiff1d(everybody, held, assume_unique=True)
            # A cluster of none but held-out points must still have somebody; they do not join it again later.
            members[number, cluster] = others if len(others) else everybody
    tasks = list(members)
    sizes = [len(each) for each in members.values()]
    needs, kept = _needs(rows, sizes, settings)
    room = machine.room()
    waves = plan(sizes, needs, machine.jobs, None if room is None else room - kept)
    cluster_seeds = [int(seed.generate_state(1)[0]) for seed in seeds]
    # Steps inside a cluster can only be told where tasks share our memory, as threads do.
    shared = getattr(get_active_backend(prefer="threads")[0], "supports_sharedmem", False)
    steps = cluster_steps(settings) if shared else 1
    trained: dict[tuple[int, int], Cluster] = {}
    with progress:
        progress.start(len(tasks) * steps, what)
        for wave in waves:
            work = (
                delayed(train_cluster)(
                    rows[members[task]],
                    Y[members[task]],
                    members[task],
                    settings,
                    cluster_seeds[task[0]] + task[1],
                    wave.threads,
                    progress.advance if shared else None,
                )
                for task in (tasks[place] for place in wave.tasks)
            )
            for place, fresh in zip(wave.tasks, _parallel(wave.at_once, work), strict=True):
                trained[tasks[place]] = fresh
                if not shared:
                    progress.advance(1)
    return [
        Learner(found.centroids, [trained[number, cluster] for cluster in range(found.n_clusters)])
        for number, found in enumerate(partitions)
    ]


def _parallel(at_once: int, work: Iterable[Any]) -> Iterable[Cluster]:
    """Return what the tasks give, one by one where joblib's backend can, in their order."""
    # Threads, unless the caller's joblib configuration says otherwise: kernels and BLAS release the GIL. No task is
    # prepared before there is a core for it, for each has its own copy of its rows.
    options = {"n_jobs": at_once, "prefer": "threads", "pre_dispatch": "n_jobs"}
    streams = getattr(get_active_backend(prefer="threads")[0], "supports_return_generator", True)
    return Parallel(**options, return_as="generator" if streams else "list")(work)


def _needs(rows: Rows, sizes: list[int], settings: dict[str, Any]) -> tuple[list[int], int]:
    """Return about how many bytes each cluster needs while it is trained, and how many stay of all of them."""
    n, d = rows.shape
    entries = rows.nnz / n if hasattr(rows, "nnz") else d
    shapes = [(size, int(entries * size), d, settings) for size in sizes]
    return [cluster_bytes(*shape) for shape in shapes], sum(kept_bytes(*shape) for shape in shapes)


def make_partitions(
    rows: Rows, settings: dict[str, Any], seeds: list[np.random.SeedSequence], jobs: int
) -> list[Partition]:
    """Return the partition of each learner; one only, with a warning, where all would be the same."""
    numbers = [int(seed.generate_state(2)[1]) for seed in seeds]
    first = make_partition(rows, settings, numbers[0], jobs)
    if len(seeds) > 1 and first.n_clusters == 1:
        warnings.warn(
            f"with one cluster all {len(seeds)} learners would be the same: one is trained; "
            "set n_clusters to 2 or more, or n_learners to 1",
            UserWarning,
            stacklevel=5,
        )
        return [first]
    rest = Parallel(n_jobs=max(1, min(jobs, len(seeds) - 1)), prefer="threads")(
        delayed(make_partition)(rows, settings, number, 1) for number in numbers[1:]
    )
    return [first, *rest]
