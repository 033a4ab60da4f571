"""What to tell a person when an optional dependency is missing."""

from __future__ import annotations


def install_hint(need: str, extra: str) -> str:
    """Return the line of an error: what is needed for what, and the command that installs it.

    The command for a clone stands there too: it works before neartag is on PyPI.

    >>> install_hint("drawing needs matplotlib", "plot")
    'drawing needs matplotlib: pip install "neartag[plot]", or in a clone of neartag pip install ".[plot]"'
    """
    return f'{need}: pip install "neartag[{extra}]", or in a clone of neartag pip install ".[{extra}]"'
