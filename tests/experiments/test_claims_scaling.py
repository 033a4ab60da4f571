"""Claims about how large a set a method can be trained on: judged by what finished, and at which limit others ended."""

from __future__ import annotations

import pytest
from test_claims import LARGE, at, row
from test_claims_checks import answer_to, of, told

from neartag.experiments.claims.findings import CLOSE, NO, NOT_HERE, YES

ADS = "synthetic-ads-1m"


def fraction(method, share, ended="", labels=1_082_898):
    measured = {"fraction": share, "labels": labels // share, "train_seconds": 600.0 / share, "peak_mb": 9000.0}
    return row("scale", method, data=ADS, options=(("fraction", share),), **({"ended": ended} if ended else measured))


def test_leml_with_a_million_labels_is_a_disagreement():
    claim = "LEML cannot be trained with a million labels"
    (found,) = told(of(fraction("leml", 3), fraction("leml", 1)), claim)
    assert found == ["synthetic, Ads1M's shape", "", "1,082,898 labels in 10.0 min and 9.0 GB", NO]
    (found,) = told(of(fraction("leml", 3), fraction("leml", 1, "whole: over 20 GB")), claim)
    assert found[3] == NOT_HERE
    assert "the largest that it finished within 30 minutes on 1 core and 20 GB has 360,966 labels" in found[2]


def test_x1_with_a_million_labels_agrees_and_our_limits_say_nothing_against_it():
    claim = "X1 can be trained with a million labels"
    assert answer_to(of(fraction("x1", 1)), claim) == {YES}
    assert answer_to(of(fraction("x1", 3), fraction("x1", 1, "whole: over 30 min")), claim) == {NOT_HERE}


@pytest.mark.parametrize(("x1", "leml", "answer"), [(3, 1, NO), (1, 3, YES), (3, 3, CLOSE), (1, 1, NOT_HERE)])
def test_the_larger_fraction_within_the_same_limits_scales_better(x1, leml, answer):
    cells = []
    for method, share in (("x1", x1), ("leml", leml)):
        cells.append(fraction(method, share))
        if share > 1:
            cells.append(fraction(method, 1, "whole: over 20 GB"))
    assert answer_to(of(*cells), "X1 scales better than LEML") == {answer}


def test_a_fraction_that_is_not_measured_yet_decides_nothing():
    assert answer_to(of(fraction("x1", 3), fraction("leml", 1)), "X1 scales better than LEML") == {NOT_HERE}


def test_other_embeddings_that_are_trained_on_a_large_set_are_a_disagreement():
    claim = "Of other embedding methods only LEML can be trained on large sets"
    sizes = row("table2", "", data=LARGE, labels=30_938, train=99_003, test=11_000)
    assert answer_to(of(sizes, row("table1", "leml", data=LARGE, train_cpu_seconds=9.0, **at(1.0))), claim) == {"–"}
    rows = [row("table1", method, data=LARGE, train_cpu_seconds=20.0, **at(1.0)) for method in ("cs", "ml_cssp")]
    (found,) = told(of(sizes, *rows), claim)
    assert found[2:] == ["with 30,938 labels: CS in 20 CPU s and ML-CSSP in 20 CPU s", NO]
    fewer = row("table2", "", data=LARGE, labels=23_969, train=99_003, test=11_000)
    assert answer_to(of(fewer, *rows), claim) == {NOT_HERE}  # than any of the paper's large sets has
