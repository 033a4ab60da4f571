"""What `neartag compare` shows of its report: a table, intervals, bars, settings, and a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from neartag.cli import output
from neartag.cli.options import in_words
from neartag.core.method import Method
from neartag.evaluation import plots

COSTS = {
    "train_seconds": "train s",
    "train_cpu_seconds": "CPU s",
    "predict_ms_per_point": "ms/point",
    "model_bytes": "model",
}
EMPTY_CELL = "–"


def show(report: dict[str, Any]) -> None:
    """Print the table, the intervals and the bars."""
    train, cuts, rows = report["train"], report["k"], report["methods"]
    title = (
        f"{report['data']}: {report['test']['points']:,} points, learned from {train['points']:,} others "
        f"({train['features']:,} features, {train['labels']:,} labels)"
    )
    good = [*(f"P@{k}" for k in cuts), f"PSP@{cuts[0]}"]
    output.show_words(title, "bold")
    cells, marked = table(rows, good)
    output.show_table(["method", *good, *COSTS.values()], cells, marked=marked)
    failed = [(row["method"], [row["error"]]) for row in rows if "error" in row]
    if failed:
        print()
        output.show_list(failed, title="Not trained")
    if report["differences"]:
        print()
        show_differences(report)
    print()
    bars = [(row["method"], row["metrics"][good[0]]) for row in rows if "error" not in row]
    output.show_bars(bars, title=f"{good[0]}, percent")
    print()
    choice = [("features", [report["feature_choice"]["message"]])] if "feature_choice" in report else []
    choice += [("encoder", [f"{each['name']}, {each['dim']} dimensions"]) for each in report.get("encoders", [])]
    output.show_list([*choice, *((row["method"], [_in_words(row)]) for row in rows)], title="Settings")


def table(rows: Sequence[dict[str, Any]], good: Sequence[str]) -> tuple[list[list[str]], set[tuple[int, int]]]:
    """Return the cells, and where the best of each column stand: the highest scores, the lowest costs."""
    cells = [[row["method"], *[EMPTY_CELL] * (len(good) + len(COSTS))] for row in rows]
    marked = set()
    trained = [place for place, row in enumerate(rows) if "error" not in row]
    columns: list[tuple[list[float], Any]] = [([rows[at]["metrics"][name] for at in trained], max) for name in good]
    columns += [([rows[at][name] for at in trained], min) for name in COSTS]
    for column, (values, best) in enumerate(columns, start=1):
        words = [_cell(value, column - 1 - len(good)) for value in values]
        top = words[values.index(best(values))]
        for at, word in zip(trained, words, strict=True):
            cells[at][column] = word
            if word == top and len(trained) > 1:  # what looks the same is equally good
                marked.add((at, column))
    return cells, marked


def show_differences(report: dict[str, Any]) -> None:
    """Print by how much the methods differ from the first, and whether that may be chance."""
    rows = [
        [each["method"], *(_format_signed(each[name]) for name in ("difference", "low", "high")), _verdict(each)]
        for each in report["differences"]
    ]
    output.show_words(f"{report['metric']} beside {report['against']}'s: 95% intervals of a paired bootstrap", "bold")
    output.show_table(["method", "difference", "from", "to", "so it is"], rows, words=(0, 4))


def draw(report: dict[str, Any], methods: Mapping[str, Method], target: str) -> None:
    """Write a figure of accuracy against training time and against model size; `methods` are those of the report."""
    metric = report["metric"]

    def panel(title: str, cost: str, cost_of: Callable[[Method, dict[str, Any]], float | None]) -> plots.Panel:
        marks = [
            plots.Mark(method.title, cost_of(method, row), row["metrics"][metric], method.colour, method.highlight)
            for row in report["methods"]
            if "error" not in row
            for method in (methods[row["method"]],)
        ]
        return plots.Panel(marks, title, cost, f"{metric}, percent")

    def training_seconds(method: Method, row: dict[str, Any]) -> float | None:
        return max(row["train_seconds"], 1e-3) if method.learns else None

    panels = [
        panel(report["data"], "training, seconds", training_seconds),
        panel("", "model, MB", lambda _, row: row["model_bytes"] / 1e6),
    ]
    plots.draw(panels, target)


def _in_words(row: dict[str, Any]) -> str:
    chosen = {name: value for name, value in row["settings"].items() if name not in row["set"]}
    words = [f"preset {row['preset']}: {_join(chosen) or 'the defaults'}"] if row["preset"] else []
    words += [f"set: {_join(row['set'])}"] if row["set"] else []
    return "; ".join(words) or "the defaults"


def _join(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {in_words(value)}" for name, value in settings.items())


def _cell(value: float, cost: int) -> str:
    """Return a score, or the cost of that place, in as few digits as tell it."""
    if cost < 0:
        return f"{value:.2f}"
    if list(COSTS)[cost] == "model_bytes":
        return output.human_bytes(value)
    digits = sum(value < limit for limit in (0.1, 10, 100))
    return f"{value:,.{digits}f}"


def _format_signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _verdict(difference: dict[str, Any]) -> str:
    if difference["low"] > 0:
        return "better"
    return "worse" if difference["high"] < 0 else "not told apart"
