"""Metrics for bands of labels, by how many training points have them: what a method finds of rare labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.evaluation.matches import Matches, check_k, keep_labels, match_labels, score
from neartag.evaluation.propensities import PROPENSITY_A, PROPENSITY_B, LabelCounts

BAND_EDGES = (5, 20, 100)


def by_frequency(
    labels: np.ndarray,
    Y: csr_matrix,
    Y_train: csr_matrix,
    ks: Sequence[int] = (1, 3, 5),
    edges: Sequence[int] = BAND_EDGES,
    *,
    a: float = PROPENSITY_A,
    b: float = PROPENSITY_B,
) -> dict[str, dict[str, float]]:
    """Return every metric for each band of labels with similar frequency in training.

    P@k counts the hits of a band among the first k and divides by n·k, so that the bands add up to P@k. R@k is the
    share of the band's true (point, label) pairs that are among the first k, 0 if it has none. nDCG@k, PSP@k and
    PSnDCG@k are those of the same predictions if only the band's labels are true: what a point could reach is counted
    from its labels in the band, a point without any scores 0 in nDCG@k and adds nothing to the other two, and a
    prediction from another band still takes its rank. Propensities are those of the whole training matrix.

    Parameters
    ----------
    labels : ndarray of int, shape (n, columns)
        Predicted label ids, best first, -1 for none.
    Y : array or sparse matrix of shape (n, L)
        True labels.
    Y_train : array or sparse matrix of shape (m, L)
        Labels of the training points.
    ks : sequence of int, default (1, 3, 5)
    edges : sequence of int, default (5, 20, 100)
        A band ends with its edge: these make 0-5, 6-20, 21-100 and 101+. With (0, 5) the first band has the labels
        that no training point has.
    a, b : float
        Constants of the propensities.

    Returns
    -------
    dict of str to dict of str to float
        `{"0-5": {"labels": …, "pairs": …, "P@1": …}, …, "101+": …}`, metrics in percent; "labels" is how many labels
        the band has, "pairs" how many true pairs.

    Raises
    ------
    ParameterError
        If the arguments do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from neartag import metrics
    >>> Y_train = csr_matrix(np.array([[1, 0], [1, 0], [1, 1]]))
    >>> Y = csr_matrix(np.array([[1, 0], [0, 1]]))
    >>> bands = metrics.by_frequency(np.array([[0], [0]]), Y, Y_train, ks=(1,), edges=(1,))
    >>> {band: scores["P@1"] for band, scores in bands.items()}
    {'0-1': 0.0, '2+': 50.0}
    """
    matches = match_labels(labels, Y)
    counts = LabelCounts.of(Y_train)
    if len(counts.frequency) != matches.truth.shape[1]:
        raise ParameterError(f"Y_train has {len(counts.frequency)} labels, but Y has {matches.truth.shape[1]}")
    return score_bands(matches, counts, ks, edges, a=a, b=b)


def score_bands(
    matches: Matches,
    counts: LabelCounts,
    ks: Sequence[int],
    edges: Sequence[int] = BAND_EDGES,
    *,
    a: float = PROPENSITY_A,
    b: float = PROPENSITY_B,
) -> dict[str, dict[str, float]]:
    """Return what `by_frequency` does, for predictions that are matched already and counts of the training labels."""
    if len(edges) == 0 or edges[0] < 0 or np.any(np.diff(edges) <= 0):
        raise ParameterError(f"edges must be increasing and not negative: {tuple(edges)}")
    band_of = np.searchsorted(np.asarray(edges), counts.frequency, side="left")  # (L,) the band of each label
    n_bands = len(edges) + 1
    label_counts = np.bincount(band_of, minlength=n_bands)
    pairs = np.bincount(band_of[matches.truth.indices], minlength=n_bands)
    tables = [{"labels": float(label_counts[band]), "pairs": float(pairs[band])} for band in range(n_bands)]
    propensities = counts.propensities(a, b)
    parts = [keep_labels(matches, band_of == band) for band in range(n_bands)]
    for k in ks:
        check_k(k, matches)
        hits = np.bincount(band_of[matches.labels[:, :k][matches.hits[:, :k]]], minlength=n_bands)
        for band, table in enumerate(tables):
            table[f"P@{k}"] = 100.0 * float(hits[band]) / (matches.hits.shape[0] * k)
            table[f"R@{k}"] = 100.0 * float(hits[band]) / max(1, int(pairs[band]))
            table[f"nDCG@{k}"] = score("nDCG", k, parts[band])
            for family in ("PSP", "PSnDCG"):
                table[f"{family}@{k}"] = score(family, k, parts[band], propensities)
    return dict(zip(band_names(edges), tables, strict=True))


def band_names(edges: Sequence[int]) -> list[str]:
    """Return the names of the bands that end with these edges, such as 6-20, and of the one above them."""
    lows = [0, *(edge + 1 for edge in edges)]
    closed = [f"{low}-{high}" if low < high else f"{low}" for low, high in zip(lows, edges, strict=False)]
    return [*closed, f"{lows[-1]}+"]
