"""Accuracy on a third of the embedded corpus: far above plain nearest neighbours, and as good as a linear model."""

from __future__ import annotations

import numpy as np

from neartag import presets
from neartag.cli.references import plain_knn, plain_ridge
from neartag.data import debian
from neartag.encoders.tfidf import TfidfFeatures
from neartag.metrics import precision_at
from neartag.x1.classifier import X1Classifier


def test_p_at_1_is_ten_points_above_nearest_neighbours_and_at_most_half_a_point_below_ridge_regression():
    train, test = debian.load("train"), debian.load("test")
    features, tags = TfidfFeatures(), debian.tag_names()
    random = np.random.default_rng(0)
    some, asked = random.permutation(len(train.words))[:8000], random.permutation(len(test.words))[:3000]
    X = features.fit_transform([train.words[row] for row in some])
    X_test = features.transform([test.words[row] for row in asked])
    Y, Y_test = train.label_matrix(tags)[some], test.label_matrix(tags)[asked]
    classifier = X1Classifier(**presets.get("debian")).fit(X, Y)
    assert len(classifier.model_.learners) <= 5
    reached = precision_at(classifier.predict_topk(X_test, 1)[0], Y_test, 1)
    # Both references at their best on the test part itself, in their favour. Measured: 83.23 against 72.20 and 82.27;
    # of all points 85.17 against 72.27 and 84.57.
    neighbours = plain_knn(X, Y, X_test, (50, 100, 200), 1).values()
    assert reached > 10 + max(precision_at(labels, Y_test, 1) for labels in neighbours)
    assert reached > precision_at(plain_ridge(X, Y, X_test, 1, 3.0), Y_test, 1) - 0.5
