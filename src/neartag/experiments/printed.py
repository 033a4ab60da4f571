"""The numbers that the paper prints, to be shown beside measured ones.

Bhatia, Jain, Kar, Varma, Jain, "Sparse Local Embeddings for Extreme Multi-label Classification", NIPS 2015, and its
first version, "Locally Non-linear Embeddings for Extreme Multi-label Learning". Methods have the
names that neartag gives them, data sets those of the paper. Accuracies are in percent.
"""

from __future__ import annotations

from typing import NamedTuple

from neartag.data.registry.dataset_facts import PAPER


class Stability(NamedTuple):
    """A column of Table 4: means over ten runs on WikiLSHTC, and their standard deviations."""

    means: tuple[float, float, float]  # P@1, P@3, P@5
    deviations: tuple[float, float, float]


# Table 1 (a), large data sets: P@1, P@3, P@5; None where the paper could not run the method.
TABLE_1: dict[str, dict[str, tuple[float, float, float] | None]] = {
    "x1": {
        "Wiki10": (85.54, 73.59, 63.10),
        "DeliciousLarge": (47.03, 41.67, 38.88),
        "WikiLSHTC": (55.57, 33.84, 24.07),
        "Amazon": (35.05, 31.25, 28.56),
        "Ads1M": (21.84, 14.30, 11.01),
    },
    "leml": {
        "Wiki10": (73.50, 62.38, 54.30),
        "DeliciousLarge": (40.30, 37.76, 36.66),
        "WikiLSHTC": (19.82, 11.43, 8.39),
        "Amazon": (8.13, 6.83, 6.03),
        "Ads1M": None,
    },
    "fastxml": {
        "Wiki10": (82.56, 66.67, 56.70),
        "DeliciousLarge": (42.81, 38.76, 36.34),
        "WikiLSHTC": (49.35, 32.69, 24.03),
        "Amazon": (33.36, 29.30, 26.12),
        "Ads1M": (23.11, 13.86, 10.12),
    },
    "lpsr-nb": {
        "Wiki10": (72.71, 58.51, 49.40),
        "DeliciousLarge": (18.59, 15.43, 14.07),
        "WikiLSHTC": (27.91, 16.04, 11.57),
        "Amazon": (28.65, 24.88, 22.37),
        "Ads1M": (17.08, 11.38, 8.83),
    },
}

# Methods of Table 1 (b); its numbers are those of Table 3.
TABLE_1B = ("x1", "leml", "fastxml", "wsabie", "one_vs_all")

# Table 2, the sizes of the data sets.
TABLE_2 = {facts.title: facts.sizes for facts in PAPER}

# Table 4, by the number of learners.
TABLE_4 = {
    1: Stability((46.04, 26.15, 18.14), (0.1659, 0.1359, 0.1045)),
    2: Stability((50.04, 29.32, 20.58), (0.0662, 0.0638, 0.0517)),
    3: Stability((51.65, 30.70, 21.68), (0.074, 0.052, 0.0398)),
    4: Stability((52.62, 31.55, 22.36), (0.0878, 0.067, 0.0501)),
    5: Stability((53.28, 32.14, 22.85), (0.0379, 0.0351, 0.0179)),
    6: Stability((53.63, 32.48, 23.12), (0.083, 0.0728, 0.0525)),
    7: Stability((54.03, 32.82, 23.40), (0.0757, 0.0694, 0.0531)),
    8: Stability((54.28, 33.07, 23.60), (0.0699, 0.0503, 0.0369)),
    9: Stability((54.44, 33.24, 23.74), (0.048, 0.023, 0.0172)),
    10: Stability((54.69, 33.45, 23.92), (0.035, 0.0127, 0.0115)),
}

# Sections 1 and 3 on WikiLSHTC: milliseconds to predict a point (of X1's ensemble: Section 1 has them beside its 56%),
# and hours to train one learner, or all 50 trees of FastXML, on one core (of LEML it is not said on how many).
PREDICT_MILLISECONDS = {"x1": 8.0, "leml": 279.0, "fastxml": 0.5}
TRAIN_HOURS = {"x1": 4.0, "fastxml": 13.0, "leml": 22.0}

# Table 3, small data sets: means over ten random splits.
# By method, by data set: P@1, P@3, P@5.
TABLE_3: dict[str, dict[str, tuple[float, float, float]]] = {
    "x1": {
        "BibTeX": (65.57, 40.02, 29.30),
        "Delicious": (68.42, 61.83, 56.80),
        "MediaMill": (87.09, 72.44, 58.45),
        "EURLex": (80.17, 65.39, 53.75),
    },
    "leml": {
        "BibTeX": (62.53, 38.40, 28.21),
        "Delicious": (65.66, 60.54, 56.08),
        "MediaMill": (84.00, 67.19, 52.80),
        "EURLex": (61.28, 48.66, 39.91),
    },
    "wsabie": {
        "BibTeX": (54.77, 32.38, 23.98),
        "Delicious": (64.12, 58.13, 53.64),
        "MediaMill": (81.29, 64.74, 49.82),
        "EURLex": (70.87, 56.62, 46.20),
    },
    "cplst": {
        "BibTeX": (62.38, 37.83, 27.62),
        "Delicious": (65.31, 59.84, 55.31),
        "MediaMill": (83.34, 66.17, 51.45),
        "EURLex": (69.93, 56.18, 45.74),
    },
    "cs": {
        "BibTeX": (58.87, 33.53, 23.72),
        "Delicious": (61.35, 56.45, 52.06),
        "MediaMill": (83.82, 67.31, 52.80),
        "EURLex": (60.18, 48.01, 38.46),
    },
    "ml_cssp": {
        "BibTeX": (44.98, 30.42, 23.53),
        "Delicious": (63.03, 56.26, 50.15),
        "MediaMill": (78.94, 60.93, 44.27),
        "EURLex": (56.84, 45.40, 35.84),
    },
    "fastxml-1": {
        "BibTeX": (37.62, 24.62, 21.92),
        "Delicious": (55.34, 50.69, 45.99),
        "MediaMill": (61.14, 53.37, 48.39),
        "EURLex": (49.18, 42.72, 37.35),
    },
    "fastxml": {
        "BibTeX": (63.73, 39.00, 28.54),
        "Delicious": (69.44, 63.62, 59.10),
        "MediaMill": (84.24, 67.39, 53.14),
        "EURLex": (68.69, 57.73, 48.00),
    },
    "lpsr": {
        "BibTeX": (62.09, 36.69, 26.58),
        "Delicious": (65.00, 58.97, 53.46),
        "MediaMill": (83.57, 65.78, 49.97),
        "EURLex": (73.01, 60.36, 50.46),
    },
    "one_vs_all": {
        "BibTeX": (61.83, 36.44, 26.46),
        "Delicious": (65.01, 58.90, 53.26),
        "MediaMill": (83.57, 65.50, 48.57),
        "EURLex": (74.96, 62.92, 53.42),
    },
    "knn": {
        "BibTeX": (57.00, 36.32, 28.12),
        "Delicious": (64.95, 58.90, 54.12),
        "MediaMill": (83.46, 67.91, 54.24),
        "EURLex": (77.20, 61.46, 50.45),
    },
}

# The standard deviations beside them.
TABLE_3_DEVIATIONS: dict[str, dict[str, tuple[float, float, float]]] = {
    "x1": {
        "BibTeX": (0.65, 0.39, 0.32),
        "Delicious": (0.53, 0.59, 0.54),
        "MediaMill": (0.33, 0.30, 0.34),
        "EURLex": (0.86, 0.88, 0.80),
    },
    "leml": {
        "BibTeX": (0.69, 0.47, 0.29),
        "Delicious": (0.97, 0.44, 0.56),
        "MediaMill": (0.30, 0.29, 0.17),
        "EURLex": (1.33, 0.74, 0.68),
    },
    "wsabie": {
        "BibTeX": (0.68, 0.26, 0.18),
        "Delicious": (0.77, 0.58, 0.55),
        "MediaMill": (1.70, 0.67, 0.71),
        "EURLex": (1.11, 0.67, 0.55),
    },
    "cplst": {
        "BibTeX": (0.42, 0.52, 0.28),
        "Delicious": (0.79, 0.50, 0.52),
        "MediaMill": (0.45, 0.39, 0.37),
        "EURLex": (0.90, 0.66, 0.42),
    },
    "cs": {
        "BibTeX": (0.64, 0.44, 0.28),
        "Delicious": (0.77, 0.62, 0.58),
        "MediaMill": (0.36, 0.17, 0.18),
        "EURLex": (1.70, 1.90, 1.48),
    },
    "ml_cssp": {
        "BibTeX": (0.08, 2.37, 1.21),
        "Delicious": (1.10, 1.18, 1.57),
        "MediaMill": (10.10, 8.50, 4.80),
        "EURLex": (1.50, 0.94, 0.74),
    },
    "fastxml-1": {
        "BibTeX": (0.91, 0.68, 0.65),
        "Delicious": (0.92, 0.58, 0.37),
        "MediaMill": (0.49, 0.30, 0.19),
        "EURLex": (0.55, 0.51, 0.42),
    },
    "fastxml": {
        "BibTeX": (0.67, 0.57, 0.38),
        "Delicious": (0.58, 0.75, 0.65),
        "MediaMill": (0.27, 0.20, 0.18),
        "EURLex": (1.63, 1.58, 1.40),
    },
    "lpsr": {
        "BibTeX": (0.73, 0.49, 0.38),
        "Delicious": (0.77, 0.65, 0.46),
        "MediaMill": (0.26, 0.22, 0.48),
        "EURLex": (1.40, 0.56, 0.50),
    },
    "one_vs_all": {
        "BibTeX": (0.77, 0.38, 0.26),
        "Delicious": (0.73, 0.60, 0.57),
        "MediaMill": (0.25, 0.23, 0.56),
        "EURLex": (1.04, 0.53, 0.37),
    },
    "knn": {
        "BibTeX": (0.85, 0.47, 0.39),
        "Delicious": (0.68, 0.70, 0.57),
        "MediaMill": (0.19, 0.23, 0.21),
        "EURLex": (0.79, 0.96, 0.64),
    },
}
