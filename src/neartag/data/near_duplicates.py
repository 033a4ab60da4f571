"""Labels that differ only in how they are written, such as PID and pid: probably one label."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

MAX_SHOWN = 5  # groups of labels alike
DROPPED = {"Zs", "Pd", "Pc"}  # blanks, dashes and underscores; "C", "C++" and "C#" are not the same
DROPPED_SIGNS = frozenset(".,'’")


def fold(label: str) -> str:
    """Return what is left of a label without case, width, blanks, dashes, underscores, full stops, commas, apostrophes.

    >>> fold("Web-Server"), fold("web server")
    ('webserver', 'webserver')
    """
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold())
    kept = [each for each in text if each not in DROPPED_SIGNS and unicodedata.category(each) not in DROPPED]
    return "".join(kept) or text


def find_near_duplicates(labels: Iterable[str]) -> list[list[str]]:
    """Return groups of labels that differ only in case or punctuation, each sorted, in order of their first labels.

    >>> find_near_duplicates(["pid", "drift", "PID"])
    [['PID', 'pid']]
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(fold(label), []).append(label)
    return sorted(sorted(group) for group in groups.values() if len(group) > 1)


def describe_near_duplicates(groups: Sequence[Sequence[str]], model: str = "MODEL") -> str:
    """Return in a line which labels are alike, and the command that makes two one."""
    shown = "; ".join(", ".join(map(repr, group)) for group in groups[:MAX_SHOWN])
    more = f" and {len(groups) - MAX_SHOWN:,} more" if len(groups) > MAX_SHOWN else ""
    return (
        f"labels that differ only in case or punctuation: {shown}{more}; to make two one: "
        f"neartag labels {model} --merge FROM INTO"
    )
