"""Words, vectors and both side by side: what the benchmark says of answers that are known, and its peers."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from hybrid_helpers import hybrid_problem


def test_answers_are_told_with_intervals(module):
    hybrid = module("hybrid")
    Y = csr_matrix(np.tile(np.eye(6), (30, 1)))
    right = np.tile(np.arange(6)[:, None], (30, 5))
    right[:, 1:] = -1
    wrong = np.roll(right, 1, axis=0)
    cost = {"train_cpu_s": 1.0, "predict_cpu_ms": 0.5}
    found = hybrid.describe({"words": wrong, "both": right}, {"words": cost, "both": cost}, Y[:6], Y)
    assert (found["both"]["P@1"], found["words"]["P@1"]) == (100, 0)
    assert found["words"]["both_is_better_by"]["P@1"] == [100, 100]
    page = hybrid.table({"toy, mine": {"methods": found}, "machine": "this one"})
    assert hybrid.name_of("a/mine/model-int8.onnx") == "mine/model-int8"
    assert (
        "| toy, mine | words | 0.00 / 0.00 / 0.00 | 0.00 / 0.00 | +100.0 to +100.0; +20.0 to +20.0 | 1 | 0.50 |" in page
    )


def test_peers_on_vectors_find_the_labels_that_vectors_tell(module):
    peers = module("hybrid_peers")
    X, Y = hybrid_problem(noise=0.05)
    half = csr_matrix(Y[:, Y.shape[1] // 2 :])  # which show in the vectors
    for name in ("knn", "logistic"):
        labels, cost = peers.PEERS[name](X.words, half, X.words, X.vectors, X.vectors)
        right = np.asarray(half[np.arange(labels.shape[0]), labels[:, 0]]).ravel()
        assert right.mean() > 0.9
        assert min(cost["train_cpu_s"], cost["predict_cpu_ms"]) >= 0


def test_vectors_are_encoded_once(module, tmp_path):
    vectors = module("sentence_vectors")
    np.save(tmp_path / "toy-train.mine.npy", np.eye(3, dtype=np.float32))
    assert np.array_equal(vectors.vectors_of("toy", "train", "mine", tmp_path), np.eye(3))
    documents = vectors.documents_of("debian", "test")
    assert documents[0].text.split() == sorted(documents[0].text.split())
