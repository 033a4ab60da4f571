"""The entry of the command line: the list of commands, and how errors are reported.

A mistake that the user can correct is one line on standard error and exit status 2. Anything else is a bug in neartag
and keeps its traceback. Nothing heavy is imported here: `neartag --help` must answer at once.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
import warnings
from contextlib import suppress
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from neartag.cli.card import card
from neartag.cli.compare import compare
from neartag.cli.convert import convert
from neartag.cli.datasets import app as datasets
from neartag.cli.demo import demo
from neartag.cli.evaluate import evaluate
from neartag.cli.export import export
from neartag.cli.hub import pull, push
from neartag.cli.inspect import inspect
from neartag.cli.labels import labels
from neartag.cli.merge import merge
from neartag.cli.methods import methods
from neartag.cli.panels import PanelCommand
from neartag.cli.predict import predict
from neartag.cli.reproduce import reproduce
from neartag.cli.review import review
from neartag.cli.serve import serve
from neartag.cli.sign import new_key, sign
from neartag.cli.tag import explain, tag
from neartag.cli.train import train
from neartag.cli.tune import tune
from neartag.cli.update import add, forget
from neartag.cli.warm_up import warm_up
from neartag.core.errors import NeartagError
from neartag.core.interrupts import Terminated, end_orderly_when_terminated
from neartag.core.version import __version__

USER_ERROR = 2  # exit status
OBJECTS_BETWEEN_COLLECTIONS = 100_000
INTERRUPTED = 130  # exit status: 128 + SIGINT, as in shells
# Newer versions of typer have click inside, so its class is found through typer's own.
UsageError: Any = typer.BadParameter.__mro__[1]


class Commands(TyperGroup):
    """The group of commands; its `main` turns errors into one line and an exit status."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run the command that the arguments name, then exit."""
        extra["standalone_mode"] = False
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                status = super().main(*args, **extra)
                sys.stdout.flush()  # here, where a closed pipe can still be handled
            except UsageError as error:
                command = error.ctx.command_path if error.ctx is not None else "neartag"
                _fail(f"{error.format_message().rstrip('.')} (see {command} --help)")
            except NeartagError as error:
                _fail(str(error))
            except (KeyboardInterrupt, typer.Abort):
                status = INTERRUPTED
            except MemoryError as error:
                asked = f" ({error})" if str(error) else ""
                _fail(f"there is not enough memory{asked}: give less data, or use a machine that has more")
            except Terminated:
                print("terminated", file=sys.stderr)
                raise
            except OSError as error:
                if _is_closed_pipe(error):
                    _drop_output()
                    sys.exit(1)
                if error.errno is None:  # not from the system but from a library: a bug in neartag
                    raise
                if error.filename is None:  # neartag writes to one place without a name: standard output
                    _drop_output()
                _fail(f"{error.filename or 'standard output'}: {error.strerror}")
        if status == INTERRUPTED:  # newer versions of typer return this status themselves
            print("interrupted", file=sys.stderr)
        sys.exit(status if isinstance(status, int) else 0)


app = typer.Typer(
    cls=Commands,
    name="neartag",
    help="Extreme multi-label classification: the few right labels out of thousands or millions.",
    epilog="Start with: neartag demo",
    rich_markup_mode=None,  # plain help: to draw it would take longer than all the rest
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
for command in (
    demo,
    train,
    tune,
    tag,
    explain,
    add,
    forget,
    labels,
    review,
    predict,
    evaluate,
    inspect,
    card,
    push,
    pull,
    export,
    methods,
    compare,
    convert,
    merge,
    serve,
    sign,
    new_key,
    reproduce,
    warm_up,
):
    app.command(cls=getattr(command, "command_class", PanelCommand))(command)  # options of its own, where it has any
app.add_typer(datasets)


@app.callback()
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Answer calls without a command: --version, and the help."""
    if version:
        print(f"neartag {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


def run() -> None:
    """Run the command line on the program's arguments."""
    end_orderly_when_terminated()
    for stream in (sys.stdout, sys.stderr):
        _set_encoding(stream)
    # Importing libraries makes half a million objects that stay: looking through them for cycles again and again, and
    # once more at the end, would take a third of the time of a short command.
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    try:
        app(prog_name="neartag")
    finally:
        gc.freeze()


def _set_encoding(stream: Any) -> None:
    """Let a stream take every character: an escape in an old terminal is better than a crash.

    On Windows, files and pipes would get an old encoding and other line ends; they get what all systems write.
    """
    if hasattr(stream, "reconfigure"):
        plain = {"encoding": "utf-8", "newline": "\n"} if sys.platform == "win32" and not stream.isatty() else {}
        stream.reconfigure(errors="backslashreplace", **plain)


def _is_closed_pipe(error: OSError) -> bool:
    """Return whether nobody reads our output any more; Windows calls that an invalid argument."""
    invalid = sys.platform == "win32" and error.errno == errno.EINVAL and error.filename is None
    return isinstance(error, BrokenPipeError) or invalid


def _fail(text: str) -> NoReturn:
    line = " ".join(part.strip() for part in text.splitlines() if part.strip())
    print(f"error: {line}", file=sys.stderr, flush=True)
    sys.exit(USER_ERROR)


def _show_warning(message: Warning | str, *place: Any, **more: Any) -> None:
    print(f"warning: {message}", file=sys.stderr, flush=True)


def _drop_output() -> None:
    """Send what is still in the buffer nowhere, or Python would complain again when it exits."""
    with suppress(OSError, ValueError):  # a standard output that is no file needs nothing
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
