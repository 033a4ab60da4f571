"""Every method the paper compares against, behind X1's interface: one folder each, with its record in `__init__.py`.

`shared` has what several of them need. A record is light; the numerical libraries are imported with a method's classes,
which stand in its `classifier.py`: `from neartag.comparators.leml import LEMLClassifier`.
"""

from __future__ import annotations

from neartag.core.method import Method
from neartag.core.plugins import builtin_plugins


def name_scalable() -> str:
    """Return the names of the methods that train on large data sets, to be named where another method cannot."""
    methods: list[Method] = list(builtin_plugins(__name__, "METHOD", ("neartag.x1.method",)))
    *names, last = [method.name for method in sorted(methods, key=lambda method: method.place) if method.scales]
    return f"{', '.join(names)} or {last}"
