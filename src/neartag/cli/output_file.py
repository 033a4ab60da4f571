"""The file that a command writes its answers to: one rule for all commands, checked before any work."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from neartag.core.errors import ParameterError

Overwrite = Annotated[bool, typer.Option("--overwrite", help="With -o: replace FILE if it is there already.")]


def check_output(target: str | None, source: str, model: str, overwrite: bool, option: str = "--output") -> None:
    """Raise ParameterError where the output is a file that is read here, or that is there and must stay.

    `option` is what the person gave the target by.
    """
    if target is None:
        return
    place = Path(os.path.realpath(target))
    if place == Path(os.path.realpath(source)) or Path(os.path.realpath(model)) in place.parents:
        raise ParameterError(f"{option} {target} would replace a file that is read here: name another")
    if place.is_dir():
        raise ParameterError(f"{option} {target} is a folder: name a file")
    if place.is_file() and not overwrite:  # a device or a pipe is written to, not replaced
        raise ParameterError(
            f"{option} {target} is there already: give --overwrite to replace it, or name another file"
        )
    if not place.parent.is_dir():
        raise ParameterError(f"{option} {target}: there is no folder {place.parent}: make it first")
