"""Behaviours: the same whatever rounding does, and another where a method computes something else."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from neartag.experiments import behaviour, methods, runner
from neartag.experiments.behaviour import Behaviours, answer, find_probe, is_same, numbers_of
from neartag.experiments.plan import Plan
from neartag.methods import registry


def test_a_number_tells_of_the_labels_and_of_their_scores():
    labels, scores = (
        np.array([[3, 5], [3, 5], [5, 3], [3, -1]]),
        np.array([[1.0, 0.5], [1.0, 0.4], [1.0, 0.5], [0.5, 9]]),
    )
    numbers = numbers_of(labels, scores)
    assert len(set(numbers)) == 4
    assert numbers == numbers_of(labels, 7 * scores)  # whatever a method scales its scores by
    assert numbers_of(labels, scores + 1e-7) == numbers


def test_rounding_is_no_other_behaviour_but_a_few_per_cent_of_the_points_are():
    one = [list(range(0, 40_000, 100))]
    near = [[value + 3 for value in one[0]]]
    assert is_same(one, near)
    assert is_same(one, [[900, *near[0][1:]]])  # a tie that fell otherwise
    assert not is_same(one, [[900] * 8 + near[0][8:]])
    assert not is_same(one, [near[0], near[0]])
    assert not is_same(one, [near[0][1:]])


PROBES = [*behaviour.X1_PROBES, *(name for name in registry.METHODS.names() if name != registry.DEFAULT_METHOD)]


@pytest.mark.parametrize("probe", PROBES)
def test_noise_as_of_rounding_leaves_a_behaviour_as_it_is(probe, monkeypatch):
    plain = answer(probe)
    X, Y, X_test = behaviour.made_up_parts()
    noisy = X.copy()
    noisy.data *= 1 + 1e-6 * np.random.RandomState(0).normal(size=noisy.nnz).astype(np.float32)
    monkeypatch.setattr(behaviour, "made_up_parts", lambda: (noisy, Y, X_test))
    assert is_same(plain, answer(probe))


# OpenBLAS has other kernels for each of these processors, and all of them run where AVX2 is there.
KERNELS = ("Nehalem", "Sandybridge", "Haswell", "Zen")


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="kernels of x86 processors")
@pytest.mark.parametrize("kernels", KERNELS)
def test_another_processors_rounding_leaves_behaviours_as_they_are(kernels):
    code = (
        "import json; from neartag.experiments.behaviour import X1_PROBES, answer; "
        "print(json.dumps([answer(probe) for probe in X1_PROBES]))"
    )
    environment = {**os.environ, "OPENBLAS_CORETYPE": kernels}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    for probe, answers in zip(behaviour.X1_PROBES, json.loads(said.stdout), strict=True):
        assert is_same(answer(probe), answers), probe


@pytest.mark.parametrize(
    ("table", "probe", "place", "change"),
    [
        ("OTHER_SETTINGS", "knn", 0, {"neighbours": 9}),
        ("OTHER_SETTINGS", "leml", 0, {"rank": 11}),
        ("X1_PROBES", "x1-votes", 1, {"svp_max_iter": 3}),
        ("X1_PROBES", "x1-paper", 0, {"svp_max_iter": 3}),
        ("X1_PROBES", "x1-paper", 0, {"svp_step": 0.5}),
        ("X1_PROBES", "x1-paper", 0, {"svp_neighbours": 10}),
        ("X1_PROBES", "x1-paper", 0, {"label_similarity": "cosine"}),
        ("X1_PROBES", "x1-paper", 0, {"vote_distance": "cosine"}),
        ("X1_PROBES", "x1-paper", 1, {"l1": 0.03}),
        ("X1_PROBES", "x1-refined", 0, {"vote_sharpness": 5.0}),
        ("PROBES", "fastxml", 1, {"trees": 5}),
    ],
)
def test_what_computes_something_else_is_another_behaviour(table, probe, place, change, monkeypatch):
    plain, settings = answer(probe), list(getattr(behaviour, table)[probe])
    settings[place] = {**settings[place], **change}
    monkeypatch.setitem(getattr(behaviour, table), probe, settings)
    assert not is_same(plain, answer(probe))


def test_every_cell_that_trains_a_method_has_a_probe():
    plan = Plan(data=("bibtex", "yso-finna-en-100k"))
    known = {*behaviour.X1_PROBES, *registry.METHODS.names()} - {registry.DEFAULT_METHOD}
    for name, experiment in runner.load_experiments().items():
        probes = {experiment.probe(cell) for cell in experiment.cells(plan)}
        assert probes <= ({""} if name in ("table2", "figure1b") else known), name


def test_the_forms_of_x1_have_probes_of_their_own():
    assert find_probe("x1", {"refine": True}) == "x1-refined"
    assert find_probe("x1", methods.paper_settings("bibtex")) == "x1-paper"
    assert find_probe("x1", methods.variant_settings("bibtex")) == "x1-votes"
    assert find_probe("leml", {}) == "leml"


def test_behaviours_are_kept_once_the_newest_last(tmp_path):
    answers = {"a": [[1, 100]], "b": [[5]]}
    for _ in range(2):
        now = Behaviours(tmp_path, answers.__getitem__)
        first = now.keep("a")
        now.keep("b")
        assert len(now.known) == 2
    answers["a"] = [[1, 200]]
    now = Behaviours(tmp_path, answers.__getitem__)
    assert now.newest("a") == first != now.today("a")
    second = now.keep("a")
    again = Behaviours(tmp_path, answers.__getitem__)
    assert again.newest("a") == second
    assert len(again.known) == 3
    answers["a"] = [[2, 99]]  # as it was at first, but for rounding
    again = Behaviours(tmp_path, answers.__getitem__)
    assert again.keep("a") == first
    assert Behaviours(tmp_path).newest("a") == first
    assert Behaviours(tmp_path).newest("") == ""
