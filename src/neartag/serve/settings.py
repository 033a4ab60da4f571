"""The settings of a server. Secrets are not among them: access.py reads those."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field

from neartag.core.errors import ParameterError
from neartag.storage.signing import PublicKey, Trust

SETTINGS_VARIABLE = "NEARTAG_SERVE"  # the environment variable that hands the settings on to the workers

LOG_FORMATS = ("text", "json")


@dataclass(frozen=True)
class Settings:
    """The limits of one worker, and who may change the model."""

    token_file: str | None = None  # what holds the token; None: the environment's NEARTAG_TOKEN, if there is one
    read_token_file: str | None = None  # the same for reading: NEARTAG_READ_TOKEN
    max_body: int = 2**20  # bytes of a request
    max_upload: int = 10 * 2**20  # bytes of a file
    max_texts: int = 256  # texts, documents or ids of a request
    max_characters: int = 100_000  # of a text
    max_seconds: float = 10.0  # for a request, from its first byte to its answer
    max_waiting: int = 1000  # requests under way at once; more are sent away
    rate_limit: float | None = None  # requests a second of each client; None: any number
    proxies: tuple[str, ...] = field(default=())  # addresses of proxies that say who their clients are
    hosts: tuple[str, ...] = field(default=())  # names by which the server may be called; none: any
    log_requests: bool = False  # a line on standard error for each
    log_format: str = "text"  # or "json"
    expect_digest: str | None = None  # that the model must have
    public_key: str | None = None  # with whose private half the model must be signed, in base64

    def __post_init__(self) -> None:
        """Raise ParameterError for a limit that would let nothing through."""
        for name in ("max_body", "max_upload", "max_texts", "max_characters", "max_seconds", "max_waiting"):
            if not getattr(self, name) > 0:
                raise ParameterError(f"--{name.replace('_', '-')} must be above 0, not {getattr(self, name)}")
        if self.rate_limit is not None and not 0 < self.rate_limit < float("inf"):
            raise ParameterError(f"--rate-limit must be above 0, not {self.rate_limit}")
        if self.log_format not in LOG_FORMATS:
            raise ParameterError(f"--log-format must be {' or '.join(LOG_FORMATS)}, not {self.log_format!r:.60}")

    def to_text(self, folder: str | os.PathLike[str]) -> str:
        """Return the settings and the model's folder as text."""
        return json.dumps({"folder": os.fspath(folder), "settings": asdict(self)})

    @classmethod
    def from_text(cls, text: str) -> tuple[str, Settings]:
        """Return the folder and the settings of `to_text`."""
        document = json.loads(text)
        values = document["settings"]
        tuples = {name: tuple(values[name]) for name in ("hosts", "proxies")}
        return document["folder"], cls(**{**values, **tuples})

    @property
    def trust(self) -> Trust:
        """What the model must show."""
        return Trust(self.expect_digest, None if self.public_key is None else PublicKey(self.public_key))
