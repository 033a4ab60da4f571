"""A refined answer searches once: each learner, and the index of features, for labels, shares and reasons alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neartag.search.inverted_index import FeatureIndex
from neartag.tagging.tagger import TextTagger
from neartag.x1.learner import Learner
from neartag.x1.model import X1Model
from serve_helpers import Client, corpus, train

LEARNERS = 2
ONCE = {"learner": LEARNERS, "features": 1}


@pytest.fixture(scope="module")
def tagger():
    return train(refine=True, n_learners=LEARNERS, n_clusters=2, feature_share=0.3)


@pytest.fixture
def searches(monkeypatch):
    """Count the searches by kind."""
    counted = {"learner": 0, "features": 0}

    def count(kind, owner):
        find = owner.find

        def counting(*asked, **options):
            counted[kind] += 1
            return find(*asked, **options)

        monkeypatch.setattr(owner, "find", counting)

    count("learner", Learner)
    count("features", FeatureIndex)
    return counted


@pytest.mark.parametrize("many", [1, 40])
def test_tags_with_their_shares_take_one_search(tagger, searches, many):
    found = tagger.predict(corpus()[0][:many], k=5)
    assert searches == ONCE
    assert all(0 < tags[0].share <= 1 for tags in found)


def test_reasons_take_one_search(tagger, searches):
    reasons = tagger.explain(corpus()[0][3], k=5, voters=3)
    assert searches == ONCE
    assert reasons[0].voters
    assert reasons[0].words


def test_labels_that_nobody_voted_for_take_no_other_search(tagger, searches, monkeypatch):
    made, candidates = [], X1Model.candidates
    monkeypatch.setattr(X1Model, "candidates", lambda *given: made.append(given) or candidates(*given))
    few = tagger.stored.model.with_settings({"vote_neighbours": 1})
    reasons = TextTagger.of(replace(tagger.stored, model=few)).explain(corpus()[0][3], k=40, voters=3)
    assert sum(reason.found == "mean" for reason in reasons) > 1
    assert searches == ONCE
    assert len(made) == 2, "once to rank, once for all labels without voters"
    made.clear()
    assert tagger.explain(corpus()[0][3], k=1)[0].voters
    assert len(made) == 1, "to rank"


def test_in_an_explanation_the_shares_of_the_voters_are_the_labels(tagger):
    for reason in tagger.explain(corpus()[0][3], k=5, voters=1000):
        assert sum(voter.share for voter in reason.voters) == pytest.approx(reason.share, abs=1e-12)


@pytest.mark.parametrize("path", ["/tag", "/explain"])
def test_a_request_takes_one_search(tagger, searches, tmp_path, path):
    tagger.save(tmp_path / "model")
    client = Client(tmp_path / "model")
    try:
        client.post(path, {"text": corpus()[0][4]})  # whatever is done once is done
        searches.update(learner=0, features=0)
        answer = client.post(path, {"text": corpus()[0][3], "k": 5})
    finally:
        client.close()
    assert answer.status_code == 200
    assert searches == ONCE
