"""Blocks that helper processes work on: the same results in the same order, whoever works and whoever is killed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neartag.core import processes
from neartag.core.processes import map_in_order
from process_helpers import inline_helpers

BLOCKS = [(number, "x" * number) for number in range(9)]


def measure(number: int, text: str) -> tuple[int, int]:
    return number, len(text)


def all_of(blocks):
    return list(map_in_order(measure, blocks, lambda block: 1.0))


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("here", [0, 3, 8, 9, 100])
def test_the_results_come_in_order(count, here):
    wanted = [(block, measure(*block)) for block in BLOCKS]
    assert all_of(BLOCKS) == wanted
    with inline_helpers(count, here=here) as executor:
        assert all_of(BLOCKS) == wanted
        assert executor.calls == max(0, len(BLOCKS) - here)
        assert all_of([]) == []


@pytest.mark.parametrize("works", range(10))
def test_what_killed_helpers_did_not_finish_is_done_here(works):
    with inline_helpers(2, works=works):
        assert [result for _, result in all_of(BLOCKS)] == [measure(*block) for block in BLOCKS]


@pytest.mark.parametrize("before", [0, 1, 4])
def test_an_error_of_the_source_comes_after_what_stands_before_it(before):
    def source():
        yield from BLOCKS[:before]
        raise ValueError("the file is damaged")

    with inline_helpers(3):
        found = map_in_order(measure, source(), lambda block: 1.0)
        assert [next(found)[1] for _ in range(before)] == [measure(*block) for block in BLOCKS[:before]]
        with pytest.raises(ValueError, match="damaged"):
            next(found)


def test_an_error_of_the_function_is_raised():
    with inline_helpers(2):
        found = map_in_order(measure, [(1, "a"), (2, 3)], lambda block: 1.0)
        assert next(found) == ((1, "a"), (1, 1))
        with pytest.raises(TypeError):
            next(found)


def test_helpers_that_are_there_already_do_all():
    with inline_helpers(2, here=100) as executor:
        offered = processes.offered_processes()
        with processes.offer_processes(replace(offered, has_started=lambda: True)):
            assert [result for _, result in all_of(BLOCKS)] == [measure(*block) for block in BLOCKS]
        assert executor.calls == len(BLOCKS)


@pytest.mark.parametrize("error", [OSError, ImportError, NotImplementedError])
def test_where_no_helper_can_be_started_all_is_done_here(error):
    def refuse():
        raise error("no semaphores here")

    with inline_helpers(2) as executor:
        offered = processes.offered_processes()
        with processes.offer_processes(replace(offered, start=refuse)):
            assert [result for _, result in all_of(BLOCKS)] == [measure(*block) for block in BLOCKS]
        assert executor.calls == 0
