"""What differs on Windows and macOS, as far as another system can play their parts."""

from __future__ import annotations

import ctypes
import errno
import io
import os
import sys
import types
from concurrent.futures import Future
from importlib import util
from pathlib import Path

import numpy as np
import pytest

from neartag.core import memory, replace_file, usage, warm_up, windows_memory
from neartag.core.errors import ModelError
from neartag.data.files import open_to_replace
from neartag.storage import locking

GIGABYTE = 2**30


@pytest.fixture
def windows(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")


class Kernel:
    """The part of kernel32 that is asked: it fills in a structure and says whether it could."""

    def __init__(self, answers=True):
        self.answers = answers
        self.GetCurrentProcess = lambda: -1  # as a pointer: a handle, whose type the caller sets

    def GlobalMemoryStatusEx(self, reference):  # noqa: N802
        status = reference._obj
        assert status.length == ctypes.sizeof(status) == 64
        status.total = 16 * GIGABYTE
        return self.answers

    def K32GetProcessMemoryInfo(self, process, reference, size):  # noqa: N802
        counted = reference._obj
        assert size.value == counted.length == ctypes.sizeof(counted) == 80  # with 64 bits
        counted.private, counted.peak = 3 * GIGABYTE, 5 * GIGABYTE
        return self.answers


@pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="sizes of 64 bits")
def test_windows_says_how_much_memory_there_is(windows, monkeypatch):
    monkeypatch.setattr(windows_memory, "_kernel", Kernel)
    assert (memory.total(), memory.in_use(), usage.peak_memory()) == (16 * GIGABYTE, 3 * GIGABYTE, 5 * GIGABYTE)


def test_windows_may_say_nothing(windows, monkeypatch):
    monkeypatch.setattr(windows_memory, "_kernel", lambda: Kernel(answers=False))
    assert (memory.total(), memory.in_use(), usage.peak_memory()) == (None, 0, None)


def fail_first(times, monkeypatch):
    """Let replacing fail as it does on Windows while somebody reads the target; return the list of attempts."""
    attempts, replace = [], os.replace

    def busy(source, target):
        attempts.append(target)
        if len(attempts) <= times:
            raise PermissionError(errno.EACCES, "The process cannot access the file")
        replace(source, target)

    monkeypatch.setattr(replace_file.os, "replace", busy)
    monkeypatch.setattr(replace_file.time, "sleep", lambda seconds: None)
    return attempts


def test_a_file_that_somebody_reads_is_replaced_when_they_are_done(windows, tmp_path, monkeypatch):
    target = tmp_path / "tagged.csv"
    target.write_text("old")
    attempts = fail_first(3, monkeypatch)
    with open_to_replace(target) as stream:
        stream.write(b"new")
    assert (target.read_text(), len(attempts)) == ("new", 4)


def test_replacing_gives_up_in_the_end_and_leaves_the_old_file(windows, tmp_path, monkeypatch):
    target = tmp_path / "tagged.csv"
    target.write_text("old")
    attempts = fail_first(1000, monkeypatch)
    with pytest.raises(Exception, match="cannot be written"), open_to_replace(target) as stream:
        stream.write(b"new")
    assert len(attempts) == replace_file.ATTEMPTS + 1
    assert [path.name for path in tmp_path.iterdir()] == ["tagged.csv"]


def test_a_part_of_a_training_that_somebody_reads_is_written_when_they_are_done(windows, tmp_path, monkeypatch):
    from neartag.work.folder import WorkFolder

    folder = WorkFolder(tmp_path / "work")
    folder.open({"labels": "Ünïcödé"})
    attempts = fail_first(2, monkeypatch)
    folder.put("points", {"values": np.arange(3)})
    assert len(attempts) == 3
    assert folder.is_whole("points")
    assert WorkFolder(tmp_path / "work").open({"labels": "Ünïcödé"}), "read as it was written, whatever the locale is"


def test_other_systems_try_once(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    attempts = fail_first(1, monkeypatch)
    with pytest.raises(PermissionError):
        replace_file.replace_file(tmp_path / "a", tmp_path / "b")
    assert len(attempts) == 1


@pytest.mark.parametrize(("asked", "started"), [(128, 60), (2, 2)])
def test_no_more_processes_compile_than_windows_allows(asked, started, monkeypatch):
    made = []

    class Pool:
        def __init__(self, workers, mp_context):
            made.append(workers)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def submit(self, function, name):
            done = Future()
            done.set_result(1)
            return done

    monkeypatch.setattr(warm_up, "ProcessPoolExecutor", Pool)
    assert warm_up.warm_up(asked) == len(warm_up.kernel_modules())
    assert made == [started]


class Locks:
    """msvcrt, as far as it locks: a byte of a file, by one handle at a time."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self):
        self.held, self.broken = set(), False

    def locking(self, descriptor, mode, count):
        if self.broken:
            raise OSError(errno.EINVAL, "Invalid argument")
        file = os.fstat(descriptor).st_ino
        if mode == self.LK_UNLCK:
            self.held.remove(file)
        elif file in self.held:
            raise PermissionError(errno.EACCES, "Permission denied")
        else:
            self.held.add(file)


@pytest.fixture
def windows_locking(windows, monkeypatch):
    """Return the module of locks as Windows loads it, and the locks that stand for the system's."""
    locks = Locks()
    monkeypatch.setitem(sys.modules, "msvcrt", locks)
    spec = util.spec_from_file_location("locking_on_windows", locking.__file__)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, locks


def test_one_writer_at_a_time_on_windows(windows_locking, tmp_path):
    module, locks = windows_locking
    with module.lock(tmp_path):
        assert locks.held
        with pytest.raises(ModelError, match="written by someone else"), module.lock(tmp_path, timeout=0):
            pass
    assert not locks.held
    with module.lock(tmp_path, timeout=0):
        pass


def test_a_disk_without_locks_is_told_at_once_on_windows(windows_locking, tmp_path):
    module, locks = windows_locking
    locks.broken = True
    with pytest.raises(ModelError, match="save to a local disk"), module.lock(tmp_path, timeout=1000):
        pass


class Stream(io.TextIOWrapper):
    def __init__(self, terminal):
        super().__init__(io.BytesIO(), encoding="cp1252", newline="\r\n")
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.mark.parametrize(
    ("platform", "terminal", "expected"),
    [
        ("win32", False, "šč−\n".encode()),  # a file or a pipe: what other systems write
        ("win32", True, b"\x9a\\u010d\\u2212\r\n"),  # an old terminal: escapes for what it cannot show
        ("linux", False, b"\x9a\\u010d\\u2212\r\n"),  # what the user's own settings ask for
    ],
)
def test_output_on_windows_is_utf_8_unless_a_terminal_shows_it(platform, terminal, expected, monkeypatch):
    from neartag.cli import main

    monkeypatch.setattr(sys, "platform", platform)
    stream = Stream(terminal)
    main._set_encoding(stream)
    print("šč−", file=stream, flush=True)
    assert stream.buffer.getvalue() == expected


@pytest.mark.parametrize(
    ("platform", "error", "closed"),
    [
        ("linux", BrokenPipeError(errno.EPIPE, "Broken pipe"), True),
        ("linux", OSError(errno.EINVAL, "Invalid argument"), False),
        ("win32", OSError(errno.EINVAL, "Invalid argument"), True),
        ("win32", OSError(errno.EINVAL, "Invalid argument", "a:b"), False),
        ("win32", OSError(errno.ENOSPC, "No space"), False),
    ],
)
def test_a_closed_pipe_is_recognised(platform, error, closed, monkeypatch):
    from neartag.cli import main

    monkeypatch.setattr(sys, "platform", platform)
    assert main._is_closed_pipe(error) == closed


def test_either_separator_of_windows_makes_a_path(tmp_path, monkeypatch):
    from neartag.cli import text_or_file

    monkeypatch.chdir(tmp_path)
    Path("docs", "new").mkdir(parents=True)
    windows = types.SimpleNamespace(sep="\\", altsep="/", path=os.path)
    monkeypatch.setattr(text_or_file, "os", windows)
    assert text_or_file.is_path("docs/new")
    assert not text_or_file.is_path("docs")  # which may be a word


def test_no_module_of_the_package_needs_a_posix_module_to_be_imported():
    """fcntl, resource and the like are imported only where the system is known to have them."""
    source = Path(memory.__file__).parents[1]
    found = []
    for path in source.rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(("import fcntl", "import resource", "import pwd", "import grp", "from resource")):
                found.append(path.name)
    assert found == []


def test_git_gives_every_system_the_same_bytes():
    lines = (Path(__file__).parents[2] / ".gitattributes").read_text(encoding="utf-8").splitlines()
    assert "* text=auto eol=lf" in lines
    assert "tests/storage/folders/** -text" in lines
