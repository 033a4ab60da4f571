"""Dask: the same model from a real cluster of processes, whatever happens to the cluster meanwhile."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cli_helpers import succeed
from neartag import store
from neartag.core.errors import ParameterError, WorkError
from neartag.core.progress import Progress
from neartag.data import Dataset, formats
from neartag.work.folder import WorkFolder
from neartag.work.graph import Graph
from neartag.work.remote_folder import open_folder
from neartag.work.task import Task
from neartag.work.times import read_times
from neartag.x1.classifier import X1Classifier
from neartag.x1.schedule import cluster_bytes, row_bytes
from neartag.x1.settings import X1Settings
from refine_helpers import state_bytes
from work_helpers import KINDS, REFINED, diamond, divide_in_blocks, fit, small_data, toy

distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")

from neartag import dask as public  # noqa: E402
from neartag.work.executors import dask as executor  # noqa: E402
from neartag.work.executors.dask import Dask, connect  # noqa: E402

TESTS = Path(__file__).parents[1]
# How often a client is killed, and whether a worker is killed in every stage: few by default, for they take long.
KILLS = int(os.environ.get("NEARTAG_KILLS", "1"))
MEMORY_LIMIT = 900_000_000  # bytes of a worker that is to exceed them
STAGES: tuple[str, ...] = ("cluster", "hard-negatives")
if os.environ.get("NEARTAG_EVERY_STAGE"):
    STAGES += ("index", "sample", "assignment", "partition", "learner", "vote", "others", "centroids", "neighbours")
    STAGES += ("problems", "trial-rankers", "candidates", "cost", "rankers", "fusion", "reranker")


@pytest.fixture(scope="module")
def client():
    os.environ["PYTHONPATH"] = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    with connect(None, 3) as connected:
        yield connected


@pytest.mark.parametrize("in_blocks", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster_of_three_workers_trains_the_same_model(client, kind, in_blocks, tmp_path, monkeypatch):
    if in_blocks:
        divide_in_blocks(monkeypatch)
    assert fit(kind, Dask(client, WorkFolder(tmp_path / "work"))) == fit(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_work_folder_elsewhere_needs_no_disk_that_all_see(client, kind, tmp_path, monkeypatch):
    """The workers have another temporary folder than this process: that of other computers."""
    pytest.importorskip("fsspec")
    theirs = set(client.run(tempfile.gettempdir).values())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = open_folder((tmp_path / "bucket" / "run").as_uri())
    with closing(Dask(client, folder)) as cluster:
        assert fit(kind, cluster) == fit(kind)
        copies = [Path(place) / folder.place.name for place in theirs]
        assert all((copy / "parts" / "rows.part").exists() for copy in [folder.place, *copies])
    assert not any(copy.exists() for copy in [folder.place, *copies])
    folder.remove()
    assert not any((tmp_path / "bucket").iterdir())


def test_a_plan_runs_and_goes_on(client, tmp_path):
    folder = WorkFolder(tmp_path / "work")
    folder.open({})
    log = str(tmp_path / "log")

    def then(task):
        return [toy("e", ["d"], 100)] if task.name == "d" else []

    for _ in range(2):
        Dask(client, folder).run(diamond(log=log), Progress(), "work", then)
    assert folder.get("e")["sum"].tolist() == [108]
    assert Path(log).read_text() == "1\n", "run once"


def test_stages_are_named_on_the_dashboard(client, tmp_path):
    from dask.utils import key_split

    folder, seen = WorkFolder(tmp_path / "work"), []
    folder.open({})
    submit = client.submit

    class Watched:
        def __getattr__(self, name):
            return getattr(client, name)

        def submit(self, *given, key, **options):
            seen.append(key_split(key))
            return submit(*given, key=key, **options)

    graph = Graph()
    graph.add([Task("a/1", "hard-negatives", "work_helpers:add", (), {"number": 1}), toy("b", ["a/1"])])
    Dask(Watched(), folder).run(graph, Progress(), "work")
    assert seen == ["hard-negatives", "toy"]


def test_the_scheduler_has_a_task_for_each_thread_and_more_when_they_wait_long(client, tmp_path, monkeypatch):
    """Three threads; tasks of 0.1 s. First three are sent, and in the end all that are left."""
    monkeypatch.setattr(executor, "PATIENCE", 0.25)
    folder, sent = WorkFolder(tmp_path / "work"), []
    folder.open({})
    submit = Dask._submit

    def watch(self, course, futures, *given):
        submit(self, course, futures, *given)
        sent.append(len(futures))

    monkeypatch.setattr(Dask, "_submit", watch)
    graph = Graph()
    graph.add(toy(f"t{number:02d}", pause=0.1) for number in range(40))
    Dask(client, folder).run(graph, Progress(), "work")
    assert sent[0] == 3
    assert max(sent) > 6
    assert all(folder.is_whole(name) for name in graph.tasks)


def test_an_error_of_a_task_is_the_error_of_the_run(client, tmp_path):
    folder = WorkFolder(tmp_path / "work")
    folder.open({})
    graph = Graph()
    graph.add([toy("a"), Task("b", "toy", "work_helpers:fail", ("a",), {"message": "it was b"})])
    with pytest.raises(ValueError, match="it was b"):
        Dask(client, folder).run(graph, Progress(), "work")


def test_a_task_that_no_worker_has_memory_for_is_refused(client, tmp_path):
    folder = WorkFolder(tmp_path / "work")
    folder.open({})
    graph = Graph()
    graph.add([toy("a", memory=2**50)])
    with pytest.raises(ParameterError, match=r"a needs about .* GB, and no worker allows tasks more than"):
        Dask(client, folder).run(graph, Progress(), "work")


def test_a_task_has_the_threads_of_its_worker(client):
    from numba import get_num_threads

    assert set(client.run(get_num_threads).values()) == {1}


@pytest.mark.parametrize("is_remote", [False, True])
def test_models_are_trained_and_asked_by_name(client, is_remote, tmp_path):
    if is_remote:
        pytest.importorskip("fsspec")
    data = small_data()
    names = [f"label {number}" for number in range(data.Y.shape[1])]
    points = Dataset(data.X, data.Y, names)
    options = {**REFINED, "n_jobs": 1}
    elsewhere = (tmp_path / "elsewhere").as_uri() if is_remote else None
    stored = public.train(client, points, tmp_path / "model", work_dir=elsewhere, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    public.predict(client, tmp_path / "model", points, tmp_path / "answers.jsonl", k=3, work_dir=elsewhere)
    assert {path.name for path in tmp_path.iterdir()} == {"model", "answers.jsonl"}
    lines = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    labels, scores = stored.model.predict_topk(data.X, 3)
    assert [line["labels"] for line in lines] == [[names[label] for label in row] for row in labels]
    assert np.array_equal([line["scores"] for line in lines], scores)


def test_commands_work_on_a_cluster_that_runs(client, tmp_path):
    """Trained, given one more learner, and asked: as by threads, byte for byte."""
    formats.write(small_data(), tmp_path / "data.txt")
    cluster = "--engine", "dask", "--scheduler", client.scheduler.address
    answers = {}
    for name, engine in (("local", ()), ("cluster", cluster)):
        model = tmp_path / name
        succeed("train", tmp_path / "data.txt", model, *options_of(REFINED), *engine)
        succeed("train", tmp_path / "data.txt", model, "--add-learners", "1", *engine)
        answers[name] = tmp_path / f"{name}.txt"
        succeed("predict", model, tmp_path / "data.txt", "--scores", "--quiet", "-o", answers[name], *engine)
    assert store.inspect(tmp_path / "local")["digest"] == store.inspect(tmp_path / "cluster")["digest"]
    assert answers["local"].read_bytes() == answers["cluster"].read_bytes()
    assert not list(tmp_path.glob("*.work"))


# ---- faults


class KillOnce(distributed.WorkerPlugin):
    """Kills the worker that begins a task of a stage, once for each stage."""

    name = "kill-once"

    def __init__(self, folder, stages):
        self.folder, self.stages = str(folder), stages

    def transition(self, key, start, finish, **options):
        stage = key[0].rpartition("-")[0] if isinstance(key, tuple) else ""
        if finish == "executing" and stage in self.stages:
            try:
                os.close(os.open(os.path.join(self.folder, stage), os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return
            self.end()

    def end(self):
        os.kill(os.getpid(), signal.SIGKILL)


def test_workers_that_are_killed_in_each_stage_are_replaced(client, tmp_path, monkeypatch):
    divide_in_blocks(monkeypatch)
    killed = tmp_path / "killed"
    killed.mkdir()
    client.register_plugin(KillOnce(killed, STAGES))
    try:
        found = fit("refined", Dask(client, WorkFolder(tmp_path / "work")))
    finally:
        client.unregister_worker_plugin("kill-once")
    assert sorted(path.name for path in killed.iterdir()) == sorted(STAGES)
    assert found == fit("refined")


def test_a_worker_that_dies_takes_nothing_of_a_work_folder_elsewhere_with_it(client, tmp_path):
    pytest.importorskip("fsspec")
    killed = tmp_path / "killed"
    killed.mkdir()
    client.register_plugin(KillOnce(killed, ("cluster",)))
    try:
        with closing(Dask(client, open_folder((tmp_path / "run").as_uri()))) as cluster:
            assert fit("plain", cluster) == fit("plain")
    finally:
        client.unregister_worker_plugin("kill-once")
    assert (killed / "cluster").exists(), "it did happen"


class EatOnce(KillOnce):
    """Takes more memory than a worker may have when it begins a task of a stage, once."""

    name = "eat-once"

    def end(self):
        self.held = np.ones(MEMORY_LIMIT // 8)


def test_a_worker_that_takes_too_much_memory_is_told_of(tmp_path):
    """By a task that always does; where it happens once, the training goes on, and its model is the same."""
    import dask

    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": 0.95,
        "distributed.nanny.environ.PYTHONPATH": os.environ["PYTHONPATH"],
    }
    folder = WorkFolder(tmp_path / "work")
    folder.open({})
    graph = Graph()
    hungry = {"megabytes": MEMORY_LIMIT >> 20, "seconds": 8}
    graph.add([toy("a"), Task("b", "toy", "work_helpers:eat_memory", ("a",), hungry)])
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, memory_limit=MEMORY_LIMIT, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as own,
    ):
        with pytest.raises(WorkError, match=r"workers died again and again at b: .* is kept in"):
            Dask(own, folder).run(graph, Progress(), "work")
        assert folder.is_whole("a")
        own.register_plugin(EatOnce(tmp_path, ("hard-negatives",)))
        assert fit("refined", Dask(own, WorkFolder(tmp_path / "training"))) == fit("refined")
    assert (tmp_path / "hard-negatives").exists(), "it did happen"


@pytest.mark.parametrize("kind", KINDS)
def test_clusters_that_fit_no_worker_are_split_before_they_are_sent(kind, tmp_path):
    """Two workers that allow tasks as much memory as 300 points need; asked for is one cluster of all 400."""
    options = {"n_clusters": 1, "n_learners": 1, "embedding_dim": 8, "svp_neighbours": 20}
    settings = X1Settings.from_parameters({**KINDS[kind], **options})
    allowed = cluster_bytes(300, 3000, 200, settings.svp) + row_bytes(3000)
    folder, data = WorkFolder(tmp_path / "work"), small_data()
    chosen = {**KINDS[kind], **options, "n_jobs": 1}
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, resources={executor.MEMORY: allowed}, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as own,
        pytest.warns(UserWarning, match="no worker has memory for a cluster of 400 points: larger ones than 2.. are"),
    ):
        model = X1Classifier(**chosen).fit(data.X, data.Y, executor=Dask(own, folder)).model_
    (learner,) = model.learners
    size = model.parameters["max_cluster_size"]
    assert len(learner.clusters) > 1
    assert max(len(each.members) for each in learner.clusters) <= size
    needed = {took.name: took.memory for took in read_times(folder.place) if took.stage == "cluster"}
    assert len(needed) >= len(learner.clusters)
    assert 0 < max(needed.values()) <= allowed
    here = X1Classifier(**chosen, max_cluster_size=size).fit(data.X, data.Y).model_
    assert state_bytes(model) == state_bytes(here)
    assert state_bytes(model) != state_bytes(X1Classifier(**chosen).fit(data.X, data.Y).model_)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(*arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", *arguments]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env=environment, start_new_session=True, **quiet)


def end(process):
    """End a process and those that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_a_scheduler_that_is_restarted(tmp_path):
    import dask

    folder, port = WorkFolder(tmp_path / "work"), free_port()
    address = f"tcp://127.0.0.1:{port}"
    running = []

    def start_cluster():
        options = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show"]
        running.append(start("distributed.cli.dask_scheduler", *options))
        worker = [address, "--nthreads", "1", "--no-dashboard", "--local-directory", str(tmp_path)]
        running.append(start("distributed.cli.dask_worker", *worker))

    class KillsScheduler(Progress):
        done = 0

        def advance(self, steps=1, note=""):
            self.done += steps
            if self.done > 4 and running[0].poll() is None:
                end(running[0])

    settings = {"distributed.comm.timeouts.connect": "1s", "distributed.comm.retry.count": 0}
    try:
        start_cluster()
        data, options = small_data(), {**REFINED, "n_jobs": 1}
        with dask.config.set(settings):
            distributed.Client(address, timeout=60).close()  # until there is a scheduler
            # A task that is sent when the scheduler is gone waits as long as a client tries to find it again.
            own = distributed.Client(address, timeout=5)
            with pytest.raises(WorkError, match="connection to Dask's scheduler was lost"):
                X1Classifier(**options).fit(data.X, data.Y, progress=KillsScheduler(), executor=Dask(own, folder))
            own.close(timeout=1)
        assert any((folder.place / "parts").iterdir())
        for process in running:
            end(process)
        running.clear()
        start_cluster()
        with distributed.Client(address, timeout=60) as own:
            assert fit("refined", Dask(own, folder)) == fit("refined")
    finally:
        for process in running:
            end(process)


def options_of(settings):
    return [
        word
        for name, value in {**settings, "n_jobs": 1}.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]


def same_files(one, other):
    names = sorted(path.name for path in one.iterdir() if path.is_file() and path.name != ".lock")
    assert names == sorted(path.name for path in other.iterdir() if path.is_file() and path.name != ".lock")
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


@pytest.mark.parametrize(
    ("engine", "is_remote"),
    [(["--engine", "dask", "--workers", "2"], False), ([], False), ([], True)],
    ids=["dask", "threads", "elsewhere"],
)
def test_a_client_that_is_killed_at_any_moment_goes_on(engine, is_remote, whole, tmp_path):
    """One training is killed and resumed until it was killed often enough; should it end before, another begins."""
    work = tmp_path / "work"
    if is_remote:
        pytest.importorskip("fsspec")
    given = work.as_uri() if is_remote else str(work)
    training = [*whole.command, str(tmp_path / "model"), *options_of(REFINED), *engine, "--work-dir", given]
    draw, killed, together = random.Random(0), 0, 0
    most = max(1, 2 * whole.parts // KILLS)
    while killed < KILLS:
        before, process = count_parts(work), start(*training)
        wanted, patience = before + draw.randint(0, most), time.monotonic() + 120
        while process.poll() is None and count_parts(work) < wanted and time.monotonic() < patience:
            time.sleep(0.002)
        time.sleep(draw.uniform(0, 0.05))  # not only when a part was written just now
        if process.poll() is None:
            killed, together = killed + 1, together + (before > 0)
        end(process)
        if (tmp_path / "model").exists() and not work.exists():  # it ended before it was killed
            assert same_files(tmp_path / "model", whole.folder)
            shutil.rmtree(tmp_path / "model")
    assert start(*training).wait() == 0
    assert same_files(tmp_path / "model", whole.folder)
    assert not work.exists()
    if is_remote:
        (prefix, _, _) = open_folder(given).place.name.rpartition("-")
        assert not list(Path(tempfile.gettempdir()).glob(f"{prefix}-*")), "nor copies of those that were killed"
    print(f"killed {killed} times, of these {together} times after it had gone on")


def count_parts(work):
    # Unlike a glob this passes over folders that go meanwhile: a training that ends removes them.
    return sum(name.endswith(".part") for _, _, names in os.walk(work / "parts") for name in names)


@dataclass
class Whole:
    """A training that nobody disturbed: its command without a target, its model, and how many parts it had."""

    command: list[str]
    folder: Path
    parts: int


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    formats.write(small_data(), folder / "data.txt")
    command = ["neartag", "train", str(folder / "data.txt")]
    options = [*options_of(REFINED), "--work-dir", str(folder / "work"), "--keep-work"]
    assert start(*command, str(folder / "model"), *options).wait() == 0
    return Whole(command, folder / "model", count_parts(folder / "work"))


def test_a_full_disk_is_named_and_the_work_so_far_is_kept(client, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(small)], capture_output=True
    )
    if not mounted or mounted.returncode:
        pytest.skip("a small tmpfs cannot be mounted here")
    try:
        folder = WorkFolder(small / "work")
        with pytest.raises(WorkError, match="no room is left on the disk of"):
            fit("refined", Dask(client, folder))
        kept = [path.relative_to(folder.place / "parts") for path in (folder.place / "parts").rglob("*.part")]
        assert kept
        assert all(folder.is_whole(os.fspath(path.with_suffix(""))) for path in kept)
        subprocess.run(["mount", "-o", "remount,size=50m", str(small)], check=True)
        assert fit("refined", Dask(client, folder)) == fit("refined")
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)


def test_a_model_that_was_trained_by_dask_is_loaded(client, tmp_path):
    data = small_data()
    public.train(client, (data.X, data.Y), tmp_path / "model", **KINDS["plain"], n_jobs=1)
    assert store.load(tmp_path / "model").model.n_points == 400
