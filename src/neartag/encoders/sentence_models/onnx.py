"""Transformers in ONNX: a folder with model.onnx and tokenizer.json, run by onnxruntime. Extra: onnx."""

from __future__ import annotations

from typing import Any

import numpy as np

from neartag.core.errors import NeartagError
from neartag.core.extras import install_hint
from neartag.core.threads import available_cores, run_ranges
from neartag.encoders.sentence_models import pooling
from neartag.encoders.sentence_models.base import ModelParts, first_line
from neartag.encoders.sentence_models.tokens import largest_token, open_tokenizer, read_tokens

BATCH_TEXTS = 32  # of about the same length
INPUTS = {"input_ids", "attention_mask", "token_type_ids"}  # that can be given to a model
OWN_VECTOR = "sentence_embedding"  # the output of a model that pools, and does what comes after, by itself
_QUIET = 4  # onnxruntime's level of what ends the process: other errors are raised, and told by us in one line


class OnnxModel:
    """A sentence encoder in ONNX, in float32 or int8.

    Parameters
    ----------
    parts : ModelParts
        Of the format "onnx"; settings as `pooling.read_settings` returns them.
    threads : int, optional
        Batches that are encoded at the same time, each on one core; as many as there are cores unless given.
    """

    def __init__(self, parts: ModelParts, threads: int | None = None) -> None:
        self._parts, self._settings = parts, parts.settings
        self._tokenizer = open_tokenizer(parts, self._settings["max_tokens"])
        self._pad = (self._tokenizer.token_to_id("[PAD]") or self._tokenizer.token_to_id("<pad>")) or 0
        self._threads = threads or available_cores()
        self._session = _open_session(parts)
        self._names = [each.name for each in self._session.get_inputs()]
        self._output = self._choose_output()
        if not {"input_ids"} <= set(self._names) <= INPUTS:
            raise parts.error(f"the model asks for {', '.join(self._names)}; a sentence encoder takes token ids")
        dim = self._probe()
        wanted = self._settings["dim"]
        if wanted not in (None, dim):
            raise parts.error(
                f"its vectors have {dim} numbers, but its configuration says {wanted}: is it all one model?"
            )
        self.identity = parts.identify(dim, pooling.describe(self._settings))

    def encode(self, texts: list[str]) -> np.ndarray:
        """Return a vector for each text, (n, dim) in float32."""
        prompt, lower = self._settings["prompt"], self._settings["lower_case"]
        read = [prompt + (text.lower() if lower else text) for text in texts]
        tokens = read_tokens(self._tokenizer, read, self._settings["max_tokens"], special=True)
        vectors = np.zeros((len(texts), self.identity.dim), np.float32)
        # The longest first: texts of a batch have about the same length, and too little memory shows at once.
        order = np.argsort([-len(ids) for ids in tokens], kind="stable")
        batches = [order[start : start + BATCH_TEXTS] for start in range(0, len(order), BATCH_TEXTS)]
        # Each thread gets long and short ones.
        dealt = [batch for thread in range(self._threads) for batch in batches[thread :: self._threads]]

        def run(start: int, stop: int) -> None:
            for rows in dealt[start:stop]:
                vectors[rows] = self._run([tokens[row] or [self._pad] for row in rows])

        run_ranges(run, len(dealt), self._threads)
        return vectors

    def _choose_output(self) -> str:
        names = [each.name for each in self._session.get_outputs()]
        if not self._settings.get("own_vector"):
            return str(names[0])
        if OWN_VECTOR not in names:
            raise self._parts.error(
                f"modules.json asks for a dense layer, and the model has no output {OWN_VECTOR}: export it with the "
                "layer inside, optimum-cli export onnx --library sentence_transformers"
            )
        return OWN_VECTOR

    def _run(self, tokens: list[list[int]]) -> np.ndarray:
        """Return the vectors (n, dim) of texts of about the same length, given as numbers of tokens."""
        ids = np.full((len(tokens), max(map(len, tokens))), self._pad, np.int64)  # (n, length)
        mask = np.zeros_like(ids)
        for row, own in enumerate(tokens):
            ids[row, : len(own)], mask[row, : len(own)] = own, 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            (found,) = self._session.run([self._output], {name: given[name] for name in self._names})
        except Exception as error:  # onnxruntime's errors have no common class but this
            raise self._parts.error(f"it failed on a text: {first_line(error)}") from error
        if found.ndim == 3:  # a vector for each token; a model may also pool by itself
            found = pooling.pool(found.astype(np.float32, copy=False), mask, self._settings["pooling"])
        if self._settings["normalise"]:
            found = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
        return found.astype(np.float32, copy=False)

    def _probe(self) -> int:
        """Return the dimension, by the tokenizer's last token: a model that does not know it has another tokenizer."""
        last = largest_token(self._tokenizer)
        try:
            return int(self._run([[last]]).shape[1])
        except NeartagError as error:
            why = first_line(error.__cause__ or error)
            raise self._parts.error(f"its tokenizer does not fit: token {last} cannot be encoded ({why})") from error

    def __reduce__(self) -> Any:
        """Pickle what it is built from: a session cannot be copied."""
        return type(self), (self._parts,)


def _open_session(parts: ModelParts) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise NeartagError(install_hint("encoders in ONNX need onnxruntime", "onnx")) from error
    options = onnxruntime.SessionOptions()
    # Several batches on one core each are quicker than one batch on several.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _QUIET
    try:
        return onnxruntime.InferenceSession(parts.weights.tobytes(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common class but this
        raise parts.error(f"its weights are damaged or of an unknown kind: {first_line(error)}") from error
