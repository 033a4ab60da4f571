"""The report of section 2's theory: bounds beside measurements, and the slopes of what was measured."""

from __future__ import annotations

import numpy as np

from neartag.experiments.report.blocks import Block, Entry, Figure, Number, Series, Table, Text
from neartag.experiments.results import Results
from neartag.experiments.theory import bounds
from neartag.experiments.theory.bounds import Conditions
from neartag.experiments.theory.draws import Draws, slope

MATRIX_NAMES = {"x1": "X1's A = VᵀV", "x1-joint": "the minimiser of eq. 3"}


def introduction() -> list[str]:
    """Say what is measured."""
    certainty = 100 * (1 - Conditions(1).doubt)
    return [
        "A pair of points has the loss [⟨y, y'⟩ ≥ τ] (⟨y, y'⟩ − xᵀA x')². L̂(A; D) is its mean over pairs of the n "
        "training points, L(A) that over pairs of held-out points, L̃(A; D) that over pairs of a held-out and a "
        "training point. Theorem 1 bounds by how much L(Â) may exceed L(A*) for any fixed A*; the second theorem does "
        f"the same for L̃. Both hold with probability {certainty:g}%, for independent points. Here A* is what more "
        "points than the largest n give. Each number is a mean over draws of the training and held-out points, ± the "
        "standard deviation.",
        "Two matrices are measured: X1's own, learned as neartag's variant learns (its λ and n̄, ten steps of SVP along "
        "the tangent), but with inner products of label vectors as in the paper, one cluster and 50 dimensions; and "
        "the minimiser of eq. 3, about which the theorems speak, found by descent from X1's. For the "
        "latter r = B²/λ is known in advance. For X1 no such r is known, so its bounds use the measured ‖A‖, must "
        "hold for all norms at once, and add L̂(A) − L̂(A*) if that is positive.",
    ]


def report_data(results: Results, title: str, data: str) -> list[Block]:
    """Return the tables and figures of a data set."""
    matrices = [Draws(results, method) for method in MATRIX_NAMES if method in results.names("method")]
    if not matrices:
        return []
    tables = [_losses_table(draws, title) for draws in matrices] + [_excess_table(draws, title) for draws in matrices]
    return [_assumptions(matrices, title), *tables, _slopes_table(matrices, title), _gap_figure(matrices, title, data)]


def _assumptions(matrices: list[Draws], title: str) -> Text:
    """Say which numbers the bounds assume, and from how many points on they say something."""
    cell = matrices[0].cells[0]
    paragraphs = [
        f"B = {cell['largest']:g}, τ = {cell['threshold']}: {100 * cell['share']:.1f}% of the pairs count, and A = 0 "
        f"has the loss {cell['empty_loss']:.4f}. R = 1, because feature rows have unit length. A* is learned from "
        f"{cell['reference_points']:,} points."
    ]
    for draws in matrices:
        best = draws.rows[-1][draws.sizes[-1]]["reference"]
        conditions, norm = draws.conditions, best["norm"]
        at_one = bounds.excess_risk_for_any(conditions, norm, norm, 1)
        if draws.penalty:
            radius = bounds.capacity(conditions, draws.penalty)
            at_one = bounds.excess_risk(conditions, radius, norm, 1)
            chosen = bounds.best_penalty(conditions, best["trace"], norm, draws.sizes[-1])
            constant = bounds.universal_constant(conditions, radius, norm)
            paragraphs.append(
                f"Eq. 3 over n(n − 1) has λ = {draws.penalty:g}, so r = B²/λ = {radius:.1e}, while A* has ‖A*‖ = "
                f"{norm:.1f} and trace {best['trace']:.1f}. In the printed form of Theorem 1 the constant C is "
                f"{constant:.1f}. The λ that makes the bound smallest at n = {draws.sizes[-1]:,} is {chosen:.1e}: with "
                f"it λ Tr(A*) alone would be {chosen * best['trace']:.1e}, compared with a loss of "
                f"{cell['empty_loss']:.4f} for A = 0."
            )
        needed = bounds.points_needed(at_one, cell["empty_loss"])
        paragraphs.append(
            f"About {MATRIX_NAMES[draws.method]} Theorem 1 says nothing below n = {needed:.0e}: up to there its bound "
            "is larger than the loss of A = 0."
        )
    return Text(paragraphs, f"{title}: what the bounds assume")


def _losses_table(draws: Draws, title: str) -> Table:
    gap, bound = draws.gap, draws.gap_bound()
    columns = ["n", "train L̂(Â)", "held-out L(Â)", "to train L̃(Â)", "‖Â‖", "gap L − L̂", "bound of the gap"]
    rows: list[list[Entry]] = []
    for place, n in enumerate(draws.sizes):
        losses = [_number(draws.loss(name)[:, place]) for name in ("train", "held_out", "to_train")]
        norm = _number(draws.loss("norm")[:, place], 1)
        rows.append([n, *losses, norm, _number(gap[:, place]), _describe_bound(gap[:, place], bound[:, place])])
    note = (
        "The bound of the gap is the lemma of uniform convergence, for the measured ‖Â‖; in brackets, how many times "
        "the gap it is."
    )
    return Table(f"{title}: losses of {MATRIX_NAMES[draws.method]}", columns, rows, note)


def _excess_table(draws: Draws, title: str) -> Table:
    columns, pairs = ["n"], []
    for name, letter, theorem, to_train in (
        ("held_out", "L", "Theorem 1", False),
        ("to_train", "L̃", "second theorem", True),
    ):
        excess = draws.excess(name)
        columns += [f"{letter}(Â) − {letter}(A*)", f"{theorem}, measured ‖Â‖"]
        pairs.append((excess, draws.excess_bound(to_train=to_train)))
        if draws.penalty:
            columns.append(f"{theorem}, r = B²/λ")
            pairs.append((excess, draws.excess_bound_in_advance(to_train=to_train)))
    rows: list[list[Entry]] = []
    for place, n in enumerate(draws.sizes):
        row: list[Entry] = [n]
        shown: np.ndarray | None = None
        for excess, bound in pairs:
            if excess is not shown:
                row.append(_number(excess[:, place]))
            shown = excess
            row.append(_describe_bound(excess[:, place], bound[:, place]))
        rows.append(row)
    note = "Beside each excess stands its bound by a theorem, and in brackets how many times the excess that is."
    if draws.penalty:
        note += " λ Tr(A) is part of the losses."
    return Table(f"{title}: excess risk of {MATRIX_NAMES[draws.method]}", columns, rows, note)


def _slopes_table(matrices: list[Draws], title: str) -> Table:
    rows: list[list[Entry]] = []
    for draws in matrices:
        row: list[Entry] = [MATRIX_NAMES[draws.method]]
        for values in (draws.steady_gap, draws.excess("held_out"), draws.excess("to_train")):
            fit = slope(draws.sizes, values)
            if fit is None:
                row.append(Number(None, note="not positive at every n"))
            else:
                error = fit[1] if np.isfinite(fit[1]) else None
                row.append(Number(fit[0], error, len(draws.cells), printed=-0.5))
        rows.append(row)
    columns = ["matrix", "gap L − L̂", "L(Â) − L(A*)", "L̃(Â) − L̃(A*)"]
    note = (
        "Slopes of the logarithm of the mean over draws against log n, ± the standard error from leaving out one draw "
        "at a time; −1/2 is that of the bounds. The part of the gap that A = 0 has too is taken out; it is 0 on "
        "average, and only tells which draws have points with many labels. X1's penalty is the same for all n, so ‖Â‖ "
        "grows with n, and its gap need not fall as that of matrices of one size does. The excess is measured against "
        "an A* of finitely many points, so it falls faster as n comes near them."
    )
    return Table(f"{title}: how fast what is bounded falls with n", columns, rows, note)


def _gap_figure(matrices: list[Draws], title: str, data: str) -> Figure:
    series = []
    for draws in matrices:
        count = len(draws.cells)
        gap = draws.steady_gap
        mean, error = gap.mean(axis=0), gap.std(axis=0, ddof=1) / count**0.5 if count > 1 else None
        fit = slope(draws.sizes, gap)
        name = MATRIX_NAMES[draws.method]
        label = f"{name}, gap" + (f", slope {fit[0]:.2f}" if fit else "")
        series.append(Series(label, draws.sizes, mean, error))
        series.append(Series(f"{name}, bound", draws.sizes, draws.gap_bound().mean(axis=0), style="dashed"))
    last = matrices[-1]
    start = float(last.gap[:, 0].mean())
    if start > 0:
        half = start * np.sqrt(last.sizes[0] / np.array(last.sizes))
        series.append(Series("slope −1/2", last.sizes, half, style="dashed"))
    return Figure(
        f"{title}: measured gap and its bound",
        f"theory-{data}",
        series,
        "training points n",
        "L(Â) − L̂(Â; D)",
        "Held-out loss minus training loss, with its standard error, and its bound by the lemma of uniform convergence "
        "for the measured norm.",
        x_log=True,
        y_log=True,
    )


def _number(values: np.ndarray, digits: int = 4) -> Number:
    deviation = float(values.std(ddof=1)) if len(values) > 1 else None
    return Number(float(values.mean()), deviation, len(values), digits=digits)


def _describe_bound(measured: np.ndarray, bound: np.ndarray) -> str:
    """Return a bound, and how many times the measured mean it is."""
    mean, limit = float(measured.mean()), float(bound.mean())
    return f"{limit:.1e} ({limit / mean:.0e} ×)" if mean > 0 else f"{limit:.1e}"
