"""What work cost: a process's own peak of memory, and nobody else's."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from neartag.core.usage import peak_memory, read_status

ASK = "from neartag.core.usage import peak_memory; print(peak_memory())"
# In a process of its own: in that of the tests it would take twice what all of them held.
HOLD = """
import numpy as np
from neartag.core.usage import peak_memory
before = peak_memory()
np.ones(2 * before // 8)
print(before, peak_memory())
"""
NAME = "open('/proc/self/comm', 'wb').write({name!r}); "
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says so")


def run(code: str) -> list[int]:
    asked = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return [int(word) for word in asked.stdout.split()]


def test_the_peak_is_what_was_held_at_most():
    if peak_memory() is None:
        pytest.skip("this system does not say")
    before, after = run(HOLD)
    assert 2 * before <= after < 4 * before


@linux
@pytest.mark.parametrize("name", [b"python", "bär".encode(), b"\xff\xfe\nVmHWM: 1"])
def test_what_the_process_that_started_it_held_is_not_counted(name):
    """Whatever bytes its name has."""
    held = np.ones(30_000_000)
    (peak,) = run(NAME.format(name=name) + ASK)
    assert 1_000_000 < peak < held.nbytes / 2


@linux
def test_what_the_system_says_of_a_process_is_read():
    assert 1_000_000 < read_status("VmRSS") <= read_status("VmHWM")
    assert read_status("VmNothing") is None
    assert read_status("VmRSS", 2**22 + 1) is None
    assert read_status("Threads") is not None
    assert read_status("Name") is None, "which is no number"
