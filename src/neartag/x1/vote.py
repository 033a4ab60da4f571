"""The vote: the labels that a point's neighbours have, by their summed weight (Algorithm 2 of the paper)."""

from __future__ import annotations

import numpy as np

from neartag.core.threads import run_ranges
from neartag.linalg.rows import CSRArrays
from neartag.search.weights import Voters
from neartag.x1 import vote_kernels


def vote(
    labels: CSRArrays,
    voters: Voters,
    frequency: np.ndarray,
    k: int,
    threads: int = 1,
    allowed: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k labels with the largest summed weight (m, k), and those sums.

    `labels` are the arrays of the matrix (n, L) of what each training point votes for. Ties go to the more frequent
    label, then to the lower id; −1 with score 0 where fewer than k labels have votes. Of `allowed` (L,), where it is
    given, the others are left out.
    """
    m, n_labels = len(voters[0]), len(frequency)
    best, scores = np.empty((m, k), np.int32), np.empty((m, k), np.float64)
    contiguous = np.ascontiguousarray(voters[0], np.int32), np.ascontiguousarray(voters[1], np.float64)
    frequency = np.ascontiguousarray(frequency if allowed is None else np.where(allowed, frequency, -1), np.int64)

    def vote_on_rows(start: int, stop: int) -> None:
        scratch = np.zeros(n_labels), np.empty(n_labels, np.int32)
        vote_kernels.vote_top(labels, contiguous, frequency, scratch, best, scores, start, stop)

    run_ranges(vote_on_rows, m, threads)
    return best, scores


def label_shares(labels: CSRArrays, voters: Voters, asked: np.ndarray, n_labels: int, threads: int = 1) -> np.ndarray:
    """Return the share of the votes that each label asked for has (m, k); 0 for −1, and where nobody voted for it."""
    out = np.empty(asked.shape)
    asked = np.ascontiguousarray(asked, np.int32)

    def share_of_rows(start: int, stop: int) -> None:
        vote_kernels.label_shares(labels, voters, asked, np.zeros(n_labels), out, start, stop)

    run_ranges(share_of_rows, len(asked), threads)
    return np.minimum(out, 1.0, out=out)


def combine_votes(voters: Voters, others: Voters | None, share: float) -> Voters:
    """Return all voters with their shares of the whole vote, of which the others, of another kind, have one in all."""
    if share == 0 or others is None:
        return voters
    return np.hstack([voters[0], others[0]]), np.hstack([(1 - share) * voters[1], share * others[1]])
