"""Text features chosen by themselves: a trial of the kinds on some of the documents tells which are worth their cost.

The refined X1 learns from a sample of the documents with each kind, and is tested on others. Words alone are left only
where the gain is clear. How many documents the trial may use follows from counted entries and not from a clock, so that
the same documents give the same model.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError, ParameterError
from neartag.core.estimator import choose_progress
from neartag.core.parameters import parse_bytes
from neartag.core.progress import Progress
from neartag.core.threads import resolve_jobs
from neartag.data.documents import Document
from neartag.data.mapped import memory_limit
from neartag.encoders.feature_kinds import (
    ALL,
    CHARACTERS,
    KINDS,
    NO_LABELS,
    NO_WORDS,
    PAIRS,
    WORDS,
    AutoFeatures,
    FeatureChoice,
    kind_parameters,
)
from neartag.encoders.hybrid import HybridFeatures
from neartag.encoders.sentence import SentenceFeatures
from neartag.encoders.sentence_models.encoding import EncodingBudgetError
from neartag.encoders.tfidf import TfidfFeatures
from neartag.evaluation.point_precision import precision_by_point, standard_error
from neartag.linalg.coded_rows import CodedRows
from neartag.linalg.hybrid_rows import HybridRows
from neartag.tagging.corpus import Corpus, build_corpus, collect_texts
from neartag.tagging.helper_processes import offer_helpers

KS = (1, 3, 5)


class TrialLimits(NamedTuple):
    """How much a trial may cost, and what is a clear gain.

    `work_share` and `min_gain` are guesses. A larger share lets the trial learn from more documents, which is nearer to
    what training will learn from, and takes longer. A smaller gain takes richer features more often, and every later
    training and answer pays for their entries.
    """

    min_documents: int = 500  # with fewer, words are taken without a trial
    work_share: float = 0.5  # of the training work: entries of all rows, with the richest kind
    always_allowed: int = 1500  # documents, also where they are more than that share: few enough to take seconds
    max_documents: int = 16_000
    tested_share: float = 0.25  # of the documents of the trial
    min_gain: float = 0.3  # percentage points
    min_standard_errors: float = 2.0  # of the difference, which a gain must reach too
    probed: int = 200  # documents whose entries are counted


LIMITS = TrialLimits()


def fit_corpus(
    documents: Iterable[Document],
    encoder: Any,
    *,
    keep_texts: bool = True,
    n_jobs: int | None = -1,
    max_memory: int | str | None = None,
    progress: Progress | bool = False,
    encode_minutes: float | None = None,
) -> tuple[Corpus, Any]:
    """Return the documents as a corpus, and the encoder that was fitted to them, chosen here if it is AutoFeatures.

    Each document is read once. Where features are chosen, or a sentence encoder takes its time, the texts are kept
    meanwhile. Texts, labels and rows that would take too much memory are in files. Where there are many documents,
    `n_jobs` processes read them and count their words; the result does not depend on it. `encode_minutes` is what a
    sentence encoder may take: where it would take longer, words are used alone, with a warning.
    """
    limit = None if max_memory is None else parse_bytes(max_memory)
    with nullcontext() if limit is None else memory_limit(limit), offer_helpers(n_jobs, limit):
        return _fit_corpus(documents, encoder, keep_texts, n_jobs, max_memory, progress, encode_minutes)


def _fit_corpus(
    documents: Iterable[Document],
    encoder: Any,
    keep_texts: bool,
    n_jobs: int | None,
    max_memory: int | str | None,
    progress: Progress | bool,
    encode_minutes: float | None,
) -> tuple[Corpus, Any]:
    if not isinstance(encoder, (AutoFeatures, HybridFeatures, SentenceFeatures)):
        return build_corpus(documents, encoder, keep_texts=keep_texts), encoder
    collector, texts = collect_texts(documents)
    Y, names = collector.label_rows()
    ids = collector.unique_ids()
    shown = choose_progress(progress)
    kept = texts if keep_texts else None
    if isinstance(encoder, SentenceFeatures):
        X = encoder.fit_transform(texts, progress=shown, minutes=encode_minutes)
        return Corpus(X, Y, names, ids, kept), encoder
    if isinstance(encoder, AutoFeatures):
        X, words = _fit_words(texts, Y, encoder, shown, n_jobs, max_memory)
        return Corpus(X, Y, names, ids, kept), words
    to_fit, meaning = encoder.make_parts()
    vectors = _encode_within(texts, meaning, shown, encode_minutes)  # (n, e)
    X, words = _fit_words(texts, Y, to_fit, shown, n_jobs, max_memory)
    if vectors is None:
        return Corpus(X, Y, names, ids, kept), words
    return Corpus(HybridRows(X, vectors), Y, names, ids, kept), encoder.join(words, meaning)


def _encode_within(
    texts: Sequence[str], meaning: SentenceFeatures, progress: Progress, minutes: float | None
) -> CodedRows | None:
    """Return the vectors of texts (n, e); None, with a warning, where they would take too long."""
    try:
        return meaning.fit_transform_coded(texts, progress=progress, minutes=minutes)
    except EncodingBudgetError as error:
        kept = "; what was encoded is kept" if meaning.cache is not None else ""
        warnings.warn(f"words are used alone: {error}{kept}", UserWarning, stacklevel=3)
        return None


def _fit_words(
    texts: Sequence[str],
    Y: csr_matrix,
    words: TfidfFeatures | AutoFeatures,
    progress: Progress,
    n_jobs: int | None,
    max_memory: int | str | None,
) -> tuple[csr_matrix, TfidfFeatures]:
    """Return the rows of texts by their words, and the features that were fitted, chosen if they are AutoFeatures."""
    choice = None
    if isinstance(words, AutoFeatures):
        with progress.start(None, "choosing features"):
            choice = choose_features(texts, Y, words.parameters, n_jobs=n_jobs, max_memory=max_memory)
        words = make_features(choice.kind, words.parameters)
    with progress.start(None, "encoding texts"):
        X = words.fit_transform(texts)
    words.choice_ = choice
    return X, words


def make_features(kind: str, parameters: dict[str, Any]) -> TfidfFeatures:
    """Return unfitted features of a kind, with other parameters of theirs, such as a language."""
    return TfidfFeatures(**{**kind_parameters(kind), **parameters})


def choose_features(
    texts: Sequence[str],
    Y: csr_matrix,
    parameters: dict[str, Any] | None = None,
    *,
    n_jobs: int | None = -1,
    max_memory: int | str | None = None,
    limits: TrialLimits = LIMITS,
) -> FeatureChoice:
    """Return which kind of features to take for texts with labels Y (n, L), and what the trial told.

    Parameters
    ----------
    texts : sequence of str
        The training texts.
    Y : csr_matrix, (n, L)
        Their labels.
    parameters : dict, optional
        Parameters of TfidfFeatures that every kind gets, such as a language.
    n_jobs : int, default -1
        Cores to use; the choice does not depend on them.
    max_memory : int or str, optional
        Memory that a training of the trial may use; the choice does not depend on it.
    limits : TrialLimits
        How much the trial may cost.

    Raises
    ------
    ParameterError
        If the trial needs more than `max_memory`.
    """
    given = parameters or {}
    order = np.random.default_rng(0).permutation(len(texts))
    if len(texts) < limits.min_documents:
        return FeatureChoice(WORDS)
    entries = _count_entries([texts[int(row)] for row in order[: limits.probed]], given)
    if entries is None:
        return FeatureChoice(WORDS, untried=NO_WORDS)
    n_sampled = _sample_size(len(texts), entries, limits)
    if n_sampled < limits.min_documents:
        return FeatureChoice(WORDS)
    n_tested = round(limits.tested_share * n_sampled)
    tested, learned = np.sort(order[:n_tested]), np.sort(order[n_tested:n_sampled])
    if not Y[learned].nnz:
        return FeatureChoice(WORDS, untried=NO_LABELS)
    trial = _Trial(texts, Y, learned, tested, given, n_jobs, max_memory)
    kind = _choose(trial, limits)
    used = sum(entries[tried] for tried in trial.precision) * n_sampled
    return FeatureChoice(
        kind,
        {tried: round(float(trial.precision[tried].mean()), 4) for tried in KINDS if tried in trial.precision},
        len(learned),
        len(tested),
        round(used / (entries[ALL] * len(texts)), 4),
    )


def _choose(trial: _Trial, limits: TrialLimits) -> str:
    """Return the kind to take: what runs of characters add to words is tried first, then what pairs add to that.

    Beside runs of characters, word pairs cost little, and gain with the number of documents: on 6,000 documents of
    yso-finna-en-100k they lost 0.2 points, on 96,000 they won 0.8. So they are left out only where they clearly do
    harm. Without runs they get too much weight on most texts, and are taken only where they clearly help.
    """
    if trial.is_clearly_better(CHARACTERS, WORDS, limits):
        return CHARACTERS if trial.is_clearly_better(CHARACTERS, ALL, limits) else ALL
    return PAIRS if trial.is_clearly_better(PAIRS, WORDS, limits) else WORDS


def _count_entries(probe: Sequence[str], given: dict[str, Any]) -> dict[str, float] | None:
    """Return the entries of a row by kind, on average over these texts; None where there is no word in any of them."""
    entries = {}
    for kind in (WORDS, PAIRS, CHARACTERS, ALL):
        try:
            X = make_features(kind, {**given, "min_df": 1}).fit_transform(probe)
        except DataError:
            return None
        entries[kind] = X.nnz / len(probe)
    return entries


def _sample_size(n: int, entries: dict[str, float], limits: TrialLimits) -> int:
    """Return how many of n documents the trial may use."""
    tried = entries[WORDS] + entries[CHARACTERS] + entries[ALL]  # at most
    allowed = int(limits.work_share * n * entries[ALL] / tried)
    return min(n, limits.max_documents, max(limits.always_allowed, allowed))


class _Trial:
    """What each kind reaches that was tried: the precision of every tested document, in percent."""

    def __init__(
        self,
        texts: Sequence[str],
        Y: csr_matrix,
        learned: np.ndarray,
        tested: np.ndarray,
        given: dict[str, Any],
        n_jobs: int | None,
        max_memory: int | str | None,
    ) -> None:
        self._learned, self._tested = ([texts[int(row)] for row in rows] for rows in (learned, tested))
        labels = np.unique(Y[learned].indices)
        self._Y, self._truth = Y[learned][:, labels], Y[tested][:, labels]  # no other label can be predicted
        self._given, self._n_jobs = given, resolve_jobs(n_jobs)
        self._max_memory = None if max_memory is None else parse_bytes(max_memory)
        self.precision: dict[str, np.ndarray] = {}  # by kind, (n_tested,)

    def is_clearly_better(self, kind: str, other: str, limits: TrialLimits) -> bool:
        """Return whether a kind is better than another by a gain that is hardly chance."""
        gains = self._precision_of(kind) - self._precision_of(other)
        return bool(gains.mean() >= max(limits.min_gain, limits.min_standard_errors * standard_error(gains)))

    def _precision_of(self, kind: str) -> np.ndarray:
        if kind not in self.precision:
            features = make_features(kind, self._given)
            try:
                X = features.fit_transform(self._learned)
            except DataError:  # nothing is left by min_df
                self.precision[kind] = np.zeros(len(self._tested))
                return self.precision[kind]
            labels = self._fit(X).predict_topk(features.transform(self._tested), max(KS))[0]  # (n_tested, 5)
            self.precision[kind] = precision_by_point(labels, self._truth, KS)
        return self.precision[kind]

    def _fit(self, X: csr_matrix) -> Any:
        from neartag.x1.classifier import X1Classifier

        classifier = X1Classifier(refine=True, n_jobs=self._n_jobs, max_memory=self._max_memory)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # training on everything warns of what concerns the user
                return classifier.fit(X, self._Y)
        except ParameterError as error:  # of all that is set here, only the memory can be too little
            raise ParameterError(
                "max_memory leaves no room for the trial that chooses the features of texts: allow more, or name the "
                "features, such as words"
            ) from error
