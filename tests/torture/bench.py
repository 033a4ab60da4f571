"""Runs cases in a process of their own, and watches it: for exceptions, sudden deaths, hangs and memory."""

from __future__ import annotations

import ctypes
import json
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from mmap import mmap
from pathlib import Path
from typing import Any

from torture.cases import Kind, NoMoreCases, make_chance

MAX_BYTES = 2 * 2**30  # of memory that a case may take beyond what the process had at its start
MAX_WALL_SECONDS = 120.0  # of a case that uses no processor: it waits for something that never comes
LOOK_SECONDS = 0.1  # between two looks at a worker
PROGRESS = struct.Struct("<qdq")  # number of the case under way, CPU seconds when it began, cases done
NOTHING = -1
PR_SET_PDEATHSIG = 1  # of prctl


@dataclass
class Report:
    """What became of the cases of one kind."""

    kind: str
    seed: int
    done: int = 0
    complete: bool = False  # every case that there is was tried
    about: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, NOTHING)  # CPU seconds, and the case's number
    peak_bytes: int = 0
    seconds: float = 0.0

    def describe(self) -> str:
        """Return the report in a line."""
        rest = f"{self.done:,} cases{' (all there are)' if self.complete else ''}, {len(self.failures)} failed"
        slow = f"slowest {self.slowest[0]:.2f} s (case {self.slowest[1]})"
        return f"{self.kind}: {rest}; {slow}, peak {self.peak_bytes / 2**20:.0f} MB, {self.seconds:.0f} s"


def run_kind(kind: Kind, seed: int, *, first: int, cases: int | None, seconds: float | None, kept: Path) -> Report:
    """Run cases of a kind, from number `first` on, until so many are done or so much time is over."""
    report, started = Report(kind.name, seed), time.monotonic()
    number = first
    with tempfile.TemporaryDirectory(dir=_quick_folder(), prefix="neartag-torture-") as folder:
        kind.prepare(Path(folder), seed)
        while not report.complete:
            left = None if cases is None else cases - (number - first)
            rest = None if seconds is None else seconds - (time.monotonic() - started)
            if (left is not None and left <= 0) or (rest is not None and rest <= 0):
                break
            number = _run_worker(kind, report, number, left, rest, kept)
    report.seconds = time.monotonic() - started
    return report


def _run_worker(kind: Kind, report: Report, first: int, cases: int | None, seconds: float | None, kept: Path) -> int:
    """Run cases in a forked process; return the number to go on with."""
    progress = mmap(-1, PROGRESS.size)
    progress[:] = PROGRESS.pack(NOTHING, 0.0, 0)
    reading, writing = os.pipe()
    sys.stdout.flush()
    worker = os.fork()
    if not worker:
        os.close(reading)
        os.setpgid(0, 0)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # whatever ends the bench ends this too
        os._exit(_work(kind, report.seed, first, cases, seconds, progress, writing, kept))
    os.close(writing)
    try:
        problem = _watch(worker, progress, kind)
    except BaseException:  # Ctrl+C reaches this process only
        os.killpg(worker, signal.SIGKILL)
        raise
    _, status = os.waitpid(worker, 0)
    number, _, done = PROGRESS.unpack(progress[:])
    with os.fdopen(reading, "rb") as pipe:
        for line in pipe:
            _take_in(report, json.loads(line))
    report.done += done
    if status and not problem:
        problem = f"the process died with status {os.waitstatus_to_exitcode(status)}"
    if problem:
        report.failures.append((number, problem))
        report.done += 1
        print(f"FAILED {kind.name} --seed {report.seed} --first {number} --cases 1: {problem}", flush=True)
        return number + 1
    return first + done


def _watch(worker: int, progress: mmap, kind: Kind) -> str:
    """Wait for a worker's end; "" where nothing was wrong, else why it was ended."""
    seen, since = NOTHING, time.monotonic()
    while os.waitid(os.P_PID, worker, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(LOOK_SECONDS)
        number, began, _ = PROGRESS.unpack(progress[:])
        if number != seen:
            seen, since = number, time.monotonic()
        used = _cpu_seconds(worker) - began
        if number != NOTHING and (used > kind.seconds or time.monotonic() - since > MAX_WALL_SECONDS):
            os.killpg(worker, signal.SIGKILL)
            return f"it hangs: {used:.1f} s of CPU, {time.monotonic() - since:.1f} s in all"
    return ""


def _work(
    kind: Kind, seed: int, first: int, cases: int | None, seconds: float | None, progress: mmap, pipe: int, kept: Path
) -> int:
    """Run cases one after another, in a process of its own, and tell what became of them."""
    _limit_memory()
    deadline = None if seconds is None else time.monotonic() + seconds
    about: Counter[str] = Counter()
    slowest, done, number = (0.0, NOTHING), 0, first
    base = peak = _peak_bytes()
    complete = False
    while (cases is None or done < cases) and (deadline is None or time.monotonic() < deadline):
        began = time.process_time()
        progress[:] = PROGRESS.pack(number, began, done)
        problem = ""
        try:
            about[kind.run(number, make_chance(seed, kind.name, number))] += 1
        except NoMoreCases:
            complete = True
            break
        except BaseException as error:
            problem = f"{type(error).__name__}: {error}"
            trace = traceback.format_exc()
        slowest = max(slowest, (time.process_time() - began, number))
        risen, peak = peak <= base + MAX_BYTES, _peak_bytes()
        if not problem and risen and peak > base + MAX_BYTES:
            problem, trace = f"it took {(peak - base) / 2**20:.0f} MB", ""
        if problem:
            _keep(kind, seed, number, problem, trace, kept)
            _send(pipe, {"failure": [number, problem]})
            print(f"FAILED {kind.name} --seed {seed} --first {number} --cases 1: {problem:.500}", flush=True)
        done, number = done + 1, number + 1
    progress[:] = PROGRESS.pack(NOTHING, 0.0, done)
    _send(pipe, {"about": dict(about), "slowest": slowest, "peak": peak, "complete": complete})
    return 0


def _keep(kind: Kind, seed: int, number: int, problem: str, trace: str, kept: Path) -> None:
    folder = kept / f"{kind.name}-{seed}-{number}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in kind.keep().items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        (folder / "problem.txt").write_text(f"{problem}\n\n{trace}")
    except Exception as error:  # what is kept helps, and must not hide what it was about
        print(f"it could not be kept: {error}", flush=True)


def _take_in(report: Report, told: dict[str, Any]) -> None:
    if "failure" in told:
        number, problem = told["failure"]
        report.failures.append((number, problem))
        return
    report.about.update(told["about"])
    report.slowest = max(report.slowest, tuple(told["slowest"]))
    report.peak_bytes = max(report.peak_bytes, told["peak"])
    report.complete = told["complete"]


def _send(pipe: int, value: dict[str, Any]) -> None:
    os.write(pipe, json.dumps(value).encode() + b"\n")


def _limit_memory() -> None:
    """Bound the address space, so that a case that takes too much fails before the machine does."""
    with open("/proc/self/statm") as stream:
        now = int(stream.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + 2 * MAX_BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.RLIM_INFINITY))


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _cpu_seconds(process: int) -> float:
    """Return the CPU seconds of a process so far; infinity never, 0 where it is gone."""
    try:
        with open(f"/proc/{process}/stat") as stream:
            fields = stream.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _quick_folder() -> str | None:
    """Return a folder in memory, where the system has one: the disk is not what is tried here."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def make_seed() -> int:
    """Return a seed for a run that was given none."""
    return random.SystemRandom().randrange(2**31)
