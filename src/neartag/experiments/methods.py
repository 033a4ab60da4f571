"""The methods of the paper's tables: their settings on each data set, and how one is measured."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

from neartag.core.errors import ParameterError
from neartag.evaluation import metrics
from neartag.experiments.datasets import Parts
from neartag.experiments.runner import Work
from neartag.methods import presets, registry
from neartag.storage import store
from neartag.x1.model import X1Model
from neartag.x1.presets import ORIGINAL, PAPER, VOTE_PRESETS
from neartag.x1.resolve import PAPER_DIM, PAPER_DIM_OF_LARGE, PAPER_LEARNERS, PAPER_LEARNERS_OF_LARGE
from neartag.x1.resolve import PAPER_POINTS_PER_CLUSTER as POINTS_PER_CLUSTER

CUTS = (1, 3, 5)
PRECISIONS = tuple(f"P@{k}" for k in CUTS)
# The paper's number of clusters depends on the points; with a single cluster all learners would be the same.
PAPER_CLUSTERS = f"points / {POINTS_PER_CLUSTER}, at least 2"
QUICK_SVP_STEPS = 10  # of X1 (paper) on samples, where minutes are all there is


class Variant(NamedTuple):
    """A column of a table: a method, and what is changed in its preset."""

    title: str
    method: str
    changes: dict[str, Any]
    as_paper: bool = False  # has the paper's settings in place of its preset: `paper_settings`
    words: str = ""  # what differs from the paper, for the notes of tables


STRICT, OWN, REFINED = "x1", "x1-variant", "x1-refined"
# X1 in every table and figure: the paper's, on which all verdicts rest, and what neartag makes of it.
X1_COLUMNS = (STRICT, OWN, REFINED)
# Columns that are more than a method with its preset.
VARIANTS = {
    STRICT: Variant(
        "X1 (paper)",
        registry.DEFAULT_METHOD,
        {},
        as_paper=True,
        words="Algorithms 1 and 2 as printed, with μ = 0, since the paper prints neither μ nor ρ: neighbours by inner "
        "products of label vectors, SVP with η = 1 until a step changes its objective by less than 1%, ⌊n/6000⌋ "
        "clusters by plain k-means from random starts, Euclidean distance, one vote for each neighbour",
    ),
    OWN: Variant(
        "neartag's variant",
        registry.DEFAULT_METHOD,
        {},
        words="learners and dimensions as X1 (paper), but label vectors and embedded points compared by cosine, "
        "neighbours weighted by their cosine, ten steps of SVP with η = 1.5 along the tangent, k-means from k-means++ "
        "starts, one cluster on small sets, and on large ones clusters over three times the average split",
    ),
    REFINED: Variant(
        "refined",
        registry.DEFAULT_METHOD,
        {"refine": True},
        words="neartag's preset for the set, or its defaults: votes by embedding and by features propose labels, and a "
        "linear ranker of each label decides, unless held-out points say that votes suffice; not in the paper",
    ),
    "wsabie": Variant("WSABIE", "wsabie", {"vote_weight": "uniform"}),
    "wsabie-weighted": Variant("WSABIE, weighted votes", "wsabie", {}),
    "knn": Variant("kNN", "knn", {"vote_weight": "uniform"}),
    "knn-weighted": Variant("kNN, weighted votes", "knn", {}),
    "fastxml-1": Variant("FastXML-1", "fastxml", {"trees": 1}),
    "lpsr-nb": Variant("LPSR-NB", "lpsr", {"scorer": "naive_bayes"}),
}
# Columns that the paper does not have: no verdict on its claims rests on them.
NOT_IN_PAPER = (OWN, REFINED, "wsabie-weighted", "knn-weighted")
# What `benchmarks/choose_paper.py --plain` chose where each neighbour has one vote, as X1 (paper)'s have: the presets
# were chosen for weighted votes.
PLAIN_CHOICES: dict[str, dict[str, dict[str, Any]]] = {
    "wsabie": {
        "bibtex": {"neighbours": 15},
        "delicious": {"neighbours": 50},
        "mediamill": {"neighbours": 5},
        "eurlex": {"neighbours": 5},
    },
    "knn": {
        "bibtex": {"neighbours": 20},
        "delicious": {"neighbours": 30, "metric": "euclidean"},
        "mediamill": {"neighbours": 5, "metric": "cosine"},
        "eurlex": {"neighbours": 5},
    },
}
# Votes alone decide in the paper, so they do in every column of X1 whose settings do not say otherwise: settings that
# results were kept with name `refine` only where it is on.
VOTES_ALONE: dict[str, Any] = {"refine": False}
# What the experiment "readings" chose for X1 (paper) on a held-out fifth of the first split's training part: k and n̄,
# as in the paper, and λ, which it does not print. On a large set with three of its 15 learners.
PAPER_CHOICES: dict[str, dict[str, Any]] = {
    "bibtex": {"svp_neighbours": 200, "l2": 3.0, "vote_neighbours": 40},
    "delicious": {"svp_neighbours": 400, "l2": 10.0, "vote_neighbours": 40},
    "mediamill": {"svp_neighbours": 100, "l2": 1e-4, "vote_neighbours": 10},
    "eurlex": {"svp_neighbours": 400, "l2": 1.0, "vote_neighbours": 5},
    "yso-finna-en-100k": {"svp_neighbours": 200, "l2": 1.0, "vote_neighbours": 10},
}
# k and n̄ where nothing was chosen: one validation for each run would make a table's runs differ in their settings.
PAPER_DEFAULTS: dict[str, Any] = {"svp_neighbours": 100, "vote_neighbours": 20}
# What benchmarks/choose_paper.py chose in the same way for neartag's variant, where it differs from the preset:
# presets were chosen together with a vote by the features, and at other dimensions.
VARIANT_CHOICES: dict[str, dict[str, Any]] = {
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


def describe_x1_columns(columns: Sequence[str] = X1_COLUMNS) -> str:
    """Return what the columns of X1 are, for the note of a table."""
    return " ".join(f"“{VARIANTS[name].title}”: {VARIANTS[name].words}." for name in columns)


def settings_for(variant: str, data: str, *, large: bool = False, quick: bool = False) -> dict[str, Any]:
    """Return the settings of a column on a data set; X1 (paper) and neartag's variant have others on a `large` one."""
    if find_variant(variant).as_paper:
        return paper_settings(data, large=large, quick=quick)
    return variant_settings(data, large=large) if variant == OWN else preset(variant, data)


def preset(variant: str, data: str) -> dict[str, Any]:
    """Return the settings of a method on a data set: its preset, or the defaults if it has none, and the changes."""
    column, name = find_variant(variant), presets.preset_name(data)
    changes = {**column.changes, **PLAIN_CHOICES.get(variant, {}).get(name, {})}
    if column.method == registry.DEFAULT_METHOD and name in ORIGINAL:
        return changes  # the authors' settings, which are neither neartag's nor the paper's
    try:
        return {**presets.get(data, column.method), **changes}
    except ParameterError:
        return changes


def paper_settings(data: str, *, large: bool = False, quick: bool = False) -> dict[str, Any]:
    """Return the settings of X1 (paper): the preset `paper`, with k, n̄ and λ as validation chose them for the set.

    One learner and dimension 100 on small sets, 15 learners and dimension 50 on large ones. On samples, if `quick`, SVP
    is not run to convergence.
    """
    steps = {"svp_max_iter": QUICK_SVP_STEPS} if quick else {}
    chosen = {**PAPER_DEFAULTS, **PAPER_CHOICES.get(presets.preset_name(data), {})}
    return {**PAPER, **chosen, **_paper_size(large), **steps}


def variant_settings(data: str, *, large: bool = False) -> dict[str, Any]:
    """Return the settings of neartag's variant: as large as the paper's, and for the rest what was chosen for votes."""
    own = VOTE_PRESETS.get(presets.preset_name(data)) or preset(registry.DEFAULT_METHOD, data)
    chosen = {name: value for name, value in own.items() if not name.startswith("refine")}
    size = _paper_size(large)
    if not large:
        del size["n_clusters"]
        size |= VARIANT_CHOICES.get(data, {})
    return {**chosen, **size, "feature_share": 0.0}


def _paper_size(large: bool) -> dict[str, Any]:
    if large:
        return {
            "n_learners": PAPER_LEARNERS_OF_LARGE,
            "embedding_dim": PAPER_DIM_OF_LARGE,
            "n_clusters": PAPER_CLUSTERS,
        }
    return {"n_learners": PAPER_LEARNERS, "embedding_dim": PAPER_DIM, "n_clusters": "paper"}


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
    return {**assess(classifier, parts), **cost}


def assess(classifier: Any, parts: Parts) -> dict[str, Any]:
    """Return how accurate, fast and large a fitted classifier is, and what it finds of rare labels."""
    started = time.perf_counter()
    labels, _ = classifier.predict_topk(parts.X_test, max(CUTS))
    predicting = 1000 * (time.perf_counter() - started) / parts.X_test.shape[0]
    scores = metrics.evaluate(labels, parts.Y_test, Y_train=parts.Y)
    bands = metrics.by_frequency(labels, parts.Y_test, parts.Y)
    return {
        **round_all({name: value for name, value in scores.items() if name.startswith(("P@", "PSP@"))}),
        "predict_ms_a_point": round(predicting, 5),
        "model_bytes": model_bytes(classifier),
        "bands": {
            band: round_all({name: value for name, value in scores.items() if not name.startswith(("nDCG", "PS"))})
            for band, scores in bands.items()
        },
    }


def as_classifier(model: X1Model, jobs: int) -> Any:
    """Return a model as what `assess` takes: something that predicts with so many jobs."""
    return SimpleNamespace(model_=model, predict_topk=partial(model.predict_topk, n_jobs=jobs))


def model_bytes(classifier: Any) -> int:
    """Return the size of a fitted classifier's model folder."""
    with tempfile.TemporaryDirectory(prefix="neartag-") as folder:
        store.save(classifier.model_, folder)
        return int(store.inspect(folder)["bytes"])


def round_all(numbers: dict[str, float]) -> dict[str, float]:
    """Return numbers with four decimals, which is more than their precision, to keep the files short."""
    return {name: round(float(value), 4) for name, value in numbers.items()}
