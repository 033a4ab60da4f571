"""Several writers and readers of one folder at once: every change that was told is there, every look is whole."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from pathlib import Path
from typing import ClassVar

from neartag import LiveTagger, TextTagger
from neartag.data.documents import Document
from torture.cases import BrokenPromiseError
from torture.models import ASKED, make_smallest
from torture.writing import find_strangers

WRITERS, READERS = 2, 1
CHANGES = 4  # of each writer


class Rivals:
    """Two writers, a reader, and sometimes a kill."""

    name: ClassVar[str] = "rivals"
    share: ClassVar[float] = 1.0
    seconds: ClassVar[float] = 30.0

    def prepare(self, folder: Path, seed: int) -> None:
        """Save the model."""
        self.before, self.folder = folder / "before", folder / "model"
        make_smallest(self.before)
        LiveTagger(self.before).tagger.predict(ASKED)

    def run(self, number: int, chance: random.Random) -> str:
        """Let them all work, kill one or none, and compare what is there with what was acknowledged."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.before, self.folder)
        seeds = [chance.getrandbits(32) for _ in range(WRITERS + READERS)]
        killed = chance.randrange(WRITERS) if chance.random() < 0.3 else None
        moment = chance.random() * 0.3
        children = []
        for place, seed in enumerate(seeds):
            reading, writing = os.pipe()
            child = os.fork()
            if not child:
                work = self._write if place < WRITERS else self._read
                status = 1
                try:
                    work(place, random.Random(seed), writing)
                    status = 0
                except BaseException as error:
                    os.write(writing, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode() + b"\n")
                finally:
                    os._exit(status)
            os.close(writing)
            children.append((child, reading))
        if killed is not None:
            signal.sigtimedwait([], moment)
            os.kill(children[killed][0], signal.SIGKILL)
        there: set[str] = set()
        gone: set[str] = set()
        for place, (child, reading) in enumerate(children):
            with os.fdopen(reading, "rb") as pipe:
                told = [json.loads(line) for line in pipe.read().splitlines()]
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code and place != killed:
                raise BrokenPromiseError(
                    f"{'writer' if place < WRITERS else 'reader'} {place}: {told[-1] if told else code}"
                )
            for each in told:
                there |= set(each.get("added", []))
                gone |= set(each.get("forgotten", []))
        self._check(there - gone, gone, killed)
        return "one killed" if killed is not None else "all lived"

    def keep(self) -> dict[str, bytes]:
        """Return the folder as it was left."""
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}

    def _write(self, place: int, chance: random.Random, pipe: int) -> None:
        live, own = LiveTagger(self.folder), []
        for change in range(CHANGES):
            kind = chance.random()
            if own and kind < 0.25:
                name = own.pop(chance.randrange(len(own)))
                live.forget([name])
                told = {"forgotten": [name]}
            elif kind < 0.35:
                live.change_labels(lambda tagger: tagger.close_labels(False))
                told = {}
            else:
                name = f"{place}-{change}"
                replace = bool(own) and kind < 0.5
                names = [own[0], name] if replace else [name]
                live.add(
                    [Document(f"text {each} bread", ["cuisine"], each, None, "") for each in names], replace=replace
                )
                own.append(name)
                told = {"added": [name]}
            os.write(pipe, json.dumps(told).encode() + b"\n")

    def _read(self, place: int, chance: random.Random, pipe: int) -> None:
        live = LiveTagger(self.folder)
        for _ in range(3 * CHANGES):
            live.refresh()
            names = live.tagger.stored.point_names
            if len(set(names)) != len(names) or len(names) != len(live.tagger):
                raise BrokenPromiseError("a reader sees half a change")
            live.tagger.predict(ASKED, 2)
            signal.sigtimedwait([], chance.random() * 0.02)

    def _check(self, there: set[str], gone: set[str], killed: int | None) -> None:
        tagger = TextTagger.load(self.folder)
        names = set(tagger.stored.point_names)
        if len(names) != len(tagger.stored.point_names):
            raise BrokenPromiseError("a document is there twice")
        if there - names:
            raise BrokenPromiseError(f"acknowledged and lost: {sorted(there - names)}")
        if gone & names:
            raise BrokenPromiseError(f"forgotten and back: {sorted(gone & names)}")
        more = {name for name in names if "-" in name} - there
        # What a killed writer did last may be there without having been told.
        if {name for name in more if killed is None or not name.startswith(f"{killed}-")}:
            raise BrokenPromiseError(f"there and never acknowledged: {sorted(more)}")
        LiveTagger(self.folder).add([Document("one more", ["cuisine"], "last", None, "")])
        strangers = find_strangers(self.folder)
        if strangers:
            raise BrokenPromiseError(f"{strangers} are left after the next write")
