"""What work cost: a process's own peak of memory, and nobody else's."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from neartag.core.usage import peak_memory

ASK = "from neartag.core.usage import peak_memory; print(peak_memory())"


def test_the_peak_is_what_was_held_at_most():
    before = peak_memory()
    if before is None:
        pytest.skip("this system does not say")
    held = np.ones(2 * before // 8)
    del held
    assert peak_memory() >= 2 * before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts the memory of who started a process")
def test_what_the_process_that_started_it_held_is_not_counted():
    held = np.ones(30_000_000)
    asked = subprocess.run([sys.executable, "-c", ASK], stdout=subprocess.PIPE, text=True, check=True)
    assert 1_000_000 < int(asked.stdout) < held.nbytes / 2
