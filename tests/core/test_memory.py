"""How much memory there is, and sizes in words."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from neartag.core import memory


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KB"), (1536 * 2**10, "1.5 MB"), (3 * 2**40, "3072.0 GB")],
)
def test_sizes_in_words(count, words):
    assert memory.format_bytes(count) == words


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="this system does not tell")
def test_a_container_has_what_it_is_given(tmp_path):
    whole = memory.total(tmp_path / "absent")
    for content, wanted in (("1048576\n", 2**20), ("max\n", whole), (f"{2**62}\n", whole)):
        (tmp_path / "given").write_text(content)
        assert memory.total(tmp_path / "given") == wanted


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="this system does not tell")
def test_what_is_in_use_grows_with_what_is_held():
    # Its own process: here the array could take the place of one that another test has let go.
    code = (
        "import numpy as np; from neartag.core import memory; before = memory.in_use(); "
        "held = np.ones(2**25, np.uint8); assert memory.in_use() - before >= held.nbytes // 2"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count otherwise")
def test_a_process_has_what_its_own_limit_allows():
    code = (
        "import resource; from neartag.core import memory; "
        "resource.setrlimit(resource.RLIMIT_DATA, (2**28, 2**28)); assert memory.total() == 2**28"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
