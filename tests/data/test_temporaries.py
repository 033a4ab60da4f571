"""What a killed writer left beside its target goes with the next write; what another one still writes stays."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile

import pytest

from neartag.data.files import open_to_replace
from neartag.data.registry import archives
from neartag.data.temporaries import temporary_beside

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs locks that end with the process")


def test_a_killed_writer_leaves_nothing_for_long(tmp_path):
    target = tmp_path / "out.csv"
    program = """
import os, signal, sys
from neartag.data.files import open_to_replace
with open_to_replace(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program, target]).returncode < 0
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".out.csv.")
    with open_to_replace(tmp_path / "other.csv") as stream:
        stream.write(b"whole")
    assert left.exists(), "it belongs to another target"
    with open_to_replace(target) as stream:
        stream.write(b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.csv", "out.csv"]


def test_two_writers_of_one_target_do_not_disturb_each_other(tmp_path):
    target = tmp_path / "out.csv"
    with open_to_replace(target) as first:
        first.write(b"first")
        with open_to_replace(target) as second:
            second.write(b"second")
        assert target.read_bytes() == b"second"
    assert target.read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_names_that_are_not_ours_stay(tmp_path):
    strange = [".out.csv.tmp", ".out.csv.0123456g.tmp", "out.csv.01234567.tmp", ".out.csv.01234567.tmp.bak"]
    for name in strange:
        (tmp_path / name).touch()
    with open_to_replace(tmp_path / "out.csv"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*strange, "out.csv"])


def test_links_are_never_followed(tmp_path):
    (tmp_path / "kept").write_bytes(b"kept")
    (tmp_path / ".out.csv.01234567.tmp").symlink_to(tmp_path / "kept")
    with open_to_replace(tmp_path / "out.csv"):
        pass
    assert (tmp_path / "kept").read_bytes() == b"kept"


def test_folders_of_a_killed_unpacking_go(tmp_path):
    target = tmp_path / "unpacked" / "set-1"
    for name in (".set-1.01234567.tmp", ".set-1.89abcdef"):  # the second as earlier versions named them
        (target.parent / name / "inner").mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        archive.writestr("train.txt", "1 1 1\n0 0:1\n")
    with temporary_beside(target, lambda path: path.mkdir()) as held:
        archives.unpack(tmp_path / "set.zip", target)
        assert held.is_dir(), "another process still unpacks"
    assert [path.name for path in target.parent.iterdir()] == ["set-1"]


def test_a_temporary_that_was_taken_for_left_over_is_made_again(tmp_path):
    made = []

    def create(path):
        path.touch()
        if not made:
            path.unlink()
        made.append(path)

    with temporary_beside(tmp_path / "out", create) as path:
        assert path == made[1]
        assert path.exists()
    assert not path.exists()
