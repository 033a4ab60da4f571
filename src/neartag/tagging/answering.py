"""Texts answered by a stored model: the labels of each with their scores, or one text's labels with the reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from neartag.core.errors import ModelError, ParameterError
from neartag.linalg.validation import check_count
from neartag.storage.bundle import StoredModel
from neartag.tagging.calibration import Calibration
from neartag.tagging.explain import Reason, has_voters, reasons
from neartag.tagging.ranking import finish_ranking, rank_rows


class Tag(NamedTuple):
    """A label given to a text."""

    label: str
    score: float  # the probability that it is right, where the model is calibrated or refined, else the share
    share: float  # of the votes


class Tags(list[Tag]):
    """The labels of a text, best first, and whether the model knows anything of the text.

    Where `found` is False, no word of the text is known, or no document is near it: there are no labels then, or, with
    a fallback, the most frequent ones, each with the score 0.
    """

    def __init__(self, tags: Iterable[Tag] = (), found: bool = True) -> None:
        super().__init__(tags)
        self.found = found

    def __getitem__(self, place: Any) -> Any:
        """Return a label; of a slice, such as the first k, the labels with `found`."""
        part = super().__getitem__(place)
        return Tags(part, self.found) if isinstance(place, slice) else part


def tag_texts(
    stored: StoredModel,
    calibration: Calibration | None,
    texts: Sequence[Any],
    k: int,
    threshold: str | float | None = None,
    *,
    n_jobs: int | None = -1,
    model: Any = None,
    fallback: bool = False,
) -> list[Tags]:
    """Return the labels of each text, best first, at most k of them; `TextTagger.predict` says what the rest is.

    `model` answers in place of the stored one, where only some labels are asked for.
    """
    if isinstance(texts, str):
        raise ParameterError("texts is a single string: give a list of texts")
    check_count("k", k)
    min_score = find_min_score(threshold, calibration)
    X = stored.features.transform(texts)  # (n, d)
    model = stored.model if model is None else model
    ranked = rank_rows(model, X, possible_count(stored, k), n_jobs)
    ranked = finish_ranking(ranked, calibration, min_score, label_frequency(stored, model) if fallback else None)
    names = stored.label_names or []
    return [
        Tags((Tag(names[label], *rest) for label, *rest in zip(*each, strict=True) if label >= 0), found)
        for *each, found in zip(*(array.tolist() for array in ranked), strict=True)
    ]


def measure_precision(answers: Sequence[Sequence[Tag]], labels: Sequence[Sequence[str]], k: int) -> float:
    """Return P@k of answers: the mean, over texts, of how many of k labels are right."""
    if len(answers) != len(labels):
        raise ParameterError(f"there are {len(labels)} lists of labels for {len(answers)} texts: give one for each")
    if not answers:
        raise ParameterError("there is no text to score on")
    right = sum(tag.label in wanted for tags, wanted in zip(answers, map(set, labels), strict=True) for tag in tags)
    return right / (k * len(answers))


def label_frequency(stored: StoredModel, model: Any = None) -> np.ndarray:
    """Return how many documents have each label (L,); 0 for those that the model may not answer with."""
    allowed = getattr(model, "allowed", None)
    return stored.model.frequency if allowed is None else np.where(allowed, stored.model.frequency, 0)


def explain_text(
    stored: StoredModel,
    calibration: Calibration | None,
    text: Any,
    k: int,
    voters: int,
    words: int,
    *,
    fallback: bool = False,
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
    return reasons(stored, calibration, text, X, possible_count(stored, k), voters, words, fallback=fallback)


def possible_count(stored: StoredModel, k: int) -> int:
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
