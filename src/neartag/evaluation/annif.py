"""The figures that `annif eval` prints, by its names and from 0 to 1, for answers that neartag gave.

Annif (https://annif.org) is a tool for subject indexing that libraries use. Where its definitions differ from
`neartag.metrics`: Precision@k divides by the labels given, which may be fewer than k; a document without true labels
has an NDCG of 1; averages over subjects take all labels of the vocabulary.
"""

from __future__ import annotations

import numpy as np

from neartag.evaluation.matches import Matches, divide
from neartag.evaluation.thresholds import average_figures, figures, mark_given, tally_labels

LIMIT = 10  # labels for each document, as `annif eval` has it unless told
_AVERAGES = {"documents": "doc avg", "macro_all": "subj avg", "weighted": "weighted subj avg", "micro": "microavg"}
_FIGURES = {"precision": "Precision", "recall": "Recall", "f1": "F1 score"}


def annif_figures(matches: Matches, scores: np.ndarray, threshold: float = 0.0, limit: int = LIMIT) -> dict[str, float]:
    """Return Annif's figures for the best `limit` answers of each document that reach the threshold."""
    given = mark_given(matches, scores, threshold, limit)
    averages = average_figures(matches, given)
    tally = tally_labels(matches, given)
    weights = tally.true / max(1, tally.true.sum())
    weighted = (float(values @ weights) for values in figures(*tally))
    averages["weighted"] = dict(zip(_FIGURES, weighted, strict=True))
    named = {
        f"{title} ({about})": averages[average][figure] / 100
        for average, about in _AVERAGES.items()
        for figure, title in _FIGURES.items()
    }
    named["F1@5"] = _document_average(matches, given, 5, "f1")
    named |= {"NDCG" if k is None else f"NDCG@{k}": _ndcg(matches, given, k) for k in (None, 5, 10)}
    named |= {f"Precision@{k}": _document_average(matches, given, k, "precision") for k in (1, 3, 5)}
    right = int(tally.right.sum())
    named["True positives"] = right
    named["False positives"] = int(tally.given.sum()) - right
    named["False negatives"] = int(tally.true.sum()) - right
    return {**named, "Documents evaluated": len(matches.labels)}


def _document_average(matches: Matches, given: np.ndarray, k: int, figure: str) -> float:
    first = given & (np.arange(given.shape[1]) < k)
    return average_figures(matches, first)["documents"][figure] / 100


def _ndcg(matches: Matches, given: np.ndarray, k: int | None) -> float:
    """Return the mean nDCG of documents over their first k answers, all where k is None."""
    columns = given.shape[1] if k is None else min(k, given.shape[1])
    discount = 1 / np.log2(np.arange(2, columns + 2))  # (columns,)
    reached = (given & matches.hits)[:, :columns] @ discount  # (n,)
    most = int(matches.counts.max(initial=0)) if k is None else k
    ideal = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, most + 2)))])[np.minimum(matches.counts, most)]
    return float(np.where(matches.counts > 0, divide(reached, ideal), 1.0).mean())
