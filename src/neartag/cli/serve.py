"""`neartag serve`: a model behind HTTP, with a page."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from neartag.cli import output
from neartag.cli.options import Model, Quiet
from neartag.cli.trust_options import Trust, with_trust
from neartag.core.errors import NeartagError, ParameterError
from neartag.core.extras import install_hint
from neartag.core.parameters import parse_bytes


@with_trust
def serve(
    model: Model,
    host: Annotated[
        str, typer.Option(help="Address to listen on. The default answers this computer only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0: any free one.")] = 8000,
    workers: Annotated[int, typer.Option(help="How many processes answer; all map the same model.")] = 1,
    token_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="File with the token that allows adding and forgetting. Without it, the variable NEARTAG_TOKEN "
            "holds the token; without both, nothing can be changed.",
        ),
    ] = None,
    max_body: Annotated[str, typer.Option(metavar="SIZE", help="Largest request.")] = "1MB",
    max_upload: Annotated[str, typer.Option(metavar="SIZE", help="Largest file to tag or to review.")] = "10MB",
    max_texts: Annotated[int, typer.Option(help="Most texts, documents or ids in a request.")] = 256,
    max_characters: Annotated[int, typer.Option(help="Longest text.")] = 100_000,
    max_seconds: Annotated[float, typer.Option(help="Seconds that a request may take.")] = 10.0,
    max_waiting: Annotated[int, typer.Option(help="Most requests at once, for each worker.")] = 256,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A host name that requests may use, such as that of a proxy's site; may be repeated. A server for "
            "this computer only answers to localhost; any other server answers to any name.",
        ),
    ] = None,
    log_requests: Annotated[
        bool,
        typer.Option(
            "--log-requests",
            help="Write a line for each request to standard error: method, path, status, milliseconds, id. "
            "Never a text, a label or a query.",
        ),
    ] = False,
    quiet: Quiet = False,
    *,
    trust: Trust,
) -> None:
    """Serve a model that was trained on texts, with a page to try it on.

    It listens on this computer only, unless --host says otherwise. The page is at /, and /docs describes all
    requests. SIGTERM and Ctrl+C end it once the requests under way are answered.
    """
    if workers < 1:
        raise ParameterError(f"--workers must be at least 1, not {workers}")
    if not 0 <= port <= 65535:
        raise ParameterError(f"--port must be from 0 to 65535, not {port}")
    sizes = parse_bytes(max_body), parse_bytes(max_upload)
    try:
        from neartag.serve.run import LOOPBACK, bind, prepare, run
        from neartag.serve.settings import Settings
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("neartag"):
            raise
        raise NeartagError(install_hint(f"serving needs {error.name}, which is not installed", "serve")) from error

    hosts = tuple(allow_host or ())
    if host in LOOPBACK:
        hosts = (*LOOPBACK, *hosts)
    settings = Settings(token_file, *sizes, max_texts, max_characters, max_seconds, max_waiting, hosts, log_requests)
    key = None if trust.public_key is None else trust.public_key.text
    settings = replace(settings, expect_digest=trust.expect_digest, public_key=key)
    with output.progress(quiet).start(None, f"loading {model}"):
        application = prepare(model, settings, workers)
    listening = bind(host, port, workers)
    name, number = listening.getsockname()[:2]
    shown = f"[{name}]" if ":" in name else name
    how = f"{workers} workers" if workers > 1 else "1 worker"
    output.message(f"serving {model} on http://{shown}:{number}/ ({how}; Ctrl+C ends it)", quiet=quiet)
    run(application, settings, listening, workers)
