"""Made-up data: the sizes asked for, heavy tails, the same bytes for a seed, and something to learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.data.synthetic import make

SHAPES = [(3000, 5000, 500, 50, 3), (3000, 20000, 3000, 100, 5), (3000, 2000, 100, 30, 2.4), (3000, 1000, 159, 68, 2.4)]


def bytes_of(data) -> bytes:
    return b"".join(part.tobytes() for m in (data.X, data.Y) for part in (m.data, m.indices, m.indptr))


@pytest.mark.parametrize("shape", [*SHAPES, (500, 500, 983, 18, 19), (2000, 50, 10, 2, 0.6)])
@pytest.mark.parametrize("seed", [0, 1])
def test_has_the_sizes_asked_for(shape, seed):
    n, d, L, features, labels = shape
    data = make(*shape, seed=seed)
    assert (data.n_points, data.n_features, data.n_labels) == (n, d, L)
    assert data.X.nnz / n == pytest.approx(features, rel=0.1)
    assert data.Y.nnz / n == pytest.approx(labels, rel=0.1)
    assert data.X.dtype == data.Y.dtype == np.float32
    assert data.X.has_canonical_format
    assert data.Y.has_canonical_format
    assert (data.Y.data == 1).all()
    assert (data.X.data > 0).all()
    norms = np.asarray(data.X.multiply(data.X).sum(axis=1)).ravel()
    assert np.allclose(norms, 1, atol=1e-5)


def test_same_seed_same_bytes():
    shape = (2000, 3000, 200, 20, 2)
    assert bytes_of(make(*shape, seed=3)) == bytes_of(make(*shape, seed=3))
    assert bytes_of(make(*shape, seed=3)) != bytes_of(make(*shape, seed=4))
    # In many blocks as in one: other draws, the same sizes.
    assert make(*shape, block_draws=5000).X.nnz / 2000 == pytest.approx(20, rel=0.1)


def test_label_frequencies_have_a_heavy_tail():
    data = make(5000, 5000, 2000, 30, 3)
    frequency = np.sort(np.bincount(data.Y.indices, minlength=2000))[::-1]
    assert np.mean(frequency < 5) > 0.3
    assert frequency[:200].sum() > 0.4 * frequency.sum()
    steep = make(5000, 5000, 2000, 30, 3, label_exponent=2.0)
    assert np.bincount(steep.Y.indices).max() > frequency[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_neighbours_know_more_than_the_most_frequent_label_but_not_all(shape):
    data = make(*shape, seed=5)
    train, test = data.take(np.arange(2500)), data.take(np.arange(2500, 3000))
    similarity = (test.X @ train.X.T).toarray()  # (500, 2500)
    nearest = np.argpartition(-similarity, 10, axis=1)[:, :10]
    weights = np.take_along_axis(similarity, nearest, axis=1)
    votes = csr_matrix((weights.ravel(), nearest.ravel(), np.arange(0, nearest.size + 1, 10)), shape=similarity.shape)
    truth = test.Y.toarray()
    best = (votes @ train.Y).toarray().argmax(axis=1)
    most_frequent = np.bincount(train.Y.indices).argmax()
    assert 0.35 < truth[np.arange(500), best].mean() < 0.85
    assert truth[:, most_frequent].mean() < 0.2


def test_one_topic_one_label_one_point():
    assert make(1, 1, 1, 1, 1).X.toarray().tolist() == [[1.0]]
    assert make(300, 40, 7, 3, 2, topics=100).n_labels == 7
    assert make(300, 40, 7, 3, 2, topics=1, word_exponent=1.0).n_features == 40


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((0, 5, 5, 1, 1), "n = 0 must be from 1"),
        ((5, 0, 5, 1, 1), "d = 0"),
        ((5, 5, -1, 1, 1), "L = -1"),
        ((5, 2**31, 5, 1, 1), "d = 2147483648"),
        ((5, 5, 5, 6, 1), "features_per_point = 6 must be above 0 and at most 5"),
        ((5, 5, 5, 1, 0), "labels_per_point = 0"),
        ((5, 5, 5, 1, float("nan")), "labels_per_point = nan"),
        ((5, 3000, 5, 3000, 1), "features_per_point = 3000 is too dense"),
    ],
)
def test_parameters_that_cannot_be(shape, said):
    with pytest.raises(ParameterError, match=said):
        make(*shape)
    with pytest.raises(ParameterError, match="topics = 0"):
        make(5, 5, 5, 1, 1, topics=0)


def test_time_and_memory_grow_with_the_result():
    data = make(200_000, 1_600_000, 1_000_000, 40, 3)
    assert data.X.nnz / data.n_points == pytest.approx(40, rel=0.1)
    assert data.Y.nnz / data.n_points == pytest.approx(3, rel=0.1)
    assert data.X.indices.max() > 1_500_000
