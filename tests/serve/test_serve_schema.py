"""The server against its own description: what OpenAPI says of requests is sent, and what it says of answers must hold.

Left out is the check that everything the description allows is accepted: bounds that are settings, ids that are taken
and precisions that were never reached are refused, as the description says in words.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

pytest.importorskip("fastapi")

from serve_helpers import BEARER, Client, train

CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")
PATHS = (
    "/tag",
    "/explain",
    "/map",
    "/add",
    "/forget",
    "/labels",
    "/documents",
    "/review",
    "/health",
    "/metrics",
    "/changes/{id}",
)


@pytest.fixture(scope="module")
def description(tmp_path_factory):
    schemathesis = pytest.importorskip("schemathesis", minversion="4.1")
    folder = tmp_path_factory.mktemp("schema") / "model"
    train().save(folder)
    client = Client(folder)
    schemathesis.checks.load_all_checks()

    async def begun(scope, receive, send):  # the application would be started for every request
        if scope["type"] == "http":
            await client.app(scope, receive, send)
            return
        while True:
            kind = (await receive())["type"]
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return

    yield schemathesis.openapi.from_asgi("/openapi.json", begun)
    client.close()


@pytest.mark.parametrize("token", [True, False])
@pytest.mark.parametrize("path", PATHS)
def test_requests_and_answers_are_as_described(description, path, token):
    from schemathesis import checks as known

    (operation,) = [found.ok() for found in description.get_all_operations() if found.ok().path == path]
    checks = [known.CHECKS.get_one(name) for name in CHECKS]

    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def asked(case):
        case.call_and_validate(checks=checks, headers=BEARER if token else {})

    asked()
