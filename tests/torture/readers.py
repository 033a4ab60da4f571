"""Input files changed at random, read as the commands read them: only errors of neartag's own may come of it."""

from __future__ import annotations

import random
import shutil
import warnings
from pathlib import Path
from typing import ClassVar

from neartag.cli.reading import Reading
from neartag.cli.sources import read_data
from neartag.data.dataset import Dataset
from neartag.data.documents import BadLines, Fields, documents, holds_documents
from neartag.data.registry.archives import unpack
from neartag.vocabulary.read import read_vocabulary
from torture.cases import only_own_errors
from torture.mutations import mutate
from torture.seeds import make_seeds, repack

ARCHIVES = (".zip", ".tar.gz", ".tar.xz")
# Formats whose readers are Python's or other libraries' and slow: each is tried, but not as often as the others.
SLOW_ENDINGS = (".xlsx", ".parquet", ".zip", ".tar.gz", ".tar.xz", ".ttl", ".rdf", ".nt")
SLOW_WEIGHT = 0.25
FIELDS = (
    Fields(),
    Fields(labels="tag_*"),
    Fields(indicators=True),
    Fields(label_per_row=True),
    Fields(delimiter=",", quoting="double", separator=";"),
    Fields(encoding="utf-8"),
    Fields(vector="vector"),
)


class Readers:
    """Readers of all formats."""

    name: ClassVar[str] = "readers"
    share: ClassVar[float] = 4.0
    seconds: ClassVar[float] = 5.0

    def prepare(self, folder: Path, seed: int) -> None:
        """Make the sound files, and read each once, so that all is loaded."""
        self.folder, self.seeds = folder, make_seeds()
        self.names = sorted(self.seeds)
        self.weights = [SLOW_WEIGHT if name.endswith(SLOW_ENDINGS) else 1.0 for name in self.names]
        self.last = ("", b"")
        for name, content in self.seeds.items():
            path = folder / name
            path.write_bytes(content)
            read(path, random.Random(0))

    def run(self, number: int, chance: random.Random) -> str:
        """Read a file that was changed."""
        name = chance.choices(self.names, self.weights)[0]
        content = self.seeds[name]
        if chance.random() < 0.5:
            inner = chance.getrandbits(64)
            content = repack(content, name, lambda piece: mutate(piece, random.Random(inner)))
        else:
            content = mutate(content, chance)
        self.last = (name, content)
        path = self.folder / name
        path.write_bytes(content)
        read(path, chance)
        return "".join(Path(name).suffixes)

    def keep(self) -> dict[str, bytes]:
        """Return the file that was read last."""
        return dict([self.last])


def read(path: Path, chance: random.Random) -> None:
    """Read a file in the ways in which commands read files of its ending."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if path.name.endswith(ARCHIVES):
            _read_archive(path)
        elif path.name.startswith("vocabulary"):
            with only_own_errors():
                read_vocabulary(path)
        elif path.suffix == ".npy":
            _read_vectors(path)
        else:
            _read_data(path, chance)


def _read_archive(path: Path) -> None:
    target = path.parent / "unpacked" / "target"
    with only_own_errors():
        unpack(path, target)
    outside = [each for each in path.parent.iterdir() if each.name not in ("unpacked",) and each.is_dir()]
    assert not outside, f"something was unpacked beside the target: {outside}"
    shutil.rmtree(target.parent, ignore_errors=True)


def _read_vectors(path: Path) -> None:
    source = path.parent / "for-vectors.csv"
    source.write_bytes(b"text,labels\n" + b"a,b\n" * 5)
    with only_own_errors():
        list(Reading(vectors=str(path)).documents(source))


def _read_data(path: Path, chance: random.Random) -> None:
    fields = FIELDS[0] if chance.random() < 0.6 else chance.choice(FIELDS)
    labelled, skip = chance.random() < 0.7, chance.random() < 0.4
    with only_own_errors():
        holds_documents(path, fields)
    with only_own_errors():
        found = read_data(str(path), "train", None, labelled=labelled)
        if isinstance(found, Dataset):
            return
        for _ in found:
            pass
    with only_own_errors():
        for _ in documents(path, fields, labelled=labelled, bad=BadLines() if skip else None):
            pass
    if chance.random() < 0.3:
        with only_own_errors():
            reading = Reading(skip_bad=skip)
            with reading.open_table(path, need_header=chance.random() < 0.5) as (table, _):
                for chunk in table.chunks:
                    chunk.rows()
