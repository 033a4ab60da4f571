"""Tiny sentence encoders made on the spot, of the formats that real ones have, and texts in Finnish and German."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
# What words mean, in three languages: words of one row get vectors alike, so that texts without a common word are near.
MEANINGS = [
    ["bread", "dough", "leipä", "taikina", "brot", "teig"],
    ["car", "engine", "auto", "moottori", "wagen", "triebwerk"],
    ["star", "sky", "tähti", "taivas", "stern", "himmel"],
]
FILLERS = ["the", "ja", "und", "on", "ist", "uusi", "größe", "yö", "a"]
WORDS = [word for row in MEANINGS for word in row] + FILLERS


def make_documents(count: int = 90) -> list[dict]:
    """Labelled documents: of each meaning in Finnish or German words, with some that mean nothing."""
    chance = np.random.default_rng(0)
    documents = []
    for number in range(count):
        meaning = number % len(MEANINGS)
        own = chance.choice(MEANINGS[meaning][2:], 2).tolist() + chance.choice(FILLERS, 2).tolist()
        documents.append({"id": f"d{number}", "text": " ".join(own), "labels": [["ruoka", "auto", "tähti"][meaning]]})
    return documents


def write_lines(path: Path, documents: list[dict]) -> Path:
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in documents), encoding="utf-8")
    return path


def write_tokenizer(folder: Path, special: bool = True, words: list[str] = WORDS) -> None:
    """A tokenizer.json of whole words, in lower case; texts begin with [CLS] and end with [SEP] as BERT's do."""
    pytest.importorskip("tokenizers", reason="sentence encoders need tokenizers")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *dict.fromkeys(words)])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if special:
        ends = [(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")]
        tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.save(str(folder / "tokenizer.json"))


def meaning_vectors(dim: int, seed: int = 0) -> np.ndarray:
    """A vector for each token: words of one meaning have nearly the same."""
    chance = np.random.default_rng(seed)
    vectors = chance.normal(size=(len(SPECIAL) + len(dict.fromkeys(WORDS)), dim)) * 0.05
    places = {word: number for number, word in enumerate(dict.fromkeys(WORDS), len(SPECIAL))}
    for row in MEANINGS:
        center = chance.normal(size=dim)
        for word in row:
            vectors[places[word]] += center
    return vectors.astype(np.float32)


def make_bert(folder: Path, dim: int = 16, seed: int = 0) -> Path:
    """A random BERT as a sentence-transformers folder: config.json, model.safetensors, tokenizer.json, pooling."""
    folder.mkdir(parents=True, exist_ok=True)
    wide, tokens, chance = 2 * dim, len(SPECIAL) + len(dict.fromkeys(WORDS)), np.random.default_rng(seed)
    config = {"model_type": "bert", "hidden_act": "gelu", "hidden_size": dim, "intermediate_size": wide}
    config |= {"num_attention_heads": 2, "num_hidden_layers": 2, "layer_norm_eps": 1e-12, "max_position_embeddings": 32}
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": tokens}))
    shapes = {"embeddings.position_embeddings": (32, dim), "embeddings.token_type_embeddings": (2, dim)}
    weights = {"embeddings.word_embeddings.weight": meaning_vectors(dim, seed)}
    weights |= {f"{name}.weight": chance.normal(size=shape) * 0.05 for name, shape in shapes.items()}
    linear: dict[str, tuple[int, int]] = {}
    norms = ["embeddings.LayerNorm"]
    for layer in (f"encoder.layer.{number}" for number in range(2)):
        linear |= {f"{layer}.attention.self.{part}": (dim, dim) for part in ("query", "key", "value")}
        linear |= {f"{layer}.attention.output.dense": (dim, dim), f"{layer}.intermediate.dense": (wide, dim)}
        linear[f"{layer}.output.dense"] = (dim, wide)
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    for name, shape in linear.items():
        weights |= {f"{name}.weight": 0.1 * chance.normal(size=shape)}
        weights |= {f"{name}.bias": 0.1 * chance.normal(size=shape[0])}
    for name in norms:
        weights |= {f"{name}.weight": 1 + chance.normal(size=dim) * 0.1, f"{name}.bias": chance.normal(size=dim) * 0.1}
    save_file({name: np.asarray(each, np.float32) for name, each in weights.items()}, folder / "model.safetensors")
    write_tokenizer(folder)
    write_pooling(folder, dim)
    return folder


def write_pooling(folder: Path, dim: int, mode: str = "pooling_mode_mean_tokens", normalise: bool = True) -> None:
    names = ["Transformer", "Pooling", *(["Normalize"] if normalise else [])]
    modules = [
        {"idx": place, "path": f"{place}_{name}" if place else "", "type": f"sentence_transformers.models.{name}"}
        for place, name in enumerate(names)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": dim, mode: True}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 16, "do_lower_case": False}))


def load_script(name: str):
    if str(SCRIPTS) not in sys.path:
        sys.path.insert(0, str(SCRIPTS))
    return importlib.import_module(name)


def build_onnx(folder: Path, *options: str) -> Path:
    """Build model.onnx with the repository's script, and return the folder."""
    load_script("build_onnx").main([str(folder), *options])
    return folder


def make_static(folder: Path, dim: int = 8, seed: int = 0, **arrays: np.ndarray) -> Path:
    """Static vectors as model2vec keeps them."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({"embeddings": meaning_vectors(dim, seed), **arrays}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
    write_tokenizer(folder, special=False)
    return folder


class Letters:
    """An object with `encode`, as a user may bring one: how often a text has each of some letters."""

    def __init__(self, fail_after: int | None = None, bad: float | None = None) -> None:
        self.encoded, self.fail_after, self.bad = 0, fail_after, bad

    def encode(self, texts):
        if self.fail_after is not None and self.encoded + len(texts) > self.fail_after:
            raise RuntimeError("out of\nmemory")
        self.encoded += len(texts)
        rows = np.array([[text.count(letter) for letter in "aeiouäö"] + [1] for text in texts], np.float32)
        if self.bad is not None and len(texts) > 1:
            rows[-1, 0] = self.bad
        return rows
