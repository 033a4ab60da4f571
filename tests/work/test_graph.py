"""Tasks and what they wait for."""

from __future__ import annotations

import json

import pytest

from neartag.work.graph import Graph
from neartag.work.task import Task
from work_helpers import diamond, toy


def test_each_task_comes_after_those_that_it_waits_for():
    assert [task.name for task in diamond().order()] == ["a", "b", "c", "d"]


def test_a_task_of_a_part_that_nobody_writes_is_refused():
    with pytest.raises(ValueError, match="b reads a, which nobody writes"):
        Graph().add([toy("b", ["a"])])
    assert Graph({"a"}).add([toy("b", ["a"])])


def test_two_tasks_of_a_name_are_refused():
    with pytest.raises(ValueError, match="two tasks would write a"):
        Graph().add([toy("a"), toy("a")])


def test_a_circle_is_found():
    graph = Graph()
    graph.add([toy("a", ["b"]), toy("b", ["a"])])
    with pytest.raises(ValueError, match="waits for itself"):
        graph.order()


def test_a_part_is_needed_until_its_last_reader_has_ended():
    graph = diamond()
    assert [graph.is_needed("a", done) for done in ({"a"}, {"a", "b"}, {"a", "b", "c"})] == [True, True, False]
    assert graph.is_needed("d", {"a", "b", "c", "d"}), "it is a result"


def test_what_the_longest_chain_waits_for_is_most_urgent_and_what_opens_the_plan_before_all():
    graph = Graph()
    graph.add([toy("alone", size=9), toy("a", size=3), toy("big", size=8), toy("b", ["a", "big"]), toy("c", ["b"])])
    urgency = graph.urgency()
    assert sorted(urgency, key=lambda name: -urgency[name]) == ["big", "a", "b", "alone", "c"]
    graph.openers = {"alone"}
    assert max(graph.urgency(), key=graph.urgency().get) == "alone"


def test_a_task_goes_through_json():
    task = toy("a", ["b"], size=7, memory=8, threads=0, steps=3)
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task
    assert task.outputs == ("a",)
