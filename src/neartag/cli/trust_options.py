"""What a model must show before a command uses it: options that every command with a model shares."""

from __future__ import annotations

from collections.abc import Callable

import typer

from neartag.cli.option_groups import Option, add_group
from neartag.storage.signing import Trust, make_trust

OPTIONS: tuple[Option, ...] = (
    (
        "expect_digest",
        str | None,
        None,
        typer.Option(
            "--expect-digest",
            metavar="DIGEST",
            help="Fail unless the model has this digest, or one that begins so; neartag inspect prints it.",
        ),
    ),
    (
        "require_signature",
        str | None,
        None,
        typer.Option(
            "--require-signature",
            metavar="PUBLIC_KEY",
            help="Fail unless the model is signed with the private half of the key in this file (neartag sign). "
            "Documents that were added later are not covered.",
        ),
    ),
)


def with_trust(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with options that say what its model must show; it gets them as its argument `trust`."""
    return add_group(command, "trust", OPTIONS, make_trust)


__all__ = ["Trust", "with_trust"]
