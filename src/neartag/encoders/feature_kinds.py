"""The kinds of text features that can be chosen by name, and what is told of a choice among them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from neartag.core.errors import ParameterError

AUTO = "auto"
WORDS, PAIRS, CHARACTERS, ALL = "words", "pairs", "characters", "all"
# Runs of 4 characters did as well on held-out texts as runs of 3 to 5, and give a row less than half of the entries.
# A pair or run that a single text has tells nothing about others.
KINDS: dict[str, dict[str, Any]] = {
    WORDS: {},
    PAIRS: {"word_pairs": True, "min_df": 2},
    CHARACTERS: {"char_ngrams": (4, 4), "min_df": 2},
    ALL: {"word_pairs": True, "char_ngrams": (4, 4), "min_df": 2},
}
# Parameters that a kind, or what depends on it, is made of: where one is set, nothing is left to choose.
CHOSEN_PARAMETERS = frozenset({"word_pairs", "char_ngrams", "min_df", "max_df", "hashing"})
TITLES = {
    WORDS: "words",
    PAIRS: "words and word pairs",
    CHARACTERS: "words and runs of characters",
    ALL: "words, word pairs and runs of characters",
}
# Why words were taken without a trial, and how that is told.
FEW_DOCUMENTS, NO_LABELS, NO_WORDS = "few documents", "no labels", "no words"
UNTRIED = {
    FEW_DOCUMENTS: "there are too few documents to try others",
    NO_LABELS: "the documents to learn from have no labels",
    NO_WORDS: "there is no word in the documents that were looked at",
}


def kind_parameters(kind: object) -> dict[str, Any]:
    """Return the parameters of TfidfFeatures for a kind; ParameterError for a name that is none."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise ParameterError(f"features={kind!r:.60}: must be {AUTO}, {', '.join(KINDS)}, or an encoder")
    return KINDS[kind]


@dataclass(frozen=True)
class FeatureChoice:
    """Which kind of features was chosen, and what the trial told.

    Attributes
    ----------
    kind : str
        One of KINDS.
    scores : dict
        For each kind that was tried, the mean of P@1, P@3 and P@5 on held-out documents, in percent. Empty: nothing
        was tried.
    learned_from, tested_on : int
        How many documents each kind learned from, and was tested on.
    work_share : float
        Entries of the rows that the trial learned from or was tested on, as a share of the entries of all rows with the
        richest kind.
    untried : str
        One of UNTRIED: why nothing was tried, where nothing was.
    """

    kind: str
    scores: dict[str, float] = field(default_factory=dict)
    learned_from: int = 0
    tested_on: int = 0
    work_share: float = 0.0
    untried: str = FEW_DOCUMENTS

    @property
    def gain(self) -> float | None:
        """Percentage points above words alone, on held-out documents; None without a trial."""
        return self.scores[self.kind] - self.scores[WORDS] if self.scores else None

    @property
    def message(self) -> str:
        """The choice in a sentence."""
        if self.gain is None:
            return f"{TITLES[self.kind]}, as {UNTRIED[self.untried]}"
        trial = f"{self.tested_on:,} held-out documents (P@1, P@3 and P@5, mean)"
        if self.kind == WORDS:
            return f"words; nothing else that was tried is clearly better on {trial}"
        return f"{TITLES[self.kind]}: {self.gain:+.1f} points over words alone on {trial}"

    def describe(self) -> dict[str, Any]:
        """Return the choice with its gain and in a sentence, fit for JSON."""
        return {**self.to_json(), "gain": None if self.gain is None else round(self.gain, 4), "message": self.message}

    def to_json(self) -> dict[str, Any]:
        """Return the choice, fit for JSON; without `untried` where it is the default, as earlier versions wrote it."""
        return {name: value for name, value in asdict(self).items() if (name, value) != ("untried", FEW_DOCUMENTS)}

    @classmethod
    def from_json(cls, value: Any) -> FeatureChoice:
        """Return the choice that `to_json` returned; ValueError where it cannot be one."""
        choice = cls(**value)
        scores = choice.scores
        numbers = [choice.learned_from, choice.tested_on, choice.work_share, *scores.values()]
        fine = all(isinstance(number, (int, float)) and math.isfinite(number) for number in numbers)
        fine = fine and choice.untried in UNTRIED
        if not fine or choice.kind not in KINDS or not scores.keys() <= KINDS.keys():
            raise ValueError("the choice of features cannot be read")
        if scores and not {choice.kind, WORDS} <= scores.keys():
            raise ValueError("the choice of features has no score for what was chosen")
        return choice


@dataclass(frozen=True)
class AutoFeatures:
    """In the place of an encoder of texts: the kind of features is to be chosen by a trial.

    Attributes
    ----------
    parameters : dict
        Parameters of TfidfFeatures that every kind gets, such as a language.
    """

    parameters: dict[str, Any] = field(default_factory=dict)
    accepts: str = "text"
