"""The fusion: how likely a candidate is right, from what its ranker, the votes and the label's centroid say of it.

log-odds = Σⱼ fⱼ(featureⱼ) + Σⱼ gⱼ(featureⱼ, frequency) + constant, where every f is a piecewise linear function between
knots and every g one of two variables, coarser: what a vote or a margin is worth depends on how often a label occurs.
It is a logistic regression in the heights at the knots, with a small L2 penalty, fitted to candidates of held-out
points by Newton's method. A few thousand candidates suffice for its hundred numbers; what it gives are probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from neartag.core.threads import run_blocks, run_ranges, sum_blocks
from neartag.rerank import fusion_kernels

# Knots of the functions of one variable, and on each side of those of two.
FINE_KNOTS, COARSE_KNOTS = 8, 4
# Knots of a feature are at least this share of its range apart. Nearer ones would be a step, and rounding would decide
# on which side a value falls: votes that are all for one label sum to 1 within 1e-7.
MIN_KNOT_GAP = 1e-3
L2_PENALTY = 1.0
# With more candidates than this the first steps are made on a part of them.
MAX_CANDIDATES_IN_ONE_GO = 4000
# Newton's steps at most, and the relative fall of the loss that ends them.
MAX_STEPS, MIN_LOSS_FALL = 30, 1e-4
# A step is halved no further when it is this short.
MIN_STEP_LENGTH = 1e-3

Sums = tuple[float, np.ndarray, np.ndarray]  # loss, gradient (terms,), and the Hessian's lower triangle (terms, terms)


@dataclass
class Fusion:
    """Functions of the features, and of each together with the last one, mostly the label's frequency."""

    fine: np.ndarray  # (J, FINE_KNOTS) rising knots of each feature
    coarse: np.ndarray  # (J, COARSE_KNOTS)
    weights: np.ndarray  # (terms + 1,) heights at the knots, the constant last
    loss: float = 0.0  # what the fit came to, a candidate
    # The loss's Hessian near the weights, a candidate, its lower triangle (terms, terms); None where it was not fitted.
    curvature: np.ndarray | None = field(default=None, repr=False, compare=False)

    def log_odds(self, features: np.ndarray, threads: int = 1) -> np.ndarray:
        """Return the log-odds (m,) that candidates with these features (m, J) are right."""
        out = np.empty(len(features))

        def fill(start: int, stop: int) -> None:
            fusion_kernels.log_odds(features, self.tables, out, start, stop)

        run_blocks(fill, len(features), threads)
        return out

    @cached_property
    def tables(self) -> tuple[np.ndarray, ...]:
        """The functions as they are quickest to read: those of a feature, and of it with the last one, made one.

        Knots of each feature but the last, fine and coarse (J − 1, K); heights there and slopes behind, a column for
        each coarse knot of the last feature (J − 1, K, coarse); of the last one fine knots, heights, and coarse knots.
        """
        (count, fine), coarse = self.fine.shape, self.coarse.shape[1]
        single = self.weights[: count * fine].reshape(count, fine)
        double = self.weights[count * fine : -1].reshape(count - 1, coarse, coarse)
        knots = np.full((count - 1, fine + coarse), np.inf)  # those that fall together leave room, beyond everything
        heights, slopes = np.zeros((2, count - 1, fine + coarse, coarse))
        for j in range(count - 1):
            own = np.union1d(self.fine[j], self.coarse[j])
            both = [np.interp(own, self.coarse[j], double[j, :, column]) for column in range(coarse)]
            level = np.interp(own, self.fine[j], single[j])[:, None] + np.array(both).T  # (knots, coarse)
            knots[j, : len(own)], heights[j, : len(own)] = own, level
            slopes[j, : len(own) - 1] = np.diff(level, axis=0) / np.diff(own)[:, None]
        return knots, heights, slopes, self.fine[-1], single[-1] + self.weights[-1], self.coarse[-1]

    @classmethod
    def fit(
        cls,
        features: np.ndarray,
        correct: np.ndarray,
        threads: int = 1,
        start: Fusion | None = None,
        *,
        min_loss_fall: float = MIN_LOSS_FALL,
        max_steps: int = MAX_STEPS,
    ) -> Fusion:
        """Return the fusion fitted to candidates: features (m, J) float32, and whether each is right (m,).

        `start` is a fusion of much the same candidates, from whose knots and weights to go on.
        """
        levels = [np.arange(len(correct))] if start is not None else _levels(len(correct))
        if start is not None:
            fine, coarse, weights, curvature = start.fine, start.coarse, start.weights.copy(), start.curvature
        else:
            few = features[levels[0]], correct[levels[0]]
            fine, coarse = (_knots(*few, count) for count in (FINE_KNOTS, COARSE_KNOTS))
            weights, curvature = np.zeros(count_terms(fine, coarse) + 1), None
        terms = _Terms.of(features, (fine, coarse), threads)
        for rows in levels:
            own, right, count = terms.take(rows), correct[rows], max(1, len(rows))
            chance = min(max(float(right.mean()), 1e-6), 1 - 1e-6) if len(rows) else 0.5
            weights[-1] = np.log(chance / (1 - chance))
            evaluate = partial(own.penalised_sums, right, threads=threads)
            known = None if curvature is None else count * curvature
            weights, loss, hessian = _newton(evaluate, weights, known, min_loss_fall=min_loss_fall, max_steps=max_steps)
            curvature = hessian / count
        return cls(fine, coarse, weights, loss / count, curvature)


@dataclass(frozen=True)
class _Terms:
    """The terms of each candidate: written down once, because every step of the fit asks for them."""

    places: np.ndarray  # (m, most) which terms, rising
    shares: np.ndarray  # (m, most) how much of each
    counts: np.ndarray  # (m,) how many each candidate has

    @classmethod
    def of(cls, features: np.ndarray, knots: tuple[np.ndarray, np.ndarray], threads: int) -> _Terms:
        m, most = len(features), 2 * features.shape[1] + 4 * (features.shape[1] - 1)
        terms = cls(np.empty((m, most), np.int32), np.empty((m, most)), np.empty(m, np.int64))
        arrays = terms.places, terms.shares, terms.counts
        run_ranges(fusion_kernels.write_terms, m, threads, features, knots, *arrays)
        return terms

    def take(self, rows: np.ndarray) -> _Terms:
        if len(rows) == len(self.counts):
            return self
        return _Terms(self.places[rows], self.shares[rows], self.counts[rows])

    def penalised_sums(self, correct: np.ndarray, weights: np.ndarray, with_hessian: bool, threads: int) -> Sums:
        """Return loss and gradient at these weights, penalty included, and the Hessian without it, where asked for."""
        count, terms = len(weights) - 1, (self.places, self.shares, self.counts)

        def summand(start: int, stop: int) -> np.ndarray:
            sums = np.zeros((count + 2 if with_hessian else 1, count + 1))  # the Hessian, and the gradient as last row
            fusion_kernels.normal_equations(terms, correct, weights, sums[-1], sums[:-1], start, stop)
            return sums

        sums = sum_blocks(summand, len(correct), threads)
        own = weights[:-1]
        return float(sums[-1, -1]) + L2_PENALTY / 2 * float(own @ own), sums[-1, :-1] + L2_PENALTY * own, sums[:-2, :-1]


def _levels(count: int) -> list[np.ndarray]:
    """Return the rows to fit to, one level after the other: most of the way is gone on a part of a part of them."""
    levels = [np.arange(count)]
    while len(levels[0]) > MAX_CANDIDATES_IN_ONE_GO:
        levels.insert(0, levels[0][fixed_subsample(len(levels[0]), 4)])
    return levels


def _newton(
    evaluate: Callable[..., Sums],
    weights: np.ndarray,
    known: np.ndarray | None,
    *,
    min_loss_fall: float,
    max_steps: int,
) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the weights where the loss is least, the constant kept as it is, that loss, and a Hessian near it.

    `known` is the Hessian of much the same candidates near the end. To make one is most of the work of a step, so all
    steps then have this one, until it leads too far.
    """
    renew = known is None
    loss, gradient, hessian = evaluate(weights, with_hessian=renew)
    if known is not None:
        hessian = known
    for _ in range(max_steps):
        whole = np.tril(hessian) + np.tril(hessian, -1).T + L2_PENALTY * np.eye(len(gradient))
        step = np.linalg.solve(whole, gradient)
        length = 1.0
        while True:
            tried = weights.copy()
            tried[:-1] -= length * step
            sums = evaluate(tried, with_hessian=renew)
            if sums[0] <= loss or length < MIN_STEP_LENGTH:
                break
            length /= 2
        fallen = loss - sums[0]
        if fallen >= 0:
            weights, loss, gradient = tried, *sums[:2]
            hessian = sums[2] if renew else hessian
        if not renew and length < 1.0:
            hessian = evaluate(weights, with_hessian=True)[2]
        elif fallen <= min_loss_fall * loss:
            break
    return weights, loss, hessian


def fixed_subsample(count: int, of: int) -> np.ndarray:
    """Return the numbers of about one candidate in so many, rising and always the same ones.

    At random: candidates stand row after row in the order of their labels, and every fourth could be of the same ones.
    """
    return np.flatnonzero(np.random.default_rng(0).random(count) < 1 / of)


def count_terms(fine: np.ndarray, coarse: np.ndarray) -> int:
    """Return how many heights the functions between these knots have."""
    return int(fine.size + (len(coarse) - 1) * coarse.shape[1] ** 2)


def _knots(features: np.ndarray, correct: np.ndarray, count: int) -> np.ndarray:
    """Return rising knots of each feature (J, count): quantiles of right candidates and as many wrong ones."""
    right, wrong = np.flatnonzero(correct), np.flatnonzero(~correct)
    if len(wrong) > len(right) > 0:
        wrong = wrong[np.linspace(0, len(wrong) - 1, len(right)).astype(np.int64)]
    sample = features[np.concatenate([right, wrong])].astype(np.float64)
    knots = np.empty((features.shape[1], count))
    for j in range(features.shape[1]):
        values = _thin(np.quantile(sample[:, j], np.linspace(0, 1, count))) if len(sample) else np.zeros(1)
        # Where few values occur there are fewer knots; those behind the last are beyond everything.
        knots[j] = np.concatenate([values, values[-1] + 1.0 + np.arange(count - len(values))])
    return knots


def _thin(values: np.ndarray) -> np.ndarray:
    """Return rising values without those that are too near the one kept before them."""
    gap = MIN_KNOT_GAP * (values[-1] - values[0])
    kept = [values[0]]
    for value in values[1:]:
        if value - kept[-1] > gap:
            kept.append(value)
    return np.array(kept)
