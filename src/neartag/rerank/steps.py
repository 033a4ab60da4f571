"""The reranker's tasks, from label centroids to rankers: each a function from parts to a part.

`of` says whose: "others" are the points not held out, on which everything is tried, and "all" are all of them.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from neartag.linalg.rows import take_rows
from neartag.rerank import parts, state
from neartag.rerank.hard_negatives import CachedNeighbours, NeighbourSearch, find_in_block
from neartag.rerank.label_centroids import LabelCentroids, count_entries_kept, make_block
from neartag.rerank.preparation import RerankOptions, choose_tried
from neartag.rerank.rankers import Problems, Rankers, fit_problems, join_rankers
from neartag.rerank.training import Decision, Trial, choose_cost
from neartag.work.data import (
    matrix_part,
    read_held_out,
    read_labels,
    read_matrix,
    read_rows,
)
from neartag.work.parts import Arrays, TaskContext, get_json, get_matrix, put_json, put_matrix


def take_other_rows(context: TaskContext) -> Arrays:
    """Return the rows of the points that are not held out."""
    return matrix_part(take_rows(read_rows(context), _kept(context, read_rows(context).shape[0])))


def take_other_labels(context: TaskContext) -> Arrays:
    """Return the labels of the points that are not held out."""
    Y = read_labels(context)
    return matrix_part(take_rows(Y, _kept(context, Y.shape[0])))


def make_centroid_block(context: TaskContext, of: str, first: int, last: int) -> Arrays:
    """Return the means (m, d) of a block of labels."""
    Y = read_labels(context, of)
    having = csr_matrix(Y[:, first:last].T.tocsr())  # (m, n); to turn all of Y would take as long for every block
    means, lengths = make_block(read_rows(context, of), having, count_entries_kept(Y), context.threads)
    arrays: Arrays = {"lengths": lengths}
    put_matrix(arrays, "means", means)
    return arrays


def join_centroids(context: TaskContext, of: str) -> Arrays:
    """Return the label centroids of all blocks."""
    blocks = [context.get(name) for name in context.starting(f"centroids/{of}/")]
    pairs = [(get_matrix(arrays, "means"), arrays["lengths"]) for arrays in blocks]
    rows, Y = read_rows(context, of), read_labels(context, of)
    return parts.centroids_to_arrays(LabelCentroids.from_blocks(rows, Y, pairs, context.threads))


def make_search(context: TaskContext, of: str, seed: int) -> Arrays:
    """Return the index that points are searched in for each other's neighbours."""
    return parts.search_to_arrays(NeighbourSearch.from_rows(read_rows(context, of), seed, context.threads))


def find_neighbours(context: TaskContext, first: int, last: int) -> Arrays:
    """Return the neighbours by features of a block of all points, where they are needed twice."""
    search = parts.search_from_arrays(context.get("search/all"), read_rows(context))
    block = slice(first, last)
    ids, cosines = search.find(block, context.threads)
    arrays = {"ids": ids, "cosines": cosines}
    by_vectors = search.find_by_vectors(block, context.threads)
    if by_vectors is not None:
        arrays |= {"vector_ids": by_vectors[0], "vector_cosines": by_vectors[1]}
    return arrays


def find_hard_negatives(context: TaskContext, of: str, first: int, last: int, size: int) -> Arrays:
    """Return where each label is a wrong candidate among a block of points (m, L)."""
    rows, Y = read_rows(context, of), read_labels(context, of)
    centroids = parts.centroids_from_arrays(context.get(f"centroids/{of}"))
    neighbours = _read_neighbours(context, of, rows)
    return matrix_part(find_in_block(rows, Y, centroids, size, neighbours, slice(first, last), context.threads))


def make_problems(context: TaskContext, of: str) -> Arrays:
    """Return what each label's ranker is trained on; of the others also on which labels the costs are tried."""
    Y = read_labels(context, of)
    blocks = [read_matrix(context, name) for name in context.starting(f"hard-negatives/{of}/")]
    problems = Problems.from_blocks(read_rows(context, of), Y, blocks)
    # Chosen once: to sort millions of labels in each of thousands of tasks would take long.
    tried = {"tried": choose_tried(problems.positives)} if of == "others" else {}
    return parts.problems_to_arrays(problems) | tried


def fit_trial_rankers(context: TaskContext, place: int, first: int, last: int, options: dict) -> Arrays:
    """Return rankers of those labels of a block that costs are tried on, at one of the costs."""
    rows, problems = read_rows(context, "others"), _read_problems(context, "others")
    given = RerankOptions(**options)
    own = problems.for_labels(first, last, _read_tried(context))
    cost = given.costs_for(rows)[place]
    return parts.rankers_to_arrays(fit_problems(rows, own, cost, given.min_weight, context.threads))


def choose_cost_of_errors(context: TaskContext, options: dict) -> Arrays:
    """Return the cost that serves a fusion on held-out points best, and which of those tried it is."""
    rows = read_rows(context)
    costs = RerankOptions(**options).costs_for(rows)
    place = None
    if len(costs) > 1:
        rankers = [_read_rankers(context, f"trial-rankers/{each}/") for each in range(len(costs))]
        place = choose_cost(read_trial(context), _read_tried(context), rankers, context.threads)
    arrays: Arrays = {}
    put_json(arrays, "chosen", {"cost": float(costs[place or 0]), "place": place})
    return arrays


def fit_rankers(context: TaskContext, of: str, first: int, last: int, min_weight: float) -> Arrays:
    """Return the rankers of a block of labels; of the others' without those that were tried, and are known."""
    rows, problems = read_rows(context, of), _read_problems(context, of)
    chosen = read_cost(context)
    wanted = None if of == "all" or chosen["place"] is None else ~_read_tried(context)
    own = problems.for_labels(first, last, wanted)
    return parts.rankers_to_arrays(fit_problems(rows, own, chosen["cost"], min_weight, context.threads))


def decide(context: TaskContext) -> Decision:
    """Return what the held-out points say of the rankers of the others."""
    return Decision.fit(read_trial(context), _read_rankers_of_others(context), context.threads)


def join_reranker(context: TaskContext, of: str, size: int) -> Arrays:
    """Return the reranker but for its fusion: the rankers and centroids of all points, or of the others."""
    trial = read_trial(context)
    ranked = _read_rankers_of_others(context) if of == "others" else _read_rankers(context, "rankers/all/")
    ranked = ranked.choose_layout(trial.rows, trial.candidates.labels)
    centroids = parts.centroids_from_arrays(context.get(f"centroids/{of}"))
    settings, arrays = state.machines_to_arrays(size, centroids, ranked)
    put_json(arrays, "settings", settings)
    return arrays


def read_trial(context: TaskContext) -> Trial:
    """Return the held-out points and their candidates."""
    return parts.trial_from_arrays(context.get("candidates"), read_rows(context)[read_held_out(context)])


def read_cost(context: TaskContext) -> dict:
    """Return the cost that was chosen, and its place among those tried; None where nothing could be told."""
    return get_json(context.get("cost"), "chosen")


def _kept(context: TaskContext, n: int) -> np.ndarray:
    """Return which of n points are not held out."""
    # Held-out points may not be used yet, not even as neighbours of the others: their labels would be wrong candidates
    # just there, and the rankers would learn to refuse these labels to the very points that they are tried on.
    kept = np.ones(n, bool)
    kept[read_held_out(context)] = False
    return kept


def _read_neighbours(context: TaskContext, of: str, rows: object) -> NeighbourSearch | CachedNeighbours:
    blocks = [context.get(name) for name in context.starting("neighbours/")]
    if not blocks:
        return parts.search_from_arrays(context.get(f"search/{of}"), rows)

    def joined(ids: str, cosines: str) -> tuple[np.ndarray, np.ndarray]:
        return np.concatenate([each[ids] for each in blocks]), np.concatenate([each[cosines] for each in blocks])

    by_vectors = joined("vector_ids", "vector_cosines") if "vector_ids" in blocks[0] else None
    everybody = CachedNeighbours(*joined("ids", "cosines"), by_vectors)
    return everybody if of == "all" else everybody.keep(_kept(context, len(everybody.ids)))


def _read_problems(context: TaskContext, of: str) -> Problems:
    return parts.problems_from_arrays(context.get(f"problems/{of}"))


def _read_tried(context: TaskContext) -> np.ndarray:
    """Return the labels (L,) on which the costs are tried."""
    return context.get("problems/others")["tried"]


def _read_rankers(context: TaskContext, prefix: str) -> Rankers:
    return join_rankers([parts.rankers_from_arrays(context.get(name)) for name in context.starting(prefix)])


def _read_rankers_of_others(context: TaskContext) -> Rankers:
    place = read_cost(context)["place"]
    if place is None:
        return _read_rankers(context, "rankers/others/")
    tried = _read_rankers(context, f"trial-rankers/{place}/")
    return _read_rankers(context, "rankers/others/").with_labels(tried, _read_tried(context))
