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
from functools import partial

import numpy as np
from threadpoolctl import ThreadpoolController

from neartag.core.errors import ParameterError

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
def single_threaded_blas() -> Iterator[None]:
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
        import scipy.linalg  # noqa: F401 (loads scipy's BLAS, so that it is found and held too)

        _blas = ThreadpoolController().select(user_api="blas")
    return _blas


def run_ranges(
    kernel: Callable[..., None], count: int, threads: int, *arguments: object, work: np.ndarray | None = None
) -> None:
    """Call `kernel(*arguments, start, stop)` over 0…count, cut into as many ranges as threads.

    For kernels whose result for a row has nothing to do with where ranges are cut. `work` (count + 1,) is the running
    sum of each row's cost, such as a CSR index pointer, to cut ranges of equal cost.
    """
    if threads <= 1 or count < 2 * threads:
        kernel(*arguments, 0, count)
        return
    bounds = _bounds(count, threads, work)
    _together([partial(kernel, *arguments, bounds[t], bounds[t + 1]) for t in range(threads)])


# Rows worked on at once where several products are done a block: few enough that the block stays in cache.
BLOCK_ROWS = 1024
# Pieces that rows are cut into where sums or BLAS's own blocking could depend on the cuts: always the same ones, so
# that the result is the same to the last bit whatever the number of threads, which take one piece after the other.
PIECES = 32


def run_pieces(
    work_on: Callable[[int, int], None],
    count: int,
    threads: int,
    *,
    work: np.ndarray | None = None,
    least: int = BLOCK_ROWS,
) -> None:
    """Call `work_on(start, stop)` over 0…count in pieces that do not depend on the threads, of `least` rows or more."""
    wanted = min(PIECES, count // least)
    if wanted <= 1:
        work_on(0, count)
        return
    # Where one row outweighs a whole piece the same bound comes twice: such a piece has no rows and is left out.
    bounds = sorted(set(_bounds(count, wanted, work)))
    pieces = len(bounds) - 1
    waiting = iter(range(pieces))
    lock = threading.Lock()

    def take() -> None:
        while True:
            with lock:
                piece = next(waiting, None)
            if piece is None:
                return
            work_on(bounds[piece], bounds[piece + 1])

    _together([take] * max(1, min(threads, pieces)))


def run_blocks(
    work_on: Callable[[int, int], None], count: int, threads: int, *, work: np.ndarray | None = None
) -> None:
    """Call `work_on(start, stop)` over 0…count in blocks of rows, pieces of blocks over the threads."""

    def part(start: int, stop: int) -> None:
        for first in range(start, stop, BLOCK_ROWS):
            work_on(first, min(first + BLOCK_ROWS, stop))

    run_pieces(part, count, threads, work=work)


def sum_blocks(
    summand: Callable[[int, int], np.ndarray], count: int, threads: int, *, work: np.ndarray | None = None
) -> np.ndarray:
    """Return the sum of `summand(start, stop)` over blocks of rows, the same whatever the number of threads."""
    sums: dict[int, np.ndarray] = {}

    def part(start: int, stop: int) -> None:
        for first in range(start, max(stop, start + 1), BLOCK_ROWS):  # once even for no rows, which sum to zeros
            value = summand(first, min(first + BLOCK_ROWS, stop))
            sums[start] = sums[start] + value if start in sums else value

    run_pieces(part, count, threads, work=work)
    return sum((sums[start] for start in sorted(sums)[1:]), sums[min(sums)])


def matmul_rows(tall: np.ndarray, small: np.ndarray, threads: int) -> np.ndarray:
    """Return tall @ small, (n, a) by (a, b), cut by rows over the threads."""
    out = np.empty((tall.shape[0], small.shape[1]), np.result_type(tall, small))

    def part(start: int, stop: int) -> None:
        np.matmul(tall[start:stop], small, out=out[start:stop])

    run_pieces(part, tall.shape[0], threads)
    return out


def transpose_matmul(left: np.ndarray, right: np.ndarray, threads: int) -> np.ndarray:
    """Return leftᵀ @ right, (n, a) and (n, b) to (a, b), summed over blocks of rows in their order."""
    return sum_blocks(lambda start, stop: left[start:stop].T @ right[start:stop], left.shape[0], threads)


def _bounds(count: int, pieces: int, work: np.ndarray | None) -> list[int]:
    """Return where 0…count is cut into so many ranges, of equal cost where that is known."""
    if work is None:
        return np.linspace(0, count, pieces + 1).astype(np.int64).tolist()
    bounds = np.searchsorted(work, np.linspace(0, float(work[-1]), pieces + 1)).astype(np.int64)
    bounds[0], bounds[-1] = 0, count
    return bounds.tolist()


def _together(tasks: list[Callable[[], None]]) -> None:
    """Run the first task here and the others in our pool; returns, or raises, when all have ended."""
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


def _begin_anew() -> None:
    """Forget the parent's threads and locks in a forked process, which has none of those threads."""
    global _lock, _holders, _limiter, _executor
    _lock = threading.Lock()
    _holders, _limiter, _executor = 0, None, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
