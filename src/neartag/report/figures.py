"""All figures of a report as one value of JSON types; percentages are from 0 to 100, scores from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neartag.evaluation.annif import annif_figures
from neartag.evaluation.bands import BAND_EDGES, band_names, score_bands
from neartag.evaluation.confusions import find_confusions
from neartag.evaluation.hierarchy import hierarchical_figures
from neartag.evaluation.metrics import score_all
from neartag.evaluation.propensities import PROPENSITY_A, PROPENSITY_B
from neartag.evaluation.reliability import measure_reliability
from neartag.evaluation.thresholds import LabelTally, average_figures, figures, mark_given, tally_labels
from neartag.report.evaluation import ASKED, HERE, MODEL, Evaluation
from neartag.report.hierarchy import label_nodes

CUTS = (1, 3, 5)
MAX_CURVE_POINTS = 200
TOP = 5  # labels that `neartag tag` gives unless told


def measure(
    evaluation: Evaluation, ks: Sequence[int] = CUTS, *, a: float = PROPENSITY_A, b: float = PROPENSITY_B
) -> dict[str, Any]:
    """Return all figures but those of single labels and documents; a and b are constants of the propensities."""
    matches, given, counts = evaluation.matches, evaluation.given, evaluation.counts
    tally = tally_labels(matches, given)
    return {
        "metrics": score_all(matches, ks, counts.propensities(a, b)),
        "by_frequency": score_bands(matches, counts, ks, a=a, b=b),
        "depth": matches.labels.shape[1],
        "threshold": evaluation.threshold._asdict(),
        "at_threshold": _describe_cut(evaluation, given),
        "thresholds": compare_thresholds(evaluation),
        "curve": _curve(evaluation),
        "reliability": _reliability(evaluation),
        "by_frequency_at_threshold": _score_bands(tally, counts.frequency),
        "hierarchical": measure_hierarchy(evaluation),
        "annif": annif_figures(matches, evaluation.scores),
        "documents": _describe_documents(evaluation),
    }


def compare_thresholds(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return what several ways to cut give: the one asked for, the model's own, the best here, and the first five."""
    ways = [(ASKED, evaluation.threshold.value)] if evaluation.threshold.source == ASKED else []
    if evaluation.calibration is not None:
        ways.append((MODEL, evaluation.calibration.threshold("f1")))
    if evaluation.cuts is not None:
        ways.append((HERE, evaluation.cuts.best["threshold"]))
    rows = [
        {"name": name, "threshold": value, **_describe_cut(evaluation, _mark(evaluation, value))}
        for name, value in ways
    ]
    first = mark_given(evaluation.matches, evaluation.scores, k=TOP)
    return [*rows, {"name": f"top{TOP}", "threshold": None, **_describe_cut(evaluation, first)}]


def measure_hierarchy(evaluation: Evaluation) -> dict[str, Any] | None:
    """Return hierarchical figures at the threshold; None where the vocabulary has no broader terms."""
    names = [evaluation.label_name(label) for label in range(evaluation.matches.truth.shape[1])]
    nodes = label_nodes(names, evaluation.stored.vocabulary)
    return None if nodes is None else hierarchical_figures(evaluation.matches, evaluation.given, nodes)


def list_labels(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return the figures of each label that some point has or got, the most frequent here first."""
    tally = tally_labels(evaluation.matches, evaluation.given)
    other, times = find_confusions(evaluation.matches, evaluation.given)
    frequency = evaluation.counts.frequency
    seen = np.flatnonzero((tally.true > 0) | (tally.given > 0))
    order = seen[np.lexsort((seen, -frequency[seen], -tally.true[seen]))]
    precision, recall, f1 = (values.tolist() for values in figures(*tally))
    rows = []
    for label in order.tolist():
        true, given = int(tally.true[label]), int(tally.given[label])
        rows.append(
            {
                "label": evaluation.label_name(label),
                "training": int(frequency[label]),
                "count": true,
                "given": given,
                "right": int(tally.right[label]),
                "precision": precision[label] if given else None,
                "recall": recall[label] if true else None,
                "f1": f1[label],
                "confused_with": evaluation.label_name(int(other[label])) if times[label] else None,
                "confused": int(times[label]),
                "uri": evaluation.label_uri(label),
            }
        )
    return rows


def _mark(evaluation: Evaluation, threshold: float) -> np.ndarray:
    return mark_given(evaluation.matches, evaluation.scores, threshold)


def _describe_cut(evaluation: Evaluation, given: np.ndarray) -> dict[str, Any]:
    averages = average_figures(evaluation.matches, given)
    return {"labels_per_document": float(given.sum() / len(given)), **averages}


def _curve(evaluation: Evaluation) -> list[dict[str, float]]:
    if evaluation.cuts is None:
        return []
    few = evaluation.cuts.thin(MAX_CURVE_POINTS)
    return [few.get(place) for place in range(len(few.threshold))]


def _reliability(evaluation: Evaluation) -> dict[str, Any]:
    positive = mark_given(evaluation.matches, evaluation.scores)
    return measure_reliability(evaluation.scores[positive], evaluation.matches.hits[positive])


def _score_bands(tally: LabelTally, frequency: np.ndarray) -> dict[str, dict[str, float]]:
    """Return precision, recall and F1 over all pairs of each band of labels with similar frequency in training."""
    band_of = np.searchsorted(np.asarray(BAND_EDGES), frequency, side="left")  # (L,)
    sums = [np.bincount(band_of, weights=each, minlength=len(BAND_EDGES) + 1) for each in tally]
    rows = zip(*sums, *figures(*sums), strict=True)
    fields = ("true", "given", "right", "precision", "recall", "f1")
    described = [dict(zip(fields, map(float, row), strict=True)) for row in rows]
    return dict(zip(band_names(BAND_EDGES), described, strict=True))


def _describe_documents(evaluation: Evaluation) -> dict[str, Any]:
    """Return how many documents, of those with labels, have nothing right, all right, or no answer."""
    given, matches = evaluation.given, evaluation.matches
    labelled = matches.counts > 0
    n_given, n_right = given.sum(axis=1)[labelled], (given & matches.hits).sum(axis=1)[labelled]
    return {
        "labelled": int(labelled.sum()),
        "true_labels_per_document": float(matches.counts.mean()),
        "exact": int(((n_right == matches.counts[labelled]) & (n_given == n_right)).sum()),
        "none_right": int((n_right == 0).sum()),
        "none_given": int((n_given == 0).sum()),
    }
