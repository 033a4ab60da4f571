"""Training in a work folder: it goes on where it stopped, finds what was damaged, and refuses what does not fit."""

from __future__ import annotations

import errno

import numpy as np
import pytest

from neartag.core.errors import ParameterError, WorkError
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import as_rows, normalise
from neartag.work.executors.in_process import InProcess
from neartag.work.executors.joblib_processes import JoblibProcesses
from neartag.work.folder import WorkFolder
from neartag.work.parts import run_task
from neartag.x1 import schedule
from neartag.x1.classifier import X1Classifier
from neartag.x1.plan import Room, cluster_sizes
from neartag.x1.resolve import DataFacts, resolve
from neartag.x1.schedule import cluster_bytes, row_bytes
from neartag.x1.settings import X1Settings
from neartag.x1.training import make_plan
from refine_helpers import state_bytes
from work_helpers import KINDS, StoppedError, StopsAfter, divide_in_blocks, fit, small_data


@pytest.fixture(scope="module", params=KINDS)
def whole(request, tmp_path_factory):
    """A finished work folder, the bytes of its model, and the tasks in the order in which they ran."""
    folder = WorkFolder(tmp_path_factory.mktemp("whole") / "work")
    executor = StopsAfter(folder)
    return request.param, fit(request.param, executor), executor.ran


def test_the_model_is_that_of_memory(whole):
    kind, wanted, ran = whole
    assert fit(kind) == wanted
    assert len(ran) == len(set(ran))


def assert_goes_on(kind, wanted, everything, stops, place):
    """Stop a training after so many tasks each time, and hold the last one's model and all tasks to those wanted."""
    folder, ran = WorkFolder(place), []
    for stop in stops:
        executor = StopsAfter(folder, stop)
        with pytest.raises(StoppedError):
            fit(kind, executor)
        ran += executor.ran
    last = StopsAfter(folder)
    assert fit(kind, last) == wanted
    assert ran + last.ran == everything, "no task twice, and in the same order"


def test_it_goes_on_where_it_stopped(whole, tmp_path):
    kind, wanted, everything = whole
    stops = (0, 3, len(everything) // 2 - 3, len(everything) // 2 - 1)
    assert_goes_on(kind, wanted, everything, stops, tmp_path / "work")


@pytest.mark.parametrize("kind", KINDS)
def test_points_that_are_divided_in_blocks_are_the_same_for_every_executor(kind, tmp_path, monkeypatch):
    one_piece = fit(kind)
    divide_in_blocks(monkeypatch)
    wanted, everything = fit(kind), StopsAfter(WorkFolder(tmp_path / "whole"))
    assert wanted != one_piece
    assert fit(kind, everything) == wanted
    divided = [name for name in everything.ran if name.startswith(("sample/", "assignment/", "means/", "partition/"))]
    assert len(divided) == 2 * (1 + 3 + 1 + 3 + 1), "of each of two learners"
    assert fit(kind, JoblibProcesses(2, WorkFolder(tmp_path / "processes"))) == wanted
    assert_goes_on(kind, wanted, everything.ran, (1, 4, 3, 6), tmp_path / "work")


@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_damaged_parts_are_found_and_computed_again(whole, tmp_path, damage):
    kind, wanted, everything = whole
    folder = WorkFolder(tmp_path / "work")
    with pytest.raises(StoppedError):
        fit(kind, StopsAfter(folder, len(everything) - 2))
    names = [everything[0], everything[len(everything) // 2], everything[-3], "labels"]
    for name in names:
        path = folder.path(name)
        content = bytearray(path.read_bytes())
        content[len(content) // 3] ^= 4
        if damage == "gone":
            path.unlink()
        else:
            path.write_bytes(content if damage == "flipped" else content[: len(content) // 2])
    last = StopsAfter(folder)
    assert fit(kind, last) == wanted
    assert set(last.ran) == {*names[:3], *everything[-2:]}


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        ({"embedding_dim": 9}, "embedding_dim was 8 there, and is 9 now"),
        ({"random_state": 7}, "random_state was 0 there, and is 7 now"),
    ],
)
def test_other_parameters_are_refused_by_name(tmp_path, options, difference):
    with pytest.raises(StoppedError):
        fit("plain", StopsAfter(WorkFolder(tmp_path / "work"), 1))
    with pytest.raises(ParameterError, match=difference):
        fit("plain", StopsAfter(WorkFolder(tmp_path / "work")), **options)


def test_other_data_are_refused(tmp_path):
    data = small_data()
    with pytest.raises(StoppedError):
        fit("plain", StopsAfter(WorkFolder(tmp_path / "work"), 1))
    X, Y = data.X.copy(), data.Y
    X.data[0] += 1
    with pytest.raises(ParameterError, match="digest of the rows was"):
        X1Classifier(**KINDS["plain"]).fit(X, Y, executor=StopsAfter(WorkFolder(tmp_path / "work")))
    with pytest.raises(ParameterError, match="points was 400 there, and is 399 now"):
        X1Classifier(**KINDS["plain"]).fit(data.X[1:], Y[1:], executor=StopsAfter(WorkFolder(tmp_path / "work")))


def test_the_machine_may_be_another_one(tmp_path):
    with pytest.raises(StoppedError):
        fit("plain", StopsAfter(WorkFolder(tmp_path / "work"), 1))
    assert fit("plain", InProcess(2, None, WorkFolder(tmp_path / "work")), n_jobs=2) == fit("plain")


@pytest.mark.parametrize("kind", ["dense", "hybrid"])
def test_dense_and_hybrid_rows_go_through_files_unchanged(tmp_path, kind):
    data = small_data()
    vectors = np.random.default_rng(0).standard_normal((400, 6)).astype(np.float32)
    X = HybridRows(data.X, vectors) if kind == "hybrid" else np.hstack([vectors, data.X[:, :20].toarray()])
    options = {**KINDS["refined"], "n_jobs": 1}
    executor = InProcess(1, None, WorkFolder(tmp_path / "work"))
    one, other = (X1Classifier(**options).fit(X, data.Y, executor=each).model_ for each in (None, executor))
    assert state_bytes(one) == state_bytes(other)


def test_clusters_in_files_take_no_memory_from_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(schedule.memory, "in_use", lambda: 0)
    data, options = small_data(), {**KINDS["plain"], "n_jobs": 1}
    free = X1Classifier(**options).fit(data.X, data.Y).model_
    sizes = [len(cluster.members) for learner in free.learners for cluster in learner.clusters]
    need = max(cluster_bytes(size, int(data.X.nnz / 400 * size), 200, free.settings.svp) for size in sizes)
    with pytest.raises(ParameterError, match="max_memory leaves"):
        X1Classifier(**options, max_memory=need).fit(data.X, data.Y)
    need += max(row_bytes(int(data.X.nnz / 400 * size)) for size in sizes)  # which are in no memory before either
    executor = InProcess(1, need, WorkFolder(tmp_path / "work"))
    assert X1Classifier(**options, max_memory=need).fit(data.X, data.Y, executor=executor).model_.n_points == 400


def test_a_random_seed_is_drawn_once(tmp_path):
    with pytest.raises(StoppedError):
        fit("plain", StopsAfter(WorkFolder(tmp_path / "work"), 3), random_state=None)
    seeds = np.array(WorkFolder(tmp_path / "work").get("run")["seeds"])
    fit("plain", StopsAfter(WorkFolder(tmp_path / "work")), random_state=None)
    assert np.array_equal(WorkFolder(tmp_path / "work").get("run")["seeds"], seeds)


def test_a_full_disk_is_named_and_the_work_so_far_is_kept(whole, tmp_path, monkeypatch):
    kind, wanted, everything = whole
    folder, written = WorkFolder(tmp_path / "work"), []

    def full(self, path, pieces, **options):
        written.append(path)
        if len(written) > 8:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, path, pieces, **options)

    write = WorkFolder._write
    with monkeypatch.context() as patch:
        patch.setattr(WorkFolder, "_write", full)
        with pytest.raises(WorkError, match=r"no room is left on the disk of .*work.* to go on"):
            fit(kind, StopsAfter(folder))
    last = StopsAfter(folder)
    assert fit(kind, last) == wanted
    assert len(last.ran) < len(everything)


def test_votes_that_are_better_have_work_of_their_own(tmp_path, monkeypatch):
    from neartag.x1 import steps

    X = np.random.default_rng(0).standard_normal((300, 10)).astype(np.float32)
    Y = (X[:, :3] > 0.5).astype(np.float32)
    monkeypatch.setattr(steps, "mean_precision", lambda labels, truth: float(next(told)))
    options = {"n_learners": 1, "n_clusters": 1, "embedding_dim": 4, "svp_neighbours": 10, "n_jobs": 1}
    told = iter([80, 79])
    wanted = X1Classifier(**options).fit(X, Y).model_
    told = iter([80, 79])
    folder = WorkFolder(tmp_path / "work")
    found = X1Classifier(**options).fit(X, Y, executor=InProcess(1, None, folder)).model_
    assert found.reranker is wanted.reranker is None
    assert np.array_equal(found.learners[0].clusters[0].points, wanted.learners[0].clusters[0].points)
    assert (folder.place / "votes-alone" / "plan.json").exists()


def assert_planned_beforehand(kind, folder, everything):
    data, held_out = small_data(), np.array(folder.get("held-out")["points"])
    rows = normalise(as_rows(data.X))
    settings = resolve(X1Settings.from_parameters(KINDS[kind]), DataFacts.of(rows, data.Y.shape[1]))
    plan = make_plan(rows, data.Y, settings, len(held_out), False, may_do_without=False)
    partitions = [folder.get(f"partition/{number:03d}") for number in range(2)]
    sizes, full = ([cluster_sizes(each, gone) for each in partitions] for gone in (held_out, held_out[:0]))
    assert {task.name for task in plan.all_tasks(sizes, full, Room())} == set(everything)


def test_every_task_reads_only_what_it_names(whole, tmp_path):
    kind, _, everything = whole
    folder = WorkFolder(tmp_path / "work")
    seen = []

    class Watched(StopsAfter):
        def run(self, graph, progress, title, then):
            seen.append(graph)
            super().run(graph, progress, title, then)

    fit(kind, Watched(folder))
    (graph,) = seen
    assert {task.name for task in graph.order()} == set(everything)
    assert_planned_beforehand(kind, folder, everything)
    for task in graph.order():  # each part again, from its inputs alone
        before = folder.path(task.name).read_bytes()
        folder.path(task.name).unlink()
        run_task(task, folder, 2)
        assert folder.path(task.name).read_bytes() == before, task.name
