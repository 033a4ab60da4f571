"""How long tasks took, as the processes that ran them wrote it down in the work folder.

Each process appends to a file of its own: on storage that several computers share, two that append to one file would
overwrite each other.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from neartag.work.task import Task

TIMES = "times"  # the folder, in the work folder


@dataclass(frozen=True)
class TaskTime:
    """A task that was run: what it was, who ran it when, and what it took."""

    name: str
    stage: str
    function: str
    inputs: tuple[str, ...]
    arguments: Mapping[str, Any]
    size: int
    memory: int
    process: str
    threads: int  # that it was allowed
    begun: float  # seconds since 1970
    seconds: float  # from its start until its part was written
    cpu: float  # seconds of processors that its process used meanwhile
    written: int  # bytes of its part

    def task(self) -> Task:
        """Return the task that was run."""
        return Task(
            self.name, self.stage, self.function, self.inputs, self.arguments, size=self.size, memory=self.memory
        )

    @classmethod
    def from_json(cls, line: str) -> TaskTime:
        """Return what a line holds."""
        value = json.loads(line)
        return cls(**{**value, "inputs": tuple(value["inputs"])})


class Stopwatch:
    """Measures a task from now on."""

    def __init__(self) -> None:
        self._begun, self._started, self._cpu = time.time(), time.perf_counter(), time.process_time()

    def stop(self, task: Task, threads: int, written: int) -> TaskTime:
        """Return what the task took."""
        return TaskTime(
            task.name,
            task.stage,
            task.function,
            task.inputs,
            dict(task.arguments),
            task.size,
            task.memory,
            f"{socket.gethostname()}-{os.getpid()}",
            threads,
            round(self._begun, 6),
            round(time.perf_counter() - self._started, 6),
            round(time.process_time() - self._cpu, 6),
            written,
        )


def append_time(folder: Path, took: TaskTime) -> None:
    """Write down what a task took. Times are not needed to go on: a disk that takes no more is told of elsewhere."""
    try:
        (folder / TIMES).mkdir(exist_ok=True)
        with open(folder / TIMES / f"{took.process}.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(took)) + "\n")
    except OSError:
        pass


def read_times(folder: str | os.PathLike[str]) -> list[TaskTime]:
    """Return the times of a work folder's tasks in the order of their beginning; of a task that ran twice the last."""
    times: dict[str, TaskTime] = {}
    for file in sorted((Path(folder) / TIMES).glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                took = TaskTime.from_json(line)
            except (ValueError, TypeError, KeyError):
                continue  # cut off by the end of its process
            if took.name not in times or times[took.name].begun <= took.begun:
                times[took.name] = took
    return sorted(times.values(), key=lambda took: (took.begun, took.name))
