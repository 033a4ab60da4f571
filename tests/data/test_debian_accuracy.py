"""Accuracy on the embedded corpus: far above plain nearest neighbours, and as good as a linear model."""

from __future__ import annotations

from neartag import presets
from neartag.cli.references import plain_knn, plain_ridge
from neartag.data import debian
from neartag.encoders.tfidf import TfidfFeatures
from neartag.metrics import precision_at
from neartag.x1.classifier import X1Classifier


def test_p_at_1_is_ten_points_above_nearest_neighbours_and_at_most_half_a_point_below_ridge_regression():
    train, test = debian.load("train"), debian.load("test")
    features, tags = TfidfFeatures(), debian.tag_names()
    X, X_test = features.fit_transform(train.words), features.transform(test.words)
    Y, Y_test = train.label_matrix(tags), test.label_matrix(tags)
    classifier = X1Classifier(**presets.get("debian")).fit(X, Y)
    assert len(classifier.model_.learners) <= 5
    reached = precision_at(classifier.predict_topk(X_test, 1)[0], Y_test, 1)
    # Both references at their best on the test part itself, in their favour. Measured: 84.59 against 72.27 and 84.57.
    neighbours = plain_knn(X, Y, X_test, (50, 100, 200, 300), 1).values()
    assert reached > 10 + max(precision_at(labels, Y_test, 1) for labels in neighbours)
    assert reached > precision_at(plain_ridge(X, Y, X_test, 1, 3.0), Y_test, 1) - 0.5
