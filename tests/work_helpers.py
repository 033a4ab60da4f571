"""What tests of the work room share: a small plan of toy tasks, small trainings, and digests of models."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from neartag.data import synthetic
from neartag.work.executors.in_process import InProcess
from neartag.work.graph import Graph
from neartag.work.task import Task
from neartag.x1.classifier import X1Classifier
from refine_helpers import state_bytes

PLAIN = {"refine": False, "n_learners": 2, "n_clusters": 3, "embedding_dim": 8, "svp_neighbours": 20}
REFINED = {"n_learners": 2, "n_clusters": 2, "embedding_dim": 8, "svp_neighbours": 20}
KINDS = {"plain": PLAIN, "refined": REFINED}


def small_data():
    return synthetic.make(400, 200, 40, 10, 2)


def divide_in_blocks(monkeypatch):
    """Let the small data count as many points, which are divided block by block."""
    from neartag.x1 import kmeans_blocks, plan

    monkeypatch.setattr(plan, "BLOCK_POINTS", 150)
    monkeypatch.setattr(kmeans_blocks, "MIN_SAMPLE", 100)
    monkeypatch.setattr(kmeans_blocks, "SAMPLE_PER_CLUSTER", 40)


def fit(kind, executor=None, **options):
    """Return the bytes of a small model, trained by an executor."""
    data = small_data()
    model = X1Classifier(**{**KINDS[kind], "n_jobs": 1, **options}).fit(data.X, data.Y, executor=executor).model_
    return state_bytes(model)


class StoppedError(Exception):
    pass


class StopsAfter(InProcess):
    """Stops after so many tasks, and counts those that it ran."""

    def __init__(self, parts, tasks=10**9):
        super().__init__(1, None, parts)
        self.left, self.ran = tasks, []

    def submit(self, task, threads, course):
        if self.left == 0:
            raise StoppedError
        self.left -= 1
        self.ran.append(task.name)
        return super().submit(task, threads, course)


def add(context, number, log=None, pause=0.0, kill=None):
    """A toy task: the sum of its inputs and a number. It may write itself into a log, and end its process once."""
    if log is not None:
        with open(log, "a") as file:
            file.write(f"{number}\n")
    if kill is not None and not Path(kill).exists():
        Path(kill).touch()
        os.kill(os.getpid(), 9)
    time.sleep(pause)
    return {"sum": sum((context.get(name)["sum"] for name in context.inputs), np.array([number]))}


def fail(context, message):
    raise ValueError(message)


def toy(name, inputs=(), number=1, **others):
    arguments = {"number": number, **{key: others.pop(key) for key in ("log", "pause", "kill") if key in others}}
    return Task(name, "toy", "work_helpers:add", tuple(inputs), arguments, **others)


def diamond(**others):
    """Return the graph of a ── b, c ── d."""
    graph = Graph()
    graph.results.add("d")
    graph.add([toy("d", ["b", "c"]), toy("a", **others), toy("b", ["a"], 2), toy("c", ["a"], 3)])
    return graph


def eat_memory(context, megabytes, seconds):
    """A toy task that takes memory and holds it."""
    held = np.ones(megabytes * 2**17)  # of 8 bytes
    time.sleep(seconds)
    return {"sum": held[:1]}
