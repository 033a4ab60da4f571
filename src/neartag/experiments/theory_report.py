"""What section 2's theory looks like beside measurements: tables, figures, and the slope of what was measured."""

from __future__ import annotations

import numpy as np

from neartag.experiments import bounds
from neartag.experiments.blocks import Block, Entry, Figure, Number, Series, Table, Text
from neartag.experiments.bounds import Conditions
from neartag.experiments.results import Results
from neartag.experiments.theory_draws import Draws, slope

NAMES = {"x1": "X1's A = VᵀV", "x1-joint": "the minimiser of eq. 3"}


def opening() -> list[str]:
    """Return what is measured, in words."""
    doubt = 100 * (1 - Conditions(1).doubt)
    return [
        "A pair of points has the loss [⟨y, y'⟩ ≥ τ] (⟨y, y'⟩ − xᵀA x')². L̂(A; D) is its mean over pairs of the n "
        "training points, L(A) that over pairs of held-out points, L̃(A; D) that over pairs of a held-out and a "
        "training point. Theorem 1 bounds by how much L(Â) may exceed L(A*) of any fixed A*, the second theorem the "
        f"same of L̃; both hold with probability {doubt:g}%, for independent points. A* is here what more points than "
        "the largest n give. Each number is a mean over draws of the training and held-out points, ± the standard "
        "deviation.",
        "Two matrices are measured: X1's own, learned as X1 learns, labels compared by inner products as in the paper; "
        "and the minimiser of eq. 3, of which the theorems speak, found by descent from X1's. For the latter r = B²/λ "
        "is known in advance. For X1 no such r is known, so its bounds take the measured ‖A‖, at the price of "
        "holding for all norms at once, and add L̂(A) − L̂(A*) where that is positive.",
    ]


def data_blocks(results: Results, title: str, data: str) -> list[Block]:
    """Return a data set's tables and figures."""
    draws = [Draws(results, method) for method in NAMES if method in results.names("method")]
    if not draws:
        return []
    tables = [_losses(each, title) for each in draws] + [_excess(each, title) for each in draws]
    return [_facts(draws, title), *tables, _slopes(draws, title), _gap_figure(draws, title, data)]


def _facts(draws: list[Draws], title: str) -> Text:
    cell = draws[0].cells[0]
    words = [
        f"B = {cell['largest']:g}, τ = {cell['threshold']}: {100 * cell['share']:.1f}% of the pairs count, and A = 0 "
        f"has the loss {cell['empty_loss']:.4f}. R = 1, feature rows being of unit length. A* is learned from "
        f"{cell['reference_points']:,} points."
    ]
    for each in draws:
        best = each.rows[-1][each.sizes[-1]]["reference"]
        known, norm = each.conditions, best["norm"]
        at_one = bounds.excess_risk_for_any(known, norm, norm, 1)
        if each.penalty:
            radius = bounds.capacity(known, each.penalty)
            at_one = bounds.excess_risk(known, radius, norm, 1)
            chosen = bounds.best_penalty(known, best["trace"], norm, each.sizes[-1])
            constant = bounds.universal_constant(known, radius, norm)
            words.append(
                f"Eq. 3 over n(n − 1) has λ = {each.penalty:g}, so r = B²/λ = {radius:.1e}, where A* has ‖A*‖ = "
                f"{norm:.1f} and trace {best['trace']:.1f}. In the printed form of Theorem 1 the constant C is "
                f"{constant:.1f}. The λ that makes the bound smallest at n = {each.sizes[-1]:,} is {chosen:.1e}: with "
                f"it λ Tr(A*) alone would be {chosen * best['trace']:.1e}, against a loss of {cell['empty_loss']:.4f} "
                "for A = 0."
            )
        needed = bounds.points_needed(at_one, cell["empty_loss"])
        words.append(
            f"Of {NAMES[each.method]} Theorem 1 says more than that A = 0 would do as well from n = {needed:.0e} on."
        )
    return Text(words, f"{title}: what the bounds suppose")


def _losses(draws: Draws, title: str) -> Table:
    gap, bound = draws.gap, draws.gap_bound()
    columns = ["n", "train L̂(Â)", "held-out L(Â)", "to train L̃(Â)", "‖Â‖", "gap L − L̂", "may be"]
    rows: list[list[Entry]] = []
    for place, n in enumerate(draws.sizes):
        losses = [_number(draws.loss(name)[:, place]) for name in ("train", "held_out", "to_train")]
        norm = _number(draws.loss("norm")[:, place], 1)
        rows.append([n, *losses, norm, _number(gap[:, place]), _beside(gap[:, place], bound[:, place])])
    note = (
        "What the gap may be is the lemma of uniform convergence, for the measured ‖Â‖; how many times the gap it is."
    )
    return Table(f"{title}: losses of {NAMES[draws.method]}", columns, rows, note)


def _excess(draws: Draws, title: str) -> Table:
    columns, pieces = ["n"], []
    for name, letter, words, to_train in (
        ("held_out", "L", "Theorem 1", False),
        ("to_train", "L̃", "second theorem", True),
    ):
        excess = draws.excess(name)
        columns += [f"{letter}(Â) − {letter}(A*)", f"{words}, measured ‖Â‖"]
        pieces.append((excess, draws.theorem(to_train=to_train)))
        if draws.penalty:
            columns.append(f"{words}, r = B²/λ")
            pieces.append((excess, draws.theorem_in_advance(to_train=to_train)))
    rows: list[list[Entry]] = []
    for place, n in enumerate(draws.sizes):
        row: list[Entry] = [n]
        shown: np.ndarray | None = None
        for excess, bound in pieces:
            if excess is not shown:
                row.append(_number(excess[:, place]))
            shown = excess
            row.append(_beside(excess[:, place], bound[:, place]))
        rows.append(row)
    note = "Beside each excess what a theorem allows it, and how many times the excess that is."
    if draws.penalty:
        note += " λ Tr(A) is part of the losses."
    return Table(f"{title}: excess risk of {NAMES[draws.method]}", columns, rows, note)


def _slopes(draws: list[Draws], title: str) -> Table:
    rows: list[list[Entry]] = []
    for each in draws:
        row: list[Entry] = [NAMES[each.method]]
        for values in (each.steady_gap, each.excess("held_out"), each.excess("to_train")):
            found = slope(each.sizes, values)
            if found is None:
                row.append(Number(None, note="not positive at every n"))
            else:
                error = found[1] if np.isfinite(found[1]) else None
                row.append(Number(found[0], error, len(each.cells), printed=-0.5))
        rows.append(row)
    columns = ["matrix", "gap L − L̂", "L(Â) − L(A*)", "L̃(Â) − L̃(A*)"]
    note = (
        "Slopes of the logarithm of the mean over draws against log n, ± the standard error from leaving out one draw "
        "at a time; −1/2 is the bounds'. From the gaps that part is taken which A = 0 has too, 0 on average: it only "
        "tells which draws have points of many labels. X1's penalty is the same whatever n, so that ‖Â‖ grows with n, "
        "and its gap need not fall as that of matrices of one size does. The excess is measured against an A* of "
        "finitely many points, which makes it fall faster near these."
    )
    return Table(f"{title}: how fast what is bounded falls with n", columns, rows, note)


def _gap_figure(draws: list[Draws], title: str, data: str) -> Figure:
    series = []
    for each in draws:
        count = len(each.cells)
        gap = each.steady_gap
        mean, error = gap.mean(axis=0), gap.std(axis=0, ddof=1) / count**0.5 if count > 1 else None
        found = slope(each.sizes, gap)
        label = f"{NAMES[each.method]}, gap" + (f", slope {found[0]:.2f}" if found else "")
        series.append(Series(label, each.sizes, mean, error))
        series.append(Series(f"{NAMES[each.method]}, bound", each.sizes, each.gap_bound().mean(axis=0), style="dashed"))
    first = draws[-1]
    start = float(first.gap[:, 0].mean())
    if start > 0:
        half = start * np.sqrt(first.sizes[0] / np.array(first.sizes))
        series.append(Series("slope −1/2", first.sizes, half, style="dashed"))
    return Figure(
        f"{title}: measured gap and its bound",
        f"theory-{data}",
        series,
        "training points n",
        "L(Â) − L̂(Â; D)",
        "Held-out less training loss, with its standard error, and what the lemma of uniform convergence allows it for "
        "the measured norm.",
        x_log=True,
        y_log=True,
    )


def _number(values: np.ndarray, digits: int = 4) -> Number:
    deviation = float(values.std(ddof=1)) if len(values) > 1 else None
    return Number(float(values.mean()), deviation, len(values), digits=digits)


def _beside(measured: np.ndarray, bound: np.ndarray) -> str:
    """Return a bound, and how many times the measured mean it is."""
    mean, most = float(measured.mean()), float(bound.mean())
    return f"{most:.1e} ({most / mean:.0e} ×)" if mean > 0 else f"{most:.1e}"
