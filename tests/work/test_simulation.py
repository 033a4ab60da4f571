"""The simulation of a plan on a cluster: small graphs whose time is known, and what holds for all of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neartag.core.errors import ParameterError, WorkError
from neartag.work.graph import Graph
from neartag.work.simulation import Cluster, Need, simulate
from neartag.work.task import Task
from work_helpers import diamond, toy


def take(seconds=1.0, **others):
    return lambda task: Need(seconds, **others)


def by_size(task):
    return Need(float(task.size))


def graph_of(*tasks):
    graph = Graph()
    graph.add(tasks)
    return graph


def independent(*sizes):
    return graph_of(*(toy(f"t{number}", size=size) for number, size in enumerate(sizes)))


def test_tasks_in_a_row_take_the_sum_of_their_times_on_any_number_of_workers():
    for workers in (1, 3):
        graph = graph_of(toy("a", size=2), toy("b", ["a"], size=3), toy("c", ["b"], size=4))
        assert simulate(graph, by_size, Cluster(workers)).seconds == 9


def test_tasks_apart_share_the_workers_and_their_threads():
    for cluster, seconds in ((Cluster(1), 6), (Cluster(2), 3), (Cluster(2, threads=2), 2), (Cluster(9), 1)):
        assert simulate(independent(*[1] * 6), take(), cluster).seconds == seconds


def test_a_diamond_takes_three_tasks_on_two_workers_and_four_on_one():
    assert simulate(diamond(), take(), Cluster(2)).seconds == 3
    assert simulate(diamond(), take(), Cluster(1)).seconds == 4


def test_of_tasks_alike_the_largest_comes_first():
    assert simulate(independent(1, 1, 2), by_size, Cluster(2)).seconds == 2


def test_what_the_longest_chain_waits_for_comes_first():
    chain = [toy("a"), toy("b", ["a"]), toy("c", ["b"])]
    assert simulate(graph_of(toy("x", size=2), *chain), take(), Cluster(1)).stages["toy"][1] == 4
    assert simulate(graph_of(toy("x", size=9), toy("y", size=9), *chain), take(), Cluster(2)).seconds == 3


def test_workers_of_one_computer_slow_each_other_down_while_both_are_at_tasks():
    """Of 2 s and 6 s at once the first takes 3 s, in which the other does 2 of its 6; these 4 it then does alone."""
    cluster = Cluster(2, contention=0.5, per_computer=2)
    assert simulate(independent(2, 6), by_size, cluster).seconds == pytest.approx(3 + 4)
    assert simulate(independent(2, 6), by_size, Cluster(2, contention=0.5)).seconds == 6, "on a computer each"
    assert simulate(independent(2), by_size, cluster).seconds == 2, "alone"
    assert simulate(independent(4, 4, 4), by_size, Cluster(3, contention=0.5, per_computer=3)).seconds == 8
    outcome = simulate(independent(*[3600] * 4), by_size, Cluster(2, failures=0.5, contention=0.5, per_computer=2))
    assert outcome.failures > 0
    assert outcome.tasks == 4


def test_tasks_that_do_not_fit_together_run_one_after_the_other():
    tasks = [toy(f"t{number}", memory=6) for number in range(4)]
    assert simulate(graph_of(*tasks), take(), Cluster(2, threads=2, memory=12)).seconds == 1
    assert simulate(graph_of(*tasks), take(), Cluster(2, threads=2, memory=11)).seconds == 2


def test_a_small_task_passes_one_that_waits_for_memory():
    tasks = [toy("a", memory=6, size=3), toy("b", memory=6, size=3), toy("c", memory=1, size=3)]
    assert simulate(graph_of(*tasks), by_size, Cluster(1, threads=2, memory=10)).seconds == 6


def test_a_task_that_fits_no_worker_is_refused():
    with pytest.raises(ParameterError, match="a needs about 12 bytes, and a worker has 11 bytes"):
        simulate(graph_of(toy("a", memory=12)), take(), Cluster(2, memory=11))


def test_the_scheduler_sends_one_task_after_the_other():
    """Ten tasks of no time on many workers take ten times what sending takes, and then the start of the last."""
    outcome = simulate(independent(*[1] * 10), take(0.0), Cluster(10, send=0.5, start=2))
    assert outcome.seconds == 10 * 0.5 + 2


def test_storage_serves_one_transfer_after_the_other():
    """Four tasks read 10 bytes each at 10 a second, work 5 s and write 20: the last reads until 4, works until 9."""
    outcome = simulate(independent(*[1] * 4), take(5.0, reads=10, writes=20), Cluster(4, storage=10.0))
    assert outcome.seconds == 1 + 5 + 4 * 2
    assert simulate(independent(*[1] * 4), take(5.0, reads=10, writes=20), Cluster(4)).seconds == 5


def test_a_plan_grows_while_it_runs():
    """Four more tasks are planned only when the first has ended, and run two at once."""
    more = [toy(f"b{number}", ["a"]) for number in range(4)]
    outcome = simulate(graph_of(toy("a")), take(), Cluster(2), lambda task: more if task.name == "a" else ())
    assert (outcome.seconds, outcome.tasks) == (3, 5)


def test_stages_say_when_they_began_and_ended():
    tasks = [Task("a", "first", "m:f", size=2), Task("b", "second", "m:f", ("a",), size=3)]
    assert simulate(graph_of(*tasks), by_size, Cluster(1)).stages == {"first": (0, 2, 2), "second": (2, 5, 3)}


def test_a_task_is_lost_with_its_worker_and_runs_again():
    outcome = simulate(independent(*[3600] * 8), by_size, Cluster(2, failures=0.5, restart=60), seed=1)
    assert outcome.failures > 0
    assert outcome.lost > 0
    assert outcome.most_losses >= 1
    assert outcome.tasks == 8
    assert outcome.busy == 8 * 3600
    assert outcome.seconds > 4 * 3600
    assert outcome.utilisation(Cluster(2)) < 1


def test_workers_that_fail_all_the_time_are_given_up():
    with pytest.raises(WorkError, match="workers fail too often: t0 was lost"):
        simulate(independent(3600), by_size, Cluster(1, failures=3600.0, restart=1))


def test_a_circle_is_found():
    with pytest.raises(ValueError, match="waits for itself"):
        simulate(graph_of(toy("a", ["b"]), toy("b", ["a"])), take(), Cluster(1))


@st.composite
def graphs(draw):
    """Graphs of up to 12 tasks, each of which waits for some of those before it."""
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=12))
    graph = Graph()
    for number, size in enumerate(sizes):
        before = draw(st.lists(st.integers(0, number - 1), max_size=3, unique=True)) if number else []
        graph.add([toy(f"t{number}", [f"t{each}" for each in before], size=size)])
    return graph


def longest_path(graph):
    length = {}
    for task in graph.order():
        length[task.name] = task.size + max((length[part] for part in task.inputs), default=0)
    return max(length.values())


@settings(max_examples=30, deadline=None)
@given(graphs(), st.integers(1, 5))
def test_no_schedule_beats_its_bounds_and_none_is_worse_than_grahams(graph, workers):
    """At least the longest path, and the work shared by all; at most the work shared and the rest of that path."""
    outcome = simulate(graph, by_size, Cluster(workers))
    work, path = sum(task.size for task in graph.tasks.values()), longest_path(graph)
    assert outcome.busy == work
    assert outcome.seconds >= max(path, work / workers)
    assert outcome.seconds <= work / workers + path * (1 - 1 / workers) + 1e-9


@settings(max_examples=30, deadline=None)
@given(graphs(), st.integers(1, 4), st.integers(0, 4))
def test_more_workers_are_slower_only_by_the_anomalies_of_lists(graph, workers, more):
    """Graham (1969): with m' instead of m workers, by no more than 1 + (m - 1)/m'."""
    fewer = simulate(graph, by_size, Cluster(workers)).seconds
    many = simulate(graph, by_size, Cluster(workers + more)).seconds
    assert many <= fewer * (1 + (workers - 1) / (workers + more)) + 1e-9
    if workers == 1:
        assert many <= fewer


def test_failures_that_are_hardly_any_are_none():
    graph = Graph()
    graph.add([toy("a")])
    assert simulate(graph, by_size, Cluster(1, failures=5e-324)).failures == 0


@settings(max_examples=30, deadline=None)
@given(graphs(), st.integers(1, 4), st.floats(0, 150), st.integers(0, 3))
def test_failures_only_add_and_no_work_is_forgotten(graph, workers, failures, seed):
    cluster = Cluster(workers, failures=failures, restart=5)
    outcome = simulate(graph, by_size, cluster, seed=seed)
    work = sum(task.size for task in graph.tasks.values())
    assert outcome.tasks == len(graph.tasks)
    assert outcome.busy == pytest.approx(work)
    assert outcome.seconds >= max(longest_path(graph), (work + outcome.lost) / workers) - 1e-9
    if workers == 1:
        assert outcome.seconds >= simulate(graph, by_size, Cluster(1)).seconds - 1e-9
    assert outcome == simulate(graph, by_size, cluster, seed=seed), "the same seed, the same outcome"
