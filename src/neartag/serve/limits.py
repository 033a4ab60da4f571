"""The limits of every request: who may send it, how large it may be, how long it may take, how many there may be.

It is plain ASGI, since it runs for each request. It also counts requests, and adds the headers that all answers have.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

from neartag.serve.access import READ, WRITE, Access, Token
from neartag.serve.clients import RateLimit, find_client
from neartag.serve.errors import Refusal, json_response
from neartag.serve.logs import CHANGE_ID_HEADER, ID_IN_WORDS, REQUEST_ID_HEADER, find_request_id, log_request
from neartag.serve.metrics import Metrics
from neartag.serve.page_files import FOLDER
from neartag.serve.settings import Settings

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

RETRY_AFTER = "1"  # seconds, as the header has them
# Of a body that is too large, so many bytes are read and dropped: a client that is still sending would not hear why.
MAX_DROPPED_BYTES = 2**25
# Bodies that one worker holds at once; small ones are always taken, so that large ones cannot keep them out.
MAX_HELD_BYTES, SMALL_BODY_BYTES = 2**28, 2**16
OTHER_PATH = "other"  # stands for all paths that do not exist: anybody can make up many
FILE_PATHS = ("/tag-file", "/review-file")  # whose bodies are files
SLOW_PATHS = (*FILE_PATHS, "/review", "/doubts")  # they get more time
SLOW_FACTOR = 6  # times the seconds of other requests
MAX_SLOW_AT_ONCE = 4  # of one worker: each may hold a large body
ALWAYS_ANSWERED = ("/health", "/metrics")  # however busy the server is
CHANGE_PATHS = ("/add", "/forget")
CHANGE = "/changes/{id}"  # what became of a change
# A change that was begun before its time was over is waited for: its client is to hear what became of it.
CHANGE_GRACE_SECONDS = 30.0
UNCOUNTED_PATHS = ("/", f"/{FOLDER}", "/docs", "/openapi.json", "/favicon.ico", "/health")  # whatever the rate limit is
OPEN_PATHS = (*UNCOUNTED_PATHS, OTHER_PATH)  # they need no token even where reading does; /health says little then
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
PRIVATE_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]


@dataclass
class RequestFacts:
    """What is known of a request beside its body, in its scope."""

    request_id: str
    deadline: float  # of time.monotonic
    token: Token | None = None

    @property
    def who(self) -> str:
        """The name of its token, "" where it has none."""
        return "" if self.token is None else self.token.name


class LimitsMiddleware:
    """Lets requests within the limits through, and refuses the others with a clear answer."""

    def __init__(
        self, app: Application, settings: Settings, access: Access, metrics: Metrics, paths: Collection[str]
    ) -> None:
        self.app, self.settings, self.access, self.metrics, self.paths = app, settings, access, metrics, paths
        self._rate = None if settings.rate_limit is None else RateLimit(settings.rate_limit)
        self._working = 0  # requests under way that are whole
        self._slow = 0  # slow ones among them
        self._held = _HeldBytes()
        self._hosts = frozenset(name.lower().encode("latin-1", "replace") for name in settings.hosts)
        self._headers = [*HEADERS, (b"x-neartag-pid", str(os.getpid()).encode())]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = time.perf_counter()
        path = _path_name(scope["path"], self.paths)
        headers = {name: value for name, value in scope["headers"] if name in _HEADERS_READ}
        request_id, in_vain = find_request_id(headers)
        facts = scope["neartag"] = RequestFacts(request_id, time.monotonic() + self.settings.max_seconds)
        answer = _Answer(send, [*self._headers, (REQUEST_ID_HEADER, request_id.encode())])
        self.metrics.under_way += 1
        try:
            _check_headers(scope["headers"])
            if self._hosts and _host(headers.get(b"host", b"")) not in self._hosts:
                other = "the server does not answer for this host name: start it with --allow-host to allow it"
                raise Refusal(421, other)
            if in_vain and path in CHANGE_PATHS:  # its client would ask after it by this id
                raise Refusal(422, f"the id of the request must be {ID_IN_WORDS}")
            await self._admit(scope, receive, answer, path, headers)
        except Refusal as refusal:
            if answer.status:  # the answer has begun: the connection is closed instead
                raise
            await json_response({"error": refusal.detail}, refusal.status_code, refusal.headers)(scope, receive, answer)
        finally:
            self.metrics.under_way -= 1
            seconds = time.perf_counter() - begun
            status = answer.status or 500
            self.metrics.count_answer(path, status, seconds)
            if self.settings.log_requests:
                told = {"method": _method(scope["method"]), "path": path, "status": status}
                took = {"ms": round(1000 * seconds, 1), "id": request_id, **({"who": facts.who} if facts.who else {})}
                log_request(self.settings.log_format, **told, **took)

    async def _admit(
        self, scope: Message, receive: Receive, answer: _Answer, path: str, headers: dict[bytes, bytes]
    ) -> None:
        if path in ALWAYS_ANSWERED:
            self._authorise(scope, headers, path)
            await self.app(scope, receive, answer)
            return
        is_file = path in FILE_PATHS
        body = _Body(receive, self.settings.max_upload if is_file else self.settings.max_body, is_file, self._held)
        most = self.settings.max_seconds * (SLOW_FACTOR if path in SLOW_PATHS else 1)
        grace = CHANGE_GRACE_SECONDS if path in CHANGE_PATHS else 0.0
        try:
            await asyncio.wait_for(self._answer(scope, body, answer, headers, path, most), most + grace)
        except asyncio.TimeoutError:
            seconds = f"{most:g} seconds"
            if not body.whole:
                raise Refusal(408, f"the body did not come within {seconds}: send it again", CLOSE_HEADERS) from None
            late = f"it took longer than {seconds}: try again, with less at once"
            if path in CHANGE_PATHS:
                name = scope["neartag"].request_id
                late = f"the change takes long: GET /changes/{name} tells whether it was made; sent again with the "
                late += "same id it is made once"
            raise Refusal(503, late, {"Retry-After": RETRY_AFTER}) from None
        finally:
            self._held.bytes -= body.size

    async def _answer(
        self, scope: Message, body: _Body, answer: _Answer, headers: dict[bytes, bytes], path: str, seconds: float
    ) -> None:
        if scope["method"] == "POST" and scope["path"] in self.paths:
            await asyncio.wait_for(body.read(headers), seconds)
            # A browser sends these to another site only after it has asked for permission, which it never gets here.
            name, wanted = ("a file", FILE_TYPE) if path in FILE_PATHS else ("JSON", JSON_TYPE)
            if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != wanted.encode():
                raise Refusal(415, f"the body must be {name}, with the header Content-Type: {wanted}")
        else:
            body.whole = True  # nobody reads it
        self._authorise(scope, headers, path)
        slow = path in SLOW_PATHS
        for count, most, what in (
            (self._working, self.settings.max_waiting, "requests"),
            (self._slow if slow else 0, MAX_SLOW_AT_ONCE, "files and reviews"),
        ):
            if count >= most:
                busy = f"{most} {what} are under way already: try again in a moment"
                raise Refusal(503, busy, {"Retry-After": RETRY_AFTER})
        self._working += 1
        self._slow += slow
        try:
            await self.app(scope, body.receive, answer)
        finally:
            self._working -= 1
            self._slow -= slow

    def _authorise(self, scope: Message, headers: dict[bytes, bytes], path: str) -> None:
        """Refuse clients that send too much, or may not do this; a body is read before, or they would not hear it."""
        if self._rate is not None and path not in UNCOUNTED_PATHS:
            peer = (scope.get("client") or ("",))[0]
            wait = self._rate.count(find_client(peer, headers.get(b"x-forwarded-for", b""), self.settings.proxies))
            if wait:
                often = f"more than {self.settings.rate_limit:g} requests a second: try again in {wait} seconds"
                raise Refusal(429, often, {"Retry-After": str(wait)})
        role = WRITE if path in (*CHANGE_PATHS, CHANGE) else None if path in OPEN_PATHS else READ
        scope["neartag"].token = self.access.authorise(headers.get(b"authorization", b""), role)


def _check_headers(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse what two programs could read in two ways, and what nobody here reads."""
    seen = [(name, value) for name, value in headers if name in (*_ONCE, b"content-encoding")]
    for once in _ONCE:
        if sum(name == once for name, _ in seen) > 1:
            raise Refusal(400, f"the request has several {once.decode().title()} headers: send one")
    if any(name == b"content-encoding" and value.lower() != b"identity" for name, value in seen):
        raise Refusal(415, "the body is compressed: send it as it is, without the header Content-Encoding")


_ONCE = (b"host", b"authorization", REQUEST_ID_HEADER, CHANGE_ID_HEADER)
_HEADERS_READ = (
    *(b"host", b"content-type", b"content-length", b"authorization", b"x-forwarded-for"),
    *(REQUEST_ID_HEADER, CHANGE_ID_HEADER),
)
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
JSON_TYPE, FILE_TYPE = "application/json", "application/octet-stream"
CLOSE_HEADERS = {"Connection": "close"}


class _HeldBytes:
    """How many bytes of bodies a worker holds at once."""

    bytes = 0


class _Body:
    """A request's body, read whole before anything looks at it."""

    def __init__(self, receive: Receive, most: int, is_file: bool, held: _HeldBytes) -> None:
        self._receive, self._most, self._held = receive, most, held
        self.size = 0  # bytes that are held
        self._option = "--max-upload" if is_file else "--max-body"
        self._content: bytes | None = None
        self.whole = False

    async def read(self, headers: dict[bytes, bytes]) -> None:
        """Read all of it, or refuse it."""
        told = headers.get(b"content-length", b"0")
        size, pieces, dropping = 0, [], told.isdigit() and int(told) > self._most
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Refusal(400, "the connection ended before the body did")
            piece = message.get("body", b"")
            size += len(piece)
            dropping = dropping or size > self._most
            if not dropping:
                pieces.append(piece)
                self.size += len(piece)
                self._held.bytes += len(piece)
                if self._held.bytes > MAX_HELD_BYTES and self.size > SMALL_BODY_BYTES:
                    busy = "too many large bodies are under way: try again in a moment"
                    raise Refusal(503, busy, {"Retry-After": RETRY_AFTER, **CLOSE_HEADERS})
            if not message.get("more_body", False):
                self.whole = True
            elif not dropping or size <= MAX_DROPPED_BYTES:
                continue
            break
        if dropping:
            why = f"the body is larger than {self._most} bytes: send less at once, or raise {self._option}"
            raise Refusal(413, why, None if self.whole else CLOSE_HEADERS)
        self._content = b"".join(pieces)

    async def receive(self) -> Message:
        """Return the body once, and then whatever comes."""
        if self._content is None:
            return await self._receive()
        content, self._content = self._content, None
        return {"type": "http.request", "body": content, "more_body": False}


class _Answer:
    """Passes an answer on with the headers that all have, and remembers its status."""

    def __init__(self, send: Send, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self._send, self._headers = send, headers
        self.status = 0

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = message.get("headers", [])
            private = [] if any(name == b"content-security-policy" for name, _ in own) else PRIVATE_HEADERS
            message["headers"] = [*own, *self._headers, *private]
        await self._send(message)


def _path_name(path: str, paths: Collection[str]) -> str:
    """Return the path as it is counted: the files of the page together, and all that do not exist together."""
    if path.startswith(CHANGE.partition("{")[0]):
        return CHANGE
    if path not in paths:
        return OTHER_PATH
    return f"/{FOLDER}" if path.startswith(f"/{FOLDER}/") else path


def _host(header: bytes) -> bytes:
    """Return the name in a Host header, without the port."""
    name = header.strip().lower()
    if name.startswith(b"["):
        return name.partition(b"]")[0][1:]
    return name.partition(b":")[0]


def _method(method: str) -> str:
    """Return a method as the log has it: anybody can make up others."""
    return method if method in METHODS else "other"
