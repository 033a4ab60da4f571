"""Threads: BLAS held to one and set free again, and rows cut into ranges that cover each exactly once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from neartag.core.errors import ParameterError
from neartag.core.threads import (
    BLOCK_ROWS,
    MAX_PIECES,
    available_cores,
    resolve_jobs,
    run_blocks,
    run_both,
    run_pieces,
    run_ranges,
    single_threaded_blas,
    sum_blocks,
)

OTHER = 3  # threads of BLAS before a hold: neither one nor, likely, the number of cores


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(params=["whoever asks", "the main thread"])
def several_threads(request):
    """Let BLAS have several threads, so that holding it to one shows.

    threadpoolctl from 3.7 on lets only the thread that set OpenBLAS's limit first set it again: a caller's own
    `with threadpool_limits(…)` around our work leaves the main thread in control, and must change nothing for us.
    """
    with single_threaded_blas():  # scipy's BLAS must be loaded before it can be limited
        pass
    with threadpool_limits(limits=OTHER, user_api="blas"):
        if blas_threads() != {OTHER}:
            pytest.skip(f"this BLAS cannot be given {OTHER} threads")
        if request.param == "whoever asks":
            for library in ThreadpoolController().lib_controllers:
                if hasattr(library, "clear_controlling_thread"):
                    library.clear_controlling_thread(force=True)
        yield


@pytest.mark.usefixtures("several_threads")
class TestHold:
    def test_one_thread_inside_and_as_before_outside(self):
        with single_threaded_blas():
            assert blas_threads() == {1}
        assert blas_threads() == {OTHER}

    def test_in_a_thread_of_its_own(self):
        seen = []

        def task():
            with single_threaded_blas():
                seen.append(blas_threads())

        thread = threading.Thread(target=task)
        thread.start()
        thread.join(20)
        assert seen == [{1}]
        assert blas_threads() == {OTHER}

    def test_nested(self):
        with single_threaded_blas():
            with single_threaded_blas():
                assert blas_threads() == {1}
            assert blas_threads() == {1}, "the inner block must not lift the outer one's limit"
        assert blas_threads() == {OTHER}

    def test_lifted_after_an_error(self):
        with pytest.raises(KeyError), single_threaded_blas():
            raise KeyError
        assert blas_threads() == {OTHER}

    def test_tasks_that_overlap_do_not_undo_each_other(self):
        # A begins, B begins, A ends, B ends, and A's thread lives on, as a pool's does: the limit must last from the
        # first moment to the last, and be lifted then.
        a_in, b_in, a_out, b_out = (threading.Event() for _ in range(4))
        seen = {}

        def first():
            with single_threaded_blas():
                a_in.set()
                b_in.wait(10)
            a_out.set()
            b_out.wait(10)

        def second():
            a_in.wait(10)
            with single_threaded_blas():
                b_in.set()
                a_out.wait(10)
                seen["the first has ended"] = blas_threads()
            seen["both have ended"] = blas_threads()
            b_out.set()

        tasks = [threading.Thread(target=task) for task in (first, second)]
        for task in tasks:
            task.start()
        for task in tasks:
            task.join(20)
        assert seen == {"the first has ended": {1}, "both have ended": {OTHER}}
        assert blas_threads() == {OTHER}

    def test_many_tasks_at_once(self):
        seen = []

        def task():
            for _ in range(20):
                with single_threaded_blas():
                    seen.append(blas_threads())

        tasks = [threading.Thread(target=task) for _ in range(4)]
        for thread in tasks:
            thread.start()
        for thread in tasks:
            thread.join(60)
        assert len(seen) == 80
        assert set(map(frozenset, seen)) == {frozenset({1})}
        assert blas_threads() == {OTHER}


def covered(count, threads, work=None):
    """Return how often each row was worked on, and the ranges."""
    times, calls = np.zeros(count, int), []
    lock = threading.Lock()

    def kernel(mark, start, stop):
        assert mark == "mark"
        with lock:
            calls.append((start, stop))
            times[start:stop] += 1

    run_ranges(kernel, count, threads, "mark", work=work)
    return times, calls


@given(st.integers(0, 60), st.integers(1, 9))
@settings(max_examples=60)
def test_every_row_exactly_once(count, threads):
    times, calls = covered(count, threads)
    assert (times == 1).all()
    assert len(calls) <= threads


@given(st.lists(st.one_of(st.just(0), st.integers(0, 1000)), min_size=0, max_size=60), st.integers(1, 9))
@settings(max_examples=100)
def test_every_row_exactly_once_whatever_the_work(costs, threads):
    work = np.concatenate([[0], np.cumsum(costs)]).astype(np.int64)
    times, calls = covered(len(costs), threads, work)
    assert (times == 1).all()
    assert len(calls) <= threads


def test_ranges_are_of_equal_cost():
    # The first row costs as much as all others together.
    work = np.concatenate([[0], np.cumsum([100, *[1] * 100])])
    _, calls = covered(101, 2, work)
    assert sorted(calls) == [(0, 1), (1, 101)]


@pytest.mark.parametrize("failing", [0, 50])
def test_an_error_in_any_range_is_raised(failing):
    def kernel(start, stop):
        if start <= failing < stop:
            raise KeyError(failing)

    with pytest.raises(KeyError):
        run_ranges(kernel, 100, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_has_threads_of_its_own():
    # Servers that load first and fork then, and joblib's multiprocessing: the parent's pool does not live in the child.
    program = """
import os, signal, sys
import numpy as np
from neartag.core.threads import run_ranges

def doubled():
    out = np.ones(8)
    run_ranges(lambda out, start, stop: np.multiply(out[start:stop], 2, out=out[start:stop]), 8, 2, out)
    return out

doubled()
child = os.fork()
if child == 0:
    signal.alarm(120)  # ends a child that waits, for ever, for threads that it does not have
    os._exit(0 if (doubled() == 2).all() else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=300).returncode == 0


def pieces(run, count, threads, **options):
    """Return the pieces of 0…count that were worked on, in their order."""
    seen, lock = [], threading.Lock()

    def work_on(start, stop):
        with lock:
            seen.append((start, stop))

    run(work_on, count, threads, **options)
    return sorted(seen)


COUNTS = [0, 1, 7, 2 * BLOCK_ROWS - 1, 5 * BLOCK_ROWS + 3, 2 * MAX_PIECES * BLOCK_ROWS + 1]


@pytest.mark.parametrize("run", [run_pieces, run_blocks])
@pytest.mark.parametrize("count", COUNTS)
def test_pieces_cover_every_row_once_and_do_not_depend_on_the_threads(run, count):
    wanted = pieces(run, count, 1)
    assert [row for piece in wanted for row in range(*piece)] == list(range(count))
    for threads in (2, 3, 40):
        assert pieces(run, count, threads) == wanted


@pytest.mark.parametrize(("count", "min_size", "wanted"), [(10, 1, 10), (10, 4, 2), (10, 11, 1), (1000, 1, MAX_PIECES)])
def test_pieces_have_a_size_at_least(count, min_size, wanted):
    found = pieces(run_pieces, count, 2, min_size=min_size)
    assert len(found) == wanted
    assert all(stop - start >= min(min_size, count) for start, stop in found)


@pytest.mark.parametrize("run", [run_pieces, run_blocks])
def test_a_row_that_outweighs_a_piece_is_worked_on_once(run):
    count = 4 * BLOCK_ROWS
    costs = np.ones(count)
    costs[[0, 5, count - 1]] = 1e9
    found = pieces(run, count, 2, work=np.concatenate([[0], np.cumsum(costs)]))
    assert [row for piece in found for row in range(*piece)] == list(range(count))
    assert all(start < stop for start, stop in found), "no piece without rows"


def test_blocks_fit_the_cache():
    assert max(stop - start for start, stop in pieces(run_blocks, 9 * BLOCK_ROWS, 2)) == BLOCK_ROWS


def test_an_error_in_any_piece_is_raised():
    def work_on(start, stop):
        if start <= 77 < stop:
            raise KeyError(77)

    with pytest.raises(KeyError):
        run_pieces(work_on, 100, 2, min_size=1)


@pytest.mark.parametrize("count", COUNTS)
def test_sums_are_always_taken_in_the_same_order(count):
    values = np.random.default_rng(0).standard_normal((count, 3)).astype(np.float32)
    sums = {sum_blocks(lambda a, b: values[a:b].sum(axis=0), count, t).tobytes() for t in (1, 2, 3, 2, 3)}
    assert len(sums) == 1
    np.testing.assert_allclose(np.frombuffer(sums.pop(), np.float32), values.sum(axis=0, dtype=np.float64), atol=1e-2)


@pytest.mark.parametrize(("n_jobs", "meant"), [(None, 1), (1, 1), (7, 7), (np.int64(3), 3)])
def test_jobs(n_jobs, meant):
    assert resolve_jobs(n_jobs) == meant


def test_jobs_below_zero_count_from_all_cores():
    cores = available_cores()
    assert cores >= 1
    assert resolve_jobs(-1) == cores
    assert resolve_jobs(-2) == max(1, cores - 1)
    assert resolve_jobs(-1000) == 1


@pytest.mark.parametrize("n_jobs", [0, True, 1.5, "2"])
def test_jobs_that_are_no_number_of_jobs(n_jobs):
    with pytest.raises(ParameterError, match=f"n_jobs.*{n_jobs!r}"):
        resolve_jobs(n_jobs)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen on this system")
def test_only_the_cores_that_this_process_may_use_count():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert available_cores() == resolve_jobs(-1) == 1
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize("side_by_side", [False, True])
def test_two_tasks_return_what_each_returns(side_by_side):
    rows = np.zeros((2, 4000), np.int64)

    def fill(row):
        run_pieces(lambda start, stop: rows[row].__setitem__(slice(start, stop), row + 1), 4000, 2)
        return row

    assert run_both(lambda: fill(0), lambda: fill(1), side_by_side) == (0, 1)
    assert rows.tolist() == [[1] * 4000, [2] * 4000]


@pytest.mark.parametrize("side_by_side", [False, True])
@pytest.mark.parametrize("failing", [0, 1])
def test_the_error_of_either_task_is_raised(failing, side_by_side):
    def fail():
        raise ValueError("no")

    tasks = [lambda: None, lambda: None]
    tasks[failing] = fail
    with pytest.raises(ValueError, match="no"):
        run_both(*tasks, side_by_side)
