"""The server's application: each path, what it takes and what it answers."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response

from neartag.core.version import __version__
from neartag.serve import openapi, schemas
from neartag.serve.access import Access
from neartag.serve.change_endpoints import ChangeEndpoints
from neartag.serve.clients import check_proxies
from neartag.serve.endpoints import Endpoints
from neartag.serve.errors import HANDLERS, describe_statuses
from neartag.serve.file_endpoints import FileEndpoints
from neartag.serve.followed_model import FollowedModel
from neartag.serve.guarded_protocol import AcceptErrors
from neartag.serve.limits import CHANGE, LimitsMiddleware
from neartag.serve.metrics import Metrics
from neartag.serve.page_files import DOCS, FOLDER, ICON, INDEX
from neartag.serve.settings import SETTINGS_VARIABLE, Settings


class Application(FastAPI):
    """FastAPI's application with our OpenAPI document."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        return openapi.make_document(self)


def from_environment() -> FastAPI:
    """Return the application of a worker; its parent has left folder and settings in the environment."""
    logging.captureWarnings(True)
    folder, settings = Settings.from_text(os.environ[SETTINGS_VARIABLE])
    return create_app(folder, settings)


def create_app(folder: str | os.PathLike[str], settings: Settings | None = None) -> FastAPI:
    """Return an ASGI application that serves the model in a folder.

    Parameters
    ----------
    folder : str or path
        A model folder that was trained on texts.
    settings : Settings, optional
        Limits, and where the token is.

    Returns
    -------
    FastAPI
        Its `state.model` is the model that it serves.
    """
    settings = Settings() if settings is None else settings
    metrics, access = Metrics(), Access.from_settings(settings)
    check_proxies(settings.proxies)
    model = FollowedModel(folder, metrics, settings.trust)
    endpoints, files = Endpoints(model, settings, access, metrics), FileEndpoints(model, settings)
    changes = ChangeEndpoints(model, settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_exception_handler(AcceptErrors())
        model.warm_up()
        model.start()
        yield
        for each in (changes, endpoints, files):
            await asyncio.get_running_loop().run_in_executor(None, each.close)

    app = Application(
        title="neartag",
        version=__version__,
        description="Texts in, label names out, with the documents that voted for them.",
        docs_url=None,  # FastAPI's page would load scripts from elsewhere
        redoc_url=None,
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    app.state.model, app.state.endpoints, app.state.files, app.state.changes = model, endpoints, files, changes
    _add_routes(app, endpoints, files, changes)
    paths = frozenset(getattr(route, "path", "") for route in app.routes)
    app.add_middleware(LimitsMiddleware, settings=settings, access=access, metrics=metrics, paths=paths)
    return app


def _add_routes(app: FastAPI, endpoints: Endpoints, files: FileEndpoints, changes: ChangeEndpoints) -> None:
    for path, handler, request, answer, statuses in (
        ("/tag", endpoints.tag, schemas.TagRequest, schemas.Tagged | schemas.TaggedTexts, ()),
        ("/explain", endpoints.explain, schemas.ExplainRequest, schemas.Explained, (409,)),
        ("/map", endpoints.map, schemas.MapRequest, schemas.Map, (409,)),
        ("/add", changes.add, schemas.AddRequest, schemas.Added, (401, 403, 409)),
        ("/forget", changes.forget, schemas.ForgetRequest, schemas.Forgotten, (401, 403, 404, 409)),
        ("/review", files.review, schemas.ReviewRequest, schemas.Review, (409,)),
        ("/doubts", files.doubts, schemas.DoubtsRequest, schemas.Doubts, (409,)),
    ):
        extra = openapi.describe_body(request, is_change=401 in statuses)
        responses = describe_statuses(*statuses)
        app.post(path, response_model=answer, responses=responses, openapi_extra=extra)(handler)
    file = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    tagged: dict[int | str, Any] = {200: {"content": file, "description": "The table with added columns"}}
    app.post(
        "/tag-file",
        response_class=Response,
        responses={**tagged, **describe_statuses()},
        openapi_extra=openapi.describe_file(),
    )(files.tag_file)
    app.post(
        "/review-file",
        response_model=schemas.Review,
        responses=describe_statuses(409),
        openapi_extra=openapi.describe_file(),
    )(files.review_file)
    errors = openapi.keep_statuses(describe_statuses(), 401, 421, 422, 429, 500, 503)
    few = openapi.keep_statuses(errors, 401, 421, 429, 500)
    plain = {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus's text format"}
    app.get("/labels", response_model=schemas.KnownLabels, responses=errors)(endpoints.labels)
    app.get("/documents", response_model=schemas.Documents, responses=errors)(endpoints.documents)
    asked = {**errors, **openapi.keep_statuses(describe_statuses(403, 404), 403, 404)}
    app.get(CHANGE, response_model=schemas.ChangeState, responses=asked, openapi_extra=openapi.NEEDS_TOKEN)(
        changes.change
    )
    app.get("/health", response_model=schemas.Health | schemas.ShortHealth, responses=few)(endpoints.health)
    app.get("/metrics", response_class=PlainTextResponse, responses={200: plain, **few})(endpoints.metrics)
    page = {f"/{FOLDER}/{name}": name for name in endpoints.files}
    for path, name in {**page, "/": INDEX, "/docs": DOCS, "/favicon.ico": ICON}.items():
        _add_file(app, endpoints, path, name)


def _add_file(app: FastAPI, endpoints: Endpoints, path: str, name: str) -> None:
    async def show(request: Request) -> Response:
        return await endpoints.page_file(name, request)

    app.add_api_route(path, show, methods=["GET", "HEAD"], include_in_schema=False)
