"""The documents that a model got most wrong, with what it was led by."""

from __future__ import annotations

from typing import Any

import numpy as np

from neartag.evaluation.thresholds import figures
from neartag.report.evaluation import Evaluation
from neartag.tagging.explain import has_voters, nearest_voters

COUNT = 20
VOTERS = 3
WORDS = 8
MAX_CHARACTERS = 600  # of a text


def list_worst(evaluation: Evaluation, count: int = COUNT) -> list[dict[str, Any]]:
    """Return documents with labels, those with the lowest F1 first; of equal ones, the surest of a wrong label."""
    matches, given = evaluation.matches, evaluation.given
    f1 = figures(matches.counts, given.sum(axis=1), (given & matches.hits).sum(axis=1))[2]  # (n,)
    surest = np.where(given & ~matches.hits, evaluation.scores, 0.0).max(axis=1, initial=0.0)  # (n,)
    wrong = np.flatnonzero((matches.counts > 0) & (f1 < 100))
    order = wrong[np.lexsort((wrong, -surest[wrong], f1[wrong]))][:count]
    return [{**_describe(evaluation, int(row)), "f1": float(f1[row])} for row in order]


def _describe(evaluation: Evaluation, row: int) -> dict[str, Any]:
    matches, scores = evaluation.matches, evaluation.scores[row]
    ids, text = evaluation.ids, "" if evaluation.texts is None else evaluation.texts[row]
    true = matches.truth.indices[matches.truth.indptr[row] : matches.truth.indptr[row + 1]].tolist()
    given = evaluation.given[row]
    score_of = dict(zip(matches.labels[row].tolist(), scores.tolist(), strict=True))
    given_labels = set(matches.labels[row][given].tolist())
    return {
        "row": row,
        "id": str(row) if ids is None or ids[row] is None else ids[row],
        "text": shorten(text) or None,
        "true": [
            {
                "label": evaluation.label_name(label),
                "given": label in given_labels,
                "score": score_of.get(label),
                "training": int(evaluation.counts.frequency[label]),
            }
            for label in true
        ],
        "given": [
            {"label": evaluation.label_name(int(label)), "score": float(score), "right": bool(hit)}
            for label, score, hit in zip(
                matches.labels[row][given], scores[given], matches.hits[row][given], strict=True
            )
        ],
        "voters": _voters(evaluation, row, text),
    }


def _voters(evaluation: Evaluation, row: int, text: str) -> list[dict[str, Any]]:
    """Return the documents with most votes on the text; none where the model's method has no voters."""
    if not has_voters(evaluation.stored.model):
        return []
    words = WORDS if text else 0
    voters = nearest_voters(evaluation.stored, text, evaluation.X[row : row + 1], VOTERS, words)
    return [
        {
            "id": voter.id,
            "share": voter.share,
            "labels": voter.labels,
            "words": [word.word for word in voter.words],
            "text": shorten(voter.text or "", MAX_CHARACTERS // 3) or None,
        }
        for voter in voters
    ]


def shorten(text: str, most: int = MAX_CHARACTERS) -> str:
    """Return the beginning of a text as one line, cut at a blank where there is one."""
    line = " ".join(text[: 4 * most].split())
    if len(line) <= most:
        return line
    return line[:most].rsplit(" ", 1)[0] + " …"
