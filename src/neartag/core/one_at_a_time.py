"""One at a time, of all threads and processes of a computer, where its system can wait for the lock of a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

if sys.platform == "win32":

    @contextmanager
    def one_at_a_time(path: str | os.PathLike[str]) -> Iterator[None]:
        """Do nothing: what is done twice must give the same, and only take longer."""
        yield

else:
    import fcntl

    @contextmanager
    def one_at_a_time(path: str | os.PathLike[str]) -> Iterator[None]:
        """Wait until nobody else is in such a block for this file, which stays. Whoever is killed is no longer in it.

        What is done twice must give the same, and only take longer: not every disk has locks.
        """
        with open(path, "ab") as handle:  # closed, it is unlocked
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
