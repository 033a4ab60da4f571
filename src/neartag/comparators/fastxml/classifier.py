"""The estimator of FastXML and its model: the trees, grown and walked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators.fastxml import METHOD
from neartag.comparators.fastxml import tree_kernels as kernels
from neartag.comparators.fastxml import walk_kernels as walk
from neartag.comparators.shared.arrays import Arrays, check_array
from neartag.comparators.shared.base import Comparator, Shape
from neartag.comparators.shared.model import FitInfo, ScoringModel
from neartag.core.progress import Progress
from neartag.core.threads import run_pieces, run_ranges
from neartag.linalg import csr
from neartag.linalg.packing import are_within, require
from neartag.linalg.rows import Rows, csr_arrays

Tree = tuple[np.ndarray, ...]  # child, then indptr, indices and data of the weights and of the shares
# Weights of a tree for each of its points, to tell how much memory a model takes: measured 2 to 10 at useful settings.
WEIGHTS_PER_POINT = 10


@dataclass(repr=False)
class FastXMLModel(ScoringModel):
    """The nodes of all trees, one tree after the other."""

    method = METHOD

    roots: np.ndarray  # (trees,) each tree's first node
    child: np.ndarray  # (nodes,) where points of the minus side go; those of the plus side to the next one; 0: a leaf
    weights: csr_matrix  # (nodes, d) separators; a leaf has none
    shares: csr_matrix  # (nodes, labels) of a leaf's points that have each label; other nodes have none

    @cached_property
    def _weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return csr_arrays(self.weights)

    @cached_property
    def _shares(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return csr_arrays(self.shares)

    def scores(self, rows: Rows, threads: int) -> csr_matrix:
        """Return each label's share of the points in the leaves that a row comes to, averaged over the trees."""
        leaves = self.leaves(rows, threads)
        m, width = rows.shape[0], self.shares.shape[1]
        counts = np.zeros(m + 1, np.int64)
        run_ranges(walk.count_labels, m, threads, leaves, self._shares, width, counts[1:])
        pointer = np.cumsum(counts)
        ids, values = np.zeros(pointer[-1], np.int32), np.zeros(pointer[-1], np.float32)
        run_ranges(walk.mean_shares, m, threads, leaves, self._shares, width, pointer, ids, values, work=pointer)
        return csr_matrix((values, ids, pointer), shape=(m, width))

    def leaves(self, rows: Rows, threads: int) -> np.ndarray:
        """Return the leaf of each tree that each row comes to: (m, trees) numbers of nodes."""
        rows = csr_matrix(rows)
        out = np.empty((rows.shape[0], len(self.roots)), np.int32)
        trees = self.child, self._weights, rows.shape[1], self.roots
        run_ranges(walk.find_leaves, rows.shape[0], threads, csr_arrays(rows), *trees, out)
        return out

    def arrays(self) -> Arrays:
        """Return the trees."""
        return {"trees": {"roots": self.roots, "child": self.child, "weights": self.weights, "shares": self.shares}}

    @classmethod
    def from_arrays(cls, info: FitInfo, arrays: Arrays) -> FastXMLModel:
        """Return the model of such arrays."""
        child = arrays["trees"]["child"]
        nodes = len(child)
        check_array(arrays, "trees", "child", (nodes,), np.int32)
        roots = check_array(arrays, "trees", "roots", (info.settings["trees"],), np.int32)
        require(are_within(roots, nodes), "a tree begins at a node that there is not")
        # Numbers rise from parent to child, so that every walk ends.
        forward = (child > np.arange(nodes)) & (child < nodes - 1)
        require(bool((forward | (child == 0)).all()), "a node's children are not among the nodes after it")
        weights = check_array(arrays, "trees", "weights", (nodes, info.columns))
        shares = check_array(arrays, "trees", "shares", (nodes, info.width))
        require(sparse.issparse(weights) and sparse.issparse(shares), "weights or shares are not sparse")
        fine = bool(((shares.data > 0) & (shares.data <= 1)).all())
        require(fine, "leaves have shares of labels that are not above 0 and up to 1")
        return cls(info, roots, child, weights, shares)


def discounts(labels: int) -> np.ndarray:
    """Return what the label at each rank counts in a DCG: 1 / log₂(1 + rank), (labels,)."""
    return 1 / np.log2(np.arange(2, labels + 2))


def normalisers(Y: csr_matrix, discount: np.ndarray) -> np.ndarray:
    """Return 1 / the best DCG of each point, 0 for one without labels: (n,)."""
    best = np.concatenate([[np.inf], np.cumsum(discount)])
    return 1 / best[np.diff(Y.indptr)]


def grow_trees(
    rows: csr_matrix, Y: csr_matrix, settings: dict[str, Any], threads: int, progress: Progress
) -> list[Tree]:
    """Return the trees of an ensemble, each from its own seed, so that they are the same whatever the threads."""
    count = settings["trees"]
    seeds = np.random.SeedSequence(settings["random_state"]).generate_state(count, np.uint64)
    discount = discounts(Y.shape[1])
    indptr, indices, data = csr_arrays(rows)
    x = indptr, indices.view(np.uint32), data
    y = *csr_arrays(Y)[:2], normalisers(Y, discount), discount
    costs = float(settings["log_loss_coefficient"]), float(settings["ndcg_coefficient"])
    limits = settings["max_iter"], settings["max_leaf"], settings["labels_per_leaf"]
    trees: list[Tree] = [()] * count

    def grow(start: int, stop: int) -> None:
        for tree in range(start, stop):
            trees[tree] = kernels.grow_tree(x, y, rows.shape[1], *costs, *limits, seeds[tree])
            progress.advance()

    with progress.start(count, "growing trees"):
        run_pieces(grow, count, threads, min_size=1)
    return trees


def join_trees(trees: list[Tree], info: FitInfo) -> FastXMLModel:
    """Return the model of all trees, the nodes of each numbered after those of the trees before."""
    sizes = np.array([len(tree[0]) for tree in trees])
    roots = (np.cumsum(sizes) - sizes).astype(np.int32)
    child = np.concatenate([np.where(tree[0] > 0, tree[0] + root, 0) for tree, root in zip(trees, roots, strict=True)])

    def stack(first: int, width: int) -> csr_matrix:
        indptr = csr.pointer(np.concatenate([np.diff(tree[first]) for tree in trees]))
        indices, data = (np.concatenate([tree[first + piece] for tree in trees]) for piece in (1, 2))
        return csr_matrix((data, indices, indptr), shape=(len(child), width))

    return FastXMLModel(info, roots, child.astype(np.int32), stack(1, info.columns), stack(4, info.width))


class FastXMLClassifier(Comparator):
    """Trees that part the points by a sparse separator learned for the nDCG of each side, averaged."""

    method = METHOD

    def _train(self, rows: Rows, Y: csr_matrix, info: FitInfo, threads: int, progress: Progress) -> FastXMLModel:
        rows = csr_matrix(rows)  # an entry a number, also where rows are dense: the kernels know one form
        return join_trees(grow_trees(rows, Y, info.settings, threads, progress), info)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        entries = shape.entries + shape.ones
        growing = 8 * entries + 80 * shape.points + 50 * shape.features + 20 * shape.labels
        # A leaf's labels are those of its points at most; trees are held twice while they are joined.
        tree = 8 * (shape.ones + WEIGHTS_PER_POINT * shape.points) + 20 * 4 * shape.points // settings["max_leaf"]
        return 8 * shape.entries + min(threads, settings["trees"]) * growing + 2 * settings["trees"] * tree
