"""The fitted ensemble: everything that prediction needs, and nothing of scikit-learn.

Every answer goes one way: `retrieve` finds who votes, `rank` makes the best labels of it, `shares` and `voters` tell
why. A caller that needs all three searches only once.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.core.frequent_labels import frequency_scores, most_frequent
from neartag.core.threads import resolve_jobs
from neartag.linalg import csr
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import CSRArrays, Rows, as_rows, csr_arrays, normalise
from neartag.linalg.single_row import SingleRow
from neartag.linalg.validation import check_count, check_features
from neartag.rerank.candidates import best_candidates
from neartag.rerank.reranker import Reranker
from neartag.search.inverted_index import PRUNE, PRUNE_LOOSELY, FeatureIndex
from neartag.search.vector_index import Beside, VectorIndex
from neartag.search.weights import Voters
from neartag.x1 import state
from neartag.x1.learner import Learner
from neartag.x1.retrieval import Retrieved, n_neighbours, retrieve
from neartag.x1.settings import X1Settings
from neartag.x1.vote import combine_votes, label_shares, vote

# Rows answered at once, which bounds the memory of voters and scores.
BATCH_ROWS = 8192


@dataclass(repr=False)
class X1Model:
    """Learners over one set of labelled training points."""

    kind: ClassVar[str] = "x1"

    settings: X1Settings  # as trained
    n_features: int
    Y: csr_matrix  # (n, L): what each training point votes for
    learners: list[Learner]
    index: FeatureIndex | None = None  # of the training rows, where features have a share of the vote
    vectors: VectorIndex | None = None  # of the training points, where they have vectors beside their words
    reranker: Reranker | None = None  # what decides among the labels that are voted for, where that is asked for
    frequency: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))  # (L,) points that have each label
    added: np.ndarray = field(default_factory=lambda: np.empty(0, bool))  # (n,) which points came after training
    forgotten: int = 0  # points that were trained on and are no longer there
    approximate: bool = False  # whether votes only propose labels, before the reranker is there, and need not be exact
    batch_rows: int = BATCH_ROWS  # rows answered at once
    allowed: np.ndarray | None = None  # (L,) the labels that may be answered, where they are not all

    def __post_init__(self) -> None:
        """Count the labels unless they are counted already: ties and rows without features are decided by it."""
        if len(self.frequency) != self.Y.shape[1]:
            self.frequency = np.bincount(self.Y.indices, minlength=self.Y.shape[1]).astype(np.int64, copy=False)
        if len(self.added) != self.n_points:
            self.added = np.zeros(self.n_points, bool)

    def __repr__(self) -> str:
        """Say in a line what was trained."""
        clusters = sum(len(learner.clusters) for learner in self.learners)
        return (
            f"X1Model({self.n_points} points, {self.n_features} features, {self.n_labels} labels; "
            f"{len(self.learners)} learners, {clusters} clusters)"
        )

    @property
    def n_points(self) -> int:
        """Number of training points, those without labels included."""
        return int(self.Y.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of labels, those never seen in training included."""
        return int(self.Y.shape[1])

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter by name, as trained."""
        return self.settings.to_parameters()

    @property
    def n_neighbours(self) -> int:
        """Neighbours that each search asks for: no more than there are points."""
        return n_neighbours(self.settings.vote, self.n_points)

    @property
    def feature_share(self) -> float:
        """Share of the vote for neighbours by features, 0 without an index of them."""
        return float(self.settings.vote.feature_share) if self.index is not None else 0.0

    @property
    def vector_share(self) -> float:
        """Share of the vote for neighbours by vectors, 0 without vectors."""
        return float(self.settings.vote.vector_share) if self.vectors is not None else 0.0

    @property
    def prune(self) -> float:
        """Share of a point's length that the first look for neighbours by features may leave out."""
        return PRUNE_LOOSELY if self.approximate or self.reranker is not None else PRUNE

    @cached_property
    def label_arrays(self) -> CSRArrays:
        """Y as the kernels take it."""
        return csr_arrays(self.Y)

    def with_settings(self, changes: dict[str, Any]) -> X1Model:
        """Return a model of the same arrays with other settings of prediction; itself where they are its own.

        `changes` names the settings as parameters: `{"n_probe": 2}`.
        """
        changed = {name: value for name, value in changes.items() if self.settings.value(name) != value}
        if not changed:
            return self
        other = copy.copy(self)  # with what was made of the arrays for prediction, which settings do not change
        other.settings = self.settings.replace(**changed)
        return other

    def restrict(self, allowed: np.ndarray) -> X1Model:
        """Return a model of the same arrays that answers with the allowed labels (L,) only; scores do not change.

        Where none of a row's labels is allowed there is no answer: frequent labels do not stand in.
        """
        other = object.__new__(type(self))  # `copy.copy` takes longer, and each request may ask for other labels
        other.__dict__ = {**self.__dict__, "allowed": allowed}  # with what was made of the arrays
        return other

    # What an answer is made of

    def retrieve(self, X: object, *, n_jobs: int | None = -1) -> Retrieved:
        """Return who votes on each row of X; for many rows see `retrieve_batches`, which bounds the memory."""
        checked = self._check_rows(X)
        if _is_single(checked):
            return self._search(SingleRow.unit(checked), 1)
        return self._search(self.weigh_vectors(normalise(as_rows(checked))), resolve_jobs(n_jobs))

    def retrieve_batches(self, X: object, *, n_jobs: int | None = -1) -> Iterator[Retrieved]:
        """Yield what `retrieve` returns, for some rows of X after the others."""
        checked = self._check_rows(X)
        if _is_single(checked):
            yield self._search(SingleRow.unit(checked), 1)
            return
        rows, threads = as_rows(checked), resolve_jobs(n_jobs)
        for first in range(0, rows.shape[0], self.batch_rows):
            yield self._search(self.weigh_vectors(normalise(rows[first : first + self.batch_rows])), threads)

    def _check_rows(self, X: object) -> Rows:
        """Return rows that can be read, with as many features as in training; ParameterError for others."""
        checked = check_features(X, self.n_features, "X1Classifier")
        self._check_vectors(checked)
        return checked

    def _check_vectors(self, rows: Rows) -> None:
        given, known = rows.dim if isinstance(rows, HybridRows) else 0, self.vector_dim
        if given != known:
            raise ParameterError(
                f"X has {given} numbers of a vector beside its words, but X1Classifier is expecting {known}"
            )

    @property
    def vector_dim(self) -> int:
        """Numbers of the vectors beside the words, 0 where there are none."""
        return 0 if self.vectors is None else self.vectors.rows.dim

    @property
    def beside(self) -> Beside | None:
        """The vectors of the training points with their weight; None where there are none."""
        return None if self.vectors is None else Beside(self.vectors, float(self.settings.vector_weight))

    def weigh_vectors(self, rows: Rows) -> Rows:
        """Return hybrid rows with the weight that their vectors have here; other rows as they are."""
        self._check_vectors(rows)
        return rows.weigh(float(self.settings.vector_weight)) if isinstance(rows, HybridRows) else rows

    def rank(self, retrieved: Retrieved, k: int, *, fallback: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best labels of each row, best first, and their scores in [0, 1], both (m, k).

        With `fallback`, a row on which nobody votes gets the most frequent labels, scored by their frequency.
        """
        most = min(k, self.n_labels)
        if self.reranker is not None:
            candidates = self.candidates(retrieved, self.allowed)
            best, sums = best_candidates(*candidates, self.frequency, most, retrieved.threads, self.allowed)
        else:
            best, sums = vote(
                self.label_arrays, self.voters(retrieved), self.frequency, most, retrieved.threads, self.allowed
            )
        labels, scores = best, np.minimum(sums, 1.0)
        if most < k:
            labels = np.pad(best, ((0, 0), (0, k - most)), constant_values=-1)
            scores = np.pad(scores, ((0, 0), (0, k - most)))
        unheard = labels[:, 0] < 0
        if fallback and self.allowed is None and unheard.any():
            labels[unheard], scores[unheard] = most_frequent(self.frequency, self.n_points, k)
        return labels, scores

    def voters(self, retrieved: Retrieved) -> Voters:
        """Return who votes on each row, and with what share of the whole vote (m, voters)."""
        voters = combine_votes(retrieved.embedding_voters, retrieved.feature_voters, self.feature_share)
        return combine_votes(voters, retrieved.vector_voters, self.vector_share)

    def has_voters(self, retrieved: Retrieved) -> np.ndarray:
        """Return which rows somebody votes on, (m,)."""
        voted = (retrieved.embedding_voters[0] >= 0).any(axis=1)
        if self.feature_share > 0 and not voted.all():
            voted |= (retrieved.feature_voters[0] >= 0).any(axis=1)
        if retrieved.vector_voters is not None:
            voted |= (retrieved.vector_voters[0] >= 0).any(axis=1)
        return np.asarray(voted)

    def shares(self, retrieved: Retrieved, labels: np.ndarray) -> np.ndarray:
        """Return the shares of the votes that labels (m, k) have; 0 where nobody voted so."""
        return label_shares(self.label_arrays, self.voters(retrieved), labels, self.n_labels, retrieved.threads)

    def candidates(self, retrieved: Retrieved, asked: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates of each row and their probabilities (m, room), −1: none. The model has a reranker.

        Labels that may not be answered are among them. Of the labels `asked` for (L,), where they are given, the others
        may be without a probability (−1).
        """
        assert self.reranker is not None
        voters = retrieved.embedding_voters, retrieved.feature_voters
        candidates = self.reranker.candidates(
            retrieved.rows, self.label_arrays, *voters, self.frequency, retrieved.threads, retrieved.vector_voters
        )
        scores = self.reranker.scores(retrieved.rows, candidates, self.frequency, retrieved.threads, asked)
        return candidates.labels, scores

    def _search(self, rows: Rows | SingleRow, threads: int) -> Retrieved:
        searched = self.learners, self.index, self.settings, self.n_points
        return retrieve(rows, *searched, self.prune, threads, self.vectors)

    # What is asked

    def neighbours(self, X: object, *, n_jobs: int | None = -1) -> Voters:
        """Return who votes on each row of X: training row numbers and shares (m, voters · vote_neighbours).

        The voters are the learners and, where it has a share, the index of the features. A row's shares sum to 1,
        and to less where a voter finds nobody near; a training point found by several stands once for each. −1 where
        there are fewer.
        """
        return self.voters(self.retrieve(X, n_jobs=n_jobs))

    def predict_topk(self, X: object, k: int = 5, *, n_jobs: int | None = -1) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best labels of each row of X, best first, and their scores in [0, 1], both (m, k).

        Ties go to the label more frequent in training, then to the lower id. Where fewer than k labels have votes
        the id is −1 with score 0. A row on which nobody votes, having no feature or none that training knew, gets the
        most frequent labels, scored by their frequency.
        """
        check_count("k", k)
        parts = [self.rank(retrieved, k) for retrieved in self.retrieve_batches(X, n_jobs=n_jobs)]
        if len(parts) == 1:
            return parts[0]
        empty = np.empty((0, k), np.int32), np.empty((0, k))
        labels, scores = (np.concatenate(each) for each in zip(empty, *parts, strict=True))
        return labels, scores

    def decision_function(self, X: object, *, n_jobs: int | None = -1) -> csr_matrix:
        """Return the scores of every label that has a vote, as CSR (m, L)."""
        labels = self.Y.astype(np.float64)
        blocks = [csr_matrix((0, self.n_labels))]
        for retrieved in self.retrieve_batches(X, n_jobs=n_jobs):
            if self.reranker is not None:
                scores = _above_zero(*self.candidates(retrieved), self.n_labels)
            else:
                scores = _above_zero(*self.voters(retrieved), self.n_points) @ labels  # (batch, L)
            unheard = np.flatnonzero(np.diff(scores.indptr) == 0)
            if len(unheard):
                scores = scores + frequency_scores(self.frequency, self.n_points, unheard, scores.shape[0])
            blocks.append(scores)
        scores = csr_matrix(sparse.vstack(blocks, format="csr"))
        if self.allowed is not None:
            scores = csr.keep_entries(scores, self.allowed[scores.indices])
        scores.sort_indices()
        np.minimum(scores.data, 1.0, out=scores.data)
        return scores

    def predict(self, X: object, *, n_jobs: int | None = -1) -> csr_matrix:
        """Return the labels that score at least `threshold`, as an indicator CSR (m, L)."""
        scores = self.decision_function(X, n_jobs=n_jobs)
        scores.data = (scores.data >= self.settings.threshold).astype(np.int64)
        scores.eliminate_zeros()
        return scores

    # What is kept in a folder

    def to_state(self) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
        """Return settings as JSON types, and arrays by part: one part a learner, one for the labels."""
        return state.to_state(self)

    @classmethod
    def from_state(cls, settings: dict[str, Any], parts: dict[str, dict[str, np.ndarray]]) -> X1Model:
        """Return the model that `to_state` described; arrays may be memory maps, and only packed ones are copied."""
        return cls(**state.fields_from_state(settings, parts))


def _is_single(rows: Rows) -> bool:
    """Say whether there is one row, which is answered without the machinery of a batch; hybrid rows never are."""
    return rows.shape[0] == 1 and not isinstance(rows, HybridRows)


def _above_zero(columns: np.ndarray, values: np.ndarray, width: int) -> csr_matrix:
    """Return a CSR matrix of lists of columns and values (m, room), of those that are there and above zero."""
    return csr.from_lists(columns, values, width, (columns >= 0) & (values > 0))
