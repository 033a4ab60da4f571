"""The server's application: each path, what it takes and what it answers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request
from fastapi.responses import PlainTextResponse, Response

from neartag import __version__
from neartag.core.errors import DataError, ModelError
from neartag.data.documents import Document
from neartag.serve import openapi, page, shapes
from neartag.serve.batch import Batcher
from neartag.serve.errors import HANDLERS, Refusal, described, json_response
from neartag.serve.labels import LabelSearch
from neartag.serve.limits import RETRY_SECONDS, Guard
from neartag.serve.map import Maps
from neartag.serve.metrics import CONTENT_TYPE, Metrics
from neartag.serve.reasons import explained
from neartag.serve.served import Served
from neartag.serve.settings import HANDED_ON, TOKEN_VARIABLE, Settings
from neartag.storage.bundle import can_update
from neartag.tagging.tagger import Tag, TextTagger

READERS = 2  # threads for what is not answered in batches
FEW_TEXTS = 8  # whose answer is written at once; that of more is written in a thread
MOST_SUGGESTED = 1000
LONGEST_TYPED = 500

Asked = TypeVar("Asked", bound=shapes.Asked)


class Application(FastAPI):
    """FastAPI's application with our description of it."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        return openapi.document(self)


def from_environment() -> FastAPI:
    """Return the application that a worker is to run, as its parent has written it down."""
    folder, settings = Settings.handed_on(os.environ[HANDED_ON])
    return create_app(folder, settings)


def create_app(folder: str | os.PathLike[str], settings: Settings | None = None) -> FastAPI:
    """Return an ASGI application that serves the model in a folder; `app.state.served` is that model."""
    settings = Settings() if settings is None else settings
    metrics = Metrics()
    served = Served(folder, metrics)
    server = Server(served, settings, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        served.warm_up()
        served.start()
        yield
        await asyncio.get_running_loop().run_in_executor(None, server.close)

    app = Application(
        title="neartag",
        version=__version__,
        description="Texts in, label names out, with the documents that voted for them.",
        docs_url=None,  # whose page would load scripts from elsewhere
        redoc_url=None,
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    app.state.served, app.state.server = served, server
    _add_routes(app, server)
    paths = frozenset(getattr(route, "path", "") for route in app.routes)
    app.add_middleware(Guard, settings=settings, metrics=metrics, paths=paths)
    return app


def _add_routes(app: FastAPI, server: Server) -> None:
    for path, method, request, answer, statuses in (
        ("/tag", server.tag, shapes.TagRequest, shapes.Tagged | shapes.TaggedTexts, ()),
        ("/explain", server.explain, shapes.ExplainRequest, shapes.Explained, (409,)),
        ("/map", server.map, shapes.MapRequest, shapes.Map, (409,)),
        ("/add", server.add, shapes.AddRequest, shapes.Added, (401, 403, 409)),
        ("/forget", server.forget, shapes.ForgetRequest, shapes.Forgotten, (401, 403, 404, 409)),
    ):
        extra = openapi.asked(request, secured=401 in statuses)
        responses = described(*statuses)
        app.post(path, response_model=answer, responses=responses, openapi_extra=extra)(method)
    errors = openapi.only(described(), 421, 422, 500, 503)
    few = openapi.only(errors, 421, 500)
    plain = {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus's text format"}
    app.get("/labels", response_model=shapes.KnownLabels, responses=errors)(server.labels)
    app.get("/health", response_model=shapes.Health, responses=few)(server.health)
    app.get("/metrics", response_class=PlainTextResponse, responses={200: plain, **few})(server.metrics)
    for path, shown in (("/", server.page), ("/favicon.ico", server.no_icon)):
        app.add_api_route(path, shown, methods=["GET", "HEAD"], include_in_schema=False)


class Server:
    """What each path does."""

    def __init__(self, served: Served, settings: Settings, metrics: Metrics) -> None:
        self._served, self._settings, self._metrics = served, settings, metrics
        self._token = settings.token()
        self._batcher = Batcher(served.predict, metrics.batch)
        self._readers = ThreadPoolExecutor(READERS, "neartag-read")
        self._writer = ThreadPoolExecutor(1, "neartag-write")
        self._labels, self._maps = LabelSearch(), Maps()
        self._page, self._policy = page.load()

    def close(self) -> None:
        """End all threads, once they have done what they are at."""
        self._batcher.close()
        for executor in (self._readers, self._writer):
            executor.shutdown()
        self._served.close()

    async def tag(self, request: Request) -> Response:
        """Return the labels of a text, or of several, the best first."""
        asked = await _read(request, shapes.TagRequest)
        single = "text" in asked.model_fields_set
        texts = [asked.text] if single else asked.texts
        self._check_texts(texts)
        least = _least(self._served.tagger, asked.threshold)
        found = await self._batcher.ask(texts, asked.k) if texts else []
        if len(texts) <= FEW_TEXTS:
            return _tagged(found, least, single)
        return await self._run(self._readers, _tagged, found, least, single)

    async def explain(self, request: Request) -> Response:
        """Return the labels of a text, each with the documents that voted for it and the words they share."""
        asked = await _read(request, shapes.ExplainRequest)
        self._check_texts([asked.text])
        arguments = self._served.tagger, asked.text, asked.k, asked.voters
        return await self._run(self._readers, lambda: json_response(explained(*arguments)))

    async def map(self, request: Request) -> Response:
        """Return a text among the points of its cluster, in two dimensions."""
        asked = await _read(request, shapes.MapRequest)
        self._check_texts([asked.text])
        arguments = self._served.tagger, asked.text, asked.points
        return await self._run(self._readers, lambda: json_response(self._maps.draw(*arguments)))

    async def add(self, request: Request) -> Response:
        """Add documents, which vote at once: here, and within a second in every other worker."""
        self._authorise(request)
        asked = await _read(request, shapes.AddRequest)
        self._check_texts([document.text for document in asked.documents], "documents")
        ids = [document.id for document in asked.documents if document.id is not None]
        if len(set(ids)) < len(ids):
            raise Refusal(422, "two of the documents have the same id: give each its own")
        documents = [
            Document(each.text, list(dict.fromkeys(each.labels)), each.id, None, f"documents.{number}")
            for number, each in enumerate(asked.documents)
        ]
        return json_response({"ids": await self._change(409, self._served.add, documents, asked.replace)})

    async def forget(self, request: Request) -> Response:
        """Forget documents: their texts, features and votes go, on disk too."""
        self._authorise(request)
        asked = await _read(request, shapes.ForgetRequest)
        self._check_count(asked.ids, "ids")
        return json_response({"forgotten": await self._change(404, self._served.forget, asked.ids)})

    async def labels(
        self,
        prefix: Annotated[
            str, Query(max_length=LONGEST_TYPED, description="What was typed; case counts for nothing.")
        ] = "",
        limit: Annotated[int, Query(ge=1, le=MOST_SUGGESTED, description="At most so many.")] = 20,
    ) -> Response:
        """Return labels that begin with what was typed, then those that hold it."""
        return json_response(await self._run(self._readers, self._labels.find, self._served.tagger, prefix, limit))

    async def health(self) -> Response:
        """Return what is served, by which worker, and whether it is what the folder holds."""
        more = {"writable": self._token is not None, "neartag": __version__, "pid": os.getpid()}
        return json_response({**self._served.health(), **more})

    async def metrics(self) -> Response:
        """Return what this worker has counted, as Prometheus reads it; the label pid names the worker."""
        tagger, stale = self._served.tagger, self._served.error is not None
        text = self._metrics.text(len(tagger), len(tagger.stored.label_names or []), stale)
        return Response(text, media_type=CONTENT_TYPE)

    async def page(self) -> Response:
        """Return the page."""
        headers = {"Content-Security-Policy": self._policy, "Cache-Control": "no-cache"}
        return Response(self._page, headers=headers, media_type="text/html; charset=utf-8")

    async def no_icon(self) -> Response:
        """Return nothing: browsers ask, and would complain."""
        return Response(status_code=204)

    async def _run(self, executor: Executor, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(executor, partial(work, *arguments))

    async def _change(self, unfit: int, change: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a change of the folder gives; `unfit` is the status where the documents do not fit the model."""
        model = self._served.tagger.stored.model
        if not can_update(model):
            raise Refusal(409, f"a model of kind {model.kind!r} takes no documents after training: serve one of X1")
        try:
            return await self._run(self._writer, change, *arguments)
        except DataError as error:
            raise Refusal(unfit, str(error)) from error
        except ModelError as error:
            raise Refusal(503, str(error), {"Retry-After": RETRY_SECONDS}) from error

    def _authorise(self, request: Request) -> None:
        if self._token is None:
            raise Refusal(
                403,
                "nothing can be added or forgotten here, for the server has no token: start it with the variable "
                f"{TOKEN_VARIABLE} or with --token-file",
            )
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not self._token.matches(given.strip().encode("latin-1", "replace")):
            wrong = "the token is missing or wrong: send the header Authorization: Bearer TOKEN"
            raise Refusal(401, wrong, {"WWW-Authenticate": "Bearer"})

    def _check_texts(self, texts: Sequence[str], what: str = "texts") -> None:
        self._check_count(texts, what)
        most = self._settings.max_characters
        for number, text in enumerate(texts):
            if len(text) > most:
                where = f"text {number} of {what}" if len(texts) > 1 else "the text"
                raise Refusal(422, f"{where} has {len(text)} characters, more than {most}: send a part of it")

    def _check_count(self, items: Sequence[Any], what: str) -> None:
        most = self._settings.max_texts
        if len(items) > most:
            raise Refusal(422, f"{what}: {len(items)} at once are more than {most}: send them in parts")


async def _read(request: Request, shape: type[Asked]) -> Asked:
    """Return what the body asks; pydantic reads it at once, without a tree of Python's in between."""
    return shape.model_validate_json(await request.body())


def _least(tagger: TextTagger, threshold: str | float | None) -> float:
    """Return the score from which labels are given."""
    if threshold is None:
        return 0.0
    if not isinstance(threshold, str):
        return float(threshold)
    calibration = tagger.calibration
    if calibration is None:
        raise Refusal(422, f"threshold: {threshold!r} needs calibrated scores, which this model lacks: give a number")
    return calibration.threshold(threshold)


def _tagged(found: list[list[Tag]], least: float, single: bool) -> Response:
    results = [{"labels": [tag._asdict() for tag in tags if tag.score >= least]} for tags in found]
    return json_response(results[0] if single else {"results": results})
