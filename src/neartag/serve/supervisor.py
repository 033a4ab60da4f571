"""The parent of several workers: one that died is replaced at once, one that hangs after a while, each with a line.

uvicorn's own asks one worker after the other whether it answers, and waits for each: a dead one was found only after a
busy one had answered.
"""

from __future__ import annotations

import inspect
import logging
import time
from typing import Any

from uvicorn.supervisors import Multiprocess

logger = logging.getLogger("neartag.serve")

PING_SECONDS = 0.05  # that a worker's answer is waited for at each look; it may come until the next
HUNG_SECONDS = 30.0  # without any answer: a worker that is busy answers between two requests
STARTUP_FAILURE = 3  # exit status of a worker that could not start, and never would


class Supervisor(Multiprocess):
    """Keeps as many workers running as there are to be."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._answered: dict[int | None, float] = {}  # when each worker last answered, by its process id

    def keep_subprocess_alive(self) -> None:
        """Replace workers that are dead or hang."""
        for place, worker in enumerate(self.processes):
            if self.should_exit.is_set():
                return
            problem = self._find_problem(worker)
            if problem:
                self._replace(place, worker, problem)

    def _find_problem(self, worker: Any) -> str:
        """Return why a worker must be replaced; "" where it need not be."""
        now = time.monotonic()
        if not worker.process.is_alive():
            return f"ended with status {worker.process.exitcode}"
        if worker.ping(PING_SECONDS):
            self._answered[worker.pid] = now
        silent = now - self._answered.setdefault(worker.pid, now)
        return f"has not answered for {silent:.0f} s" if silent > HUNG_SECONDS else ""

    def _replace(self, place: int, worker: Any, problem: str) -> None:
        self._answered.pop(worker.pid, None)
        worker.kill()
        worker.join()
        if worker.process.exitcode == STARTUP_FAILURE:
            logger.error("worker %s could not start: the server ends", worker.pid)
            self.should_exit.set()
            return
        # Older versions of uvicorn are told what a worker runs.
        target = (self.target,) if "target" in inspect.signature(type(worker)).parameters else ()  # type: ignore[attr-defined]
        self.processes[place] = fresh = type(worker)(self.config, *target, self.sockets)
        fresh.start()
        logger.error("worker %s %s: worker %s takes its place", worker.pid, problem, fresh.pid)
