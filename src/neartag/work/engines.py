"""Engines by name: which executor runs the tasks, and where the work folder is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neartag.core.errors import ParameterError

if TYPE_CHECKING:
    from neartag.work.executors.base import Executor
    from neartag.work.folder import WorkFolder

# This module must stay light: the command line reads it for --help.

ENGINES = ("threads", "processes", "dask")
WORK_ENDING = ".work"  # of the work folder's name, after that of what is made
SAVING = "saving"  # a file of the work folder: the digest of the model that is being saved


@dataclass(frozen=True)
class Engine:
    """What a user said about who does the work."""

    name: str = "threads"
    workers: int | None = None  # processes, of this computer
    scheduler: str | None = None  # the address of a Dask cluster
    folder: str | None = None
    keep: bool = False

    def check(self) -> None:
        """Raise ParameterError for options that do not go together, before any work."""
        if self.name not in ENGINES:
            raise ParameterError(f"--engine must be threads, processes or dask, not {self.name!r}")
        if self.workers is not None and self.workers < 1:
            raise ParameterError(f"--workers must be at least 1, not {self.workers}")
        if self.workers is not None and self.name == "threads":
            raise ParameterError("--workers is for --engine processes or dask; threads are as many as --n-jobs")
        if self.scheduler is not None and self.name != "dask":
            raise ParameterError("--scheduler is for --engine dask")
        if self.scheduler is not None and self.workers is not None:
            raise ParameterError("give --scheduler for a cluster that runs, or --workers for a local one, not both")
        if self.keep and not self.has_folder:
            raise ParameterError("--keep-work keeps a work folder: give one with --work-dir")

    @property
    def has_folder(self) -> bool:
        """Whether there is a work folder."""
        return self.folder is not None or self.name != "threads"

    def folder_for(self, target: str) -> str:
        """Return the work folder of what is made under a name: the one that was given, or one beside it."""
        return self.folder if self.folder is not None else target.rstrip("/\\") + WORK_ENDING

    def check_folder(self, target: str) -> None:
        """Raise ParameterError where the work folder and the target are one, or one is in the other."""
        if not self.has_folder:
            return
        from neartag.core.remote import locate

        work = self.folder_for(target)
        (kind, folders), (other, made) = locate(work), locate(target)
        if kind == other and (made[: len(folders)] == folders or folders[: len(made)] == made):
            raise ParameterError(
                f"the work folder {work} and {target} must not be one inside the other, since the first is removed in "
                "the end: name another folder by --work-dir"
            )

    def _folder(self, target: str) -> WorkFolder:
        from neartag.work.remote_folder import open_folder

        return open_folder(self.folder_for(target))

    def begin_saving(self, target: str, digest: str) -> None:
        """Note in the work folder, if there is one, which model is about to be saved by this training."""
        if self.has_folder:
            self._folder(target).write_note(SAVING, digest)

    def was_saving(self, target: str, digest: str | None) -> bool:
        """Say whether this work folder's training saved the model of this digest itself, and was killed after that."""
        return digest is not None and self.has_folder and self._folder(target).read_note(SAVING) == digest

    def find_saved(self, target: str, digest: str | None) -> WorkFolder | None:
        """Return the work folder whose training saved the model of this digest itself, and was killed after that.

        That is `was_saving`; or the folder was being removed, and cannot be gone on with any more.
        """
        if digest is None or not self.has_folder:
            return None
        folder = self._folder(target)
        return folder if digest in (folder.read_note(SAVING), folder.removed.read_note(SAVING)) else None

    def finish(self, folder: WorkFolder) -> None:
        """Remove a work folder when all is done, unless it is to be kept."""
        if self.keep:
            folder.remove_note(SAVING)
        else:
            folder.remove()

    @contextmanager
    def open(self, target: str, jobs: int, room: int | None = None) -> Iterator[Executor | None]:
        """Give the executor; None: threads of this process, with everything in memory.

        The work folder is removed when the block ends well, unless it is to be kept. Otherwise it stays: that is what
        the next attempt goes on with.
        """
        if not self.has_folder:
            yield None
            return
        folder = self._folder(target)
        with self._executor(folder, jobs, room) as executor, closing(executor):
            yield executor
        self.finish(folder)

    @contextmanager
    def _executor(self, folder: WorkFolder, jobs: int, room: int | None) -> Iterator[Executor]:
        from neartag.core.threads import available_cores
        from neartag.work.executors.in_process import InProcess
        from neartag.work.executors.joblib_processes import JoblibProcesses

        if self.name == "threads":
            yield InProcess(jobs, room, folder)
        elif self.name == "processes":
            yield JoblibProcesses(self.workers or available_cores(), folder, room)
        else:
            from neartag.work.executors.dask import Dask, connect

            with connect(self.scheduler, self.workers) as client:
                yield Dask(client, folder)
