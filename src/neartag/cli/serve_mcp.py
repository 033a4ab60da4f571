"""`neartag serve --mcp`: a model as tools for assistants, over standard input and output, or over HTTP."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from neartag.cli import output
from neartag.core.errors import NeartagError, ParameterError
from neartag.core.extras import install_hint
from neartag.core.interrupts import Terminated

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve_mcp(
    model: str, address: tuple[str, int] | None, max_body: int, limits: dict[str, Any], *, quiet: bool
) -> None:
    """Serve until the other side closes standard input, or, with an address, until the program is ended."""
    if address is not None and address[0] not in LOOPBACK:
        raise ParameterError(f"--mcp-http listens on this computer only, not on {address[0]}: it has no token")
    try:
        from neartag.serve.mcp_server import HTTP_PATH, create_server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("neartag"):
            raise
        raise NeartagError(install_hint(f"--mcp needs {error.name}, which is not installed", "mcp")) from error

    with output.progress(quiet).start(None, f"loading {model}"):
        server = create_server(model, **limits)
    options: dict[str, Any] = {"transport": "stdio"}
    if address is not None:
        host, port = address
        options = {"transport": "streamable-http", "host": host, "port": port, "streamable_http_path": HTTP_PATH}
        options |= {"stateless_http": True, "json_response": True, "max_request_body_size": max_body}
        output.message(f"serving {model} on http://{host}:{port}{HTTP_PATH} (Ctrl+C ends it)", quiet=quiet)
    with suppress(KeyboardInterrupt, Terminated):
        server.run(**options)
