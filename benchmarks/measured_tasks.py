"""A real training of made-up data of a shape, task by task: what each took, needed and wrote."""

from __future__ import annotations

import re
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from neartag.core.progress import Progress
from neartag.data import synthetic
from neartag.linalg.rows import as_rows, column_counts, normalise
from neartag.search.inverted_index import PRUNE_LOOSELY, search_work
from neartag.work.executors.dask import Dask, connect
from neartag.work.executors.in_process import InProcess
from neartag.work.executors.joblib_processes import JoblibProcesses
from neartag.work.folder import WorkFolder
from neartag.work.graph import Graph
from neartag.work.task import Task
from neartag.work.times import read_times
from neartag.x1.schedule import Machine
from neartag.x1.settings import X1Settings
from neartag.x1.shape import Shape
from neartag.x1.training import fit_model

SAMPLED_ROWS = 1000  # that tell how many entries a search reads
EMPTY_TASKS = 200  # that tell what a task costs which does nothing
PAUSE = 0.005  # seconds between two looks at the memory


class MemoryWatch:
    """Looks at this process's own memory (files that are mapped left out) again and again."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, int]] = []
        self._stop = threading.Event()

    def __enter__(self) -> MemoryWatch:
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(PAUSE):
            found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
            self.seen.append((time.time(), 1024 * int(found[1]) if found else 0))

    def peak(self, begun: float, seconds: float) -> int:
        """How much more there was at most during a task than before all of them; 0 for one too short to be looked at.

        What the tasks before it left to the process counts, so this is rather too much than too little.
        """
        during = [used for moment, used in self.seen if begun < moment <= begun + seconds]
        return max(0, max(during) - self.seen[0][1]) if during else 0


@contextmanager
def executors(engine: str, workers: int):
    """Give what makes an executor of a work folder."""
    if engine == "dask":
        with connect(None, workers) as client:
            yield lambda place: Dask(client, WorkFolder(place))
    elif engine == "processes":
        yield lambda place: JoblibProcesses(workers, WorkFolder(place))
    else:
        yield lambda place: InProcess(workers, None, WorkFolder(place))


def train(make, data, parameters: dict, place: Path) -> tuple[float, float]:
    """Train as `neartag train` does, once the data are read; return seconds of the clock and of processors."""
    rows, asked = normalise(as_rows(data.X)), X1Settings.from_parameters(parameters)
    started, cpu = time.perf_counter(), time.process_time()
    fit_model(rows, data.Y, asked, Machine(1), Progress(), False, make(place))
    return time.perf_counter() - started, time.process_time() - cpu


def empty_task_seconds(make, place: Path) -> float:
    """What a task costs that does nothing."""
    graph = Graph()
    nothing = "neartag.x1.steps:choose_graph"
    graph.add(Task(f"nothing/{number:05d}", "nothing", nothing, (), {"attempts": []}) for number in range(EMPTY_TASKS))
    executor = make(place)
    executor.parts.open({})
    started = time.perf_counter()
    executor.run(graph, Progress(), "nothing")
    return (time.perf_counter() - started) / EMPTY_TASKS


def measure(shape: Shape, parameters: dict, engine: str, workers: int) -> dict:
    """Train once, after a small training that loads all code, and return all that was measured."""
    few = min(shape.features, shape.labels) / 2
    averages = min(shape.features_per_point, few), min(shape.labels_per_point, few)
    data = synthetic.make(shape.points, shape.features, shape.labels, *averages)
    sample = data.X[:: max(1, shape.points // SAMPLED_ROWS)]
    read = search_work(column_counts(data.X), shape.points, sample, 21, PRUNE_LOOSELY) / shape.points
    known = replace(
        shape,
        features_per_point=data.X.nnz / shape.points,
        labels_per_point=data.Y.nnz / shape.points,
        read=float(read),
    )
    with tempfile.TemporaryDirectory(prefix="neartag-measured-") as folder, executors(engine, workers) as make:
        place = Path(folder)
        train(make, synthetic.make(600, 300, 60, 10, 2), {"n_clusters": 2}, place / "warm")
        overhead = empty_task_seconds(make, place / "empty")
        with MemoryWatch() as memory:
            seconds, cpu = train(make, data, parameters, place / "work")
        times = read_times(place / "work")
    first, last = min(took.begun for took in times), max(took.begun + took.seconds for took in times)
    is_alone = engine == "threads" and workers == 1
    tasks = [{**asdict(took), "peak": memory.peak(took.begun, took.seconds) if is_alone else None} for took in times]
    return {
        "shape": asdict(known),
        "parameters": parameters,
        "engine": engine,
        "workers": workers,
        "seconds": seconds,
        "cpu": cpu,
        "around": {"seconds": seconds - (last - first), "cpu": cpu - sum(took.cpu for took in times)},
        "task overhead": overhead,
        "tasks": tasks,
    }
