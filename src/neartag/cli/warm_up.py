"""`neartag warm-up`: compile all kernels ahead."""

from __future__ import annotations

from typing import Annotated

import typer

from neartag.cli import output
from neartag.cli.options import AsJson, Quiet


def warm_up(
    jobs: Annotated[int, typer.Option("--n-jobs", help="Processes at once; -1: one for each core.")] = -1,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compile everything ahead, so that the first command is as fast as the next.

    neartag compiles its numerical kernels when they are first used and keeps them on disk. This command compiles all of
    them: for an image of a container, or before a measurement. numba reads what is kept only where it may also write:
    if the package's folder is read-only later, set NUMBA_CACHE_DIR to another one, now and then.
    """
    from neartag.core import warm_up as kernels
    from neartag.core.threads import resolve_jobs
    from neartag.core.usage import Usage

    usage = Usage()
    progress = output.progress(quiet)
    with progress.start(len(kernels.kernel_modules()), "compiling kernels") as task:
        count = kernels.warm_up(resolve_jobs(jobs), lambda done, of: task.advance(1))
    seconds = usage.measure()["seconds"]
    if as_json:
        output.show_json({"kernels": count, "seconds": seconds})
    elif not quiet:
        print(f"{count} kernels are compiled and kept ({seconds:.0f} s)")
