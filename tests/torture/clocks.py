"""Clocks that jump: what was written must be noticed and waited for, whatever the time of day is said to be."""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path
from typing import Any, ClassVar

from neartag import LiveTagger
from neartag.data.documents import Document
from neartag.storage.manifest import MANIFEST
from torture.cases import BrokenPromiseError
from torture.models import ASKED, make_smallest

JUMPS = (-1e9, -86400.0, -3600.0, -1.0, 0.0, 1.0, 3600.0, 1e9)  # seconds


class Clocks:
    """A writer and a reader in a process whose clock jumps, and files whose times lie."""

    name: ClassVar[str] = "clocks"
    share: ClassVar[float] = 0.3
    seconds: ClassVar[float] = 10.0

    def prepare(self, folder: Path, seed: int) -> None:
        """Save the model."""
        self.before, self.folder, self.last = folder / "before", folder / "model", ""
        make_smallest(self.before)

    def run(self, number: int, chance: random.Random) -> str:
        """Let the clock jump between changes, and give files times of their own."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.before, self.folder)
        clock = _JumpingClock()
        clock.start()
        try:
            writer, reader = LiveTagger(self.folder), LiveTagger(self.folder)
            for change in range(3):
                jump = chance.choice(JUMPS)
                clock.offset += jump
                self.last = f"change {change} after a jump of {jump} s"
                if "sky" in writer.tagger and chance.random() < 0.3:
                    writer.forget(["sky"])
                else:
                    writer.add([Document("bread at noon", ["cuisine"], f"new-{change}", None, "")])
                if chance.random() < 0.7:
                    told = max(0.0, time.time() + chance.choice(JUMPS))
                    os.utime(self.folder / MANIFEST, (told, told))
                reader.refresh()
                if reader.tagger.stored.point_names != writer.tagger.stored.point_names:
                    raise BrokenPromiseError(f"{self.last}: a reader does not see it")
                if reader.tagger.predict(ASKED, 2) != writer.tagger.predict(ASKED, 2):
                    raise BrokenPromiseError(f"{self.last}: a reader answers otherwise")
        finally:
            clock.stop()
        return "seen"

    def keep(self) -> dict[str, bytes]:
        """Return when it was."""
        return {"where.txt": self.last.encode()}


class _JumpingClock:
    """Stands in for time.time and time.time_ns in this process."""

    def __init__(self) -> None:
        self.offset = 0.0
        self._kept: Any = None

    def start(self) -> None:
        self._kept = time.time, time.time_ns
        real, real_ns = self._kept
        time.time = lambda: real() + self.offset  # type: ignore[assignment]
        time.time_ns = lambda: real_ns() + int(1e9 * self.offset)  # type: ignore[assignment]

    def stop(self) -> None:
        time.time, time.time_ns = self._kept  # type: ignore[assignment]
