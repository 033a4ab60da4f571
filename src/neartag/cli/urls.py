"""Arguments that may be URLs of storage elsewhere: copied to this computer before a command, or from it after."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from neartag.core.errors import ModelError, ParameterError


def with_urls(*read: str, written: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return what lets a command take URLs for its arguments `read`, and for the model folder that is `written`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            from neartag.data.remote import is_url, local_copy

            with ExitStack() as stack:
                for name in read:
                    if isinstance(given[name], str) and is_url(given[name]):
                        given[name] = stack.enter_context(local_copy(given[name]))
                if written is not None and is_url(given[written]):
                    given[written] = stack.enter_context(_upload_model(given[written], given))
                command(**given)

        return run

    return decorate


@contextmanager
def _upload_model(url: str, given: dict[str, Any]) -> Iterator[str]:
    """Give a folder to save a model in, which is copied to a URL in the end."""
    import tempfile

    from neartag.cli import output
    from neartag.data.remote import has_file, upload_folder
    from neartag.storage.location import MANIFEST

    if given.get("engine") != "threads" and given.get("work_dir") is None:
        raise ParameterError(f"{url} cannot hold the work folder, which is mapped: name one by --work-dir")
    if given.get("add_learners") is not None:
        raise ParameterError(f"--add-learners needs a model on this computer, not {url}")
    if has_file(url, MANIFEST) and not given.get("overwrite"):
        raise ModelError(f"{url} holds a model: give --overwrite to replace it, or name another folder")
    with tempfile.TemporaryDirectory(prefix="neartag-model-") as folder:
        model = Path(folder) / "model"
        yield str(model)
        upload_folder(model, url, MANIFEST)
    output.message(f"the model is in {url}", quiet=bool(given.get("quiet")))
