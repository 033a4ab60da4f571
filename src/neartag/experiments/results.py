"""What was measured: the record of each cell, and the means over seeds that tables show."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from neartag.experiments.plan import Cell, Plan


@dataclass(frozen=True)
class Record:
    """The outcome of a cell: its numbers, or why there are none, and how they were measured."""

    cell: Cell
    measured: dict[str, Any] = field(default_factory=dict)
    failed: str = ""  # the reason; "": it was measured
    bug: bool = False  # whether the failure is a bug in neartag
    settings: dict[str, Any] = field(default_factory=dict)  # of the method; the seed is the cell's
    behaviour: str = ""  # digest of what the method answered on fixed data when this was measured; "": none was taken
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    jobs: int = 1
    machine: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    date: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the record as `from_json` takes it; what is empty is left out."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "cell"}
        return {**self.cell.as_json(), **{name: value for name, value in own.items() if value or name == "measured"}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Record:
        """Return the record that `as_json` described."""
        own = {each.name for each in fields(cls)}
        return cls(Cell.from_json(value), **{name: each for name, each in value.items() if name in own})


class Summary(NamedTuple):
    """A number over several runs: its mean and its spread."""

    mean: float
    deviation: float | None  # standard deviation of a sample (n − 1); None for a single run
    runs: int


class Results(Mapping[Cell, dict]):
    """The measured numbers by cell; cells that failed are in `failed`."""

    def __init__(
        self, records: Mapping[Cell, Record], plan: Plan, outdated: int = 0, stale: Collection[Cell] = ()
    ) -> None:
        self.records = dict(records)
        self.plan = plan
        self.outdated = outdated  # how many were left out, because they were measured with other settings
        self.stale = frozenset(stale)  # cells whose method answered otherwise then, or of which that is not known
        self._measured = {cell: record.measured for cell, record in self.records.items() if not record.failed}

    def __getitem__(self, cell: Cell) -> dict[str, Any]:
        return self._measured[cell]

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._measured)

    def __len__(self) -> int:
        return len(self._measured)

    @property
    def failed(self) -> dict[Cell, str]:
        """The reasons by cell, of cells that could not be measured."""
        return {cell: record.failed for cell, record in self.records.items() if record.failed}

    def select(
        self, experiment: str | None = None, data: str | None = None, method: str | None = None, **options: Any
    ) -> Results:
        """Return the cells with these values, failed ones too; an option that is not named may have any value."""

        def fits(cell: Cell) -> bool:
            pairs = ((experiment, cell.experiment), (data, cell.data), (method, cell.method))
            return all(wanted is None or wanted == actual for wanted, actual in pairs) and all(
                cell.option(name) == value for name, value in options.items()
            )

        return Results({cell: record for cell, record in self.records.items() if fits(cell)}, self.plan)

    def names(self, what: str) -> list[Any]:
        """Return the different values of a field or an option among the measured cells, in their order."""
        fields = ("experiment", "data", "method", "seed")
        return list(dict.fromkeys(getattr(cell, what) if what in fields else cell.option(what) for cell in self))

    def numbers(self, name: str) -> list[float]:
        """Return a measured number of each cell that has it, in the order of the seeds."""
        cells = sorted(self, key=lambda cell: cell.seed)
        return [float(self[cell][name]) for cell in cells if self[cell].get(name) is not None]

    def summary(self, name: str) -> Summary | None:
        """Return the mean and standard deviation of a number over the cells that have it; None if none has."""
        values = [value for value in self.numbers(name) if math.isfinite(value)]
        return summarise(values) if values else None


def warn_of_machines(results: Results) -> str:
    """Say that times are not of one machine, for the note of a table; "" if they are."""
    machines = {record.machine for record in results.records.values()}
    if len(machines) < 2:
        return ""
    return " Times were measured on different machines (under “Details”): do not compare them closely."


def summarise(values: Sequence[float]) -> Summary:
    """Return the mean and standard deviation of a number over runs."""
    return Summary(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))
