"""Formats by their endings, numpy's .npz, and conversions that lose nothing."""

from __future__ import annotations

import gzip
import io
import itertools
import os
import stat
import threading
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_helpers import assert_same, datasets, names, rows, toy
from neartag.core.errors import DataError, ParameterError
from neartag.data import formats, registry
from neartag.data.files import open_to_replace
from neartag.data.formats.npz import read_npz, write_npz

ENDINGS = [".txt", ".xmc.gz", ".svm.bz2", ".npz", ".jsonl", ".jsonl.xz"]
NAMED = {"label_names": ["a", "b\tc", ""], "feature_names": list("wxyz"), "point_names": ["p", "p", "é"]}


@pytest.mark.parametrize(("source", "target"), list(itertools.product(ENDINGS, ENDINGS)))
def test_convert_loses_nothing(tmp_path, source, target):
    (tmp_path / "there").mkdir()
    for data in (toy(), toy(**NAMED)):
        formats.write(data, tmp_path / f"data{source}")
        converted = formats.convert(tmp_path / f"data{source}", tmp_path / "there" / f"data{target}")
        assert_same(converted, data)
        assert_same(formats.read(tmp_path / "there" / f"data{target}"), data)


@pytest.mark.parametrize("name", ["data", "data.csv", "data.npz.gz", "data.gz", ".txt", "data.TXTX"])
def test_unknown_endings(tmp_path, name):
    for act in (formats.read, lambda path: formats.write(toy(), path), lambda path: formats.convert("no.txt", path)):
        with pytest.raises(
            ParameterError, match=r"known are \.txt, \.xmc, \.svm, \.npz, \.jsonl, and \.gz, \.xz, \.bz2"
        ):
            act(tmp_path / name)


def test_endings_in_capitals(tmp_path):
    formats.write(toy(), tmp_path / "DATA.TXT.GZ")
    assert_same(formats.read(tmp_path / "DATA.TXT.GZ"), toy())


def test_folders_that_are_not_there(tmp_path):
    with pytest.raises(DataError, match="cannot be written: No such file"):
        formats.write(toy(), tmp_path / "absent" / "data.npz")


@given(datasets(), st.data())
def test_npz_round_trip(tmp_path_factory, data, draw):
    path = tmp_path_factory.getbasetemp() / "round.npz"
    data.label_names = draw.draw(st.lists(st.text(max_size=5) | names, min_size=data.n_labels, max_size=data.n_labels))
    write_npz(data, path)
    assert_same(read_npz(path), data)


def test_npz_made_by_hand(tmp_path):
    arrays = saved_arrays(toy())
    arrays["label_names"] = np.array(["a", "long name", "c"])
    arrays["Y_ids"] = np.array([2, 2], dtype=np.int64)
    arrays["X_values"] = arrays["X_values"].astype(np.float64)
    np.savez_compressed(tmp_path / "data.npz", **arrays)
    data = read_npz(tmp_path / "data.npz", name="mine")
    assert data.label_names == ["a", "long name", "c"]
    assert data.Y.toarray().tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert data.X.dtype == np.float32
    assert data.name == "mine"


def saved_arrays(data):
    stream = io.BytesIO()
    X, Y = data.X, data.Y
    np.savez(stream, X_values=X.data, X_ids=X.indices, X_pointers=X.indptr, X_shape=np.array(X.shape))
    stream.seek(0)
    arrays = dict(np.load(stream))
    return {**arrays, "Y_ids": Y.indices, "Y_pointers": Y.indptr, "Y_shape": np.array(Y.shape)}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("X_ids", None, "lacks X_ids"),
        ("X_ids", [0, 3, 4], "X_ids must be from 0 to 3, found 0 to 4"),
        ("X_ids", [0, -1, 1], "found -1 to 1"),
        ("X_ids", [0, 0, 1], "row 0 of X has a feature more than once"),
        ("X_ids", [0.0, 3.0, 1.0], "X_ids must be a row of whole numbers, not float64"),
        ("X_ids", [[0, 3, 1]], "X_ids must be a row"),
        ("X_values", [1.0], "one number for each of the 3 X_ids"),
        ("X_values", ["a", "b", "c"], "one number for each"),
        ("X_values", [1.0, np.nan, 1.0], "point 0 has the value nan"),
        ("X_values", [1.0, 1.0, 1e39], "point 1 has the value inf"),
        ("X_pointers", [0, 2, 3], "X_shape .* does not fit 3 X_pointers"),
        ("X_pointers", [0, 3, 2, 3], "X_pointers must rise"),
        ("X_pointers", [0, 1, 2, 2], "X_pointers must rise from 0 to the number of X_ids, 3"),
        ("X_shape", [3, -4], "X_shape"),
        ("X_shape", [3], "X_shape"),
        ("X_shape", [3, 2**40], "X_shape"),
        ("Y_shape", [3, 2], "Y_ids must be from 0 to 1, found 1 to 2"),
        ("Y_pointers", [0, 1, 2], "Y_shape"),
        ("label_names", ["a", "b"], "2 label names for 3 labels"),
        ("label_names", [1, 2, 3], "label_names is neither strings nor a JSON list"),
        ("label_names", np.frombuffer(b'["a", 2, "c"]', dtype=np.uint8), "label_names must be a list of strings"),
        ("label_names", np.frombuffer(b"[[[", dtype=np.uint8), "label_names is neither"),
    ],
)
def test_npz_that_is_wrong(tmp_path, key, value, said):
    arrays = saved_arrays(toy())
    arrays[key] = np.asarray(value)
    if value is None:
        del arrays[key]
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(DataError, match=said):
        read_npz(tmp_path / "data.npz")


def test_npz_runs_no_code(tmp_path):
    for content in (np.array([{"a": 1}], dtype=object), np.arange(3)):
        np.save(tmp_path / "data.npy", content, allow_pickle=True)
        (tmp_path / "data.npz").write_bytes((tmp_path / "data.npy").read_bytes())
        with pytest.raises(DataError, match=r"data\.npz: is"):
            read_npz(tmp_path / "data.npz")
    np.savez(tmp_path / "data.npz", **{**saved_arrays(toy()), "X_ids": np.array([None, 3, {}], dtype=object)})
    with pytest.raises(DataError, match="damaged or not an"):
        read_npz(tmp_path / "data.npz")
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        archive.writestr("X_ids.npy", b"no array")
    with pytest.raises(DataError, match="lacks X_values, X_ids"):
        read_npz(tmp_path / "data.npz")


@pytest.mark.parametrize("version", [b"\x01\x00", b"\x02\x00"])
@pytest.mark.parametrize("header", [b"{'descr': '<i4', 'shape': (3", b"'" * 3, b"  a\n b", b"("])
def test_npz_with_a_header_that_is_no_python(tmp_path, version, header):
    # numpy reads such headers once more word by word, for what Python 2 wrote, and fails there in another way.
    header = header.ljust(118) + b"\n"
    length = len(header).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        archive.writestr("X_ids.npy", b"\x93NUMPY" + version + length + header)
    with pytest.raises(DataError, match=r"data\.npz: is damaged or not an"):
        read_npz(tmp_path / "data.npz")


@pytest.fixture(scope="module")
def npz_bytes(tmp_path_factory):
    path = tmp_path_factory.mktemp("npz") / "data.npz"
    write_npz(toy(**NAMED), path)
    return path.read_bytes()


@settings(max_examples=200)
@given(st.binary(max_size=60), st.floats(0, 1), st.booleans())
def test_npz_of_any_bytes_is_read_or_refused(tmp_path_factory, npz_bytes, noise, where, cut):
    place = int(where * len(npz_bytes))
    path = tmp_path_factory.getbasetemp() / "any.npz"
    for content in (noise, npz_bytes[:place] + noise + (b"" if cut else npz_bytes[place + len(noise) :])):
        path.write_bytes(content)
        try:
            data = read_npz(path)
        except DataError:
            continue
        assert np.isfinite(data.X.data).all()


def test_rows_that_repeat_no_id_across_rows(tmp_path):
    data = toy(X=rows([{3: 1}, {3: 2}, {0: 1, 3: 1}], 4))
    write_npz(data, tmp_path / "data.npz")
    assert_same(read_npz(tmp_path / "data.npz"), data)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
@pytest.mark.parametrize(("ending", "unpack"), [("", bytes), (".gz", gzip.decompress)])
def test_what_is_no_plain_file_is_written_to_and_not_replaced(tmp_path, ending, unpack):
    # As /dev/null would be, at which no test should be let loose.
    pipe, link = tmp_path / f"pipe.jsonl{ending}", tmp_path / f"link.jsonl{ending}"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    formats.write(toy(), tmp_path / "plain.jsonl")
    for target in (pipe, link):
        received = []
        reader = threading.Thread(target=lambda received=received: received.append(pipe.read_bytes()), daemon=True)
        reader.start()
        formats.write(toy(), target)
        reader.join()
        assert unpack(received[0]) == (tmp_path / "plain.jsonl").read_bytes()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert link.is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {pipe.name, link.name, "plain.jsonl"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
def test_a_pipe_that_nobody_reads_any_more(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def write():
        with open_to_replace(pipe) as stream:
            os.close(reader)
            stream.write(b"lost")

    with pytest.raises(DataError, match="pipe: cannot be written: Broken pipe"):
        write()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_points_to_predict_for_need_no_labels(tmp_path):
    path = tmp_path / "points.jsonl"
    path.write_text('{"features": {"2": 1}}\n{"features": {}, "labels": [1]}\n')
    for read in (formats.read, registry.load):
        with pytest.raises(DataError, match="there is no 'labels'"):
            read(path)
        found = read(path, labelled=False)
        assert found.X.toarray().tolist() == [[0, 0, 1], [0, 0, 0]]
        assert found.Y.toarray().tolist() == [[0, 0], [0, 1]]
    formats.write(toy(), tmp_path / "data.txt")  # a format that has a place for labels in every line
    assert_same(formats.read(tmp_path / "data.txt", labelled=False), toy())
