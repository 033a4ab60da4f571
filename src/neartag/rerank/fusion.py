"""The mixture: how likely a candidate is right, from what the ranker, the votes and the label's mean say of it.

log-odds = Σⱼ fⱼ(partⱼ) + Σⱼ gⱼ(partⱼ, frequency) + constant, where every f is a piecewise linear function between knots
and every g one of two variables, coarser: what a vote or a margin is worth depends on how often a label occurs. It is a
logistic regression in the heights at the knots, with a small L2 penalty, fitted to candidates of held-out points by
Newton's method; a few thousand of them suffice for its hundred numbers, and what it gives are probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neartag.core.threads import run_blocks, sum_blocks
from neartag.rerank import fusion_kernels as mixture_kernels

# Knots of the functions of one variable, and on each side of those of two.
FINE, COARSE = 8, 4
PENALTY = 1.0
# With more candidates than this the first steps are made on a part of them.
FEW = 4000
# Newton's steps at most, and the relative fall of the loss that ends them.
STEPS, SETTLED = 30, 1e-4


@dataclass
class Mixture:
    """Functions of the parts, and of each together with the last, which is the label's frequency where that is told."""

    fine: np.ndarray  # (J, FINE) rising knots of each part
    coarse: np.ndarray  # (J, COARSE)
    weights: np.ndarray  # (terms + 1,) heights at the knots, the constant last
    loss: float = 0.0  # what the fit came to, a candidate

    def log_odds(self, parts: np.ndarray, threads: int = 1) -> np.ndarray:
        """Return the log-odds (m,) that candidates with these parts (m, J) are right."""
        out = np.empty(len(parts))
        arguments = parts, *self.folded, out
        run_blocks(lambda start, stop: mixture_kernels.mixed(*arguments, start, stop), len(parts), threads)
        return out

    @cached_property
    def folded(self) -> tuple[np.ndarray, ...]:
        """The functions as they are quickest to read: those of a part and of the part with the last one made one.

        Knots of each part but the last, fine and coarse (J − 1, K); heights there and slopes behind, a column for each
        coarse knot of the last part (J − 1, K, COARSE); of the last part fine knots, heights there, and coarse knots.
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
    def fit(cls, parts: np.ndarray, right: np.ndarray, threads: int = 1, start: Mixture | None = None) -> Mixture:
        """Return the mixture fitted to candidates: parts (m, J) float32 and whether each is right (m,).

        `start` is a mixture of much the same candidates, from whose knots and weights to go on.
        """
        if start is None and len(right) > FEW:
            quarter = fixed_subsample(len(right), 4)
            start = cls.fit(parts[quarter], right[quarter], threads)  # most of the way on a part of them
        if start is not None:
            fine, coarse, weights = start.fine, start.coarse, start.weights.copy()
        else:
            fine, coarse = _knots(parts, right, FINE), _knots(parts, right, COARSE)
            weights = np.zeros(terms(fine, coarse) + 1)
        count = len(weights) - 1
        chance = min(max(float(right.mean()), 1e-6), 1 - 1e-6) if len(right) else 0.5
        weights[-1] = np.log(chance / (1 - chance))

        def at(weights: np.ndarray, curved: bool) -> tuple[float, np.ndarray, np.ndarray]:
            def part(start: int, stop: int) -> np.ndarray:
                sums = np.zeros((count + 2 if curved else 1, count + 1))  # the Hessian, and the gradient as last row
                arguments = parts, right, fine, coarse, weights, sums[-1], sums[:-1]
                mixture_kernels.normal_equations(*arguments, start, stop)
                return sums

            sums = sum_blocks(part, len(parts), threads)
            own = weights[:-1]
            return float(sums[-1, -1]) + PENALTY / 2 * float(own @ own), sums[-1, :-1] + PENALTY * own, sums[:-2, :-1]

        loss, gradient, hessian = at(weights, True)
        # From near the end all steps have the first one's Hessian, most of the work of one, unless that leads nowhere.
        anew = start is None
        for _ in range(STEPS):
            whole = np.tril(hessian) + np.tril(hessian, -1).T + PENALTY * np.eye(count)
            step = np.linalg.solve(whole, gradient)
            length = 1.0
            while True:
                tried = weights.copy()
                tried[:-1] -= length * step
                found = at(tried, anew)
                if found[0] <= loss or length < 1e-3:
                    break
                length /= 2
            fallen = loss - found[0]
            if fallen >= 0:
                weights, loss, gradient = tried, *found[:2]
                hessian = found[2] if anew else hessian
            if not anew and length < 1.0:
                anew, hessian = True, at(weights, True)[2]
            elif fallen <= SETTLED * loss:
                break
        return cls(fine, coarse, weights, loss / max(1, len(right)))


def fixed_subsample(count: int, of: int) -> np.ndarray:
    """Return the numbers of about one candidate in so many, rising and always the same ones.

    At random: candidates stand row after row in the order of their labels, and every fourth could be of the same ones.
    """
    return np.flatnonzero(np.random.default_rng(0).random(count) < 1 / of)


def terms(fine: np.ndarray, coarse: np.ndarray) -> int:
    """Return how many heights the functions between these knots have."""
    return int(fine.size + (len(coarse) - 1) * coarse.shape[1] ** 2)


def _knots(parts: np.ndarray, right: np.ndarray, count: int) -> np.ndarray:
    """Return rising knots of each part (J, count): quantiles of right candidates and as many wrong ones."""
    good, bad = np.flatnonzero(right), np.flatnonzero(~right)
    if len(bad) > len(good) > 0:
        bad = bad[np.linspace(0, len(bad) - 1, len(good)).astype(np.int64)]
    sample = parts[np.concatenate([good, bad])].astype(np.float64)
    knots = np.empty((parts.shape[1], count))
    for j in range(parts.shape[1]):
        values = np.unique(np.quantile(sample[:, j], np.linspace(0, 1, count))) if len(sample) else np.zeros(1)
        # Where few values occur there are fewer knots; those behind the last are beyond everything.
        knots[j] = np.concatenate([values, values[-1] + 1.0 + np.arange(count - len(values))])
    return knots
