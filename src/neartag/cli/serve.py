"""`neartag serve`: a model behind HTTP, with a page."""

from __future__ import annotations

from typing import Annotated

import typer

from neartag.cli import output
from neartag.cli.options import Model, Quiet
from neartag.core.errors import NeartagError, ParameterError
from neartag.core.extras import install_hint
from neartag.core.parameters import parse_bytes


def serve(
    model: Model,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this computer need another.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0: any that is free.")] = 8000,
    workers: Annotated[int, typer.Option(help="Processes that answer; each maps the same model.")] = 1,
    token_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Holds the token that allows adding and forgetting. Without it the variable NEARTAG_TOKEN is looked "
            "at; without both nothing can be changed.",
        ),
    ] = None,
    max_body: Annotated[str, typer.Option(metavar="SIZE", help="Largest request.")] = "1MB",
    max_texts: Annotated[int, typer.Option(help="Most texts, documents or ids of a request.")] = 256,
    max_characters: Annotated[int, typer.Option(help="Longest text.")] = 100_000,
    max_seconds: Annotated[float, typer.Option(help="Time that a request may take.")] = 10.0,
    max_waiting: Annotated[int, typer.Option(help="Most requests under way at once, for each worker.")] = 256,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A name by which the server may be called, such as that of a proxy's site; may be given several "
            "times. Listening on this computer only, it answers to localhost; otherwise to any name.",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Serve a model that was trained on texts, with a page to try it on.

    It listens on this computer only, unless --host says otherwise. What it answers is described at /openapi.json; the
    page is at /. SIGTERM and Ctrl+C end it once the requests under way are answered.
    """
    if workers < 1:
        raise ParameterError(f"--workers must be at least 1, not {workers}")
    if not 0 <= port <= 65535:
        raise ParameterError(f"--port must be from 0 to 65535, not {port}")
    size = parse_bytes(max_body)
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
    settings = Settings(token_file, size, max_texts, max_characters, max_seconds, max_waiting, hosts)
    with output.progress(quiet).start(None, f"loading {model}"):
        application = prepare(model, settings, workers)
    listening = bind(host, port, workers)
    name, number = listening.getsockname()[:2]
    shown = f"[{name}]" if ":" in name else name
    how = f"{workers} workers" if workers > 1 else "1 worker"
    output.message(f"serving {model} on http://{shown}:{number}/ ({how}; Ctrl+C ends it)", quiet=quiet)
    run(application, settings, listening, workers)
