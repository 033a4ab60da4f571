"""Options that several commands share, added to a command as a group; the command gets them as one value.

Nothing heavy is imported here: `neartag --help` reads this file.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

# An option: its name, its type, its default, and typer's description of it.
Option = tuple[str, Any, Any, Any]


def add_group(
    command: Callable[..., None], argument: str, options: Sequence[Option], make: Callable[..., Any]
) -> Callable[..., None]:
    """Return the command with these options; it gets what `make` makes of them as its keyword `argument`."""
    own = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])
        for name, kind, default, option in options
    ]

    @functools.wraps(command)
    def run(*arguments: Any, **given: Any) -> None:
        value = make(**{name: given.pop(name) for name, *_ in options})
        command(*arguments, **given, **{argument: value})

    kept = [entry for entry in own.parameters.values() if entry.name != argument]
    rest = [entry for entry in kept if entry.kind is inspect.Parameter.VAR_KEYWORD]
    kept = [entry for entry in kept if entry.kind is not inspect.Parameter.VAR_KEYWORD]
    # typer reads both: the signature for order and defaults, the annotations for types.
    run.__signature__ = own.replace(parameters=[*kept, *added, *rest])  # type: ignore[attr-defined]
    run.__annotations__ = {entry.name: entry.annotation for entry in (*kept, *added)}
    return run
