"""The commands that change a model folder, each run in a forked process: what is loaded is not loaded again."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

from neartag.storage import store
from neartag.storage.location import CHANGE_LOG
from neartag.storage.locking import LOCK, LOCK_NEXT
from neartag.storage.manifest import MANIFEST, read_manifest
from torture.cases import BrokenPromiseError

DOCUMENTS = [
    ("a", "bake bread in the oven", ["cooking", "baking"]),
    ("b", "ride a bicycle on the road", ["cycling"]),
    ("c", "bread with butter", ["cooking"]),
    ("d", "the wheel of a bicycle", ["cycling", "wheels"]),
    ("e", "a secret recipe nobody may read", ["baking"]),
]
FRESH = [("sky", "stars in the night sky", ["astronomy"]), ("sea", "waves of the sea", ["water", "cooking"])]
SECRET = b"nobody may read"  # in the document that `forget` and `replace` remove
SETTINGS = ["--embedding-dim", "2", "--vote-neighbours", "2", "--n-learners", "1", "--no-refine", "--n-jobs", "1"]
TRAINING = [*SETTINGS, "--features", "words", "--calibration", "none"]


class Commands:
    """Commands by name, with the folder that each begins with and the one that it must end with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._write("docs.jsonl", DOCUMENTS)
        self._write("fresh.jsonl", FRESH)
        self._write("other.jsonl", [("e", "a recipe that all may read", ["baking"])])
        (folder / "terms.txt").write_text("cooking\nbaking\ncycling\nwheels\nastronomy\n")
        self.before = folder / "before"
        run_command(["train", f"{folder / 'docs.jsonl'}", f"{self.before}", *TRAINING])
        run_command(["add", f"{self.before}", f"{folder / 'fresh.jsonl'}"])
        self._write("more.jsonl", [("sun", "the sun at noon", ["astronomy", "light"])])
        more, other, docs = (f"{folder / name}" for name in ("more.jsonl", "other.jsonl", "docs.jsonl"))
        terms = f"{folder / 'terms.txt'}"
        self.commands: dict[str, Callable[[str], list[str]]] = {
            "add": lambda model: ["add", model, more],
            "forget": lambda model: ["forget", model, "e"],
            "replace": lambda model: ["add", model, other, "--replace"],
            "rename": lambda model: ["labels", model, "--rename", "baking", "bread"],
            "merge": lambda model: ["labels", model, "--merge", "baking", "cooking"],
            "close": lambda model: ["labels", model, "--close"],
            "train": lambda model: ["train", docs, model, "--overwrite", "--random-state", "5", *TRAINING],
            "vocabulary": lambda model: ["train", docs, model, "--overwrite", "--vocabulary", terms, *TRAINING],
        }
        self.digests = {"": read_manifest(self.before).digest}
        for name, make in self.commands.items():
            after = folder / "after"
            self.restore(after)
            run_command(make(f"{after}"))
            self.digests[name] = read_manifest(after).digest
            shutil.rmtree(after)

    def restore(self, folder: Path) -> None:
        """Make a folder what it is before every command."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.before, folder)

    def _write(self, name: str, documents: list[tuple[str, str, list[str]]]) -> None:
        lines = [json.dumps({"id": each[0], "text": each[1], "labels": each[2]}) for each in documents]
        (self.folder / name).write_text("\n".join(lines) + "\n")


def run_command(arguments: list[str]) -> int:
    """Run a command of neartag in this process; return its exit status."""
    from neartag.cli.main import app

    told = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        warnings.simplefilter("ignore")
        try:
            app([*arguments, "--quiet"], prog_name="neartag")
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    if status not in (0, 2):
        raise BrokenPromiseError(f"{arguments[0]} ends with status {status}: {told.getvalue()[-500:]}")
    if "Traceback" in told.getvalue():
        raise BrokenPromiseError(f"{arguments[0]} prints a traceback: {told.getvalue()[-500:]}")
    return status


def fork_command(arguments: list[str], before: Callable[[], None]) -> tuple[int, int]:
    """Start a command in a forked process, after `before`; return its id, and a pipe that gets a byte when it ends."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 70
        try:
            os.close(reading)
            before()
            status = run_command(arguments)
            if status == 0:
                os.write(writing, b"1")
        except BaseException as error:
            status = 70
            with contextlib.suppress(OSError):
                os.write(2, f"{error}\n".encode())
        finally:
            os._exit(status)
    os.close(writing)
    return child, reading


def find_strangers(folder: Path) -> list[str]:
    """Return the files of a model folder that the model does not need."""
    needed = {MANIFEST, LOCK, LOCK_NEXT, CHANGE_LOG, *(file.name for file in read_manifest(folder).files)}
    return sorted(path.name for path in folder.iterdir() if path.name not in needed)


def check_whole(folder: Path, digests: set[str]) -> str:
    """Return the digest of a folder, which must be whole and one of these."""
    store.load(folder)  # every checksum
    digest = read_manifest(folder).digest
    if digest not in digests:
        raise BrokenPromiseError(f"the folder is neither as before nor as after: {digest}")
    return digest
