"""The vote: the labels that a point's neighbours have, by their summed weight (Algorithm 2 of the paper)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.threads import run_ranges
from neartag.linalg.rows import csr_arrays
from neartag.search import vote_kernels


def vote(
    Y: csr_matrix, voters: np.ndarray, weights: np.ndarray, frequency: np.ndarray, k: int, threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k labels with the largest summed weight (m, k), and those sums.

    Ties go to the more frequent label, then to the lower id; −1 with score 0 where fewer than k labels have votes.
    """
    m = voters.shape[0]
    labels = np.empty((m, k), np.int32)
    scores = np.empty((m, k), np.float64)
    everybody = np.ascontiguousarray(voters, np.int32), np.ascontiguousarray(weights, np.float64)
    arguments = csr_arrays(Y), everybody, np.ascontiguousarray(frequency, np.int64)

    def part(start: int, stop: int) -> None:
        scratch = np.zeros(Y.shape[1]), np.empty(Y.shape[1], np.int32)
        vote_kernels.vote_top(*arguments, scratch, labels, scores, start, stop)

    run_ranges(part, m, threads)
    return labels, scores
