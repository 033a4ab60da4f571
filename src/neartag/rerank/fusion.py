"""The fusion: how likely a candidate is right, from what its ranker, the votes and the label's centroid say of it.

log-odds = Σⱼ fⱼ(featureⱼ) + Σⱼ gⱼ(featureⱼ, frequency) + constant, where every f is a piecewise linear function between
knots and every g one of two variables, coarser: what a vote or a margin is worth depends on how often a label occurs.
It is a logistic regression in the heights at the knots, with a small L2 penalty, fitted to candidates of held-out
points by Newton's method. A few thousand candidates suffice for its hundred numbers; what it gives are probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neartag.core.threads import run_blocks, sum_blocks
from neartag.rerank import fusion_kernels

# Knots of the functions of one variable, and on each side of those of two.
FINE_KNOTS, COARSE_KNOTS = 8, 4
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
        if start is None and len(correct) > MAX_CANDIDATES_IN_ONE_GO:
            quarter = fixed_subsample(len(correct), 4)
            part = features[quarter], correct[quarter]  # most of the way on a part of them
            start = cls.fit(*part, threads, min_loss_fall=min_loss_fall, max_steps=max_steps)
        if start is not None:
            fine, coarse, weights = start.fine, start.coarse, start.weights.copy()
        else:
            fine, coarse = (_knots(features, correct, count) for count in (FINE_KNOTS, COARSE_KNOTS))
            weights = np.zeros(count_terms(fine, coarse) + 1)
        chance = min(max(float(correct.mean()), 1e-6), 1 - 1e-6) if len(correct) else 0.5
        weights[-1] = np.log(chance / (1 - chance))

        def evaluate(weights: np.ndarray, with_hessian: bool) -> Sums:
            return _penalised_sums(features, correct, (fine, coarse), weights, with_hessian, threads)

        weights, loss = _newton(
            evaluate, weights, is_near=start is not None, min_loss_fall=min_loss_fall, max_steps=max_steps
        )
        return cls(fine, coarse, weights, loss / max(1, len(correct)))


def _penalised_sums(
    features: np.ndarray,
    correct: np.ndarray,
    knots: tuple[np.ndarray, np.ndarray],
    weights: np.ndarray,
    with_hessian: bool,
    threads: int,
) -> Sums:
    """Return loss and gradient at these weights, the penalty included, and the Hessian without it, where asked for."""
    count = len(weights) - 1

    def summand(start: int, stop: int) -> np.ndarray:
        sums = np.zeros((count + 2 if with_hessian else 1, count + 1))  # the Hessian, and the gradient as last row
        fusion_kernels.normal_equations(features, correct, knots, weights, sums[-1], sums[:-1], start, stop)
        return sums

    sums = sum_blocks(summand, len(features), threads)
    own = weights[:-1]
    return float(sums[-1, -1]) + L2_PENALTY / 2 * float(own @ own), sums[-1, :-1] + L2_PENALTY * own, sums[:-2, :-1]


def _newton(
    evaluate: Callable[[np.ndarray, bool], Sums],
    weights: np.ndarray,
    *,
    is_near: bool,
    min_loss_fall: float,
    max_steps: int,
) -> tuple[np.ndarray, float]:
    """Return the weights where the loss is least, the constant kept as it is, and that loss.

    From near the end all steps have the first one's Hessian, most of the work of one, until that leads too far.
    """
    loss, gradient, hessian = evaluate(weights, True)
    renew = not is_near
    for _ in range(max_steps):
        whole = np.tril(hessian) + np.tril(hessian, -1).T + L2_PENALTY * np.eye(len(gradient))
        step = np.linalg.solve(whole, gradient)
        length = 1.0
        while True:
            tried = weights.copy()
            tried[:-1] -= length * step
            sums = evaluate(tried, renew)
            if sums[0] <= loss or length < MIN_STEP_LENGTH:
                break
            length /= 2
        fallen = loss - sums[0]
        if fallen >= 0:
            weights, loss, gradient = tried, *sums[:2]
            hessian = sums[2] if renew else hessian
        if not renew and length < 1.0:
            hessian = evaluate(weights, True)[2]
        elif fallen <= min_loss_fall * loss:
            break
    return weights, loss


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
        values = np.unique(np.quantile(sample[:, j], np.linspace(0, 1, count))) if len(sample) else np.zeros(1)
        # Where few values occur there are fewer knots; those behind the last are beyond everything.
        knots[j] = np.concatenate([values, values[-1] + 1.0 + np.arange(count - len(values))])
    return knots
