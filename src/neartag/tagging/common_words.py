"""A warning where most texts have no word in common with any other: their language may be written without blanks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse

from neartag.linalg.large_csr import column_counts

MIN_TEXTS = 20  # fewer may well have no word in common
MAX_TEXTS = 20_000  # the first so many are looked at
MIN_SHARE = 0.5  # of texts without such a word, from which on to warn


def warn_of_texts_apart(X: Any, encoder: Any) -> None:
    """Warn where most of the rows X (n, d) of an encoder that counts words have no word that another row has."""
    counts_words = hasattr(encoder, "terms_of") and getattr(encoder, "char_ngrams", None) is None
    if not counts_words or not issparse(X) or X.shape[0] < MIN_TEXTS:
        return
    n_texts = column_counts(X)  # (d,) that have each word
    first = X[:MAX_TEXTS]
    n_common = np.diff(np.append(0, np.cumsum(n_texts[first.indices] > 1))[first.indptr])  # (m,) words of each
    apart = int(((n_common == 0) & (np.diff(first.indptr) > 0)).sum())
    if apart > MIN_SHARE * first.shape[0]:
        warnings.warn(
            f"{apart:,} of {first.shape[0]:,} texts have no word that another text has, so nothing can be learned from "
            "them; if their language is written without blanks, count runs of characters: features='characters' "
            "(--features characters)",
            UserWarning,
            stacklevel=2,
        )
