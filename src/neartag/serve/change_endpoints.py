"""Changes over HTTP: each has an id, is made once however often it is sent, and can be asked after."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

from fastapi import Path, Request
from fastapi.responses import Response

from neartag.core.errors import DataError, ModelError
from neartag.data.documents import Document
from neartag.serve import schemas
from neartag.serve.change_queue import RETRY_AFTER, ChangeQueue
from neartag.serve.checks import check_count, check_texts, read_body, run_in
from neartag.serve.errors import Refusal, json_response
from neartag.serve.followed_model import FollowedModel
from neartag.serve.labels import LabelSearch
from neartag.serve.limits import RequestFacts
from neartag.serve.logs import ID_IN_WORDS, ID_PATTERN
from neartag.serve.settings import Settings
from neartag.storage.bundle import can_update
from neartag.tagging.changes import Addition, Origin, Removal
from neartag.tagging.live import RepeatedIdError, read_outcome
from neartag.tagging.tagger import TextTagger


class ChangeEndpoints:
    """What the paths of changes do."""

    def __init__(self, model: FollowedModel, settings: Settings) -> None:
        self._model, self._settings = model, settings
        self._queue = ChangeQueue(model)
        self._labels = LabelSearch()
        # Not the thread that writes: what is refused, or asked after, does not wait for it.
        self._checks = ThreadPoolExecutor(1, "neartag-check")

    def close(self) -> None:
        """End all threads, once they have finished their work."""
        self._queue.close()
        self._checks.shutdown()

    async def add(self, request: Request) -> Response:
        """Add documents, which vote at once: here, and within a second in every other worker."""
        asked = await read_body(request, schemas.AddRequest)
        check_texts(self._settings, [document.text for document in asked.documents], "documents")
        ids = [document.id for document in asked.documents if document.id is not None]
        if len(set(ids)) < len(ids):
            raise Refusal(422, "two of the documents have the same id: give each its own")
        documents = [
            Document(each.text, list(dict.fromkeys(each.labels)), each.id, None, f"documents.{number}")
            for number, each in enumerate(asked.documents)
        ]

        def refuse_new_labels(tagger: TextTagger) -> None:
            told = self._labels.describe_new(tagger, (label for each in documents for label in each.labels))
            if told is not None:
                raise DataError(told)

        origin = _find_origin(request, asked)
        change = Addition(origin, documents, asked.replace, None if asked.new_labels else refuse_new_labels)
        return await self._make(request, change, 409)

    async def forget(self, request: Request) -> Response:
        """Forget documents: their texts, features and votes go, on disk too."""
        asked = await read_body(request, schemas.ForgetRequest)
        check_count(self._settings, asked.ids, "ids")
        return await self._make(request, Removal(_find_origin(request, asked), asked.ids), 404)

    async def change(
        self, request: Request, name: Annotated[str, Path(alias="id", description="The id of the request.")]
    ) -> Response:
        """Return whether the change with this id was made, and what it gave."""
        if not ID_PATTERN.fullmatch(name):
            raise Refusal(422, f"the id of a change is {ID_IN_WORDS}")
        who = facts_of(request).who
        found = await run_in(self._checks, self._model.find_change, who, name)
        if found is None:
            if not self._queue.holds(Origin(who, name)):
                raise Refusal(
                    404,
                    f"no change with the id {name} was made so far; it will not be made any more once its request is "
                    f"{self._settings.max_seconds:g} seconds old; with the same id it can be sent again at any time",
                )
            return json_response({"id": name, "state": "under way", "what": None, "time": None, "answer": None})
        state = {True: "made", False: "not made", None: "under way"}[found.made]
        answer = _describe(read_outcome(found.line)) if found.made else None
        return json_response(
            {"id": name, "state": state, "what": found.line["what"], "time": found.line["time"], "answer": answer}
        )

    async def _make(self, request: Request, change: Addition | Removal, unfit: int) -> Response:
        """Make a change; `unfit` is the status for documents that do not fit."""
        model = self._model.tagger.stored.model
        if not can_update(model):
            raise Refusal(409, f"a model of kind {model.kind!r} takes no documents after training: serve one of X1")
        outcome = await run_in(self._checks, self._refuse_early, change)
        if outcome is None:
            outcome = await self._queue.make(change, facts_of(request).deadline)
        if isinstance(outcome, RepeatedIdError):
            raise Refusal(409, str(outcome))
        if isinstance(outcome, DataError):
            raise Refusal(unfit, str(outcome))
        if isinstance(outcome, ModelError):
            raise Refusal(503, f"{outcome}; the change was not made", {"Retry-After": RETRY_AFTER})
        if isinstance(outcome, Exception):
            raise outcome
        return json_response(_describe(outcome))

    def _refuse_early(self, change: Addition | Removal) -> Any:
        """Return why a change cannot be made, where that is clear without the folder's lock; None where it is not."""
        refusal = self._model.find_refusal(change)
        if refusal is None:
            return None
        # Sent again, it may be refused only because it was made.
        found = self._model.log.find(change.origin.who, change.origin.request)
        return None if found is not None and found.made is not False else refusal


def facts_of(request: Request) -> RequestFacts:
    """Return what is known of a request beside its body."""
    facts: RequestFacts = request.scope["neartag"]
    return facts


def _find_origin(request: Request, asked: schemas.RequestBody) -> Origin:
    facts = facts_of(request)
    content = f"{request.url.path}\n{asked.model_dump_json()}"
    fingerprint = facts.token.sign(content) if facts.token is not None else ""
    return Origin(facts.who, facts.request_id, fingerprint)


def _describe(outcome: Any) -> dict[str, Any]:
    """Return what a change gave, as its answer has it."""
    if isinstance(outcome, int):
        return {"forgotten": outcome}
    return {"ids": outcome.ids, "new_labels": outcome.new_labels}
