"""Data that would take much of the memory: read into files that are mapped, with the same results, and nothing left."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from data_helpers import assert_same, toy
from neartag import store
from neartag.core.errors import DataError
from neartag.data import mapped, synthetic
from neartag.data.files import open_to_read
from neartag.data.formats.npz import read_npz, write_npz
from neartag.data.formats.xmc import read_xmc, write_xmc
from neartag.data.mapped import SpillableArrays, mapped_bytes
from neartag.x1.classifier import X1Classifier


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Return the folder in which temporary files are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(scope="module")
def data():
    return synthetic.make(400, 200, 40, 10, 2)


def bytes_in_files(found):
    return mapped_bytes(found.X.data, found.X.indices, found.Y.data, found.Y.indices)


def all_bytes(found):
    return sum(array.nbytes for array in (found.X.data, found.X.indices, found.Y.data, found.Y.indices))


class TestArrays:
    @pytest.mark.parametrize("map_from", [0, 20, 10**9])
    @pytest.mark.parametrize("dtype", [np.int32, np.float32, np.int64])
    def test_hold_what_was_appended(self, map_from, dtype):
        array = SpillableArrays("data", map_from).new(dtype)
        for part in (np.arange(3), np.empty(0), np.arange(10, 0, -2)):
            array.append(part)
        found = array.finish()
        assert found.tolist() == [0, 1, 2, 10, 8, 6, 4, 2]
        assert found.dtype == dtype
        assert found.flags.aligned
        assert mapped_bytes(found[2:]) == (0 if map_from > 20 else found[2:].nbytes)
        found[3] = 7  # readers put ids in order where they are
        assert found[3] == 7

    @pytest.mark.parametrize("map_from", [0, 10])
    def test_may_be_empty(self, map_from):
        array = SpillableArrays("data", map_from).new(np.float32)
        array.append(np.empty(0))
        assert array.finish().shape == (0,)
        array.spill()
        assert array.finish().dtype == np.float32

    def test_are_all_in_memory_or_all_in_files(self):
        for count, size in ((5, 0), (6, 48)):
            arrays = SpillableArrays("data", 40)
            both = arrays.new(np.int32), arrays.new(np.float32)
            for _ in range(count):
                for array in both:
                    array.append(np.ones(1))
            assert mapped_bytes(*(array.finish() for array in both)) == size

    def test_other_arrays_are_not_mapped(self):
        assert mapped_bytes(np.ones(3), np.ones(9)[3:], np.frombuffer(b"abcd", np.int32)) == 0

    def test_a_full_disk_is_an_error_that_says_where_and_how_much(self, temporary, monkeypatch):
        class Full(io.BytesIO):
            def write(self, content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
        array = SpillableArrays("some.txt", 2**20).new(np.float32)
        array.append(np.ones(2**18))
        with pytest.raises(
            DataError, match=r"some\.txt: takes more than 1\.0 MB .*first 3\.0 MB.* set TMPDIR"
        ) as raised:
            array.append(np.ones(2**19))
        assert str(temporary) in str(raised.value)
        assert os.strerror(errno.ENOSPC) in str(raised.value)

    def test_it_is_not_taken_for_a_fault_of_the_file_that_is_read(self, tmp_path, monkeypatch):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
        write_xmc(toy(), tmp_path / "data.txt")
        with pytest.raises(DataError, match=r"data\.txt: .*absent.* set TMPDIR"), open_to_read(tmp_path / "data.txt"):
            read_xmc(tmp_path / "data.txt", map_from=0)


class TestLimit:
    def test_is_a_share_of_the_memory_there_is_or_allowed(self, monkeypatch):
        monkeypatch.setattr(mapped.memory, "total", lambda: 4000)
        assert mapped.spill_threshold() == 1000
        with mapped.memory_limit(400):
            assert mapped.spill_threshold() == 100
            with mapped.memory_limit(None):
                assert mapped.spill_threshold() == 1000
        with mapped.memory_limit(10**9):
            assert mapped.spill_threshold() == 1000
        assert mapped.spill_threshold() == 1000

    def test_is_none_where_nothing_is_known(self, monkeypatch):
        monkeypatch.setattr(mapped.memory, "total", lambda: None)
        assert mapped.spill_threshold() == sys.maxsize


class TestReaders:
    @pytest.mark.parametrize("ending", [".txt", ".txt.gz", ".npz"])
    def test_read_the_same(self, ending, data, tmp_path):
        path, reader = tmp_path / f"data{ending}", read_npz if ending == ".npz" else read_xmc
        (write_npz if ending == ".npz" else write_xmc)(data, path)
        usual, found = reader(path), reader(path, map_from=1000)
        assert bytes_in_files(usual) == 0
        # An .npz says nothing of a label's value, which is always 1, and so takes no file.
        assert bytes_in_files(found) == all_bytes(found) - (found.Y.data.nbytes if ending == ".npz" else 0)
        assert_same(found, usual)
        assert_same(found, data)

    def test_put_ids_in_order_in_the_files(self, tmp_path):
        (tmp_path / "data.txt").write_bytes(b"3 4 3\n2,1,2 3:1e-6 0:0.1\n 1:-2.5\n\n")
        found = read_xmc(tmp_path / "data.txt", map_from=0)
        assert_same(found, toy())
        assert bytes_in_files(found) == all_bytes(found)

    def test_say_what_is_wrong_with_a_large_npz(self, data, tmp_path):
        arrays = {"X_values": data.X.data, "X_ids": data.X.indices, "X_pointers": data.X.indptr, "X_shape": [400, 200]}
        arrays.update(Y_ids=data.Y.indices, Y_pointers=data.Y.indptr, Y_shape=[400, 40])
        for key, value, said in (
            ("X_ids", data.X.indices.astype(float), "X_ids must be a row of whole numbers"),
            ("X_ids", np.array([None] * 9), "damaged"),
            ("X_values", data.X.data[None], "X_values must be one number"),
            ("X_values", np.where(data.X.data == data.X.data[7], np.nan, data.X.data), "has the value nan"),
        ):
            np.savez(tmp_path / "data.npz", **{**arrays, key: value})
            with pytest.raises(DataError, match=said):
                read_npz(tmp_path / "data.npz", map_from=0)
        np.savez(tmp_path / "data.npz", **arrays)
        content = (tmp_path / "data.npz").read_bytes()
        (tmp_path / "data.npz").write_bytes(content.replace(data.X.data[:50].tobytes(), bytes(200)))
        with pytest.raises(DataError, match="damaged"):  # by the archive's own checksum
            read_npz(tmp_path / "data.npz", map_from=0)

    def test_take_little_more_than_the_entries(self, tmp_path):
        wide = synthetic.make(20_000, 5000, 50, 100, 2)
        write_xmc(wide, tmp_path / "data.txt")
        assert (tmp_path / "data.txt").stat().st_size > 1.2 * all_bytes(wide), "or the test would be of no use"
        for map_from, most in ((None, 1.3), (1000, 0.2)):
            tracemalloc.start()
            try:
                read_xmc(tmp_path / "data.txt", map_from=map_from, block_bytes=2**16)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert peak < most * all_bytes(wide)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot kill without a word")
def test_a_process_that_is_killed_leaves_nothing(data, tmp_path):
    write_xmc(data, tmp_path / "data.txt")
    (tmp_path / "temporary").mkdir()
    program = """
import sys, time
from data_helpers import assert_same
from neartag.data.mapped import mapped_bytes
from neartag.data.formats.xmc import read_xmc
found = read_xmc(sys.argv[1], map_from=1000)
assert_same(found, read_xmc(sys.argv[1]))
print(mapped_bytes(found.X.data, found.X.indices), flush=True)
time.sleep(60)
"""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    surroundings = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "PYTHONPATH": paths}
    command = [sys.executable, "-c", program, str(tmp_path / "data.txt")]
    with subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, text=True) as process:
        assert int(process.stdout.readline()) == data.X.data.nbytes + data.X.indices.nbytes
        process.kill()
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_training_on_mapped_data_gives_the_same_bytes(n_jobs, data, tmp_path, temporary):
    write_xmc(data, tmp_path / "data.txt")
    settings = {"n_learners": 2, "n_clusters": 3, "embedding_dim": 10, "svp_neighbours": 20, "n_jobs": n_jobs}
    for name, map_from in (("usual", None), ("mapped", 0)):
        found = read_xmc(tmp_path / "data.txt", map_from=map_from)
        assert (bytes_in_files(found) > 0) == (name == "mapped")
        store.save(X1Classifier(**settings).fit(found.X, found.Y).model_, tmp_path / name)
    assert store.inspect(tmp_path / "mapped")["files"] == store.inspect(tmp_path / "usual")["files"]
    assert list(temporary.iterdir()) == []
