"""Helper processes for tests, without the processes: what goes to them and back is pickled, as it would be."""

from __future__ import annotations

import pickle
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager

from neartag.core import processes
from neartag.encoders import count_by_helpers


class InlineExecutor:
    """Does at once what it is given, as so many processes would, in turn, each with a memory of its own."""

    def __init__(self, count: int = 2, works: int | None = None, loses: int | None = None) -> None:
        self.calls = 0
        self._loses = loses  # the call whose result nobody gets: it is taken, and then told to have failed
        self._works = works  # calls after which all processes are killed; None: never
        self._memories: list[list] = [[] for _ in range(count)]

    def submit(self, function, *arguments) -> Future:
        future: Future = Future()
        self.calls += 1
        if self._works is not None and self.calls > self._works + 1:
            raise BrokenExecutor("killed before")
        if self._works is not None and self.calls > self._works:
            future.set_exception(BrokenExecutor("killed"))
            return future
        memory = self._memories[self.calls % len(self._memories)]
        own, count_by_helpers._own[:] = list(count_by_helpers._own), memory
        try:
            function, arguments = pickle.loads(pickle.dumps((function, arguments)))
            future.set_result(pickle.loads(pickle.dumps(function(*arguments))))
        except Exception as error:
            future.set_exception(error)
        memory[:], count_by_helpers._own[:] = list(count_by_helpers._own), own
        if self.calls == self._loses:
            raise BlockingIOError("no more processes can be started")
        return future


@contextmanager
def inline_helpers(count: int = 2, *, works: int | None = None, here: float = 0.0, loses: int | None = None):
    """Offer such helpers, and let them do everything but the first seconds of work."""
    executor, usual = InlineExecutor(count, works, loses), processes.SECONDS_HERE
    processes.SECONDS_HERE = here
    try:
        with processes.offer_processes(processes.Helpers(count, lambda: executor)):
            yield executor
    finally:
        processes.SECONDS_HERE = usual
