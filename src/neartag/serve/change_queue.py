"""Changes that wait, and the thread that makes them: all that wait go to the disk in one write.

Documents that are only added are a small file. To forget or replace some the folder is written anew, which takes the
longer the larger the model is. After such a write the next one waits for as long as the last one took, and what was
added meanwhile comes first.

A change can be withdrawn until the thread takes it. From then on its client waits for what becomes of it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from neartag.core.errors import NeartagError
from neartag.serve.errors import Refusal
from neartag.serve.followed_model import FollowedModel
from neartag.storage.locking import FolderBusyError
from neartag.tagging.changes import Addition, AnyChange, Origin

MAX_CHANGES, MAX_DOCUMENTS, MAX_CHARACTERS = 256, 2000, 4_000_000  # of one write, unless one change has more
LOOK_SECONDS = 0.02  # between two looks at what waits
LOCK_SECONDS = 1.0  # that the thread waits for another writer before it looks whether anybody still waits
RETRY_AFTER = "1"  # seconds, as the header has them

logger = logging.getLogger("neartag.serve")


class Job:
    """A change, and who waits for it."""

    def __init__(self, change: AnyChange) -> None:
        self.change = change
        self.loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[Any] = self.loop.create_future()
        self.rewrites = not isinstance(change, Addition) or change.replace
        documents = change.documents if isinstance(change, Addition) else ()
        self.documents, self.characters = len(documents), sum(len(each.text) for each in documents)

    def tell(self, outcome: Any) -> None:
        """Hand the outcome over, from whichever thread."""
        with suppress(RuntimeError):  # the server has ended
            self.loop.call_soon_threadsafe(self._set, outcome)

    def _set(self, outcome: Any) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class ChangeQueue:
    """Makes changes of a model, one write after another."""

    def __init__(self, model: FollowedModel) -> None:
        self._model = model
        self._mutex = threading.Lock()  # of all that follows
        self._waiting: deque[Job] = deque()
        self._begun: Sequence[Job] = ()
        self._busy = False
        self._thread = ThreadPoolExecutor(1, "neartag-write")

    def close(self) -> None:
        """End the thread, once all that waits is made."""
        self._thread.shutdown()

    async def make(self, change: AnyChange, deadline: float) -> Any:
        """Return what a change gave, an error among it; Refusal where it was not begun before the deadline."""
        job = Job(change)
        with self._mutex:
            self._waiting.append(job)
            start, self._busy = not self._busy, True
        if start:
            self._thread.submit(self._work)
        await asyncio.wait({job.outcome}, timeout=max(0.0, deadline - time.monotonic()))
        if not job.outcome.done() and self._withdraw(job):
            late = "others' changes took too long, and this one was not made: send it again"
            raise Refusal(503, late, {"Retry-After": RETRY_AFTER})
        return await asyncio.shield(job.outcome)

    def holds(self, origin: Origin) -> bool:
        """Return whether a change of this client with this id waits or is being made."""
        with self._mutex:
            origins = [job.change.origin for job in (*self._waiting, *self._begun)]
        return any((each.who, each.request) == (origin.who, origin.request) for each in origins)

    def _withdraw(self, job: Job) -> bool:
        with self._mutex:
            if job not in self._waiting:
                return False
            self._waiting.remove(job)
            return True

    def _work(self) -> None:
        """Make changes until none is left."""
        while self._has_more():
            pause = self._find_pause()
            if pause > 0:
                time.sleep(min(pause, LOOK_SECONDS))
                continue
            try:
                with self._model.locked(LOCK_SECONDS):
                    self._make_waiting()
            except FolderBusyError:
                continue
            except Exception as error:  # the lock cannot be had at all
                self._tell_all(self._take(), error)

    def _make_waiting(self) -> None:
        jobs = self._take()
        if not jobs:
            return
        try:
            outcomes = self._model.commit([job.change for job in jobs])
        except Exception as error:
            self._tell_all(jobs, error)
            return
        for job, outcome in zip(jobs, outcomes, strict=True):
            job.tell(outcome)

    def _tell_all(self, jobs: Sequence[Job], error: Exception) -> None:
        if not isinstance(error, NeartagError):
            logger.error("changes failed", exc_info=error)
        for job in jobs:
            job.tell(error)

    def _has_more(self) -> bool:
        with self._mutex:
            self._begun = ()
            self._busy = bool(self._waiting)
            return self._busy

    def _find_pause(self) -> float:
        """Return for how many seconds nothing that waits may be made."""
        with self._mutex:
            pause = self._model.next_rewrite - time.monotonic()
            return pause if all(job.rewrites for job in self._waiting) else 0.0

    def _take(self) -> Sequence[Job]:
        """Return the changes of the next write."""
        jobs: list[Job] = []
        documents = characters = 0
        with self._mutex:
            may_rewrite = time.monotonic() >= self._model.next_rewrite
            for job in self._waiting:
                if job.rewrites and not may_rewrite:
                    continue
                documents, characters = documents + job.documents, characters + job.characters
                if jobs and (len(jobs) == MAX_CHANGES or documents > MAX_DOCUMENTS or characters > MAX_CHARACTERS):
                    break
                jobs.append(job)
            taken = set(jobs)
            self._waiting = deque(job for job in self._waiting if job not in taken)
            self._begun = jobs
        return jobs
