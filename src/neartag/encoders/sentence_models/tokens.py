"""Texts to numbers of tokens, by the `tokenizers` package and a model's tokenizer.json."""

from __future__ import annotations

import os
from typing import Any

from neartag.core.errors import NeartagError
from neartag.core.extras import install_hint
from neartag.encoders.sentence_models.base import ModelParts, first_line

MAX_CHARACTERS = 100  # of a text for each token that counts; words are far shorter


def open_tokenizer(parts: ModelParts, max_tokens: int | None) -> Any:
    """Return the tokenizer, which cuts a text off at so many tokens; ModelError where the file is none."""
    # The package's own threads would come on top of ours, and warn of every fork.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise NeartagError(install_hint("sentence encoders need tokenizers", parts.format)) from error
    try:
        tokenizer = Tokenizer.from_str(parts.tokenizer.tobytes().decode("utf-8"))
    except Exception as error:  # the package raises plain Exception
        raise parts.error(f"tokenizer.json is no tokenizer: {first_line(error)}") from error
    tokenizer.no_padding()  # done here, for each batch
    if max_tokens is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(max_tokens)
    return tokenizer


def read_tokens(tokenizer: Any, texts: list[str], max_tokens: int | None, *, special: bool) -> list[list[int]]:
    """Return the numbers of each text's tokens; `special`: with those that mark its beginning and end."""
    if max_tokens is not None:  # a book need not be read to the end to find its first tokens
        texts = [text[: MAX_CHARACTERS * max_tokens] for text in texts]
    encoded = tokenizer.encode_batch([_without_surrogates(text) for text in texts], add_special_tokens=special)
    return [each.ids for each in encoded]


def _without_surrogates(text: str) -> str:
    """Return a text without halves of characters, which somebody's file may have, and tokenizers refuse."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def largest_token(tokenizer: Any) -> int:
    """Return the highest number that the tokenizer gives to a token."""
    return max(tokenizer.get_vocab(with_added_tokens=True).values(), default=0)
