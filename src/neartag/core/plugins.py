"""What can be chosen by name: plug-ins of neartag, one file each, and plug-ins of other distributions.

A built-in plug-in is a module of one package of neartag that has a certain name at its top level, such as `ENCODER`.
Another distribution registers its plug-in as an entry point, in its pyproject.toml:

    [project.entry-points."neartag.encoders"]
    toy = "toy_encoder:ToyEncoder"

Nothing else has to name a plug-in: there is no table to add it to.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from neartag.core.errors import NeartagError, ParameterError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


@dataclass(frozen=True)
class Plugins(Generic[T]):
    """The plug-ins of one kind.

    A built-in plug-in always wins over an entry point of the same name: installing a package changes no model.
    """

    what: str  # what errors call a plug-in: "encoder"
    package: str  # whose modules may be built-in plug-ins
    attribute: str  # the name that such a module has at its top level
    group: str  # of the entry points
    name_of: Callable[[T], str]
    check: Callable[[Any], None]  # raises NeartagError, TypeError or ValueError for an object that is no plug-in
    elsewhere: tuple[str, ...] = ()  # modules outside the package that have a built-in plug-in too
    place_of: Callable[[T], int] | None = None  # where a built-in one stands in lists; None: in the order of the files

    def get(self, name: str) -> T:
        """Return the plug-in of this name; ParameterError lists the names that there are."""
        for plugin in builtin_plugins(self.package, self.attribute, self.elsewhere, likely=name):
            if self.name_of(plugin) == name:
                return plugin
        points = entry_points(self.group)
        if name in points:
            return self._load(*points[name])
        raise ParameterError(f"there is no {self.what} {name!r}: choose one of {', '.join(self.names())}")

    def names(self) -> list[str]:
        """Return the names of all plug-ins, those of neartag first; no other distribution's code is imported."""
        builtin = self.builtin()
        return [*builtin, *sorted(set(entry_points(self.group)) - set(builtin))]

    def all(self) -> dict[str, T]:
        """Return all plug-ins by name, those of neartag first; one that cannot be loaded is left out with a warning."""
        plugins = self.builtin()
        for name, points in sorted(entry_points(self.group).items()):
            if name in plugins:
                continue
            try:
                plugins[name] = self._load(*points)
            except NeartagError as error:
                warnings.warn(str(error), UserWarning, stacklevel=2)
        return plugins

    def builtin(self) -> dict[str, T]:
        """Return neartag's own plug-ins by name, in their order."""
        plugins = list(builtin_plugins(self.package, self.attribute, self.elsewhere))
        if self.place_of is not None:
            plugins.sort(key=self.place_of)
        return {self.name_of(plugin): plugin for plugin in plugins}

    def _load(self, point: EntryPoint, *others: EntryPoint) -> T:
        """Return what an entry point stands for; NeartagError says whose it is and what is wrong with it.

        `others` have the same name, which is wrong too.
        """
        if others:
            owners = " and ".join(_distribution(each) for each in (point, *others))
            raise NeartagError(f"{owners} both have {_article(self.what)} {point.name!r}: remove one of the packages")
        whose = f"the {self.what} {point.name!r} of {_distribution(point)}"
        try:
            plugin = point.load()
            if isinstance(plugin, ModuleType):
                plugin = getattr(plugin, self.attribute)
            self.check(plugin)
            name = self.name_of(plugin)
        except (Exception, SystemExit) as error:  # anything can go wrong in another package's code
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise NeartagError(f"{whose} cannot be used ({reason}): update or remove that package") from error
        if name != point.name:
            raise NeartagError(f"{whose} calls itself {name!r}: the entry point must have the same name")
        return plugin


def builtin_plugins(
    package: str, attribute: str, elsewhere: tuple[str, ...] = (), *, likely: str = ""
) -> Iterator[Any]:
    """Yield what the modules of a package, in the order of their names, and then some others have as this attribute.

    A module is imported only when its turn comes. With `likely`, the module of this name comes first, then the others
    outside the package: whoever looks for one plug-in rarely imports the rest.
    """
    path = importlib.import_module(package).__path__
    modules = [*(f"{package}.{name}" for name in sorted(each.name for each in pkgutil.iter_modules(path))), *elsewhere]
    if likely:
        modules.sort(key=lambda module: (module != f"{package}.{likely}", module not in elsewhere))
    for module in modules:
        plugin = getattr(importlib.import_module(module), attribute, None)
        if plugin is not None:
            yield plugin


def entry_points(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group by name: one each, unless packages clash."""
    return _entry_points(group, tuple(sys.path))


@cache
def _entry_points(group: str, path: tuple[str, ...]) -> dict[str, tuple[EntryPoint, ...]]:
    from importlib import metadata  # here, since it takes long to import

    by_name: dict[str, tuple[EntryPoint, ...]] = {}
    for point in metadata.entry_points(group=group):
        by_name[point.name] = (*by_name.get(point.name, ()), point)
    return by_name


def _distribution(point: EntryPoint) -> str:
    return f"the package {point.dist.name!r}" if point.dist is not None else "another package"


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
