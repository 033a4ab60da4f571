"""Commands on a disk that is full, or fills up: they say so in a line, and the folder is as before or as after."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import ClassVar

from torture.cases import BrokenPromiseError
from torture.faults import at_step, limit_file_size, raise_disk_full, small_disk
from torture.writing import Commands, check_whole, find_strangers, fork_command, run_command

MOST_STEPS = 60
LARGEST = 6000  # bytes of a file
ROOM = (1, 48 * 1024)  # bytes that a small disk has beside the model


class DiskFull:
    """One command, one lack of room."""

    name: ClassVar[str] = "disk-full"
    share: ClassVar[float] = 1.0
    seconds: ClassVar[float] = 20.0

    def prepare(self, folder: Path, seed: int) -> None:
        """Train the model, and see whether a small disk can be had."""
        self.commands, self.folder = Commands(folder), folder / "model"
        self.disk, self.last = folder / "disk", ""
        with small_disk(self.disk, 2**20) as mounted:
            self.can_mount = mounted
        self.size = sum(path.stat().st_size for path in self.commands.before.iterdir())

    def run(self, number: int, chance: random.Random) -> str:
        """Run a command where there is no room, then once more where there is."""
        name = chance.choice(sorted(self.commands.commands))
        how = chance.choice(["a step", "a large file", "a small disk" if self.can_mount else "a step"])
        self.last = f"{name} on {how}"
        if how == "a small disk":
            pages = 4096 * (len(list(self.commands.before.iterdir())) + 2)
            with small_disk(self.disk, self.size + pages + chance.randrange(*ROOM)) as mounted:
                if not mounted:
                    raise BrokenPromiseError("no disk can be mounted any more")
                shutil.copytree(self.commands.before, self.disk / "model")
                return self._try(name, self.disk / "model", lambda: None, repeat=False)
        self.commands.restore(self.folder)
        step, size = chance.randrange(1, MOST_STEPS), chance.randrange(LARGEST)
        harm = (
            (lambda: at_step(step, self.folder, raise_disk_full)) if how == "a step" else lambda: limit_file_size(size)
        )
        return self._try(name, self.folder, harm, repeat=True)

    def keep(self) -> dict[str, bytes]:
        """Return what was tried."""
        return {"where.txt": self.last.encode()}

    def _try(self, name: str, folder: Path, harm, *, repeat: bool) -> str:
        child, pipe = fork_command(self.commands.commands[name](f"{folder}"), harm)
        _, status = os.waitpid(child, 0)
        done = os.read(pipe, 1) == b"1"
        os.close(pipe)
        code = os.waitstatus_to_exitcode(status)
        if code not in (0, 2):
            raise BrokenPromiseError(f"{self.last}: status {code}")
        before, after = self.commands.digests[""], self.commands.digests[name]
        found = check_whole(folder, {before, after})
        if done and found != after:
            raise BrokenPromiseError(f"{self.last}: it said that it was done, and is lost")
        if repeat:  # there is room again
            run_command(["labels", f"{folder}", "--open"])
            strangers = find_strangers(folder)
            if strangers:
                raise BrokenPromiseError(f"{self.last}: {strangers} are left after the next write")
        return f"{name} {'done' if done else 'refused'}"
