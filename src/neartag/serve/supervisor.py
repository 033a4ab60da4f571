"""The parent of several workers: one that died is replaced at once, one that hangs after a while, each with a line.

uvicorn's own asks one worker after the other whether it answers, and waits for each: a dead one was found only after a
busy one had answered.

Where workers have sockets of their own on one port, the parent keeps each of them open. Connections that wait to be
accepted by a worker that dies are then not lost: the worker that takes its place accepts them. New connections go to
the other workers until it is there.
"""

from __future__ import annotations

import inspect
import logging
import socket
import time
from typing import Any

from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from neartag.serve.shared_port import choose_sockets, share_port

logger = logging.getLogger("neartag.serve")

PING_SECONDS = 0.05  # that a worker's answer is waited for at each look; it may come until the next
HUNG_SECONDS = 30.0  # without any answer: a worker that is busy answers between two requests
STARTUP_FAILURE = 3  # exit status of a worker that could not start, and never would


class Supervisor(Multiprocess):
    """Keeps as many workers running as there are to be."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._answered: dict[int | None, float] = {}  # when each worker last answered, by its process id
        self._held: list[list[socket.socket]] = []  # the sockets of each worker
        self._ready: set[int | None] = set()  # process ids of workers that accept connections
        self._chosen: list[int] = []  # places of the workers that get new connections

    def init_processes(self) -> None:
        """Start all workers."""
        for _ in range(self.processes_num):
            self.handle_ttin()

    def handle_ttin(self) -> None:
        """Start one worker more."""
        self._held.append([share_port(each, self.config.backlog) for each in self.sockets])
        self.processes.append(self._make(Process, len(self.processes)))
        self.processes[-1].start()
        self.processes_num = len(self.processes)

    def handle_ttou(self) -> None:
        """End one worker, unless it is the last."""
        if len(self.processes) > 1:
            worker = self.processes.pop()
            self._choose_workers()
            self._close(self._held.pop())
            worker.terminate()
            worker.join()
            self.processes_num = len(self.processes)

    def restart_all(self) -> None:
        """Replace each worker; one that is to end does so once another takes its connections."""
        for place, old in enumerate(self.processes):
            if not self.should_exit.is_set():
                self.processes[place] = fresh = self._make(type(old), place)
                fresh.start()
                deadline = time.monotonic() + HUNG_SECONDS
                while not fresh.ping(PING_SECONDS) and fresh.process.is_alive() and time.monotonic() < deadline:
                    pass
                old.terminate()
                old.join()

    def terminate_all(self) -> None:
        """End all workers; from now on connections are refused."""
        for held in self._held:
            self._close(held)
        super().terminate_all()

    def keep_subprocess_alive(self) -> None:
        """Replace workers that are dead or hang."""
        for place, worker in enumerate(self.processes):
            if self.should_exit.is_set():
                return
            problem = self._find_problem(worker)
            if problem:
                self._replace(place, worker, problem)
        self._choose_workers()

    def _find_problem(self, worker: Any) -> str:
        """Return why a worker must be replaced; "" where it need not be."""
        now = time.monotonic()
        if not worker.process.is_alive():
            return f"ended with status {worker.process.exitcode}"
        # Older versions of uvicorn do not tell whether a worker that answers has started.
        if getattr(worker, "is_ready", worker.ping)(PING_SECONDS):
            self._ready.add(worker.pid)
            self._answered[worker.pid] = now
        elif worker.ping(PING_SECONDS):
            self._answered[worker.pid] = now
        silent = now - self._answered.setdefault(worker.pid, now)
        return f"has not answered for {silent:.0f} s" if silent > HUNG_SECONDS else ""

    def _replace(self, place: int, worker: Any, problem: str) -> None:
        self._answered.pop(worker.pid, None)
        self._ready.discard(worker.pid)
        worker.kill()
        worker.join()
        if worker.process.exitcode == STARTUP_FAILURE:
            logger.error("worker %s could not start: the server ends", worker.pid)
            self.should_exit.set()
            return
        self.processes[place] = fresh = self._make(type(worker), place)
        fresh.start()
        logger.error("worker %s %s: worker %s takes its place", worker.pid, problem, fresh.pid)

    def _choose_workers(self) -> None:
        """Let new connections go to the workers that accept them; to all where none does."""
        places = range(len(self.processes))
        chosen = [place for place in places if self.processes[place].pid in self._ready] or list(places)
        if chosen != self._chosen and self._held:
            self._chosen = chosen
            for member in self._held[0]:
                if member not in self.sockets:
                    choose_sockets(member, chosen)

    def _make(self, kind: Any, place: int) -> Any:
        # Older versions of uvicorn are told what a worker runs.
        target = (self.target,) if "target" in inspect.signature(kind).parameters else ()  # type: ignore[attr-defined]
        return kind(self.config, *target, self._held[place])

    def _close(self, held: list[socket.socket]) -> None:
        for each in held:
            if each not in self.sockets:
                each.close()
