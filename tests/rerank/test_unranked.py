"""Labels without a ranker: where only neighbours by embedding vote, they keep the place that the votes give them."""

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


@pytest.mark.parametrize("seed", range(3))
def test_a_place_among_the_votes_is_read_as_a_line_between_the_ranked(vote_fusion, seed):
    candidates, scores, unranked = made_up(seed, 0)
    found = score_unranked(candidates, scores, unranked, vote_fusion, 1)
    for (row, column), value in zip(np.argwhere(unranked), found, strict=True):
        ranked = candidates.mask[row] & ~unranked[row]
        votes, chances = np.sort(candidates.evidence[row, ranked, 0]), np.sort(scores[row, ranked])
        top = chances[-1:] if len(chances) else np.zeros(1)
        wanted = np.interp(candidates.evidence[row, column, 0], [0, *votes, 1], [0, *chances, *top])
        low = 1 / (1 + np.exp(-vote_fusion.log_odds(np.log(candidates.evidence[[row], column, :2] + np.float32(1e-3)))))
        assert value == pytest.approx(max(wanted, low[0]), abs=1e-6)


def test_where_features_vote_the_fusion_of_both_votes_decides(vote_fusion):
    candidates, scores, unranked = made_up(0, 1)
    found = score_unranked(candidates, scores, unranked, vote_fusion, 1)
    votes = np.log(candidates.evidence[unranked][:, :2] + np.float32(1e-3))
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-vote_fusion.log_odds(votes))))
