"""Requests that no client would send, to a real server: it answers or hangs up, never with a bug, and lives on."""

from __future__ import annotations

import ctypes
import http.client
import json
import os
import random
import select
import signal
import socket
import time
from pathlib import Path
from typing import Any, ClassVar

from torture.bench import PR_SET_PDEATHSIG
from torture.cases import BrokenPromiseError
from torture.models import make_smallest
from torture.mutations import mutate
from torture.seeds import make_seeds

TOKEN = "a-token-of-the-bench"
SECONDS = 20.0  # that an answer is waited for
PATIENCE = 0.2
HEALTH_EVERY = 50  # cases
VALUES: list[Any] = [None, True, -1, 0, 10**9, 1e308, "", "x" * 2000, "\ud800", "\x00", [], [[]], {}, {"a": 1}, "text"]
BODIES: dict[str, dict[str, Any]] = {
    "/tag": {"text": "fresh bread", "k": 3},
    "/explain": {"text": "fresh bread", "k": 2, "voters": 2},
    "/map": {"text": "fresh bread"},
    "/review": {"texts": ["bread", "sky"], "n": 1},
    "/doubts": {"n": 2},
    "/add": {"documents": [{"text": "warm bread", "labels": ["cuisine"], "id": "x"}], "replace": True},
    "/forget": {"ids": ["nobody"]},
}
GETS = (
    "/",
    "/health",
    "/metrics",
    "/labels",
    "/labels?q=c&limit=1",
    "/documents?limit=2",
    "/docs",
    "/openapi.json",
    "/none",
)
UPLOADS = ("docs.csv", "docs.jsonl", "docs.xlsx", "docs.parquet", "docs.tsv")


class Protocol:
    """One connection, one odd request; or some after each other."""

    name: ClassVar[str] = "protocol"
    share: ClassVar[float] = 2.0
    seconds: ClassVar[float] = 10.0

    def prepare(self, folder: Path, seed: int) -> None:
        """Save the model; the server starts with the first case."""
        self.folder, self.server, self.port, self.last = folder / "model", 0, 0, b""
        make_smallest(self.folder)
        seeds = make_seeds()
        self.uploads = {name: seeds[name] for name in UPLOADS}

    def run(self, number: int, chance: random.Random) -> str:
        """Send a request, and look at the answer."""
        if not self.server:
            self._start()
        kind, self.last = self._make(chance)
        answer = self._send(self.last, chance)
        status = _read_status(answer)
        if status is not None and status >= 500 and status != 503:
            raise BrokenPromiseError(f"{kind}: answered with {answer[:300]!r}")
        if number % HEALTH_EVERY == 0 or not answer:
            self._check_alive()
        return f"{kind} {status or 'closed'}"

    def keep(self) -> dict[str, bytes]:
        """Return what was sent."""
        return {"request.bin": self.last}

    def _make(self, chance: random.Random) -> tuple[str, bytes]:
        """Return a request, and what kind of one it is."""
        kind = chance.choice(["json", "json", "upload", "get", "bytes"])
        if kind == "get":
            return kind, mutate(_request("GET", chance.choice(GETS), b"", chance), chance)
        if kind == "upload":
            name = chance.choice(sorted(self.uploads))
            path = f"/tag-file?name={name}&k={chance.choice([1, 3, -1, 10**9])}"
            return kind, _request("POST", path, mutate(self.uploads[name], chance), chance, "application/octet-stream")
        path = chance.choice(sorted(BODIES))
        body = json.loads(json.dumps(BODIES[path]))
        if kind == "json":
            _change(body, chance)
            text = json.dumps(body).encode()
            return kind, _request("POST", path, mutate(text, chance) if chance.random() < 0.3 else text, chance)
        return kind, mutate(_request("POST", path, json.dumps(body).encode(), chance), chance)

    def _send(self, content: bytes, chance: random.Random) -> bytes:
        """Send bytes, say that no more will come, and return all that is answered."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as connection:
            try:
                cut = chance.randrange(len(content) + 1) if chance.random() < 0.1 else len(content)
                connection.sendall(content[:cut])
                # A half request is waited for: say after a moment that no more will come.
                if not select.select([connection], [], [], PATIENCE)[0]:
                    connection.shutdown(socket.SHUT_WR)
                parts = []
                while part := connection.recv(65536):
                    parts.append(part)
                    if not select.select([connection], [], [], PATIENCE)[0]:  # answered, and kept open for more
                        connection.shutdown(socket.SHUT_WR)
            except (ConnectionResetError, BrokenPipeError):
                return b""
            except TimeoutError as error:
                raise BrokenPromiseError(f"no answer and no end within {SECONDS} s") from error
        return b"".join(parts)

    def _check_alive(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request("GET", "/health")
            told = json.loads(connection.getresponse().read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            gone = os.waitid(os.P_PID, self.server, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            if gone:
                os.waitpid(self.server, 0)
                self.server = 0
            raise BrokenPromiseError(f"the server {'died' if gone else 'does not answer'}: {error}") from error
        finally:
            connection.close()
        if not told["ok"]:
            raise BrokenPromiseError(f"the server is not well: {told}")

    def _start(self) -> None:
        """Start a server in a process of its own, which ends with this one."""
        from neartag.serve.run import bind, prepare, run
        from neartag.serve.settings import Settings

        listening = bind("127.0.0.1", 0, 1)
        self.port = listening.getsockname()[1]
        self.server = os.fork()
        if not self.server:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.environ["NEARTAG_TOKEN"] = TOKEN
            try:
                settings = Settings(hosts=("127.0.0.1",))
                run(prepare(f"{self.folder}", settings, 1), settings, listening, 1)
            finally:
                os._exit(0)
        listening.close()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                return self._check_alive()
            except BrokenPromiseError:
                time.sleep(0.1)
        raise BrokenPromiseError("the server does not start")


def _request(method: str, path: str, body: bytes, chance: random.Random, sort: str = "application/json") -> bytes:
    headers = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    if method == "POST":
        headers += [f"Content-Type: {sort}", f"Content-Length: {len(body)}"]
    if chance.random() < 0.5:
        headers.append(f"Authorization: Bearer {TOKEN}")
    odd = [
        "Connection: keep-alive",
        "Expect: 100-continue",
        "Transfer-Encoding: chunked",
        "Upgrade: h2c",
        "X: " + "y" * 9000,
    ]
    headers += chance.sample(odd, chance.choice([0, 0, 0, 1, 2]))
    return "\r\n".join([*headers, "", ""]).encode() + body


def _change(body: dict[str, Any], chance: random.Random) -> None:
    for _ in range(chance.choice([1, 1, 2, 3])):
        name = chance.choice([*body, "k", "threshold", "include", "fallback", "texts", "other"])
        body[name] = chance.choice(VALUES)


def _read_status(answer: bytes) -> int | None:
    """Return the last status in what was answered: 100 may stand before it."""
    if not answer:
        return None
    first = answer.split(b"\r\n", 1)[0].split()
    if len(first) < 2 or not first[0].startswith(b"HTTP/1.") or not first[1].isdigit():
        raise BrokenPromiseError(f"this is no answer: {answer[:200]!r}")
    return int(first[1])
