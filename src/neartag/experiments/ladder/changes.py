"""The changes from X1 (paper) to neartag, in their order, and the settings of each rung."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from neartag.experiments import methods
from neartag.methods import presets
from neartag.x1.parameters import DEFAULTS
from neartag.x1.presets import VOTE_PRESETS

ALONE, ADDED = "alone", "added"
REFINE = "refine"
PRESET = "preset"  # the last change: with it a rung is Table 3's column “refined”
OF_THE_VOTE = ("distance", "weights", "features")  # changes that leave the embeddings as they are


class Change(NamedTuple):
    """A departure of neartag from the paper."""

    title: str
    words: str
    settings: Callable[[dict[str, Any]], dict[str, Any]]  # of what was chosen for neartag's votes on the set


def _defaults(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a change to what was chosen for the set, or to neartag's defaults."""
    return lambda own: {name: own.get(name, DEFAULTS[name]) for name in names}


CHANGES = {
    "svp": Change(
        "ten steps of SVP, η = 1.5",
        "At most ten steps with η = 1.5 along the tangent, in place of whole steps with η = 1 to convergence.",
        _defaults("svp_step", "svp_max_iter", "svp_tol", "svp_projection"),
    ),
    "clusters": Change(
        "one cluster",
        "One cluster in place of ⌊n/6000⌋; where there are several they start by k-means++, and large ones are split.",
        _defaults("n_clusters", "cluster_start", "k_means", "max_cluster_size"),
    ),
    "labels": Change(
        "cosine of labels",
        "Label neighbours, and the products that SVP preserves, are cosines in place of inner products.",
        _defaults("label_similarity"),
    ),
    "distance": Change(
        "cosine of V·x",
        "The k nearest points by the cosine of V·x in place of the Euclidean distance.",
        _defaults("vote_distance"),
    ),
    "weights": Change(
        "weighted votes",
        "A neighbour's vote weighs exp(−a·‖V·x − V·xᵢ‖²/2) in place of 1, which by cosines is exp(a·(cos − 1)); a, "
        "and k with it, are as chosen for such votes.",
        _defaults("vote_weight", "vote_sharpness", "vote_neighbours"),
    ),
    "penalty": Change(
        "n̄ and λ",
        "n̄ and λ as validation chose them for neartag's votes in place of those chosen for X1 (paper).",
        _defaults("svp_neighbours", "l2"),
    ),
    "dimension": Change("dimension", "L̂ as chosen for the set in place of 100.", _defaults("embedding_dim")),
    "features": Change(
        "votes by features",
        "The nearest points by the features themselves have a share of the vote, as chosen for the set.",
        _defaults("feature_share", "feature_search"),
    ),
    REFINE: Change(
        "rankers",
        "Votes and label centroids only propose labels; a linear ranker of each label decides (`refine`). Where these "
        "are no better on held-out points, votes go on to decide: so on MediaMill, added.",
        _defaults("refine"),
    ),
    PRESET: Change(
        "settings for rankers",
        "Everything else as it was chosen for votes that only propose: the set's preset, or neartag's defaults. Added "
        "to all others this is the column “refined”; alone it is not measured.",
        _defaults(),
    ),
}


def own_votes(data: str) -> dict[str, Any]:
    """Return what was chosen for neartag's votes on a data set; nothing where nothing was."""
    return dict(VOTE_PRESETS.get(presets.preset_name(data), {}))


def rung_settings(data: str, change: str, rung: str, quick: bool = False) -> dict[str, Any]:
    """Return the settings of X1 (paper) with a change, and with all before it if it is added to them."""
    names = list(CHANGES)
    changes = names[: names.index(change) + 1] if rung == ADDED else [change]
    settings = methods.paper_settings(data, quick=quick)
    for each in changes:
        settings |= CHANGES[each].settings(own_votes(data))
    return settings


def has_rung(data: str, change: str, rung: str) -> bool:
    """Say whether a rung is measured here: not where the change changes nothing, nor the last, which Table 3 has."""
    if change == PRESET:
        return False
    names = list(CHANGES)
    place = names.index(change)
    before = methods.paper_settings(data)
    if rung == ADDED and place:
        before = rung_settings(data, names[place - 1], ADDED)
    after = rung_settings(data, change, rung)
    return any(after.get(name, DEFAULTS[name]) != before.get(name, DEFAULTS[name]) for name in after)
