"""Texts to numbers of tokens, by the `tokenizers` package and a model's tokenizer.json."""

from __future__ import annotations

import os
from typing import Any

from neartag.core.errors import NeartagError
from neartag.core.extras import install_hint
from neartag.encoders.sentence_models.base import ModelParts, first_line


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


def largest_token(tokenizer: Any) -> int:
    """Return the highest number that the tokenizer gives to a token."""
    return max(tokenizer.get_vocab(with_added_tokens=True).values(), default=0)
