"""What is chosen by the program itself, on training points held out for it: who votes, and with what share.

How much neighbours by features help depends on the data: nothing where features are dense measurements, most of the
vote where texts are short and words sharp; and so does how many neighbours are asked. A few points are kept out of
training and answered with every choice, and the best one is kept. Of a small set the learners are then trained again on
all points; a large one does not miss so few, and they join their clusters as any point added later would.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neartag.evaluation.metrics import evaluate
from neartag.linalg.rows import Rows
from neartag.search.exact import Neighbours
from neartag.search.inverted_index import merge_ids
from neartag.search.weights import Voters, no_voters
from neartag.x1.model import X1Model
from neartag.x1.resolve import held_out_count
from neartag.x1.retrieval import (
    POOL_PER_NEIGHBOUR,
    Retrieved,
    find_by_embedding,
    first_columns,
    weigh_feature_voters,
    weigh_vector_voters,
    weigh_voters,
)
from neartag.x1.settings import X1Settings
from neartag.x1.vote import combine_votes, vote

# What is tried, in the order in which equals are preferred, and what is used where nothing can be told. Embeddings
# always keep a say: without one there would be no X1.
CHOICES: dict[str, tuple[Any, ...]] = {
    "vote_neighbours": (20, 10, 40, 80),
    "feature_share": (0.2, 0.0, 0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
}
# The same of the share of neighbours by vectors, which is chosen when the others are.
VECTOR_SHARES = (0.3, 0.0, 0.1, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
# Numbers of label neighbours that are tried where that is "auto"; each has a training of its own.
GRAPH_CHOICES = (100, 50, 200, 400)
KS = (1, 3, 5)


def auto_settings(settings: X1Settings) -> list[str]:
    """Return which of the settings chosen here are "auto"."""
    return [name for name in (*CHOICES, "vector_share") if settings.value(name) == "auto"]


def first_choices(settings: X1Settings) -> X1Settings:
    """Return the settings to begin with: the first choice of each that is "auto"."""
    first = {name: ({**CHOICES, "vector_share": VECTOR_SHARES})[name][0] for name in auto_settings(settings)}
    if settings.vote.feature_search == "auto":  # which the reranker may change
        first["feature_search"] = "all"
    return settings.replace(**first)


def held_out_rows(n: int, seed: int | None, *, to_rerank: bool = False) -> np.ndarray:
    """Return which of n points to hold out, in rising order; none where they would be too few.

    More of a small set are held out `to_rerank`, where everything depends on having some.
    """
    count = held_out_count(n, to_rerank=to_rerank)
    if not count:
        return np.empty(0, np.int64)
    return np.sort(np.random.default_rng(seed).choice(n, count, replace=False))


def choose_vote(model: X1Model, X: Rows, held: np.ndarray, names: list[str], threads: int) -> dict[str, Any]:
    """Return the choice of these settings with the best mean of P@1, P@3 and P@5 on the held-out rows of X, unit rows.

    The held-out points are in the model's index and labels, but in none of its clusters.
    """
    rows, Y, vote_settings = X[held], model.Y[held], model.settings.vote
    counts, shares = (CHOICES[name] if name in names else (model.settings.value(name),) for name in CHOICES)
    most = min(max(counts), model.n_points)
    lists = _find_by_embedding(model, rows, held, most, threads)
    neighbours = None if model.index is None else _find_by_features(model, rows, held, lists, most, threads)
    best, chosen, chosen_voters = -1.0, {}, None
    for count in counts:
        asked = min(int(count), max(model.n_points, 1))
        embedding_voters, feature_voters = weigh_voters(lists, vote_settings, asked), no_voters(len(held))
        if neighbours is not None:
            if vote_settings.feature_search == "near":  # fewer asked, fewer looked at
                neighbours = _find_by_features(model, rows, held, lists, asked, threads)
            first = first_columns(neighbours[0], asked), first_columns(neighbours[1], asked)
            feature_voters = weigh_feature_voters(first, vote_settings)
        for share in shares:
            voters = combine_votes(embedding_voters, feature_voters, share)
            score = _score(model, voters, Y, threads)
            if score > best + 1e-9:
                best, chosen, chosen_voters = score, dict(zip(CHOICES, (count, share), strict=True)), voters
    if "vector_share" in names and chosen_voters is not None:
        count = min(int(chosen["vote_neighbours"]), max(model.n_points, 1))
        by_vectors = _vector_voters(model, rows, held, count, threads)
        scores = [_score(model, combine_votes(chosen_voters, by_vectors, each), Y, threads) for each in VECTOR_SHARES]
        chosen["vector_share"] = VECTOR_SHARES[int(np.argmax(scores))]
    return {name: chosen[name] for name in names}


class HeldOut(NamedTuple):
    """What a model answered for points that it was not trained on: the material of calibrated scores."""

    points: np.ndarray  # (m,) row numbers
    labels: np.ndarray  # (m, k), best first, −1: none
    scores: np.ndarray  # (m, k)


def retrieve_held_out(model: X1Model, X: Rows, held: np.ndarray, threads: int) -> Retrieved:
    """Return who votes on the held-out rows of X, unit rows, as `X1Model.retrieve` does for others.

    The held-out points are in the model's index and labels, but in none of its clusters; none votes.
    """
    rows, vote_settings, count = X[held], model.settings.vote, model.n_neighbours
    lists = _find_by_embedding(model, rows, held, count, threads)
    feature_voters = no_voters(len(held))
    if model.feature_share > 0:
        neighbours = _find_by_features(model, rows, held, lists, count, threads)
        feature_voters = weigh_feature_voters(neighbours, vote_settings)
    vector_voters = _vector_voters(model, rows, held, count, threads)
    return Retrieved(rows, weigh_voters(lists, vote_settings, count), feature_voters, threads, vector_voters)


def answer_held_out(model: X1Model, held: np.ndarray, retrieved: Retrieved, k: int) -> HeldOut:
    """Return the k best labels of the held-out points by these votes, −1 where nobody votes."""
    most = min(k, model.n_labels)
    labels, scores = np.full((len(held), k), -1, np.int32), np.zeros((len(held), k))
    best = vote(model.label_arrays, model.voters(retrieved), model.frequency, most, retrieved.threads)
    labels[:, :most], scores[:, :most] = best
    return HeldOut(held, labels, np.minimum(scores, 1.0))


def _find_by_embedding(model: X1Model, rows: Rows, held: np.ndarray, count: int, threads: int) -> list[Neighbours]:
    """Return each learner's neighbours, as many as voters are found among, none of them held out."""
    wider = model.index is not None and model.settings.vote.feature_search == "near"
    wanted = min(POOL_PER_NEIGHBOUR * count if wider else count, model.n_points)
    lists = find_by_embedding(rows, model.learners, model.settings, wanted, threads)
    # A cluster of none but held-out points has them for members.
    return [_blank_out(ids, near, held, model.n_points) for ids, near in lists]


def _find_by_features(
    model: X1Model, rows: Rows, held: np.ndarray, lists: list[Neighbours], count: int, threads: int
) -> Neighbours:
    """Return the nearest points by features, and their cosines (m, count), among those not held out.

    `lists` are the learners' neighbours, among which they are looked for where the model does so.
    """
    assert model.index is not None
    if model.settings.vote.feature_search == "near":
        pool = merge_ids([ids[:, : POOL_PER_NEIGHBOUR * count] for ids, _ in lists])
        return model.index.find(rows, count, threads, restrict_to=np.ascontiguousarray(pool))
    everybody = model.index.find(rows, min(2 * count, model.n_points), threads, model.prune)
    return first_of_others(everybody, held, count, model.n_points)


def _vector_voters(model: X1Model, rows: Rows, held: np.ndarray, count: int, threads: int) -> Voters | None:
    """Return who votes by vectors, none of them held out; None where there are no vectors."""
    if model.vectors is None:
        return None
    everybody = model.vectors.find(rows.vectors, min(2 * count, model.n_points), threads)
    return weigh_vector_voters(first_of_others(everybody, held, count, model.n_points), model.settings.vote)


def first_of_others(neighbours: Neighbours, held: np.ndarray, count: int, n: int) -> Neighbours:
    """Return the first `count` of the neighbours that are not held out."""
    ids, cosines = _blank_out(*neighbours, held, n)
    order = np.argsort(ids < 0, axis=1, kind="stable")[:, :count]  # the others first, best first as before
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(cosines, order, axis=1)


def _blank_out(ids: np.ndarray, near: np.ndarray, gone: np.ndarray, n: int) -> Neighbours:
    """Return the lists with −1 and −inf in place of some of n points."""
    absent = np.zeros(n + 1, bool)  # −1, nobody, is the last
    absent[gone], absent[-1] = True, True
    return np.where(absent[ids], -1, ids).astype(np.int32), np.where(absent[ids], -np.inf, near).astype(np.float32)


def _score(model: X1Model, voters: Voters, Y: Any, threads: int) -> float:
    most = min(KS[-1], model.n_labels)
    labels = np.full((Y.shape[0], KS[-1]), -1, np.int32)
    labels[:, :most], _ = vote(model.label_arrays, voters, model.frequency, most, threads)
    return mean_precision(labels, Y)


def mean_precision(labels: np.ndarray, Y: Any) -> float:
    """Return the mean of P@1, P@3 and P@5 of answers (m, 5 or more), best first, −1: none."""
    measured = evaluate(np.ascontiguousarray(labels[:, : KS[-1]]), Y, ks=KS)
    return float(np.mean([measured[f"P@{k}"] for k in KS]))
