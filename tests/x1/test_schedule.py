"""The plan of training: who runs alone, how many at once, and what memory allows."""

from __future__ import annotations

import threading
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config

from neartag.core.errors import ParameterError
from neartag.core.parameters import parse_bytes
from neartag.data import synthetic
from neartag.rerank import training as rerank
from neartag.rerank.preparation import RerankOptions
from neartag.x1 import schedule, steps, training
from neartag.x1.classifier import X1Classifier
from neartag.x1.schedule import Machine, Wave, cluster_bytes, kept_bytes, plan
from neartag.x1.settings import SVPSettings
from refine_helpers import state_bytes

SETTINGS = SVPSettings(dim=50)


def test_one_cluster_has_all_threads():
    assert plan([1000], [1], 4, None) == [Wave([0], 1, 4)]


def test_equal_clusters_run_side_by_side():
    assert plan([10] * 8, [1] * 8, 2, None) == [Wave(list(range(8)), 2, 1)]


def test_a_cluster_that_would_leave_cores_idle_runs_alone_first():
    assert plan([10, 10, 100, 10, 10], [1] * 5, 2, None) == [Wave([2], 1, 2), Wave([0, 1, 3, 4], 2, 1)]


def test_a_single_job_takes_them_one_by_one():
    assert plan([5, 9, 7], [1] * 3, 1, None) == [Wave([1, 2, 0], 1, 1)]


def test_memory_bounds_how_many_run_at_once():
    assert plan([10] * 8, [100] * 8, 4, 450) == [Wave(list(range(8)), 4, 1)]
    assert plan([10] * 8, [100] * 8, 4, 250) == [Wave(list(range(8)), 2, 2)]
    assert plan([10] * 8, [100] * 8, 4, 100) == [Wave(list(range(8)), 1, 4)]


def test_a_cluster_too_large_for_the_memory_is_refused_with_advice():
    with pytest.raises(ParameterError, match=r"a cluster of 30 points needs about 300 bytes.*n_clusters to 6 or more"):
        plan([30, 10], [300, 100], 2, 70)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30), st.integers(1, 9), st.integers(1, 5000) | st.none())
def test_every_task_runs_once_within_the_bounds(sizes, jobs, room):
    needs = [3 * size for size in sizes]
    if room is not None and max(needs) > room:
        with pytest.raises(ParameterError):
            plan(sizes, needs, jobs, room)
        return
    waves = plan(sizes, needs, jobs, room)
    assert sorted(task for wave in waves for task in wave.tasks) == list(range(len(sizes)))
    for wave in waves:
        assert wave.at_once * wave.threads <= jobs
        if room is not None:
            assert wave.at_once == 1 or wave.at_once * max(needs[task] for task in wave.tasks) <= room


def test_what_a_cluster_needs_grows_with_everything():
    usual = cluster_bytes(10_000, 400_000, 50_000, SETTINGS)
    assert cluster_bytes(20_000, 800_000, 50_000, SETTINGS) > usual
    assert cluster_bytes(10_000, 400_000, 50_000, SVPSettings(dim=50, neighbours=300)) > usual
    assert cluster_bytes(10_000, 400_000, 50_000, SVPSettings(dim=600)) > usual
    assert cluster_bytes(10, 400, 50_000, SETTINGS) < usual / 100


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("4GB", 4 * 2**30), ("500 MB", 500 * 2**20), ("1.5g", 3 * 2**29), ("2GiB", 2**31), ("1000", 1000), (77, 77)],
)
def test_sizes(text, wanted):
    assert parse_bytes(text) == wanted


@pytest.mark.parametrize(
    "text", ["", "GB", "-1", "0", "much", "4XB", "nan", "inf", "1e400GB", 0, -3, 1.5, None, True, [1]]
)
def test_what_is_no_size(text):
    with pytest.raises(ParameterError, match="is no number of bytes"):
        parse_bytes(text)


def test_training_obeys_the_limit(monkeypatch):
    data = synthetic.make(600, 200, 40, 10, 2)
    settings = {"n_learners": 1, "n_clusters": 4, "embedding_dim": 10, "svp_neighbours": 20, "n_jobs": 2}
    settings.update(feature_share=0.2, vote_neighbours=20, refine=False)
    with pytest.raises(ParameterError, match="max_memory leaves"):
        X1Classifier(**settings, max_memory="1KB").fit(data.X, data.Y)
    monkeypatch.setattr(schedule.memory, "in_use", lambda: 0)
    seen: list[list[int]] = []  # the sizes of clusters that were trained at the same time
    running: dict[int, int] = {}
    train = steps.train_cluster

    def watch(rows, *given):
        running[threading.get_ident()] = rows.shape[0]
        seen.append(list(running.values()))
        time.sleep(0.02)
        try:
            return train(rows, *given)
        finally:
            del running[threading.get_ident()]

    def bytes_of(sizes):
        return [cluster_bytes(size, int(data.X.nnz / 600 * size), 200, free.settings.svp) for size in sizes]

    monkeypatch.setattr(steps, "train_cluster", watch)
    free = X1Classifier(**settings).fit(data.X, data.Y).model_
    assert max(map(len, seen)) == 2
    seen.clear()
    sizes = [len(cluster.members) for cluster in free.learners[0].clusters]
    largest = max(bytes_of(sizes))
    kept = sum(kept_bytes(size, int(data.X.nnz / 600 * size), 200, free.settings.svp) for size in sizes)
    bound = X1Classifier(**settings, max_memory=largest + kept).fit(data.X, data.Y).model_
    assert max(sum(bytes_of(together)) for together in seen) <= largest
    assert "max_memory" not in bound.parameters
    for one, other in zip(free.learners[0].clusters, bound.learners[0].clusters, strict=True):
        assert (one.points == other.points).all(), "the same model, however many clusters at once"


def test_a_refined_model_is_the_same_within_a_limit(monkeypatch):
    data = synthetic.make(400, 200, 40, 10, 2)
    settings = {"n_learners": 1, "n_clusters": 4, "embedding_dim": 10, "svp_neighbours": 20, "n_jobs": 2}
    with pytest.raises(ParameterError, match="max_memory leaves"):
        X1Classifier(**settings, max_memory="1KB").fit(data.X, data.Y)
    free = X1Classifier(**settings).fit(data.X, data.Y).model_
    monkeypatch.setattr(schedule.memory, "in_use", lambda: 0)
    bound = X1Classifier(**settings, max_memory="4MB").fit(data.X, data.Y).model_
    assert free.reranker is not None
    assert state_bytes(bound) == state_bytes(free)


def test_without_a_limit_there_is_no_bound():
    assert Machine(2).room() is None
    assert Machine(2, 10**15).room() > 0


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing", "sequential"])
def test_every_backend_of_joblib_trains_the_same_model(backend):
    data = synthetic.make(400, 200, 40, 10, 2)
    settings = {"n_learners": 2, "n_clusters": 4, "embedding_dim": 10, "svp_neighbours": 20, "n_jobs": 2}
    wanted = X1Classifier(**settings).fit(data.X, data.Y).model_
    with parallel_config(backend):
        found = X1Classifier(**settings).fit(data.X, data.Y).model_
    assert state_bytes(found) == state_bytes(wanted)


def test_a_reranker_without_room_is_refused_before_any_work(monkeypatch):
    data = synthetic.make(600, 200, 30, 8, 2)
    monkeypatch.setattr(training, "put_data", lambda *_: pytest.fail("nothing may be trained"))
    monkeypatch.setattr(schedule.memory, "in_use", lambda: 0)
    with pytest.raises(ParameterError, match=r"refining 600 points needs about 2.* MB, and max_memory leaves 5.* KB"):
        X1Classifier(max_memory="512KB").fit(data.X, data.Y)


@pytest.mark.parametrize(
    ("settings", "advice"),
    [({}, r", or set refine to False \(--no-refine\)$"), ({"refine": False, "n_clusters": 1}, "$")],
)
def test_too_little_memory_is_told_with_what_to_allow(settings, advice, monkeypatch):
    data = synthetic.make(300, 200, 30, 8, 2)
    monkeypatch.setattr(schedule.memory, "in_use", lambda: 95 * 2**20)
    found = r"max_memory leaves 0 bytes for it: the process takes 95\.\d MB without it, and 10\.0 MB are allowed; "
    wanted = r"allow at least (9[678])MB \(--max-memory 9[678]MB\)"
    with pytest.raises(ParameterError, match=found + wanted + advice):
        X1Classifier(**settings, n_learners=1, max_memory="10MB").fit(data.X, data.Y)


# Short rows and long ones, few labels a point and many, with the rankers trained twice and once.
@pytest.mark.parametrize(
    ("shape", "max_points_to_refit"),
    [((4000, 1000, 200, 10, 2), 50_000), ((3000, 2000, 150, 120, 2), 50_000), ((4000, 1000, 200, 10, 9), 1000)],
)
def test_a_reranker_asks_for_no_more_than_is_said(shape, max_points_to_refit, monkeypatch):
    monkeypatch.setattr(training, "MAX_POINTS_TO_REFIT_RANKERS", max_points_to_refit)
    data = synthetic.make(*shape)
    said = rerank.bytes_needed(data.X, data.Y, RerankOptions())
    votes = {"n_learners": 1, "n_clusters": 1, "embedding_dim": 2, "svp_neighbours": 2}  # which hardly need anything

    def measure(**options):
        tracemalloc.start()
        # With a limit, one step after the other.
        model = X1Classifier(**votes, n_jobs=2, max_memory="100GB", **options).fit(data.X, data.Y).model_
        kept, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert model.n_points == shape[0]  # it was there, and counted, until now
        return kept, peak

    measure()  # loads what is loaded once
    kept_by_votes, _ = measure(refine=False)
    _, peak = measure()
    assert said / 3 < peak - kept_by_votes <= said
