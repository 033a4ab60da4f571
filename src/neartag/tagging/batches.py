"""Documents of any number answered in batches: rows of features, then labels, one batch after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from neartag.data.documents.added_columns import Answer
from neartag.data.documents.whole_rows import Chunk
from neartag.linalg.validation import check_count
from neartag.tagging.answering import find_min_score, label_frequency, possible_count
from neartag.tagging.ranking import Ranked, finish_ranking, rank_rows
from neartag.tagging.tagger import TextTagger
from neartag.tagging.update import encode_documents


@dataclass(frozen=True)
class Asked:
    """What is asked about every document."""

    k: int = 5
    threshold: str | float | None = None
    include: Sequence[str] | None = None
    exclude: Sequence[str] | None = None
    fallback: bool = False
    n_jobs: int | None = -1


def answer_chunks(tagger: TextTagger, chunks: Iterable[Chunk], asked: Asked) -> Iterator[tuple[Chunk, list[Answer]]]:
    """Yield chunks of a table with the answer to each of its rows.

    While one chunk is answered, by kernels that need no interpreter, the next one is read and its rows of features are
    made; no more than three chunks are in memory.
    """
    stored, names = tagger.stored, tagger.labels
    check_count("k", asked.k)
    k = possible_count(stored, asked.k)
    min_score = find_min_score(asked.threshold, tagger.calibration)
    model = tagger.restrict(asked.include, asked.exclude)
    frequency = label_frequency(stored, model) if asked.fallback else None

    def rank(X: Any) -> Ranked:
        ranked = rank_rows(model, X, k, asked.n_jobs, with_shares=False)
        return finish_ranking(ranked, tagger.calibration, min_score, frequency)

    with ThreadPoolExecutor(1, "neartag-rank") as ranking:
        waiting: tuple[Chunk, Future[Ranked]] | None = None
        for chunk in chunks:
            X = encode_documents(stored.features, chunk.documents)  # (m, d)
            done = None if waiting is None else (waiting[0], waiting[1].result())
            waiting = chunk, ranking.submit(rank, X)
            if done is not None:
                yield done[0], make_answers(done[1], names)
        if waiting is not None:
            yield waiting[0], make_answers(waiting[1].result(), names)


def make_answers(ranked: Ranked, names: Sequence[str]) -> list[Answer]:
    """Return the names and scores of each row's labels."""
    given: list[Answer] = []
    rows: Any = zip(ranked.labels.tolist(), ranked.scores.tolist(), ranked.found.tolist(), strict=True)
    for labels, scores, found in rows:
        kept = [place for place, label in enumerate(labels) if label >= 0]
        given.append(Answer([names[labels[place]] for place in kept], [scores[place] for place in kept], found))
    return given
