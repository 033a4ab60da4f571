"""Requests that wait are answered together: one pass over the model's points serves all of them.

One thread answers. While it is at work, requests gather; when it is done it takes all that wait, up to a bound. Nobody
waits for a batch to fill: where there is only one request it is answered alone, at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

MOST_TEXTS = 64
MOST_CHARACTERS = 500_000  # long texts take their time: a batch of many would make all of them wait


@dataclass(frozen=True)
class Job:
    """The texts of one request."""

    texts: list[str]
    k: int
    answer: asyncio.Future[Any]


class Batcher:
    """Answers texts in batches: `answer(texts, k)` is called in a thread, and returns an answer for each text.

    The largest k of a batch is asked for, and each request gets its part. `noted` is told each batch's size.
    """

    def __init__(self, answer: Callable[[list[str], int], list[list[Any]]], noted: Callable[[int], None]) -> None:
        self._answer, self._noted = answer, noted
        self._waiting: deque[Job] = deque()
        self._busy = False
        self._thread = ThreadPoolExecutor(1, "neartag-predict")

    async def ask(self, texts: list[str], k: int) -> list[list[Any]]:
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
        """Return the requests to answer next, those that nobody waits for any more left out; at least one."""
        jobs: list[Job] = []
        texts = characters = 0
        while self._waiting:
            job = self._waiting[0]
            if not job.answer.done():  # it is where its request was given up
                texts += len(job.texts)
                characters += sum(map(len, job.texts))
                if jobs and (texts > MOST_TEXTS or characters > MOST_CHARACTERS):
                    break
                jobs.append(job)
            self._waiting.popleft()
        return jobs

    def _answer_all(self, jobs: list[Job]) -> list[list[list[Any]] | Exception]:
        texts = [text for job in jobs for text in job.texts]
        self._noted(len(texts))
        try:
            found = self._answer(texts, max(job.k for job in jobs))
        except Exception as error:
            # Nobody is to suffer for another's text, should one ever make it fail.
            return [error] if len(jobs) == 1 else [self._answer_all([job])[0] for job in jobs]
        answers: list[list[list[Any]] | Exception] = []
        for job in jobs:
            own, found = found[: len(job.texts)], found[len(job.texts) :]
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
