"""The settings of a server, and the token, which is never given on a command line."""

from __future__ import annotations

import hmac
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from neartag.core.errors import ParameterError
from neartag.storage.signing import PublicKey, Trust

TOKEN_VARIABLE = "NEARTAG_TOKEN"
MIN_TOKEN_CHARACTERS = 8  # characters
SETTINGS_VARIABLE = "NEARTAG_SERVE"  # the environment variable that hands the settings on to the workers


@dataclass(frozen=True)
class Settings:
    """The limits of one worker, and who may change the model."""

    token_file: str | None = None  # what holds the token; None: the environment's NEARTAG_TOKEN, if there is one
    max_body: int = 2**20  # bytes of a request
    max_upload: int = 10 * 2**20  # bytes of a file
    max_texts: int = 256  # texts, documents or ids of a request
    max_characters: int = 100_000  # of a text
    max_seconds: float = 10.0  # for a request, from its first byte to its answer
    max_waiting: int = 256  # requests under way at once; more are sent away
    hosts: tuple[str, ...] = field(default=())  # names by which the server may be called; none: any
    log_requests: bool = False  # a line on standard error for each
    expect_digest: str | None = None  # that the model must have
    public_key: str | None = None  # with whose private half the model must be signed, in base64

    def __post_init__(self) -> None:
        """Raise ParameterError for a limit that would let nothing through."""
        for name in ("max_body", "max_upload", "max_texts", "max_characters", "max_seconds", "max_waiting"):
            if not getattr(self, name) > 0:
                raise ParameterError(f"--{name.replace('_', '-')} must be above 0, not {getattr(self, name)}")

    def to_text(self, folder: str | os.PathLike[str]) -> str:
        """Return the settings and the model's folder as text."""
        return json.dumps({"folder": os.fspath(folder), "settings": asdict(self)})

    @classmethod
    def from_text(cls, text: str) -> tuple[str, Settings]:
        """Return the folder and the settings of `to_text`."""
        document = json.loads(text)
        values = document["settings"]
        return document["folder"], cls(**{**values, "hosts": tuple(values["hosts"])})

    @property
    def trust(self) -> Trust:
        """What the model must show."""
        return Trust(self.expect_digest, None if self.public_key is None else PublicKey(self.public_key))

    def token(self) -> Token | None:
        """Return the token that allows changes, None where none is configured."""
        if self.token_file is None:
            text, source = os.environ.get(TOKEN_VARIABLE, ""), f"the variable {TOKEN_VARIABLE}"
            if not text:
                return None
        else:
            source = self.token_file
            try:
                text = Path(self.token_file).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeError) as error:
                raise ParameterError(f"the token file {source} cannot be read: {error}") from error
        if len(text) < MIN_TOKEN_CHARACTERS or not text.isascii() or not text.isprintable() or " " in text:
            raise ParameterError(
                f"the token in {source} must be {MIN_TOKEN_CHARACTERS} or more letters, digits and signs without spaces"
            )
        return Token(text)


class Token:
    """A secret that can be compared and not read by accident."""

    def __init__(self, text: str) -> None:
        self._secret = text.encode("ascii")

    def matches(self, given: bytes) -> bool:
        """Return whether it is the same; the time this takes does not tell where it differs."""
        return hmac.compare_digest(self._secret, given)

    def __repr__(self) -> str:
        return "Token(…)"
