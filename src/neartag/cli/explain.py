"""Why a label was given: the training points that voted for it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Reason(NamedTuple):
    """A label, its score, and who voted for it: row numbers of training points and shares, the largest first."""

    label: int
    score: float
    voters: list[tuple[int, float]]


def explain(model: Any, rows: Any, k: int, n_voters: int) -> list[list[Reason]]:
    """Return the k best labels of each row, each with its `n_voters` strongest voters; shares add up to the score."""
    labels, scores = model.predict_topk(rows, k)
    neighbours, shares = model.neighbours(rows)
    reasons = []
    for row in range(rows.shape[0]):
        share_of: dict[int, float] = {}
        for point, share in zip(neighbours[row].tolist(), shares[row].tolist(), strict=True):
            if point >= 0:  # several learners may find the same point
                share_of[point] = share_of.get(point, 0.0) + share
        strongest = sorted(share_of.items(), key=lambda voter: (-voter[1], voter[0]))
        tags_of = {point: set(model.Y.indices[model.Y.indptr[point] : model.Y.indptr[point + 1]]) for point in share_of}
        reasons.append(
            [
                Reason(int(label), float(score), [v for v in strongest if label in tags_of[v[0]]][:n_voters])
                for label, score in zip(labels[row], scores[row], strict=True)
                if label >= 0
            ]
        )
    return reasons
