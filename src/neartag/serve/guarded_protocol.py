"""Connections whose requests do not come: heads are bounded in time, size and number, and connections in number.

uvicorn bounds none of these. Whoever opens connections and sends half of a request would else keep them for ever, and
with them the file descriptors that honest clients need.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0  # from the first byte of a request, or the beginning of a connection, until its head is there
MAX_HEAD_BYTES = 64 * 2**10
MAX_HEADERS = 100
# Connections of one worker. Beyond that one whose request is not whole makes room for a new one: first of all those
# that have never sent a whole request, then those that have; of each the one that has waited longest.
MAX_CONNECTIONS = 1000
# File descriptors kept for everything else: the model's files, logs, uploads.
RESERVED_DESCRIPTORS = 100
DROPPED_ACCEPTS = "socket.accept() out of system resource"  # what asyncio says, once for each that waits

logger = logging.getLogger("neartag.serve")


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with limits on heads and connections."""

    # Of this worker: those whose request is not whole, the one that has waited longest first.
    _strangers: ClassVar[dict[GuardedProtocol, None]] = {}  # they have never sent one
    _idle: ClassVar[dict[GuardedProtocol, None]] = {}
    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _known = False

    def connection_made(self, transport: Any) -> None:
        """Wait for the first head; where there are too many connections, end the one that waits longest."""
        super().connection_made(transport)
        self._wait()
        self._start_timer()
        if len(self.connections) > max_connections():
            next(iter(self._strangers or self._idle)).cut()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in bytes: of a head only so many, and in so much time."""
        if self._has_no_request():
            self._head_bytes += len(data)
            self._start_timer()
        super().data_received(data)
        if not self._has_no_request():
            self._stop_timer()
            if not self.cycle.more_body:
                self._known = True
                self._stop_waiting()
        elif self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(431, f"the request's head is longer than {MAX_HEAD_BYTES} bytes")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count the headers; whatever is raised here ends the connection as a wrong request does."""
        super().on_header(name, value)
        if len(self.headers) > MAX_HEADERS:
            raise ValueError(f"more than {MAX_HEADERS} headers")

    def on_headers_complete(self) -> None:
        """Take the host of an absolute address for that of the Host header, as HTTP wants it."""
        if not self.url.startswith(b"/"):
            host = httptools.parse_url(self.url).host if self.url != b"*" else None
            if host is not None:
                self.headers[:] = [(b"host", host), *(each for each in self.headers if each[0] != b"host")]
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request; uvicorn ends a connection that stays idle."""
        super().on_response_complete()
        if self._has_no_request() and not self.transport.is_closing():
            self._wait()

    def send_400_response(self, msg: str) -> None:
        """Say what is wrong with a request that is no HTTP, as JSON like all other errors."""
        self._refuse(400, "the request is not HTTP as it must be, or has too many headers")

    def cut(self) -> None:
        """End a connection whose request did not come."""
        self._stop_waiting()
        self.transport.abort()

    def _refuse(self, status: int, why: str) -> None:
        self._stop_waiting()
        body = json.dumps({"error": why}).encode()
        head = f"HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(f"{head}connection: close\r\n\r\n".encode() + body)
        self.transport.close()

    def _has_no_request(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._head_bytes = 0
        (self._idle if self._known else self._strangers)[self] = None

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.cut)

    def _stop_waiting(self) -> None:
        self._strangers.pop(self, None)
        self._idle.pop(self, None)
        self._stop_timer()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def max_connections() -> int:
    """Return how many connections a worker may have: fewer than it may have files open."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if soft < 0 else max(1, min(MAX_CONNECTIONS, soft - RESERVED_DESCRIPTORS))


def allow_many_files() -> None:
    """Let this process and its workers open as many files as the system allows them."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + RESERVED_DESCRIPTORS
    if 0 <= soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard < 0 else min(wanted, hard), hard))


class AcceptErrors:
    """An exception handler of a loop: that no connection can be accepted is logged once a second at most."""

    def __init__(self) -> None:
        self._next = 0.0
        self._left_out = 0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log what went wrong in the loop."""
        if context.get("message") != DROPPED_ACCEPTS:
            loop.default_exception_handler(context)
            return
        now = time.monotonic()
        if now < self._next:
            self._left_out += 1
            return
        logger.error("no connection can be accepted: %s (%d more)", context.get("exception"), self._left_out)
        self._next, self._left_out = now + 1.0, 0
