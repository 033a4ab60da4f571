"""Which workers are replaced: those that are dead, and those that have been silent for long."""

from __future__ import annotations

import logging
import threading

import pytest

pytest.importorskip("uvicorn")

from neartag.serve import supervisor
from neartag.serve.supervisor import STARTUP_FAILURE, Supervisor


class FakeProcess:
    def __init__(self, alive, exitcode):
        self.alive, self.exitcode = alive, exitcode

    def is_alive(self):
        return self.alive


class Worker:
    """Stands for uvicorn's: alive or not, answering or not."""

    made = 0

    def __init__(self, config, sockets, alive=True, answers=True, exitcode=-9):
        Worker.made += 1
        self.pid, self.answers, self.killed = Worker.made, answers, False
        self.process = FakeProcess(alive, exitcode)

    def ping(self, timeout):
        return self.answers

    def start(self):
        self.started = True

    def kill(self):
        self.killed = True

    def join(self):
        pass


@pytest.fixture
def made(monkeypatch):
    """Return a supervisor with a clock that stands until it is put forward."""
    own = object.__new__(Supervisor)  # uvicorn's constructor takes over the signals of the process
    own.config, own.sockets, own.should_exit, own._answered = None, [], threading.Event(), {}
    own._held, own._ready, own._chosen = [[], [], []], set(), []
    own.now = 0.0
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: own.now)
    return own


def test_the_dead_are_replaced_at_once_and_a_line_says_so(made, caplog):
    dead, busy = Worker(None, [], alive=False), Worker(None, [], answers=False)
    made.processes = [busy, dead]
    with caplog.at_level(logging.ERROR):
        made.keep_subprocess_alive()
    assert made.processes[0] is busy
    fresh = made.processes[1]
    assert fresh.started
    message = f"worker {dead.pid} ended with status -9: worker {fresh.pid} takes its place"
    assert [record.message for record in caplog.records] == [message]


def test_the_silent_are_replaced_after_a_while(made, caplog):
    silent, talking = Worker(None, [], answers=False), Worker(None, [])
    made.processes = [silent, talking]
    for made.now in (0.0, 20.0, 29.0):
        made.keep_subprocess_alive()
        assert made.processes == [silent, talking]
    made.now = 31.0
    with caplog.at_level(logging.ERROR):
        made.keep_subprocess_alive()
    assert silent.killed
    assert made.processes[0] is not silent
    assert made.processes[1] is talking
    assert "has not answered for 31 s" in caplog.text


def test_who_cannot_start_ends_the_server(made):
    made.processes = [Worker(None, [], alive=False, exitcode=STARTUP_FAILURE)]
    before = list(made.processes)
    made.keep_subprocess_alive()
    assert made.should_exit.is_set()
    assert made.processes == before
