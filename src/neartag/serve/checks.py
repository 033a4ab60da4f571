"""What several paths do with a request: read its body, hold its texts against the limits, work in a thread."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, TypeVar

from fastapi import Request

from neartag.serve import schemas
from neartag.serve.errors import Refusal
from neartag.serve.settings import Settings

Body = TypeVar("Body", bound=schemas.RequestBody)


async def read_body(request: Request, schema: type[Body]) -> Body:
    """Return the request's body; pydantic reads the JSON directly, without Python objects in between."""
    content = await request.body()
    asked = schema.model_validate_json(content)
    json.loads(content, object_pairs_hook=_refuse_repeated)  # pydantic takes the last of them
    return asked


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
    """Refuse an object that has a key twice: two programs may read it in two ways."""
    if len({name for name, _ in pairs}) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for place, name in enumerate(names) if name in names[:place])
        raise Refusal(422, f"the request cannot be used: the field {repeated[:100]!r} is given twice")


async def run_in(executor: Executor, work: Callable[..., Any], *arguments: Any) -> Any:
    """Return what work gives, done in a thread."""
    return await asyncio.get_running_loop().run_in_executor(executor, partial(work, *arguments))


def check_texts(settings: Settings, texts: Sequence[str], what: str = "texts") -> None:
    """Raise Refusal where there are too many texts, or one is too long."""
    check_count(settings, texts, what)
    most = settings.max_characters
    for number, text in enumerate(texts):
        if len(text) > most:
            where = f"text {number} of {what}" if len(texts) > 1 else "the text"
            raise Refusal(422, f"{where} has {len(text)} characters, more than {most}: send a part of it")


def check_count(settings: Settings, items: Sequence[Any], what: str) -> None:
    """Raise Refusal where there are too many items."""
    most = settings.max_texts
    if len(items) > most:
        raise Refusal(422, f"{what}: {len(items)} at once are more than {most}: send them in parts")
