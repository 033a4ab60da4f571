"""What a check of a claim finds: an answer for each precision, or for a number of another kind.

One rule says where a claim can be judged: a claim that names a data set, or large sets, is not applicable on others. A
set that stands for one of the paper's is another set. Claims about every small set are judged on it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from neartag.experiments import datasets
from neartag.experiments.results import Results

Answer = Literal["yes", "no", "too close to tell", "not applicable here"]
YES: Answer = "yes"
NO: Answer = "no"
CLOSE: Answer = "too close to tell"
NOT_HERE: Answer = "not applicable here"
ANSWERS: tuple[Answer, ...] = (YES, NO, CLOSE, NOT_HERE)
NOT_TESTED = "not tested"  # a cause, of which nothing is known


class Finding(NamedTuple):
    """What was measured of a claim on one data set, by one measure."""

    where: str  # the data set, for people
    measure: str  # such as P@1; "" where there is only one
    measured: str
    answer: Answer
    cause: str = ""  # of a disagreement, with the evidence


Check = Callable[[Results], Iterator[Finding]]


class Claim(NamedTuple):
    """Something that the paper claims, where it does so, and how it is checked."""

    statement: str
    place: str  # in the paper
    check: Check


def by_data(results: Results, experiment: str) -> Iterator[tuple[str, Results]]:
    """Yield the data sets of an experiment, those with real content, and their results."""
    own = results.select(experiment)
    real = [name for name in own.names("data") if not datasets.synthetic_sets([name])]
    for data in datasets.in_table_order(real):
        yield data, own.select(data=data)


def answer_of(agrees: bool | None) -> Answer:
    """Return the answer for a comparison; None: it is too close to tell."""
    return CLOSE if agrees is None else YES if agrees else NO


def finding(data: str, name: str, text: str, agrees: bool | None, cause: str) -> Finding:
    """Return the finding of a comparison on a data set; the cause is told of a disagreement only."""
    answer = answer_of(agrees)
    return Finding(datasets.title(data), name, text, answer, cause if answer == NO else "")


def not_here(where: str, measured: str, reason: str, measure: str = "") -> Finding:
    """Return the finding of a claim that cannot be judged by what was measured."""
    return Finding(where, measure, f"{measured}; {reason}" if measured else reason, NOT_HERE)


def judge_large(
    data: str, name: str, text: str, agrees: bool | None, cause: str, claimed: str = "claimed for large sets"
) -> Finding:
    """Return the finding of a claim about large sets."""
    if not datasets.is_large(data):
        return not_here(datasets.title(data), text, claimed, name)
    return finding(data, name, text, agrees, cause)


def judge_named(paper: str, data: str, name: str, text: str, agrees: bool | None, cause: str) -> Finding:
    """Return the finding of a claim that names one of the paper's data sets."""
    if datasets.paper_name(data) != paper or data in datasets.SUBSTITUTES:
        return not_here(datasets.title(data), text, f"claimed for {paper}", name)
    return finding(data, name, text, agrees, cause)


def or_missing(found: Iterator[Finding], paper: str, printed: str, name: str = "") -> Iterator[Finding]:
    """Yield what was found; if nothing was, that the paper's data set is not here, and what the paper prints."""
    first = next(found, None)
    if first is None:
        yield not_here(paper, f"printed: {printed}", "the data set is not here", name)
        return
    yield first
    yield from found
