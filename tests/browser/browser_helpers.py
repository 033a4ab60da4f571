"""A real server in a process of its own, and what went wrong in a page."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TOKEN = "a-token-for-tests"
PATIENCE = 60  # seconds, on a machine with much else to do
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"


@dataclass
class Server:
    """A running server."""

    url: str
    process: subprocess.Popen[bytes]

    def ask(self, path: str, body: Any = None) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
        content = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, content, headers), timeout=60) as answer:
            return json.load(answer)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)


@dataclass
class Noted:
    """What went wrong in a page; `expected` are parts of messages that a test brings about on purpose."""

    errors: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()

    def unexpected(self) -> list[str]:
        return [error for error in self.errors if not any(part in error for part in self.expected)]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def serving(folder: Path, *options: str, token: str | None = TOKEN, port: int | None = None) -> Iterator[Server]:
    """Serve a model folder until the block ends."""
    environment = {name: value for name, value in os.environ.items() if name != "NEARTAG_TOKEN"}
    if token is not None:
        environment["NEARTAG_TOKEN"] = token
    port = free_port() if port is None else port
    command = [sys.executable, "-m", "neartag", "serve", str(folder), "--port", str(port), *options]
    process = subprocess.Popen(command, env=environment)
    server = Server(f"http://127.0.0.1:{port}/", process)
    try:
        end = time.monotonic() + PATIENCE
        while True:
            assert process.poll() is None, f"the server ended with {process.returncode}"
            assert time.monotonic() < end, "the server does not answer"
            try:
                server.ask("health")
                break
            except OSError:
                time.sleep(0.1)
        yield server
    finally:
        if process.poll() is None:
            server.stop()
