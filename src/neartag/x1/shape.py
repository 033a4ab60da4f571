"""What is known of data that need not be there: how many points, features and labels there are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

# How fast labels become rare: the frequency of the r-th is about (r + shift) to the power of minus this.
LABEL_EXPONENT, LABEL_SHIFT = 0.8, 10
# The same of features, as is about right for the data of `data/synthetic.py`; and how many ranks are looked at.
FEATURE_EXPONENT, FEATURE_SHIFT, RANKS = 0.95, 1.5, 400


@dataclass(frozen=True)
class Shape:
    """What is known of data that are not there.

    `read` is the share of all points whose entries a search by features reads for one point: `search_work` tells it
    of real rows. It counts only as long as there are few points: of many only some are searched.
    """

    points: int
    features: int
    labels: int
    features_per_point: float
    labels_per_point: float
    read: float = 0.1

    @property
    def entries(self) -> float:
        """Numbers stored in the rows."""
        return self.points * self.features_per_point

    @property
    def pairs(self) -> float:
        """Pairs of a point and a label of it."""
        return self.points * self.labels_per_point

    def label_counts(self) -> np.ndarray:
        """Return how many points have each label (L,), about, the most frequent first."""
        weights = (np.arange(self.labels) + LABEL_SHIFT) ** -LABEL_EXPONENT
        return np.minimum(np.ceil(weights * (self.pairs / weights.sum())), self.points).astype(np.int64)

    def used_features(self, points: float) -> float:
        """Return how many features so many points have, all together, about: frequencies fall as in Zipf's law."""
        ranks = np.geomspace(1, self.features + 1, RANKS)
        widths = np.diff(ranks)  # of features between two ranks, which are taken as equally frequent
        frequencies = (np.sqrt(ranks[1:] * ranks[:-1]) + FEATURE_SHIFT) ** -FEATURE_EXPONENT
        frequencies *= self.features_per_point / (widths @ frequencies)
        return float(widths @ -np.expm1(-points * frequencies))

    def divide(self, by: float) -> Shape:
        """Return the shape of so many times fewer points, features and labels, in which a search reads as much."""
        points, features, labels = (max(2, int(count // by)) for count in (self.points, self.features, self.labels))
        return replace(self, points=points, features=features, labels=labels, read=min(1.0, self.read * by))
