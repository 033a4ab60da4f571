"""Who may do what: tokens with names and roles, from files or the environment, never from a command line."""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from neartag.core.errors import ParameterError
from neartag.serve.errors import Refusal
from neartag.serve.settings import Settings

TOKEN_VARIABLE, READ_TOKEN_VARIABLE = "NEARTAG_TOKEN", "NEARTAG_READ_TOKEN"
MIN_TOKEN_CHARACTERS = 8
READ, WRITE = "read", "write"
_NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")


@dataclass(frozen=True)
class Token:
    """A secret that can be compared and not read by accident, with the name that logs have and what it allows."""

    name: str
    role: str
    _secret: bytes

    def matches(self, given: bytes) -> bool:
        """Return whether it is the same; the time this takes does not tell where it differs."""
        return hmac.compare_digest(self._secret, given)

    def sign(self, text: str) -> str:
        """Return a digest of a text; only who knows the secret can try out which text it is of."""
        return hmac.new(self._secret, text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()[:32]

    def __repr__(self) -> str:
        return f"Token({self.name!r}, {self.role!r}, …)"


class Access:
    """The tokens of a server."""

    def __init__(self, tokens: Iterable[Token] = ()) -> None:
        self.tokens = list(tokens)
        self.writable = any(token.role == WRITE for token in self.tokens)
        self.reading_needs_token = any(token.role == READ for token in self.tokens)

    @classmethod
    def from_settings(cls, settings: Settings) -> Access:
        """Return the tokens that files and variables hold; ParameterError where one cannot be used."""
        tokens = [
            *_read_tokens(settings.token_file, TOKEN_VARIABLE, WRITE),
            *_read_tokens(settings.read_token_file, READ_TOKEN_VARIABLE, READ),
        ]
        for number, token in enumerate(tokens):
            others = tokens[:number]
            if any(token.name == other.name for other in others):
                raise ParameterError(f"two tokens are named {token.name}: give each its own name")
            if any(other.matches(token._secret) for other in others):
                raise ParameterError(f"the token {token.name} is the same as another one: give each its own secret")
        return cls(tokens)

    def find(self, authorization: bytes) -> Token | None:
        """Return the token that a request's header Authorization has."""
        scheme, _, given = authorization.partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        found = [token for token in self.tokens if token.matches(given.strip())]  # all, in the same time
        return found[0] if found else None

    def authorise(self, authorization: bytes, role: str | None) -> Token | None:
        """Return the client's token, None where it has none; Refusal where the role needs another."""
        token = self.find(authorization)
        if role == WRITE and not self.writable:
            raise Refusal(
                403,
                "nothing can be added or forgotten here, for the server has no token: start it with the variable "
                f"{TOKEN_VARIABLE} or with --token-file",
            )
        if token is None and (role == WRITE or (role == READ and self.reading_needs_token)):
            wrong = "the token is missing or wrong: send the header Authorization: Bearer TOKEN"
            raise Refusal(401, wrong, {"WWW-Authenticate": "Bearer"})
        if token is not None and role == WRITE and token.role != WRITE:
            raise Refusal(403, "this token allows reading only: changes need one with the role write")
        return token


def _read_tokens(file: str | None, variable: str, role: str) -> list[Token]:
    if file is None:
        text = os.environ.get(variable, "")
        return [_make_token(role, role, text, f"the variable {variable}")] if text else []
    try:
        text = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as error:
        told = "it is the name of a file, for all users of this computer can read a command line"
        raise ParameterError(f"the token file cannot be read ({type(error).__name__}): {told}") from error
    lines = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("# ")]
    if lines and all(len(fields) == 3 for fields in lines):
        return [_make_token(name, given, secret, file) for name, given, secret in lines]
    return [_make_token(role, role, text, file)]


def _make_token(name: str, role: str, text: str, source: str) -> Token:
    if len(text) < MIN_TOKEN_CHARACTERS or not text.isascii() or not text.isprintable() or " " in text:
        raise ParameterError(
            f"the token in {source} must be {MIN_TOKEN_CHARACTERS} or more letters, digits and signs without spaces; "
            "several tokens are lines of NAME ROLE TOKEN"
        )
    if role not in (READ, WRITE) or not _NAME.fullmatch(name):
        raise ParameterError(f"a line of {source} is not NAME ROLE TOKEN, with the role {READ} or {WRITE}")
    return Token(name, role, text.encode("ascii"))
