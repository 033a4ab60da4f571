"""What OpenAPI says of the server: bodies are read without the framework's help, and so it is told of them here."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from neartag.serve import shapes

REFERENCE = "#/components/schemas/{model}"
REQUESTS: list[type[BaseModel]] = [
    shapes.TagRequest,
    shapes.ExplainRequest,
    shapes.MapRequest,
    shapes.AddRequest,
    shapes.ForgetRequest,
]


def asked(shape: type[BaseModel], *, secured: bool) -> dict[str, Any]:
    """Return what a path says of its body, and of the token where it needs one."""
    schema = {"$ref": REFERENCE.format(model=shape.__name__)}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    return {"requestBody": body, **({"security": [{"token": []}]} if secured else {})}


def only(responses: dict[int | str, Any], *statuses: int) -> dict[int | str, Any]:
    """Return some of the responses."""
    return {status: told for status, told in responses.items() if status in statuses}


def document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, made once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        _, found = models_json_schema([(shape, "validation") for shape in REQUESTS], ref_template=REFERENCE)
        components = made.setdefault("components", {})
        components["schemas"] = {**components.get("schemas", {}), **found["$defs"]}
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = made
    return app.openapi_schema
