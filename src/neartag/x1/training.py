"""Training in four steps, each of which returns a new value:

    fit_learners → select_vote → add_reranker → refit_or_join

Some points are held out where anything is to be told from points that the learners have not seen: how many neighbours
vote and with what share, what a reranker makes of the votes, and what calibrated scores are made of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.progress import Progress
from neartag.core.threads import run_both
from neartag.linalg.hybrid_rows import HybridRows, words_of
from neartag.linalg.quantization import round_to
from neartag.linalg.rows import Rows
from neartag.rerank import training as rerank
from neartag.rerank.candidates import best_candidates
from neartag.rerank.preparation import Preparation, RerankOptions, prepare_rankers
from neartag.search.cells import NPROBE, NPROBE_TO_DECIDE
from neartag.search.inverted_index import PRUNE_LOOSELY, FeatureIndex
from neartag.search.vector_index import VectorIndex
from neartag.x1.ensemble import learner_seeds, make_partitions, members_of, train_clusters
from neartag.x1.kmeans import Partition
from neartag.x1.learner import Learner
from neartag.x1.model import X1Model
from neartag.x1.resolve import HELD_OUT_SHARE, DataFacts, resolve
from neartag.x1.schedule import Machine, no_room
from neartag.x1.selection import (
    GRAPH_CHOICES,
    KS,
    HeldOut,
    answer_held_out,
    auto_settings,
    choose_vote,
    first_choices,
    held_out_rows,
    mean_precision,
    retrieve_held_out,
)
from neartag.x1.settings import RerankSettings, X1Settings
from neartag.x1.vector_weight import choose_vector_weight

NO_POINTS = np.empty(0, np.int64)
# Up to so many points the learners are trained again on all of them: where a choice was made on held-out points, and
# where there was none to make and only their answers were wanted.
MAX_POINTS_TO_REFIT_LEARNERS, MAX_POINTS_TO_REFIT_UNCHANGED = 20_000, 100_000
# A search among all points for neighbours by features takes long when it reads more entries than this for a point: it
# would be most of an answer's time. Delicious, with 11,000, answers in two thirds of the time without it, and loses 0.3
# of P@3 on held-out fifths.
MAX_ENTRIES_TO_ANSWER = 5000
HELD_OUT_ANSWERS = 20  # labels kept of each held-out point's answer


@dataclass(frozen=True)
class TrainingRun:
    """What all steps look at: the data, which points are held out at first, and what the machine allows."""

    rows: Rows  # unit rows (n, d)
    Y: csr_matrix  # (n, L)
    held_out: np.ndarray  # row numbers, rising; none where nothing is to be told from them
    partitions: list[Partition]  # line 1 of Algorithm 1, for each learner
    machine: Machine
    progress: Progress
    vectors: VectorIndex | None = None  # of the vectors beside the words, where there are such


def fit_model(
    rows: Rows, Y: csr_matrix, asked: X1Settings, machine: Machine, progress: Progress, return_held_out: bool
) -> tuple[X1Model, HeldOut | None]:
    """Return the model of unit rows and, if wanted, what it answered for the held-out points.

    Rankers are linear: of measurements, unlike of words, they may know less than votes. Where the held-out points say
    so, the model is trained for votes alone.
    """
    facts = DataFacts.of(rows, Y.shape[1])
    settings = resolve(asked, facts)
    check_room_to_rerank(rows, Y, settings, machine)
    held_out = hold_out(rows.shape[0], settings, return_held_out)
    vectors = None
    if isinstance(rows, HybridRows):
        vectors = VectorIndex.from_vectors(rows.vectors, machine.jobs)
        if settings.vector_weight == "auto":
            weight = choose_vector_weight(rows, Y, vectors, held_out, machine.jobs)
            settings = settings.replace(vector_weight=weight)
        rows = rows.weigh(float(settings.vector_weight))
    partitions = make_partitions(rows, settings.clusters, learner_seeds(settings), machine.jobs)
    run = TrainingRun(rows, Y, held_out, partitions, machine, progress, vectors)
    refit = is_refitted(run, settings)

    def fit_votes() -> tuple[X1Settings, X1Model]:
        if settings.svp.neighbours == "auto":
            return select_graph(run, settings)
        learners = fit_learners(run, settings, run.held_out, "trying on held-out points" if refit else "training")
        return settings, select_vote(run, settings, learners)

    (settings, model), prepared = run_both(fit_votes, lambda: prepare_reranker(run, settings), machine.side_by_side)
    model, answered = add_reranker(run, settings, model, prepared, return_held_out, may_do_without=facts.dense)
    if settings.rerank.enabled and model.reranker is None:
        return fit_model(rows, Y, _votes_alone(asked), machine, progress, return_held_out)
    return refit_or_join(run, model, refit), answered


def check_room_to_rerank(rows: Rows, Y: csr_matrix, settings: X1Settings, machine: Machine) -> None:
    """Raise ParameterError, before any work, where a reranker is asked for and there is too little memory to fit it."""
    room = machine.room()
    if not settings.rerank.enabled or room is None:
        return
    needed = rerank.bytes_needed(rows, Y, _rerank_options(settings.rerank, settings.random_state))
    if needed > room:
        work = f"refining {Y.shape[0]} points"
        raise no_room(work, needed, room, machine.memory or 0, "set refine to False (--no-refine)")


def hold_out(n: int, settings: X1Settings, return_held_out: bool) -> np.ndarray:
    """Return which of n points are held out: some where a setting is chosen, a reranker fitted, or answers wanted."""
    wanted = has_choice(settings) or return_held_out or settings.rerank.enabled
    return held_out_rows(n, settings.random_state, to_rerank=settings.rerank.enabled) if wanted else NO_POINTS


def is_refitted(run: TrainingRun, settings: X1Settings) -> bool:
    """Say whether the learners are trained again on all points; otherwise the held-out points join their clusters."""
    n, held_out = run.rows.shape[0], len(run.held_out)
    if settings.rerank.enabled:  # rankers are trained again anyway, and learners where they missed many points
        return held_out > HELD_OUT_SHARE * n
    return held_out > 0 and n <= (
        MAX_POINTS_TO_REFIT_LEARNERS if has_choice(settings) else MAX_POINTS_TO_REFIT_UNCHANGED
    )


def fit_learners(run: TrainingRun, settings: X1Settings, held_out: np.ndarray, title: str) -> list[Learner]:
    """Step 1: return the learners (Algorithm 1 of the paper), the held-out points in none of their clusters."""
    members = members_of(run.partitions, held_out)
    options = settings, learner_seeds(settings), run.machine, run.progress, title
    clusters = train_clusters(run.rows, run.Y, members, *options)  # lines 2 to 8
    learners = [Learner(each.centroids, own) for each, own in zip(run.partitions, clusters, strict=True)]
    return _with_cells(learners, settings, run.machine.jobs)


def has_choice(settings: X1Settings) -> bool:
    """Say whether a setting is left to be chosen on held-out points."""
    return bool(auto_settings(settings)) or "auto" in (settings.svp.neighbours, settings.vector_weight)


def select_graph(run: TrainingRun, settings: X1Settings) -> tuple[X1Settings, X1Model]:
    """Steps 1 and 2 for each number of label neighbours: return the settings and the model best on held-out points."""
    best, chosen = -1.0, None
    counts = GRAPH_CHOICES if len(run.held_out) else GRAPH_CHOICES[:1]
    for count in counts:
        attempt = settings.replace(svp_neighbours=count)
        learners = fit_learners(run, attempt, run.held_out, f"trying {count} label neighbours")
        model, score = select_vote(run, attempt, learners), 0.0
        if len(counts) > 1:
            retrieved = retrieve_held_out(model, run.rows, run.held_out, run.machine.jobs)
            score = mean_precision(answer_held_out(model, run.held_out, retrieved, max(KS)).labels, run.Y[run.held_out])
        if chosen is None or score > best + 1e-9:
            best, chosen = score, (attempt, model)
    assert chosen is not None
    return chosen


def select_vote(run: TrainingRun, settings: X1Settings, learners: list[Learner]) -> X1Model:
    """Step 2: return a model of these learners that votes as is best for the held-out points, where that is open."""
    first = first_choices(settings).replace(n_learners=len(learners))
    index = FeatureIndex.from_rows(words_of(run.rows)) if float(first.vote.feature_share) > 0 else None
    approximate = settings.rerank.enabled
    model = X1Model(first, int(run.rows.shape[1]), run.Y, learners, index, run.vectors, approximate=approximate)
    names = auto_settings(settings)
    if not names or not len(run.held_out):
        return model
    chosen = first.replace(**choose_vote(model, run.rows, run.held_out, names, run.machine.jobs))
    return replace(model, settings=chosen, index=index if float(chosen.vote.feature_share) > 0 else None)


def prepare_reranker(run: TrainingRun, settings: X1Settings) -> Preparation | None:
    """Return what a reranker needs beside the votes, where one is asked for."""
    if not settings.rerank.enabled:
        return None
    options = _rerank_options(settings.rerank, settings.random_state)
    return prepare_rankers(run.rows, run.Y, run.held_out, options, run.machine.jobs)


def add_reranker(
    run: TrainingRun,
    settings: X1Settings,
    model: X1Model,
    prepared: Preparation | None,
    return_held_out: bool,
    *,
    may_do_without: bool,
) -> tuple[X1Model, HeldOut | None]:
    """Step 3: return the model with a reranker, where one is prepared, and if wanted the held-out points' answers.

    Without a reranker, if it `may_do_without` one and the votes alone are better on the held-out points.
    """
    rows, held, jobs = run.rows, run.held_out, run.machine.jobs
    if not len(held) or not (prepared or return_held_out):
        return model, None
    retrieved = retrieve_held_out(model, rows, held, jobs)
    if prepared is None:
        return model, answer_held_out(model, held, retrieved, HELD_OUT_ANSWERS)
    nearby_voters = None
    if settings.vote.feature_search == "auto" and _is_slow(model, rows[held]):
        nearby = model.with_settings({"feature_search": "near"})
        nearby_voters = retrieve_held_out(nearby, rows, held, jobs).feature_voters
    by_words = retrieved.feature_voters, nearby_voters
    votes = rerank.HeldOutVotes(held, retrieved.embedding_voters, *by_words, retrieved.vector_voters)
    with run.progress:
        run.progress.start(rerank.N_REPORTED_STEPS, "refining")
        options = _rerank_options(settings.rerank, settings.random_state)
        is_worth_it = None
        if may_do_without:
            by_votes = mean_precision(answer_held_out(model, held, retrieved, HELD_OUT_ANSWERS).labels, run.Y[held])

            def is_worth_it(labels: np.ndarray, scores: np.ndarray) -> bool:
                best, _ = best_candidates(labels, scores, model.frequency, HELD_OUT_ANSWERS, jobs)
                return mean_precision(best, run.Y[held]) >= by_votes

        arguments = rows, run.Y, votes, prepared, options, jobs, run.progress.advance, is_worth_it
        fitted = rerank.fit_reranker(*arguments, side_by_side=run.machine.side_by_side)
    if fitted is None:
        return model, None
    chosen = model.settings.replace(refine_candidates=fitted.size, refine_cost=fitted.cost)
    if fitted.is_nearby:
        chosen = chosen.replace(feature_search="near")
    model = replace(model, settings=chosen, reranker=fitted.reranker)
    if not return_held_out:
        return model, None
    best = best_candidates(*fitted.held_out_answers(jobs), model.frequency, HELD_OUT_ANSWERS, jobs)
    return model, HeldOut(held, *best)


def refit_or_join(run: TrainingRun, model: X1Model, refit: bool) -> X1Model:
    """Step 4: return the model with the held-out points in it: trained again on all, or joined to their clusters."""
    held, jobs, settings = run.held_out, run.machine.jobs, model.settings
    learners = model.learners
    if refit:
        learners = fit_learners(run, settings, NO_POINTS, "training")
    elif len(held):
        rows, distance = run.rows[held], settings.vote.distance
        learners = _with_cells([each.add_points(rows, held, distance, jobs) for each in learners], settings, jobs)
    return replace(model, learners=[round_learner(each, settings.regression.precision) for each in learners])


def round_learner(learner: Learner, precision: str) -> Learner:
    """Return the learner with its weights and points as they will be after saving and loading."""
    clusters = [
        replace(cluster, weights=round_to(cluster.weights, precision), points=round_to(cluster.points, precision))
        for cluster in learner.clusters
    ]
    return Learner(learner.centroids, clusters)


def _with_cells(learners: list[Learner], settings: X1Settings, jobs: int) -> list[Learner]:
    """Return the learners with their points in cells, where that is how they are searched."""
    if settings.vote.search != "cells":
        return learners
    nprobe = NPROBE if settings.rerank.enabled else NPROBE_TO_DECIDE
    return [each.with_cells(jobs, nprobe) for each in learners]


def _votes_alone(asked: X1Settings) -> X1Settings:
    """Return the settings without a reranker, which predict as quickly as with one where that was left open.

    Neighbours are looked for in cells, and not by features: of measurements these are much the same as by embedding.
    """
    quick: dict[str, Any] = {"vote_search": "cells", "feature_share": 0.0}
    return asked.replace(refine=False, **{name: value for name, value in quick.items() if asked.value(name) == "auto"})


def _rerank_options(settings: RerankSettings, seed: int | None) -> RerankOptions:
    return RerankOptions(
        size=None if settings.candidates == "auto" else int(settings.candidates),
        cost=None if settings.cost == "auto" else float(settings.cost),
        min_weight=settings.min_weight,
        seed=seed or 0,
    )


def _is_slow(model: X1Model, rows: Rows) -> bool:
    """Say whether a search among all points for neighbours by features takes long."""
    rows = words_of(rows)
    return model.index is not None and model.index.work(rows, model.n_neighbours, PRUNE_LOOSELY) > MAX_ENTRIES_TO_ANSWER
