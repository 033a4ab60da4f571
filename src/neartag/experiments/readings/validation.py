"""Choosing k, n̄ and λ of a reading: what is tried, and how each choice does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from neartag.experiments import datasets, methods, trials
from neartag.experiments.datasets import Parts
from neartag.experiments.readings.open_points import SHIPPED, Reading
from neartag.experiments.runner import Work
from neartag.methods import presets
from neartag.x1.resolve import DataFacts, resolve
from neartag.x1.settings import X1Settings


class Choice(NamedTuple):
    """What validation chose."""

    neighbours: int  # n̄
    penalty: float  # λ
    voters: int  # k


class Grid(NamedTuple):
    """What is tried: all combinations."""

    neighbours: Sequence[int]  # n̄
    penalties: Sequence[float]  # λ
    voters: Sequence[int]  # k


USUAL = Grid((50, 100, 200, 400), (1e-4, 1e-3, 1e-2, 0.1, 1.0, 3.0, 10.0, 30.0), (5, 10, 20, 40, 80))
WIDER = Grid((10, 25, *USUAL.neighbours, 800), (1e-6, 1e-5, *USUAL.penalties), (2, 3, 4, *USUAL.voters))
# Learners of a large set take minutes each: fewer of them than the ensemble has, and fewer values.
LARGE, LARGE_LEARNERS = Grid((50, 100, 200), (0.3, 1.0, 3.0, 10.0), (2, 5, 10, 20, 40)), 3
QUICK, QUICK_LEARNERS = Grid((50,), (1.0,), (10, 20)), 2  # on samples


def find_grid(reading: Reading, data: str, quick: bool) -> Grid:
    """Return what is tried for a reading on a data set."""
    grid = WIDER if reading.wider else LARGE if datasets.is_large(data) else USUAL
    name = presets.preset_name(data)
    if quick:
        grid = QUICK
    elif reading.as_for_one:
        one = {**methods.PAPER_DEFAULTS, **methods.PAPER_CHOICES.get(name, {"l2": 1.0})}
        grid = Grid((one["svp_neighbours"],), (one["l2"],), WIDER.voters)
    elif reading.shipped:
        grid = Grid((SHIPPED[name].neighbours,), USUAL.penalties, (SHIPPED[name].voters,))
    if reading.same_count:
        grid = grid._replace(neighbours=grid.voters)
    return grid if reading.fixed_penalty is None else grid._replace(penalties=(reading.fixed_penalty,))


class Trained(NamedTuple):
    """A choice, its precision on the test part, and the embedding of each learner."""

    choice: Choice
    scores: dict[str, float]
    embedded: list[trials.Embedded]


def measure_choices(
    parts: Parts,
    reading: Reading,
    settings: dict[str, Any],
    grid: Grid,
    threads: int,
    work: Work | None = None,
    learn: Callable[[X1Settings, int], trials.Embedded] | None = None,
) -> Iterator[Trained]:
    """Yield every choice; `learn` embeds the labels for the learner of a number, unless it is done here."""
    learn = learn or (
        lambda asked, number: trials.embed_labels(
            parts.X, parts.Y, asked, threads, itself=reading.itself, k_means=reading.k_means, learner=number
        )
    )
    facts = DataFacts.of(parts.X, parts.Y.shape[1])
    most = max(grid.voters)
    for count in grid.neighbours:
        given = {**settings, "svp_neighbours": count, "vote_neighbours": most, "l2": grid.penalties[0]}
        given = methods.resolve_clusters(given, parts.X.shape[0])
        asked = resolve(X1Settings.from_parameters(given), facts)
        embedded = [learn(asked, number) for number in range(int(asked.learners))]
        for penalty in grid.penalties:
            learners = [trials.regress(each, asked.replace(l2=penalty), threads) for each in embedded]
            answers = trials.Answers.find(learners, parts.X_test, parts.Y, asked, most, threads)
            for k in grid.voters:
                if not reading.same_count or k == count:
                    scores = trials.precisions(answers.top(k, reading.ties), parts.Y_test)
                    yield Trained(Choice(count, penalty, k), scores, embedded)
            if work is not None:
                work.advance()
