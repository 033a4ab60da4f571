"""Commands killed at random moments and at chosen steps: the folder is as before or as after, nothing is left over."""

from __future__ import annotations

import os
import random
import select
import signal
import time
from pathlib import Path
from typing import ClassVar

from torture.cases import BrokenPromiseError
from torture.faults import at_step, kill_self
from torture.writing import SECRET, Commands, check_whole, find_strangers, fork_command, run_command

MOST_STEPS = 80  # changes of files that a command makes, and some more
LONGEST = 60.0  # seconds, of a command on a busy machine
FIRST_GUESS, LONGEST_KNOWN = 0.3, 1.0  # seconds that a command takes, as kills are spread over it


class Kills:
    """One command, one kill."""

    name: ClassVar[str] = "kills"
    share: ClassVar[float] = 2.0
    seconds: ClassVar[float] = 20.0

    def prepare(self, folder: Path, seed: int) -> None:
        """Train the model, and run each command once to its end."""
        self.commands, self.folder = Commands(folder), folder / "model"
        self.last = ""
        self.times: dict[str, float] = {}  # that each command takes, as far as it is known

    def run(self, number: int, chance: random.Random) -> str:
        """Start a command, kill it, and look at the folder; then write once more, which clears up."""
        name = chance.choice(sorted(self.commands.commands))
        self.commands.restore(self.folder)
        arguments = self.commands.commands[name](f"{self.folder}")
        by_step = chance.random() < 0.5
        step = chance.randrange(1, MOST_STEPS) if by_step else 0
        moment = chance.random()
        self.last = f"{name}, " + (f"at step {step}" if by_step else f"after {moment:.4f} of its time")
        began = time.monotonic()
        child, pipe = fork_command(arguments, lambda: at_step(step, self.folder, kill_self) if by_step else None)
        wait = LONGEST if by_step else moment * self.times.get(name, FIRST_GUESS)
        told = select.select([pipe], [], [], wait)[0]
        if not told or not by_step:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        done = os.read(pipe, 1) == b"1"
        os.close(pipe)
        code = os.waitstatus_to_exitcode(status)
        if code not in (0, -signal.SIGKILL):
            raise BrokenPromiseError(f"{self.last}: status {code}")
        if done:
            self._note(name, time.monotonic() - began)
        before, after = self.commands.digests[""], self.commands.digests[name]
        found = check_whole(self.folder, {before, after})
        if done and found != after:
            raise BrokenPromiseError(f"{self.last}: it said that it was done, and is lost")
        self._check_swept(name, found == after)
        return f"{name} {'done' if done else 'made' if found == after else 'not made'}"

    def keep(self) -> dict[str, bytes]:
        """Return what was killed when."""
        return {"where.txt": self.last.encode()}

    def _check_swept(self, name: str, made: bool) -> None:
        """Write once more, and look for files that are left over, with what was forgotten in them."""
        run_command(["labels", f"{self.folder}", "--open"])
        strangers = find_strangers(self.folder)
        if strangers:
            raise BrokenPromiseError(f"{self.last}: {strangers} are left after the next write")
        if made and name in ("forget", "replace"):
            holders = [path.name for path in self.folder.iterdir() if SECRET in path.read_bytes()]
            if holders:
                raise BrokenPromiseError(f"{self.last}: what was forgotten is still in {holders}")

    def _note(self, name: str, seconds: float) -> None:
        """Learn how long a command takes, so that kills are spread over all of it."""
        self.times[name] = min(LONGEST_KNOWN, 0.7 * self.times.get(name, seconds) + 0.3 * 1.2 * seconds)
