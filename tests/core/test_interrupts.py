"""Interrupts wait for what must not be cut."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from neartag.core import jit
from neartag.core.interrupts import delayed_interrupt, end_orderly_when_terminated

pytestmark = pytest.mark.skipif(not hasattr(os, "kill") or os.name == "nt", reason="Windows has no SIGINT to send")


@pytest.fixture(autouse=True)
def python_interrupts():
    # What a shell starts in the background ignores interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def send_to_myself(number: int) -> None:
    """Send a signal to this process, and give Python the time to hear it."""
    os.kill(os.getpid(), number)
    time.sleep(0.01)


def test_an_interrupt_inside_acts_at_the_end():
    done = []

    def work() -> None:
        with delayed_interrupt():
            send_to_myself(signal.SIGINT)
            done.append("inside")
        done.append("after")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inside"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_sigterm_ends_the_program_after_what_it_must_not_cut():
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    done = []

    def work() -> None:
        with delayed_interrupt():
            send_to_myself(signal.SIGTERM)
            done.append("inside")
        done.append("after")

    try:
        end_orderly_when_terminated()
        with pytest.raises(SystemExit) as ended:
            work()
        assert ended.value.code == 143
        assert done == ["inside"]
        os.kill(os.getpid(), signal.SIGTERM)  # a second one does not cut the cleaning up
        end_orderly_when_terminated()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN, "who ignores it goes on ignoring it"
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_error_inside_is_still_told():
    with pytest.raises(ValueError, match="inside"), delayed_interrupt():
        raise ValueError("inside")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_blocks_may_stand_in_blocks():
    done = []

    def work() -> None:
        with delayed_interrupt():
            with delayed_interrupt():
                send_to_myself(signal.SIGINT)
            done.append("after the inner one")
        done.append("after both")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["after the inner one"]


def test_other_threads_and_ignored_interrupts_are_left_as_they_are():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with delayed_interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, signal.default_int_handler)
    seen = []

    def elsewhere() -> None:
        with delayed_interrupt():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_a_kernel_is_compiled_to_the_end(monkeypatch):
    compiled = []

    def compile_slowly(*_):
        send_to_myself(signal.SIGINT)
        compiled.append(True)
        return abs

    monkeypatch.setattr(jit, "_compile", compile_slowly)
    each = jit.inner_kernel(lambda x: x)
    with pytest.raises(KeyboardInterrupt):
        each.compile()
    assert compiled
    assert each.is_compiled
