"""The results of peers.py --tuned as Markdown: what was chosen, at what cost, and how good it is."""

from __future__ import annotations

from pathlib import Path

import pages
from peer_table import figure, notes


def table(rows: list[dict]) -> str:
    """The tuned methods: figures on the test part, and the settings that stand behind them."""
    lines = [
        "| data | method | P@1 / 3 / 5 | PSP@1 / 5 | settings chosen | trainings tried | choosing, × default "
        "| train wall s (CPU) | predict ms a point |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if not row["median"]:
            continue
        median, tuning = row["median"], row["tuning"]
        cells = [
            row["data"],
            row["method"],
            " / ".join(f"{median[key]:.2f}" for key in ("P@1", "P@3", "P@5")),
            " / ".join(f"{median[key]:.2f}" for key in ("PSP@1", "PSP@5")),
            words(tuning["settings"]),
            str(len(tuning["tried"])) if "tried" in tuning else "preset",
            times(tuning),
            f"{figure(median['train wall s'])} ({figure(median['train CPU s'])})",
            figure(median["batch ms"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def words(settings: dict) -> str:
    """Settings as code, "the defaults" where nothing is set."""
    told = ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in settings.items()
    )
    return f"`{told}`" if told else "the defaults"


def times(tuning: dict) -> str:
    """How many times the CPU time of the default's training the choice took."""
    default = tuning.get("default CPU s")
    return f"{figure(tuning['used CPU s'] / default)}×" if default else "–"


def write_tuned_page(result: dict, page: Path) -> None:
    """Put the table, its notes and the machine between the page's marks."""
    rows = result["rows"]
    tools = ", ".join(f"{package} {number}" for package, number in result["versions"].items())
    lines = [table(rows), "", *(f"- {note}" for note in notes(rows)), ""]
    lines.append(f"Measured on: {result['machine']}; {result['threads']} threads; {tools}.")
    pages.insert("peers-tuned", "\n".join(lines), page)
