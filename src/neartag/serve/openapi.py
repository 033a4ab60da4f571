"""The OpenAPI document. The server reads bodies without FastAPI's help, so they are described here."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from neartag.serve import schemas
from neartag.serve.logs import ID_IN_WORDS, ID_PATTERN

REFERENCE_TEMPLATE = "#/components/schemas/{model}"
REQUESTS: list[type[BaseModel]] = [
    schemas.TagRequest,
    schemas.ExplainRequest,
    schemas.MapRequest,
    schemas.AddRequest,
    schemas.ForgetRequest,
    schemas.ReviewRequest,
    schemas.DoubtsRequest,
]


NEEDS_TOKEN: dict[str, Any] = {"security": [{"token": []}]}


CHANGE_ID: dict[str, Any] = {
    "name": "X-Request-Id",
    "in": "header",
    "description": f"An id of the client's own, {ID_IN_WORDS}: sent again with it, the change is made once. The header "
    "Idempotency-Key does the same. The server makes one where none is given.",
    "schema": {"type": "string", "pattern": f"^{ID_PATTERN.pattern}$"},
}


def describe_body(schema_class: type[BaseModel], *, is_change: bool) -> dict[str, Any]:
    """Return what a path's description says of its body, and of token and id where it is a change."""
    schema = {"$ref": REFERENCE_TEMPLATE.format(model=schema_class.__name__)}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    return {"requestBody": body, **({**NEEDS_TOKEN, "parameters": [CHANGE_ID]} if is_change else {})}


def describe_file() -> dict[str, Any]:
    """Return what a path's description says of a body that is a file."""
    content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {"requestBody": {"required": True, "content": content}}


def keep_statuses(responses: dict[int | str, Any], *statuses: int) -> dict[int | str, Any]:
    """Return the responses of these statuses."""
    return {status: response for status, response in responses.items() if status in statuses}


def make_document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, made once."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        _, bodies = models_json_schema([(each, "validation") for each in REQUESTS], ref_template=REFERENCE_TEMPLATE)
        components = document.setdefault("components", {})
        components["schemas"] = {**components.get("schemas", {}), **bodies["$defs"]}
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = document
    return app.openapi_schema
