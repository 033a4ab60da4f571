"""The model folder: a model is saved whole or not at all, and loaded by memory map without running code from it.

    model.json                  format version, kind, settings; name, size and SHA-256 of each other file
    <part>.<hash>.safetensors   arrays, one file for each part: model, learner-000, …, features
    texts.<hash>.safetensors    the training documents' texts
    added.<hash>.safetensors    documents added after training (segments.py)
    <what>.<hash>.json          the rest: features (their settings), label-names, point-names, vocabulary
    changes.jsonl               who added, forgot and edited what, once somebody did (change_log.py)
    .lock                       held by whoever saves; .lock-next by whoever waits to save next

The hash in a file's name is that of its content, so a new model never overwrites a file of the old one. New files are
written beside the old ones; then model.json is replaced, which is the only switch; then the old files go. Nothing in
the folder depends on the time or the place of saving: the same model gives the same bytes.

A model's `kind` names its class, which the registry of methods finds; the class is imported only when a folder asks for
it. The same holds for encoders. manifest.py reads model.json, folder.py writes and opens files, tensors.py packs and
maps arrays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from neartag.core.errors import ModelError, ParameterError
from neartag.core.garbage import paused_garbage_collection
from neartag.linalg import tensors
from neartag.storage import kinds
from neartag.storage.assembly import assemble
from neartag.storage.bundle import StoredModel
from neartag.storage.content import encode_json, find_miscount
from neartag.storage.folder import FolderWriter, open_files, read_content, refuse_foreign_folder
from neartag.storage.locking import lock
from neartag.storage.manifest import PART_NAME, FeaturesEntry, Manifest
from neartag.storage.signing import PublicKey, Trust, make_trust
from neartag.storage.texts import Texts
from neartag.vocabulary.concepts import Vocabulary
from neartag.vocabulary.state import to_json

__all__ = ["Storable", "StoredModel", "inspect", "load", "lock", "save", "save_bundle"]


class Storable(Protocol):
    """What a model must have to be stored: its kind, and its state as JSON and arrays."""

    kind: ClassVar[str]

    def to_state(self) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
        """Return settings that JSON can hold (the order of keys is not kept), and arrays by part and name."""

    @classmethod
    def from_state(cls, settings: dict[str, Any], parts: dict[str, dict[str, np.ndarray]]) -> Any:
        """Return the model of this state; the arrays are read-only."""


def save(
    model: Storable,
    folder: str | os.PathLike[str],
    *,
    label_names: Iterable[str] | None = None,
    point_names: Iterable[str] | None = None,
    features: Any = None,
    texts: Texts | None = None,
    extras: dict[str, Any] | None = None,
    vocabulary: Vocabulary | None = None,
    generation: int = 0,
    locked: bool = False,
    announce: Callable[[str], None] | None = None,
) -> Manifest:
    """Store a model in a folder, in place of the one there. If anything goes wrong, the folder holds one of the two.

    Parameters
    ----------
    model : fitted classifier, or its `model_`
        What to store.
    folder : str or path
        Where; it is made where it does not exist. A folder that holds other things is refused.
    label_names, point_names : iterable of str, optional
        Names of the labels and of the training points.
    features : encoder, optional
        The fitted encoder that made the rows, such as TfidfFeatures.
    texts : Texts, optional
        The texts of the training points.
    extras : dict, optional
        Small values that go with the model, which JSON can hold.
    vocabulary : Vocabulary, optional
        What the labels mean, and which names lead to them.
    generation : int, default 0
        How often documents were forgotten, or labels changed.
    locked : bool, default False
        Whether the caller holds the folder's lock already.
    announce : callable, optional
        It is called with the digest of the new model.json, just before that is put in place.

    Returns
    -------
    Manifest
        What model.json says now.

    Raises
    ------
    ParameterError
        Something given cannot be stored.
    ModelError
        The folder cannot be written, or holds other things than a model.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from neartag import X1Classifier, store
    >>> X, Y = np.eye(4, dtype=np.float32), np.eye(4, 2, dtype=np.float32)
    >>> classifier = X1Classifier(n_clusters=1, embedding_dim=2, n_jobs=1).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     manifest = store.save(classifier, folder, label_names=["cat", "dog"])
    ...     store.load(folder).label_names
    ['cat', 'dog']
    """
    place = Path(folder)
    model = getattr(model, "model_", model)  # a fitted estimator is saved as what it learned
    if not hasattr(model, "kind"):
        raise ParameterError(f"{type(model).__name__} cannot be saved: give a fitted classifier or its model_")
    kinds.model_class(model.kind)  # what could not be loaded is not saved
    labels, points = _list_of_strings(label_names, "label_names"), _list_of_strings(point_names, "point_names")
    wrong = find_miscount(model, labels, points, texts)
    if wrong:
        raise ParameterError(f"the model cannot be saved with these names, {wrong}")
    settings, parts = model.to_state()
    for part in parts:
        if part == "features" or not PART_NAME.fullmatch(part):
            raise ParameterError(f"a part cannot be named {part!r}: use small letters, digits, dashes; not 'features'")
    described = None if vocabulary is None else to_json(vocabulary)
    given = {"label-names": labels, "point-names": points, "vocabulary": described}
    names = {stem: encode_json(value, stem) for stem, value in given.items() if value is not None}
    try:
        refuse_foreign_folder(place)
        place.mkdir(parents=True, exist_ok=True)
        with nullcontext() if locked else lock(place), FolderWriter(place) as writer:
            files = {part: writer.add(part, "safetensors", tensors.pack(parts[part], part)) for part in parts}
            name_files = {stem: writer.add(stem, "json", [text]) for stem, text in names.items()}
            manifest = Manifest(
                kind=model.kind,
                settings=settings,
                parts=files,
                features=None if features is None else _add_features(features, writer),
                label_names=name_files.get("label-names"),
                point_names=name_files.get("point-names"),
                texts=None if texts is None else writer.add("texts", "safetensors", _pack_texts(texts)),
                vocabulary=name_files.get("vocabulary"),
                extras=extras or {},
                generation=generation,
            )
            content = manifest.to_json()
            document = encode_json(content, f"the settings of {model.kind!r}", indent=2)
            told = None if announce is None else partial(announce, content["digest"])
            writer.switch(document, manifest.files, told)
    except OSError as error:
        raise ModelError(f"cannot save the model in {place}, {error}: mend that and save it again") from error
    return manifest


def save_bundle(
    stored: StoredModel,
    folder: str | os.PathLike[str],
    *,
    generation: int = 0,
    locked: bool = False,
    announce: Callable[[str], None] | None = None,
) -> Manifest:
    """Store a model with all that goes with it; parameters as of `save`."""
    return save(
        stored.model,
        folder,
        label_names=stored.label_names,
        point_names=stored.point_names,
        features=stored.features,
        texts=stored.texts,
        extras=stored.extras,
        vocabulary=stored.vocabulary,
        generation=generation,
        locked=locked,
        announce=announce,
    )


def load(
    folder: str | os.PathLike[str],
    *,
    verify: bool = True,
    expect_digest: str | None = None,
    require_signature: str | os.PathLike[str] | PublicKey | None = None,
    trust: Trust | None = None,
) -> StoredModel:
    """Return the model of a folder with its names and its encoder.

    Parameters
    ----------
    folder : str or path
        The model folder.
    verify : bool, default True
        Compare every file with its checksum.
    expect_digest : str, optional
        The digest that `inspect` gave, or its first 16 digits or more: a folder with another one is refused.
    require_signature : str or path, optional
        File of a public key: a model that is not signed with its private half is refused. The signature covers what
        training made, not documents that were added later.
    trust : Trust, optional
        Both of these as one value.

    Returns
    -------
    StoredModel
        Its arrays are memory-mapped and read-only.

    Raises
    ------
    ModelError
        There is no model, it is damaged, or its kind is not known here.

    Examples
    --------
    >>> from neartag import store
    >>> store.load("no-such-folder")
    Traceback (most recent call last):
        ...
    neartag.core.errors.ModelError: there is no folder no-such-folder: check the path, or train a model first
    """
    place = Path(folder)
    trust = make_trust(expect_digest, require_signature, trust)
    # A vocabulary is some hundred thousand objects: of the time they take, two thirds would be the search for circles.
    with paused_garbage_collection(), ExitStack() as stack:
        manifest, handles = open_files(place, stack)
        trust.check(manifest, place)
        # Before the files are read: a folder of an unknown kind is refused at once.
        model_class = kinds.model_class(manifest.kind)
        encoder_class = None if manifest.features is None else kinds.encoder_class(manifest.features.kind)
        contents = {file.name: read_content(handles[file.name], place, file, verify) for file in manifest.files}
        return assemble(manifest, contents, place, model_class, encoder_class)


def inspect(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what model.json says of a folder, without loading the model.

    Parameters
    ----------
    folder : str or path
        The model folder. Of its other files only presence and size are checked.

    Returns
    -------
    dict
        Fit for JSON: "kind", "settings", "features", "added", "extras", "files" with the size of each, "bytes", ….

    Raises
    ------
    ModelError
        There is no model, or files of it are missing.

    Examples
    --------
    >>> from neartag import store
    >>> store.inspect("no-such-folder")
    Traceback (most recent call last):
        ...
    neartag.core.errors.ModelError: there is no folder no-such-folder: check the path, or train a model first
    """
    with ExitStack() as stack:
        manifest, _ = open_files(Path(folder), stack)
        return manifest.info


def _add_features(features: Any, writer: FolderWriter) -> FeaturesEntry:
    kinds.encoder_class(features.kind)
    settings, arrays = features.to_state()
    return FeaturesEntry(
        kind=features.kind,
        settings=writer.add("features", "json", [encode_json(settings, f"the settings of {features.kind!r}")]),
        arrays=writer.add("features", "safetensors", tensors.pack(arrays, "features")),
    )


def _pack_texts(texts: Texts) -> Iterator[bytes | memoryview]:
    content, ends = texts.to_arrays()
    return tensors.pack({"content": content, "ends": ends}, "texts")


def _list_of_strings(names: Iterable[str] | None, what: str) -> list[str] | None:
    if names is None:
        return None
    # Into a list before anything else: an iterator would be empty when its names are written.
    listed = list(names) if isinstance(names, Iterable) else []
    if isinstance(names, str) or not isinstance(names, Iterable) or not all(isinstance(name, str) for name in listed):
        raise ParameterError(f"{what} must be a list of strings")
    return listed
