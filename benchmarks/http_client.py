"""A client of plain sockets, as the measurements of the server need it: one connection, opened again if lost."""

from __future__ import annotations

import asyncio
import json
import re
from typing import NamedTuple

TOKEN = "a-token-of-the-measurements"


class Answer(NamedTuple):
    status: int
    body: dict
    worker: int


class LostError(Exception):
    """A request whose answer did not come; the worker is the one that its connection had answers from, 0: none yet."""

    def __init__(self, why: str, worker: int) -> None:
        super().__init__(why)
        self.worker = worker


class Client:
    """Asks over one connection."""

    def __init__(self, port: int, seconds: float = 60.0) -> None:
        self._port, self._seconds = port, seconds
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.worker = 0

    async def ask(self, method: str, path: str, body: object = None, request: str = "") -> Answer:
        """Return the answer; LostError where there is none."""
        try:
            return await asyncio.wait_for(self._ask(method, path, body, request), self._seconds)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, asyncio.LimitOverrunError) as error:
            worker = self.worker
            self.close()
            raise LostError(type(error).__name__, worker) from error

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams, self.worker = None, 0

    async def _ask(self, method: str, path: str, body: object, request: str) -> Answer:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        content = b"" if body is None else json.dumps(body).encode()
        head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {TOKEN}"]
        head += [f"X-Request-Id: {request}"] if request else []
        head += ["Content-Type: application/json", f"Content-Length: {len(content)}"] if content else []
        writer.write("\r\n".join([*head, "", ""]).encode() + content)
        told = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", told, re.IGNORECASE)[1])
        text = await reader.readexactly(length)
        found = re.search(rb"x-neartag-pid: (\d+)", told, re.IGNORECASE)
        self.worker = int(found[1]) if found else 0
        is_json = re.search(rb"content-type: application/json", told, re.IGNORECASE)
        answer = Answer(int(told.split()[1]), json.loads(text) if is_json else {}, self.worker)
        if re.search(rb"connection: close", told, re.IGNORECASE):
            self.close()
        return answer


def percentile(values: list[float], share: float) -> float:
    """Return the value below which this share of them is; 0 of none."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0
