"""Static vectors: one for each token, and a text's is their mean. Fast, and blind to the order of words. Extra: static.

model2vec's folders, and wordllama's files. Their own packages are not needed.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from neartag.encoders.sentence_models.base import ModelParts, first_line
from neartag.encoders.sentence_models.tokens import largest_token, open_tokenizer, read_tokens

TABLES = ("embeddings", "embedding.weight")  # names of the table of vectors: model2vec's; wordllama's and others'
BATCH_TEXTS = 1024


class StaticModel:
    """A table of vectors, one for each token.

    Parameters
    ----------
    parts : ModelParts
        Of the format "static". Settings: "normalise"; "max_tokens", None for all; "model2vec", whether unknown words
        are left out and long texts are cut as model2vec does it.
    """

    def __init__(self, parts: ModelParts, threads: int | None = None) -> None:
        self._parts, self._settings = parts, parts.settings
        self._tokenizer = open_tokenizer(parts, self._settings["max_tokens"])
        arrays = _read_arrays(parts)
        table = next((arrays[name] for name in TABLES if name in arrays), None)
        if table is None or table.ndim != 2 or not table.size:
            raise parts.error(f"its weights have no table of vectors named {' or '.join(TABLES)}")
        if not np.isfinite(table).all():
            raise parts.error("its weights hold numbers that are not finite")
        self._table = table  # (rows, dim), in the type that it is kept in
        self._mapping, self._weights = arrays.get("mapping"), arrays.get("weights")
        self._check_tokens()
        self._unknown = self._max_characters = None
        if self._settings["model2vec"]:
            self._unknown, self._max_characters = self._find_unknown(), self._find_max_characters()
        pooling = "mean of all tokens" + (", normalised" if self._settings["normalise"] else "")
        self.identity = parts.identify(int(table.shape[1]), pooling)

    def encode(self, texts: list[str]) -> np.ndarray:
        """Return a vector for each text, (n, dim) in float32; zeros for a text without a known token."""
        vectors = np.zeros((len(texts), self.identity.dim), np.float32)
        for start in range(0, len(texts), BATCH_TEXTS):
            some = texts[start : start + BATCH_TEXTS]
            if self._max_characters is not None:
                some = [text[: self._max_characters] for text in some]
            tokens = read_tokens(self._tokenizer, some, self._settings["max_tokens"], special=False)
            for row, own in enumerate(tokens, start):
                ids = np.array(own, np.intp)
                if self._unknown is not None:
                    ids = ids[ids != self._unknown]
                if len(ids):
                    vectors[row] = self._mean(ids)
        if self._settings["normalise"]:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors

    def _mean(self, ids: np.ndarray) -> np.ndarray:
        """Return the mean vector (dim,) of tokens (length,)."""
        found = self._table[ids if self._mapping is None else self._mapping[ids]].astype(np.float32)  # (length, dim)
        if self._weights is not None:
            found *= self._weights[ids, None]
        return found.mean(axis=0)

    def _check_tokens(self) -> None:
        """Raise ModelError where the tokenizer has a token that the table has no vector for."""
        last, rows = largest_token(self._tokenizer), len(self._table)
        for name, array in (("mapping", self._mapping), ("weights", self._weights)):
            if array is not None and (array.ndim != 1 or len(array) <= last):
                raise self._parts.error(f"its {name} and its tokenizer do not fit: there is no entry for token {last}")
        if self._mapping is not None:
            last = int(self._mapping.max(initial=0))
        if last >= rows:
            raise self._parts.error(f"its weights and its tokenizer do not fit: {rows} vectors, but a token {last}")

    def _find_unknown(self) -> int | None:
        """Return the token for unknown words, which model2vec leaves out."""
        own = json.loads(self._tokenizer.to_str())["model"]
        if "unk_token" in own:
            return None if own["unk_token"] is None else self._tokenizer.token_to_id(own["unk_token"])
        return own.get("unk_id")

    def _find_max_characters(self) -> int | None:
        """Return at how many characters model2vec cuts a text off before it looks for tokens."""
        most = self._settings["max_tokens"]
        return None if most is None else most * int(np.median([len(token) for token in self._tokenizer.get_vocab()]))

    def __reduce__(self) -> Any:
        """Pickle what it is built from."""
        return type(self), (self._parts,)


def _read_arrays(parts: ModelParts) -> dict[str, np.ndarray]:
    from safetensors.numpy import load

    try:
        return load(parts.weights.tobytes())
    except Exception as error:  # SafetensorError, and TypeError for a type that numpy does not have
        raise parts.error(f"its weights are damaged: {first_line(error)}") from error
