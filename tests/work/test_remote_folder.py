"""A work folder in storage elsewhere: here in files by their URLs, and in fsspec's own storage in memory."""

from __future__ import annotations

import errno
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from neartag.core.errors import ParameterError, WorkError
from neartag.work.executors.in_process import InProcess
from neartag.work.executors.joblib_processes import JoblibProcesses
from neartag.work.folder import WorkFolder
from neartag.work.remote_folder import RemoteFolder, open_folder
from neartag.work.times import Stopwatch, read_times
from work_helpers import KINDS, StoppedError, StopsAfter, fit, toy

fsspec = pytest.importorskip("fsspec")

PLAN = {"parameters": {"l2": 1.0}, "points": 5}


class Storage:
    """Where a work folder's files are, for a test that looks at them or changes them behind its back."""

    def __init__(self, url):
        self.url = url
        self.files, self.path = fsspec.core.url_to_fs(url)

    def names(self):
        there = self.files.find(self.path) if self.files.exists(self.path) else []
        return sorted(file[len(self.path) + 1 :] for file in there)

    def read(self, name):
        return self.files.cat_file(f"{self.path}/{name}")

    def write(self, name, content):
        self.files.makedirs(f"{self.path}/{name}".rpartition("/")[0], exist_ok=True)
        self.files.pipe_file(f"{self.path}/{name}", bytes(content))

    def damage(self, name, how):
        content = bytearray(self.read(name))
        content[len(content) // 3] ^= 4
        self.write(name, {"flipped": content, "cut": content[: len(content) // 2], "empty": b""}[how])


@pytest.fixture(params=["file", "memory"])
def storage(request, tmp_path):
    if request.param == "file":
        yield Storage((tmp_path / "bucket" / "run").as_uri())
        return
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    yield Storage("memory://bucket/run")
    memory.store.clear()


@pytest.fixture
def move(tmp_path, monkeypatch):
    """Return what moves this process to another computer: one without any copy. It begins on the first one."""
    seen = []

    def go():
        seen.append(tmp_path / f"computer-{len(seen)}")
        seen[-1].mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(seen[-1]))
        return seen[-1]

    go()
    return go


def opened(url):
    folder = open_folder(url)
    folder.open(PLAN)
    return folder


def part(number=0):
    return {"numbers": np.arange(10) + number}


def read(folder, name="a"):
    return folder.get(name)["numbers"].tolist()


def test_paths_and_urls_open_the_folder_that_they_name(storage, tmp_path):
    assert type(open_folder(tmp_path / "work")) is WorkFolder
    assert open_folder(open_folder(tmp_path / "work").address).place == tmp_path / "work"
    folder = open_folder(storage.url + "/")
    assert str(folder) == storage.url
    for each in (folder, folder.inside("inner"), folder.inside("inner").inside("deep")):
        assert open_folder(each.address).address == each.address
        assert open_folder(each.address).place == each.place
    assert open_folder(storage.url).place != folder.place, "each run has copies of its own"


@pytest.mark.parametrize("name", ["a", "cluster/0/001/00002"])
def test_a_part_is_read_on_another_computer_as_it_was_written(storage, move, name):
    folder = opened(storage.url)
    assert not folder.has(name)
    assert not folder.is_whole(name)
    folder.put(name, part())
    there = move()
    again = open_folder(folder.address)
    assert again.has(name)
    assert again.is_whole(name)
    assert not list(there.iterdir()), "to look is not to copy"
    assert read(again, name) == list(range(10))
    assert not again.get(name)["numbers"].flags.writeable
    assert again.path(name).read_bytes() == storage.read(f"parts/{name}.part")
    assert again.path(name).is_relative_to(there)


def test_the_processes_of_a_computer_copy_a_part_once(storage, move, monkeypatch):
    address = opened(storage.url).address
    open_folder(address).put("a", part())
    move()
    fetched, fetch = [], type(storage.files).get_file

    def watch(*given, **options):
        fetched.append(given)
        time.sleep(0.05)
        fetch(*given, **options)

    monkeypatch.setattr(type(storage.files), "get_file", watch)
    with ThreadPoolExecutor(4) as pool:  # at the same time; threads wait for each other as processes do
        found = list(pool.map(lambda _: read(open_folder(address)), range(4)))
    assert found == [list(range(10))] * 4
    assert len(fetched) == (1 if sys.platform != "win32" else 4)


@pytest.mark.parametrize("how", ["flipped", "cut", "empty"])
def test_a_part_that_was_damaged_in_the_storage_is_found_and_removed(storage, move, how):
    folder = opened(storage.url)
    folder.put("a", part())
    storage.damage("parts/a.part", how)
    move()
    with pytest.raises(WorkError, match=r"bucket/run/parts/a.part was damaged .* computed anew"):
        open_folder(folder.address).get("a")
    assert not folder.is_whole("a"), "though this computer has a copy that is whole"
    assert storage.names() == ["plan.json"]
    assert not folder.path("a").exists()


def test_copies_of_an_earlier_training_are_not_used(storage, move):
    first = opened(storage.url)
    first.put("a", part())
    storage.files.rm(storage.path, recursive=True)  # by hand, and the copies stayed
    assert first.path("a").exists()
    second = opened(storage.url)
    assert not first.path("a").exists(), "removed when the next run began"
    with pytest.raises(WorkError, match=r"parts/a.part: there is no such file"):
        second.get("a")
    second.put("a", part(7))
    assert read(second) == list(range(7, 17))


def test_another_plan_is_refused_by_the_difference(storage, move):
    opened(storage.url)
    with pytest.raises(ParameterError, match=f"{storage.url} holds work of .*points was 5 there, and is 6 now"):
        open_folder(storage.url).open({**PLAN, "points": 6})
    assert open_folder(storage.url).open(PLAN)
    assert open_folder(storage.url).holds(PLAN)
    assert not open_folder(storage.url).holds({**PLAN, "points": 6})


def test_a_place_of_other_things_is_refused(storage, move):
    storage.write("letter.txt", b"dear")
    with pytest.raises(ParameterError, match=f"{storage.url} holds other things than work"):
        opened(storage.url)


def test_what_was_being_written_when_somebody_was_killed_is_no_part(storage, move, monkeypatch):
    folder = opened(storage.url)

    def end_amid(self, source, target, **options):
        self.pipe_file(target, Path(source).read_bytes()[:100])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(storage.files), "put_file", end_amid)
        with pytest.raises(KeyboardInterrupt):
            folder.put("a", part())
    assert len(storage.names()) == 2, "with what is left of it"
    assert not open_folder(storage.url).has("a")
    opened(storage.url)
    assert storage.names() == ["plan.json"]


def test_a_first_attempt_that_was_killed_early_is_no_obstacle(storage, move):
    storage.write(".plan.json." + "0" * 32, b"{")
    assert opened(storage.url).is_whole("a") is False


def test_a_removed_folder_leaves_nothing(storage, move):
    folder = opened(storage.url)
    folder.put("a", part())
    inner = folder.inside("votes-alone")
    inner.open(PLAN)
    inner.put("b", part())
    folder.write_note("saving", "digest")
    folder.remove()
    assert not storage.files.exists(storage.path)
    assert not list(Path(tempfile.gettempdir()).glob("neartag-work-*"))


def test_a_bucket_is_not_removed_with_the_work_in_it(move, monkeypatch):
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    folder, removed, remove = opened("memory://bucket"), [], type(memory).rm
    folder.put("a", part())

    def watch(self, path, **options):
        removed.append(path)
        remove(self, path, **options)

    monkeypatch.setattr(type(memory), "rm", watch)
    folder.remove()
    assert not memory.find("/bucket")
    assert removed == [["/bucket/parts/a.part"]]


def test_names_that_stand_for_others_are_refused():
    with pytest.raises(ParameterError, match=r"memory://bucket/run\*: choose a work folder without"):
        open_folder("memory://bucket/run*")


def test_a_removal_that_was_killed_left_what_tells_of_it(storage, move, monkeypatch):
    """The notes, of which the plan goes last."""
    folder, gone = opened(storage.url), []
    folder.put("a", part())
    folder.write_note("saving", "digest")

    def end_at_plan(self, path):
        if path.endswith("plan.json"):
            raise KeyboardInterrupt
        gone.append(path)
        remove(self, path)

    remove = type(storage.files).rm_file
    with monkeypatch.context() as patch:
        patch.setattr(type(storage.files), "rm_file", end_at_plan)
        with pytest.raises(KeyboardInterrupt):
            folder.remove()
    assert gone[-1].endswith("saving")
    assert storage.names() == ["plan.json"]
    assert folder.removed.holds(PLAN)


def test_a_folder_that_cannot_be_removed_is_told_of(storage, move, monkeypatch):
    folder = opened(storage.url)
    monkeypatch.setattr(type(storage.files), "rm_file", refuse(PermissionError("Forbidden")))
    with pytest.warns(UserWarning, match=f"{storage.url} could not be removed: remove it yourself later .*Forbidden"):
        folder.remove()


def refuse(error):
    def raise_it(*given, **options):
        raise error

    return raise_it


def test_a_storage_that_refuses_and_a_disk_that_is_full_are_told_apart(storage, move, monkeypatch):
    kind, full = type(storage.files), OSError(errno.ENOSPC, "No space left on device")
    folder = opened(storage.url)
    folder.put("a", part())
    with monkeypatch.context() as patch:
        patch.setattr(kind, "put_file", refuse(PermissionError("Forbidden")))
        with pytest.raises(WorkError, match=f"{storage.url}/parts/b.part: Forbidden: check the URL.* to go on"):
            folder.put("b", part())
        patch.setattr(kind, "put_file", refuse(full))
        with pytest.raises(WorkError, match=f"{storage.url}/parts/b.part: .*: make room there.* to go on"):
            folder.put("b", part())
        patch.setattr(WorkFolder, "_write", refuse(full))
        here = "no room is left on this computer .*TMPDIR to a folder with more.*kept in the storage"
        with pytest.raises(WorkError, match=here):
            folder.put("b", part())
    there = move()
    monkeypatch.setattr(kind, "get_file", refuse(full))
    with pytest.raises(WorkError, match=f"a.part: .*: make room in {there}, or set TMPDIR.*kept in the storage"):
        open_folder(folder.address).get("a")
    assert [path.name for path in there.rglob("*.part*")] == [".a.part.lock"], "nothing is left of the attempt"


def test_times_are_kept_in_the_storage_and_need_not_be(storage, move, monkeypatch, tmp_path):
    folder = opened(storage.url)
    for name in "ab":
        move()
        folder = open_folder(storage.url)
        folder.put(name, part())
        folder.record(Stopwatch().stop(toy(name), 1, 80))
    (times,) = [name for name in storage.names() if name.startswith("times/")]
    (tmp_path / "times").mkdir()
    (tmp_path / times).write_bytes(storage.read(times))
    assert [took.name for took in read_times(tmp_path)] == ["a", "b"], "of two runs, by one process"
    monkeypatch.setattr(type(storage.files), "put_file", refuse(PermissionError("Forbidden")))
    folder.record(Stopwatch().stop(toy("c"), 1, 80))


# ---- trainings


@pytest.fixture(scope="module", params=KINDS)
def whole(request, tmp_path_factory):
    """The bytes of a model, and its tasks in the order in which they ran."""
    executor = StopsAfter(WorkFolder(tmp_path_factory.mktemp("whole") / "work"))
    return request.param, fit(request.param, executor), executor.ran


def test_a_training_goes_on_elsewhere_where_it_stopped(whole, storage, move):
    kind, wanted, everything = whole
    ran = []
    for stop in (3, len(everything) // 2):
        executor = StopsAfter(open_folder(storage.url), stop)
        with pytest.raises(StoppedError):
            fit(kind, executor)
        ran += executor.ran
        move()
    last = StopsAfter(open_folder(storage.url))
    assert fit(kind, last) == wanted
    assert ran + last.ran == everything, "no task twice, and in the same order"


@pytest.mark.parametrize("how", ["flipped", "cut"])
def test_damaged_parts_are_computed_again(whole, storage, move, how):
    kind, wanted, everything = whole
    with pytest.raises(StoppedError):
        fit(kind, StopsAfter(open_folder(storage.url), len(everything) - 2))
    names = [everything[0], everything[len(everything) // 2], "labels"]
    for name in names:
        storage.damage(f"parts/{name}.part", how)
    last = StopsAfter(open_folder(storage.url))
    assert fit(kind, last) == wanted
    assert set(last.ran) == {*names[:2], *everything[-2:]}


def test_copies_that_nobody_needs_any_more_are_removed_meanwhile(storage, move):
    folder = open_folder(storage.url)
    fit("plain", InProcess(1, None, folder))
    there = {name[len("parts/") : -len(".part")] for name in storage.names() if name.startswith("parts/")}
    assert {name for name in there if name.startswith("cluster/")}
    assert not list(folder.place.rglob("cluster/**/*.part"))
    assert folder.path("rows").exists()


def test_two_processes_train_the_same_model(whole, tmp_path):
    kind, wanted, _ = whole
    executor = JoblibProcesses(2, open_folder((tmp_path / "run").as_uri()))
    assert fit(kind, executor) == wanted
    assert executor.parts.place.exists()
    executor.close()
    assert not executor.parts.place.exists()
    assert (tmp_path / "run" / "plan.json").exists()


def test_votes_alone_have_a_folder_inside(storage, move):
    folder = open_folder(storage.url)
    assert isinstance(folder, RemoteFolder)
    inner = folder.inside("votes-alone")
    folder.open(PLAN)
    inner.open({**PLAN, "points": 6})
    inner.put("a", part())
    assert storage.names() == ["plan.json", "votes-alone/parts/a.part", "votes-alone/plan.json"]
    folder.forget_copies()
    assert not inner.place.exists()
