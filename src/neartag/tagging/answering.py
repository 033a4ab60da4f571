"""Texts answered by a stored model: the labels of each with their scores, or one text's labels with the reasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from neartag.core.errors import ModelError, ParameterError
from neartag.linalg.validation import check_count
from neartag.storage.bundle import StoredModel
from neartag.tagging.calibration import Calibration, calibrate_scores
from neartag.tagging.explain import Reason, has_voters, rank_with_shares, reasons


class Tag(NamedTuple):
    """A label given to a text."""

    label: str
    score: float  # the probability that it is right, where the model is calibrated or refined, else the share
    share: float  # of the votes


def tag_texts(
    stored: StoredModel,
    calibration: Calibration | None,
    texts: Sequence[Any],
    k: int,
    threshold: str | float | None = None,
    *,
    n_jobs: int | None = -1,
    model: Any = None,
) -> list[list[Tag]]:
    """Return the labels of each text, best first, at most k of them; `TextTagger.predict` says what the rest is.

    `model` answers in place of the stored one, where only some labels are asked for.
    """
    if isinstance(texts, str):
        raise ParameterError("texts is a single string: give a list of texts")
    check_count("k", k)
    min_score = find_min_score(threshold, calibration)
    X = stored.features.transform(texts)  # (n, d)
    k = _possible_count(stored, k)
    ids, scores, shares = rank_with_shares(stored.model if model is None else model, X, k, n_jobs)  # (n, k) each
    scores = calibrate_scores(calibration, scores)
    names = stored.label_names or []
    return [
        [
            Tag(names[label], score, share)
            for label, score, share in zip(*each, strict=True)
            if label >= 0 and score >= min_score
        ]
        for each in zip(ids.tolist(), scores.tolist(), shares.tolist(), strict=True)
    ]


def explain_text(
    stored: StoredModel, calibration: Calibration | None, text: Any, k: int, voters: int, words: int
) -> list[Reason]:
    """Return the k best labels of a text with their reasons; ModelError where the model has no voters to name."""
    check_count("k", k)
    check_count("voters", voters)
    check_count("words", words, 0)
    if not has_voters(stored.model):
        kind = stored.model.kind
        raise ModelError(f"a model of kind {kind!r} has no voters to name: only X1's answers can be explained")
    if stored.features.accepts == "text" and not isinstance(text, str):
        raise ParameterError(f"explain takes one text, a string, not {text!r:.60}: call it once for each text")
    X = stored.features.transform([text])  # (1, d)
    return reasons(stored, calibration, text, X, _possible_count(stored, k), voters, words)


def _possible_count(stored: StoredModel, k: int) -> int:
    """Return k, or the number of labels where k is larger: arrays are made of this width."""
    return max(1, min(k, int(stored.model.n_labels)))


def find_min_score(threshold: str | float | None, calibration: Calibration | None) -> float:
    """Return the score that a threshold stands for; ParameterError where it stands for none."""
    if threshold is None:
        return 0.0
    if calibration is not None:
        return calibration.threshold(threshold)
    if isinstance(threshold, str):
        raise ParameterError(f"threshold {threshold!r} needs calibrated scores, and this model has none: give a number")
    if not 0 <= threshold <= 1:
        raise ParameterError(f"threshold must be a number from 0 to 1, not {threshold!r}")
    return float(threshold)
