"""The one place that decides how many threads run, and that keeps BLAS to one thread meanwhile.

Work over many rows is divided into ranges of rows, which run on plain Python threads. Kernels and BLAS release Python's
lock, so the threads run side by side. There is no pool of numba's or BLAS's beside ours: BLAS threads times our threads
on few cores made training ten times slower. `single_threaded_blas` sees to that.

    run_ranges(kernel, …)   one range of rows for each thread; for kernels that compute each row by itself
    run_pieces(work_on, …)  the same ranges whatever the number of threads; where cuts could change the rounding
    run_blocks(work_on, …)  the same, each range in blocks of rows that stay in the processor's cache
    sum_blocks(summand, …)  the sum over such blocks, always added in the same order
    run_both(first, second) two tasks that know nothing of each other

The result of each is the same to the last bit for every number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from neartag.core.errors import ParameterError

_lock = threading.Lock()
_holders = 0  # blocks of `single_threaded_blas` that have begun and not ended
_limiter = None
_executor: ThreadPoolExecutor | None = None


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def resolve_jobs(n_jobs: int | None) -> int:
    """Return how many jobs `n_jobs` means, as in joblib: None is 1, −1 all cores, −2 all cores but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ParameterError(f"n_jobs must be a whole number other than 0 (−1: all cores), not {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, available_cores() + 1 + int(n_jobs))


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS to one thread inside the block.

    The limit belongs to the process. The first block that begins sets it and the last one that ends lifts it, so that
    tasks which begin and end at different moments do not undo each other's limit.
    """
    global _holders, _limiter
    with _lock:
        if _holders == 0:
            _free_control()
            _limiter = _controller().limit(limits=1)
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0 and _limiter is not None:
                _free_control()
                _limiter.restore_original_limits()
                _free_control()
                _limiter = None


def _free_control() -> None:
    """Let any thread set BLAS's limit again.

    Newer versions of threadpoolctl obey only the thread that first set OpenBLAS's limit, and ignore all others without
    a word. Here any thread may be the one that sets or lifts the limit.
    """
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


_blas: ThreadpoolController | None = None


def _controller() -> ThreadpoolController:
    # Finding the libraries takes a millisecond, so it is done once: numpy's and scipy's import loads them all.
    global _blas
    if _blas is None:
        import scipy.linalg  # noqa: F401 (loads scipy's BLAS, so that it is found and limited too)

        _blas = ThreadpoolController().select(user_api="blas")
    return _blas


def run_ranges(
    kernel: Callable[..., None], count: int, threads: int, *arguments: object, work: np.ndarray | None = None
) -> None:
    """Call `kernel(*arguments, start, stop)` for ranges that cover the rows 0…count, one for each thread.

    What the kernel computes for a row must not depend on where ranges begin and end. `work` (count + 1,) is the running
    sum of each row's cost, such as the index pointer of CSR rows; ranges then cost the same instead of having as many
    rows.
    """
    if threads <= 1 or count < 2 * threads:
        kernel(*arguments, 0, count)
        return
    bounds = _bounds(count, threads, work)
    _run_together([partial(kernel, *arguments, bounds[t], bounds[t + 1]) for t in range(threads)])


# Rows of a block: few enough that several products of the block find it in cache.
BLOCK_ROWS = 1024
# Pieces that rows are divided into where the cuts could change the rounding, as in sums and in BLAS's own blocking. The
# threads take one piece after the other, so that the pieces need not depend on how many threads there are.
MAX_PIECES = 32


def run_pieces(
    work_on: Callable[[int, int], None],
    count: int,
    threads: int,
    *,
    work: np.ndarray | None = None,
    min_size: int = BLOCK_ROWS,
) -> None:
    """Call `work_on(start, stop)` for pieces that cover 0…count and are the same for every number of threads.

    A piece has `min_size` rows or more. `work` is as in `run_ranges`.
    """
    wanted = min(MAX_PIECES, count // min_size)
    if wanted <= 1:
        work_on(0, count)
        return
    # Where one row costs more than a whole piece should, the same bound comes twice: no piece lies between.
    bounds = sorted(set(_bounds(count, wanted, work)))
    pieces = len(bounds) - 1
    waiting = iter(range(pieces))
    lock = threading.Lock()

    def take_pieces() -> None:
        while True:
            with lock:
                piece = next(waiting, None)
            if piece is None:
                return
            work_on(bounds[piece], bounds[piece + 1])

    _run_together([take_pieces] * max(1, min(threads, pieces)))


def run_blocks(
    work_on: Callable[[int, int], None], count: int, threads: int, *, work: np.ndarray | None = None
) -> None:
    """Call `work_on(start, stop)` for blocks of BLOCK_ROWS rows that cover 0…count; `work` is as in `run_ranges`."""

    def piece(start: int, stop: int) -> None:
        for first in range(start, stop, BLOCK_ROWS):
            work_on(first, min(first + BLOCK_ROWS, stop))

    run_pieces(piece, count, threads, work=work)


def sum_blocks(
    summand: Callable[[int, int], np.ndarray], count: int, threads: int, *, work: np.ndarray | None = None
) -> np.ndarray:
    """Return the sum of `summand(start, stop)` over blocks of rows; `work` is as in `run_ranges`.

    With count 0 it is `summand(0, 0)`, which should be zeros.
    """
    sums: dict[int, np.ndarray] = {}  # of each piece, by its first row

    def piece(start: int, stop: int) -> None:
        for first in range(start, max(stop, start + 1), BLOCK_ROWS):
            value = summand(first, min(first + BLOCK_ROWS, stop))
            sums[start] = sums[start] + value if start in sums else value

    run_pieces(piece, count, threads, work=work)
    return sum((sums[start] for start in sorted(sums)[1:]), sums[min(sums)])


First = TypeVar("First")
Second = TypeVar("Second")


def run_both(first: Callable[[], First], second: Callable[[], Second], side_by_side: bool) -> tuple[First, Second]:
    """Return what two functions return that know nothing of each other, each of which may use threads itself.

    Side by side, one goes on while the other does what only one thread can. The second one's thread is not of our pool:
    whoever waits there for a piece of work would keep its thread from doing it.
    """
    if not side_by_side:
        return first(), second()
    with ThreadPoolExecutor(max_workers=1) as own:
        pending = own.submit(second)
        return first(), pending.result()


def _bounds(count: int, pieces: int, work: np.ndarray | None) -> list[int]:
    """Return the bounds of so many ranges over 0…count, of equal cost where the rows' work is known."""
    if work is None:
        return np.linspace(0, count, pieces + 1).astype(np.int64).tolist()
    bounds = np.searchsorted(work, np.linspace(0, float(work[-1]), pieces + 1)).astype(np.int64)
    bounds[0], bounds[-1] = 0, count
    return bounds.tolist()


def _run_together(tasks: list[Callable[[], None]]) -> None:
    """Run the first task in this thread and the others in our pool; return, or raise, when all have ended."""
    pending = [_pool().submit(task) for task in tasks[1:]]
    try:
        tasks[0]()
    finally:
        wait(pending)  # nobody may still write into the arrays when this returns, or raises
    for future in pending:
        future.result()


def _pool() -> ThreadPoolExecutor:
    global _executor
    with _lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(max_workers=max(2, available_cores()), thread_name_prefix="neartag")
        return _executor


def _forget_threads() -> None:
    """Start without pool and locks in a forked process: the parent's threads do not live there."""
    global _lock, _holders, _limiter, _executor
    _lock = threading.Lock()
    _holders, _limiter, _executor = 0, None, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
