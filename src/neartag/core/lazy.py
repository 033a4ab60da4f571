"""Public names of a package that are imported only when someone uses them (PEP 562).

`neartag --help` must answer before numpy is imported, so packages cannot import all that they offer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], modules: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package.

    `homes` says in which module below the package each name stands; `modules` are modules that are names themselves.
    """

    def get_name(name: str) -> Any:
        """Import a public name when it is first used."""
        if name in homes:
            return getattr(import_module(f"{package}.{homes[name]}"), name)
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def list_names() -> list[str]:
        """List the public names before they are imported."""
        return sorted({*vars(sys.modules[package]), *homes, *modules})

    return get_name, list_names
