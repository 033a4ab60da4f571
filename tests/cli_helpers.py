"""Runs of the command line, as the tests of all commands need them."""

from __future__ import annotations

import subprocess
import sys
from unittest import mock

from typer.testing import CliRunner

from neartag.cli.main import app
from neartag.core.progress import Lines

LONG = 600.0  # seconds


def make_runner():
    try:
        return CliRunner(mix_stderr=False)  # click before 8.2 mixes the two unless told
    except TypeError:
        return CliRunner()


def invoke(*arguments, input=None):
    # On a busy machine short work takes long, and would show its progress among what a test looks at.
    with mock.patch.dict(Lines.__init__.__kwdefaults__, delay=LONG):
        result = make_runner().invoke(app, [str(argument) for argument in arguments], input=input)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def succeed(*arguments, input=None):
    result = invoke(*arguments, input=input)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def fail(*arguments, input=None):
    """Return the one line that a failure prints."""
    result = invoke(*arguments, input=input)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr


def start(*arguments, **more):
    command = [sys.executable, "-m", "neartag.cli", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
