"""The bench itself: it finds what it is to find; cases that failed once pass; a short run of every kind passes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
import warnings
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork") or not Path("/proc/self/statm").exists(), reason="needs Linux")

KEPT = Path(__file__).parent / "kept"


class Planted:
    """Fails in every way in which a case can."""

    name, share, seconds = "planted", 1.0, 0.3

    def prepare(self, folder, seed):
        self.last = b""

    def run(self, number, chance):
        self.last = f"{number} {chance.random()}".encode()
        match number:
            case 1:
                raise KeyError("planted")
            case 2:
                end = time.process_time() + 60
                while time.process_time() < end:
                    pass
            case 3:
                os.kill(os.getpid(), signal.SIGKILL)
            case 6:
                from torture.cases import NoMoreCases

                raise NoMoreCases
        return "fine"

    def keep(self):
        return {"case.txt": self.last}


def test_the_bench_sees_exceptions_hangs_and_deaths(tmp_path, capfd):
    from torture.bench import run_kind

    report = run_kind(Planted(), 7, first=0, cases=9, seconds=None, kept=tmp_path)
    assert [number for number, _ in report.failures] == [1, 2, 3]
    told = dict(report.failures)
    assert told[1] == "KeyError: 'planted'"
    assert "hangs" in told[2]
    assert "died with status -9" in told[3]
    assert (report.done, report.complete) == (6, True)
    kept = (tmp_path / "planted-7-1" / "case.txt").read_text()
    assert kept == f"1 {random.Random('7/planted/1').random()}", "a case is known by its seed and number"
    assert "FAILED planted --seed 7 --first 2 --cases 1" in capfd.readouterr().out


@pytest.mark.parametrize("case", sorted(path.name for path in (KEPT / "readers").iterdir()))
def test_files_that_failed_once_are_read_or_refused(case, tmp_path):
    from torture.readers import read

    (file,) = (KEPT / "readers" / case).iterdir()
    path = tmp_path / file.name
    shutil.copy(file, path)
    for seed in range(12):
        read(path, random.Random(seed))


@pytest.mark.parametrize("case", sorted(path.name for path in (KEPT / "folders").iterdir()))
def test_folders_that_failed_once_are_read_or_refused(case):
    from torture.cases import only_own_errors
    from torture.models import ASKED, answer

    with only_own_errors(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer(KEPT / "folders" / case, ASKED)


def run_shortly(name, cases, folder):
    from torture.__main__ import KINDS
    from torture.bench import run_kind

    report = run_kind(KINDS[name](), 1, first=0, cases=cases, seconds=None, kept=folder)
    assert not report.failures
    assert report.done == cases


@pytest.mark.parametrize(("name", "cases"), [("readers", 150), ("bits", 60), ("clocks", 3), ("rivals", 1)])
def test_a_short_run(name, cases, tmp_path):
    run_shortly(name, cases, tmp_path)


@pytest.mark.parametrize(
    ("name", "cases"), [("folders", 40), ("refined-bits", 40), ("kills", 6), ("disk-full", 6), ("protocol", 60)]
)
def test_a_short_run_of_what_takes_longer(name, cases, tmp_path):
    run_shortly(name, cases, tmp_path)
