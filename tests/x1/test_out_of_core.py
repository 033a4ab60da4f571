"""Training within a limit of memory, with large arrays in files: the same model, to the last byte."""

from __future__ import annotations

import pytest

from neartag.core import memory
from neartag.core.errors import ParameterError
from neartag.linalg import large_arrays
from neartag.work.executors.in_process import InProcess
from neartag.work.folder import WorkFolder
from neartag.x1 import training
from work_helpers import KINDS, fit


@pytest.fixture
def made(monkeypatch):
    """Let nearly every array be made in a file, and return the sizes of those that were."""
    sizes, reserve = [], large_arrays._reserve
    monkeypatch.setattr(training, "MIN_BLOCK_BYTES", 1000)
    monkeypatch.setattr(training, "BLOCKS_IN_ROOM", 2**40)

    def counted(handle: int, nbytes: int) -> None:
        sizes.append(nbytes)
        reserve(handle, nbytes)

    monkeypatch.setattr(large_arrays, "_reserve", counted)
    return sizes


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_the_same_byte_for_byte(kind, tmp_path, made):
    executor = InProcess(1, None, WorkFolder(tmp_path / "work"))
    assert fit(kind, executor, max_memory=memory.in_use() + 2**31) == fit(kind)
    assert len(made) > 10


def test_without_a_limit_nothing_is_made_in_files(tmp_path, made):
    fit("refined", InProcess(1, None, WorkFolder(tmp_path / "work")))
    assert not made


def test_no_file_is_left_in_the_work_folder(tmp_path, made):
    folder = WorkFolder(tmp_path / "work")
    fit("refined", InProcess(1, None, folder), max_memory=memory.in_use() + 2**31)
    assert not list(folder.place.rglob("*scratch*"))


def test_who_has_too_little_memory_is_told_of_the_work_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(training.rerank, "bytes_needed", lambda *given: 2**40)
    with pytest.raises(ParameterError, match=r"refining 400 points needs .*--work-dir"):
        fit("refined", max_memory=memory.in_use() + 2**30)
    fit("refined", InProcess(1, None, WorkFolder(tmp_path / "work")), max_memory=memory.in_use() + 2**30)


def test_where_a_work_folder_does_not_help_either_it_is_not_advised(monkeypatch, tmp_path):
    monkeypatch.setattr(training.rerank, "bytes_needed_in_blocks", lambda *given: 2**40)
    executor = InProcess(1, None, WorkFolder(tmp_path / "work"))
    with pytest.raises(ParameterError, match="refining 400 points needs") as raised:
        fit("refined", executor, max_memory=memory.in_use() + 2**30)
    assert "--work-dir" not in str(raised.value)
