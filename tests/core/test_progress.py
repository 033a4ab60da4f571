"""Progress: silent on short work, rare lines, a bar; counts right from many threads."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import time

import pytest
from rich.console import Console

from neartag.core import progress
from neartag.core.errors import ParameterError


def wait_for(condition, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    assert condition()


def terminal() -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(file=stream, force_terminal=True, width=120), stream


@pytest.mark.parametrize("kind", ["lines", "bar", "silent"])
def test_short_work_shows_nothing(kind, capfd):
    with progress.choose(kind).start(3, "work") as shown:
        for _ in range(3):
            shown.advance(note="a note")
    assert capfd.readouterr() == ("", "")


def test_lines_begin_after_the_delay_even_without_a_step():
    stream = io.StringIO()
    with progress.Lines(stream, delay=0.05).start(4, "learners"):
        assert stream.getvalue() == ""
        wait_for(stream.getvalue)
        assert stream.getvalue() == "learners: 0/4 after 0 s\n"


def test_lines_come_at_most_every_interval():
    stream = io.StringIO()
    shown = progress.Lines(stream, delay=0.0, interval=1000.0)
    shown.start(50, "work")
    wait_for(stream.getvalue)
    for _ in range(50):
        shown.advance(note="P@1 64.2")
    assert stream.getvalue().count("\n") == 1
    shown.finish()
    shown.finish()
    assert stream.getvalue().splitlines()[1:] == ["work: 50/50 after 0 s, P@1 64.2"]


def test_lines_of_unknown_total_and_steps_at_once():
    stream = io.StringIO()
    shown = progress.Lines(stream, delay=0.0, interval=0.0)
    with shown.start(None, "reading"):
        wait_for(stream.getvalue)
        shown.advance(1000)
    assert stream.getvalue().splitlines()[1] == "reading: 1000 after 0 s"


def test_bar_appears_after_the_delay_and_goes():
    console, stream = terminal()
    bar = progress.Bar(console, delay=0.05)
    with bar.start(4, "learners [1]"):
        bar.advance(3, note="P@1 [64]")
        assert stream.getvalue() == ""
        wait_for(lambda: "75%" in stream.getvalue())
        assert "learners [1]" in stream.getvalue()
        assert "P@1 [64]" in stream.getvalue()
        bar.advance()
    threads = [thread.name for thread in threading.enumerate()]
    assert not [name for name in threads if "refresh" in name.lower()]


@pytest.mark.parametrize(
    "make", [lambda: progress.Lines(io.StringIO(), delay=0.0), lambda: progress.Bar(terminal()[0])]
)
def test_one_object_serves_stage_after_stage(make):
    shown = make()
    for stage in range(3):
        with shown.start(2, f"stage {stage}"):
            shown.advance()
    shown.start(1, "one").start(1, "another").finish()
    shown.advance()  # of nothing: no error


def test_counts_are_right_from_many_threads():
    stream = io.StringIO()
    shown = progress.Lines(stream, delay=0.0)
    shown.start(8000, "work")
    wait_for(stream.getvalue)
    threads = [threading.Thread(target=lambda: [shown.advance() for _ in range(1000)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shown.finish()
    assert stream.getvalue().splitlines()[-1].startswith("work: 8000/8000 ")


def test_an_error_ends_the_progress_and_passes():
    stream = io.StringIO()
    shown = progress.Lines(stream, delay=0.0)

    def work():
        with shown.start(5, "work"):
            wait_for(stream.getvalue)
            shown.advance()
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert stream.getvalue().splitlines()[-1] == "work: 1/5 after 0 s"


def test_choose(monkeypatch):
    assert type(progress.choose("silent")) is progress.Progress
    assert isinstance(progress.choose("bar"), progress.Bar)
    assert isinstance(progress.choose("lines"), progress.Lines)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert isinstance(progress.choose(), progress.Bar)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(progress.choose(), progress.Lines)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    assert isinstance(progress.choose("auto"), progress.Lines)
    with pytest.raises(ParameterError, match="'loud'"):
        progress.choose("loud")


def test_nothing_heavy_is_imported_and_an_unfinished_one_does_not_hold_the_program():
    program = """
import sys
from neartag.core import progress
shown = progress.choose("bar").start(10, "abandoned")
shown.advance()
assert not any(name.split(".")[0] in ("rich", "numpy") for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)  # else it would wait for ever


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pipe that can be filled")
def test_a_program_that_ends_while_a_line_is_written_ends_well():
    # Python aborts (status −6) where a thread still writes to stderr; here the pipe is full, so that it surely does.
    code = """if True:
        import os, sys, time
        from neartag.core.progress import Lines
        os.set_blocking(2, False)
        try:
            while True:
                os.write(2, b"x" * 4096)
        except BlockingIOError:
            os.set_blocking(2, True)
        Lines(delay=0.0).start(3, "work")
        time.sleep(0.2)
        print("ends", flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"ends\n"
    time.sleep(0.3)  # the program is at its end now, and its thread still waits for the pipe
    _, told = process.communicate()
    assert (process.returncode, told.strip(b"x")) == (0, b"work: 0/3 after 0 s\n")
