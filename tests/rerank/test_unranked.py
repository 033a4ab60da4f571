"""Labels without a ranker keep the place that the votes give them."""

from __future__ import annotations

import numpy as np
import pytest

from neartag.rerank.candidates import Candidates
from neartag.rerank.fusion import Fusion
from neartag.rerank.unranked import score_unranked


@pytest.fixture(scope="module")
def vote_fusion():
    random = np.random.default_rng(0)
    features = np.log(random.random((500, 2)).astype(np.float32) + np.float32(1e-3))
    return Fusion.fit(features, random.random(500) < 0.01)  # that trusts no vote


def made_up(seed, feature_votes):
    random = np.random.default_rng(seed)
    labels = np.tile(np.arange(9, dtype=np.int32), (40, 1))
    labels[random.random((40, 9)) < 0.2] = -1
    evidence = random.random((40, 9, 3)).astype(np.float32) ** 2
    evidence[..., 1] *= feature_votes
    scores = np.where(labels >= 0, 0.2 + 0.7 * random.random((40, 9)), -1.0)
    return Candidates(labels, evidence), scores, (labels >= 7)


@pytest.mark.parametrize("feature_votes", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_a_place_among_the_votes_is_read_as_a_line_between_the_ranked(vote_fusion, seed, feature_votes):
    candidates, scores, unranked = made_up(seed, feature_votes)
    found = score_unranked(candidates, scores, unranked, vote_fusion, 1)
    for (row, column), value in zip(np.argwhere(unranked), found, strict=True):
        ranked = candidates.mask[row] & ~unranked[row]
        votes = candidates.evidence[row, :, :2].sum(axis=1) / (1 + feature_votes)
        chances = np.sort(scores[row, ranked])
        top = chances[-1:] if len(chances) else np.zeros(1)
        wanted = np.interp(votes[column], [0, *np.sort(votes[ranked]), 1], [0, *chances, *top])
        low = vote_fusion.log_odds(np.log(candidates.evidence[[row], column, :2] + np.float32(1e-3)))
        assert value == pytest.approx(max(wanted, 1 / (1 + np.exp(-low[0]))), abs=1e-6)


def test_where_votes_are_sure_enough_the_fusion_of_them_decides():
    candidates, scores, unranked = made_up(0, 1)
    random = np.random.default_rng(0)
    features = np.log(random.random((500, 2)).astype(np.float32) + np.float32(1e-3))
    trusting = Fusion.fit(features, random.random(500) < 0.99)
    found = score_unranked(candidates, scores, unranked, trusting, 1)
    votes = np.log(candidates.evidence[unranked][:, :2] + np.float32(1e-3))
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-trusting.log_odds(votes))))
