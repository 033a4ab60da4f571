"""What the server writes to standard error: lines for people, or a JSON object each. Never a text, label or query."""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
import uuid
from collections.abc import Mapping
from datetime import datetime, timezone
from types import TracebackType
from typing import Any

TEXT, JSON = "text", "json"
REQUEST_ID_HEADER, CHANGE_ID_HEADER = b"x-request-id", b"idempotency-key"
ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:-]{0,127}")
ID_IN_WORDS = "1 to 128 letters, digits and signs of . _ ~ : - beginning with a letter or digit"


def find_request_id(headers: Mapping[bytes, bytes]) -> tuple[str, bool]:
    """Return the id that the client or a proxy gave the request, or a new one; and whether one was given in vain."""
    given = headers.get(CHANGE_ID_HEADER, headers.get(REQUEST_ID_HEADER, b"")).decode("latin-1").strip()
    if len(given) > 1 and given[0] == given[-1] == '"':  # the draft of Idempotency-Key has it in quotes
        given = given[1:-1]
    return (given, False) if ID_PATTERN.fullmatch(given) else (uuid.uuid4().hex, bool(given))


def log_request(style: str, /, **told: Any) -> None:
    """Write a line to standard error, whole: several workers share it."""
    told = {"time": _now(), **told}
    line = json.dumps(told) if style == JSON else " ".join(f"{name}={value}" for name, value in told.items())
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def log_event(message: str) -> None:
    """Write a line that is no error, as JSON."""
    log_request(JSON, level="info", logger="neartag.serve", message=message)


def make_config(style: str) -> dict[str, Any]:
    """Return the configuration of Python's logging for the server and its workers."""
    name = "JsonFormatter" if style == JSON else "TextFormatter"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": f"{__name__}.{name}"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
    }


class TextFormatter(logging.Formatter):
    """A line for each record; of an exception its type and place, not what it says: that may quote a text."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as lines."""
        lines = [f"time={_now()} level={record.levelname.lower()} logger={record.name} {_message(record)}"]
        return "\n".join([*lines, *_frames(record)])


class JsonFormatter(logging.Formatter):
    """A JSON object for each record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        told = {"time": _now(), "level": record.levelname.lower(), "logger": record.name, "message": _message(record)}
        frames = _frames(record)
        return json.dumps({**told, "traceback": frames} if frames else told)


def _message(record: logging.LogRecord) -> str:
    if record.name == "asyncio" and record.exc_info:
        return record.getMessage().partition("\n")[0]  # what follows shows objects
    return record.getMessage()


def _frames(record: logging.LogRecord) -> list[str]:
    if not record.exc_info or record.exc_info[0] is None:
        return []
    kind, trace = record.exc_info[0], record.exc_info[2]
    return [f"{kind.__module__}.{kind.__qualname__}", *_places(trace)]


def _places(trace: TracebackType | None) -> list[str]:
    return [f"  {each.filename}:{each.lineno} {each.name}" for each in traceback.extract_tb(trace)]


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
