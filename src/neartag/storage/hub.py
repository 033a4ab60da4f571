"""Models on a hub that speaks Hugging Face's protocol: sent in one commit, fetched and checked. Extra: hub.

Only files that model.json lists are sent or fetched, and the card. What comes from a hub is data from a stranger: sizes
are compared before anything is downloaded, checksums after, and the folder changes at once or not at all. No code is
run, and nothing is unpickled.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from neartag.core.errors import ModelError, NeartagError, ParameterError
from neartag.core.extras import install_hint
from neartag.encoders.sentence_models.base import first_line
from neartag.storage.folder import FolderWriter, open_files, read_content, refuse_foreign_folder
from neartag.storage.locking import lock
from neartag.storage.manifest import FILE_NAME, MANIFEST, MAX_MANIFEST_BYTES, Manifest, read_manifest
from neartag.storage.signing import Trust, make_trust

CARD = "README.md"
ENDPOINT_VARIABLE = "HF_ENDPOINT"  # the client's own, which it reads only once
REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
PIECE_BYTES = 1 << 20


def push(folder: Path, repository: str, card: str, *, public: bool = False, with_texts: bool = False) -> str:
    """Store a model folder with its card in a repository, which is made where it does not exist; return the commit.

    A new repository is private unless `public`. ParameterError where others could read the model's texts, unless
    `with_texts` says that they may. The files of a model that was there before go in the same commit.
    """
    _check_name(repository)
    client, api = _open_client()
    with ExitStack() as stack:
        manifest, handles = open_files(folder, stack)
        for file in manifest.files:
            read_content(handles[file.name], folder, file, verify=True)
        files = {file.name: folder / file.name for file in manifest.files}
        with _told_in_a_line(f"{folder} cannot be stored in {repository}"):
            api.create_repo(repository, private=not public, exist_ok=True)
            if manifest.texts is not None and not with_texts and not api.model_info(repository).private:
                raise ParameterError(
                    f"{repository} is public, and {folder} holds the texts of its documents: give --with-texts to "
                    "publish them, or train with --no-keep-texts"
                )
            stale = {name for name in api.list_repo_files(repository) if FILE_NAME.fullmatch(name)} - set(files)
            operations = [
                *(client.CommitOperationAdd(name, str(path)) for name, path in files.items()),
                client.CommitOperationAdd(MANIFEST, str(folder / MANIFEST)),
                client.CommitOperationAdd(CARD, card.encode()),
                *(client.CommitOperationDelete(name) for name in sorted(stale)),
            ]
            message = f"Store the neartag model {manifest.digest[:16]}"
            return str(api.create_commit(repository, operations, commit_message=message).oid)


def pull(
    repository: str,
    folder: Path,
    *,
    revision: str | None = None,
    expect_digest: str | None = None,
    trust: Trust | None = None,
) -> tuple[Manifest, str]:
    """Store a repository's model in a folder, in place of the one there; return its manifest and the commit.

    ModelError where the repository holds no model, or one that does not show what it must (`trust`), or files that are
    not what model.json says: the folder is then as it was.
    """
    _check_name(repository)
    refuse_foreign_folder(folder)
    _, api = _open_client()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".neartag-pull-", dir=folder.parent) as temporary:
        place = Path(temporary)
        with _told_in_a_line(f"the model of {repository} cannot be fetched"):
            commit = str(api.model_info(repository, revision=revision).sha)  # others may push meanwhile
            _fetch(api, repository, commit, {MANIFEST: None}, place)
            manifest = read_manifest(place)
            make_trust(expect_digest, None, trust).check(manifest, Path(repository))
            _fetch(api, repository, commit, {file.name: file.bytes for file in manifest.files}, place)
            card = [each for each in api.list_repo_files(repository, revision=commit) if each == CARD]
            _fetch(api, repository, commit, dict.fromkeys(card), place)
        _install(manifest, place, folder)
    return manifest, commit


def _install(manifest: Manifest, source: Path, folder: Path) -> None:
    """Copy a model's files into a folder, each compared with its checksum, and switch to them."""
    try:
        folder.mkdir(exist_ok=True)
        with lock(folder), FolderWriter(folder) as writer:
            for file in manifest.files:
                stem, _, suffix = file.name.split(".")
                if writer.add(stem, suffix, _pieces(source / file.name)) != file:
                    raise ModelError(
                        f"{file.name} is not what {MANIFEST} says, its checksum differs: nothing was changed"
                    )
            writer.switch((source / MANIFEST).read_bytes(), manifest.files)
            if (source / CARD).is_file():
                (folder / CARD).write_bytes((source / CARD).read_bytes())
    except OSError as error:
        raise ModelError(f"cannot save the model in {folder}, {error}: mend that and pull it again") from error


def _fetch(api: Any, repository: str, commit: str, sizes: dict[str, int | None], place: Path) -> None:
    """Download files; before that, ModelError where one is missing or has not the size that it should have."""
    if not sizes:
        return
    described = api.get_paths_info(repository, list(sizes), revision=commit)
    there = {each.path: int(each.size) for each in described if hasattr(each, "size")}
    for name, size in sizes.items():
        if name not in there:
            raise ModelError(f"{repository} holds no neartag model, the file {name} is missing: check the name")
        right = there[name] == size if size is not None else there[name] <= MAX_MANIFEST_BYTES
        if not right:
            told = f"{name} of {repository} has {there[name]} bytes, which it should not"
            raise ModelError(f"{told}: get the right model")
    for name in sizes:
        api.hf_hub_download(repository, name, revision=commit, local_dir=str(place))


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while piece := stream.read(PIECE_BYTES):
            yield piece


def _check_name(repository: str) -> None:
    if not REPOSITORY.fullmatch(repository):
        raise ParameterError(f"{repository!r:.80} is no name of a repository: give OWNER/NAME")


def _open_client() -> tuple[Any, Any]:
    """Return the hub's client: its module, and its calls."""
    try:
        import huggingface_hub
    except ImportError as error:
        raise NeartagError(install_hint("to use a hub needs huggingface_hub", "hub")) from error
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()  # progress is shown in one way, and not at all where that is asked for
    return huggingface_hub, huggingface_hub.HfApi(endpoint=os.environ.get(ENDPOINT_VARIABLE) or None)


@contextmanager
def _told_in_a_line(what: str) -> Iterator[None]:
    """Raise ModelError for whatever the client raises: no network, no such name, no permission, each in its own way."""
    try:
        yield
    except NeartagError:
        raise
    except Exception as error:
        raise ModelError(f"{what}: {first_line(error)}") from error
