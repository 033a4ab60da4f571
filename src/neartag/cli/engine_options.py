"""Options that say who does the work, and where it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from neartag.cli import output
from neartag.core.interrupts import Terminated
from neartag.work.engines import Engine

EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="Who does the work: threads of this process, processes of this computer, or dask: a cluster's workers.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="INTEGER", help="Processes to start.  [default: as many as there are cores]"),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS", help="Address of a Dask cluster's scheduler, such as tcp://host:8786."
    ),
]
WorkDir = Annotated[
    str | None,
    typer.Option(
        "--work-dir",
        metavar="FOLDER|URL",
        help="Keep finished work in this folder, so that the same command runs again where it stopped. All workers "
        "must see it: a path, or a URL such as s3://bucket/run.  [default: none with threads, otherwise the target's "
        "name with .work]",
    ),
]
KeepWork = Annotated[bool, typer.Option("--keep-work", help="Keep the work folder in the end.")]


@contextmanager
def say_how_to_resume(engine: Engine, target: str) -> Iterator[None]:
    """Say, where the block is interrupted, how to go on with what was done."""
    try:
        yield
    except (KeyboardInterrupt, Terminated):
        if engine.has_folder:
            folder = engine.folder_for(target)
            output.message(f"what was done so far is in {folder}: the same command runs again where it stopped")
        raise
