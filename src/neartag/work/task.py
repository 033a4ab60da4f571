"""A task: a pure function from parts to one part, described so that anybody can run it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

# What may use every thread there is says so by this number.
ALL_THREADS = 0


@dataclass(frozen=True)
class Task:
    """What is to be computed, of which parts, and what that needs.

    Attributes
    ----------
    name : str
        The name of the part that it writes; unique in a plan.
    stage : str
        The kind of work, for people who watch.
    function : str
        "package.module:function", which is called with a `TaskContext` and the arguments, and returns arrays.
    inputs : tuple of str
        The parts that it reads.
    arguments : mapping
        What JSON can hold; small.
    size : int
        What its time grows with: points, or pairs of point and label.
    memory : int
        Bytes that it needs at its peak, beyond mapped files; 0: not worth counting.
    threads : int
        1, or ALL_THREADS where a large task should not wait for others.
    steps : int
        Steps that it reports while it runs, for progress.
    block_bytes : int
        Arrays from so many bytes on are made in files of the work folder, block by block; 0: all in memory.
    """

    name: str
    stage: str
    function: str
    inputs: tuple[str, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    size: int = 1
    memory: int = 0
    threads: int = 1
    steps: int = 1
    block_bytes: int = 0

    @property
    def outputs(self) -> tuple[str, ...]:
        """The parts that it writes: one, of its own name."""
        return (self.name,)

    def resolve(self) -> Callable[..., dict[str, Any]]:
        """Return the function."""
        module, name = self.function.split(":")
        return getattr(importlib.import_module(module), name)

    def to_json(self) -> dict[str, Any]:
        """Return the task as values that JSON, or a scheduler, can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, described: Mapping[str, Any]) -> Task:
        """Return the task that `to_json` described."""
        return cls(**{**described, "inputs": tuple(described["inputs"])})
