"""Parts: what tasks write and read. Named arrays, in memory; `folder.py` keeps them in files."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from neartag.core import memory
from neartag.core.mapped_files import allow_open_files
from neartag.core.threads import single_threaded_blas
from neartag.linalg.coded_rows import CodedRows
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.large_arrays import in_files
from neartag.linalg.large_csr import from_arrays
from neartag.linalg.rows import Rows
from neartag.work.task import Task
from neartag.work.times import Stopwatch, TaskTime

Arrays = dict[str, np.ndarray]


class Parts(Protocol):
    """Where parts are."""

    @property
    def scratch(self) -> Path | None:
        """The folder for arrays that are too large for memory, on their way into a part; None: there is none."""

    def get(self, name: str) -> Arrays:
        """Return a part."""

    def put(self, name: str, arrays: Arrays) -> None:
        """Keep a part."""

    def is_whole(self, name: str) -> bool:
        """Say whether a part is there, as it was written."""

    def discard(self, name: str) -> None:
        """Let a part go that no task reads any more, if that saves memory."""

    def record(self, took: TaskTime) -> None:
        """Write down what a task took, if anybody may want to know."""

    def forget_copies(self) -> None:
        """Remove copies of parts that this computer has only for the time of the work."""

    def inside(self, name: str) -> Parts:
        """Return a place for the parts of another plan that belongs to this one."""


class MemoryParts:
    """Parts in memory: handed over as they are, without a copy."""

    scratch = None

    def __init__(self) -> None:
        self._parts: dict[str, Arrays] = {}

    def get(self, name: str) -> Arrays:
        """Return a part."""
        return self._parts[name]

    def put(self, name: str, arrays: Arrays) -> None:
        """Keep a part."""
        self._parts[name] = arrays

    def is_whole(self, name: str) -> bool:
        """Say whether a part is there."""
        return name in self._parts

    def discard(self, name: str) -> None:
        """Forget a part."""
        self._parts.pop(name, None)

    def record(self, took: TaskTime) -> None:
        """Forget it."""

    def forget_copies(self) -> None:
        """Do nothing: there are none."""

    def inside(self, name: str) -> MemoryParts:
        """Return a place for the parts of another plan that belongs to this one."""
        return MemoryParts()


@dataclass(frozen=True)
class TaskContext:
    """What a task's function sees of the world: its inputs, its threads, and whom to tell of its steps."""

    parts: Parts
    inputs: Collection[str]
    threads: int = 1
    report: Callable[[int], None] | None = None

    def get(self, name: str) -> Arrays:
        """Return one of the task's inputs; KeyError for any other part."""
        if name not in self.inputs:
            raise KeyError(f"{name} is not among the inputs of the task")
        return self.parts.get(name)

    def has(self, name: str) -> bool:
        """Say whether a part is among the task's inputs."""
        return name in self.inputs

    def starting(self, prefix: str) -> list[str]:
        """Return the names of the inputs that start so, in their order."""
        return [name for name in self.inputs if name.startswith(prefix)]


def run_task(task: Task, parts: Parts, threads: int = 1, report: Callable[[int], None] | None = None) -> None:
    """Compute a task's part, and keep it. BLAS keeps to one thread: with several, the last digits would differ."""
    if parts.scratch is not None:  # the parts of all clusters of a learner are mapped at once
        allow_open_files()
    watch, context = Stopwatch(), TaskContext(parts, task.inputs, threads, report)
    with single_threaded_blas(), in_files(parts.scratch, task.block_bytes):
        arrays = task.resolve()(context, **task.arguments)
    parts.put(task.name, arrays)
    written = sum(array.nbytes for array in arrays.values())
    if task.block_bytes:  # there is a limit, against which what was freed must not count
        del arrays
        memory.release()
    parts.record(watch.stop(task, threads, written))


def put_json(arrays: Arrays, name: str, value: Any) -> None:
    """Put a small value that JSON can hold under a name."""
    arrays[name] = np.frombuffer(json.dumps(value, sort_keys=True).encode(), np.uint8)


def get_json(arrays: Arrays, name: str) -> Any:
    """Return the value that `put_json` put."""
    return json.loads(arrays[name].tobytes())


def put_matrix(arrays: Arrays, name: str, rows: Rows) -> None:
    """Put rows under a name, exactly as they are: dense, CSR, coded or hybrid; no array is copied."""
    if isinstance(rows, HybridRows):
        put_matrix(arrays, f"{name}.words", rows.words)
        put_matrix(arrays, f"{name}.vectors", rows.vectors)
    elif isinstance(rows, CodedRows):
        arrays[f"{name}.codes"], arrays[f"{name}.scales"] = rows.codes, rows.scales
    elif sparse.issparse(rows):
        for piece in ("data", "indices", "indptr"):
            arrays[f"{name}.{piece}"] = getattr(rows, piece)
        arrays[f"{name}.shape"] = np.array(rows.shape, np.int64)
    else:
        arrays[name] = rows


def get_matrix(arrays: Arrays, name: str) -> Rows:
    """Return the rows that `put_matrix` put; mapped arrays stay mapped."""
    if f"{name}.vectors" in arrays or f"{name}.vectors.codes" in arrays:
        return HybridRows(get_matrix(arrays, f"{name}.words"), get_matrix(arrays, f"{name}.vectors"))
    if f"{name}.codes" in arrays:
        return CodedRows(arrays[f"{name}.codes"], arrays[f"{name}.scales"])
    if name in arrays:
        return arrays[name]
    data, indices, indptr = (arrays[f"{name}.{piece}"] for piece in ("data", "indices", "indptr"))
    height, width = arrays[f"{name}.shape"]
    return from_arrays(data, indices, indptr, (int(height), int(width)))
