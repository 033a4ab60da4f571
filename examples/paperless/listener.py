"""A connector that stays: it has the model in memory, and is told by the post-consume script which document has come.

To start Python and load a model takes far longer than to tag a document. The script that paperless runs only hands the
document's number to this process, through a socket that only its owner may open: a file, so no port is open to anybody.
"""

from __future__ import annotations

import os
import socketserver
import stat
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

from paperless_api import PaperlessError

SECONDS = 30.0  # until a request must be whole
MAX_DIGITS = 18  # of a document's number

Answer = Callable[[int], str]  # what to say of a document, by its number; PaperlessError where it cannot be tagged


def listen(path: str, answer: Answer) -> None:
    """Answer until the process is stopped, one document after another."""
    server = _make_server(path, answer)
    print(f"listening at {path}; stop with Ctrl-C", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
        os.unlink(path)


def _make_server(path: str, answer: Answer) -> socketserver.BaseServer:
    """Return a server at a socket that only this user may open; one that nobody listens at any more is replaced."""
    if not hasattr(socketserver, "UnixStreamServer"):
        raise PaperlessError("this system has no sockets that are files: give post_consume.sh a server instead")
    if os.path.exists(path):
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            raise PaperlessError(f"{path} is there, and is no socket: name another place")
        os.unlink(path)
    before = os.umask(0o177)
    try:
        return socketserver.UnixStreamServer(path, _make_handler(answer))
    except OSError as error:
        raise PaperlessError(f"no socket can be made at {path}: {error.strerror or error}") from error
    finally:
        os.umask(before)


def _make_handler(answer: Answer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = SECONDS

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            number = self.rfile.read(int(length)).decode("ascii", "replace") if _is_number(length, 2) else ""
            if not _is_number(number, MAX_DIGITS):
                return self._reply(400, "error: the body must be a document's number")
            try:
                self._reply(200, answer(int(number)))
            except Exception as error:  # one document that fails must not end the others' connector
                self._reply(502, f"error: {error}")

        def log_message(self, *about: object) -> None:
            """Say nothing: what was done is in the answer, which paperless logs."""

        def _reply(self, status: int, text: str) -> None:
            content = f"{text}\n".encode(errors="replace")
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler


def _is_number(text: str, digits: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= digits
