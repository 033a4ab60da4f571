"""Executors: the right order, what is done is not done again, and processes that are killed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from neartag.core.errors import WorkError
from neartag.core.progress import Progress
from neartag.work.executors import base, pool
from neartag.work.executors.in_process import InProcess
from neartag.work.executors.joblib_processes import JoblibProcesses
from neartag.work.folder import WorkFolder
from neartag.work.graph import Graph
from neartag.work.parts import MemoryParts
from neartag.work.task import Task
from work_helpers import diamond, toy


@pytest.fixture(params=["one thread", "threads", "folder", "processes"])
def executor(request, tmp_path):
    folder = WorkFolder(tmp_path / "work")
    if request.param in ("folder", "processes"):
        folder.open({})
    return {
        "one thread": InProcess(),
        "threads": InProcess(3),
        "folder": InProcess(2, parts=folder),
        "processes": JoblibProcesses(2, folder),
    }[request.param]


def test_every_task_is_run_once_and_in_order(executor, tmp_path):
    log = str(tmp_path / "log")
    executor.run(diamond(log=log), Progress(), "work")
    assert executor.parts.get("d")["sum"].tolist() == [1 + (2 + 1) + (3 + 1)]
    executor.run(diamond(log=log), Progress(), "work")
    assert (tmp_path / "log").read_text() == "1\n" * (2 if isinstance(executor.parts, MemoryParts) else 1)


def test_a_plan_grows_while_it_runs(executor):
    def then(task):
        return [toy("e", ["d"], 100)] if task.name == "d" else []

    graph = diamond()
    graph.results.add("e")
    executor.run(graph, Progress(), "work", then)
    assert executor.parts.get("e")["sum"].tolist() == [108]


def test_an_error_of_a_task_is_the_error_of_the_run(executor):
    graph = Graph()
    graph.add([toy("a"), Task("b", "toy", "work_helpers:fail", ("a",), {"message": "it was b"})])
    with pytest.raises(ValueError, match="it was b"):
        executor.run(graph, Progress(), "work")


def test_progress_is_told_of_every_step(executor):
    class Counted(Progress):
        total = done = 0

        def start(self, total, description):
            self.total, self.done = total, 0
            return self

        def advance(self, steps=1, note=""):
            self.done += steps

    progress = Counted()
    executor.run(diamond(steps=5), progress, "work", lambda task: [toy("e")] if task.name == "a" else [])
    assert progress.total == progress.done == 5 + 3 + 1


def test_in_memory_parts_go_when_nobody_needs_them():
    executor = InProcess()
    executor.run(diamond(), Progress(), "work")
    assert [executor.parts.is_whole(name) for name in "abcd"] == [False, False, False, True]


def test_within_a_limit_no_more_runs_than_there_is_memory_for():
    executor, at_once, running = InProcess(4, room=10), [], []

    def watch(task, threads, course):
        running.append(task)
        at_once.append(sum(each.memory or 10 for each in running))
        future = submit(task, threads, course)
        future.add_done_callback(lambda _: running.remove(task))
        return future

    submit, executor.submit = executor.submit, watch
    graph = Graph()
    graph.add([toy(f"t{number}", memory=memory, pause=0.02) for number, memory in enumerate([5, 5, 9, 0, 1, 4])])
    executor.run(graph, Progress(), "work")
    assert max(at_once) <= 10
    assert len(at_once) == 6


def test_a_process_that_is_killed_is_replaced(tmp_path):
    folder = WorkFolder(tmp_path / "work")
    folder.open({})
    JoblibProcesses(2, folder).run(diamond(kill=str(tmp_path / "killed")), Progress(), "work")
    assert (tmp_path / "killed").exists()
    assert folder.get("d")["sum"].tolist() == [8]


def test_processes_that_are_killed_again_and_again_end_the_work(tmp_path, monkeypatch):
    folder = WorkFolder(tmp_path / "work")
    folder.open({})
    monkeypatch.setattr(pool, "MAX_BROKEN_POOLS", 0)
    with pytest.raises(WorkError, match="killed again and again, the last time at a"):
        JoblibProcesses(2, folder).run(diamond(kill=str(tmp_path / "killed")), Progress(), "work")
    JoblibProcesses(2, folder).run(diamond(), Progress(), "work")
    assert folder.get("d")["sum"].tolist() == [8]


def test_progress_counts_tasks_and_tells_what_is_left(monkeypatch):
    """One of four tasks took 10 s: the others take about 30."""
    told, now = [], [0.0]

    class Recorder(Progress):
        def advance(self, steps=1, note=""):
            told.append((steps, note))

    monkeypatch.setattr(base, "time", SimpleNamespace(monotonic=lambda: now[0]))
    course = base.Course(diamond(), MemoryParts(), Recorder(), "work", base.plan_no_more)
    for moment, left in ((10.0, "toy, about 30 s left"), (20.0, "toy, about 20 s left")):
        now[0] = moment
        task = course.ready()[0]
        course.begin(task)
        course.end(task)
        assert told[-1] == (1, left)
