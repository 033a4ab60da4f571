"""Model folders that were harmed: nothing may be answered otherwise without a word, nothing may break or hang."""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import shutil
from pathlib import Path
from typing import Any, ClassVar

from neartag.core.errors import NeartagError
from neartag.storage.manifest import HASH_DIGITS, MANIFEST, compute_digest
from torture.cases import BrokenPromiseError, NoMoreCases, only_own_errors
from torture.models import ASKED, REFINED_ASKED, answer, make_refined, make_smallest
from torture.mutations import mutate

ODD_VALUES: list[Any] = [None, True, -1, 0, 2**31, 2**63, 1e308, -0.5, "", "x", "../x", [], [1], {}, {"a": 1}]


class Bits:
    """Every bit of the smallest model's folder, one at a time, in an order that the seed gives."""

    name: ClassVar[str] = "bits"
    share: ClassVar[float] = 1.0
    seconds: ClassVar[float] = 5.0
    asked: ClassVar[list[str]] = ASKED
    make: ClassVar[Any] = staticmethod(make_smallest)

    def prepare(self, folder: Path, seed: int) -> None:
        """Save the model, and note what it answers."""
        self.folder = folder / "model"
        self.make(self.folder)
        self.files = [(path, path.stat().st_size) for path in sorted(self.folder.iterdir())]
        self.total = 8 * sum(size for _, size in self.files)
        # A step that shares no factor with the number of bits comes to each of them once.
        self.step = 1 + random.Random(seed).randrange(self.total)
        while math.gcd(self.step, self.total) > 1:
            self.step += 1
        self.sound = answer(self.folder, self.asked)
        self.last: dict[str, bytes] = {}

    def run(self, number: int, chance: random.Random) -> str:
        """Flip a bit, ask the model, flip the bit back."""
        if number >= self.total:
            raise NoMoreCases
        path, place = self._find(number * self.step % self.total)
        self.last = {"where.txt": f"{path.name} bit {place}\n".encode()}
        _flip_in_place(path, place)
        try:
            found = answer(self.folder, self.asked)
        except NeartagError:
            return "refused"
        finally:
            _flip_in_place(path, place)
        if found != self.sound:
            raise BrokenPromiseError(f"bit {place} of {path.name} changes an answer silently")
        return "the same answers"

    def keep(self) -> dict[str, bytes]:
        """Return which bit it was."""
        return self.last

    def _find(self, bit: int) -> tuple[Path, int]:
        for path, size in self.files:
            if bit < 8 * size:
                return path, bit
            bit -= 8 * size
        raise AssertionError


class RefinedBits(Bits):
    """Bits of a refined model's folder; there are millions."""

    name: ClassVar[str] = "refined-bits"
    asked: ClassVar[list[str]] = REFINED_ASKED
    make: ClassVar[Any] = staticmethod(make_refined)


class Folders:
    """Folders harmed in other ways, by accident or by someone who mends the checksums afterwards."""

    name: ClassVar[str] = "folders"
    share: ClassVar[float] = 2.0
    seconds: ClassVar[float] = 5.0

    def prepare(self, folder: Path, seed: int) -> None:
        """Save both models."""
        self.sound, self.scratch = folder / "sound", folder / "scratch"
        make_smallest(self.sound / "smallest")
        make_refined(self.sound / "refined")
        asked = {"smallest": ASKED, "refined": REFINED_ASKED}
        self.answers = {name: (texts, answer(self.sound / name, texts)) for name, texts in asked.items()}

    def run(self, number: int, chance: random.Random) -> str:
        """Harm a copy of a folder, and ask it."""
        name = "smallest" if chance.random() < 0.8 else "refined"
        texts, sound = self.answers[name]
        shutil.rmtree(self.scratch, ignore_errors=True)
        shutil.copytree(self.sound / name, self.scratch)
        crafted = chance.random() < 0.6
        harm = chance.choice(CRAFTED if crafted else ACCIDENTS)
        harm(self.scratch, chance)
        with only_own_errors():
            found = answer(self.scratch, texts)
            # Whoever mends the checksums may write another model; an accident may not.
            if not crafted and found != sound:
                raise BrokenPromiseError(f"after {harm.__name__} it answers otherwise, silently")
        return f"{harm.__name__.strip('_').replace('_', ' ')}"

    def keep(self) -> dict[str, bytes]:
        """Return the folder that was harmed last."""
        return {path.name: path.read_bytes() for path in self.scratch.iterdir() if path.is_file()}


def _flip_in_place(path: Path, place: int) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        byte = os.pread(handle, 1, place // 8)[0]
        os.pwrite(handle, bytes([byte ^ 1 << place % 8]), place // 8)
    finally:
        os.close(handle)


def _any_file(folder: Path, chance: random.Random) -> Path:
    return chance.choice(sorted(path for path in folder.iterdir() if path.is_file() and path.name != ".lock"))


def _mutate_a_file(folder: Path, chance: random.Random) -> None:
    path = _any_file(folder, chance)
    path.write_bytes(mutate(path.read_bytes(), chance))


def _truncate(folder: Path, chance: random.Random) -> None:
    path = _any_file(folder, chance)
    os.truncate(path, chance.randrange(path.stat().st_size + 1))


def _fill_with_zeros(folder: Path, chance: random.Random) -> None:
    path = _any_file(folder, chance)
    content = bytearray(path.read_bytes())
    start = chance.randrange(len(content))
    content[start : start + 512] = bytes(len(content[start : start + 512]))
    path.write_bytes(content)


def _remove(folder: Path, chance: random.Random) -> None:
    _any_file(folder, chance).unlink()


def _swap(folder: Path, chance: random.Random) -> None:
    one, other = _any_file(folder, chance), _any_file(folder, chance)
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


def _replace_by_something_else(folder: Path, chance: random.Random) -> None:
    path = _any_file(folder, chance)
    path.unlink()
    chance.choice([path.mkdir, lambda: os.mkfifo(path), lambda: path.symlink_to(path), lambda: path.touch()])()


def _add_strange_files(folder: Path, chance: random.Random) -> None:
    (folder / chance.choice(["x", "added.0123456789abcdef.safetensors", ".neartag.tmp", "ünï\n"])).write_bytes(b"x")


ACCIDENTS = [
    *(_mutate_a_file, _truncate, _fill_with_zeros, _remove, _swap, _replace_by_something_else, _add_strange_files)
]


def _change_settings(folder: Path, chance: random.Random) -> None:
    """Change values anywhere in model.json, with a digest that fits."""
    document = json.loads((folder / MANIFEST).read_bytes())
    for _ in range(chance.choice((1, 1, 2, 4))):
        _change_somewhere(document, chance)
    _write_manifest(folder, document)


def _change_content(folder: Path, chance: random.Random) -> None:
    """Change a file's bytes, with a checksum, a name and a digest that fit."""
    document = json.loads((folder / MANIFEST).read_bytes())
    entry = chance.choice(_file_entries(document))
    path = folder / entry["name"]
    content = path.read_bytes()
    if path.suffix == ".safetensors" and chance.random() < 0.7:  # the arrays themselves, not their header
        start = 8 + int.from_bytes(content[:8], "little")
        content = content[:start] + _change_in_place(content[start:], chance)
    elif path.suffix == ".json" and chance.random() < 0.7:
        value = json.loads(content)
        holder = {"value": value}
        _change_somewhere(holder, chance)
        content = json.dumps(holder["value"]).encode() if "value" in holder else b"{}"
    else:
        content = mutate(content, chance)
    path.unlink()
    sha256 = hashlib.sha256(content).hexdigest()
    stem, _, suffix = path.name.split(".")
    entry.update(name=f"{stem}.{sha256[:HASH_DIGITS]}.{suffix}", bytes=len(content), sha256=sha256)
    (folder / entry["name"]).write_bytes(content)
    _write_manifest(folder, document)


def _exchange_entries(folder: Path, chance: random.Random) -> None:
    """Let model.json name a file in the place of another, with a digest that fits."""
    document = json.loads((folder / MANIFEST).read_bytes())
    entries = _file_entries(document)
    one, other = chance.choice(entries), chance.choice(entries)
    kept = dict(one)
    one.update(other)
    if chance.random() < 0.5:
        other.update(kept)
    _write_manifest(folder, document)


CRAFTED = [_change_settings, _change_content, _change_content, _exchange_entries]


def _write_manifest(folder: Path, document: dict[str, Any]) -> None:
    document["digest"] = compute_digest(document)
    (folder / MANIFEST).write_text(json.dumps(document))


def _file_entries(value: Any) -> list[dict[str, Any]]:
    """Return all entries of files in a document."""
    if isinstance(value, dict):
        own = [value] if {"name", "bytes", "sha256"} <= value.keys() else []
        return own + [entry for part in value.values() for entry in _file_entries(part)]
    return [entry for part in value for entry in _file_entries(part)] if isinstance(value, list) else []


def _change_somewhere(value: Any, chance: random.Random) -> None:
    """Change a value at some depth: another one, a near one, none, one more."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = chance.choice(keys)
        inner = value[key]
        if isinstance(inner, (dict, list)) and inner and chance.random() < 0.85:
            value = inner
            continue
        kind = chance.random()
        if kind < 0.2:
            del value[key]
        elif kind < 0.5 and isinstance(inner, (int, float)):
            value[key] = inner + chance.choice((-1, 1, 1000, 0.5))
        elif kind < 0.6 and isinstance(value, list):
            value.append(inner)
        else:
            value[key] = chance.choice(ODD_VALUES)
        return


def _change_in_place(content: bytes, chance: random.Random) -> bytes:
    """Change numbers of arrays; their sizes stay."""
    changed = bytearray(content)
    for _ in range(1 + int(chance.expovariate(0.5))):
        size = chance.choice((1, 2, 4, 8))
        if len(changed) < size:
            break
        place = chance.randrange(0, len(changed) - size + 1, size)
        kinds = (
            0,
            1,
            2 ** (8 * size - 1) - 1,
            2 ** (8 * size) - 1,
            chance.getrandbits(8 * size),
            0x7F800000,
            0x7FC00000,
        )
        changed[place : place + size] = (chance.choice(kinds) % 2 ** (8 * size)).to_bytes(size, "little")
    return bytes(changed)
