"""Figures at a threshold, by label, by hierarchy and as Annif has them: plain loops as oracles, and stored figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.metrics import precision_recall_fscore_support

from neartag.evaluation import confusions
from neartag.evaluation.annif import annif_figures
from neartag.evaluation.confusions import find_confusions
from neartag.evaluation.hierarchy import complete_upwards, hierarchical_figures
from neartag.evaluation.matches import match_labels
from neartag.evaluation.reliability import measure_reliability
from neartag.evaluation.thresholds import average_figures, mark_given, tally_labels, threshold_cuts

ANNIF = json.loads((Path(__file__).parent / "annif.json").read_text())
TENTHS = st.integers(0, 10).map(lambda number: number / 10)


@st.composite
def answers(draw):
    """Return matches, scores and a threshold; scores fall from left to right, some are equal, some 0."""
    points, width, depth = draw(st.integers(1, 6)), draw(st.integers(1, 6)), draw(st.integers(1, 5))
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    depth = min(depth, width)
    labels = np.array([chance.permutation(width)[:depth] for _ in range(points)])
    labels[chance.random(labels.shape) < 0.2] = -1
    scores = -np.sort(-chance.integers(0, 11, labels.shape) / 10, axis=1)
    Y = csr_matrix((chance.random((points, width)) < 0.4).astype(np.float32))
    return match_labels(labels, Y), scores, draw(TENTHS)


def as_dense(matches, given):
    """Return true and given labels, (n, L) bool each."""
    found = np.zeros(matches.truth.shape, bool)
    rows, columns = np.nonzero(given)
    found[rows, matches.labels[rows, columns]] = True
    return matches.truth.toarray() > 0, found


@settings(max_examples=25)
@given(answers())
def test_averages_are_those_of_scikit_learn(case):
    matches, scores, threshold = case
    given_labels = mark_given(matches, scores, threshold)
    true, found = as_dense(matches, given_labels)
    for row in range(len(true)):
        expected = {
            label
            for label, score in zip(matches.labels[row], scores[row], strict=True)
            if label >= 0 and score > 0 and score >= threshold
        }
        assert set(np.flatnonzero(found[row])) == expected
    averages = average_figures(matches, given_labels)
    seen = true.any(axis=0) | found.any(axis=0)
    expectations = {
        "micro": ("micro", true, found),
        "macro_all": ("macro", true, found),
        "macro": ("macro", true[:, seen], found[:, seen]),
        "documents": ("samples", true, found),
    }
    for name, (average, some_true, some_found) in expectations.items():
        if some_true.shape[1] < 2:  # scikit-learn takes one column for classes 0 and 1
            continue
        expected = precision_recall_fscore_support(some_true, some_found, average=average, zero_division=0)[:3]
        assert list(averages[name].values()) == pytest.approx([100 * value for value in expected])


@settings(max_examples=30)
@given(answers())
def test_each_cut_gives_what_its_threshold_gives(case):
    matches, scores, _ = case
    positive = (matches.labels >= 0) & (scores > 0)
    if not positive.any():
        return
    cuts = threshold_cuts(scores[positive], matches.hits[positive], int(matches.truth.nnz))
    for place in range(len(cuts.threshold)):
        cut = cuts.get(place)
        micro = average_figures(matches, mark_given(matches, scores, cut["threshold"]))["micro"]
        assert [cut["precision"], cut["recall"], cut["f1"]] == pytest.approx([value / 100 for value in micro.values()])
    assert cuts.best["f1"] == max(cuts.f1)
    few = cuts.thin(3)
    assert len(few.threshold) <= max(3, min(3, len(cuts.threshold)))
    assert (few.recall[0], few.recall[-1]) == (cuts.recall[0], cuts.recall[-1])


def test_only_the_best_k_are_given():
    matches = match_labels(np.array([[0, 1, 2]]), csr_matrix(np.array([[1, 0, 1]])))
    assert mark_given(matches, np.array([[0.9, 0.8, 0.7]]), 0.0, k=2).tolist() == [[True, True, False]]


@settings(max_examples=30)
@given(answers(), st.sampled_from([1, 3, 2_000_000]))
def test_confusions_are_those_of_a_plain_count(case, batch):
    matches, scores, threshold = case
    given_labels = mark_given(matches, scores, threshold)
    true, found = as_dense(matches, given_labels)
    counts = (true & ~found).T.astype(int) @ (found & ~true).astype(int)  # (L, L)
    before, confusions._BATCH_PAIRS = confusions._BATCH_PAIRS, batch
    try:
        other, times = find_confusions(matches, given_labels)
    finally:
        confusions._BATCH_PAIRS = before
    assert times.tolist() == counts.max(axis=1).tolist()
    assert other.tolist() == np.where(counts.any(axis=1), counts.argmax(axis=1), -1).tolist()
    tally = tally_labels(matches, given_labels)
    assert [each.tolist() for each in tally] == [each.sum(axis=0).tolist() for each in (true, found, true & found)]


@settings(max_examples=30)
@given(answers(), st.data())
def test_hierarchical_figures_compare_sets_with_all_that_is_above(case, data):
    matches, scores, threshold = case
    width = matches.truth.shape[1]
    nodes = width + 2  # some concepts are no label
    some = st.lists(st.integers(0, nodes - 1), max_size=2)
    parents = data.draw(st.lists(some, min_size=nodes, max_size=nodes))  # circles too

    def with_all_above(labels):
        known = set(labels)
        while not known.issuperset(more := {parent for node in known for parent in parents[node]}):
            known |= more
        return known

    given_labels = mark_given(matches, scores, threshold)
    true, found = as_dense(matches, given_labels)
    pairs = [
        (with_all_above(np.flatnonzero(own)), with_all_above(np.flatnonzero(theirs)))
        for own, theirs in zip(true, found, strict=True)
    ]

    def part(above, below):
        return 100 * above / below if below else 0.0

    counts = np.array([(len(own), len(theirs), len(own & theirs)) for own, theirs in pairs])
    rows = [(part(both, theirs), part(both, own), part(2 * both, own + theirs)) for own, theirs, both in counts]
    own, theirs, both = counts.sum(axis=0)
    measured = hierarchical_figures(matches, given_labels, complete_upwards(parents)[:width])
    expected = [part(both, theirs), part(both, own), part(2 * both, own + theirs)]
    assert list(measured["micro"].values()) == pytest.approx(expected)
    assert list(measured["documents"].values()) == pytest.approx(np.mean(rows, axis=0).tolist())


def test_without_broader_terms_hierarchical_figures_are_the_plain_ones():
    chance = np.random.default_rng(0)
    matches = match_labels(np.tile(np.arange(4), (9, 1)), csr_matrix(chance.random((9, 4)) < 0.5))
    given_labels = mark_given(matches, chance.random((9, 4)), 0.4)
    measured = hierarchical_figures(matches, given_labels, complete_upwards([[], [], [], []]))
    plain = average_figures(matches, given_labels)
    for name in ("micro", "documents"):
        assert measured[name] == pytest.approx(plain[name])


@pytest.mark.parametrize("case", ANNIF["cases"], ids=range(len(ANNIF["cases"])))
def test_figures_are_those_that_annif_computed(case):
    rows = [label for labels in case["true"] for label in labels]
    ends = np.cumsum([0, *map(len, case["true"])])
    Y = csr_matrix((np.ones(len(rows)), rows, ends), shape=(len(case["true"]), case["width"]))
    matches = match_labels(np.array(case["labels"]), Y)
    found = annif_figures(matches, np.array(case["scores"]), case["threshold"], case["limit"])
    assert list(found) == list(case["annif"])
    assert found == pytest.approx(case["annif"], rel=1e-6)  # Annif's NDCG is a mean of float32


def test_reliability_by_hand():
    found = measure_reliability(np.array([0.1, 0.15, 0.95, 1.0]), np.array([False, True, True, True]))
    assert [(each["low"], each["answers"], each["right"]) for each in found["bins"]] == [(0.1, 2, 0.5), (0.9, 2, 1.0)]
    assert found["error"] == pytest.approx((2 * abs(0.125 - 0.5) + 2 * abs(0.975 - 1)) / 4)
    assert found["brier"] == pytest.approx((0.01 + 0.85**2 + 0.05**2) / 4)
