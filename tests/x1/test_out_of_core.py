"""Training within a limit of memory, with large arrays in files: the same model, to the last byte."""

from __future__ import annotations

import joblib
import pytest

from neartag.core import memory
from neartag.core.errors import ParameterError
from neartag.linalg import large_arrays
from neartag.work.executors.dask import Dask
from neartag.work.executors.in_process import InProcess
from neartag.work.folder import WorkFolder
from neartag.x1 import limits
from neartag.x1.resolve import DataFacts, resolve
from neartag.x1.schedule import cluster_bytes, row_bytes
from neartag.x1.settings import X1Settings
from work_helpers import KINDS, PLAIN, fit, small_data


@pytest.fixture
def made(monkeypatch):
    """Let nearly every array be made in a file, and return the sizes of those that were."""
    sizes, reserve = [], large_arrays._reserve
    monkeypatch.setattr(limits, "MIN_BLOCK_BYTES", 1000)
    monkeypatch.setattr(limits, "BLOCKS_IN_ROOM", 2**40)

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
    monkeypatch.setattr(limits.rerank, "bytes_needed", lambda *given: 2**40)
    with pytest.raises(ParameterError, match=r"refining 400 points needs .*--work-dir"):
        fit("refined", max_memory=memory.in_use() + 2**30)
    fit("refined", InProcess(1, None, WorkFolder(tmp_path / "work")), max_memory=memory.in_use() + 2**30)


def test_processes_of_joblib_have_files_too(monkeypatch):
    """Their folder is a temporary one: what fits there is not refused because it does not fit into memory."""
    monkeypatch.setattr(limits.rerank, "bytes_needed", lambda *given: 2**40)
    with joblib.parallel_config("loky", n_jobs=1):
        found = fit("refined", max_memory=memory.in_use() + 2**30)
    assert found == fit("refined")


def test_where_a_work_folder_does_not_help_either_it_is_not_advised(monkeypatch, tmp_path):
    monkeypatch.setattr(limits.rerank, "bytes_needed_in_blocks", lambda *given: 2**40)
    executor = InProcess(1, None, WorkFolder(tmp_path / "work"))
    with pytest.raises(ParameterError, match="refining 400 points needs") as raised:
        fit("refined", executor, max_memory=memory.in_use() + 2**30)
    assert "--work-dir" not in str(raised.value)


def test_on_workers_with_little_memory_clusters_are_split_before(monkeypatch):
    data = small_data()
    settings = resolve(X1Settings.from_parameters(PLAIN), DataFacts.of(data.X, 40))
    executor = Dask(None, WorkFolder("none"))
    monkeypatch.setattr(Dask, "task_limit", lambda self: None)
    assert limits.split_to_fit(settings, data.X, executor) == settings
    monkeypatch.setattr(Dask, "task_limit", lambda self: 2**30)
    assert limits.split_to_fit(settings, data.X, executor) == settings
    needed = cluster_bytes(300, 3000, 200, settings.svp) + row_bytes(3000)
    monkeypatch.setattr(Dask, "task_limit", lambda self: needed)
    with pytest.warns(UserWarning, match="larger ones than 2.. are split"):
        size = limits.split_to_fit(settings, data.X, executor).clusters.max_size
    assert isinstance(size, int)
    assert cluster_bytes(size, 10 * size, 200, settings.svp) + row_bytes(10 * size) <= needed
    asked = settings.replace(max_cluster_size=390)
    assert limits.split_to_fit(asked, data.X, executor) == asked


class ClusterOfThreads(InProcess, Dask):
    """A Dask cluster by its type, whose tasks run here."""

    def task_limit(self):
        return NEED_OF_300


# Bytes of a task that trains 300 of the small data's points.
NEED_OF_300 = cluster_bytes(300, 3000, 200, X1Settings.from_parameters(PLAIN).svp) + row_bytes(3000)


def test_what_was_decided_for_work_that_is_gone_on_with_holds(tmp_path, recwarn):
    """Begun in one process: no cluster is split on workers with little memory, so none is said to be."""
    options = {"n_clusters": 1, "n_learners": 1}
    begun = WorkFolder(tmp_path / "begun")
    wanted = fit("plain", InProcess(1, None, begun), **options)
    assert fit("plain", ClusterOfThreads(1, None, begun), **options) == wanted
    assert not [each for each in recwarn if "are split" in str(each.message)]


def test_clusters_that_were_split_stay_so_in_one_process(tmp_path):
    options = {"n_clusters": 1, "n_learners": 1}
    begun = WorkFolder(tmp_path / "begun")
    with pytest.warns(UserWarning, match="are split"):
        wanted = fit("plain", ClusterOfThreads(1, None, begun), **options)
    assert fit("plain", InProcess(1, None, begun), **options) == wanted
    assert fit("plain", **options) != wanted


def test_too_many_centroids_for_the_memory_are_refused_before_any_work(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "CENTROID_BYTES", 2**30)
    executor = InProcess(1, None, WorkFolder(tmp_path / "work"))
    with pytest.raises(ParameterError, match=r"dividing the points into 2 clusters .* fewer clusters"):
        fit("refined", executor, max_memory=memory.in_use() + 2**30)
    assert not (tmp_path / "work").exists()
