"""Signs the model of a folder; signing.py has the keys and the check."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from neartag.core.errors import ModelError
from neartag.storage.content import encode_json
from neartag.storage.folder import FolderWriter
from neartag.storage.location import check_model_folder
from neartag.storage.locking import lock
from neartag.storage.manifest import MANIFEST, Manifest
from neartag.storage.signing import sign_digest
from neartag.storage.store import load


def sign(folder: str | os.PathLike[str], key: str | os.PathLike[str]) -> Manifest:
    """Sign the model of a folder, in place of a signature that is there, and return its manifest.

    Parameters
    ----------
    folder : str or path
        The model folder. Every file is compared with its checksum first.
    key : str or path
        File of the private key, as `neartag new-key` makes it.

    Returns
    -------
    Manifest
        What model.json holds now, its signature among it.

    Raises
    ------
    ModelError
        There is no model, it is damaged, or the folder cannot be written.
    ParameterError
        The key cannot be used.

    Examples
    --------
    >>> from neartag import store
    >>> store.sign("no-such-folder", "private.key")
    Traceback (most recent call last):
        ...
    neartag.core.errors.ModelError: there is no folder no-such-folder: check the path, or train a model first
    """
    place = Path(folder)
    check_model_folder(place)
    try:
        with lock(place), FolderWriter(place) as writer:
            manifest = load(place).manifest
            assert manifest is not None
            signed = replace(manifest, signature=sign_digest(manifest.base_digest, key))
            writer.switch(encode_json(signed.to_json(), MANIFEST, indent=2), signed.files)
    except OSError as error:
        raise ModelError(f"cannot sign the model in {place}, {error}: mend that and sign it again") from error
    return signed
