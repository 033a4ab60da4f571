"""The folder that a command saves a model in: whether it can be, and how large it is then."""

from __future__ import annotations

from pathlib import Path

from neartag.core.errors import ModelError
from neartag.work.engines import Engine


def check_target(name: str, overwrite: bool) -> None:
    """Raise ModelError, before any work is lost, where a model could not be saved in a folder of this name."""
    if not name.strip():
        raise ModelError("MODEL is empty: name the folder to save the model in")
    folder = Path(name)
    import tempfile

    from neartag.storage.folder import refuse_foreign_folder
    from neartag.storage.manifest import MANIFEST

    refuse_foreign_folder(folder)
    if (folder / MANIFEST).exists() and not overwrite:
        raise ModelError(f"{folder} holds a model: give --overwrite to replace it, or name another folder")
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise ModelError(f"cannot save in {folder}: {existing}: {error.strerror}") from error


def find_digest(name: str) -> str | None:
    """Return the digest of the model in a folder; None where there is none that can be read."""
    from neartag.storage.manifest import read_manifest

    try:
        return read_manifest(Path(name)).digest
    except (ModelError, OSError):
        return None


def announce_saving(engine: Engine, target: str, digest: str) -> None:
    """Do what is to be done just before a model becomes that of its folder."""
    from neartag.storage.change_log import settle_changes

    settle_changes(Path(target))
    engine.begin_saving(target, digest)


def disk_bytes(folder: Path) -> int:
    """Return the size of a model folder's files."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
