"""X1 beside its peers on the same files in the same run: how accurate, how fast, how large.

    python benchmarks/peers.py [bibtex eurlex4k-partial …] [--methods x1-fast,pecos] [--repeat 5] [--resume] [--write]

Every run is a process of its own (peer_run.py); round after round takes all data sets and methods in turn, so that a
machine that slows down slows all of them. benchmarks/results/peers.json is written after every run, and the labels
found go into benchmarks/results/labels for refined.py. --resume keeps what is there and measures only what is missing,
or whose settings or code changed. --write replaces the table of docs/benchmarks.md and the plots; with --resume
--repeat 0 it only draws them again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import peer_data
from peer_methods import METHODS, installed, settings
from peer_settings import DATA, ONCE_ABOVE_LABELS, THREADS
from peer_table import DISTURBED, medians, table, write_page
from plots import draw
from run import machine

import neartag
from neartag.core.errors import DataError

HERE = Path(__file__).parent
LABELS = HERE / "results" / "labels"  # not part of the repository
PACKAGES = ("neartag", "libpecos", "omikuji", "napkinxc", "scikit-learn", "numpy", "scipy", "numba")


def start(data: str, name: str, threads: int, timeout: float, *options: str, **environment: str) -> dict:
    """Return what a run in a process of its own measured, or why it failed as {"failed": …}."""
    pools = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")
    surroundings = {**os.environ, **dict.fromkeys(pools, str(threads)), **environment}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.json"
        command = [sys.executable, str(HERE / "peer_run.py"), data, name, str(out), "--threads", str(threads), *options]
        try:
            ended = subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return {"failed": f"took more than {timeout:g} s"}
        if ended.returncode == 0:
            return json.loads(out.read_text())
    last = (ended.stderr.strip().splitlines() or ["nothing on standard error"])[-1]
    last = re.sub(r"/[^ ]*/", "…/", last)  # where things lie on this machine is nobody's business
    return {"failed": f"ended with {ended.returncode}: {last[:300]}"}


def wanted(name: str, labels: int, repeat: int, once: list[str]) -> int:
    """Return how many times a method is to run on a data set with so many labels."""
    return min(repeat, 1) if name in once or labels > ONCE_ABOVE_LABELS.get(name, labels) else repeat


def plan(data: list[str], names: list[str], repeat: int, once: list[str]) -> list[dict]:
    """Return a row for every method on every data set, still without runs, or saying why there will be none."""
    rows = []
    for one in data:
        try:
            labels = peer_data.load(one)[1].n_labels
        except DataError as error:
            print(f"{one}: left out: {error}")
            continue
        for name in names:
            title, kind = METHODS[name]
            row = {"data": one, "name": name, "method": title, "settings": settings(name, one), "runs": []}
            row.update(code=code() if kind.package == "neartag" else None, wanted=wanted(name, labels, repeat, once))
            if row["settings"] is None:
                print(f"{one}: {title}: left out: it has no settings for this data set")
                continue
            if not installed(name):
                row.update(left_out=f"{kind.package} is not installed", wanted=0)
            rows.append(row)
    return rows


def code() -> str:
    """Return a digest of neartag's source: between two releases its version does not tell what was measured."""
    digest = sha256()
    for file in sorted(Path(neartag.__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def versions() -> dict[str, str]:
    """Return the versions of the packages that measured."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def resume(rows: list[dict], before: dict) -> list[dict]:
    """Give rows the runs they had with the same settings and code, and keep the rows that are not to run now."""
    had = {(row["data"], row["name"]): row for row in before.get("rows", [])}
    for row in rows:
        old = had.pop((row["data"], row["name"]), None)
        if old and (old["settings"], old["code"]) == (row["settings"], row["code"]):
            row["runs"] = old["runs"]
    order = list(METHODS)
    together = rows + [{**row, "wanted": 0} for row in had.values()]
    places = list(dict.fromkeys(row["data"] for row in together))
    return sorted(together, key=lambda row: (places.index(row["data"]), order.index(row["name"])))


def save(result: dict, file: Path) -> None:
    """Write the results, whole or not at all."""
    for row in result["rows"]:
        row["median"] = medians(row["runs"])
    file.parent.mkdir(parents=True, exist_ok=True)
    kept = [{key: value for key, value in row.items() if key != "wanted"} for row in result["rows"]]
    part = file.with_suffix(".part")
    part.write_text(json.dumps({**result, "rows": kept}, indent=1, ensure_ascii=False) + "\n")
    part.replace(file)


def labels_file(folder: Path, data: str, name: str, number: int) -> Path:
    """Return where the labels that a method found on a data set in its run of that number, from 1, are kept."""
    return folder / f"{data}.{name}.{number}.npz"


def run_rounds(result: dict, repeat: int, timeout: float, file: Path, folder: Path) -> None:
    """Measure round by round until every row has the runs it wants; a row that failed is not tried again."""
    for number in range(1, repeat + 1):
        for row in result["rows"]:
            if len(row["runs"]) >= min(number, row["wanted"]):
                continue
            found = labels_file(folder, row["data"], row["name"], len(row["runs"]) + 1)
            run = start(row["data"], row["name"], result["threads"], timeout, "--labels", str(found))
            if "failed" in run:
                row.update(left_out=run["failed"], wanted=0)
                print(f"{row['data']}: {row['method']}: {run['failed']}", flush=True)
            else:
                row.pop("left_out", None)
                row["runs"].append(run)
                told = f"P@1 {run['P@1']:.2f}, {run['train wall s']:.3g} s, {run['batch ms']:.3g} ms"
                if run["cores used by others"] > DISTURBED:
                    told += f"; others used {run['cores used by others']:.1f} cores meanwhile"
                print(f"round {number}: {row['data']}: {row['method']}: {told}", flush=True)
            save(result, file)


def first_call(threads: int, timeout: float) -> float | None:
    """Return the seconds from start to neartag's first prediction on a tiny set, where nothing is compiled yet."""
    with tempfile.TemporaryDirectory() as empty:
        run = start("tiny", "x1-refined", threads, timeout, "--warm-up-only", NUMBA_CACHE_DIR=empty)
    return run.get("start s")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=list(DATA))
    parser.add_argument("--methods", default=",".join(METHODS), help=f"some of {','.join(METHODS)}")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--once", action="append", default=[], metavar="METHOD", help="measure this one a single time")
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--timeout", type=float, default=7200, help="seconds after which a run is given up")
    parser.add_argument("--resume", action="store_true", help="go on from what the results file has")
    parser.add_argument("--write", action="store_true", help="replace the table and the plots in docs/")
    parser.add_argument("--no-compile", action="store_true", help="do not measure the compilation of the kernels")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "peers.json")
    parser.add_argument("--labels", type=Path, default=LABELS, help="folder for the labels that each run found")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    arguments = parser.parse_args(argv)
    names = arguments.methods.split(",")
    if unknown := [name for name in [*names, *arguments.once] if name not in METHODS]:
        parser.error(f"no such method: {', '.join(unknown)}; there are {', '.join(METHODS)}")
    before = json.loads(arguments.results.read_text()) if arguments.resume and arguments.results.exists() else {}
    result = {"machine": machine(), "threads": arguments.threads, "versions": versions()}
    for key in ("machine", "threads", "versions"):
        if before and before[key] != result[key]:
            parser.error(f"cannot resume: {key} was {before[key]}, now {result[key]}")
    result["first call s"] = before.get("first call s")
    planned = plan(arguments.data, names, arguments.repeat, arguments.once) if arguments.repeat else []
    result["rows"] = resume(planned, before)
    if arguments.repeat and result["first call s"] is None and not arguments.no_compile:
        result["first call s"] = first_call(arguments.threads, arguments.timeout)
    arguments.labels.mkdir(parents=True, exist_ok=True)
    run_rounds(result, arguments.repeat, arguments.timeout, arguments.results, arguments.labels)
    save(result, arguments.results)
    print(table(result["rows"]))
    if arguments.write:
        write_page(result, arguments.docs / "benchmarks.md")
        if find_spec("matplotlib"):
            draw(result["rows"], arguments.docs)
        else:
            print("no plots: matplotlib is not installed")


if __name__ == "__main__":
    main()
