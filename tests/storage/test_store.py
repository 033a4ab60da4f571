"""The model folder: whole or not at all, the same bytes for the same model, and one line for whatever is wrong."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import storage_helpers
from neartag import store
from neartag.core.errors import ModelError, NeartagError, ParameterError
from neartag.data.mapped import mapped_bytes
from neartag.storage.folder import TEMPORARY
from neartag.storage.locking import LOCK
from neartag.storage.manifest import compute_digest, read_manifest
from storage_helpers import PARTS, Fake, FakeFeatures, whole, write_fakes

HELPERS = str(Path(storage_helpers.__file__).parent)


@pytest.fixture(scope="module")
def fakes(tmp_path_factory):
    """The folder of the package by which neartag finds Fake and FakeFeatures."""
    return write_fakes(tmp_path_factory.mktemp("fakes"))


@pytest.fixture(autouse=True, scope="module")
def _registered(fakes):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(fakes))
        yield


def save_full(folder, value: int = 1) -> None:
    store.save(
        Fake(value),
        folder,
        label_names=["ä label", "another", "\ud800 lone"],
        point_names=["first", "second"],
        features=FakeFeatures(["one", "two"], np.array([1.0, 2.0])),
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def data_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name != LOCK)


def test_round_trip(tmp_path):
    folder = tmp_path / "deep" / "model"
    save_full(folder)
    stored = store.load(folder)
    assert whole(stored) == 1
    assert stored.model.parts["model"]["empty"].shape == (0, 3)
    assert stored.label_names == ["ä label", "another", "\ud800 lone"]
    assert stored.point_names == ["first", "second"]
    assert stored.features.words == ["one", "two"]
    np.testing.assert_array_equal(stored.features.idf, [1.0, 2.0])
    assert stored.info == store.inspect(folder)
    assert stored.info["kind"] == "fake"
    assert stored.info["settings"] == {"value": 1, "list": [1, "two", None]}
    assert stored.info["bytes"] == sum(path.stat().st_size for path in data_files(folder) if path.name != "model.json")


def test_without_names_and_features(tmp_path):
    store.save(Fake(1), tmp_path)
    stored = store.load(str(tmp_path), verify=False)
    assert (stored.label_names, stored.point_names, stored.features) == (None, None, None)
    assert whole(stored) == 1


def test_file_names_and_manifest(tmp_path):
    save_full(tmp_path)
    document = json.loads((tmp_path / "model.json").read_bytes())
    listed = [*document["parts"].values(), document["label_names"], document["point_names"]]
    listed += [document["features"]["settings"], document["features"]["arrays"]]
    assert {entry["name"] for entry in listed} | {"model.json", LOCK} == set(contents(tmp_path))
    for entry in listed:
        assert entry["name"].split(".")[1] == entry["sha256"][:16]
    assert document["format_version"] == 3


def test_a_folder_of_the_first_format_is_read(tmp_path):
    save_full(tmp_path)
    document = json.loads((tmp_path / "model.json").read_bytes())
    document["format_version"] = 1
    for name in ("texts", "added", "extras", "digest"):
        del document[name]
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.warns(UserWarning, match="written by an earlier neartag, and nothing tells whether its model.json"):
        assert whole(store.load(tmp_path)) == 1


def test_same_model_same_bytes(tmp_path):
    save_full(tmp_path / "one")
    time.sleep(0.01)
    save_full(tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    stored = store.load(tmp_path / "one")
    names = {"label_names": stored.label_names, "point_names": stored.point_names}
    store.save(stored.model, tmp_path / "three", features=stored.features, **names)
    assert contents(tmp_path / "one") == contents(tmp_path / "three")


def test_saving_over_itself_keeps_the_files(tmp_path):
    save_full(tmp_path)
    before = {path.name: path.stat().st_ino for path in data_files(tmp_path) if path.name != "model.json"}
    stored = store.load(tmp_path)
    store.save(stored.model, tmp_path, label_names=stored.label_names)
    after = {path.name: path.stat().st_ino for path in data_files(tmp_path) if path.name != "model.json"}
    assert set(after) < set(before)
    assert all(before[name] == inode for name, inode in after.items())
    assert whole(store.load(tmp_path)) == 1


def test_saving_repairs_a_damaged_file(tmp_path):
    save_full(tmp_path)
    victim = next(tmp_path.glob("learner-000.*"))
    victim.write_bytes(b"damaged")
    save_full(tmp_path)
    assert whole(store.load(tmp_path)) == 1


def test_the_old_files_go_and_only_those(tmp_path):
    store.save(Fake(1), tmp_path)
    old = {path.name for path in tmp_path.glob("*.safetensors")}
    mine = ["notes.txt", "weights.safetensors", "model.0123456789abcde.safetensors", "Model.0123456789abcdef.json.bak"]
    for name in mine:
        (tmp_path / name).write_text("mine")
    (tmp_path / "learner-009.0123456789abcdef.safetensors").write_text("left by a crash")
    (tmp_path / TEMPORARY).write_text("left by a crash")
    store.save(Fake(2), tmp_path)
    left = set(contents(tmp_path))
    assert not left & old
    assert set(mine) <= left
    assert "learner-009.0123456789abcdef.safetensors" not in left
    assert TEMPORARY not in left
    assert whole(store.load(tmp_path)) == 2


def test_arrays_are_mapped_and_read_only(tmp_path):
    store.save(Fake(1), tmp_path)
    for arrays in store.load(tmp_path).model.parts.values():
        for array in arrays.values():
            assert mapped_bytes(array) == array.nbytes
            assert not array.flags.writeable


def test_saving_takes_no_memory_of_the_models_size(tmp_path):
    model = Fake(1, size=2 * 10**6)  # 16 MB a part
    store.save(Fake(1), tmp_path / "other")  # imported
    for _ in range(2):  # a new folder, and one that has the same files already
        tracemalloc.start()
        store.save(model, tmp_path / "model")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 5e6
    assert whole(store.load(tmp_path / "model")) == 1


def test_numbers_of_numpy_in_settings(tmp_path):
    model = Fake(1)
    model.value = np.int64(7)
    store.save(model, tmp_path)
    assert store.load(tmp_path).info["settings"]["value"] == 7


# What goes wrong when saving


@pytest.mark.parametrize("name", ["notes.txt", "model.json"])
def test_a_foreign_folder_is_left_alone(tmp_path, name):
    (tmp_path / name).write_text('{"mine": true}')
    with pytest.raises(ModelError, match=rf"{name}.*choose"):
        store.save(Fake(1), tmp_path)
    assert set(contents(tmp_path)) == {name}


def test_a_folder_of_leftovers_is_taken(tmp_path):
    for name in (LOCK, TEMPORARY, "model.0123456789abcdef.safetensors"):
        (tmp_path / name).write_text("")
    store.save(Fake(1), tmp_path)
    assert whole(store.load(tmp_path)) == 1


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "model").write_text("")
    with pytest.raises(ModelError, match="is a file"):
        store.save(Fake(1), tmp_path / "model")
    with pytest.raises(ModelError, match="cannot save"):
        store.save(Fake(1), tmp_path / "model" / "inner")


@pytest.mark.parametrize("part", ["features", "../up", "a/b", "Model", "a.b", "", "-a", "x\n"])
def test_part_names(tmp_path, part):
    model = Fake(1)
    model.parts = {part: {}}
    with pytest.raises(ParameterError, match="a part cannot be named"):
        store.save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_names_may_be_given_one_at_a_time(tmp_path):
    store.save(Fake(1), tmp_path, label_names=(name for name in "ab"), point_names=iter(["c"]))
    stored = store.load(tmp_path)
    assert (stored.label_names, stored.point_names) == (["a", "b"], ["c"])


@pytest.mark.parametrize("names", ["text", [1], [None], [b"x"], 3])
def test_names_must_be_strings(tmp_path, names):
    with pytest.raises(ParameterError, match="label_names must be a list of strings"):
        store.save(Fake(1), tmp_path, label_names=names)


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object(), np.zeros(2)])
def test_settings_must_be_json(tmp_path, value):
    store.save(Fake(1), tmp_path)
    model = Fake(2)
    model.value = value
    with pytest.raises(ParameterError, match="settings of 'fake' cannot be stored as JSON"):
        store.save(model, tmp_path)
    assert whole(store.load(tmp_path)) == 1


def test_an_unregistered_kind_is_neither_saved_nor_loaded(tmp_path, monkeypatch, fakes):
    save_full(tmp_path / "both")
    store.save(Fake(1), tmp_path / "model")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(fakes)])
    with pytest.raises(ModelError, match="kind 'fake' is unknown"):
        store.save(Fake(1), tmp_path / "new")
    with pytest.raises(ModelError, match=r"kind 'fake' is unknown to neartag .*or install the package"):
        store.load(tmp_path / "model")


def test_unregistered_features_are_not_saved(tmp_path):
    class Unknown(FakeFeatures):
        kind = "unknown"

    with pytest.raises(
        ModelError, match=r"kind of features 'unknown' is unknown .*it knows hybrid, sentence, tfidf, vectors, words"
    ):
        store.save(Fake(1), tmp_path / "model", features=Unknown(["one"], np.array([1.0])))
    assert not list((tmp_path / "model").glob("*.safetensors"))


# What goes wrong when loading


def test_no_model_there(tmp_path):
    for call in (store.load, store.inspect):
        with pytest.raises(ModelError, match="there is no folder"):
            call(tmp_path / "nothing")
        with pytest.raises(ModelError, match=r"is not a model folder, it has no file model\.json"):
            call(tmp_path)


@pytest.mark.parametrize("damage", ["flip", "truncate", "append", "delete", "empty", "folder"])
def test_damage_to_any_file_is_named(tmp_path, damage):
    save_full(tmp_path / "good")
    for number in range(len(data_files(tmp_path / "good"))):
        folder = tmp_path / f"{damage}-{number}"
        shutil.copytree(tmp_path / "good", folder)
        victim = data_files(folder)[number]
        content = bytearray(victim.read_bytes())
        if damage == "flip":
            content[len(content) // 2 if victim.name != "model.json" else 0] ^= 0x10
            victim.write_bytes(content)
        elif damage == "truncate":
            victim.write_bytes(content[:-1])
        elif damage == "append":
            victim.write_bytes(bytes(content) + b"x")
        elif damage == "empty":
            victim.write_bytes(b"")
        else:
            victim.unlink()
            if damage == "folder":
                victim.mkdir()
        with pytest.raises(ModelError, match=victim.name.replace(".", r"\.")) as caught:
            store.load(folder)
        assert "\n" not in str(caught.value)


def test_a_flipped_bit_of_any_byte_is_found(tmp_path):
    store.save(Fake(1, size=2), tmp_path)
    for victim in tmp_path.glob("*.safetensors"):
        content = victim.read_bytes()
        for position in range(len(content)):
            victim.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
            with pytest.raises(ModelError, match="checksum"):
                store.load(tmp_path)
        victim.write_bytes(content)
    assert whole(store.load(tmp_path)) == 1


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
def test_a_pipe_in_place_of_a_file_does_not_block(tmp_path):
    store.save(Fake(1), tmp_path)
    for victim in data_files(tmp_path):
        content = victim.read_bytes()
        victim.unlink()
        os.mkfifo(victim)
        with pytest.raises(ModelError, match=victim.name.replace(".", r"\.")):
            store.load(tmp_path)
        victim.unlink()
        victim.write_bytes(content)


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
@pytest.mark.parametrize("name", ["model.json", LOCK, TEMPORARY])
def test_a_pipe_in_the_folder_does_not_block_saving(tmp_path, fakes, name):
    # In a process of its own, which can be ended where it does block.
    program = """
import os, sys
sys.path[:0] = sys.argv[3:]
import storage_helpers as t
from neartag import store
from neartag.core.errors import ModelError
os.mkfifo(os.path.join(sys.argv[1], sys.argv[2]))
try:
    store.save(t.Fake(1), sys.argv[1])
    print(t.whole(store.load(sys.argv[1])))
except ModelError as error:
    print(error)
"""
    arguments = [str(tmp_path), name, HELPERS, str(fakes)]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    said = {"model.json": "holds 'model.json' and no model: choose", LOCK: "cannot lock", TEMPORARY: "1"}[name]
    assert said in done.stdout


def edit(folder: Path, path: list[str], value: Any) -> None:
    document = json.loads((folder / "model.json").read_bytes())
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    write_sealed(folder, document)


def write_sealed(folder: Path, document: dict[str, Any]) -> None:
    """Write a manifest with the digest that fits it, so that what else is wrong with it is found."""
    with suppress(ParameterError):  # what JSON cannot hold has none
        document["digest"] = compute_digest(document)
    (folder / "model.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["format"], "other", "is not neartag's"),
        (["format_version"], 4, r"written by neartag '0\..*', format 4: upgrade"),
        (["format_version"], 0, "no format 0"),
        (["format_version"], "1", "'format_version' is missing or not of type int"),
        (["format_version"], True, "'format_version'"),
        (["kind"], "other", "kind 'other' is unknown to neartag .*upgrade"),
        (["kind"], ["fake"], "'kind' is missing or not of type str"),
        (["features", "kind"], "other", "kind of features 'other' is unknown"),
        (["features"], 3, "'features'"),
        (["settings"], [], "'settings'"),
        (["settings"], {}, "state of kind 'fake' cannot be read"),
        (["parts"], None, "'parts'"),
        (["parts", "model"], "model.safetensors", "'model' is missing or not of type dict"),
        (["parts", "model", "bytes"], 1, r"model\..*bytes instead of 1"),
        (["parts", "model", "sha256"], "0" * 64, r"model\..*checksum"),
        (["parts", "model", "name"], "../model.0123456789abcdef.safetensors", "is not a name of a file"),
        (["parts", "model", "name"], "/etc/passwd", "is not a name of a file"),
        (["parts", "model", "name"], "sub/model.0123456789abcdef.safetensors", "is not a name of a file"),
        (["parts", "model", "name"], "model.0123456789abcdef.safetensors\n", "is not a name of a file"),
        (["parts", "model", "name"], "model.json", "is not a name of a file"),
        (["parts", "model", "name"], "model.0123456789abcdef.json", "is not a name of a file"),
        (["label_names", "name"], "..", "is not a name of a file"),
        (["label_names"], [], "'label_names'"),
        (["texts"], 3, "'texts'"),
        (["added"], {}, "'added'"),
        (["added"], [3], "'added'"),
        (["added"], [{"points": 1}], "'file'"),
        (["added"], [{"points": -1, "file": {}}], "cannot be -1"),
        (["extras"], [], "'extras'"),
        (["index"], True, "the field 'index' is not one of ours"),
    ],
)
def test_a_wrong_manifest_is_explained(tmp_path, path, value, words):
    save_full(tmp_path)
    edit(tmp_path, path, value)
    with pytest.raises(ModelError, match=words) as caught:
        store.load(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("error", [MemoryError("16 GiB"), OverflowError("too large"), ZeroDivisionError()])
def test_a_state_that_cannot_be_computed_with_is_damage(tmp_path, monkeypatch, error):
    def failing(settings, parts):
        raise error

    store.save(Fake(1), tmp_path)
    monkeypatch.setattr(Fake, "from_state", failing)
    with pytest.raises(ModelError, match=f"state of kind 'fake' cannot be read .{type(error).__name__}"):
        store.load(tmp_path)


def test_names_of_the_wrong_shape(tmp_path):
    save_full(tmp_path)
    document = json.loads((tmp_path / "model.json").read_bytes())
    edit(tmp_path, ["label_names"], document["features"]["settings"])  # an object where a list belongs
    with pytest.raises(ModelError, match="is not a list of names"):
        store.load(tmp_path)


@pytest.mark.parametrize("path", [["kind"], ["settings", "value"], ["parts", "model", "bytes"], ["extras"], ["digest"]])
def test_a_manifest_that_was_changed_is_refused(tmp_path, path):
    save_full(tmp_path)
    document = json.loads((tmp_path / "model.json").read_bytes())
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = "other"
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelError, match="its digest does not fit"):
        store.load(tmp_path)
    del document["digest"]
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelError, match="'digest' is missing"):
        store.load(tmp_path)


def test_no_flipped_bit_of_the_manifest_goes_unseen(tmp_path):
    save_full(tmp_path)
    file = tmp_path / "model.json"
    original, sound = file.read_bytes(), read_manifest(tmp_path)
    refused = 0
    for bit in range(0, 8 * len(original), 3):  # every third: all of them take three times as long
        damaged = bytearray(original)
        damaged[bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        try:
            assert read_manifest(tmp_path) == sound, bit
        except ModelError:
            refused += 1
    assert refused > 2 * len(original)  # others change white space only


def test_the_digest_is_that_of_all_that_the_folder_holds(tmp_path):
    save_full(tmp_path / "one")
    save_full(tmp_path / "two")
    one, two = (store.inspect(tmp_path / name)["digest"] for name in ("one", "two"))
    assert one == two
    store.save(Fake(2), tmp_path / "two")
    assert store.inspect(tmp_path / "two")["digest"] != one


def test_a_model_of_another_digest_is_refused(tmp_path):
    save_full(tmp_path)
    digest = store.inspect(tmp_path)["digest"]
    for right in (digest, digest[:16].upper(), f" {digest[:20]}\n"):
        assert whole(store.load(tmp_path, expect_digest=right)) == 1
    with pytest.raises(ModelError, match=f"has the digest {digest}, not the one expected"):
        store.load(tmp_path, expect_digest="0" * 64)
    for wrong in (digest[:15], "", "x" * 64):
        with pytest.raises(ParameterError, match="is no digest: give the 64 digits"):
            store.load(tmp_path, expect_digest=wrong)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
garbage = st.one_of(
    st.binary(max_size=60),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.sampled_from([b"[" * 200_000, b'{"a":' * 100_000, b"1" * 5000, b"\xff\xfe{\x00}\x00", b'"\\ud800"', b"NaN"]),
)


@settings(max_examples=150, deadline=None)
@given(garbage)
def test_garbage_for_a_manifest_raises_only_model_errors(tmp_path_factory, content):
    folder = tmp_path_factory.getbasetemp() / "garbage"
    folder.mkdir(exist_ok=True)
    (folder / "model.json").write_bytes(content)
    for call in (store.load, store.inspect):
        with pytest.raises(ModelError):
            call(folder)
    with pytest.raises(ModelError):
        store.save(Fake(1), folder)


FIELDS = [
    *(["format"], ["format_version"], ["neartag_version"], ["kind"], ["settings"], ["settings", "value"], ["parts"]),
    *(["parts", "model"], ["parts", "model", "name"], ["parts", "model", "bytes"], ["parts", "model", "sha256"]),
    *(["features"], ["features", "kind"], ["features", "settings"], ["features", "arrays", "name"]),
    *(["label_names"], ["point_names"], ["label_names", "bytes"]),
]


@pytest.fixture(scope="module")
def good_folder(tmp_path_factory, _registered):
    folder = tmp_path_factory.mktemp("good")
    save_full(folder)
    return folder


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(FIELDS), json_values)
def test_any_value_in_any_field_loads_or_raises_a_model_error(good_folder, path, value):
    original = (good_folder / "model.json").read_bytes()
    edit(good_folder, path, value)
    message = ""
    try:
        store.load(good_folder)
    except ModelError as error:
        message = str(error)
    finally:
        (good_folder / "model.json").write_bytes(original)
    assert "\n" not in message


# Crashes and company


def test_a_failure_at_any_call_leaves_a_whole_model(tmp_path, monkeypatch):
    real = {"replace": os.replace, "fsync": os.fsync}
    failures = 0
    for name in real:
        for number in range(100):
            folder = tmp_path / f"{name}-{number}"
            store.save(Fake(1), folder)
            calls = 0

            def failing(*arguments, name=name, number=number):
                nonlocal calls
                calls += 1
                if calls == number + 1:
                    raise OSError(28, "No space left on device")
                return real[name](*arguments)

            with monkeypatch.context() as patch:
                patch.setattr(os, name, failing)
                message = None
                try:
                    store.save(Fake(2), folder)
                except ModelError as error:
                    message = str(error)
            before_switch = number < (PARTS + 2 if name == "replace" else PARTS + 3)
            if message is not None:
                failures += 1
                assert "No space left on device" in message
                assert whole(store.load(folder)) == (1 if before_switch else 2)
                assert TEMPORARY not in contents(folder)
            store.save(Fake(3), folder)
            assert whole(store.load(folder)) == 3
            assert len(contents(folder)) == PARTS + 3  # the parts, "model", model.json, .lock: nothing left behind
            if message is None:
                assert calls <= number
                break
    assert failures == (PARTS + 2) + (PARTS + 2 + (2 if os.name == "posix" else 0))


def test_a_failed_first_save_leaves_nothing_that_blocks_the_next(tmp_path, monkeypatch):
    def failing(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        with pytest.raises(ModelError, match="No space left"):
            store.save(Fake(1), tmp_path / "model")
    assert set(contents(tmp_path / "model")) == {LOCK}
    store.save(Fake(1), tmp_path / "model")
    assert whole(store.load(tmp_path / "model")) == 1


@pytest.mark.skipif(os.name != "posix", reason="needs fork and SIGKILL")
def test_killed_at_any_moment(tmp_path, fakes):
    # A process forks writers that save one model over the other, and kills each at a random moment.
    program = f"""
import os, random, signal, sys, time
sys.path[:0] = {[HELPERS, str(fakes)]!r}
import storage_helpers as t
from neartag import store
models = [t.Fake(1, 50_000), t.Fake(2, 50_000)]
folder, chance, seen = sys.argv[1], random.Random(0), []
store.save(models[0], folder)
kills = 0
longest = 0.03  # seconds; on a busy machine more, until each of the two models was seen
while kills < 80 or len(set(seen)) < 2:
    writer = os.fork()
    if writer == 0:
        number = 0
        while True:
            number += 1
            store.save(models[number % 2], folder)
    longest *= 1.02 if len(set(seen)) < 2 else 1
    time.sleep(chance.uniform(0, longest))
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    seen.append(t.whole(store.load(folder)))
    kills += 1
store.save(models[0], folder)
assert len(os.listdir(folder)) == t.PARTS + 3, os.listdir(folder)
print(kills, seen.count(1), seen.count(2))
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "model")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kills, ones, twos = map(int, done.stdout.split())
    assert kills >= 80
    assert ones
    assert twos


def test_readers_and_writers_at_once(tmp_path):
    store.save(Fake(1), tmp_path)
    stop, seen, errors = threading.Event(), [], []

    def read():
        while not stop.is_set():
            try:
                seen.append(whole(store.load(tmp_path)))
            except BaseException as error:
                errors.append(error)

    def write(values):
        try:
            while not stop.is_set():
                for value in values:
                    store.save(Fake(value), tmp_path)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    threads += [threading.Thread(target=write, args=(values,)) for values in ((1, 2), (3, 1))]
    for thread in threads:
        thread.start()
    while not errors and (len(seen) < 300 or len(set(seen)) < 2):
        time.sleep(0.01)
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]
    assert whole(store.load(tmp_path)) in (1, 2, 3)


def test_a_reader_that_lost_a_race_starts_again(tmp_path, monkeypatch):
    from neartag.storage import manifest

    store.save(Fake(1), tmp_path)
    read, reads = manifest.read_manifest, 0

    def overtaken(folder):
        nonlocal reads
        reads += 1
        found = read(folder)
        if reads <= 3:
            store.save(Fake(1 + reads), tmp_path)  # the files just listed go before they are opened
        return found

    monkeypatch.setattr(manifest, "read_manifest", overtaken)
    assert whole(store.load(tmp_path)) == 4
    assert reads == 4


def test_a_folder_that_may_not_be_written_is_told_with_advice(tmp_path, monkeypatch):
    def refuse(path, *_):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    told = rf"cannot lock the folder {re.escape(str(tmp_path))} to write to it: Permission denied; make it writable"
    with pytest.raises(ModelError, match=told), store.lock(tmp_path):
        pass


def test_the_lock_keeps_others_out(tmp_path):
    with store.lock(tmp_path):
        begun = time.monotonic()
        with pytest.raises(ModelError, match="is being written by someone else"), store.lock(tmp_path, timeout=0.1):
            pass
        assert time.monotonic() - begun >= 0.1
    with store.lock(tmp_path, timeout=0):
        pass
    with pytest.raises(ModelError, match="cannot lock"), store.lock(tmp_path / "nothing"):
        pass


def test_the_lock_waits_for_another_process(tmp_path):
    program = (
        "import sys, time\nfrom neartag import store\n"
        "with store.lock(sys.argv[1]):\n    print('held', flush=True)\n    time.sleep(0.5)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ModelError), store.lock(tmp_path, timeout=0.05):
            pass
        store.save(Fake(1), tmp_path)
    assert whole(store.load(tmp_path)) == 1


def test_loading_imports_neither_scikit_learn_nor_what_is_not_asked_for(tmp_path, fakes):
    store.save(Fake(1), tmp_path / "model")
    program = """
import sys
sys.path[:0] = sys.argv[2:]
from neartag import store
store.load(sys.argv[1])
names = {name.split(".")[0] for name in sys.modules} | {name for name in sys.modules if name.startswith("neartag")}
unwanted = names & {"sklearn", "scipy", "numba", "rich", "neartag.x1.model", "neartag.encoders.tfidf"}
assert not unwanted, unwanted
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "model"), HELPERS, str(fakes)], check=True)


def test_a_pickle_is_not_loaded(tmp_path):
    import pickle

    (tmp_path / "model.json").write_bytes(pickle.dumps(Fake(1)))
    with pytest.raises(NeartagError, match="not readable as JSON"):
        store.load(tmp_path)
