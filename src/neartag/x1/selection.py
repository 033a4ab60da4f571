"""What is chosen by the program itself, on training points held out for it: who votes, and with what share.

How much neighbours by features help depends on the data: nothing where features are dense measurements, most of the
vote where texts are short and words sharp; and so does how many neighbours are asked. A few points are kept out of
training and answered with every choice, and the best one is kept. Of a small set the learners are then trained again on
all points; a large one does not miss so few, and they join their clusters as any point added later would.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from neartag.evaluation.metrics import evaluate
from neartag.linalg.rows import Rows
from neartag.rerank.candidates import Voters, no_voters
from neartag.search.inverted_index import AMONG, merge_ids
from neartag.x1.model import Lists, X1Model, combine_votes, first_columns
from neartag.x1.resolve import held_out_count
from neartag.x1.settings import X1Settings
from neartag.x1.vote import vote

# What is tried, in the order in which equals are preferred, and what is used where nothing can be told. Embeddings
# always keep a say: without one there would be no X1.
CHOICES: dict[str, tuple[Any, ...]] = {
    "vote_neighbours": (20, 10, 40, 80),
    "feature_share": (0.2, 0.0, 0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
}
KS = (1, 3, 5)


def auto_settings(settings: X1Settings) -> list[str]:
    """Return which of the settings chosen here are "auto"."""
    return [name for name in CHOICES if settings.value(name) == "auto"]


def first_choices(settings: X1Settings) -> X1Settings:
    """Return the settings to begin with: the first choice of each that is "auto"."""
    first = {name: CHOICES[name][0] for name in auto_settings(settings)}
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


def choose(model: X1Model, X: Rows, held: np.ndarray, names: list[str], threads: int) -> dict[str, Any]:
    """Return the choice of these settings with the best mean of P@1, P@3 and P@5 on the held-out rows of X, unit rows.

    The held-out points are in the model's index and labels, but in none of its clusters.
    """
    rows, Y = X[held], model.Y[held]
    counts, shares = (CHOICES[name] if name in names else (model.settings.value(name),) for name in CHOICES)
    most = min(max(counts), model.n_points)
    lists = _neighbours(model, rows, held, most, threads)
    alike = _others(model, rows, held, lists, most, threads) if model.index is not None else None
    best, chosen = -1.0, {}
    for count in counts:
        asked = replace(model, settings=model.settings.replace(vote_neighbours=count))
        near = asked.near(lists)
        if alike is not None and model.settings.vote.feature_search == "near":  # fewer asked, fewer looked at
            alike = _others(asked, rows, held, lists, asked.count, threads)
        by_features = (
            no_voters(len(held))
            if alike is None
            else asked.alike(*(first_columns(each, asked.count) for each in alike))
        )
        for share in shares:
            everybody = combine_votes(near, by_features, share)
            score = _score(model, *everybody, Y, threads)
            if score > best + 1e-9:
                best, chosen = score, dict(zip(CHOICES, (count, share), strict=True))
    return {name: chosen[name] for name in names}


class HeldOut(NamedTuple):
    """What a model answered for points that it was not trained on: the material of calibrated scores."""

    points: np.ndarray  # (m,) row numbers
    labels: np.ndarray  # (m, k), best first, −1: none
    scores: np.ndarray  # (m, k)


def voters(model: X1Model, X: Rows, held: np.ndarray, threads: int) -> tuple[Voters, Voters]:
    """Return who votes on the held-out rows of X, unit rows: by embedding and by features, each kind's shares 1 in all.

    The held-out points are in the model's index and labels, but in none of its clusters; none votes.
    """
    rows = X[held]
    lists = _neighbours(model, rows, held, model.count, threads)
    if model.feature_share == 0:
        return model.near(lists), no_voters(len(held))
    return model.near(lists), model.alike(*_others(model, rows, held, lists, model.count, threads))


def answers(model: X1Model, held: np.ndarray, near: Voters, alike: Voters, k: int, threads: int) -> HeldOut:
    """Return the k best labels of the held-out points, as the model's settings have these voters vote."""
    everybody, shares = model.together(near, alike)
    most = min(k, model.n_labels)
    labels, scores = np.full((len(held), k), -1, np.int32), np.zeros((len(held), k))
    labels[:, :most], scores[:, :most] = vote(model.Y, everybody, shares, model.frequency, most, threads)
    return HeldOut(held, labels, np.minimum(scores, 1.0))


def _neighbours(model: X1Model, rows: Rows, held: np.ndarray, count: int, threads: int) -> Lists:
    """Return each learner's neighbours, as many as voters are found among, none of them held out."""
    wider = model.index is not None and model.settings.vote.feature_search == "near"
    lists = model.learner_neighbours(rows, min(AMONG * count if wider else count, model.n_points), threads)
    # A cluster of none but held-out points has them for members.
    return [_without(ids, near, held, model.n_points) for ids, near in lists]


def _others(
    model: X1Model, rows: Rows, held: np.ndarray, lists: Lists, count: int, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest points by features, and their cosines (m, count), among those not held out.

    `lists` are the learners' neighbours, among which they are looked for where the model does so.
    """
    assert model.index is not None
    if model.settings.vote.feature_search == "near":
        listed = merge_ids([ids[:, : AMONG * count] for ids, _ in lists])
        return model.index.find(rows, count, threads, listed=np.ascontiguousarray(listed))
    everybody = model.index.find(rows, min(2 * count, model.n_points), threads, model.skip)
    found, cosines = _without(*everybody, held, model.n_points)
    order = np.argsort(found < 0, axis=1, kind="stable")[:, :count]  # the others first, best first as before
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(cosines, order, axis=1)


def _without(ids: np.ndarray, near: np.ndarray, gone: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lists with −1 and −inf in place of some of n points."""
    absent = np.zeros(n + 1, bool)  # −1, nobody, is the last
    absent[gone], absent[-1] = True, True
    return np.where(absent[ids], -1, ids).astype(np.int32), np.where(absent[ids], -np.inf, near).astype(np.float32)


def _score(model: X1Model, voters: np.ndarray, weights: np.ndarray, Y: Any, threads: int) -> float:
    most = min(KS[-1], model.n_labels)
    labels = np.full((len(voters), KS[-1]), -1, np.int32)
    labels[:, :most], _ = vote(model.Y, voters, weights, model.frequency, most, threads)
    measured = evaluate(labels, Y, ks=KS)
    return float(np.mean([measured[f"P@{k}"] for k in KS]))
