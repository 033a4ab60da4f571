"""The one place that says how many threads run, and holds BLAS to that number.

Kernels run on plain Python threads over ranges of rows (they release the GIL), never on
numba's own pool: no second pool to hold, no threading layer to miss, and a range's result
does not depend on which thread computed it. BLAS keeps a pool of its own for the whole
process; `hold` keeps it to one thread while we run, because BLAS threads times ours on few
cores made a training run ten times slower, and they spin while they wait. Dense products
are cut by rows over our threads instead.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

import numpy as np
from threadpoolctl import ThreadpoolController

from neartag.errors import ParameterError

_lock = threading.Lock()
_holders = 0
_limiter = None
_executor: ThreadPoolExecutor | None = None


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def resolve_jobs(n_jobs: int | None) -> int:
    """Return the number of jobs meant: None is 1, −1 all cores, −2 all but one, as in joblib."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ParameterError(f"n_jobs must be a whole number other than 0 (−1: all cores), not {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, available_cores() + 1 + int(n_jobs))


@contextmanager
def hold() -> Iterator[None]:
    """Hold BLAS to one thread inside the block.

    The limit belongs to the process, so the first holder sets it and the last one lifts it:
    tasks that start and end at different moments must not undo each other's limit.
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

    Newer versions of threadpoolctl obey only the thread that first set OpenBLAS's limit and silently ignore the others;
    whoever holds first or lifts last must not be ignored.
    """
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


_blas: ThreadpoolController | None = None


def _controller() -> ThreadpoolController:
    # Looking the libraries up costs a millisecond, so once; they are all loaded by scipy's and numpy's own import.
    global _blas
    if _blas is None:
        import scipy.linalg  # noqa: F401  (loads scipy's BLAS, so that it is found and held too)

        _blas = ThreadpoolController().select(user_api="blas")
    return _blas


def run_ranges(
    kernel: Callable[..., None], count: int, threads: int, *arguments: object, work: np.ndarray | None = None
) -> None:
    """Call `kernel(*arguments, start, stop)` over 0…count, cut into as many ranges as threads.

    `work` (count + 1,) is the running sum of each row's cost, such as a CSR index pointer, to cut ranges of equal cost.
    """
    if threads <= 1 or count < 2 * threads:
        kernel(*arguments, 0, count)
        return
    if work is None:
        bounds = np.linspace(0, count, threads + 1).astype(np.int64)
    else:
        shares = np.linspace(0, float(work[-1]), threads + 1)
        bounds = np.searchsorted(work, shares).astype(np.int64)
        bounds[0], bounds[-1] = 0, count
    pool = _pool()
    pending = [pool.submit(kernel, *arguments, int(bounds[t]), int(bounds[t + 1])) for t in range(1, threads)]
    try:
        kernel(*arguments, 0, int(bounds[1]))
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


# Rows worked on at once where several products are done a block: few enough that the block stays in cache.
BLOCK_ROWS = 1024


def run_blocks(
    work_on: Callable[[int, int], None], count: int, threads: int, *, work: np.ndarray | None = None
) -> None:
    """Call `work_on(start, stop)` over 0…count in blocks of rows, ranges of blocks over the threads."""

    def part(start: int, stop: int) -> None:
        for first in range(start, stop, BLOCK_ROWS):
            work_on(first, min(first + BLOCK_ROWS, stop))

    run_ranges(part, count, threads, work=work)


def sum_blocks(
    summand: Callable[[int, int], np.ndarray], count: int, threads: int, *, work: np.ndarray | None = None
) -> np.ndarray:
    """Return the sum of `summand(start, stop)` over blocks of rows, added in their order whichever thread is first."""
    sums: dict[int, np.ndarray] = {}

    def part(start: int, stop: int) -> None:
        for first in range(start, max(stop, start + 1), BLOCK_ROWS):  # once even for no rows, which sum to zeros
            value = summand(first, min(first + BLOCK_ROWS, stop))
            sums[start] = sums[start] + value if start in sums else value

    run_ranges(part, count, threads, work=work)
    return sum((sums[start] for start in sorted(sums)[1:]), sums[min(sums)])


def tall_times(tall: np.ndarray, small: np.ndarray, threads: int) -> np.ndarray:
    """Return tall @ small, (n, a) by (a, b), cut by rows over the threads."""
    if threads <= 1:
        return tall @ small
    out = np.empty((tall.shape[0], small.shape[1]), np.result_type(tall, small))

    def part(start: int, stop: int) -> None:
        np.matmul(tall[start:stop], small, out=out[start:stop])

    run_ranges(part, tall.shape[0], threads)
    return out


def inner(left: np.ndarray, right: np.ndarray, threads: int) -> np.ndarray:
    """Return leftᵀ @ right, (n, a) and (n, b) to (a, b), summed over blocks of rows in their order."""
    if threads <= 1:
        return left.T @ right
    return sum_blocks(lambda start, stop: left[start:stop].T @ right[start:stop], left.shape[0], threads)


def _begin_anew() -> None:
    """Forget the parent's threads and locks in a forked process, which has none of those threads."""
    global _lock, _holders, _limiter, _executor
    _lock = threading.Lock()
    _holders, _limiter, _executor = 0, None, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
