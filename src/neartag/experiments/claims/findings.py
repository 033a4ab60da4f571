"""What a check of a claim finds: an answer for each precision, or for a number of another kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from neartag.experiments import datasets
from neartag.experiments.results import Results, Summary

Answer = Literal["yes", "no", "too close to tell", "not applicable here"]
YES: Answer = "yes"
NO: Answer = "no"
CLOSE: Answer = "too close to tell"
NOT_HERE: Answer = "not applicable here"
ANSWERS: tuple[Answer, ...] = (YES, NO, CLOSE, NOT_HERE)


class Finding(NamedTuple):
    """What was measured of a claim on one data set, by one measure."""

    where: str  # the data set, for people
    measure: str  # such as P@1; "" where there is only one
    measured: str
    answer: Answer
    cause: str = ""  # of a disagreement, with the evidence


class Claim(NamedTuple):
    """Something that the paper claims, where it does so, and how it is checked."""

    statement: str
    place: str  # in the paper
    check: Callable[[Results], Iterator[Finding]]


def by_data(results: Results, experiment: str) -> Iterator[tuple[str, Results]]:
    """Yield the data sets of an experiment, those with real content, and their results."""
    own = results.select(experiment)
    real = [name for name in own.names("data") if not datasets.synthetic_sets([name])]
    for data in datasets.in_table_order(real):
        yield data, own.select(data=data)


def answer_of(agrees: bool | None) -> Answer:
    """Return the answer for a comparison; None: it is too close to tell."""
    return CLOSE if agrees is None else YES if agrees else NO


def is_ahead(lead: Summary, one_run: float = 0.0) -> bool | None:
    """Return whether a difference is positive; None if it is no larger than twice its standard error.

    A single run does not show its error: `one_run` stands for it.
    """
    least = one_run if lead.deviation is None else 2 * lead.deviation / lead.runs**0.5
    if lead.mean == 0 or abs(lead.mean) <= least:
        return None
    return lead.mean > 0


def chance(level: float, points: float) -> float:
    """Return twice the standard error of a difference of two percentages near a level, each over so many points.

    It is that of two samples, more than of the same points twice: a larger difference is no chance. 0: not known.
    """
    share = min(max(level / 100, 0.0), 1.0)
    return 200 * (2 * share * (1 - share) / points) ** 0.5 if points else 0.0


def all_ahead(answers: Iterable[bool | None]) -> bool | None:
    """Return whether all are; None if some are too close and none is not."""
    given = list(answers)
    return False if False in given else None if None in given else True


def finding(data: str, name: str, text: str, agrees: bool | None, cause: str) -> Finding:
    """Return the finding of a comparison on a data set; the cause is told of a disagreement only."""
    answer = answer_of(agrees)
    return Finding(datasets.title(data), name, text, answer, cause if answer == NO else "")


def not_here(where: str, measured: str, reason: str, measure: str = "") -> Finding:
    """Return the finding of a claim that cannot be judged by what was measured."""
    return Finding(where, measure, f"{measured}; {reason}" if measured else reason, NOT_HERE)
