"""What was measured: one small JSON file per cell in a folder, and the means over seeds that tables show."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from neartag.core.errors import DataError
from neartag.data.files import open_to_replace, read_bytes
from neartag.experiments.plan import Cell, Plan


@dataclass(frozen=True)
class Record:
    """The outcome of a cell: its numbers, or why there are none, and how they were measured."""

    cell: Cell
    measured: dict[str, Any] = field(default_factory=dict)
    failed: str = ""  # the reason; "": it was measured
    bug: bool = False  # whether the failure is a bug in neartag
    settings: dict[str, Any] = field(default_factory=dict)  # of the method; the seed is the cell's
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    jobs: int = 1
    machine: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    date: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the record as `from_json` takes it."""
        return {**self.__dict__, "cell": self.cell.as_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Record:
        """Return the record that `as_json` described."""
        return cls(**{**value, "cell": Cell.from_json(value["cell"])})


class Summary(NamedTuple):
    """A number over several runs: its mean and its spread."""

    mean: float
    deviation: float | None  # standard deviation of a sample (n − 1); None for a single run
    runs: int


class Results(Mapping[Cell, dict]):
    """The measured numbers by cell; cells that failed are in `failed`."""

    def __init__(self, records: Mapping[Cell, Record], plan: Plan, outdated: int = 0) -> None:
        self.records = dict(records)
        self.plan = plan
        self.outdated = outdated  # how many were left out, because they were measured with other settings
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


def summarise(values: Sequence[float]) -> Summary:
    """Return the mean and standard deviation of a number over runs."""
    return Summary(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))


def record_file(folder: Path, cell: Cell) -> Path:
    """Return the file of a cell's record."""
    return folder / cell.experiment / f"{cell.key()}.json"


def write_record(folder: Path, record: Record) -> None:
    """Write a record to its file, whole or not at all."""
    path = record_file(folder, record.cell)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path.parent}: cannot be made: {error.strerror or error}") from error
    text = json.dumps(record.as_json(), indent=1, ensure_ascii=False, allow_nan=False, default=_to_python)
    with open_to_replace(path) as stream:
        stream.write(f"{text}\n".encode())


def read_records(folder: Path) -> dict[Cell, Record]:
    """Return all records in a folder by cell, in a fixed order."""
    records = {}
    for path in sorted(folder.glob("*/*.json")):
        try:
            record = Record.from_json(json.loads(read_bytes(path)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path}: is not a result that this version can read ({error}); delete it") from error
        if path.parent.name == record.cell.experiment:
            records[record.cell] = record
    return dict(sorted(records.items(), key=lambda entry: entry[0].seed))


def _to_python(value: Any) -> Any:
    """Return a number or an array of numpy as one of Python."""
    return value.tolist()
