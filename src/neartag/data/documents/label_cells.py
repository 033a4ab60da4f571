"""Several labels in one cell: what separates them, and how a cell is split.

A separator is believed where the parts that it gives make new cells again and again, as labels do ("a,b", "b,c",
"a,c"), but not the halves of one name ("Paris, France"). `reuse` measures that. A comma or a blank may belong to a
name, so without clear reuse the separator must be given; a semicolon, a bar or a line break hardly ever does. A slash
or a plus mostly belongs to a name ("TCP/IP", "science/physics"): cells are never split there unless that is asked for,
and where they look like lists all the same, the separator must be given.
"""

from __future__ import annotations

import ast
import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from neartag.core.errors import DataError, ParameterError

NONE, LIST, ANGLE = "none", "list", "angle"
_STRONG = (";", "|", "\n")
_WEAK = ","
WEAKEST = ("/", "+")
_MIN_LISTS = 3  # different cells of several parts: fewer say nothing
_CLEAR_REUSE = 0.7  # of parts in other cells too: in lists of labels nearly all, in "city, country" about half
_MOVED = 0.3  # of the parts that recur, at other places in the cell: in lists many, in paths such as "a/b/c" hardly any
_SOME_REUSE = 0.4  # enough to doubt that a cell with blanks is one name
_RARE = 0.05  # of the cells: a second separator in so few stands inside labels
_CLOSING = {"[": "]", "{": "}", "(": ")"}
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_QUOTED_WORDS = re.compile(rf"(?:{_QUOTED.pattern})(?:\s+(?:{_QUOTED.pattern}))+")
_ANGLES = re.compile(r"(?:<[^<>]+>\s*)+")
_SETTLE = "--separator (in Python Fields(separator=…))"


def check_separator(separator: str) -> None:
    """Refuse a separator that stands for nothing."""
    if not separator:
        raise ParameterError("separator='': must be what stands between two labels of a cell, such as ';', or 'none'")


def split_cell(cell: str, separator: str) -> list[str]:
    """Return the labels in a cell, without blanks around them; empty ones are left out."""
    if separator == NONE:
        parts = [cell]
    elif separator == LIST:
        parts = _read_list(cell)
    elif separator == ANGLE:
        parts = re.findall("<([^<>]*)>", cell)
        if re.sub("<[^<>]*>", "", cell).strip():
            raise ValueError(f"the labels are {cell[:40]!r}, not <a><b>")
    else:
        parts = cell.split(separator)
    return [label for part in parts if (label := part.strip())]


def find_separator(cells: Iterable[str]) -> str:
    """Return what separates labels in these cells; DataError, without a file, where several answers are possible."""
    filled = [text for cell in cells if (text := cell.strip())]
    if not filled:
        return ";"
    if all(_is_list(text) for text in filled):
        return LIST
    if all(_ANGLES.fullmatch(text) for text in filled):
        return ANGLE
    counts = {mark: sum(mark in text for text in filled) for mark in (*_STRONG, _WEAK, " ")}
    strong = sorted((mark for mark in _STRONG if counts[mark]), key=lambda mark: -counts[mark])
    if strong:
        return _choose_strong(filled, counts, strong)
    if counts[_WEAK]:
        if reuse(filled, _WEAK) >= _CLEAR_REUSE:
            _refuse_mixed(filled, _WEAK, WEAKEST)
            return _WEAK
        raise _ambiguous(filled, _WEAK, "a comma may separate labels, or belong to them")
    for mark in WEAKEST:
        if looks_like_lists(filled, mark, _CLEAR_REUSE):
            name = {"/": "a slash", "+": "a plus"}[mark]
            raise _ambiguous(filled, mark, f"{name} may separate labels, or belong to them")
    if counts[" "] and _looks_like_words(filled):
        raise _ambiguous(filled, " ", "a blank may separate labels, or belong to them")
    return ";"  # none is there; the usual one, should it come later


def reuse(cells: Iterable[str], separator: str) -> float:
    """Return which share of the parts, in different cells of several parts, stands in another such cell too."""
    cells_of = defaultdict(set)
    several = []
    for parts in {frozenset(split_cell(cell, separator)) for cell in cells}:
        for part in parts:
            cells_of[part].add(parts)
        if len(parts) > 1:
            several.append(parts)
    total = sum(map(len, several))
    return sum(len(cells_of[part]) > 1 for parts in several for part in parts) / total if total else 0.0


def looks_like_lists(cells: Iterable[str], separator: str, min_reuse: float) -> bool:
    """Return whether most parts recur, and in more cells than there are parts, or at other places in the cell.

    The last part of a path, such as "science/physics", mostly stands in no other one, and each part at its own depth.
    """
    lists = {tuple(split_cell(cell, separator)) for cell in set(cells) if separator in cell}
    lists = {parts for parts in lists if len(parts) > 1}
    if len(lists) < _MIN_LISTS or reuse(cells, separator) < min_reuse:
        return False
    places, uses = defaultdict(set), Counter(part for parts in lists for part in parts)
    for parts in lists:
        for place, part in enumerate(parts):
            places[part].add(place)
    recurring = [part for part, count in uses.items() if count > 1]
    n_moved = sum(len(places[part]) > 1 for part in recurring)
    return len(lists) > len(uses) or n_moved >= max(1, _MOVED * len(recurring))


def _refuse_mixed(filled: list[str], first: str, others: Iterable[str]) -> None:
    """Raise DataError where some cells have another separator instead: its parts are labels of other cells."""
    split = [cell for cell in filled if first in cell]
    for mark in others:
        mixed = {cell for cell in filled if mark in cell and first not in cell}
        if len(mixed) <= _RARE * len(split):
            continue
        known = Counter(label for cell in {*split} if mark not in cell for label in split_cell(cell, first))
        known.update(part for cell in mixed for part in {*split_cell(cell, mark)})
        parts = [part for cell in mixed for part in {*split_cell(cell, mark)}]
        if sum(known[part] > 1 for part in parts) >= _CLEAR_REUSE * len(parts) > 0:
            raise _ambiguous(filled, mark, f"both {first!r} and {mark!r} stand between labels")


def _choose_strong(filled: list[str], counts: dict[str, int], strong: list[str]) -> str:
    first, *others = strong
    if others and counts[others[0]] > _RARE * counts[first]:
        raise _ambiguous(filled, first, f"both {first!r} and {others[0]!r} stand between labels")
    if counts[first] < _RARE * counts[_WEAK] and reuse(filled, _WEAK) >= _CLEAR_REUSE:
        raise _ambiguous(filled, _WEAK, f"commas stand between labels, but also {first!r} in a few cells")
    _refuse_mixed(filled, first, (_WEAK, *WEAKEST))
    return first


def _looks_like_words(filled: list[str]) -> bool:
    """Return whether cells look like lists of words: few words make many cells, or hardly a cell occurs twice."""
    words = {word for cell in filled for word in cell.split(" ")}
    cells = set(filled)
    share = reuse(cells, " ")
    makes_many = len(cells) >= len(words) and share >= _CLEAR_REUSE
    return makes_many or (share >= _SOME_REUSE and 2 * len(cells) >= max(len(words), len(filled)))


def _ambiguous(filled: list[str], mark: str, problem: str) -> DataError:
    example = next(text for text in filled if mark in text)
    return DataError(
        f"{problem}, as in {example[:60]!r}; say which by {_SETTLE}: {mark!r}, another one, or none for one label in a "
        "cell"
    )


def _is_list(text: str) -> bool:
    """Return whether a cell is a list as programs write it; round brackets without quotes may belong to a name."""
    is_closed = len(text) > 1 and _CLOSING.get(text[0]) == text[-1]
    return is_closed and (text[0] != "(" or "'" in text or '"' in text)


def _read_list(cell: str) -> list[str]:
    """Return the labels in a list: of Python, JSON, numpy (no commas) or a data base (no quotes, or double ones)."""
    text = cell.strip()
    if not text:
        return []
    if not _is_list(text):
        raise ValueError(f"the labels are {text[:40]!r}, not a list in brackets")
    inner = text[1:-1].strip()
    if _QUOTED_WORDS.fullmatch(inner):
        return [word[1:-1] for word in _QUOTED.findall(inner)]
    try:
        # Python would join strings without a comma between them.
        values = None if re.search(r"""['"]\s+['"]""", inner) else ast.literal_eval(f"[{inner}]")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        values = None
    if values is None:
        try:
            values = next(csv.reader([inner], skipinitialspace=True, strict=True), [])
        except csv.Error:
            values = [None]
        if any(mark in inner for mark in "'[]{}"):
            values = [None]
    if not all(isinstance(value, str | int) and not isinstance(value, bool) for value in values):
        raise ValueError(f"the labels {text[:40]!r} cannot be read as a list of names")
    return [str(value) for value in values]
