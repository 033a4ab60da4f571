"""A line for each request: what was asked, how it ended, how long it took. Never a text, a label or a query."""

from __future__ import annotations

import re
import sys
import uuid
from datetime import datetime, timezone

REQUEST_ID_HEADER = b"x-request-id"
_ID_PATTERN = re.compile(rb"[A-Za-z0-9._-]{1,64}")


def find_request_id(headers: dict[bytes, bytes]) -> str:
    """Return the id that a proxy gave the request, or a new one."""
    given = headers.get(REQUEST_ID_HEADER, b"")
    return given.decode("ascii") if _ID_PATTERN.fullmatch(given) else uuid.uuid4().hex[:16]


def log_request(method: str, path: str, status: int, seconds: float, request_id: str) -> None:
    """Write a line to standard error, whole: several workers share it."""
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line = f"time={now} method={method} path={path} status={status} ms={1000 * seconds:.1f} id={request_id}\n"
    sys.stderr.write(line)
    sys.stderr.flush()
