"""`neartag serve`: a model behind HTTP, with a page."""

from __future__ import annotations

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
    mcp: Annotated[
        bool,
        typer.Option(
            "--mcp",
            help="Serve tools for assistants instead (Model Context Protocol), on standard input and output.",
        ),
    ] = False,
    mcp_http: Annotated[
        bool, typer.Option("--mcp-http", help="The same tools over HTTP, for programs on this computer only.")
    ] = False,
    host: Annotated[
        str, typer.Option(help="Address to listen on. The default answers this computer only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0: any free one.")] = 8000,
    workers: Annotated[int, typer.Option(help="How many processes answer; all map the same model.")] = 1,
    token_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="File with the token that allows adding and forgetting, or with several: lines of NAME ROLE TOKEN, "
            "with the role read or write. Without it, the variable NEARTAG_TOKEN holds the token; without both, "
            "nothing can be changed.",
        ),
    ] = None,
    read_token: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="File with a token that reading needs too. Without it, the variable NEARTAG_READ_TOKEN holds it; "
            "without both, and without a token of the role read, anybody who reaches the server can read.",
        ),
    ] = None,
    max_body: Annotated[str, typer.Option(metavar="SIZE", help="Largest request.")] = "1MB",
    max_upload: Annotated[str, typer.Option(metavar="SIZE", help="Largest file to tag or to review.")] = "10MB",
    max_texts: Annotated[int, typer.Option(help="Most texts, documents or ids in a request.")] = 256,
    max_characters: Annotated[int, typer.Option(help="Longest text.")] = 100_000,
    max_seconds: Annotated[float, typer.Option(help="Seconds that a request may take.")] = 10.0,
    max_waiting: Annotated[int, typer.Option(help="Most requests at once, for each worker.")] = 1000,
    rate_limit: Annotated[
        float | None,
        typer.Option(metavar="N", help="Most requests a second of each client, by its address; more get 429."),
    ] = None,
    trust_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address of a proxy that tells its clients' addresses in X-Forwarded-For; may be repeated.",
        ),
    ] = None,
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
    log_format: Annotated[
        str, typer.Option(metavar="text|json", help="Lines for people, or a JSON object in each line.")
    ] = "text",
    quiet: Quiet = False,
    *,
    trust: Trust,
) -> None:
    """Serve a model that was trained on texts, with a page to try it on.

    It listens on this computer only, unless --host says otherwise. The page is at /, and /docs describes all
    requests. SIGTERM and Ctrl+C end it once the requests under way are answered. With --mcp an assistant starts the
    server and calls its tools: tag, explain and labels.
    """
    if workers < 1:
        raise ParameterError(f"--workers must be at least 1, not {workers}")
    if not 0 <= port <= 65535:
        raise ParameterError(f"--port must be from 0 to 65535, not {port}")
    if mcp or mcp_http:
        from neartag.cli.serve_mcp import serve_mcp

        limits = {"max_texts": max_texts, "max_characters": max_characters, "trust": trust}
        serve_mcp(model, (host, port) if mcp_http else None, parse_bytes(max_body), limits, quiet=quiet)
        return
    sizes = parse_bytes(max_body), parse_bytes(max_upload)
    try:
        from neartag.serve.logs import JSON, log_event
        from neartag.serve.run import LOOPBACK, bind, prepare, run
        from neartag.serve.settings import Settings
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("neartag"):
            raise
        raise NeartagError(install_hint(f"serving needs {error.name}, which is not installed", "serve")) from error

    hosts = tuple(allow_host or ())
    if host in LOOPBACK:
        hosts = (*LOOPBACK, *hosts)
    settings = Settings(
        token_file=token_file,
        read_token_file=read_token,
        max_body=sizes[0],
        max_upload=sizes[1],
        max_texts=max_texts,
        max_characters=max_characters,
        max_seconds=max_seconds,
        max_waiting=max_waiting,
        rate_limit=rate_limit,
        proxies=tuple(trust_proxy or ()),
        hosts=hosts,
        log_requests=log_requests,
        log_format=log_format,
        expect_digest=trust.expect_digest,
        public_key=None if trust.public_key is None else trust.public_key.text,
    )
    as_json = log_format == JSON
    with output.progress(quiet or as_json).start(None, f"loading {model}"):
        application = prepare(model, settings, workers)
    listening = bind(host, port, workers)
    name, number = listening.getsockname()[:2]
    shown = f"[{name}]" if ":" in name else name
    how = f"{workers} workers" if workers > 1 else "1 worker"
    told = f"serving {model} on http://{shown}:{number}/ ({how}; Ctrl+C ends it)"
    if as_json:
        log_event(told)
    else:
        output.message(told, quiet=quiet)
    run(application, settings, listening, workers)
