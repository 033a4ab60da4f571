"""Vectors of texts kept on disk, so that tuning and training again need not encode the same texts again.

A SQLite file. A text is known by a keyed hash of it: there is no text in the file. Each batch is one transaction, so
that a process which is killed loses one batch at most. The oldest vectors go when the file grows too large. Nothing
that goes wrong with the file stops any work: vectors are then encoded again.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import warnings
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

MAX_BYTES = 2 << 30
SHARE_THAT_GOES = 0.1  # of the vectors, when there are too many bytes
BATCH_KEYS = 500  # SQLite takes 999 values in a statement
_SCHEMA = """
    PRAGMA auto_vacuum = INCREMENTAL;
    CREATE TABLE IF NOT EXISTS salt (value BLOB);
    CREATE TABLE IF NOT EXISTS vectors (number INTEGER PRIMARY KEY, model TEXT, text BLOB, vector BLOB);
    CREATE UNIQUE INDEX IF NOT EXISTS by_text ON vectors (text, model);
"""


class VectorCache:
    """Vectors by model and text, in one file that any number of processes may use.

    Parameters
    ----------
    path : str or path
        The file; it is made when the first vector is kept.
    max_bytes : int
        How large the file may grow.
    """

    def __init__(self, path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> None:
        self.path, self._max_bytes = Path(path), max_bytes
        self._salt: bytes | None = None

    def get(self, model: str, texts: Sequence[str], dim: int) -> dict[int, np.ndarray]:
        """Return the vectors (dim,) that are kept of these texts, by the text's place; `model` is its digest."""
        found: dict[int, np.ndarray] = {}
        if not self.path.exists():
            return found
        try:
            with closing(self._connect()) as connection:
                keys = self._keys(connection, texts)
                for start in range(0, len(keys), BATCH_KEYS):
                    some = keys[start : start + BATCH_KEYS]
                    marks = ",".join("?" * len(some))
                    query = f"SELECT text, vector FROM vectors WHERE model = ? AND text IN ({marks})"
                    kept = dict(connection.execute(query, (model, *some)))
                    for place, key in enumerate(some, start):
                        if len(kept.get(key, b"")) == 4 * dim:
                            found[place] = np.frombuffer(kept[key], "<f4")
        except sqlite3.Error as error:
            self._warn(error)
        return found

    def put(self, model: str, texts: Sequence[str], vectors: np.ndarray) -> None:
        """Keep the vectors (n, dim) of texts."""
        rows = np.ascontiguousarray(vectors, "<f4")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._connect()) as connection, connection:
                keys = self._keys(connection, texts)
                connection.executemany(
                    "INSERT OR REPLACE INTO vectors (model, text, vector) VALUES (?, ?, ?)",
                    ((model, key, row.tobytes()) for key, row in zip(keys, rows, strict=True)),
                )
            self._shrink()
        except (sqlite3.Error, OSError) as error:
            self._warn(error)

    def forget(self, texts: Iterable[str]) -> int:
        """Remove the vectors of texts, of every model, and return how many there were; their bytes are overwritten."""
        if not self.path.exists():
            return 0
        try:
            with closing(self._connect()) as connection, connection:
                keys = [(key,) for key in self._keys(connection, list(texts))]
                return connection.executemany("DELETE FROM vectors WHERE text = ?", keys).rowcount
        except sqlite3.Error as error:
            self._warn(error)
            return 0

    def __len__(self) -> int:
        if not self.path.exists():
            return 0
        with closing(self._connect()) as connection:
            return int(connection.execute("SELECT COUNT(*) FROM vectors").fetchone()[0])

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=30)
        try:
            connection.execute("PRAGMA secure_delete = ON")
            connection.executescript(_SCHEMA)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _keys(self, connection: sqlite3.Connection, texts: Sequence[str]) -> list[bytes]:
        """Return the hash of each text, keyed by a number that only this file has."""
        if self._salt is None:
            row = connection.execute("SELECT value FROM salt ORDER BY rowid LIMIT 1").fetchone()
            if row is None:
                with connection:
                    connection.execute("INSERT INTO salt VALUES (?)", (secrets.token_bytes(16),))
                row = connection.execute("SELECT value FROM salt ORDER BY rowid LIMIT 1").fetchone()
            self._salt = bytes(row[0])
        salt = self._salt
        return [
            hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=salt, digest_size=16).digest() for text in texts
        ]

    def _shrink(self) -> None:
        """Remove the oldest vectors while the file is too large."""
        while self.path.stat().st_size > self._max_bytes:
            with closing(self._connect()) as connection:
                with connection:
                    kept = connection.execute("SELECT COUNT(*), MIN(number) FROM vectors").fetchone()
                    if not kept[0]:
                        return
                    going = max(1, int(SHARE_THAT_GOES * kept[0]))
                    connection.execute(
                        "DELETE FROM vectors WHERE number IN (SELECT number FROM vectors ORDER BY number LIMIT ?)",
                        (going,),
                    )
                size = self.path.stat().st_size
                connection.execute("PRAGMA incremental_vacuum").fetchall()
            if self.path.stat().st_size >= size:  # nothing more can be had
                return

    def _warn(self, error: Exception) -> None:
        warnings.warn(
            f"the kept vectors in {self.path} cannot be used ({error}): texts are encoded again; delete the file if it "
            "is damaged",
            UserWarning,
            stacklevel=3,
        )


def default_cache() -> VectorCache:
    """Return the cache of this user: vectors.sqlite in the cache folder ($NEARTAG_CACHE)."""
    from neartag.data.registry import cache_folder

    return VectorCache(cache_folder() / "vectors.sqlite")
