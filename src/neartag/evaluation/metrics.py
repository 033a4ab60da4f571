"""How good predictions are, in percent (0 to 100), over all test points.

`labels` is an int array (n, columns) of label ids, best first, -1 where a method had no further label (a miss).
`Y` is the sparse indicator (n, L) of the true labels. Whatever is not zero counts as one.

A point without true labels is never left out. It scores 0 in P@k, nDCG@k and R@k, as in the XMC repository's own
scripts, so that no method can reach 100 where there are such points; to PSP@k and PSnDCG@k, which divide by what is
attainable, it adds nothing above or below the line.

Every metric here is a sum over points of what was reached divided by a sum over points of what could be reached:

    metric   reached by point i                           attainable by point i
    P@k      Σ_r hit_r / k                                1
    R@k      Σ_r hit_r / |y_i|                            1
    nDCG@k   Σ_r hit_r d_r / Σ_{r ≤ min(k, |y_i|)} d_r    1             with d_r = 1 / log2(r + 1), r = 1 … k
    PSP@k    as P@k, each hit divided by p_l              the same for the best k labels of y_i
    PSnDCG@k as nDCG@k, each hit divided by p_l           the same for the best k labels of y_i
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.evaluation.matches import (
    Matches,
    canonical,
    check_k,
    divide,
    frequencies,
    match_labels,
    percent,
    score,
    terms,
    within,
)

# The XMC repository's values for all sets but Wikipedia's (0.5, 0.4) and Amazon's (0.6, 2.6).
PROPENSITY_A = 0.55
PROPENSITY_B = 1.5

PLAIN = ("P", "nDCG", "R")
PROPENSITY_SCORED = ("PSP", "PSnDCG")


class Interval(NamedTuple):
    """A difference between two models, first minus second, in points of percent, and the interval about it."""

    difference: float
    low: float
    high: float


def precision_at(labels: np.ndarray, Y: csr_matrix, k: int) -> float:
    """Return P@k in percent: the share of right labels among the first k. A point without labels scores 0."""
    return _scored("P", k, _judged(labels, Y))


def ndcg_at(labels: np.ndarray, Y: csr_matrix, k: int) -> float:
    """Return nDCG@k in percent: hits discounted by log2 of their rank. A point without labels scores 0."""
    return _scored("nDCG", k, _judged(labels, Y))


def recall_at(labels: np.ndarray, Y: csr_matrix, k: int) -> float:
    """Return R@k in percent: the share of a point's labels found in the first k. A point without labels scores 0."""
    return _scored("R", k, _judged(labels, Y))


def psp_at(labels: np.ndarray, Y: csr_matrix, propensities: np.ndarray, k: int) -> float:
    """Return PSP@k in percent of the best attainable. A point without labels adds nothing; without any, 0."""
    return _scored("PSP", k, _judged(labels, Y), propensities)


def psndcg_at(labels: np.ndarray, Y: csr_matrix, propensities: np.ndarray, k: int) -> float:
    """Return PSnDCG@k in percent of the best attainable. A point without labels adds nothing; without any, 0."""
    return _scored("PSnDCG", k, _judged(labels, Y), propensities)


def propensities(Y_train: csr_matrix, a: float = PROPENSITY_A, b: float = PROPENSITY_B) -> np.ndarray:
    """Return p_l = 1 / (1 + C (N_l + b)^-a), C = (log n - 1)(b + 1)^a, for each label of the training set: (L,).

    N_l is how many of the n training points have label l. Below n = e the formula's C is negative and would give
    propensities above one; C is then 0 and every label weighs the same.
    """
    if not (np.isfinite(a) and np.isfinite(b) and b > 0):
        raise ParameterError(f"propensities need a finite a and b > 0: a is {a}, b is {b}")
    train = _canonical(Y_train, "Y_train")
    if train.shape[0] == 0:
        raise ParameterError("Y_train has no points, so there are no propensities")
    constant = max(0.0, np.log(train.shape[0]) - 1.0) * (b + 1.0) ** a
    return 1.0 / (1.0 + constant * np.exp(-a * np.log(frequencies(train) + b)))


def evaluate(
    labels: np.ndarray,
    Y: csr_matrix,
    *,
    ks: Sequence[int] = (1, 3, 5),
    Y_train: csr_matrix | None = None,
    a: float = PROPENSITY_A,
    b: float = PROPENSITY_B,
) -> dict[str, float]:
    """Return every metric at every k by name ("P@1", "nDCG@3", "R@5", …), in percent, 0 to 100.

    The propensity-scored ones ("PSP@1", "PSnDCG@5", …) are there only where the training labels are given.
    """
    judged = _judged(labels, Y)
    scores = {f"{family}@{k}": _scored(family, k, judged) for family in PLAIN for k in ks}
    if Y_train is not None:
        known = propensities(Y_train, a, b)
        scores.update({f"{family}@{k}": _scored(family, k, judged, known) for family in PROPENSITY_SCORED for k in ks})
    return scores


def by_frequency(
    labels: np.ndarray,
    Y: csr_matrix,
    Y_train: csr_matrix,
    ks: Sequence[int] = (1, 3, 5),
    edges: Sequence[int] = (5, 20, 100),
    *,
    a: float = PROPENSITY_A,
    b: float = PROPENSITY_B,
) -> dict[str, dict[str, float]]:
    """Return every metric, in percent, a band of training frequency: {"0-5": {"P@1": …}, …, "101+": …}.

    A band ends with its edge: edges (5, 20, 100) make 0-5, 6-20, 21-100 and 101+; (0, 5) sets labels never seen apart.
    P@k counts a band's hits among the first k and divides by n·k, so that the bands add up to P@k. R@k is the share of
    the band's true (point, label) pairs found in the first k, 0 where it has none. nDCG@k, PSP@k and PSnDCG@k are those
    of the same predictions where only the band's labels are true: what could be reached is counted from the point's
    labels in the band, a point without any scores 0 in nDCG@k and adds nothing to the other two, and a prediction from
    another band still takes its rank. Propensities are those of the whole training matrix. With them come "labels",
    how many labels the band has, and "pairs", how many true pairs.
    """
    judged = _judged(labels, Y)
    train = _canonical(Y_train, "Y_train")
    if train.shape[1] != judged.truth.shape[1]:
        raise ParameterError(f"Y_train has {train.shape[1]} labels, but Y has {judged.truth.shape[1]}")
    if len(edges) == 0 or edges[0] < 0 or np.any(np.diff(edges) <= 0):
        raise ParameterError(f"edges must be increasing and not negative: {tuple(edges)}")

    band_of = np.searchsorted(np.asarray(edges), frequencies(train), side="left")  # (L,) which band a label is in
    bands = len(edges) + 1
    label_counts = np.bincount(band_of, minlength=bands)
    pairs = np.bincount(band_of[judged.truth.indices], minlength=bands)
    tables = [{"labels": float(label_counts[band]), "pairs": float(pairs[band])} for band in range(bands)]
    known = propensities(train, a, b)
    parts = [within(judged, band_of == band) for band in range(bands)]
    for k in ks:
        _check_k(k, judged)
        found = np.bincount(band_of[judged.labels[:, :k][judged.hits[:, :k]]], minlength=bands)
        for band, table in enumerate(tables):
            table[f"P@{k}"] = 100.0 * float(found[band]) / (judged.hits.shape[0] * k)
            table[f"R@{k}"] = 100.0 * float(found[band]) / max(1, int(pairs[band]))
            table[f"nDCG@{k}"] = score("nDCG", k, parts[band])
            for family in PROPENSITY_SCORED:
                table[f"{family}@{k}"] = score(family, k, parts[band], known)
    return dict(zip(_band_names(edges), tables, strict=True))


def paired_bootstrap(
    labels_a: np.ndarray,
    labels_b: np.ndarray,
    Y: csr_matrix,
    *,
    metric: str = "P@1",
    Y_train: csr_matrix | None = None,
    samples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
    a: float = PROPENSITY_A,
    b: float = PROPENSITY_B,
) -> Interval:
    """Return by how much the first predictions beat the second in `metric`, with its percentile bootstrap interval.

    Test points are drawn with replacement, the same draw for both models. `a` and `b` are the propensities' constants,
    used, like `Y_train`, only by the propensity-scored metrics.
    """
    parsed = re.fullmatch(r"(P|nDCG|R|PSP|PSnDCG)@([0-9]+)", metric)
    if parsed is None:
        raise ParameterError(f"metric must be P@k, nDCG@k, R@k, PSP@k or PSnDCG@k: {metric!r}")
    if samples < 1:
        raise ParameterError(f"samples must be at least 1: {samples}")
    if not 0.0 < level < 1.0:
        raise ParameterError(f"level must lie between 0 and 1: {level}")
    family, k = parsed[1], int(parsed[2])
    known = None
    if family in PROPENSITY_SCORED:
        if Y_train is None:
            raise ParameterError(f"metric {metric!r} needs Y_train for its propensities")
        known = propensities(Y_train, a, b)

    reached_a, attainable = terms(family, k, _judged(labels_a, Y), known)
    reached_b, _ = terms(family, k, _judged(labels_b, Y), known)
    # What is attainable depends on Y alone, so the metrics' difference is the ratio for the difference of the terms.
    summands = np.column_stack([reached_a - reached_b, attainable])  # (n, 2)
    points = summands.shape[0]
    generator = np.random.default_rng(seed)
    sums = np.empty((samples, 2))
    for sample in range(samples):
        times = np.bincount(generator.integers(points, size=points), minlength=points)
        sums[sample] = times @ summands
    differences = 100.0 * divide(sums[:, 0], sums[:, 1])
    low, high = np.quantile(differences, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Interval(percent(summands[:, 0], summands[:, 1]), float(low), float(high))


def _scored(family: str, k: int, judged: Matches, known: np.ndarray | None = None) -> float:
    _check_k(k, judged)
    return score(family, k, judged, known)


def _check_k(k: int, judged: Matches) -> None:
    if isinstance(k, bool) or not isinstance(k, numbers.Integral):
        raise ParameterError(f"k must be a whole number: {k!r}")
    check_k(k, judged)


def _judged(labels: np.ndarray, Y: csr_matrix) -> Matches:
    return match_labels(labels, _canonical(Y, "Y"))


def _canonical(Y: csr_matrix, name: str) -> csr_matrix:
    matrix = canonical(Y, name)
    if matrix.dtype.kind == "c":
        raise ParameterError(f"{name} must hold zeros and ones, not {matrix.dtype} numbers")
    return matrix


def _band_names(edges: Sequence[int]) -> list[str]:
    lows = [0, *(edge + 1 for edge in edges)]
    closed = [f"{low}-{high}" if low < high else f"{low}" for low, high in zip(lows, edges, strict=False)]
    return [*closed, f"{lows[-1]}+"]
