"""Workers that share a port: how they start, and how they end.

On Linux each worker has a socket of its own on the same port, and the system spreads connections evenly over them. On
one shared socket, the worker that wakes first takes all that wait; other systems offer only that.
"""

from __future__ import annotations

import inspect
import logging
import os
import socket
import sys
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from neartag.core.errors import ParameterError
from neartag.core.interrupts import Terminated
from neartag.serve.access import Access
from neartag.serve.app import create_app
from neartag.serve.clients import check_proxies
from neartag.serve.followed_model import FollowedModel
from neartag.serve.guarded_protocol import GuardedProtocol, allow_many_files
from neartag.serve.logs import make_config
from neartag.serve.metrics import Metrics
from neartag.serve.settings import SETTINGS_VARIABLE, Settings
from neartag.serve.shared_port import open_socket
from neartag.serve.supervisor import Supervisor

APPLICATION = "neartag.serve.app:from_environment"
BACKLOG = 2048  # connections that may wait to be accepted
KEEP_ALIVE_SECONDS = 30  # until an idle connection is closed
GRACE_SECONDS = 5  # at the end, requests under way get their own time and so much more
LOOPBACK = ("127.0.0.1", "::1", "localhost")
SHARES_PORTS = sys.platform == "linux" and hasattr(socket, "SO_REUSEPORT")


def prepare(folder: str, settings: Settings, workers: int) -> Any:
    """Return the application: itself for one worker; for several, the name of the function that makes each one's.

    It raises here what would stop a worker from starting, which would otherwise be started again and again. Kernels
    are compiled here, once.
    """
    if workers == 1:
        return create_app(folder, settings)
    Access.from_settings(settings)
    check_proxies(settings.proxies)
    FollowedModel(folder, Metrics(), settings.trust).warm_up()
    os.environ[SETTINGS_VARIABLE] = settings.to_text(folder)
    return APPLICATION


def bind(host: str, port: int, workers: int) -> socket.socket:
    """Return a socket on the port (0: any that is free); ParameterError where that is not possible."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        first = _bind(open_socket(family), address)
        if workers == 1 or not SHARES_PORTS:
            return first
        # Not shared from the beginning: another server on the port would not be noticed.
        with first:
            address = first.getsockname()
        shared = open_socket(family)
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        return _bind(shared, address)
    except (OSError, OverflowError) as error:
        raise ParameterError(f"cannot listen on {host} port {port}: {error}") from error


def run(application: Any, settings: Settings, listening: socket.socket, workers: int) -> None:
    """Serve until SIGTERM or SIGINT; requests under way are answered first."""
    allow_many_files()
    logging.captureWarnings(True)
    config = uvicorn.Config(
        application,
        factory=isinstance(application, str),
        workers=workers,
        backlog=BACKLOG,
        access_log=False,
        log_config=make_config(settings.log_format),
        log_level="error",  # a warning for each wrong request would let anybody fill the log
        server_header=False,
        proxy_headers=False,
        http=GuardedProtocol,
        ws="none",
        lifespan="on",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(settings.max_seconds) + GRACE_SECONDS,
    )
    with suppress(KeyboardInterrupt, Terminated), listening:  # uvicorn sends the signal once more when it has ended
        if workers == 1:
            uvicorn.Server(config).run(sockets=[listening])
        elif "target" in inspect.signature(Multiprocess).parameters:  # as long as uvicorn asked for it
            older: Any = Supervisor
            older(config, target=uvicorn.Server(config).run, sockets=[listening]).run()
        else:
            Supervisor(config, sockets=[listening]).run()


def _bind(made: socket.socket, address: Any) -> socket.socket:
    try:
        if sys.platform != "win32":  # where it would allow two servers on one port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except BaseException:
        made.close()
        raise
    return made
