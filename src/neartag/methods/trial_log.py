"""The finished trials of a search, in a file: a search that was interrupted goes on from there.

The file has one JSON object per line: first what the search is (a digest of its data and settings), then, for texts,
which features the default stands for, then each trial once it is finished. A last line that was cut off is ignored.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from neartag.core.errors import DataError, ParameterError
from neartag.methods.trial import Trial

FORMAT = 1


class TrialLog:
    """Trials by a key; kept in a file, if there is one.

    ParameterError where the file holds the trials of another search, or cannot be read or written.
    """

    def __init__(self, path: Path | str | None, digest: str) -> None:
        self._path = None if path is None else Path(path)
        self._trials: dict[str, Trial] = {}
        self.features: str | None = None  # that the default stands for in all rounds; None: each round chooses
        self.features_known = False  # whether that was decided
        self.resumed = 0  # trials that were taken from the file and not made again
        self._from_file: set[str] = set()
        if self._path is not None:
            self._open(self._path, {"neartag_tune": FORMAT, "digest": digest})
        self._from_file = set(self._trials)

    def get(self, key: str) -> Trial | None:
        """Return a finished trial."""
        if key in self._from_file:
            self._from_file.discard(key)
            self.resumed += 1
        return self._trials.get(key)

    def add(self, key: str, trial: Trial) -> None:
        """Keep a finished trial, in the file at once."""
        self._trials[key] = trial
        if self._path is not None:
            self._append(self._path, {"key": key, "trial": asdict(trial)})

    def keep_features(self, features: str | None) -> None:
        """Keep which features the default stands for, in the file at once."""
        self.features, self.features_known = features, True
        if self._path is not None:
            self._append(self._path, {"features": features})

    def _open(self, path: Path, head: dict[str, Any]) -> None:
        lines = _read_lines(path)
        if not lines:
            path.unlink(missing_ok=True)
            self._append(path, head)
            return
        if lines[0] != head:
            raise ParameterError(
                f"{path} is the progress of another search: its data, settings or version of neartag differ. Delete "
                f"the file to begin anew, or run the same search again to go on with it"
            )
        for line in lines[1:]:
            if line.keys() == {"features"}:
                self.features, self.features_known = _read_features(path, line["features"]), True
            else:
                self._trials.update([_read_trial(path, line)])

    @staticmethod
    def _append(path: Path, line: dict[str, Any]) -> None:
        try:
            with open(path, "ab") as stream:
                stream.write((json.dumps(line) + "\n").encode())
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise DataError(f"{path}: the progress of the search cannot be written: {error.strerror}") from error


def _read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of the file, none where there is no file; a cut last line is taken off the file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ParameterError(f"{path}: the progress of a search cannot be read: {error.strerror}") from error
    whole = content[: content.rfind(b"\n") + 1]
    try:
        lines = [json.loads(line) for line in whole.splitlines()]
    except ValueError as error:
        raise _refusal(path) from error
    if (content and not lines) or any(not isinstance(line, dict) for line in lines):
        if content.startswith(b'{"neartag_tune"'):  # killed while it wrote the first line
            return []
        raise _refusal(path)
    if lines and "neartag_tune" not in lines[0]:
        raise _refusal(path)
    if len(whole) < len(content):
        with contextlib.suppress(OSError):
            os.truncate(path, len(whole))
    return lines


def _read_trial(path: Path, line: dict[str, Any]) -> tuple[str, Trial]:
    """Return a finished trial and its key."""
    try:
        key, trial = line["key"], Trial(**line["trial"])
        numbers = [trial.points, trial.seconds, trial.total_seconds, *trial.metrics.values(), *trial.precisions]
    except (KeyError, TypeError, AttributeError) as error:
        raise _refusal(path) from error
    texts, settings = (key, trial.error), trial.settings
    fine = all(isinstance(number, (int, float)) for number in numbers) and all(isinstance(text, str) for text in texts)
    if not fine or not isinstance(settings, dict):
        raise _refusal(path)
    return key, trial


def _read_features(path: Path, features: Any) -> str | None:
    if features is not None and not isinstance(features, str):
        raise _refusal(path)
    return features


def _refusal(path: Path) -> ParameterError:
    return ParameterError(f"{path} is no progress of a search: delete it, or name another file")
