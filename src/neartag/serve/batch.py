"""Requests that wait are answered together: one pass over the model's points serves all of them.

One thread answers. While it works, requests gather; then it takes all that wait, up to a bound. No request waits for a
batch to fill: a single request is answered alone, at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

MAX_BATCH_TEXTS = 64  # unless one request has more
MAX_BATCH_CHARACTERS = 500_000  # long texts take long: a batch of many would make all of them wait


@dataclass(frozen=True)
class Job:
    """The texts of one request."""

    texts: list[str]
    k: int
    answer: asyncio.Future[Any]


class Batcher:
    """Answers texts in batches: `answer(texts, k)` is called in a thread, and returns an answer for each text.

    It asks for the largest k of a batch, and each request gets its part. `on_batch` is called with each batch's size.
    """

    def __init__(self, answer: Callable[[list[str], int], list[Any]], on_batch: Callable[[int], None]) -> None:
        self._answer, self._on_batch = answer, on_batch
        self._waiting: deque[Job] = deque()
        self._busy = False
        self._thread = ThreadPoolExecutor(1, "neartag-predict")

    async def ask(self, texts: list[str], k: int) -> list[Any]:
        """Return the answer for each text, at most k labels each."""
        loop = asyncio.get_running_loop()
        job = Job(texts, k, loop.create_future())
        self._waiting.append(job)
        if not self._busy:
            self._busy = True
            loop.call_soon(self._begin)  # not now: others may have come in the same moment
        return await job.answer

    def close(self) -> None:
        """End the thread once it has answered."""
        self._thread.shutdown()

    def _begin(self) -> None:
        jobs = self._take()
        self._busy = bool(jobs)
        if jobs:
            running = asyncio.get_running_loop().run_in_executor(self._thread, self._answer_all, jobs)
            running.add_done_callback(partial(self._done, jobs))

    def _take(self) -> list[Job]:
        """Return the requests to answer next, without those that nobody waits for any more."""
        jobs: list[Job] = []
        texts = characters = 0
        while self._waiting:
            job = self._waiting[0]
            if not job.answer.done():  # a request that was given up is done
                texts += len(job.texts)
                characters += sum(map(len, job.texts))
                if jobs and (texts > MAX_BATCH_TEXTS or characters > MAX_BATCH_CHARACTERS):
                    break
                jobs.append(job)
            self._waiting.popleft()
        return jobs

    def _answer_all(self, jobs: list[Job]) -> list[list[Any] | Exception]:
        texts = [text for job in jobs for text in job.texts]
        self._on_batch(len(texts))
        try:
            left = self._answer(texts, max(job.k for job in jobs))
        except Exception as error:
            # If a text ever makes it fail, the other requests must not suffer.
            return [error] if len(jobs) == 1 else [self._answer_all([job])[0] for job in jobs]
        answers: list[list[Any] | Exception] = []
        for job in jobs:
            own, left = left[: len(job.texts)], left[len(job.texts) :]
            answers.append([tags[: job.k] for tags in own])
        return answers

    def _done(self, jobs: list[Job], running: asyncio.Future[list[Any]]) -> None:
        for job, answer in zip(jobs, running.result(), strict=True):
            if job.answer.done():
                continue
            if isinstance(answer, Exception):
                job.answer.set_exception(answer)
            else:
                job.answer.set_result(answer)
        self._begin()
