"""`python -m neartag.cli` is the same as `neartag`."""

from neartag.cli.main import run

run()
