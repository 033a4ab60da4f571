"""What `neartag train` says in the end: what was trained, what it cost, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neartag.cli import output
from neartag.cli.urls import name_of
from neartag.methods import registry

if TYPE_CHECKING:
    import numpy as np


def suggest_next(model: str, takes_texts: bool, *, quiet: bool) -> None:
    """Print what to do with a model that was just saved."""
    if name_of(model) != model:  # a URL, which only some commands take
        output.suggest(f"neartag predict {name_of(model)} DATA", "gives labels", quiet=quiet)
    elif takes_texts:
        output.suggest(f'neartag tag {model} "a text"', "gives its labels", quiet=quiet)
    else:
        output.suggest(f"neartag evaluate {model} DATA", "tells how good it is", quiet=quiet)


def votes_were_better(model: Any) -> bool:
    """Say whether a model was to have rankers, and has none though there were points enough to fit them."""
    from neartag.x1.resolve import MIN_POINTS_TO_RERANK

    asked = bool(model.parameters.get("refine"))
    return asked and model.reranker is None and model.n_points >= MIN_POINTS_TO_RERANK


def count_mapped_bytes(dataset: Any) -> int:
    """Return how many bytes of the training data are in mapped files instead of memory."""
    from neartag.data.mapped import mapped_bytes

    return mapped_bytes(*_arrays(dataset.X), *_arrays(dataset.Y))


def _arrays(rows: Any) -> list[np.ndarray]:
    """Return the large arrays of rows: sparse, dense, coded, or words with vectors."""
    from neartag.linalg.coded_rows import CodedRows
    from neartag.linalg.hybrid_rows import HybridRows

    if isinstance(rows, HybridRows):
        return [*_arrays(rows.words), *_arrays(rows.vectors)]
    if isinstance(rows, CodedRows):
        return [rows.codes, rows.scales]
    return [rows.indices, rows.data] if hasattr(rows, "indices") else [rows]


def show_report(report: dict[str, Any], as_json: bool, things: str, *, quiet: bool) -> None:
    """Print what was trained and what it cost; JSON, which was asked for, also where it is to be quiet."""
    if as_json:
        output.show_json(report)
        return
    if quiet:
        return
    peak, mapped = report["peak_rss_bytes"], report["mapped_bytes"]
    title = registry.get(report["method"]).title
    output.show_pairs(
        [
            ("model", f"{report['model']}, {title}, {output.human_bytes(report['model_bytes'])}"),
            (f"{things} n", f"{report['points']:,}"),
            ("features d", f"{report['features']:,}"),
            ("labels L", f"{report['labels']:,}"),
            *(("encoder", f"{each['name']}, {each['dim']} dimensions") for each in report.get("encoders", [])),
            ("training time", f"{report['seconds']:.2f} s"),
            ("training CPU", f"{report['cpu_seconds']:.2f} s"),
            ("peak memory", "unknown" if peak is None else output.human_bytes(peak)),
            *([("data in files", f"{output.human_bytes(mapped)}, mapped")] if mapped else []),
        ]
    )
