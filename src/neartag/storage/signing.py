"""Signatures of models: whoever has the public key can tell that a model was signed by whoever has the private one.

Ed25519, from the package cryptography (`neartag[sign]`). What is signed is the digest of what training made; documents
that are added later are not covered, so that adding needs no key (manifest.py).
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neartag.core.errors import ModelError, NeartagError, ParameterError
from neartag.core.extras import install_hint

PUBLIC_ENDING = ".pub"
# Stands before what is signed, so that a signature for something else is never one of a model.
PURPOSE = b"neartag model, trained part: "
SIGNATURE_KIND = "ed25519"
MAX_KEY_BYTES = 10_000  # of a file: ours have about a hundred


@dataclass(frozen=True)
class PublicKey:
    """The key that signatures are checked with: 32 bytes, in base64."""

    text: str

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> PublicKey:
        """Return the key of a file in PEM; ParameterError where it holds none."""
        _, serialization, _ = _cryptography()
        content = _read_key_file(path)
        try:
            key = serialization.load_pem_public_key(content)
        except (ValueError, TypeError) as error:
            raise ParameterError(f"{path} is no public key in PEM: give the file {PUBLIC_ENDING} of the two") from error
        return cls(_public_text(key, path))

    def verify(self, signature: Signature | None, digest: str, place: Path) -> None:
        """Raise ModelError unless the trained part of this digest was signed with this key's private half."""
        ed25519, _, invalid_signature = _cryptography()
        if signature is None:
            raise ModelError(f"{place} is not signed, and a signature is required: neartag sign signs it")
        if signature.public_key != self.text:
            raise ModelError(f"{place} is signed with another key ({signature.public_key}) than the one required")
        try:
            key = ed25519.Ed25519PublicKey.from_public_bytes(_decode(self.text))
            key.verify(_decode(signature.value), PURPOSE + digest.encode())
        except (invalid_signature, ValueError) as error:
            raise ModelError(
                f"{place} has a wrong signature: it is not what was signed; get the right model"
            ) from error


@dataclass(frozen=True)
class Signature:
    """A signature, and the public key that it can be checked with, both in base64."""

    public_key: str
    value: str

    def to_json(self) -> dict[str, Any]:
        """Return the entry for model.json."""
        return {"kind": SIGNATURE_KIND, "public_key": self.public_key, "value": self.value}


@dataclass(frozen=True)
class Trust:
    """What a model must show before it is used."""

    expect_digest: str | None = None  # or the beginning of it
    public_key: PublicKey | None = None  # that its signature must fit

    def check(self, manifest: Any, place: Path) -> None:
        """Raise ModelError unless a folder's manifest shows it."""
        if self.expect_digest is not None:
            manifest.check_digest(self.expect_digest, place)
        if self.public_key is not None:
            self.public_key.verify(manifest.signature, manifest.base_digest, place)


def make_trust(
    expect_digest: str | None, require_signature: str | os.PathLike[str] | PublicKey | None, trust: Trust | None = None
) -> Trust:
    """Return what is asked for, with the key read; `trust` itself where it is given."""
    if trust is not None:
        return trust
    if require_signature is None or isinstance(require_signature, PublicKey):
        return Trust(expect_digest, require_signature)
    return Trust(expect_digest, PublicKey.read(require_signature))


def sign_digest(digest: str, key_file: str | os.PathLike[str]) -> Signature:
    """Return the signature of the trained part of this digest with the private key of a file in PEM."""
    ed25519, serialization, _ = _cryptography()
    content = _read_key_file(key_file)
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError) as error:
        hint = "neartag new-key makes one; one with a password is not read"
        raise ParameterError(f"{key_file} is no private key in PEM: {hint}") from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise ParameterError(f"{key_file} is a key of another kind than Ed25519: neartag new-key makes one")
    value = key.sign(PURPOSE + digest.encode())
    return Signature(_public_text(key.public_key(), key_file), _encode(value))


def write_new_key(path: str | os.PathLike[str]) -> Path:
    """Make a key: the private half in a file that only its owner may read, the public one beside it.

    Files that are there are never overwritten. Returns the file of the public half.
    """
    ed25519, serialization, _ = _cryptography()
    private, public = Path(path), Path(f"{path}{PUBLIC_ENDING}")
    for file in (private, public):
        if os.path.lexists(file):
            raise ParameterError(f"{file} is there already, and keys are never overwritten: name another file")
    key = ed25519.Ed25519PrivateKey.generate()
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    shared = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    try:
        _write_once(private, secret, 0o600)
        _write_once(public, shared, 0o644)
    except OSError as error:
        raise ParameterError(f"the key cannot be written: {error.filename or path}: {error.strerror}") from error
    return public


def _write_once(path: Path, content: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _read_key_file(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read(MAX_KEY_BYTES)
    except OSError as error:
        raise ParameterError(f"the key {path} cannot be read: {error.strerror}") from error


def _public_text(key: Any, path: str | os.PathLike[str]) -> str:
    ed25519, _, _ = _cryptography()
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise ParameterError(f"{path} is a key of another kind than Ed25519: neartag new-key makes one")
    return _encode(key.public_bytes_raw())


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _decode(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _cryptography() -> tuple[Any, Any, Any]:
    """Return what is needed of the package cryptography; NeartagError where it is not installed."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise NeartagError(install_hint("signatures need cryptography, which is not installed", "sign")) from error
    return ed25519, serialization, InvalidSignature
