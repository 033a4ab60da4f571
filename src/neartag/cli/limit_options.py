"""Limits on what files may unpack to: options that every command which reads data shares."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import typer

from neartag.cli.option_groups import Option, add_group
from neartag.data.read_limits import DEFAULTS, OPTION_NAMES, hold_limits

_HELP = {
    "max_line": ("SIZE", "Longest line of a text file."),
    "max_ratio": ("NUMBER", "How many times its size a compressed file may unpack to, beyond 256 MB."),
    "max_unpacked": ("SIZE", "What a compressed file or an archive may unpack to."),
    "max_members": ("NUMBER", "Most files of an archive."),
}
OPTIONS: tuple[Option, ...] = tuple(
    (
        name,
        str | None,
        None,
        typer.Option(
            f"--{name.replace('_', '-')}",
            metavar=_HELP[name][0],
            help=f"{_HELP[name][1]}  [default: {DEFAULTS[variable]}, or ${variable}]",
        ),
    )
    for variable, name in OPTION_NAMES.items()
)


def with_limits(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with options for the limits, which hold while it runs."""

    @functools.wraps(command)
    def run(*arguments: Any, limits: dict[str, str | None], **given: Any) -> None:
        with hold_limits(limits):
            command(*arguments, **given)

    return add_group(run, "limits", OPTIONS, dict)
