"""One point at a time gives what a batch gives, whatever the settings."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag import TfidfFeatures, store
from neartag.data import debian, synthetic
from neartag.x1.classifier import X1Classifier

BASE = {"n_learners": 1, "n_clusters": 1, "embedding_dim": 12, "svp_neighbours": 20, "n_jobs": 1}
VOTE = {"feature_share": 0.3, "vote_neighbours": 10}
by_votes_and_refined = pytest.mark.parametrize("refine", [False, True])


def problem():
    data = synthetic.make(520, 150, 40, 12, 2)
    rows = csr_matrix(data.X[500:])
    rows.data[rows.indptr[3] : rows.indptr[4]] = 0  # a row of stored zeros
    return data.X[:500], data.Y[:500], rows


def assert_same(model, rows, k=4):
    labels, scores = model.predict_topk(rows, k)
    for row in range(rows.shape[0]):
        one_labels, one_scores = model.predict_topk(rows[row : row + 1], k)
        assert one_labels.shape == one_scores.shape == (1, k)
        np.testing.assert_allclose(one_scores[0], scores[row], atol=1e-5)
        # Rounding may swap labels whose scores are equal to the last digits.
        apart = np.abs(np.diff(np.append(scores[row], -1))) > 1e-4
        clear = apart & np.append(True, apart[:-1])
        assert (one_labels[0][clear] == labels[row][clear]).all()


@by_votes_and_refined
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"feature_share": 0},
        {"feature_share": 1},
        {"vote_weight": "uniform", "vote_distance": "euclidean", "feature_share": 0},
        {"n_clusters": 4},
        {"n_clusters": 4, "n_probe": 2},
        {"n_clusters": 4, "n_probe": 9, "vote_distance": "euclidean"},
        {"n_clusters": 3, "n_learners": 3},
        {"l1": 0.3},
        {"keep_weights": 0.3},
        {"n_clusters": 4, "centroid_entries": 10, "n_probe": 2},
        {"precision": "int8"},
        {"vote_neighbours": 2000},
    ],
)
def test_a_point_alone_gets_what_it_gets_in_a_batch(changes, refine):
    X, Y, rows = problem()
    model = X1Classifier(**{**BASE, **VOTE, **changes, "refine": refine}).fit(X, Y)
    assert_same(model, rows)


@by_votes_and_refined
def test_dense_rows(refine):
    X, Y, rows = problem()
    model = X1Classifier(**BASE, **VOTE, refine=refine).fit(X.toarray(), Y)
    assert_same(model, rows.toarray())
    assert_same(model.model_, rows)


@by_votes_and_refined
def test_more_labels_than_there_are(refine):
    X, Y, rows = problem()
    assert_same(X1Classifier(**BASE, **VOTE, refine=refine).fit(X, Y), rows, k=60)


@by_votes_and_refined
def test_a_row_that_nobody_knows_gets_the_most_frequent_labels(refine):
    X, Y, _ = problem()
    unknown = X.copy().tolil()
    unknown[:, 149] = 0
    model = X1Classifier(**BASE, **VOTE, refine=refine).fit(csr_matrix(unknown), Y)
    only = csr_matrix(([1.0], ([0], [149])), shape=(1, 150))
    for row in (only, csr_matrix((1, 150))):
        labels, _ = model.predict_topk(row, 3)
        assert labels[0].tolist() == np.argsort(-model.model_.frequency, kind="stable")[:3].tolist()


@by_votes_and_refined
def test_settings_of_prediction_may_change_between_points(refine):
    X, Y, rows = problem()
    model = X1Classifier(**BASE, **VOTE, refine=refine).fit(X, Y)
    for share in (0.0, 0.9, 0.3):
        assert_same(model.set_params(feature_share=share), rows[:5])


@by_votes_and_refined
def test_several_threads_at_once(tmp_path, refine):
    X, Y, rows = problem()
    store.save(X1Classifier(**BASE, **VOTE, refine=refine).fit(X, Y), tmp_path / "model")
    model = store.load(tmp_path / "model").model
    wanted = [model.predict_topk(rows[row : row + 1], 4)[0].tolist() for row in range(20)]
    fresh = store.load(tmp_path / "model").model  # its caches are made by whoever comes first
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda row: fresh.predict_topk(rows[row : row + 1], 4)[0].tolist(), [*range(20)] * 5))
    assert found == wanted * 5


@by_votes_and_refined
def test_how_far_one_and_many_texts_differ(refine):
    # Real texts, no two the same: BLAS adds up a batch in another order than the kernel for one row.
    packages = debian.load("train")
    rows = TfidfFeatures().fit_transform([" ".join(words) for words in packages.words[:600]])
    Y = packages.label_matrix(sorted({tag for tags in packages.tags[:600] for tag in tags}))[:600]
    model = X1Classifier(**{**BASE, "vote_neighbours": 7, "refine": refine}).fit(rows[:500], Y[:500]).model_
    best, scores = model.predict_topk(rows[500:], 5, n_jobs=1)
    ones = [model.predict_topk(row, 5) for row in rows[500:]]
    alone = np.concatenate([each[1] for each in ones])
    near = np.abs(alone - scores).max(axis=1)  # (100,)
    assert np.median(near) < 1e-6
    # Where two are equally near at the edge of those who vote, another one votes.
    assert np.mean(near < 1e-3) >= 0.85
    assert near.max() < 0.15
    first = np.array([each[0][0, 0] for each in ones]) == best[:, 0]
    assert first[near < 1e-3].mean() >= 0.99
