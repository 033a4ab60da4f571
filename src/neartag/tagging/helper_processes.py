"""Processes that help to read documents and to count their words, as many as cores and memory allow."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from neartag.core import memory
from neartag.core.processes import Helpers, offer_processes, offered_processes
from neartag.core.threads import resolve_jobs

HELPER_BYTES = 400 * 2**20  # of one process at most: 55 MB with words alone, most with pairs and runs of characters
HELPERS_SHARE = 0.5  # of the memory that is left within a limit: the rest is for what is made of the texts
MAX_HELPERS = 16  # one process gives them texts and joins what they found: it has no time for more
IDLE_SECONDS = 30  # after which a helper without work ends, also where whoever started it was killed
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # they compute nothing: BLAS needs no buffers


@contextmanager
def offer_helpers(n_jobs: int | None, max_memory: int | None = None) -> Iterator[None]:
    """Let readers and encoders use helper processes in this block; those that were started end with it.

    Those that are offered already are used. A process that was itself started to help gets none: whoever started it
    has divided the cores already.
    """
    if offered_processes() is not None:
        yield
        return
    count = count_helpers(resolve_jobs(n_jobs), max_memory)
    if count < 2 or multiprocessing.parent_process() is not None:
        with offer_processes(None):
            yield
        return
    started: list[Executor] = []

    def start() -> Executor:
        if not started:
            from joblib.externals.loky import ProcessPoolExecutor

            started.append(ProcessPoolExecutor(count, timeout=IDLE_SECONDS, env=_ENVIRONMENT))
        return started[0]

    try:
        with offer_processes(Helpers(count, start, lambda: bool(started))):
            yield
    finally:
        for executor in started:
            executor.shutdown(wait=True)


def count_helpers(jobs: int, max_memory: int | None) -> int:
    """Return how many processes may help, given how many cores and how many bytes may be used."""
    limit = memory.total() if max_memory is None else max_memory
    if limit is None:  # nobody knows
        return min(jobs, MAX_HELPERS)
    room = HELPERS_SHARE * (limit - memory.in_use())
    return min(jobs, MAX_HELPERS, max(0, int(room // HELPER_BYTES)))
