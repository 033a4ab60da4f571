"""Every refusal is JSON: {"error": "what is wrong, where, and what to do"}. What a client sent never gives a 5xx."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from neartag.core.errors import NeartagError
from neartag.serve.schemas import Error

logger = logging.getLogger("neartag.serve")

MAX_FAULTS_NAMED = 3  # of one request
_PYDANTIC_STEPS = ("body", "query", "float", "str", "constrained-float", "constrained-str")  # no client knows them
# What each status means, for OpenAPI.
STATUS_MEANINGS = {
    400: "The body cannot be read",
    401: "The token is missing or wrong",
    403: "The server has no token configured, and so changes nothing; or the token allows reading only",
    404: "There is no such document or change",
    408: "The body did not come in time",
    409: "It cannot be done with the model as it is",
    413: "The body is too large",
    415: "The body is not said to be JSON",
    421: "The server does not answer for this host name",
    422: "Something in the request is not as it must be",
    429: "Too many requests of one client",
    500: "A bug of the server, whose log has more",
    503: "Too busy, too slow, or the model cannot be read: try again later",
}


class Refusal(HTTPException):
    """An answer with an error status."""

    def __init__(self, status: int, error: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, error, None if headers is None else dict(headers))


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as an answer: ASCII only, so that no character of a name or a text can spoil it."""
    content = json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
    return Response(content, status, headers, media_type="application/json")


def describe_statuses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says about these statuses, and those that any request with a body can get."""
    every = sorted({*statuses, 400, 401, 408, 413, 415, 421, 422, 429, 500, 503})
    return {status: {"model": Error, "description": STATUS_MEANINGS[status]} for status in every}


def validation_text(errors: list[Any]) -> str:
    """Return in one line what is wrong with a request; what may be long or cannot be shown is not quoted."""
    faults = []
    for fault in errors[:MAX_FAULTS_NAMED]:
        place = ".".join(str(step) for step in fault["loc"] if step not in _PYDANTIC_STEPS)
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "json_invalid":
            message, place = f"it is not JSON ({message.removeprefix('Invalid JSON: ')})", ""
        faults.append(f"{place[:100]}: {message}" if place else message)
    more = f"; and {len(errors) - MAX_FAULTS_NAMED} more" if len(errors) > MAX_FAULTS_NAMED else ""
    return f"the request cannot be used: {'; '.join(faults)}{more}. See /openapi.json"


async def answer_refusal(request: Request, error: Exception) -> Response:
    """Answer what was refused here, by the router, or by the framework."""
    assert isinstance(error, HTTPException)
    text = error.detail
    if not isinstance(error, Refusal):
        path = request.url.path[:100]
        known = {404: f"there is no {path} here: see /openapi.json", 405: f"{path} is not asked with {request.method}"}
        text = known.get(error.status_code, text)
    return json_response({"error": text}, error.status_code, error.headers)


async def answer_validation(request: Request, error: Exception) -> Response:
    """Answer a request that does not have the form of its schema."""
    assert isinstance(error, RequestValidationError | ValidationError)
    faults = list(error.errors())
    status = 400 if any(fault["type"] == "json_invalid" for fault in faults) else 422
    return json_response({"error": validation_text(faults)}, status)


async def answer_mistake(request: Request, error: Exception) -> Response:
    """Answer what the library refused: the person who asked can put it right."""
    return json_response({"error": str(error)}, 422)


async def answer_bug(request: Request, error: Exception) -> Response:
    """Answer an unexpected exception; the framework logs it afterwards."""
    return json_response({"error": "a bug of the server, not of the request: its log has the traceback"}, 500)


HANDLERS: dict[Any, Any] = {
    HTTPException: answer_refusal,
    RequestValidationError: answer_validation,
    ValidationError: answer_validation,
    NeartagError: answer_mistake,
    Exception: answer_bug,
}
