"""Features and labels of a file that are written as ids or as names, brought to ids."""

from __future__ import annotations

import numpy as np

from neartag.data.matrices import LARGEST_ID
from neartag.errors import DataError


class Keys:
    """The ids of a file's features or labels: told by its header, or found out as the file is read."""

    def __init__(self, what: str, *, count: int | None = None, names: list[str] | None = None) -> None:
        self.what = what
        self.count = count  # None where there is no header: then whatever comes is noted down
        self.names = names
        self.place: dict[str | int, int] = {}
        if names is not None:
            # A name that two ids share cannot say which of them is meant.
            shared: set[str] = set()
            for number, name in enumerate(names):
                if self.place.setdefault(name, number) != number:
                    shared.add(name)
            for name in shared:
                del self.place[name]

    def find(self, key: str | int) -> int:
        """Return the id of a name or of an id; without a header, the place at which `settled` will put it."""
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise DataError(f"a {self.what} must be an id or a name, not {key!r}")
        if self.count is None:
            return self.place.setdefault(key, len(self.place))
        if isinstance(key, int):
            if not 0 <= key < self.count:
                raise DataError(f"{self.what} {key} is not from 0 to {self.count - 1}")
            return key
        if key not in self.place:
            raise DataError(f"the header has no {self.what} {key[:40]!r}, or has it twice")
        return self.place[key]

    def settled(self, found: np.ndarray, *, digits_are_ids: bool) -> tuple[np.ndarray, int, list[str] | None]:
        """Return what `find` returned as final ids, how many ids there are, and their names."""
        if self.count is not None:
            return found, self.count, self.names
        keys = list(self.place)
        ids = [key if isinstance(key, int) else whole(key) if digits_are_ids else None for key in keys]
        numbers = [number for number in ids if number is not None]
        if len(numbers) == len(keys):
            if numbers and not 0 <= min(numbers) <= max(numbers) <= LARGEST_ID:
                raise DataError(
                    f"{self.what} ids run from {min(numbers)} to {max(numbers)}, not within 0 to {LARGEST_ID}"
                )
            return np.array(numbers, dtype=np.int32)[found], max(numbers, default=-1) + 1, None
        texts = [key for key in keys if isinstance(key, str)]
        if len(texts) < len(keys):
            raise DataError(f"some {self.what}s are numbers and some are strings; write all as ids or all as names")
        names = sorted(texts)
        rank = {name: number for number, name in enumerate(names)}
        return np.array([rank[name] for name in texts], dtype=np.int32)[found], len(names), names


def whole(text: str) -> int | None:
    """Return the id that a text writes in the one usual way (no sign, no leading zero), else None."""
    if text.isascii() and text.isdigit() and len(text) < 19 and str(int(text)) == text:
        return int(text)
    return None
