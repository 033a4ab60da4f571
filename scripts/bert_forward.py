"""BERT's forward pass in plain numpy: the oracle that `build_onnx.py` and the tests hold an ONNX model against."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file


def read_bert(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The settings of a folder with config.json and model.safetensors, and its weights by name, in float32."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
        raise SystemExit(f"{folder}: only models of model_type bert with hidden_act gelu can be built")
    weights = {
        name.removeprefix("bert."): np.asarray(array, np.float32)
        for name, array in load_file(folder / "model.safetensors").items()
    }
    return config, weights


def forward(config: dict[str, Any], weights: dict[str, np.ndarray], ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The last hidden state (n, length, hidden) of token ids (n, length); the mask is 0 where there is no token."""
    heads, eps = config["num_attention_heads"], config["layer_norm_eps"]
    hidden = weights["embeddings.word_embeddings.weight"][ids]  # (n, length, hidden)
    hidden = hidden + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
    hidden = hidden + weights["embeddings.token_type_embeddings.weight"][0]
    hidden = _normalise(hidden, weights, "embeddings.LayerNorm", eps)
    away = (1.0 - mask[:, None, None, :].astype(np.float32)) * -1e4  # (n, 1, 1, length)
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        query, key, value = (
            _heads(_linear(hidden, weights, f"{layer}.attention.self.{part}"), heads)
            for part in ("query", "key", "value")
        )  # (n, heads, length, d)
        scores = query @ key.swapaxes(2, 3) / math.sqrt(query.shape[-1]) + away  # (n, heads, length, length)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        found = (scores / scores.sum(-1, keepdims=True)) @ value
        found = found.swapaxes(1, 2).reshape(hidden.shape)  # (n, length, hidden)
        found = _linear(found, weights, f"{layer}.attention.output.dense")
        hidden = _normalise(hidden + found, weights, f"{layer}.attention.output.LayerNorm", eps)
        wide = _gelu(_linear(hidden, weights, f"{layer}.intermediate.dense"))  # (n, length, intermediate)
        found = _linear(wide, weights, f"{layer}.output.dense")
        hidden = _normalise(hidden + found, weights, f"{layer}.output.LayerNorm", eps)
    return hidden


def mean_vectors(hidden: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The mean of each text's tokens (n, hidden), at length 1."""
    means = (hidden * mask[:, :, None]).sum(1) / np.maximum(mask.sum(1, keepdims=True), 1)
    return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)


def _linear(x: np.ndarray, weights: dict[str, np.ndarray], name: str) -> np.ndarray:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _normalise(x: np.ndarray, weights: dict[str, np.ndarray], name: str, eps: float) -> np.ndarray:
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _heads(x: np.ndarray, heads: int) -> np.ndarray:
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def _gelu(x: np.ndarray) -> np.ndarray:
    from scipy.special import erf

    return x * 0.5 * (1 + erf(x / math.sqrt(2)))
