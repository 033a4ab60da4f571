"""Sentence models: ONNX held against a numpy forward pass, static vectors against plain means, and bad folders."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from neartag.core.errors import ModelError, NeartagError
from neartag.encoders.sentence_models import hub, loading, pooling
from neartag.encoders.sentence_models.loading import open_parts, read_parts
from sentence_helpers import (
    SPECIAL,
    WORDS,
    build_onnx,
    load_script,
    make_bert,
    make_static,
    meaning_vectors,
    write_pooling,
    write_tokenizer,
)

pytest.importorskip("tokenizers", reason="sentence encoders need tokenizers")
TEXTS = [
    "Leipä ja taikina",
    "Der Stern ist am Himmel",
    "uusi auto",
    "",
    "bread",
    "yö " * 40,
    "größe und wagen ja auto on",
]


def open_model(path: Path):
    return open_parts(read_parts(path))


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> Path:
    pytest.importorskip("onnx", reason="building a model needs onnx")
    pytest.importorskip("onnxruntime", reason="models in ONNX need onnxruntime")
    folder = make_bert(tmp_path_factory.mktemp("encoders") / "tiny-bert")
    build_onnx(folder)
    return build_onnx(folder, "--int8")


@pytest.fixture
def copy(bert, tmp_path) -> Path:
    return Path(shutil.copytree(bert, tmp_path / "copy"))


def numpy_vectors(folder: Path, texts: list[str], pool=None) -> np.ndarray:
    """One text at a time, so that nothing is padded."""
    from tokenizers import Tokenizer

    oracle, tokenizer = load_script("bert_forward"), Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(16)
    config, weights = oracle.read_bert(folder)
    rows = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids])
        mask = np.ones_like(ids)
        hidden = oracle.forward(config, weights, ids, mask)
        rows.append(oracle.mean_vectors(hidden, mask)[0] if pool is None else pool(hidden[0]))
    return np.array(rows)


def test_a_transformer_agrees_with_plain_numpy(bert):
    model = open_model(bert)
    found = model.encode(TEXTS)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, numpy_vectors(bert, TEXTS), atol=1e-4)
    assert (model.identity.name, model.identity.format, model.identity.dim) == ("tiny-bert", "onnx", 16)
    assert model.identity.pooling == "mean of at most 16 tokens, normalised"
    assert model.encode([]).shape == (0, 16)


def test_int8_is_close(bert):
    model = open_model(bert / "model-int8.onnx")
    cosines = (model.encode(TEXTS) * numpy_vectors(bert, TEXTS)).sum(axis=1)
    assert cosines.min() > 0.99
    assert model.identity.name == "tiny-bert/model-int8.onnx"
    assert model.identity.digest != open_model(bert).identity.digest


@pytest.mark.parametrize(
    ("mode", "pool"),
    [
        ("pooling_mode_cls_token", lambda hidden: hidden[0]),
        ("pooling_mode_max_tokens", lambda hidden: hidden.max(axis=0)),
        ("pooling_mode_mean_sqrt_len_tokens", lambda hidden: hidden.sum(axis=0) / np.sqrt(len(hidden))),
        ("pooling_mode_weightedmean_tokens", lambda h: np.average(h, axis=0, weights=np.arange(1, len(h) + 1))),
        ("pooling_mode_lasttoken", lambda hidden: hidden[-1]),
    ],
)
def test_pooling_is_read_from_the_folder(copy, mode, pool):
    write_pooling(copy, 16, mode, normalise=False)
    settings = read_parts(copy).settings
    assert settings["normalise"] is False
    found = open_parts(read_parts(copy)).encode(TEXTS)
    np.testing.assert_allclose(found, numpy_vectors(copy, TEXTS, pool), atol=1e-4)


def test_what_a_folder_says_is_read(tmp_path):
    files = {
        "config_sentence_transformers.json": {"prompts": {"query": "query: "}, "default_prompt_name": "query"},
        "tokenizer_config.json": {"model_max_length": 10**30},
        "config.json": {"max_position_embeddings": 514},
        "modules.json": [{"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}],
        "1_Pooling/config.json": {"pooling_mode": "cls", "embedding_dimension": 3},
    }
    read = pooling.read_settings(files.get, "here")
    wanted = {
        "pooling": "cls",
        "dim": 3,
        "normalise": False,
        "max_tokens": 514,
        "lower_case": False,
        "prompt": "query: ",
    }
    assert read == wanted
    assert pooling.describe(read) == "cls of at most 514 tokens, after 'query: '"
    assert pooling.read_settings({}.get, "here")["pooling"] == "mean"
    files["1_Pooling/config.json"] = {"pooling_mode_cls_token": True, "pooling_mode_max_tokens": True}
    with pytest.raises(ModelError, match="pools by cls and max"):
        pooling.read_settings(files.get, "here")
    del files["1_Pooling/config.json"]
    with pytest.raises(ModelError, match=r"has no 1_Pooling/config\.json"):
        pooling.read_settings(files.get, "here")
    files["modules.json"] = [{"type": "sentence_transformers.models.CNN", "path": "2_CNN"}]
    with pytest.raises(ModelError, match="a step 'CNN', which neartag cannot do"):
        pooling.read_settings(files.get, "here")


def test_a_dense_layer_must_be_inside_the_model(copy):
    """Its weights lie in a file of their own, which neartag does not read: the model's own vector is taken."""
    onnx = pytest.importorskip("onnx")
    modules = json.loads((copy / "modules.json").read_text())
    modules.insert(2, {"type": "sentence_transformers.models.Dense", "path": "2_Dense"})
    (copy / "modules.json").write_text(json.dumps(modules))
    (copy / "2_Dense").mkdir()
    (copy / "2_Dense" / "config.json").write_text(json.dumps({"in_features": 16, "out_features": 3}))
    with pytest.raises(ModelError, match="asks for a dense layer, and the model has no output sentence_embedding"):
        open_model(copy)
    model, layer = onnx.load(copy / "model.onnx"), np.random.default_rng(0).normal(size=(16, 3)).astype(np.float32)
    nodes = [  # the mean of all tokens, and the layer
        onnx.helper.make_node("ReduceMean", ["last_hidden_state"], ["mean"], axes=[1], keepdims=0),
        onnx.helper.make_node("MatMul", ["mean", "layer"], ["sentence_embedding"]),
    ]
    model.graph.node.extend(nodes)
    model.graph.initializer.append(onnx.numpy_helper.from_array(layer, "layer"))
    wide = onnx.helper.make_tensor_value_info("sentence_embedding", onnx.TensorProto.FLOAT, ["n", 3])
    model.graph.output.append(wide)
    onnx.save(model, copy / "model.onnx")
    opened = open_model(copy)
    assert (opened.identity.dim, "the model's own vector" in opened.identity.pooling) == (3, True)
    wanted = numpy_vectors(copy, ["uusi auto"], lambda hidden: hidden.mean(0)) @ layer
    np.testing.assert_allclose(opened.encode(["uusi auto"]), wanted / np.linalg.norm(wanted), atol=1e-4)


def test_a_vector_does_not_depend_on_other_texts(bert):
    model = open_model(bert)
    found = model.encode(TEXTS)
    for text, vector in zip(TEXTS, found, strict=True):
        np.testing.assert_allclose(model.encode([text])[0], vector, atol=1e-6)


def test_odd_texts(bert, tmp_path):
    for model in (open_model(bert), open_model(make_static(tmp_path / "static"))):
        found = model.encode(["auto \ud800", "auto \x00 \u202e", "auto " * 100_000, "\n\t"])
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found[2], model.encode(["auto " * 400])[0], atol=1e-6)


def test_models_are_pickled_and_opened_once(bert):
    model = open_model(bert)
    assert open_model(bert) is model
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).encode(TEXTS), model.encode(TEXTS))


# Static vectors


def plain_means(dim: int, texts: list[str]) -> np.ndarray:
    table = meaning_vectors(dim)
    place = {word: number for number, word in enumerate(dict.fromkeys(WORDS), len(SPECIAL))}
    rows = np.zeros((len(texts), dim))
    for row, text in zip(rows, texts, strict=True):
        known = [place[word] for word in text.lower().split() if word in place]
        if known:
            row[:] = table[known].mean(axis=0)
            row /= np.linalg.norm(row)
    return rows


def test_static_vectors_are_means_of_known_words(tmp_path):
    model = open_model(make_static(tmp_path / "static"))
    np.testing.assert_allclose(model.encode(TEXTS), plain_means(8, TEXTS), atol=1e-6)
    assert (model.identity.format, model.identity.dim) == ("static", 8)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).encode(TEXTS), model.encode(TEXTS))


def test_a_quantised_vocabulary_and_half_precision(tmp_path):
    make_static(tmp_path / "static")
    table = meaning_vectors(8)
    chance = np.random.default_rng(1)
    mapping, weights = chance.permutation(len(table)), chance.uniform(1, 2, len(table)).astype(np.float32)
    shuffled = np.empty_like(table)
    shuffled[mapping] = table / weights[:, None]
    arrays = {"embeddings": shuffled.astype(np.float16), "mapping": mapping, "weights": weights}
    save_file(arrays, tmp_path / "static" / "model.safetensors")
    np.testing.assert_allclose(open_model(tmp_path / "static").encode(TEXTS), plain_means(8, TEXTS), atol=5e-3)


def test_wordllamas_files(tmp_path, monkeypatch):
    package = tmp_path / "wordllama"
    for name in ("weights", "tokenizers"):
        (package / name).mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('it is not to be run')")
    save_file({"embedding.weight": meaning_vectors(8)}, package / "weights" / "l2_supercat_256.safetensors")
    write_tokenizer(tmp_path, special=False)
    (tmp_path / "tokenizer.json").rename(package / "tokenizers" / "l2_supercat_tokenizer_config.json")
    with monkeypatch.context() as patch:
        patch.setattr(loading.importlib.util, "find_spec", lambda name: None)
        with pytest.raises(ModelError, match="pip install --no-deps wordllama"):
            read_parts("wordllama")
    monkeypatch.syspath_prepend(str(tmp_path))
    model = open_parts(read_parts("wordllama"))
    known = ["leipä ja taikina", "uusi auto"]
    found = model.encode(known)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    np.testing.assert_allclose(found, plain_means(8, known), atol=1e-6)


# Bad input: one clear line each


def test_an_empty_folder(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"empty is no sentence encoder, it is empty: give a folder with a model"):
        read_parts(tmp_path / "empty")
    with pytest.raises(ModelError, match="there is no sentence encoder nowhere: give a folder, wordllama"):
        read_parts("nowhere")


def test_a_transformer_without_onnx(tmp_path):
    make_bert(tmp_path / "bert")
    with pytest.raises(ModelError, match=r"no model\.onnx: scripts/build_onnx\.py builds one"):
        read_parts(tmp_path / "bert")


def test_a_model_of_another_dimension(copy):
    write_pooling(copy, 384)
    with pytest.raises(ModelError, match="its vectors have 16 numbers, but its configuration says 384"):
        open_model(copy)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_truncated_weights(copy, tmp_path, share):
    static = make_static(tmp_path / "static") / "model.safetensors"
    for path in (copy / "model.onnx", static):
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
        with pytest.raises(ModelError, match=r"is empty|its weights are damaged") as told:
            open_model(path.parent)
        assert "\n" not in str(told.value)


def test_weights_that_are_not_finite(tmp_path):
    table = meaning_vectors(8)
    table[5, 0] = np.nan
    with pytest.raises(ModelError, match="its weights hold numbers that are not finite"):
        open_model(make_static(tmp_path / "static", embeddings=table))


def test_a_tokenizer_that_does_not_fit(copy, tmp_path, capfd):
    static = make_static(tmp_path / "static")
    for folder in (copy, static):
        write_tokenizer(folder, words=[*WORDS, *(f"more{number}" for number in range(50))])
        with pytest.raises(ModelError, match=r"do not fit|does not fit") as told:
            open_model(folder)
        assert "\n" not in str(told.value)
        (folder / "tokenizer.json").write_text("{}")
        with pytest.raises(ModelError, match=r"tokenizer\.json is no tokenizer"):
            open_model(folder)
        (folder / "tokenizer.json").unlink()
        with pytest.raises(ModelError, match=r"has no .*tokenizer\.json that can be read"):
            open_model(folder)
    assert capfd.readouterr().err == "", "the error is all that is told"


def test_weights_without_a_table(tmp_path):
    folder = make_static(tmp_path / "static")
    save_file({"other": load_file(folder / "model.safetensors")["embeddings"]}, folder / "model.safetensors")
    with pytest.raises(ModelError, match="have no table of vectors named embeddings or"):
        open_model(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(ModelError, match=r"config\.json cannot be read as JSON"):
        open_model(folder)


def test_names_of_the_hub(tmp_path, monkeypatch):
    huggingface_hub = pytest.importorskip("huggingface_hub")
    static, asked = make_static(tmp_path / "0123abc"), []

    def download(name, *, allow_patterns, local_files_only=False):
        asked.append(local_files_only)
        if local_files_only or name != "owner/static":
            raise OSError("no network\nat all")
        return str(static)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    parts = read_parts("owner/static")
    assert (parts.name, parts.version) == ("owner/static", "0123abc")
    assert asked == [True, False], "what is here is not asked for again"
    with pytest.raises(ModelError, match=r"cannot be downloaded \(no network at all\): download the model where"):
        read_parts("owner/other")
    assert not any("bin" in pattern or "py" in pattern for pattern in hub.CONFIGURATION)


def test_the_builder_refuses_other_weights(bert, tmp_path):
    with pytest.raises(SystemExit, match="has the digest"):
        build_onnx(bert, "--sha256", "0" * 64)
    make_bert(tmp_path / "other")
    (tmp_path / "other" / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    with pytest.raises(SystemExit, match="only models of model_type bert"):
        build_onnx(tmp_path / "other")


def test_without_the_packages_it_says_what_to_install(bert, tmp_path, monkeypatch):
    import builtins

    whole = builtins.__import__

    def without(name, *rest):
        if name in ("tokenizers", "onnxruntime"):
            raise ImportError(name)
        return whole(name, *rest)

    fresh = Path(shutil.copytree(bert, tmp_path / "fresh"))
    write_pooling(fresh, 16, "pooling_mode_lasttoken")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(NeartagError, match=r"need tokenizers: pip install \"neartag\[onnx\]\""):
        open_model(fresh)
