"""`python -m neartag`: the command line."""

from neartag.cli.main import run

run()
