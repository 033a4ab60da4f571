"""Arguments that may be URLs of storage elsewhere: copied to this computer before a command, or from it after."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from neartag.core.errors import ModelError, NeartagError, ParameterError


class LocalCopy(str):
    """The path of a copy on this computer, which knows the URL that it stands for."""

    url: str

    def __new__(cls, path: str, url: str) -> LocalCopy:
        """Return the path."""
        copy = super().__new__(cls, path)
        copy.url = url
        return copy


def name_of(path: str) -> str:
    """Return the name by which a user knows a path: a copy's URL."""
    return path.url if isinstance(path, LocalCopy) else path


_copies: ContextVar[tuple[LocalCopy, ...]] = ContextVar("copies", default=())  # of the command that runs


def name_urls(text: str) -> str:
    """Return a text in which copies, which are gone when somebody reads of them, have the names of their URLs."""
    for copy in _copies.get():
        text = text.replace(copy, copy.url)
    return text


def with_urls(*read: str, written: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return what lets a command take URLs for its arguments `read`, and for the model folder that is `written`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            from neartag.core.remote import is_url
            from neartag.data.remote import local_copy

            with ExitStack() as stack:
                copies: list[LocalCopy] = []
                for name in read:
                    if isinstance(given[name], str) and is_url(given[name]):
                        url = given[name]
                        given[name] = LocalCopy(stack.enter_context(local_copy(url)), url)
                        copies.append(given[name])
                stack.enter_context(_naming_urls(copies))
                if written is not None and is_url(given[written]):
                    url = given[written]
                    given[written] = LocalCopy(stack.enter_context(_upload_model(url, given)), url)
                command(**given)

        return run

    return decorate


@contextmanager
def _naming_urls(copies: list[LocalCopy]) -> Iterator[None]:
    """Let errors about copies name their URLs, and messages that ask for it."""
    token = _copies.set(tuple(copies))
    try:
        yield
    except NeartagError as error:
        error.args = (name_urls(str(error)),)
        raise
    finally:
        _copies.reset(token)


@contextmanager
def _upload_model(url: str, given: dict[str, Any]) -> Iterator[str]:
    """Give a folder to save a model in, which is copied to a URL in the end."""
    import tempfile
    from shutil import rmtree

    from neartag.cli import output
    from neartag.data.remote import is_empty, upload_folder
    from neartag.storage.location import MANIFEST

    if given.get("engine") != "threads" and given.get("work_dir") is None:
        raise ParameterError(
            f"say where the work folder is to be by --work-dir, as a folder or as a URL; {url} will hold the model only"
        )
    if given.get("add_learners") is not None:
        raise ParameterError(f"--add-learners needs a model on this computer, not {url}")
    there = _model_files(url)
    if there is not None and not given.get("overwrite"):
        raise ModelError(f"{url} holds a model: give --overwrite to replace it, or name another folder")
    if there is None and not is_empty(url):
        raise ModelError(f"{url} holds other files than a model's: name another folder")
    folder = Path(tempfile.mkdtemp(prefix="neartag-model-"))
    model = folder / "model"
    try:
        yield str(model)
        upload_folder(model, url, MANIFEST, there or ())
    except BaseException:
        if (model / MANIFEST).exists():  # hours of work: not to be lost for want of a network
            output.message(f"the model was not copied to {url}: it is in {model}")
        else:
            rmtree(folder, ignore_errors=True)
        raise
    rmtree(folder, ignore_errors=True)
    output.message(f"the model is in {url}", quiet=bool(given.get("quiet")))


def _model_files(url: str) -> list[str] | None:
    """Return the names of a model's files elsewhere; None where there is no model."""
    import json

    from neartag.data.remote import read_file
    from neartag.storage.location import MANIFEST
    from neartag.storage.manifest import parse_manifest

    content = read_file(url, MANIFEST)
    if content is None:
        return None
    try:
        return [file.name for file in parse_manifest(json.loads(content), Path(MANIFEST)).files]
    except ValueError as error:  # what is no JSON
        raise ModelError(f"{url} holds a damaged {MANIFEST}: name another folder") from error
