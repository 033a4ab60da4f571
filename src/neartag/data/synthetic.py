"""Made-up data sets of any size, with a structure that can be learned.

Labels belong to topics. A point has one or two topics and takes most of its labels from them. Its words come from three
sources: the few words of its own labels, the words that its topics' labels share, and words that any text has. Within
each source frequencies fall as in Zipf's law: a few labels and words are everywhere, and most are rare.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.data.dataset import Dataset
from neartag.linalg import csr

BLOCK_DRAWS = 1 << 21  # words drawn at a time: scratch memory stays small beside the result
# A pilot: a few points are made to learn how many draws give the wanted number of different words.
_PILOT_WORDS = 1 << 19
_PILOT_POINTS = 64, 8192  # fewest and most
_TOLERANCE = 0.02  # how near, relatively, the pilot must come to the averages asked for
_PILOT_ROUNDS = 30
_MAX_DRAWS_PER_WANTED = 8
_ZIPF_SHIFT = 1.5  # Zipf–Mandelbrot: keeps the most frequent from being in every other point
_WORDS_OF_LABEL, _WORDS_OF_TOPIC = 6, 200  # that a label has for itself, and that a topic's labels share
# From which source a word is drawn, and from which topic a label: shares that make neighbours useful but not perfect.
_WORDS_PER_LABEL = 2.0
_MAX_SHARE_OF_LABELS = 0.5
_SHARE_OF_TOPIC = 0.25
_FIRST_TOPIC, _SECOND_TOPIC = 0.7, 0.25


def make(
    n: int,
    d: int,
    L: int,
    features_per_point: float,
    labels_per_point: float,
    *,
    seed: int = 0,
    topics: int | None = None,
    label_exponent: float = 1.3,
    word_exponent: float = 1.05,
    block_draws: int = BLOCK_DRAWS,
) -> Dataset:
    """Return a made-up data set; the same seed gives the same bytes.

    Parameters
    ----------
    n, d, L : int
        Numbers of points, features and labels.
    features_per_point, labels_per_point : float
        Averages.
    seed : int, default 0
    topics : int, optional
        By default the square root of L.
    label_exponent, word_exponent : float
        How fast frequencies fall from the most frequent to the rarest.
    block_draws : int
        Words drawn at a time. Another number gives other points.

    Returns
    -------
    Dataset
        Values are log tf · idf, rows of unit length. Time and memory are proportional to its size.

    Raises
    ------
    ParameterError
        If a number is out of range, or an average is too large for so few features or labels.

    Examples
    --------
    >>> from neartag.data import synthetic
    >>> points = synthetic.make(100, 50, 10, features_per_point=5, labels_per_point=2, seed=1)
    >>> points.X.shape, points.Y.shape
    ((100, 50), (100, 10))
    """
    _check(n, d, L, features_per_point, labels_per_point, topics)
    maker = _Maker(d, L, topics or max(1, round(math.sqrt(L))), label_exponent, word_exponent, seed)
    size = int(np.clip(_PILOT_WORDS / max(features_per_point, labels_per_point), *_PILOT_POINTS))
    label_draws = _find_draws("labels", labels_per_point, lambda draws: maker.labels(size, draws)[0].nnz / size)
    pilot = maker.labels(size, label_draws)
    word_draws = _find_draws("features", features_per_point, lambda draws: maker.words(*pilot, draws).nnz / size)

    X, Y = _GrowingRows(n, features_per_point), _GrowingRows(n, labels_per_point)
    block = max(1, int(block_draws / max(word_draws, label_draws)))
    for start in range(0, n, block):
        label_block, topic_block = maker.labels(min(block, n - start), label_draws)
        word_block = maker.words(label_block, topic_block, word_draws)
        X.add(word_block, maker.word_order)
        Y.add(label_block, maker.label_order)
    features = X.matrix(d)
    _weigh(features, block, block_draws)
    return Dataset(X=features, Y=Y.matrix(L), name=f"synthetic-{n}-{d}-{L}")


class _Maker:
    """Draws blocks of points. Here low ids are frequent; the two orders say which ids they get in the end."""

    def __init__(self, d: int, L: int, topics: int, label_exponent: float, word_exponent: float, seed: int) -> None:
        self.d, self.L, self.topics = d, L, min(topics, L)
        self.label_exponent, self.word_exponent = label_exponent, word_exponent
        self.random = np.random.default_rng(seed)
        self.word_order = self.random.permutation(d).astype(np.int32)
        self.label_order = self.random.permutation(L).astype(np.int32)

    def labels(self, points: int, draws: float) -> tuple[csr_matrix, np.ndarray]:
        """Return the labels of some points and, (points, 2), their topics."""
        topics = self._zipf((points, 2), self.topics, 0.5)
        counts = self._counts(points, draws)
        owner = np.repeat(np.arange(points), counts)
        source = self.random.random(owner.size)
        topic = topics[owner, (source > _FIRST_TOPIC).astype(np.int64)]
        anywhere = source > _FIRST_TOPIC + _SECOND_TOPIC
        topic[anywhere] = self.random.integers(self.topics, size=int(anywhere.sum()))
        # Topic t has the labels t, t + topics, t + 2·topics and so on, the more frequent first.
        label = topic + self.topics * self._zipf(owner.size, -(-self.L // self.topics), self.label_exponent)
        label[label >= self.L] -= self.topics
        rows = _count_draws(label, counts, self.L)
        rows.data[:] = 1
        return rows, topics

    def words(self, labels: csr_matrix, topics: np.ndarray, draws: float) -> csr_matrix:
        """Return how often each word occurs in points with these labels and topics."""
        points = labels.shape[0]
        counts = self._counts(points, draws)
        owner = np.repeat(np.arange(points), counts)
        word = self._zipf(owner.size, self.d, self.word_exponent)
        source = self.random.random(owner.size)
        many = np.diff(labels.indptr)[owner]

        # Each label of a point gets about as many words, so that short and long texts are equally hard.
        share = np.minimum(_WORDS_PER_LABEL * many / counts[owner], _MAX_SHARE_OF_LABELS)
        own = np.flatnonzero(source < share)
        which = (self.random.random(own.size) * many[own]).astype(np.int64)
        label = labels.indices[labels.indptr[owner[own]] + which].astype(np.int64)
        word[own] = _hash(label * _WORDS_OF_LABEL + self.random.integers(_WORDS_OF_LABEL, size=own.size), 1, self.d)

        shared = np.flatnonzero((source >= share) & (source < share + _SHARE_OF_TOPIC))
        second = (self.random.random(shared.size) > _FIRST_TOPIC).astype(np.int64)
        rank = self._zipf(shared.size, _WORDS_OF_TOPIC, self.word_exponent)
        word[shared] = _hash(topics[owner[shared], second] * _WORDS_OF_TOPIC + rank, 2, self.d)
        return _count_draws(word, counts, self.d)

    def _counts(self, points: int, mean: float) -> np.ndarray:
        if mean < 1:
            return (self.random.random(points) < mean).astype(np.int64)
        return 1 + self.random.poisson(mean - 1, size=points)

    def _zipf(self, size: int | tuple[int, int], count: int, exponent: float) -> np.ndarray:
        """Return ranks below count with frequencies ∝ (rank + shift)^-exponent, by inverting their sum."""
        low, high, power = _ZIPF_SHIFT, _ZIPF_SHIFT + count, 1 - exponent
        uniform = self.random.random(size)
        if abs(power) < 1e-6:
            value = low * (high / low) ** uniform
        else:
            value = (low**power + uniform * (high**power - low**power)) ** (1 / power)
        return np.minimum((value - low).astype(np.int64), count - 1)


class _GrowingRows:
    """A matrix that grows by blocks of rows without being copied whole."""

    def __init__(self, points: int, mean: float) -> None:
        room = int(points * mean * (1 + _TOLERANCE)) + 1
        self.indices, self.values = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.float32)
        self.pointers = np.zeros(points + 1, dtype=np.int64)
        self.rows = self.size = 0

    def add(self, block: csr_matrix, order: np.ndarray) -> None:
        block = csr_matrix((block.data, order[block.indices], block.indptr), shape=block.shape)
        block.sort_indices()
        end = self.size + block.nnz
        if end > self.indices.size:
            self.indices.resize(end + end // 8, refcheck=False)
            self.values.resize(end + end // 8, refcheck=False)
        self.indices[self.size : end], self.values[self.size : end] = block.indices, block.data
        self.pointers[self.rows + 1 : self.rows + 1 + block.shape[0]] = self.size + block.indptr[1:]
        self.rows, self.size = self.rows + block.shape[0], end

    def matrix(self, columns: int) -> csr_matrix:
        self.indices.resize(self.size, refcheck=False)
        self.values.resize(self.size, refcheck=False)
        return csr_matrix((self.values, self.indices, self.pointers), shape=(self.rows, columns))


def _count_draws(ids: np.ndarray, counts: np.ndarray, columns: int) -> csr_matrix:
    """Return how often each id was drawn, row by row."""
    pointers = csr.pointer(counts)
    rows = csr_matrix(
        (np.ones(ids.size, dtype=np.float32), ids.astype(np.int32), pointers), shape=(counts.size, columns)
    )
    rows.sum_duplicates()
    return rows


def _hash(number: np.ndarray, salt: int, columns: int) -> np.ndarray:
    """Return a fixed, random-looking id for each number by the last steps of splitmix64: no table is needed."""
    mixed = number.astype(np.uint64) + np.uint64((salt * 0x9E3779B97F4A7C15) % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) % np.uint64(columns)).astype(np.int64)


def _find_draws(what: str, target: float, measure: Callable[[float], float]) -> float:
    """Return how many draws per point give so many different ones on average."""
    draws = target
    for _ in range(_PILOT_ROUNDS):
        average = measure(draws)
        if abs(average / target - 1) < _TOLERANCE:
            return draws
        draws *= target / average
        if draws > _MAX_DRAWS_PER_WANTED * target:
            break
    raise ParameterError(
        f"{what}_per_point = {target} is too dense for so few {what}: ask for less, or give more of them"
    )


def _weigh(X: csr_matrix, block: int, block_draws: int) -> None:
    """Turn counts of words into log tf · idf with rows of unit length, in place."""
    n = X.shape[0]
    frequency = np.zeros(X.shape[1], dtype=np.int64)
    for start in range(0, X.nnz, block_draws):  # in blocks, because bincount makes an int64 copy
        frequency += np.bincount(X.indices[start : start + block_draws], minlength=X.shape[1])
    idf = np.log1p(n / np.maximum(frequency, 1)).astype(np.float32)
    for start in range(0, n, block):
        pointers = X.indptr[start : start + block + 1]
        part = slice(pointers[0], pointers[-1])
        values = (1 + np.log(X.data[part])) * idf[X.indices[part]]
        lengths = np.diff(pointers)
        owner = np.repeat(np.arange(lengths.size), lengths)
        norms = np.sqrt(np.bincount(owner, weights=values.astype(np.float64) ** 2, minlength=lengths.size))
        X.data[part] = values / norms[owner]


def _check(n: int, d: int, L: int, features: float, labels: float, topics: int | None) -> None:
    for what, value in (("n", n), ("d", d), ("L", L), ("topics", 1 if topics is None else topics)):
        if not 1 <= value < 2**31:
            raise ParameterError(f"{what} = {value} must be from 1 to {2**31 - 1}")
    for what, mean, most in (("features_per_point", features, d), ("labels_per_point", labels, L)):
        if not 0 < mean <= most:
            raise ParameterError(f"{what} = {mean} must be above 0 and at most {most}")
