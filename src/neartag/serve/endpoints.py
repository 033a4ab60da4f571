"""What the server does for each path: it reads the request, asks the model, and writes the answer."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import Response

from neartag.core.version import __version__
from neartag.serve import page_files, schemas
from neartag.serve.access import Access
from neartag.serve.batch import Batcher
from neartag.serve.checks import check_texts, read_body, run_in
from neartag.serve.documents import browse
from neartag.serve.errors import Refusal, json_response
from neartag.serve.explanations import explain_text
from neartag.serve.followed_model import FollowedModel
from neartag.serve.labels import LabelSearch
from neartag.serve.map import ClusterMaps
from neartag.serve.metrics import CONTENT_TYPE, Metrics
from neartag.serve.settings import Settings
from neartag.tagging.tagger import Tag, Tags, TextTagger
from neartag.vocabulary.concepts import Vocabulary

READER_THREADS = 2  # for what is not answered in batches
MAX_TEXTS_WRITTEN_AT_ONCE = 8  # the answer to more texts is written in a thread
MAX_SUGGESTED_LABELS = 1000
MAX_PREFIX_CHARACTERS = 500
MAX_ID_CHARACTERS = 4000  # of a document that was trained on; new ones have shorter ids
MAX_DOCUMENTS = 100  # listed at once
MAX_OFFSET = 2**31


class Endpoints:
    """What each path does."""

    def __init__(self, model: FollowedModel, settings: Settings, access: Access, metrics: Metrics) -> None:
        self._model, self._settings, self._access, self._metrics = model, settings, access, metrics
        self._batcher = Batcher(model.predict, metrics.count_batch)
        self._readers = ThreadPoolExecutor(READER_THREADS, "neartag-read")
        self._labels, self._maps = LabelSearch(), ClusterMaps()
        self.files = page_files.load_files()

    def close(self) -> None:
        """End all threads, once they have finished their work."""
        self._batcher.close()
        self._readers.shutdown()
        self._model.close()

    async def tag(self, request: Request) -> Response:
        """Return the labels of a text, or of several, the best first."""
        asked = await read_body(request, schemas.TagRequest)
        single = "text" in asked.model_fields_set
        texts = [asked.text] if single else asked.texts
        check_texts(self._settings, texts)
        min_score = _min_score(self._model.tagger, asked.threshold)
        if asked.include is not None or asked.exclude:
            predict = partial(self._model.tagger.predict, include=asked.include, exclude=asked.exclude)
            tags = await run_in(self._readers, partial(predict, fallback=True, n_jobs=1), texts, asked.k)
        else:
            tags = await self._batcher.ask(texts, asked.k) if texts else []
        if len(texts) <= MAX_TEXTS_WRITTEN_AT_ONCE:
            return _tag_response(tags, min_score, single, asked.fallback, self._model.tagger.vocabulary)
        arguments = tags, min_score, single, asked.fallback, self._model.tagger.vocabulary
        return await run_in(self._readers, _tag_response, *arguments)

    async def explain(self, request: Request) -> Response:
        """Return the labels of a text, each with the documents that voted for it and the words they share."""
        asked = await read_body(request, schemas.ExplainRequest)
        check_texts(self._settings, [asked.text])
        arguments = self._model.tagger, asked.text, asked.k, asked.voters, asked.fallback
        return await run_in(self._readers, lambda: json_response(explain_text(*arguments)))

    async def map(self, request: Request) -> Response:
        """Return a text among the points of its cluster, in two dimensions."""
        asked = await read_body(request, schemas.MapRequest)
        check_texts(self._settings, [asked.text])
        arguments = self._model.tagger, asked.text, asked.points
        return await run_in(self._readers, lambda: json_response(self._maps.draw(*arguments)))

    async def labels(
        self,
        prefix: Annotated[
            str, Query(max_length=MAX_PREFIX_CHARACTERS, description="What was typed, in upper or lower case.")
        ] = "",
        limit: Annotated[int, Query(ge=1, le=MAX_SUGGESTED_LABELS, description="At most so many.")] = 20,
    ) -> Response:
        """Return labels that begin with what was typed, then those that hold it."""
        return json_response(await run_in(self._readers, self._labels.find, self._model.tagger, prefix, limit))

    async def documents(
        self,
        query: Annotated[
            str, Query(max_length=MAX_PREFIX_CHARACTERS, description="A part of the text or the id.")
        ] = "",
        label: Annotated[str, Query(max_length=MAX_PREFIX_CHARACTERS, description="A label that they have.")] = "",
        name: Annotated[
            str, Query(alias="id", max_length=MAX_ID_CHARACTERS, description="The whole id of the one that is wanted.")
        ] = "",
        offset: Annotated[int, Query(ge=0, le=MAX_OFFSET, description="How many to leave out first.")] = 0,
        limit: Annotated[int, Query(ge=1, le=MAX_DOCUMENTS, description="At most so many.")] = 20,
    ) -> Response:
        """Return documents of the model, the newest first: all, or those that hold a text, have a label or an id."""
        arguments = self._model.tagger, query, label, name, offset, limit
        return await run_in(self._readers, lambda: json_response(browse(*arguments)))

    async def health(self, request: Request) -> Response:
        """Return what is served, by which worker, and whether it is what the folder holds.

        Where reading needs a token, a request without one is told only whether all is well.
        """
        needs_token = self._access.reading_needs_token
        if needs_token and request.scope["neartag"].token is None:
            return json_response({"ok": self._model.error is None, "needs_token": True})
        more = {"writable": self._access.writable, "needs_token": needs_token}
        return json_response({**self._model.health(), **more, "neartag": __version__, "pid": os.getpid()})

    async def metrics(self) -> Response:
        """Return what this worker has counted, as Prometheus reads it; the label pid names the worker."""
        tagger, stale = self._model.tagger, self._model.error is not None
        text = self._metrics.to_text(len(tagger), len(tagger.stored.label_names or []), stale)
        return Response(text, media_type=CONTENT_TYPE)

    async def page_file(self, name: str, request: Request) -> Response:
        """Return a file of the page, or only that it is still the one that the browser has."""
        file = self.files[name]
        if request.headers.get("if-none-match") == file.etag:
            return Response(status_code=304, headers=file.headers)
        return Response(file.content, headers=file.headers, media_type=file.media_type)


def _min_score(tagger: TextTagger, threshold: str | float | None) -> float:
    """Return the score from which labels are given."""
    if threshold is None:
        return 0.0
    if not isinstance(threshold, str):
        return float(threshold)
    calibration = tagger.calibration
    if calibration is None:
        raise Refusal(422, f"threshold: {threshold!r} needs calibrated scores, which this model lacks: give a number")
    return calibration.threshold(threshold)


def _tag_response(
    tags: list[Tags], min_score: float, single: bool, fallback: bool, vocabulary: Vocabulary | None
) -> Response:
    """Return the labels that are asked for; of a text that nothing is known of, `tags` has the most frequent ones."""
    results = []
    for each in tags:
        given = [tag for tag in each if (tag.score >= min_score if each.found else fallback)]
        results.append({"labels": [_describe_tag(tag, vocabulary) for tag in given], "found": each.found})
    return json_response(results[0] if single else {"results": results})


def _describe_tag(tag: Tag, vocabulary: Vocabulary | None) -> dict[str, Any]:
    """Return a label as JSON, with URI and names where a vocabulary has them."""
    concept = None if vocabulary is None else vocabulary.get(tag.label)
    known = {} if concept is None else {"uri": concept.uri or None, "names": dict(concept.names)}
    return {**tag._asdict(), **known}
