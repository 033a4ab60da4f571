"""model.json: what a model folder holds. Every field is checked on reading, since anyone may have written it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neartag.core.errors import ModelError, ParameterError
from neartag.core.version import __version__
from neartag.storage.content import REMEDY, decode_json, encode_json
from neartag.storage.location import MANIFEST, check_model_folder
from neartag.storage.signing import SIGNATURE_KIND, Signature

FORMAT = "neartag-model"
FORMAT_VERSION = 3
OLDEST_FORMAT_VERSION = 1  # it has no texts, nothing added and no extras
OLDEST_WITH_DIGEST = 3
MAX_MANIFEST_BYTES = 64 * 2**20  # far more than settings need; a wrong file must not fill the memory
HASH_DIGITS = 16  # of SHA-256 in a file name: short to read, and two contents never share them by chance

FIELDS = {
    *("format", "format_version", "neartag_version", "kind", "settings", "parts", "features", "label_names"),
    *("point_names", "texts", "vocabulary", "added", "extras", "generation", "digest", "signature"),
}
# What a signature does not cover: what adding documents changes, and what tells about the rest.
NOT_SIGNED = ("format", "format_version", "neartag_version", "added", "digest", "signature")
DIGEST = re.compile(rf"[0-9a-f]{{{HASH_DIGITS},64}}")
PART_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
FILE_NAME = re.compile(rf"{PART_NAME.pattern}\.[0-9a-f]{{{HASH_DIGITS}}}\.(?:safetensors|json)")


@dataclass(frozen=True)
class File:
    """A file of the folder as model.json lists it."""

    name: str
    bytes: int
    sha256: str

    def to_json(self) -> dict[str, Any]:
        """Return the entry for model.json."""
        return {"name": self.name, "bytes": self.bytes, "sha256": self.sha256}


@dataclass(frozen=True)
class FeaturesEntry:
    """Features as model.json lists them."""

    kind: str
    settings: File  # a file of its own: a vocabulary may be large
    arrays: File


@dataclass(frozen=True)
class AddedEntry:
    """Documents added after training, as model.json lists them."""

    file: File
    points: int


@dataclass(frozen=True)
class Manifest:
    """The content of model.json."""

    kind: str
    settings: dict[str, Any]
    parts: dict[str, File]
    features: FeaturesEntry | None = None
    label_names: File | None = None
    point_names: File | None = None
    texts: File | None = None
    vocabulary: File | None = None
    added: tuple[AddedEntry, ...] = ()
    extras: dict[str, Any] = field(
        default_factory=dict
    )  # small values that go with the model, by name, such as the calibration
    generation: int = (
        0  # how often documents were forgotten or labels changed: the same files may then hold other points
    )
    neartag_version: str = __version__
    signature: Signature | None = None  # of what training made

    @property
    def files(self) -> list[File]:
        """Every file that the model needs."""
        return [*self.trained_files, *(entry.file for entry in self.added)]

    @property
    def trained_files(self) -> list[File]:
        """The files that adding documents leaves as they are."""
        features = [] if self.features is None else [self.features.settings, self.features.arrays]
        others = (file for file in (self.label_names, self.point_names, self.texts, self.vocabulary) if file)
        return [*self.parts.values(), *features, *others]

    @property
    def info(self) -> dict[str, Any]:
        """What a person may want to know about the folder, fit for JSON."""
        return {
            "format_version": FORMAT_VERSION,
            "neartag_version": self.neartag_version,
            "digest": self.digest,
            "signed_by": None if self.signature is None else self.signature.public_key,
            "kind": self.kind,
            "settings": self.settings,
            "features": None if self.features is None else self.features.kind,
            "label_names": self.label_names is not None,
            "point_names": self.point_names is not None,
            "texts": self.texts is not None,
            "vocabulary": self.vocabulary is not None,
            "added": sum(entry.points for entry in self.added),
            "extras": self.extras,
            "files": {file.name: file.bytes for file in self.files},
            "bytes": sum(file.bytes for file in self.files),
        }

    @property
    def digest(self) -> str:
        """The SHA-256 of all that the folder holds: of model.json, which has that of each file."""
        return str(self.to_json()["digest"])

    @property
    def base_digest(self) -> str:
        """The SHA-256 of what training made, which adding documents leaves as it is: what a signature covers."""
        return compute_base_digest(self.to_json())

    def check_digest(self, expected: str, place: Path) -> None:
        """Raise ModelError where the digest, of which the first digits may be given, is another one."""
        wanted = expected.strip().lower()
        if not DIGEST.fullmatch(wanted):
            raise ParameterError(f"{expected!r:.80} is no digest: give the 64 digits that neartag inspect prints")
        if not self.digest.startswith(wanted):
            raise ModelError(f"{place} has the digest {self.digest}, not the one expected: get the right model")

    def to_json(self) -> dict[str, Any]:
        """Return the document that `parse_manifest` reads."""
        features = self.features
        document: dict[str, Any] = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "neartag_version": self.neartag_version,
            "kind": self.kind,
            "settings": self.settings,
            "parts": {part: file.to_json() for part, file in self.parts.items()},
            "features": None
            if features is None
            else {
                "kind": features.kind,
                "settings": features.settings.to_json(),
                "arrays": features.arrays.to_json(),
            },
            "label_names": None if self.label_names is None else self.label_names.to_json(),
            "point_names": None if self.point_names is None else self.point_names.to_json(),
            "texts": None if self.texts is None else self.texts.to_json(),
            **({} if self.vocabulary is None else {"vocabulary": self.vocabulary.to_json()}),
            "added": [{"file": entry.file.to_json(), "points": entry.points} for entry in self.added],
            "extras": self.extras,
            "generation": self.generation,
            **({} if self.signature is None else {"signature": self.signature.to_json()}),
        }
        for entry, link in zip(document["added"], _make_chain(document), strict=True):
            entry["after"] = link
        return {**document, "digest": compute_digest(document, f"the settings of {self.kind!r}")}


def compute_digest(document: dict[str, Any], what: str = MANIFEST) -> str:
    """Return the SHA-256 of what the document says, its own digest left out, however it is written down."""
    others = {key: value for key, value in document.items() if key != "digest"}
    # As it is read again: keys and numbers may change their type on the way.
    read = json.loads(encode_json(others, what))
    return hashlib.sha256(encode_json(read, what)).hexdigest()


def compute_base_digest(document: dict[str, Any]) -> str:
    """Return the SHA-256 of what the document says of the trained model."""
    return compute_digest({key: value for key, value in document.items() if key not in NOT_SIGNED})


def _make_chain(document: dict[str, Any]) -> list[str]:
    """Return for each addition the digest of what it follows: of the trained model, and of the additions before it."""
    links, link = [], compute_base_digest(document) if document["added"] else ""
    for entry in document["added"]:
        links.append(link)
        link = hashlib.sha256(f"{link} {entry['file']['sha256']} {entry['points']}".encode()).hexdigest()
    return links


def read_manifest(folder: Path) -> Manifest:
    """Return the folder's manifest; ModelError says why this is no model folder of ours."""
    check_model_folder(folder)
    path = folder / MANIFEST
    document = read_document(path)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelError(f"{path} is not neartag's: check the path")
    return parse_manifest(document, path)


def read_document(path: Path) -> Any:
    """Return the value of model.json; PermissionError is left to the caller, who may have lost a race on Windows."""
    try:
        with path.open("rb") as handle:
            # Ask for no more than is there: Python sets that much memory aside at once.
            content = handle.read(min(os.fstat(handle.fileno()).st_size, MAX_MANIFEST_BYTES) + 1)
    except PermissionError:
        raise
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error}") from error
    if len(content) > MAX_MANIFEST_BYTES:
        raise ModelError(f"{path} is larger than {MAX_MANIFEST_BYTES} bytes: {REMEDY}")
    return decode_json(content, path)


def parse_manifest(document: dict[str, Any], path: Path) -> Manifest:
    """Return the manifest; ModelError unless each field has the right type and each file name is one of ours."""
    version = _field(document, "format_version", int, path)
    written_by = _field(document, "neartag_version", str, path)
    if version > FORMAT_VERSION:
        raise ModelError(f"{path.parent} was written by neartag {written_by!r}, format {version}: upgrade neartag")
    if version < OLDEST_FORMAT_VERSION:
        raise ModelError(f"{path}: there is no format {version}: {REMEDY}")
    _check_digest(document, version, path)
    features = document.get("features")
    if features is not None:
        features = _field(document, "features", dict, path)
        features = FeaturesEntry(
            _field(features, "kind", str, path),
            _file(features, "settings", "json", path),
            _file(features, "arrays", "safetensors", path),
        )
    parts = _field(document, "parts", dict, path)
    parsed = Manifest(
        kind=_field(document, "kind", str, path),
        settings=_field(document, "settings", dict, path),
        parts={part: _file(parts, part, "safetensors", path) for part in parts},
        features=features,
        label_names=_file(document, "label_names", "json", path) if document.get("label_names") is not None else None,
        point_names=_file(document, "point_names", "json", path) if document.get("point_names") is not None else None,
        texts=_file(document, "texts", "safetensors", path) if document.get("texts") is not None else None,
        vocabulary=_file(document, "vocabulary", "json", path) if document.get("vocabulary") is not None else None,
        added=tuple(_parse_added(entry, path) for entry in _field({"added": [], **document}, "added", list, path)),
        extras=_field({"extras": {}, **document}, "extras", dict, path),
        generation=_field({"generation": 0, **document}, "generation", int, path),
        neartag_version=written_by,
        signature=_parse_signature(document, path),
    )
    _check_chain(document, parsed, path)
    return parsed


def _check_chain(document: dict[str, Any], parsed: Manifest, path: Path) -> None:
    """Raise ModelError where an addition was made to another model; those of earlier versions do not tell."""
    if parsed.added and [entry.get("after") for entry in document["added"]] not in (
        _make_chain(document),
        [None] * len(parsed.added),
    ):
        raise ModelError(f"{path}: documents were added to another model than this one: {REMEDY}")


def _parse_signature(document: dict[str, Any], path: Path) -> Signature | None:
    if document.get("signature") is None:
        return None
    entry = _field(document, "signature", dict, path)
    kind, key, value = (_field(entry, name, str, path) for name in ("kind", "public_key", "value"))
    if kind != SIGNATURE_KIND:
        raise ModelError(f"{path}: signatures of kind {kind!r:.40} are unknown: upgrade neartag")
    return Signature(key, value)


def _check_digest(document: dict[str, Any], version: int, path: Path) -> None:
    """Raise ModelError where the document is not as it was written; warn where nothing can tell."""
    unknown = sorted(set(document) - FIELDS)
    if unknown:
        raise ModelError(f"{path}: the field {unknown[0]!r:.60} is not one of ours: {REMEDY}")
    if version < OLDEST_WITH_DIGEST and "digest" not in document:
        told = f"{path.parent} was written by an earlier neartag, and nothing tells whether its {MANIFEST} was damaged"
        warnings.warn(f"{told}: add or forget a document, or save the model again", UserWarning, stacklevel=2)
    elif _field(document, "digest", str, path) != compute_digest(document):
        raise ModelError(f"{path} is not as it was written, its digest does not fit: {REMEDY}")


def _parse_added(entry: Any, path: Path) -> AddedEntry:
    entry = _field({"added": entry}, "added", dict, path)
    points = _field(entry, "points", int, path)
    if points < 0:
        raise ModelError(f"{path}: documents added cannot be {points}: {REMEDY}")
    return AddedEntry(_file(entry, "file", "safetensors", path), points)


def _file(document: dict[str, Any], name: str, suffix: str, path: Path) -> File:
    entry = _field(document, name, dict, path)
    file = File(*(_field(entry, key, kind, path) for key, kind in (("name", str), ("bytes", int), ("sha256", str))))
    # Only names that we would give: no slash, no "..", nothing outside the folder.
    if not FILE_NAME.fullmatch(file.name) or not file.name.endswith(suffix):
        raise ModelError(f"{path}: {file.name!r} is not a name of a file of {name!r}: {REMEDY}")
    return file


def _field(document: dict[str, Any], name: str, kind: type, path: Path) -> Any:
    value = document.get(name)
    if type(value) is not kind:  # not isinstance: true is no number here
        raise ModelError(f"{path}: the field {name!r} is missing or not of type {kind.__name__}: {REMEDY}")
    return value
