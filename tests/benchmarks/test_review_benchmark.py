"""What `neartag review` is worth: the damage that is done, when it counts as found, and the table of results."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest


def test_one_label_in_twenty_is_damaged_half_of_them_replaced(module):
    review = module("review")
    labels = [["a", "b"], ["a"], ["c", "a"]] * 40
    changed, done = review.damage(labels, np.random.default_rng(0))
    assert len(done) == round(0.05 * 200)
    assert Counter(new is None for _, _, new in done) == {True: 5, False: 5}
    for row, own in enumerate(labels):
        gone = [name for place, name, _ in done if place == row]
        put = [new for place, _, new in done if place == row and new is not None]
        assert sorted(changed[row]) == sorted([name for name in own if name not in gone] + put)
        assert not set(put) & set(own)
    assert labels[0] == ["a", "b"]  # as they were


def test_damage_is_found_as_what_is_missing_or_as_what_is_wrong(module):
    is_found = module("review").is_found
    assert is_found((3, "a", None), {(3, "a", "missing")})
    assert is_found((3, "a", "b"), {(3, "b", "wrong")})
    assert not is_found((3, "a", "b"), {(3, "a", "wrong"), (3, "b", "missing"), (4, "b", "wrong")})
    assert not is_found((3, "a", None), {(3, None, "missing")})


def test_documents_stand_where_their_first_label_does(module):
    review = module("review")
    rows = np.array([4, 2, 4, 0, 1, 3])
    ranked = review.DoubtfulPairs(rows, np.zeros(6), np.zeros(6, bool), np.arange(6.0)[::-1])
    done = [(4, "a", None), (4, "b", "c"), (1, "a", None)]
    assert [review.damaged_first(ranked, done, count) for count in (1, 2, 4)] == [100, 50, 50]


def test_the_table_tells_gains_and_what_was_found(module):
    review = module("review")
    chosen, drawn = [[10.0, 12, 14, 16, 18, 20]], [list(range(10, 21))]
    found = {f"{kind} in {share}": 50.0 for kind in ("all", "removed", "replaced") for share in ("5%", "10%", "20%")}
    found |= {"replaced in 5% of wrong": 70.0, "removed in 5% of missing": 30.0}
    found |= {"all in 5% of entries": 80.0, "damaged in 5% of documents": 90.0}
    results = {
        "choosing": {"toy": {"chosen": chosen, "random": drawn, "gain": 5.0, "half interval": 1.0}},
        "damage": {"toy": {"labels": 2000, "damaged": 100, "found": found, "s": [2.0, 4.0]}},
    }
    text = review.table(results)
    assert "| toy | 10.00 | 20.00 | 15.00 | **+5.00** ± 1.00 | 1,000 | 250 |" in text
    assert "| toy | 2,000, 100 | **50.0%** | 50.0%, 50.0% | 50.0%, 50.0% | 70.0% | 30.0% | 80.0% | 90.0% | 3 |" in text
    assert review.labels_for(np.array([1.0, 2.0]), 3.0) == "more than 100"


@pytest.mark.parametrize("choose", [True, False])
def test_documents_are_labelled_in_steps(module, monkeypatch, choose):
    review = module("review")
    for name, value in (("START", 20), ("STEP", 5), ("CHOSEN", 10), ("DRAWN", 15)):
        monkeypatch.setattr(review, name, value)
    sizes = []

    class Counts:
        def __init__(self, texts):
            sizes.append((len(texts), len(set(texts))))

        def review(self, texts, n, n_jobs):
            return [type("Entry", (), {"index": place}) for place in range(n)]

    monkeypatch.setattr(review, "fit", lambda texts, labels, features: Counts(texts))
    monkeypatch.setattr(review, "precision", lambda tagger, test: 1.0)
    texts = [str(number) for number in range(60)]
    curve = review.label_more((texts, [["a"]] * 60), (texts, [["a"]] * 60), 0, choose, "words")
    assert len(curve) == (3 if choose else 4)
    assert sizes == [(size, size) for size in range(20, 31 if choose else 36, 5)]
