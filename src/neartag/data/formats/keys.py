"""Which ids the features or labels of a JSON lines file have: the header says it, or the whole file has to be read."""

from __future__ import annotations

import numpy as np

from neartag.core.errors import DataError
from neartag.data.dataset import MAX_ID


class Keys:
    """Turns the ids and names that a file uses into ids; without a header, ids are settled at the end."""

    def __init__(self, what: str, *, count: int | None = None, names: list[str] | None = None) -> None:
        self.what = what
        self.count = count  # None: there is no header, so whatever comes is noted down
        self.names = names
        self._numbers: dict[str | int, int] = {}
        if names is not None:
            # A name that two ids share cannot say which of them is meant.
            shared: set[str] = set()
            for number, name in enumerate(names):
                if self._numbers.setdefault(name, number) != number:
                    shared.add(name)
            for name in shared:
                del self._numbers[name]

    def number(self, key: str | int) -> int:
        """Return the id of a name or of an id; without a header, a number that `final_ids` turns into the id."""
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise DataError(f"a {self.what} must be an id or a name, not {key!r}")
        if self.count is None:
            return self._numbers.setdefault(key, len(self._numbers))
        if isinstance(key, int):
            if not 0 <= key < self.count:
                raise DataError(f"{self.what} {key} is not from 0 to {self.count - 1}")
            return key
        if key not in self._numbers:
            raise DataError(f"the header has no {self.what} {key[:40]!r}, or has it twice")
        return self._numbers[key]

    @property
    def seen(self) -> list[str | int]:
        """The ids and names that came, without a header, in the order of their numbers."""
        return list(self._numbers)

    def final_ids(self, *, digits_are_ids: bool) -> tuple[np.ndarray | None, int, list[str] | None]:
        """Return the id of each number that `number` gave out, how many ids there are, and their names.

        None instead of the ids: the numbers are the ids.
        """
        if self.count is not None:
            return None, self.count, self.names
        keys = self.seen
        parsed = [key if isinstance(key, int) else parse_id(key) if digits_are_ids else None for key in keys]
        ids = [number for number in parsed if number is not None]
        if len(ids) == len(keys):
            if ids and not 0 <= min(ids) <= max(ids) <= MAX_ID:
                raise DataError(f"{self.what} ids run from {min(ids)} to {max(ids)}, not within 0 to {MAX_ID}")
            return np.array(ids, dtype=np.int32), max(ids, default=-1) + 1, None
        texts = [key for key in keys if isinstance(key, str)]
        if len(texts) < len(keys):
            raise DataError(f"some {self.what}s are numbers and some are strings; write all as ids or all as names")
        names = sorted(texts)
        id_of = {name: number for number, name in enumerate(names)}
        return np.array([id_of[name] for name in texts], dtype=np.int32), len(names), names


def parse_id(text: str) -> int | None:
    """Return the id that a text writes in the one usual way (no sign, no leading zero), else None."""
    if text.isascii() and text.isdigit() and len(text) < 19 and str(int(text)) == text:
        return int(text)
    return None
