"""X1's parameters as data: limits, defaults and the paper's names, for the estimator and the command line alike."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

from neartag.errors import ParameterError

# This module must stay light: the command line reads it for --help, long before numpy is wanted.
SIMILARITIES = ("cosine", "inner")
WEIGHTS = ("similarity", "uniform")
STARTS = ("k-means++", "random")
DISTANCES = ("cosine", "euclidean")
PRECISIONS = ("float32", "float16", "int8")
LARGEST_PENALTY = 1e12  # its square is still far from what float32 cannot hold
LARGEST_COUNT = 2**31 - 1  # row numbers are kept as int32


def parse_bytes(given: object) -> int:
    """Return the bytes meant by a whole number, or by words such as "4GB" or "500 MB"."""
    if isinstance(given, numbers.Integral) and not isinstance(given, bool) and int(given) > 0:
        return int(given)
    if isinstance(given, str):
        words = given.strip().upper().removesuffix("B").removesuffix("I").strip()
        power = {"K": 10, "M": 20, "G": 30, "T": 40}.get(words[-1:], 0)
        try:
            count = float(words[:-1] if power else words)
        except ValueError:
            count = 0.0
        if 0 < count < 1e15:
            return int(count * 2**power)
    raise ParameterError(f"{given!r} is no number of bytes, and no size such as '4GB' or '500MB'")


@dataclass(frozen=True)
class Parameter:
    """One parameter: what it may be, what it is unless told otherwise, and what the paper calls it."""

    name: str
    kind: type  # int, float, str, or bytes: a size in bytes
    default: Any
    help: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()  # allowed words; beside a number, words allowed in its place
    optional: bool = False  # None allowed

    def check(self, value: object) -> None:
        """Raise ParameterError naming the parameter and the value unless the value may be used."""
        if (self.optional and value is None) or (isinstance(value, str) and value in self.choices):
            return
        if self.kind is bytes:
            try:
                parse_bytes(value)
            except ParameterError:
                raise ParameterError(f"{self.name} must be {self.describe()}, not {value!r}") from None
            return
        wanted = numbers.Integral if self.kind is int else numbers.Real
        if self.kind is not str and isinstance(value, wanted) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if math.isfinite(number) and self.low <= number <= self.high:
                return
        raise ParameterError(f"{self.name} must be {self.describe()}, not {value!r}")

    def describe(self) -> str:
        """Say in words what the parameter may be."""
        words = [repr(choice) for choice in self.choices]
        if self.kind is bytes:
            words.insert(0, "a number of bytes or a size such as '4GB'")
        elif self.kind is not str:
            number = "a whole number" if self.kind is int else "a number"
            low, high = (f"{limit:.0f}" if self.kind is int else f"{limit:g}" for limit in (self.low, self.high))
            limits = f"from {low} to {high}" if math.isfinite(self.high) else f"of at least {low}"
            words.insert(0, f"{number} {limits}" if math.isfinite(self.low) else number)
        if self.optional:
            words.append("None")
        return " or ".join(words)


PARAMETERS = (
    Parameter(
        "n_learners",
        int,
        "auto",
        "learners in the ensemble; auto: 1 for one cluster, else 3 (the paper: 15 on large sets, 1 on small)",
        1,
        choices=("auto",),
    ),
    Parameter(
        "n_clusters",
        int,
        "auto",
        "clusters of a learner, C; auto: n / 100000 (the paper: n / 6000)",
        1,
        choices=("auto",),
    ),
    Parameter(
        "max_cluster_size", int, None, "points in a cluster at most; None: three times the average", 2, optional=True
    ),
    Parameter("cluster_start", str, "k-means++", "how k-means starts (the original program: random)", choices=STARTS),
    Parameter("n_probe", int, 1, "nearest clusters searched for a point (the paper: 1)", 1),
    Parameter("centroid_entries", int, None, "largest entries kept of each centroid; None: all", 1, optional=True),
    Parameter(
        "embedding_dim",
        int,
        "auto",
        "dimension of the embeddings, L̂; auto: 200, in clusters of over 40000 points 100 (the paper: 100, 50 on large)",
        1,
        choices=("auto",),
    ),
    Parameter("svp_neighbours", int, 100, "label neighbours preserved for each point, n̄", 1),
    Parameter(
        "label_similarity",
        str,
        "cosine",
        "what makes label vectors neighbours, in Ω (the paper: inner)",
        choices=SIMILARITIES,
    ),
    Parameter("svp_step", float, 1.5, "step size of SVP, η (the paper: 1)", 1e-6, 10),
    Parameter("svp_max_iter", int, 10, "steps of SVP at most", 1),
    Parameter("svp_tol", float, 1e-3, "SVP ends when its objective changes by less, relatively", 0),
    Parameter("l2", float, 1.0, "L2 penalty of the regressors, λ", 0, LARGEST_PENALTY),
    Parameter("l1", float, 0.0, "L1 penalty that makes V·X sparse, μ", 0, LARGEST_PENALTY),
    Parameter("rho", float, 1.0, "penalty of ADMM's splitting, ρ", 1e-6, LARGEST_PENALTY),
    Parameter("admm_max_iter", int, 200, "rounds of ADMM at most, where l1 > 0", 1),
    Parameter("admm_tol", float, 1e-3, "ADMM ends when both residuals are below this", 0),
    Parameter(
        "keep_weights",
        float,
        1.0,
        "share of the largest weights of V kept (the original program: 1 − w_thresh)",
        1e-6,
        1,
    ),
    Parameter(
        "precision", str, "float32", "what V and the embedded points are rounded to and stored as", choices=PRECISIONS
    ),
    Parameter(
        "vote_neighbours",
        int,
        "auto",
        "neighbours that vote, k of kNN; auto: chosen on held-out points",
        1,
        LARGEST_COUNT,
        choices=("auto",),
    ),
    Parameter(
        "vote_distance", str, "cosine", "what makes V·x near (the original program: euclidean)", choices=DISTANCES
    ),
    Parameter("vote_weight", str, "similarity", "how neighbours are weighted (the paper: uniform)", choices=WEIGHTS),
    Parameter("vote_sharpness", float, 20.0, "a in the weight exp(a·(cos − 1))", 0),
    Parameter(
        "feature_share",
        float,
        "auto",
        "share of the vote for neighbours by the features themselves; auto: chosen on held-out points (the paper: 0)",
        0,
        1,
        choices=("auto",),
    ),
    Parameter("threshold", float, 0.5, "score from which X1Classifier.predict gives a label", 0, 1),
    Parameter("random_state", int, 0, "seed; the same seed gives the same model", 0, 2**32 - 1, optional=True),
    Parameter("n_jobs", int, -1, "cores used; -1: all", optional=True),
    Parameter(
        "max_memory",
        bytes,
        None,
        "memory that training may use in all; fewer clusters are then worked on at once. None: no limit",
        optional=True,
    ),
)
# What trains a model, but is no property of the model.
MACHINE = ("n_jobs", "max_memory")
DEFAULTS: dict[str, Any] = {parameter.name: parameter.default for parameter in PARAMETERS}


def checked(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings as plain Python values; ParameterError for one that cannot be used or is not known."""
    for name in settings:
        if name not in DEFAULTS:
            raise ParameterError(f"X1 has no parameter {name!r}; it has {', '.join(DEFAULTS)}")
    kinds: dict[str, Any] = {parameter.name: parameter.kind for parameter in PARAMETERS}
    kinds = {name: parse_bytes if kind is bytes else kind for name, kind in kinds.items()}
    for parameter in PARAMETERS:
        if parameter.name in settings:
            parameter.check(settings[parameter.name])
    # numpy's numbers and fractions are numbers too, but not for JSON.
    return {
        name: value
        if value is None
        else str(value)
        if isinstance(value, str) and kinds[name] is not parse_bytes
        else kinds[name](value)
        for name, value in settings.items()
    }
