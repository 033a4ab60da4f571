"""What each method answers on fixed made-up data: a result is fresh as long as its method still answers the same.

A probe trains a method a few times in about a second. Each test point gives one number, made of its first labels and
their scores. Rounding differs between processors and libraries, so two lists of numbers are the same behaviour if
nearly all of them are nearly equal: code that was only rearranged leaves results fresh, and code that computes
something else makes them stale. A behaviour is kept once, with a digest; results carry the digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import block_diag, csr_matrix, hstack

from neartag.core.version import __version__
from neartag.experiments.results_folder import BEHAVIOURS, load_lines, update_lines
from neartag.methods import registry
from neartag.x1.presets import PAPER

LABELS_SEEN = 5  # of each test point
STEPS = 1000  # numbers are kept in thousandths of the largest score
TOLERANCE, MAX_DIFFERING = 3, 0.01  # thousandths; share of the points that may differ by more
_DIGITS = 12  # of a digest
_MARK = 4.0  # value of the feature that all points of a half have
_GOLDEN_RATIO = 0.6180339887498949  # its multiples, modulo 1, are spread evenly: a number for each label

VOTES: dict[str, Any] = {"refine": False}
CLUSTERS: dict[str, Any] = {**VOTES, "n_clusters": 2, "n_learners": 2, "embedding_dim": 20}
# SVP keeps as many dimensions as there are topics in a half: beyond these, eigenvalues are so near to each other that
# rounding, which depends on the processor, decides which vectors are kept, and step by step all answers with them.
TOPICS = 8
_SMALL_PAPER = {
    **PAPER,
    **{"n_clusters": 2, "n_learners": 2, "embedding_dim": TOPICS, "svp_neighbours": 30, "vote_neighbours": 10},
    **{"svp_max_iter": 15, "svp_tol": 0.0},
    "random_state": 2,  # with which both learners start from a point of each half
}
_NEAR = {"vote_search": "cells", "feature_search": "near", "feature_share": 0.4, "embedding_dim": 30}
# X1 in its three forms: as in the paper, with neartag's votes, and refined. SVP and ADMM stop after so many
# steps: how many they need may depend on rounding.
_PAPER_TRAININGS = [_SMALL_PAPER, {**_SMALL_PAPER, "l1": 0.02, "admm_max_iter": 10}]
_VOTE_TRAININGS = [VOTES, CLUSTERS, {**VOTES, **_NEAR}]
X1_PROBES: dict[str, list[dict[str, Any]]] = {
    "x1-paper": _PAPER_TRAININGS,
    "x1-votes": _VOTE_TRAININGS,
    "x1-ladder": _PAPER_TRAININGS + _VOTE_TRAININGS,  # what is between the two
    "x1-refined": [{"refine": True}, {**CLUSTERS, "refine": True, "feature_share": 0.3, "n_probe": 2}],
}
# What else there is to choose in the other methods, and where something else is computed; besides their defaults.
# Golden files have these too.
OTHER_SETTINGS: dict[str, list[dict[str, Any]]] = {
    "leml": [{"rank": 12, "bias": 0.0, "row_scale": "raw"}],
    "local_leml": [{"n_clusters": 3, "n_learners": 2, "rank": 10}],
    "wsabie": [
        {"ranking": "dot", "dim": 16},
        {"steps": "plain", "dim": 16, "vote_weight": "uniform"},
    ],
    "cplst": [{"dim": 10, "row_scale": "raw"}],
    "cs": [{"decoder": "omp", "sparsity": 6}],
    "ml_cssp": [{"columns": 20, "l2": 0.1}],
    "fastxml": [{"trees": 6, "max_iter": 3, "labels_per_leaf": 8}],
    "lpsr": [{"scorer": "one_vs_all", "partitions": 4}, {"partitions": 3, "n_probe": 2}],
    "one_vs_all": [{"C": 0.3, "keep_above": 0.05}],
    "knn": [{"metric": "euclidean", "vote_weight": "uniform", "neighbours": 8}],
}
# Probes that are not the defaults and these settings: no more clusters than there are halves, no deep trees.
PROBES: dict[str, list[dict[str, Any]]] = {
    "local_leml": [{}, {"n_clusters": 2, "n_learners": 2, "rank": 10}],
    "fastxml": [{"trees": 6, "max_leaf": 150}, {"trees": 6, "max_leaf": 300, "max_iter": 3, "labels_per_leaf": 8}],
    "lpsr": [{"partitions": 2}, {"scorer": "one_vs_all", "partitions": 2, "n_probe": 2}],
}


@cache
def made_up(d: int = 400, n: int = 900, tests: int = 120, labels: int = 60, seed: int = 1) -> tuple[Any, ...]:
    """Return X, Y, X_test, Y_test: a point has a topic, labels of it, and words of its labels besides any others.

    A few points have no label, the first two test points no feature that is known.
    """
    draw = np.random.RandomState(seed)  # which gives the same numbers in every numpy
    topics = draw.randint(TOPICS, size=labels)
    topics[:TOPICS] = np.arange(TOPICS)
    words = draw.randint(d - 5, size=(labels, 6))
    X, Y = np.zeros((n + tests, d), np.float32), np.zeros((n + tests, labels), np.float32)
    for point in range(n + tests):
        among = np.flatnonzero(topics == draw.randint(TOPICS))
        often = 1 / (1 + np.arange(len(among)))
        count = min(len(among), 1 + draw.poisson(1.3))
        given = draw.choice(among, count, replace=False, p=often / often.sum())
        Y[point, given] = point % 61 != 7
        columns = np.concatenate([draw.choice(words[given].ravel(), 3 * count), draw.randint(d - 5, size=4)])
        X[point, columns] = 0.5 + draw.rand(len(columns))
    X[n : n + 2] = 0
    X[n + 1, d - 1] = 1
    return csr_matrix(X[:n]), csr_matrix(Y[:n]), csr_matrix(X[n:]), csr_matrix(Y[n:])


@cache
def made_up_parts() -> tuple[csr_matrix, csr_matrix, csr_matrix]:
    """Return X, Y, X_test: two halves that share neither features nor labels, and that one feature tells apart.

    Where points are as near to one cluster as to another, the last bit of a number decides, and all that follows is
    different. Here clusters, and the first splits of trees, are the halves.
    """
    halves = [made_up(d=200, n=250, tests=60, labels=30, seed=seed) for seed in (1, 2)]
    known = slice(2, None)  # two test points have no known feature: their neighbours are anybody
    X, X_test = (
        block_diag([_with_mark(half[place][rows]) for half in halves], format="csr")
        for place, rows in ((0, slice(None)), (2, known))
    )
    return X, block_diag([half[1] for half in halves], format="csr"), X_test


def _with_mark(X: csr_matrix) -> csr_matrix:
    return hstack([X, csr_matrix(np.full((X.shape[0], 1), _MARK, np.float32))], format="csr")


def find_probe(method: str, settings: dict[str, Any]) -> str:
    """Return the name of the probe whose answers tell how a method with such settings behaves."""
    if method != registry.DEFAULT_METHOD:
        return method
    if settings.get("refine"):
        return "x1-refined"
    return "x1-paper" if settings.get("vote_distance") == "euclidean" else "x1-votes"


def answer(probe: str) -> list[list[int]]:
    """Return a probe's numbers: one list for each of its trainings, one number for each test point."""
    method = registry.DEFAULT_METHOD if probe in X1_PROBES else probe
    trainings = X1_PROBES.get(probe) or PROBES.get(probe) or [{}, *OTHER_SETTINGS.get(probe, [])]
    estimator = registry.get(method).estimator_class()
    X, Y, X_test = made_up_parts()
    fitted = (estimator(**{"random_state": 0, **settings}, n_jobs=1).fit(X, Y) for settings in trainings)
    return [numbers_of(*classifier.predict_topk(X_test, LABELS_SEEN)) for classifier in fitted]


def numbers_of(labels: np.ndarray, scores: np.ndarray) -> list[int]:
    """Return one number for each point's labels and scores, in thousandths of the largest score."""
    given = labels >= 0  # (n, k)
    scores = np.where(given, scores, 0).astype(np.float64)
    weights = 0.5 + np.where(given, labels, 0) * _GOLDEN_RATIO % 1
    largest = np.abs(scores).max() or 1.0
    return np.rint(STEPS * (scores * weights).sum(axis=1) / largest).astype(int).tolist()


def is_same(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> bool:
    """Return whether two answers differ by no more than rounding can."""
    if [len(numbers) for numbers in one] != [len(numbers) for numbers in other]:
        return False
    apart = [np.abs(np.subtract(first, second)) > TOLERANCE for first, second in zip(one, other, strict=True)]
    return float(np.mean(np.concatenate(apart))) <= MAX_DIFFERING


class Behaviour(NamedTuple):
    """How a method behaved once."""

    probe: str
    digest: str
    answers: list[list[int]]


class Behaviours:
    """The behaviours that a folder of results knows, the newest of a probe last, and those of today's code."""

    def __init__(self, folder: Path, answer: Callable[[str], list[list[int]]] = answer) -> None:
        self._path = folder / BEHAVIOURS
        self._answer = answer
        self._today: dict[str, str] = {}
        self.known = [Behaviour(line["probe"], line["digest"], line["answers"]) for line in load_lines(self._path)]

    def newest(self, probe: str) -> str:
        """Return the digest of the newest behaviour that is known; "" if none is, or the probe is ""."""
        return next((each.digest for each in reversed(self.known) if each.probe == probe), "")

    def today(self, probe: str) -> str:
        """Return the digest of what the code does today: of a known behaviour if it is the same, else a new one."""
        if not probe:
            return ""  # nothing is trained
        if probe not in self._today:
            answers = self._answer(probe)
            same = (
                each.digest for each in reversed(self.known) if each.probe == probe and is_same(each.answers, answers)
            )
            self._today[probe] = next(same, None) or _digest(answers)
        return self._today[probe]

    def keep(self, probe: str) -> str:
        """Return today's digest, and keep its behaviour as the newest in the folder."""
        digest = self.today(probe)
        if probe and digest != self.newest(probe):
            old = [each for each in self.known if each.digest == digest]
            answers = old[0].answers if old else self._answer(probe)
            line = {"probe": probe, "digest": digest, "neartag": __version__, "answers": answers}
            update_lines(self._path, lambda lines: sorted(_with(lines, line), key=lambda each: each["probe"]))
            self.known = [each for each in self.known if each.digest != digest] + [Behaviour(probe, digest, answers)]
        return digest


def _with(lines: list[dict[str, Any]], line: dict[str, Any]) -> list[dict[str, Any]]:
    return [*(each for each in lines if each["digest"] != line["digest"]), line]


def _digest(answers: list[list[int]]) -> str:
    return hashlib.sha256(json.dumps(answers).encode()).hexdigest()[:_DIGITS]
