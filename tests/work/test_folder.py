"""The work folder: parts that are whole or not there, and plans that must be the same."""

from __future__ import annotations

import os
import shutil
from functools import partial

import numpy as np
import pytest
from scipy.sparse import random as random_sparse

from neartag.core.errors import ParameterError, WorkError
from neartag.linalg.hybrid_rows import HybridRows
from neartag.work.folder import DIGEST_BYTES, WorkFolder
from neartag.work.parts import MemoryParts, TaskContext, get_json, get_matrix, put_json, put_matrix

PLAN = {"parameters": {"l2": 1.0, "refine": True}, "points": 5}


@pytest.fixture
def folder(tmp_path):
    place = WorkFolder(tmp_path / "work")
    place.open(PLAN)
    return place


def part():
    arrays = {"numbers": np.arange(10, dtype=np.int32)}
    put_json(arrays, "facts", {"one": 1})
    return arrays


@pytest.mark.parametrize("name", ["a", "cluster/0/001/00002"])
def test_a_part_is_read_as_it_was_written(folder, name):
    assert not folder.is_whole(name)
    folder.put(name, part())
    found = folder.get(name)
    assert folder.is_whole(name)
    assert found["numbers"].tolist() == list(range(10))
    assert not found["numbers"].flags.writeable
    assert get_json(found, "facts") == {"one": 1}


@pytest.mark.parametrize("place", ["first", "header", "middle", "last"])
def test_any_changed_byte_is_found_and_the_part_removed(folder, place):
    folder.put("a", part())
    path = folder.path("a")
    content = bytearray(path.read_bytes())
    at = {"first": 0, "header": 20, "middle": len(content) // 2, "last": len(content) - 1}[place]
    content[at] ^= 1
    path.write_bytes(content)
    assert not folder.is_whole("a")
    assert not path.exists()


@pytest.mark.parametrize("left", [0, 1, DIGEST_BYTES, DIGEST_BYTES + 1, -1])
def test_a_part_that_was_cut_is_found(folder, left):
    folder.put("a", part())
    path = folder.path("a")
    path.write_bytes(path.read_bytes()[:left])
    assert not folder.is_whole("a")


def test_the_same_part_has_the_same_bytes(folder):
    for name in "ab":
        folder.put(name, part())
    assert folder.path("a").read_bytes() == folder.path("b").read_bytes()


def test_what_was_being_written_when_the_process_ended_is_removed(folder):
    folder.put("a", part())
    left = folder.path("a").with_name(".a.part.1234")
    left.write_bytes(b"half")
    assert folder.open(PLAN)
    assert not left.exists()
    assert folder.is_whole("a")


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({**PLAN, "points": 6}, "points was 5 there, and is 6 now"),
        ({**PLAN, "parameters": {"l2": 2.0, "refine": True}}, r"l2 was 1\.0 there, and is 2\.0 now"),
        ({**PLAN, "parameters": {"l2": 1.0}}, "refine was true there, and is null now"),
    ],
)
def test_the_work_of_another_plan_is_refused_by_the_difference(folder, other, difference):
    with pytest.raises(ParameterError, match=difference):
        folder.open(other)
    assert folder.open(PLAN)


def test_a_folder_of_other_things_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ParameterError, match="holds other things than work"):
        WorkFolder(tmp_path).open(PLAN)


def test_a_part_that_is_not_there_is_told(folder):
    with pytest.raises(WorkError, match="do all workers see this folder"):
        folder.get("a")


@pytest.mark.parametrize("kind", ["sparse", "dense", "hybrid"])
def test_matrices_are_handed_over_as_they_are(folder, kind):
    words, vectors = random_sparse(7, 5, 0.4, "csr", np.float32, 0), np.ones((7, 3), np.float32)
    rows = {"sparse": words, "dense": vectors, "hybrid": HybridRows(words, vectors)}[kind]
    for parts in (folder, MemoryParts()):
        arrays = {}
        put_matrix(arrays, "rows", rows)
        parts.put("a", arrays)
        found = get_matrix(parts.get("a"), "rows")
        assert found.shape == rows.shape
        wanted, got = (each.toarray() if hasattr(each, "toarray") else each for each in (rows, found))
        assert np.array_equal(wanted, got)


def test_a_task_sees_nothing_but_its_inputs():
    parts = MemoryParts()
    parts.put("a", part())
    with pytest.raises(KeyError, match="not among the inputs"):
        TaskContext(parts, ("b",)).get("a")


def test_a_folder_goes_from_its_name_at_once_with_what_an_earlier_removal_left(folder, monkeypatch):
    left = folder.place.with_name(f".{folder.place.name}.removed")
    (left / "parts").mkdir(parents=True)
    has_name, remove = [], shutil.rmtree
    monkeypatch.setattr(
        shutil, "rmtree", lambda path, **given: has_name.append(folder.place.exists()) or remove(path, **given)
    )
    folder.remove()
    assert has_name[:2] == [True, False]  # the old remains first; then the folder, which has no name any more
    assert not folder.place.exists()
    assert not left.exists()


class InUse:
    """Stands for os.replace and os.unlink of Windows while somebody has files mapped: refuses so often."""

    def __init__(self, monkeypatch, refusals):
        self.left = refusals
        monkeypatch.setattr("neartag.work.folder.PAUSE", 0)
        monkeypatch.setattr(os, "replace", partial(self.call, os.replace))
        monkeypatch.setattr(os, "unlink", partial(self.call, os.unlink))

    def call(self, function, *given, **options):
        self.left -= 1
        if self.left >= 0:
            raise PermissionError(13, "The process cannot access the file because it is being used by another process")
        return function(*given, **options)


def test_a_folder_that_is_in_use_is_removed_a_little_later(folder, monkeypatch):
    folder.put("a", {"numbers": np.arange(3)})
    InUse(monkeypatch, 3)
    folder.remove()
    assert not folder.place.exists()
    assert not folder.removed.place.exists()


def test_a_folder_that_stays_in_use_is_told_of(folder, monkeypatch):
    folder.put("a", {"numbers": np.arange(3)})
    InUse(monkeypatch, 10**9)
    with pytest.warns(UserWarning, match="work could not be removed, for files in it are still in use: remove it"):
        folder.remove()


def test_a_link_to_a_folder_is_followed_when_it_is_removed(folder, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(folder.place, target_is_directory=True)
    WorkFolder(link).remove()
    assert not folder.place.exists()
