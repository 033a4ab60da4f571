"""Figures as the paper prints them, to stand beside measured ones.

Bhatia, Jain, Kar, Varma, Jain, "Sparse Local Embeddings for Extreme Multi-label Classification", NIPS 2015. Table 3 is
in its supplementary material: means over ten random splits, in percent.
"""

from __future__ import annotations

# By method as neartag names it, by data set as the paper names it: P@1, P@3, P@5.
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
