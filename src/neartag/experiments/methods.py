"""The methods of the paper's tables: their settings on each data set, and how one is measured."""

from __future__ import annotations

import tempfile
import time
from typing import Any, NamedTuple

from neartag.core.errors import ParameterError
from neartag.evaluation import metrics
from neartag.experiments.datasets import Parts
from neartag.experiments.runner import Work
from neartag.methods import presets, registry
from neartag.storage import store
from neartag.x1.presets import VOTE_PRESETS

CUTS = (1, 3, 5)
PRECISIONS = tuple(f"P@{k}" for k in CUTS)
# The paper's number of clusters depends on the points; with a single cluster all learners would be the same.
PAPER_CLUSTERS = "points / 6000, at least 2"
POINTS_PER_CLUSTER = 6000


class Variant(NamedTuple):
    """A column of a table: a method, and what is changed in its preset."""

    title: str
    method: str
    changes: dict[str, Any]
    as_paper: bool = False  # has the paper's settings in place of its preset: `paper_settings`


# Columns that are more than a method with its preset.
VARIANTS = {
    "x1": Variant("X1", registry.DEFAULT_METHOD, {}, as_paper=True),
    "x1-preset": Variant("X1, preset", registry.DEFAULT_METHOD, {}),
    "fastxml-1": Variant("FastXML-1", "fastxml", {"trees": 1}),
    "lpsr-nb": Variant("LPSR-NB", "lpsr", {"scorer": "naive_bayes"}),
}
# Votes alone decide in the paper, so they do in every column of X1 whose settings do not say otherwise: settings that
# results were kept with name `refine` only where it is on.
VOTES_ALONE: dict[str, Any] = {"refine": False}
# What benchmarks/choose_paper.py chose on held-out fifths of the training part for X1 with the paper's settings, where
# it differs from the preset: presets were chosen together with a vote by the features, and at other dimensions.
PAPER_CHOICES: dict[str, dict[str, Any]] = {
    "bibtex": {"svp_neighbours": 200, "l2": 1.0},
    "delicious": {"svp_neighbours": 400, "vote_neighbours": 120, "vote_sharpness": 20.0},
    "eurlex": {"l2": 1.0},
    "eurlex4k-partial": {"l2": 1.0},
}


def find_variant(name: str) -> Variant:
    """Return a column: a variant, or a method with its preset."""
    return VARIANTS.get(name) or Variant(registry.get(name).title, name, {})


def title(variant: str) -> str:
    """Return the heading of a column."""
    return find_variant(variant).title


def settings_for(variant: str, data: str, *, large: bool = False) -> dict[str, Any]:
    """Return the settings of a column on a data set: the paper's settings for X1, the presets of the others."""
    return paper_settings(data, large=large) if find_variant(variant).as_paper else preset(variant, data)


def preset(variant: str, data: str) -> dict[str, Any]:
    """Return the settings of a method on a data set: its preset, or the defaults if it has none, and the changes.

    X1 has the settings that were chosen for votes alone, where there are any.
    """
    column = find_variant(variant)
    if column.method == registry.DEFAULT_METHOD and (votes := vote_preset(data)):
        return {**votes, **column.changes}
    try:
        return {**presets.get(data, column.method), **column.changes}
    except ParameterError:
        return dict(column.changes)


def vote_preset(data: str) -> dict[str, Any]:
    """Return what was chosen for X1's votes alone on a data set; nothing where nothing was."""
    return dict(VOTE_PRESETS.get(presets.preset_name(data), {}))


def paper_settings(data: str, *, large: bool = False) -> dict[str, Any]:
    """Return X1's settings: those that the paper gives, and for the rest what was chosen on the training part.

    One learner and dimension 100 on small sets; 15 learners, dimension 50 and one cluster per 6,000 points on large
    ones. What the paper does not have is off: the second vote by features, and the reranker.
    """
    own = preset(registry.DEFAULT_METHOD, data)
    chosen = {name: value for name, value in own.items() if not name.startswith("refine")}
    fixed: dict[str, Any] = {**PAPER_CHOICES.get(data, {}), "n_learners": 1, "embedding_dim": 100}
    if large:
        fixed = {"n_learners": 15, "embedding_dim": 50, "n_clusters": PAPER_CLUSTERS}
    return {**chosen, **fixed, "feature_share": 0.0}


def train(variant: str, settings: dict[str, Any], parts: Parts, seed: int, work: Work) -> tuple[Any, dict[str, float]]:
    """Return a fitted classifier and what its training cost."""
    whole = {**resolve_clusters(settings, parts.X.shape[0]), "random_state": seed, "n_jobs": work.jobs}
    method = find_variant(variant).method
    if method == registry.DEFAULT_METHOD:
        whole = {**VOTES_ALONE, **whole}
    classifier = registry.get(method).estimator_class()(**whole)
    wall, cpu = time.perf_counter(), time.process_time()
    with work.start(None, "training"):
        classifier.fit(parts.X, parts.Y, progress=work)
    cost = {"train_seconds": time.perf_counter() - wall, "train_cpu_seconds": time.process_time() - cpu}
    return classifier, round_all(cost)


def resolve_clusters(settings: dict[str, Any], points: int) -> dict[str, Any]:
    """Return the settings with the paper's number of clusters for so many points."""
    if settings.get("n_clusters") != PAPER_CLUSTERS:
        return settings
    return {**settings, "n_clusters": max(2, points // POINTS_PER_CLUSTER)}


def measure(variant: str, settings: dict[str, Any], parts: Parts, seed: int, work: Work) -> dict[str, Any]:
    """Return how accurate, fast and large a method is on the parts, and what it finds of rare labels."""
    classifier, cost = train(variant, settings, parts, seed, work)
    started = time.perf_counter()
    labels, _ = classifier.predict_topk(parts.X_test, max(CUTS))
    predicting = 1000 * (time.perf_counter() - started) / parts.X_test.shape[0]
    scores = metrics.evaluate(labels, parts.Y_test, Y_train=parts.Y)
    bands = metrics.by_frequency(labels, parts.Y_test, parts.Y)
    return {
        **round_all({name: value for name, value in scores.items() if name.startswith(("P@", "PSP@"))}),
        **cost,
        "predict_ms_a_point": round(predicting, 5),
        "model_bytes": model_bytes(classifier),
        "bands": {
            band: round_all({name: value for name, value in scores.items() if not name.startswith(("nDCG", "PS"))})
            for band, scores in bands.items()
        },
    }


def model_bytes(classifier: Any) -> int:
    """Return the size of a fitted classifier's model folder."""
    with tempfile.TemporaryDirectory(prefix="neartag-") as folder:
        store.save(classifier.model_, folder)
        return int(store.inspect(folder)["bytes"])


def round_all(numbers: dict[str, float]) -> dict[str, float]:
    """Return numbers with four decimals, which is more than their precision, to keep the files short."""
    return {name: round(float(value), 4) for name, value in numbers.items()}
