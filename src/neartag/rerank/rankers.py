"""Rankers: for each label a sparse linear machine that tells its points from those where it was a wrong candidate.

min ½‖w‖² + C · Σᵢ max(0, 1 − yᵢ·(w·xᵢ + b))² for each label by itself, over its points and its hard negatives, by dual
coordinate descent. Small weights are then dropped. Cost: a few passes over the rows of each label's points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.threads import run_pieces, run_ranges
from neartag.linalg import csr, large_arrays, large_csr
from neartag.linalg.coded_rows import CodedRows, float_rows
from neartag.linalg.hybrid_rows import HybridRows, words_of
from neartag.linalg.rows import (
    TABLE_ENTRIES,
    CSRArrays,
    Rows,
    column_counts,
    csr_arrays,
    dense_if_faster,
    row_lengths,
    transpose,
)
from neartag.linalg.single_row import SingleRow, as_csr_arrays
from neartag.rerank import descent_kernels, ranker_kernels
from neartag.rerank.descent_kernels import MAX_COPIED, MIN_SCATTERED
from neartag.rerank.ranker_kernels import SEARCH_START, SEARCH_STEP

# A label's machine has settled when the dual's projected gradients differ by no more; rounds over its points at most.
# Looser than liblinear's 0.1: training ends sooner, and margins are less exact, which the fusion then weighs. A guess.
TOLERANCE, MAX_ROUNDS = 0.3, 10
# A table scores all labels: that pays where they are no more than so many for each candidate.
LABELS_PER_CANDIDATE = 8
# From so many candidates for each label on, its weights are laid out once for all of them. One candidate then costs a
# look at each feature of its row, instead of a way through all weights of the label: in cache, and a tenth of them.
MIN_TURNS = 4
AVERAGE_ENTRIES = 64  # of a row, a guess, by which threads share the work
# Row numbers that are put into place at once.
BLOCK_ENTRIES = 1_000_000


@dataclass
class Rankers:
    """Weights of every label's machine; labels that came after training may have none."""

    weights: csr_matrix  # (L, d)
    bias: np.ndarray  # (L,) float32
    known: np.ndarray  # (L,) which labels have one
    by_feature: bool = False  # whether all labels are scored, feature by feature, rather than candidate by candidate
    max_table: int = TABLE_ENTRIES  # up to so many entries the weights may be read as an array
    min_turns: float = MIN_TURNS  # from so many candidates for each label on, each label's are answered together
    vectors: CodedRows | None = None  # (L, e) weights of the vectors beside the words, where there are such

    def margins(self, X: Rows | SingleRow, labels: np.ndarray, threads: int) -> np.ndarray:
        """Return w·x + b of each row's candidates (m, room); 0 where there is none."""
        out = self._word_margins(X, labels, threads)
        if isinstance(X, HybridRows) and self.vectors is not None:
            out += np.float32(X.vector_weight) * self.vectors.products(float_rows(X.vectors), labels, threads)
        return out

    def _word_margins(self, X: Rows | SingleRow, labels: np.ndarray, threads: int) -> np.ndarray:
        out = np.empty(labels.shape, np.float32)
        rows, m = as_csr_arrays(X), len(labels)
        if len(self.bias) <= LABELS_PER_CANDIDATE * labels.shape[1] and len(self._table):
            run_ranges(ranker_kernels.margins_by_table, m, threads, rows, self._table, self.bias, labels, out)
        elif self.by_feature:  # of short rows that is less work than putting the candidates in order
            run_ranges(ranker_kernels.margins_by_feature, m, threads, rows, self._by_feature, self.bias, labels, out)
        elif labels.size >= self.min_turns * len(self.bias):
            self._fill_by_turns(rows, labels, out, threads)
        else:
            arguments = rows, self._by_label, self.bias, self.weights.shape[1], labels, out
            run_ranges(ranker_kernels.margins_by_label, m, threads, *arguments)
        return out

    def _fill_by_turns(self, rows: CSRArrays, labels: np.ndarray, out: np.ndarray, threads: int) -> None:
        """Write the margins of candidates (m, room) label by label: each label's weights are laid out once."""
        cells = np.argsort(labels, axis=None, kind="stable")  # those without a label first, those of newer ones last
        pointer = np.searchsorted(labels.ravel()[cells], np.arange(len(self.bias) + 1, dtype=labels.dtype))
        out.ravel()[cells[: pointer[0]]] = out.ravel()[cells[pointer[-1] :]] = 0.0
        work = pointer * AVERAGE_ENTRIES + self._by_label[0]  # each candidate's row, and each label's weights
        arguments = rows, self._by_label, self.bias, self.weights.shape[1], (pointer, cells), out
        run_ranges(ranker_kernels.margins_of_many, len(self.bias), threads, *arguments, work=work)

    def choose_layout(self, X: Rows, labels: np.ndarray) -> Rankers:
        """Return the rankers, their weights read by feature or by label, whichever is less for points like these.

        Neither matters where they are so well filled, and labels so few, that they are read as a table.
        """
        rows = csr_matrix(words_of(X))
        of_feature = column_counts(self.weights)
        of_label = np.diff(self.weights.indptr)
        by_feature = 2 * int(of_feature[rows.indices].sum())  # once to add, once to clear
        mask = labels >= 0
        own = of_label[labels[mask]]
        search = SEARCH_STEP * np.log2(own + 1) + SEARCH_START  # of one feature among a label's weights
        by_label = 2 * rows.nnz + np.minimum(own, np.repeat(np.diff(rows.indptr), mask.sum(axis=1)) * search).sum()
        return replace(self, by_feature=bool(by_feature < by_label))

    def with_labels(self, others: Rankers, chosen: np.ndarray) -> Rankers:
        """Return the rankers with those of the chosen labels (L,) taken from others."""
        places = np.arange(len(chosen)) + np.where(chosen, len(chosen), 0)
        weights = large_csr.take_rows(large_csr.vstack([self.weights, others.weights]), places)
        vectors = self.vectors
        if vectors is not None and others.vectors is not None:
            vectors = vectors.append(others.vectors).take(places)
        return replace(
            self,
            weights=weights,
            vectors=vectors,
            bias=np.where(chosen, others.bias, self.bias),
            known=np.where(chosen, others.known, self.known),
        )

    def has(self, labels: np.ndarray) -> np.ndarray:
        """Return which of these labels have a ranker."""
        inside = (labels >= 0) & (labels < len(self.known))
        return inside & self.known[np.where(inside, labels, 0)]

    def contributions(self, X: Rows, label: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the words of one row that a label's machine weighs, and what each adds to its sum: w·x."""
        row = csr_matrix(words_of(X))
        own = slice(self.weights.indptr[label], self.weights.indptr[label + 1])
        features, places, others = np.intersect1d(
            self.weights.indices[own], row.indices, assume_unique=True, return_indices=True
        )
        return features, self.weights.data[own][places] * row.data[others]

    @cached_property
    def _table(self) -> np.ndarray:
        return dense_if_faster(self.weights, turned=True, max_entries=self.max_table)

    @cached_property
    def _by_label(self) -> CSRArrays:
        return csr_arrays(self.weights)

    @cached_property
    def _by_feature(self) -> CSRArrays:
        return csr_arrays(transpose(self.weights))


def fit_rankers(
    X: Rows,
    Y: csr_matrix,
    hard_negatives: csr_matrix,
    cost: float,
    min_weight: float,
    threads: int,
    *,
    tolerance: float = TOLERANCE,
    max_rounds: int = MAX_ROUNDS,
) -> Rankers:
    """Return the rankers of unit rows X (n, d) with labels Y (n, L), against where each is a wrong candidate (n, L).

    Weights of words below `min_weight` are dropped; those of vectors beside them are coded.
    """
    problems = Problems.from_labels(X, Y, hard_negatives)
    return fit_problems(X, problems, cost, min_weight, threads, tolerance=tolerance, max_rounds=max_rounds)


@dataclass(frozen=True)
class Problems:
    """What the machines of some labels are trained on: for each its points, and behind them its hard negatives."""

    pointer: np.ndarray  # (L + 1,) int64, where each label's points begin
    points: np.ndarray  # int32, row numbers
    positives: np.ndarray  # (L,) int64, how many of them have the label; a label that no point has gets no points
    squares: np.ndarray  # (n,) squared lengths of all rows

    @classmethod
    def from_labels(cls, X: Rows, Y: csr_matrix, hard_negatives: csr_matrix) -> Problems:
        """Return the problems of rows X (n, d) with labels Y (n, L), and where each is a wrong candidate (n, L)."""
        return cls.from_blocks(X, Y, [hard_negatives])

    @classmethod
    def from_blocks(cls, X: Rows, Y: csr_matrix, hard_negatives: list[csr_matrix]) -> Problems:
        """Return the same, given the hard negatives of one block of points (m, L) after the other.

        One block is turned at a time, and written to where each label's points are: all of them may be large.
        """
        positives = column_counts(Y)
        negatives = sum((column_counts(block) for block in hard_negatives), np.zeros_like(positives))
        counts = np.where(positives > 0, positives + negatives, 0)
        pointer = csr.pointer(counts).astype(np.int64)
        points = large_arrays.empty(int(pointer[-1]), np.int32)
        _fill(points, pointer[:-1], transpose(Y))
        free, first = pointer[:-1] + positives, 0  # where the next hard negative of each label goes
        for block in hard_negatives:
            against = transpose(block)  # (L, m)
            if (positives == 0).any():
                against = csr.keep_entries(against, np.repeat(positives > 0, np.diff(against.indptr)))
            _fill(points, free, against, first)
            free += np.diff(against.indptr)
            first += block.shape[0]
        return cls(pointer, points, positives, row_lengths(X) ** 2)

    def for_labels(self, first: int, last: int, chosen: np.ndarray | None = None) -> Problems:
        """Return the problems of the labels from `first` up to `last`; those not chosen (L,) get no points."""
        counts, positives = np.diff(self.pointer[first : last + 1]), self.positives[first:last]
        points = self.points[int(self.pointer[first]) : int(self.pointer[last])]
        if chosen is not None:
            wanted = chosen[first:last]
            points = points[np.repeat(wanted, counts)]
            counts, positives = np.where(wanted, counts, 0), np.where(wanted, positives, 0)
        return replace(self, pointer=csr.pointer(counts).astype(np.int64), points=points, positives=positives)


def fit_problems(
    X: Rows,
    problems: Problems,
    cost: float,
    min_weight: float,
    threads: int,
    *,
    tolerance: float = TOLERANCE,
    max_rounds: int = MAX_ROUNDS,
    min_scattered: int = MIN_SCATTERED,
    max_copied: int = MAX_COPIED,
) -> Rankers:
    """Return the rankers of these problems over unit rows X (n, d), each by itself, as `fit_rankers` does."""
    X = csr_matrix(X) if isinstance(X, np.ndarray) else X
    rows, vectors = as_csr_arrays(X), (np.empty((X.shape[0], 0), np.int8), np.empty(0, np.float32))
    labels, d = len(problems.positives), words_of(X).shape[1]
    if isinstance(X, HybridRows):
        coded = CodedRows.encode(X.vectors)
        vectors = coded.codes, np.float32(X.vector_weight) * coded.scales
    dense = np.zeros((labels, vectors[0].shape[1]), np.float32)
    pointer, points, positives = problems.pointer, problems.points, problems.positives
    entries = csr.pointer(np.diff(rows[0])[points])[pointer]  # running number of entries at each label
    bias, written = np.zeros(labels, np.float32), np.zeros(labels, np.int64)
    pieces: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def fit_labels(start: int, stop: int) -> None:
        room = int(np.minimum(np.diff(entries[start : stop + 1]), d).sum())
        features, weights = np.empty(room, np.int32), np.empty(room, np.float32)
        given, options = (pointer, points, positives), (cost, tolerance, max_rounds, np.float32(min_weight))
        limits, out = (min_scattered, max_copied), (bias, written, features, weights, dense)
        arguments = rows, vectors, problems.squares, d, given, options, limits, out, start, stop
        many = descent_kernels.dual_descent(*arguments)
        pieces[start] = features[:many].copy(), weights[:many].copy()

    run_pieces(fit_labels, labels, threads, work=entries, min_size=1)
    in_order = [pieces[start] for start in sorted(pieces)]
    features, weights = (np.concatenate(each) for each in zip(*in_order, strict=True))
    matrix = csr_matrix((weights, features, csr.pointer(written)), shape=(labels, d))
    matrix.sort_indices()
    return Rankers(matrix, bias, positives > 0, vectors=CodedRows.encode(dense) if dense.shape[1] else None)


def join_rankers(blocks: list[Rankers]) -> Rankers:
    """Return the rankers of all labels, given those of one block of labels after the other."""
    if len(blocks) == 1:
        return blocks[0]
    vectors = blocks[0].vectors
    for each in blocks[1:]:
        vectors = None if vectors is None or each.vectors is None else vectors.append(each.vectors)
    return Rankers(
        large_csr.vstack([each.weights for each in blocks]),
        np.concatenate([each.bias for each in blocks]),
        np.concatenate([each.known for each in blocks]),
        vectors=vectors,
    )


def _fill(
    points: np.ndarray, starts: np.ndarray, lists: csr_matrix, shift: int = 0, *, block_entries: int = BLOCK_ENTRIES
) -> None:
    """Write each list's numbers, plus a shift, into `points` from its start on; block by block to bound the memory."""
    shifts, pointer = starts - lists.indptr[:-1], lists.indptr
    first = 0
    while first < len(shifts):
        last = max(first + 1, int(np.searchsorted(pointer, pointer[first] + block_entries, side="right")) - 1)
        own = slice(int(pointer[first]), int(pointer[last]))
        places = np.repeat(shifts[first:last], np.diff(pointer[first : last + 1]))
        points[np.arange(own.start, own.stop) + places] = lists.indices[own] + np.int32(shift)
        first = last
