"""Build model.onnx from a BERT-type sentence encoder: a folder with config.json, model.safetensors and tokenizer.json.

    python scripts/build_onnx.py FOLDER [--int8] [--sha256 DIGEST]

writes FOLDER/model.onnx in float32 or, with --int8, FOLDER/model-int8.onnx. Either is run on some texts and held
against a plain numpy forward pass (bert_forward.py): float32 must agree to 1e-4; of int8 the mean and the worst cosine
are printed, and below 0.99 it is refused.

int8: each output column of a weight matrix has a scale of its own, and each token's row of activations too, found as it
runs. One scale for all tokens, as usual, is what hurts: a few tokens have outliers. The word embeddings are kept in
int8 as well, a scale for each word. It needs `pip install onnx onnxruntime tokenizers safetensors scipy`.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from bert_forward import forward, mean_vectors, read_bert
from onnx import TensorProto, helper, numpy_helper

OPSET = 17  # the first with LayerNormalization
TOLERANCE = 1e-4
MIN_COSINE = 0.99
TEXTS = [
    "How long does bread dough keep in the fridge?",
    "Miten ruisleipä leivotaan ilman hiivaa?",
    "Kann man Sauerteig einfrieren?",
    "a",
    "The committee adopted a regulation on the labelling of foodstuffs. " * 6,
]


class Graph:
    """Nodes and weights of a graph that is built up one node at a time."""

    def __init__(self, int8: bool) -> None:
        self.int8 = int8
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self._shared: dict[bytes, str] = {}

    def add(self, kind: str, *inputs: str, name: str = "", outputs: int = 1, **attributes: Any) -> Any:
        """Add a node, and return the name of its output, or names."""
        names = [name or f"{kind}_{len(self.nodes)}" if outputs == 1 else f"{kind}_{len(self.nodes)}_{place}"
                 for place in range(outputs)]  # fmt: skip
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def weight(self, array: np.ndarray) -> str:
        """Keep an array, and return its name; the same array is kept once."""
        array = np.ascontiguousarray(array)
        key = str((array.dtype, array.shape)).encode() + hashlib.sha256(array.tobytes()).digest()
        if key not in self._shared:
            self._shared[key] = f"weight_{len(self._shared)}"
            self.weights.append(numpy_helper.from_array(array, self._shared[key]))
        return self._shared[key]

    def linear(self, x: str, matrix: np.ndarray, bias: np.ndarray) -> str:
        """Add x @ matrix.T + bias; the matrix is (out, in)."""
        if self.int8:
            return self.add("Add", self._product_int8(x, matrix), self.weight(bias))
        return self.add("Add", self.add("MatMul", x, self.weight(matrix.T)), self.weight(bias))

    def _product_int8(self, x: str, matrix: np.ndarray) -> str:
        columns = np.maximum(np.abs(matrix).max(axis=1), 1e-12) / 127  # (out,) a scale for each
        whole = np.clip(np.rint(matrix / columns[:, None]), -127, 127).astype(np.int8)  # (out, in)
        largest = self.add("ReduceMax", self.add("Abs", x), axes=[-1], keepdims=1)  # (n, length, 1)
        rows = self.add(
            "Div", self.add("Max", largest, self.weight(np.float32([1e-12]))), self.weight(np.float32([127]))
        )
        # uint8 with 128 for zero: products of uint8 and int8 are the fast ones.
        shifted = self.add("Add", self.add("Round", self.add("Div", x, rows)), self.weight(np.float32([128])))
        tokens = self.add("Cast", shifted, to=TensorProto.UINT8)
        product = self.add("MatMulInteger", tokens, self.weight(whole.T), self.weight(np.uint8(128)))
        scaled = self.add("Mul", self.add("Cast", product, to=TensorProto.FLOAT), rows)
        return self.add("Mul", scaled, self.weight(columns.astype(np.float32)))

    def rows_of(self, table: np.ndarray, ids: str) -> str:
        """Add a look-up of a table's rows."""
        if not self.int8:
            return self.add("Gather", self.weight(table), ids)
        scales = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-12) / 127  # (words, 1)
        whole = self.weight(np.clip(np.rint(table / scales), -127, 127).astype(np.int8))
        found = self.add("Cast", self.add("Gather", whole, ids), to=TensorProto.FLOAT)
        return self.add("Mul", found, self.add("Gather", self.weight(scales.astype(np.float32)), ids))

    def normalise(self, x: str, weights: dict[str, np.ndarray], name: str, eps: float) -> str:
        parts = (self.weight(weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.add("LayerNormalization", x, *parts, axis=-1, epsilon=eps)


def build(config: dict[str, Any], weights: dict[str, np.ndarray], int8: bool) -> onnx.ModelProto:
    """The graph: token ids (n, length) to the last hidden state (n, length, hidden)."""
    graph, eps = Graph(int8), config["layer_norm_eps"]
    heads, size = config["num_attention_heads"], config["hidden_size"]
    whole = np.int64
    length = graph.add("Shape", "input_ids", start=1, end=2)
    positions = graph.add(
        "Slice", graph.weight(weights["embeddings.position_embeddings.weight"]), graph.weight(whole([0])), length
    )
    kinds = graph.add("Gather", graph.weight(weights["embeddings.token_type_embeddings.weight"]), "token_type_ids")
    words = graph.rows_of(weights["embeddings.word_embeddings.weight"], "input_ids")
    hidden = graph.add("Add", graph.add("Add", words, kinds), positions)
    hidden = graph.normalise(hidden, weights, "embeddings.LayerNorm", eps)
    seen = graph.add(
        "Cast", graph.add("Unsqueeze", "attention_mask", graph.weight(whole([1, 2]))), to=TensorProto.FLOAT
    )
    away = graph.add("Mul", graph.add("Sub", graph.weight(np.float32([1])), seen), graph.weight(np.float32([-1e4])))
    split, joined = graph.weight(whole([0, 0, heads, size // heads])), graph.weight(whole([0, 0, size]))
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        query, key, value = _query_key_value(graph, hidden, weights, layer, size // heads)
        query, value = (
            graph.add("Transpose", graph.add("Reshape", part, split), perm=[0, 2, 1, 3]) for part in (query, value)
        )
        key = graph.add("Transpose", graph.add("Reshape", key, split), perm=[0, 2, 3, 1])
        scores = graph.add("Softmax", graph.add("Add", graph.add("MatMul", query, key), away), axis=-1)
        found = graph.add("Transpose", graph.add("MatMul", scores, value), perm=[0, 2, 1, 3])
        found = graph.add("Reshape", found, joined)
        found = graph.linear(found, *_named(weights, f"{layer}.attention.output.dense"))
        hidden = graph.normalise(graph.add("Add", found, hidden), weights, f"{layer}.attention.output.LayerNorm", eps)
        wide = _gelu(graph, graph.linear(hidden, *_named(weights, f"{layer}.intermediate.dense")))
        found = graph.linear(wide, *_named(weights, f"{layer}.output.dense"))
        hidden = graph.normalise(graph.add("Add", found, hidden), weights, f"{layer}.output.LayerNorm", eps)
    graph.add("Identity", hidden, name="last_hidden_state")
    return _finish(graph, size)


def _named(weights: dict[str, np.ndarray], name: str) -> tuple[np.ndarray, np.ndarray]:
    return weights[f"{name}.weight"], weights[f"{name}.bias"]


def _query_key_value(graph: Graph, x: str, weights: dict[str, np.ndarray], layer: str, head_size: int) -> list[str]:
    """One product for all three; the scores' division by the root of the head's size is in the query's weights."""
    parts = [_named(weights, f"{layer}.attention.self.{part}") for part in ("query", "key", "value")]
    parts[0] = tuple(part / np.float32(math.sqrt(head_size)) for part in parts[0])  # type: ignore[assignment]
    matrices, biases = zip(*parts, strict=True)
    return graph.add("Split", graph.linear(x, np.vstack(matrices), np.concatenate(biases)), outputs=3, axis=-1)


def _gelu(graph: Graph, x: str) -> str:
    inner = graph.add("Erf", graph.add("Div", x, graph.weight(np.float32([math.sqrt(2)]))))
    both = graph.add("Mul", x, graph.add("Add", inner, graph.weight(np.float32([1]))))
    return graph.add("Mul", both, graph.weight(np.float32([0.5])))


def _finish(graph: Graph, size: int) -> onnx.ModelProto:
    ids = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "length"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    hidden = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["n", "length", size])
    whole = helper.make_graph(graph.nodes, "bert", ids, [hidden], graph.weights)
    model = helper.make_model(whole, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def compare(folder: Path, path: Path) -> tuple[float, np.ndarray]:
    """The largest difference of a hidden state from numpy's, and the cosine of each text's vector with numpy's (n,)."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    config, weights = read_bert(folder)
    tokenizer.enable_truncation(min(128, config["max_position_embeddings"]))
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(TEXTS)
    ids, mask = (np.array([getattr(each, part) for each in encoded]) for part in ("ids", "attention_mask"))
    fed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (hidden,) = session.run(None, {name: array.astype(np.int64) for name, array in fed.items()})
    wanted = forward(config, weights, ids, mask)
    cosines = (mean_vectors(hidden, mask) * mean_vectors(wanted, mask)).sum(1)
    return float(np.abs((hidden - wanted) * mask[:, :, None]).max()), cosines


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--int8", action="store_true", help="write model-int8.onnx")
    parser.add_argument("--sha256", help="refuse a model.safetensors that has another digest")
    options = parser.parse_args(arguments)
    digest = hashlib.sha256((options.folder / "model.safetensors").read_bytes()).hexdigest()
    if options.sha256 not in (None, digest):
        raise SystemExit(f"{options.folder / 'model.safetensors'} has the digest {digest}, not {options.sha256}")
    path = options.folder / ("model-int8.onnx" if options.int8 else "model.onnx")
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(build(*read_bert(options.folder), options.int8).SerializeToString())
    difference, cosines = compare(options.folder, partial)
    print(f"{path}: {partial.stat().st_size / 1e6:.1f} MB, largest difference from numpy {difference:.1e}, cosine "
          f"{cosines.mean():.5f} (mean), {cosines.min():.5f} (worst)")  # fmt: skip
    if cosines.min() < MIN_COSINE if options.int8 else difference > TOLERANCE:
        partial.unlink()
        raise SystemExit(f"{path} is too far from the numpy pass: nothing is written")
    partial.replace(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
