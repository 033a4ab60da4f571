"""Ω: for each point the points whose label vectors are most like its own (section 2.1 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.core.threads import run_ranges
from neartag.linalg import csr
from neartag.linalg.rows import csr_arrays
from neartag.x1 import label_graph_kernels as kernels
from neartag.x1.parameters import SIMILARITIES

Groups: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Grouping:
    """From when on frequent labels are dealt with by groups of points, instead of comparing m² pairs for m points.

    How many labels and groups pay, and from how many points on, was measured.
    """

    frequent_share: float = 1 / 32  # of the points: a label on more of them is frequent
    max_labels: int = 16  # frequent labels
    max_groups: int = 1024
    min_points_per_group: int = 16  # on average
    min_points: int = 3000


DEFAULT_GROUPING = Grouping()


def label_neighbours(
    Y: csr_matrix,
    count: int,
    *,
    similarity: str = "cosine",
    threads: int = 1,
    grouping: Grouping = DEFAULT_GROUPING,
) -> tuple[np.ndarray, np.ndarray]:
    """Return ids and similarities (n, count) of the label rows most like each row, the row itself included.

    Exact; memory is proportional to n · count, because overlaps are gathered a row at a time. Rows that share no
    label are never neighbours: where fewer than `count` rows overlap, the rest is −1. Ties go to the nearest following
    row number, wrapping round. The order of a row's neighbours means nothing.
    """
    if similarity not in SIMILARITIES:
        raise ParameterError(f"label_similarity must be one of {SIMILARITIES}, not {similarity!r}")
    n = Y.shape[0]
    count = min(count, n)
    sizes = np.diff(Y.indptr).astype(np.float32)
    scale = 1 / np.sqrt(np.maximum(sizes, 1)) if similarity == "cosine" else np.ones(n, np.float32)
    rare, groups = _split_off_frequent(Y, scale, grouping)
    labels, points = csr_arrays(rare)[:2], csr_arrays(rare.T.tocsr())[:2]  # labels of rows, rows of labels
    neighbours = np.empty((n, count), np.int32), np.empty((n, count), np.float32)
    cost = csr.pointer(np.diff(points[0])[labels[1]])[labels[0]] + count * np.arange(n + 1)
    run_ranges(kernels.label_neighbours, n, threads, labels, points, scale, groups, neighbours, work=cost)
    return neighbours


def _split_off_frequent(Y: csr_matrix, scale: np.ndarray, grouping: Grouping) -> tuple[csr_matrix, Groups]:
    """Return the label rows without frequent labels, and the rows' groups by these, one of all rows if there are none.

    Rows of a group are alike in frequent labels and in scale: a row that shares no other label with them is as similar
    to one as to another, and need not be compared with each. Few labels are taken for frequent, lest groups be many.
    """
    n, n_labels = Y.shape
    points = np.bincount(Y.indices, minlength=n_labels)
    frequent = np.empty(0, np.int64)
    if n >= grouping.min_points:
        frequent = np.flatnonzero(points > grouping.frequent_share * n)
    frequent = frequent[np.argsort(-points[frequent], kind="stable")][: grouping.max_labels]
    if len(frequent):
        row_of = np.repeat(np.arange(n), np.diff(Y.indptr))
        scales, rank = np.unique(scale, return_inverse=True)
    for kept in range(len(frequent), 0, -1):
        bit = np.zeros(n_labels)
        bit[frequent[:kept]] = 2.0 ** np.arange(kept)
        marks = np.bincount(row_of, bit[Y.indices], n)  # a row's frequent labels as one number
        _, first, group = np.unique(marks * len(scales) + rank, return_index=True, return_inverse=True)
        if len(first) <= min(grouping.max_groups, n // grouping.min_points_per_group):
            rare = bit[Y.indices] == 0
            pieces = Y.data[rare], Y.indices[rare], csr.pointer(rare)[Y.indptr]
            labels = marks[first].astype(np.int64)[:, None] >> np.arange(kept) & 1
            return csr_matrix(pieces, shape=Y.shape), _make_groups(group, labels, scale[first])
    return Y, _make_groups(np.zeros(n, np.int64), np.zeros((1, 0)), scale[:1])


def _make_groups(group: np.ndarray, labels: np.ndarray, scale: np.ndarray) -> Groups:
    """Return groups as the kernel takes them, from each row's group and each group's frequent labels and scale."""
    labels = labels.astype(np.float32)  # (groups, frequent labels)
    shared = labels @ labels.T
    similarity = shared * (scale[:, None] * scale)
    return (
        group.astype(np.int32),
        csr.pointer(np.bincount(group, minlength=len(scale))),
        np.argsort(group, kind="stable").astype(np.int32),
        shared,
        np.argsort(-similarity, axis=1, kind="stable").astype(np.int32),
    )


def neighbour_graph(
    Y: csr_matrix,
    count: int,
    *,
    similarity: str = "cosine",
    threads: int = 1,
    grouping: Grouping = DEFAULT_GROUPING,
) -> csr_matrix:
    """Return P_Ω(Y Yᵀ) (n, n) with Ω the pairs of which one is a nearest neighbour of the other.

    The paper's Ω need not be symmetric, its M must be; so the union Ω ∪ Ωᵀ is kept, and the graph is symmetric.
    """
    ids, values = label_neighbours(Y, count, similarity=similarity, threads=threads, grouping=grouping)
    n = Y.shape[0]
    present = ids >= 0
    indptr = csr.pointer(present.sum(axis=1))
    turned = csr_matrix((values[present], ids[present], indptr), shape=(n, n)).T.tocsr()  # rows come out sorted
    directions = csr_arrays(turned.T.tocsr()), csr_arrays(turned)
    sizes = np.empty(n, np.int64)
    run_ranges(kernels.union_sizes, n, threads, *directions, sizes)
    pointer = csr.pointer(sizes)
    columns, both = np.empty(pointer[-1], np.int32), np.empty(pointer[-1], np.float32)
    run_ranges(kernels.union_rows, n, threads, *directions, (pointer, columns, both), work=pointer)
    graph = csr_matrix((both, columns, pointer), shape=(n, n))
    graph.has_sorted_indices = True
    return graph
