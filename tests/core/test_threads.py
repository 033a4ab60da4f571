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
    available_cores,
    matmul_rows,
    resolve_jobs,
    run_ranges,
    single_threaded_blas,
    transpose_matmul,
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
from neartag.core.threads import tall_times
block = np.ones((8, 2))
tall_times(block, block.T, 2)
child = os.fork()
if child == 0:
    signal.alarm(5)  # a child that waits for threads that it does not have
    os._exit(0 if (tall_times(block, block.T, 2) == 2).all() else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [0, 1, 5, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_those_of_one_thread(threads, n, dtype):
    random = np.random.default_rng(0)
    tall, other = random.standard_normal((n, 4)).astype(dtype), random.standard_normal((n, 3)).astype(dtype)
    small = random.standard_normal((4, 3)).astype(dtype)
    product, squares = matmul_rows(tall, small, threads), transpose_matmul(tall, other, threads)
    assert product.dtype == squares.dtype == dtype
    np.testing.assert_allclose(product, tall @ small, rtol=0, atol=1e-5)
    np.testing.assert_allclose(squares, tall.T @ other, rtol=0, atol=1e-5)


def test_sums_over_ranges_do_not_depend_on_which_ended_first():
    random = np.random.default_rng(0)
    left = random.standard_normal((1000, 6)).astype(np.float32)
    sums = {transpose_matmul(left, left, 4).tobytes() for _ in range(20)}
    assert len(sums) == 1


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
