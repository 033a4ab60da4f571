"""Claims about sparse embeddings, by the penalty μ: time, size and overfitting (Section 2.1).

Over several splits a change by μ is taken split by split. One split has only totals over its test points, so that its
error is the unpaired one of two samples, which is larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from neartag.experiments import methods
from neartag.experiments.claims.findings import NOT_TESTED, Check, Claim, Finding, by_data, finding
from neartag.experiments.claims.leads import chance_on, is_ahead, split_ratio
from neartag.experiments.differences import Gain, estimate_gain
from neartag.experiments.results import Results

MIN_SAVED = 0.01  # of a size, which does not scatter: less is rounding
TIME_SCATTER = 1 / 3  # of a time, as it was measured
UNPAIRED = " (one split: the error is unpaired)"


def _lowers(quantity: str, words: str, least: float, scatters: bool = False) -> Check:
    """Return the check that some μ > 0 lowers a quantity by a least share, and no precision by more than chance.

    Of a quantity that scatters as much, less than that is too close to tell.
    """

    def check(results: Results) -> Iterator[Finding]:
        for data, own in by_data(results, "sparsity"):
            kept = [mu for mu in _penalties(own) if _keeps_precision(results, own, data, mu)]
            if not kept:
                text = f"every μ > 0 lowers a precision by more than chance{_describe_error(own)}"
                yield finding(data, words, text, False, NOT_TESTED)
                continue
            ratios = {mu: fmean(_ratios(own, quantity, mu)) for mu in kept}
            best = min(kept, key=lambda mu: ratios[mu])
            text = (
                f"at best {ratios[best]:.2f} of the {words} without μ, with μ = {best:g}; no precision falls by more "
                f"than chance with μ = {', '.join(f'{mu:g}' for mu in kept)}{_describe_error(own)}; “less” is read as "
                f"by {least:.0%} at least"
            )
            agrees: bool | None = ratios[best] <= 1 - least
            if (scatters and abs(1 - ratios[best]) < least) or (agrees and len(own) == 1):
                agrees = None  # of one split the error is so wide that losses of a point pass
            zeros = fmean(measured["zeros"][measured["mu"].index(max(kept))] for measured in own.values())
            cause = (
                f"neartag stores V·X as a sparse matrix from half zeros on, and it has {zeros:.0f}% with "
                f"μ = {max(kept):g}"
            )
            yield finding(data, words, text, agrees, cause)

    return check


def _less_overfitting(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "sparsity"):
        for name in methods.PRECISIONS:
            changes = {mu: _change(results, own, data, mu, name) for mu in _penalties(own)}
            best = max(changes, key=lambda mu: changes[mu].mean)
            agrees = is_ahead(changes[best], _chance(results, own, data, name))
            text = f"{changes[best]} points with the best μ > 0 for the test points, {best:g}{_describe_error(own)}"
            yield finding(data, name, text, agrees, f"possible cause, {NOT_TESTED}: λ keeps V from overfitting already")


def _penalties(own: Results) -> list[float]:
    """Return the μ > 0 that all splits have."""
    return [mu for mu in next(iter(own.values()))["mu"] if mu > 0 and all(mu in each["mu"] for each in own.values())]


def _keeps_precision(results: Results, own: Results, data: str, mu: float) -> bool:
    """Return whether no precision falls by more than chance with μ."""
    answers = [
        is_ahead(_change(results, own, data, mu, name), _chance(results, own, data, name))
        for name in methods.PRECISIONS
    ]
    return False not in answers


def _change(results: Results, own: Results, data: str, mu: float, name: str) -> Gain:
    """Return by how much a precision is higher with μ than without."""
    changes = [measured[name][measured["mu"].index(mu)] - _without(measured, name) for measured in own.values()]
    return estimate_gain(changes, split_ratio(results, "sparsity", data))


def _ratios(own: Results, quantity: str, mu: float) -> list[float]:
    return [measured[quantity][measured["mu"].index(mu)] / _without(measured, quantity) for measured in own.values()]


def _without(measured: dict, name: str) -> float:
    """Return a number without the penalty."""
    return float(measured[name][measured["mu"].index(0.0)])


def _chance(results: Results, own: Results, data: str, name: str) -> float:
    return chance_on(results, data, fmean(_without(measured, name) for measured in own.values()))


def _describe_error(own: Results) -> str:
    return UNPAIRED if len(own) == 1 else f" ({len(own)} splits)"


CLAIMS = (
    Claim(
        "Sparse embeddings take less time to predict",
        "Section 2.1",
        _lowers("predict_ms", "time", TIME_SCATTER, scatters=True),
    ),
    Claim("Sparse embeddings make the model smaller", "Section 2.1", _lowers("bytes", "size", MIN_SAVED)),
    Claim("Sparse embeddings avoid overfitting", "Section 2.1", _less_overfitting),
)
