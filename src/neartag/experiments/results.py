"""What was measured: a small JSON file a cell in a folder, and the means over seeds that tables are made of."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from neartag.core.errors import DataError
from neartag.data.files import read_bytes, replacing
from neartag.experiments.plan import Cell, Plan


@dataclass(frozen=True)
class Record:
    """A cell's outcome: its numbers, or why there are none, and all that one must know to believe them."""

    cell: Cell
    measured: dict[str, Any] = field(default_factory=dict)
    failed: str = ""  # the reason; "" where it was measured
    bug: bool = False  # whether that is an error of ours
    settings: dict[str, Any] = field(default_factory=dict)  # of the method; the seed is the cell's
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    jobs: int = 1
    machine: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    date: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` takes."""
        return {**self.__dict__, "cell": self.cell.as_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Record:
        """Return the record that `as_json` described."""
        return cls(**{**value, "cell": Cell.from_json(value["cell"])})


class Summary(NamedTuple):
    """A number over several runs."""

    mean: float
    deviation: float | None  # of a sample (n − 1); None for a single run
    runs: int


class Results(Mapping[Cell, dict]):
    """Cells to their measured numbers; those that failed are beside them."""

    def __init__(self, records: Mapping[Cell, Record], plan: Plan, outdated: int = 0) -> None:
        self.records = dict(records)
        self.plan = plan
        self.outdated = outdated  # how many were left out, having been measured with other settings
        self._measured = {cell: record.measured for cell, record in self.records.items() if not record.failed}

    def __getitem__(self, cell: Cell) -> dict[str, Any]:
        return self._measured[cell]

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._measured)

    def __len__(self) -> int:
        return len(self._measured)

    @property
    def failed(self) -> dict[Cell, str]:
        """Cells that could not be measured, to the reasons."""
        return {cell: record.failed for cell, record in self.records.items() if record.failed}

    def select(
        self, experiment: str | None = None, data: str | None = None, method: str | None = None, **options: Any
    ) -> Results:
        """Return those cells that are so, failed ones too; an option not named may have any value."""

        def fits(cell: Cell) -> bool:
            wanted = ((experiment, cell.experiment), (data, cell.data), (method, cell.method))
            return all(want is None or want == has for want, has in wanted) and all(
                cell.option(name) == value for name, value in options.items()
            )

        return Results({cell: record for cell, record in self.records.items() if fits(cell)}, self.plan)

    def names(self, what: str) -> list[Any]:
        """Return the different values of `data`, `method`, `seed` or an option among measured cells, in their order."""
        fields = ("experiment", "data", "method", "seed")
        return list(dict.fromkeys(getattr(cell, what) if what in fields else cell.option(what) for cell in self))

    def numbers(self, name: str) -> list[float]:
        """Return a measured number of each cell that has it, in the order of the seeds."""
        cells = sorted(self, key=lambda cell: cell.seed)
        return [float(self[cell][name]) for cell in cells if self[cell].get(name) is not None]

    def summary(self, name: str) -> Summary | None:
        """Return a measured number's mean and standard deviation over the cells that have it; None without any."""
        found = [value for value in self.numbers(name) if math.isfinite(value)]
        if not found:
            return None
        return Summary(statistics.fmean(found), statistics.stdev(found) if len(found) > 1 else None, len(found))


def place(folder: Path, cell: Cell) -> Path:
    """Return the file that a cell's record is kept in."""
    return folder / cell.experiment / f"{cell.key()}.json"


def keep(folder: Path, record: Record) -> None:
    """Write a record to its file, whole or not at all."""
    path = place(folder, record.cell)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path.parent}: cannot be made: {error.strerror or error}") from error
    text = json.dumps(record.as_json(), indent=1, ensure_ascii=False, allow_nan=False, default=_plain)
    with replacing(path) as stream:
        stream.write(f"{text}\n".encode())


def kept(folder: Path) -> dict[Cell, Record]:
    """Return every record of the folder, by cell, in a fixed order."""
    found = {}
    for path in sorted(folder.glob("*/*.json")):
        try:
            record = Record.from_json(json.loads(read_bytes(path)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path}: is not a result that this version can read ({error}); delete it") from error
        if path.parent.name == record.cell.experiment:
            found[record.cell] = record
    return dict(sorted(found.items(), key=lambda entry: entry[0].seed))


def _plain(value: Any) -> Any:
    """Return a number or an array of numpy's as Python's."""
    return value.tolist()
