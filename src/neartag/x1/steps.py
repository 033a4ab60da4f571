"""X1's tasks, from the clusters to the learners of the model: each a function from parts to a part.

Those that divide the points among the clusters are in `partition_steps.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neartag.linalg.hybrid_rows import words_of
from neartag.rerank.candidates import best_candidates
from neartag.rerank.parts import (
    centroids_from_arrays,
    decision_to_arrays,
    index_to_arrays,
    trial_to_arrays,
    vectors_to_arrays,
)
from neartag.rerank.preparation import RerankOptions
from neartag.rerank.steps import decide
from neartag.rerank.training import HeldOutVotes, make_trial
from neartag.search.inverted_index import FeatureIndex
from neartag.search.vector_index import VectorIndex
from neartag.work.data import read_held_out, read_labels, read_rows
from neartag.work.parts import Arrays, TaskContext, get_matrix, put_json
from neartag.x1.cluster_training import train_cluster
from neartag.x1.learner import Learner
from neartag.x1.model import X1Model
from neartag.x1.parts import (
    RUN,
    cluster_from_arrays,
    cluster_to_arrays,
    learner_from_arrays,
    learner_to_arrays,
    members_of,
    partition_name,
    read_chosen,
    read_index,
    read_learners,
    read_settings,
    read_vectors,
)
from neartag.x1.selection import KS, answer_held_out, mean_precision, retrieve_held_out
from neartag.x1.training_steps import has_slow_search, round_learner, select_vote, with_cells
from neartag.x1.vector_weight import choose_vector_weight

HELD_OUT_ANSWERS = 20  # labels kept of each held-out point's answer
NO_POINTS = np.empty(0, np.int64)


def index_rows(context: TaskContext) -> Arrays:
    """Return the inverted index of all rows."""
    return index_to_arrays(FeatureIndex.from_rows(words_of(read_rows(context))))


def index_vectors(context: TaskContext) -> Arrays:
    """Return the index of the vectors beside the words."""
    return vectors_to_arrays(VectorIndex.from_vectors(read_rows(context).vectors, context.threads))


def weigh_vectors(context: TaskContext) -> Arrays:
    """Return how much the vectors weigh against the words: as asked for, or as is best for held-out points."""
    weight = read_settings(context).vector_weight
    if weight == "auto":
        vectors = read_vectors(context)
        assert vectors is not None
        rows, Y = read_rows(context), read_labels(context)
        weight = choose_vector_weight(rows, Y, vectors, read_held_out(context), context.threads)
    return {"weight": np.array([float(weight)], np.float64)}


def fit_cluster(
    context: TaskContext, learner: int, cluster: int, hold_out: bool, changes: dict[str, Any] | None = None
) -> Arrays:
    """Return a trained cluster (lines 3 to 7), of all its points or of those not held out."""
    partition = context.get(partition_name(learner))
    own = members_of(partition, cluster, read_held_out(context) if hold_out else NO_POINTS)
    seed = int(context.get(RUN)["seeds"][learner, 0]) + cluster
    rows, Y = read_rows(context)[own], read_labels(context)[own]
    settings = read_settings(context, **(changes or {}))
    return cluster_to_arrays(train_cluster(rows, Y, own, settings, seed, context.threads, context.report))


def join_clusters(context: TaskContext, learner: int, of: str, final: bool) -> Arrays:
    """Return a learner, its clusters in cells where that is how they are searched; rounded if it is `final`."""
    clusters = [cluster_from_arrays(context.get(name)) for name in context.starting(f"cluster/{of}/{learner:03d}/")]
    settings = read_settings(context)
    whole = Learner(get_matrix(context.get(partition_name(learner)), "centroids"), clusters)
    whole = with_cells(whole, settings, context.threads)
    return learner_to_arrays(round_learner(whole, settings.regression.precision) if final else whole)


def choose_vote(context: TaskContext, learners: list[str], changes: dict[str, Any], score: bool) -> Arrays:
    """Return the settings of the vote that is best for held-out points, and if wanted how good it is."""
    rows, Y, held = read_rows(context), read_labels(context), read_held_out(context)
    settings, index = read_settings(context, **changes), read_index(context, rows)
    given = rows, Y, held, read_learners(context, learners), index, read_vectors(context)
    model = select_vote(settings, *given, context.threads)
    arrays: Arrays = {}
    put_json(arrays, "parameters", model.settings.to_parameters())
    if score:
        retrieved = retrieve_held_out(model, rows, held, context.threads)
        arrays["score"] = np.array([mean_precision(answer_held_out(model, held, retrieved, max(KS)).labels, Y[held])])
    return arrays


def choose_graph(context: TaskContext, attempts: list[str]) -> Arrays:
    """Return which attempt had the best vote; of equals the first."""
    best, chosen = -1.0, 0
    for number, name in enumerate(attempts):
        score = float(context.get(name)["score"][0])
        if score > best + 1e-9:
            best, chosen = score, number
    return {"attempt": np.array([chosen], np.int64)}


def find_candidates(
    context: TaskContext, vote: str, learners: list[str], options: dict[str, Any], size: int, keep_votes: bool
) -> Arrays:
    """Return the candidates of the held-out points, and if they are to be kept what the votes alone answer."""
    model, rows, held, threads = (
        read_model(context, vote, learners),
        read_rows(context),
        read_held_out(context),
        context.threads,
    )
    retrieved = retrieve_held_out(model, rows, held, threads)
    nearby_voters = None
    if read_settings(context).vote.feature_search == "auto" and has_slow_search(model, rows[held]):
        nearby = model.with_settings({"feature_search": "near"})
        nearby_voters = retrieve_held_out(nearby, rows, held, threads).feature_voters
    by_words = retrieved.feature_voters, nearby_voters
    votes = HeldOutVotes(held, retrieved.embedding_voters, *by_words, retrieved.vector_voters)
    centroids, given = centroids_from_arrays(context.get("centroids/others")), RerankOptions(**options)
    trial, is_nearby = make_trial(rows, model.Y, votes, centroids, size, given, threads)
    arrays = trial_to_arrays(trial, is_nearby)
    if keep_votes:
        arrays["voted"] = answer_held_out(model, held, retrieved, HELD_OUT_ANSWERS).labels
    return arrays


def fit_fusion(context: TaskContext, may_do_without: bool, return_held_out: bool) -> Arrays:
    """Return the fusion, whether rankers are worth it, and if wanted the answers for the held-out points.

    Rankers are linear: of measurements, unlike of words, they may know less than votes.
    """
    decision = decide(context)
    arrays = decision_to_arrays(decision)
    is_worth_it, Y, threads = True, read_labels(context), context.threads
    frequency = np.bincount(Y.indices, minlength=Y.shape[1])
    if may_do_without or return_held_out:
        labels, scores = decision.held_out.answers(decision.fusion, threads)
        best, values = best_candidates(labels, scores, frequency, HELD_OUT_ANSWERS, threads)
        arrays |= {"answers.labels": best, "answers.scores": values}
        if may_do_without:
            truth = Y[read_held_out(context)]
            by_votes = mean_precision(context.get("candidates")["voted"], truth)
            is_worth_it = mean_precision(best, truth) >= by_votes
    arrays["is_worth_it"] = np.array([is_worth_it])
    return arrays


def answer_by_votes(context: TaskContext, vote: str, learners: list[str]) -> Arrays:
    """Return what a model without a reranker answers for the held-out points."""
    model, held = read_model(context, vote, learners), read_held_out(context)
    retrieved = retrieve_held_out(model, read_rows(context), held, context.threads)
    answered = answer_held_out(model, held, retrieved, HELD_OUT_ANSWERS)
    return {"answers.labels": answered.labels, "answers.scores": answered.scores}


def join_held_out(context: TaskContext, learner: str) -> Arrays:
    """Return a learner with the held-out points in its clusters, rounded as it will be after saving and loading."""
    settings, held, threads = read_settings(context), read_held_out(context), context.threads
    whole = learner_from_arrays(context.get(learner))
    if len(held):
        whole = whole.add_points(read_rows(context)[held], held, settings.vote.distance, threads)
        whole = with_cells(whole, settings, threads)
    return learner_to_arrays(round_learner(whole, settings.regression.precision))


def read_model(context: TaskContext, vote: str, learners: list[str]) -> X1Model:
    """Return a model of these learners that votes as was chosen; it has no reranker yet."""
    rows, settings = read_rows(context), read_chosen(context, vote)
    index = read_index(context, rows) if float(settings.vote.feature_share) > 0 else None
    given = int(rows.shape[1]), read_labels(context), read_learners(context, learners), index, read_vectors(context)
    return X1Model(settings, *given, approximate=read_settings(context).rerank.enabled)
