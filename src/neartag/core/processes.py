"""Blocks of data worked on by helper processes, where somebody offers them: threads do not speed Python code up.

Who reads data or counts words only says what is to be done with each block. Whether processes help, and how many, is
decided above (`offer_processes`), because that depends on the machine and on the memory that is allowed. What comes out
is the same without them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

Block = TypeVar("Block", bound=tuple[Any, ...])
Result = TypeVar("Result")

# Seconds of work, by a guess, that are done here before helpers start: to start two of them takes one or two.
SECONDS_HERE = 2.0


@dataclass(frozen=True)
class Helpers:
    """Processes that can be had."""

    count: int
    start: Callable[[], Executor]  # returns the same ones when it is called again
    has_started: Callable[[], bool] = lambda: False


_offered: ContextVar[Helpers | None] = ContextVar("offered_processes", default=None)


@contextmanager
def offer_processes(helpers: Helpers | None) -> Iterator[None]:
    """Let functions that are called in this block use helpers; None: none."""
    token = _offered.set(helpers)
    try:
        yield
    finally:
        _offered.reset(token)


def offered_processes() -> Helpers | None:
    """Return the helpers that may be used here."""
    return _offered.get()


def map_in_order(
    function: Callable[..., Result], blocks: Iterable[Block], seconds_of: Callable[[Block], float]
) -> Iterator[tuple[Block, Result]]:
    """Yield each block with `function(*block)`, in their order; the first ones are worked on here.

    The function, the blocks and its results go from one process to another, so they must be picklable. `seconds_of`
    guesses how long the function takes. An error of `blocks` comes after the results of those before it, as if one
    block was taken after the other.
    """
    helpers, source = offered_processes(), iter(blocks)
    for block in source if helpers is None else take_first(source, seconds_of, helpers):
        yield block, function(*block)
    if helpers is not None:
        yield from _map_by_helpers(function, source, helpers)


def take_first(source: Iterator[Block], seconds_of: Callable[[Block], float], helpers: Helpers) -> Iterator[Block]:
    """Yield the first blocks, which are to be worked on here unless helpers are there; others stay in the source."""
    seconds = 0.0
    while seconds < SECONDS_HERE and not helpers.has_started() and (block := next(source, None)) is not None:
        seconds += seconds_of(block)
        yield block


def _map_by_helpers(
    function: Callable[..., Result], source: Iterator[Block], helpers: Helpers
) -> Iterator[tuple[Block, Result]]:
    waiting: deque[tuple[Block, Future[Result] | None]] = deque()
    error: Exception | None = None
    try:
        while error is None:
            try:
                block = next(source, None)
            except Exception as raised:  # told when its turn comes
                error = raised
                break
            if block is None:
                break
            waiting.append((block, submit(helpers, function, *block)))
            if len(waiting) > helpers.count + 1:  # one more than run, so that no helper waits for us
                block, future = waiting.popleft()
                yield block, _result(function, block, future)
        while waiting:
            block, future = waiting.popleft()
            yield block, _result(function, block, future)
    finally:
        for _, future in waiting:
            if future is not None:
                future.cancel()
    if error is not None:
        raise error


def submit(helpers: Helpers, function: Callable[..., Result], *arguments: Any) -> Future[Result] | None:
    """Return the result to come, None where the helpers were killed or cannot be started."""
    try:
        return helpers.start().submit(function, *arguments)
    except (BrokenExecutor, OSError, ImportError, NotImplementedError):  # the last two of systems without semaphores
        return None


def _result(function: Callable[..., Result], block: tuple[Any, ...], future: Future[Result] | None) -> Result:
    """Return what a helper made of a block; where it was killed, perhaps for want of memory, it is made here."""
    try:
        return function(*block) if future is None else future.result()
    except BrokenExecutor:
        return function(*block)
