"""How the vectors of a text's tokens become one: as the model's own folder says, in sentence-transformers' files.

    modules.json                        which steps there are, and in which folder each has its settings
    1_Pooling/config.json               the mean of the tokens, the first token, …, and the dimension
    sentence_bert_config.json           at most how many tokens, and whether texts are lower-cased
    tokenizer_config.json, config.json  at most how many tokens, where the others do not say
    config_sentence_transformers.json   words to put before each text, for models that want them

Without modules.json, the mean of the tokens is taken. A dense layer after the pooling is not done here: its weights lie
in a file of their own. A model.onnx that has it inside gives its result as `sentence_embedding`, which is then taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from neartag.core.errors import ModelError

STEPS = ("Transformer", "Pooling", "Normalize")  # of modules.json, which are understood here
INSIDE = ("Dense",)  # which the model must do by itself
DEFAULT_TOKENS = 512
MAX_TOKENS = 1 << 16  # a tokenizer without any limit says 10³⁰

Read = Callable[[str], Any]  # the value of a JSON file of the folder, None where there is none


def read_settings(read: Read, place: str) -> dict[str, Any]:
    """Return what the folder's files say, with nothing left open; ModelError for what is not understood."""
    modules = read("modules.json")
    mode, dim, normalise, inside = "mean", None, modules is None, False
    for module in modules if isinstance(modules, list) else []:
        step = str(module.get("type", "")).rpartition(".")[2]
        if step not in STEPS + INSIDE:
            raise ModelError(f"the sentence encoder in {place} has a step {step!r}, which neartag cannot do: {STEPS}")
        normalise = normalise or step == "Normalize"
        if step in INSIDE:
            wide = (read(f"{module.get('path', '')}/config.json") or {}).get("out_features")
            inside, dim = True, wide if type(wide) is int else None
        if step == "Pooling":
            file = f"{module.get('path', '')}/config.json"
            config = read(file)
            if not isinstance(config, dict):
                raise ModelError(f"the sentence encoder in {place} has no {file}, which says how it pools: restore it")
            mode, dim = _read_pooling(config, place)
    bert = read("sentence_bert_config.json") or {}
    return {
        "pooling": mode,
        "dim": dim,
        "normalise": normalise,
        "max_tokens": _find_max_tokens(bert, read),
        "lower_case": bool(bert.get("do_lower_case", False)),
        "prompt": _find_prompt(read("config_sentence_transformers.json") or {}),
        **({"own_vector": True} if inside else {}),  # only where it is: the digest is of all that stands here
    }


def _read_pooling(config: dict[str, Any], place: str) -> tuple[str, int | None]:
    names = {
        "pooling_mode_cls_token": "cls",
        "pooling_mode_mean_tokens": "mean",
        "pooling_mode_max_tokens": "max",
        "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
        "pooling_mode_weightedmean_tokens": "weightedmean",
        "pooling_mode_lasttoken": "lasttoken",
    }
    chosen = [mode for name, mode in names.items() if config.get(name) is True]
    if isinstance(config.get("pooling_mode"), str):  # as newer versions write it
        chosen = [config["pooling_mode"]]
    chosen = chosen or ["mean"]
    if len(chosen) > 1 or chosen[0] not in POOLINGS:
        known = ", ".join(POOLINGS)
        raise ModelError(f"the sentence encoder in {place} pools by {' and '.join(chosen)}: neartag can do {known}")
    dim = config.get("word_embedding_dimension", config.get("embedding_dimension"))
    return chosen[0], dim if type(dim) is int else None


def _find_max_tokens(bert: dict[str, Any], read: Read) -> int:
    given = (
        bert.get("max_seq_length"),
        (read("tokenizer_config.json") or {}).get("model_max_length"),
        (read("config.json") or {}).get("max_position_embeddings"),
    )
    fine = [number for number in given if isinstance(number, int) and 2 < number <= MAX_TOKENS]
    return min(fine, default=DEFAULT_TOKENS)


def _find_prompt(config: dict[str, Any]) -> str:
    prompt = (config.get("prompts") or {}).get(config.get("default_prompt_name") or "", "")
    return prompt if isinstance(prompt, str) else ""


def describe(settings: dict[str, Any]) -> str:
    """Return the settings in a few words."""
    how = "the model's own vector" if settings.get("own_vector") else settings["pooling"]
    words = [f"{how} of at most {settings['max_tokens']} tokens"]
    words += ["normalised"] if settings["normalise"] else []
    words += ["lower case"] if settings["lower_case"] else []
    words += [f"after {settings['prompt']!r}"] if settings["prompt"] else []
    return ", ".join(words)


def pool(hidden: np.ndarray, mask: np.ndarray, mode: str) -> np.ndarray:
    """Return a vector for each text (n, dim), of its tokens' (n, length, dim); the mask (n, length) is 1 for tokens."""
    return POOLINGS[mode](hidden, mask.astype(np.float32))


def _mean(hidden: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.einsum("nld,nl->nd", hidden, mask) / np.maximum(mask.sum(1, keepdims=True), 1)


def _mean_sqrt(hidden: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.einsum("nld,nl->nd", hidden, mask) / np.sqrt(np.maximum(mask.sum(1, keepdims=True), 1))


def _weighted_mean(hidden: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the mean in which a token weighs by its place: 1, 2, 3, …"""
    return _mean(hidden, mask * np.arange(1, mask.shape[1] + 1, dtype=np.float32))


def _first(hidden: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return hidden[:, 0]


def _last(hidden: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return hidden[np.arange(len(hidden)), np.maximum(mask.sum(1).astype(np.intp), 1) - 1]


def _max(hidden: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.where(mask[:, :, None] > 0, hidden, -np.inf).max(1)


POOLINGS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "mean": _mean,
    "cls": _first,
    "max": _max,
    "mean_sqrt_len_tokens": _mean_sqrt,
    "weightedmean": _weighted_mean,
    "lasttoken": _last,
}
