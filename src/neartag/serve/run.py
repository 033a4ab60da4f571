"""Workers that share a port: how they are started, and how they end.

On Linux each worker listens for itself on the same port, and the system deals connections out evenly; where several
listen on one socket, whoever wakes first takes all that wait. Elsewhere they share the socket.
"""

from __future__ import annotations

import inspect
import os
import socket
import sys
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from neartag.core.errors import ParameterError
from neartag.serve.app import create_app
from neartag.serve.metrics import Metrics
from neartag.serve.served import Served
from neartag.serve.settings import HANDED_ON, Settings

APPLICATION = "neartag.serve.app:from_environment"
BACKLOG = 2048
KEEP_ALIVE = 30  # seconds until a connection on which nothing comes is closed
GRACE = 5  # seconds beyond a request's own time until those still under way at the end are given up
LOOPBACK = ("127.0.0.1", "::1", "localhost")
DEALT_OUT = sys.platform == "linux" and hasattr(socket, "SO_REUSEPORT")


def prepare(folder: str, settings: Settings, workers: int) -> Any:
    """Return the application: itself for one worker, and for several the name by which each of them makes its own.

    Raises where they could not start: they would be started again and again. Kernels are compiled here, once.
    """
    if workers == 1:
        return create_app(folder, settings)
    settings.token()
    Served(folder, Metrics()).warm_up()
    os.environ[HANDED_ON] = settings.hand_on(folder)
    return APPLICATION


def bind(host: str, port: int, workers: int) -> socket.socket:
    """Return a socket on the port, 0 being any that is free; ParameterError where it cannot be had."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        first = _bound(socket.socket(family), address)
        if workers == 1 or not DEALT_OUT:
            return first
        # Not shared from the beginning, for then another server on the port would not be noticed.
        with first:
            address = first.getsockname()
        return SharedPort(family, address)
    except (OSError, OverflowError) as error:
        raise ParameterError(f"cannot listen on {host} port {port}: {error}") from error


class SharedPort(socket.socket):
    """A socket that holds a port; sent to another process it becomes one of that process's own on the same port."""

    def __init__(self, family: int, address: Any) -> None:
        super().__init__(family)
        self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        _bound(self, address)

    def __reduce__(self) -> Any:
        return SharedPort, (int(self.family), self.getsockname())


def run(application: Any, settings: Settings, listening: socket.socket, workers: int) -> None:
    """Serve until told to end by SIGTERM or SIGINT; requests under way are answered first."""
    config = uvicorn.Config(
        application,
        factory=isinstance(application, str),
        workers=workers,
        backlog=BACKLOG,
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=int(settings.max_seconds) + GRACE,
        **_patience(),
    )
    with suppress(KeyboardInterrupt), listening:
        if workers == 1:
            uvicorn.Server(config).run(sockets=[listening])
        elif "target" in inspect.signature(Multiprocess).parameters:  # as long as uvicorn asked for it
            older: Any = Multiprocess
            older(config, target=uvicorn.Server(config).run, sockets=[listening]).run()
        else:
            Multiprocess(config, sockets=[listening]).run()


def _patience() -> dict[str, Any]:
    """Return for how long a worker may be too busy to say that it is alive, where that can be set."""
    name = "timeout_worker_healthcheck"
    return {name: 30} if name in inspect.signature(uvicorn.Config.__init__).parameters else {}


def _bound(made: socket.socket, address: Any) -> Any:
    try:
        if sys.platform != "win32":  # where it would allow two servers on one port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except BaseException:
        made.close()
        raise
    return made
