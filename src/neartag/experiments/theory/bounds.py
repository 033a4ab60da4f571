"""The paper's excess-risk bounds as numbers: Theorem 1 and the second theorem of the appendix, with slips corrected.

For A = VᵀV, features with ‖x‖ ≤ R and B the largest ⟨y, y'⟩ of two points, the loss of a pair is

    ℓ(A; z, z') = [⟨y, y'⟩ ≥ τ] · (⟨y, y'⟩ − xᵀA x')² + λ Tr(A)

and L̂(A; D) is its mean over the n(n − 1) ordered pairs of the training points D, L(A) that over pairs of new points,
L̃(A; D) that over pairs of a new point and one of D. Each function here is one lemma or theorem, for μ = 0. Where it
differs from the appendix, SLIPS says why; the report prints it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SLIPS = (
    "Theorem 1 has a factor 8 before the infimum in the appendix, and none in the text. The proof gives none, and none "
    "is used.",
    "L̄ is called the average number of labels of a point. Each lemma bounds single pairs, so it must be the largest "
    "⟨yᵢ, yⱼ⟩ of two points; B below.",
    "Capacity: the last step of the proof loses a square. Against A = 0 the minimiser has λ Tr(A) ≤ mean ⟨yᵢ, yⱼ⟩² ≤ "
    "B², so r = B²/λ, not L̄/λ.",
    "That step divides the squares by n(n − 1), while eq. 3 does not: λ here belongs to eq. 3 so divided, and is the "
    "printed one over n(n − 1).",
    "w² on |w| ≤ rR² is 2rR²-Lipschitz, not rR²: the Rademacher term has 2(rR² + B)·rR², not (rR² + 2B)·rR².",
    "The lemma of uniform convergence states a bound of L̂(Â) − L(Â), proves one of L(Â) − L̂(Â), and its stated "
    "constant, 6(rR² + L̄)², is not what its proof ends with. The theorem needs what is proved; so does the first line "
    "of the theorem's proof, which has the supremum the wrong way round.",
    "Several events of probability 1 − δ each are used together: here each has its part of δ, a half in Theorem 1, a "
    "quarter in the second theorem.",
    "The loss has λ Tr(A) in the appendix, but not in the text. The proof needs it, on both sides of the theorem.",
    "In the second theorem's proof L(A*) − L̂(A*; D) should be L(A*) − L̃(A*; D). As L̃(A*; D) depends on D, the theorem "
    "holds for each fixed A*, not for the infimum over them.",
    "The theorems are about the joint minimiser of eq. 3, which X1, learning Z and then V, does not compute, and about "
    "Ω made by a threshold τ, not by nearest neighbours. The remark that they hold for any A adds L(Â) − L(A*) to the "
    "right-hand side and so says nothing. What does hold for any A is used for X1: its measured ‖A‖ in place of r, and "
    "the difference L̂(A) − L̂(A*), if positive, added.",
    "The L1 term of eq. 3 is left out of the proofs because it only regularises. But a minimiser with it need not have "
    "a smaller sum of the rest; so μ = 0 here.",
)


@dataclass(frozen=True)
class Conditions:
    """What both theorems assume: the size of labels and features, and the probability of failure."""

    largest: float  # B, of ⟨y, y'⟩
    radius: float = 1.0  # R, of x
    doubt: float = 0.05  # δ

    def split_doubt(self, events: int) -> Conditions:
        """Return the conditions for each of several events that together fail with probability δ."""
        return Conditions(self.largest, self.radius, self.doubt / events)


def capacity(conditions: Conditions, l2: float) -> float:
    """Return r ≥ ‖Â‖ for the minimiser Â of eq. 3, divided by n(n − 1), with penalty λ."""
    return conditions.largest**2 / l2


def deviation_bound(conditions: Conditions, norm: float, n: int) -> float:
    """Return how far the mean loss for ‖A‖ ≤ norm, or its supremum, may be from its expectation over n points.

    McDiarmid's inequality: one point of n is in 2(n − 1) of the n(n − 1) pairs, and the loss of each pair lies between
    0 and (B + ‖A‖R²)² ≤ 2(B² + ‖A‖²R⁴). This is the lemma of point convergence; it also holds for L̃.
    """
    scale = norm * conditions.radius**2
    return 4 * (conditions.largest**2 + scale**2) * math.sqrt(math.log(1 / conditions.doubt) / (2 * n))


def uniform_bound(conditions: Conditions, norm: float, n: int) -> float:
    """Return a bound of L(A) − L̂(A; D), or of L̃(A; D) − L(A), for all ‖A‖ ≤ norm at once: uniform convergence.

    Twice the Rademacher average of the loss, which is 2(B + ‖A‖R²)-Lipschitz in xᵀA x', for n/2 independent pairs.
    """
    scale = norm * conditions.radius**2
    average = scale * math.sqrt(2 / n)  # of xᵀA x' over all ‖A‖ ≤ norm
    return 2 * 2 * (scale + conditions.largest) * average + deviation_bound(conditions, norm, n)


def uniform_bound_for_any(conditions: Conditions, norm: float, n: int) -> float:
    """Return the same bound for an A whose norm is known only after it was learned.

    The lemma is used for the radii B/R² · 2ᵏ at once, k = 0, 1, …, the k-th with δ/((k + 1)(k + 2)); these sum to δ.
    """
    first = conditions.largest / conditions.radius**2
    k = max(0, math.ceil(math.log2(norm / first))) if norm > 0 else 0
    return uniform_bound(conditions.split_doubt((k + 1) * (k + 2)), first * 2.0**k, n)


def excess_risk(conditions: Conditions, norm: float, other: float, n: int) -> float:
    """Return E-Risk(n) of Theorem 1: by how much L(Â) may exceed L(A*), for ‖Â‖ ≤ norm and ‖A*‖ = other."""
    each = conditions.split_doubt(2)
    return uniform_bound(each, norm, n) + deviation_bound(each, other, n)


def excess_risk_to_train(conditions: Conditions, norm: float, other: float, n: int) -> float:
    """Return by how much L̃(Â; D) may exceed L̃(A*; D), the second theorem: Theorem 1, and from L̃ to L and back."""
    each = conditions.split_doubt(4)
    return 2 * (uniform_bound(each, norm, n) + deviation_bound(each, other, n))


def excess_risk_for_any(conditions: Conditions, norm: float, other: float, n: int, *, to_train: bool = False) -> float:
    """Return either bound for a learned A of this norm; the caller adds L̂(A) − L̂(A*) if that is positive."""
    each = conditions.split_doubt(4 if to_train else 2)
    return (2 if to_train else 1) * (uniform_bound_for_any(each, norm, n) + deviation_bound(each, other, n))


def universal_constant(conditions: Conditions, norm: float, other: float) -> float:
    """Return the C of Theorem 1 in its printed form, C (B² + (r² + ‖A*‖²)R⁴) √(log(1/δ)/n)."""
    shape = conditions.largest**2 + (norm**2 + other**2) * conditions.radius**4
    return excess_risk(conditions, norm, other, 1) / (shape * math.sqrt(math.log(1 / conditions.doubt)))


def points_needed(at_one: float, loss: float) -> float:
    """Return the number of points at which a bound, given for n = 1 and falling with √n, reaches a loss."""
    return (at_one / loss) ** 2


def best_penalty(conditions: Conditions, trace: float, other: float, n: int) -> float:
    """Return the λ that makes λ Tr(A*) + E-Risk(n) smallest, with r = B²/λ: what the bound itself would choose."""
    from scipy.optimize import minimize_scalar

    def total(exponent: float) -> float:
        l2 = 10.0**exponent
        return math.log(l2 * trace + excess_risk(conditions, capacity(conditions, l2), other, n))

    return float(10.0 ** minimize_scalar(total, bounds=(-12, 12), method="bounded").x)
