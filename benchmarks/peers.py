"""X1 beside its peers on the same files in the same run: how accurate, how fast, how large.

    python benchmarks/peers.py [bibtex …] [--tuned] [--methods x1-fast,pecos] [--repeat 5] [--resume] [--write]
    python benchmarks/peers.py [bibtex …] [--tuned] --methods parabel,plt --again 3

Every run is a process of its own (peer_run.py); round after round takes all data sets and methods in turn, so that a
machine that slows down slows all of them. benchmarks/results/peers.json is written after every run, and the labels
found go into benchmarks/results/labels for refined.py. --resume keeps what is there and measures only what is missing,
or whose settings or code changed. --write replaces the table of docs/benchmarks.md and the plots; with --resume
--repeat 0 it only draws them again. --again 3 makes three more runs of other tools' rows for their labels alone, where
those of the runs that were timed are gone and the tool does not find the same each time: no time of theirs is kept.

--tuned measures every method with settings chosen on held-out points of the training part (peer_tune.py), neartag's own
comparators among them, once each, and keeps all in benchmarks/results/peers-tuned.json.
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
from typing import Any

import peer_data
import peer_tune
from peer_methods import AT_DEFAULTS, METHODS, TUNED, installed, settings
from peer_settings import DATA, ONCE_ABOVE_LABELS, THREADS
from peer_table import DISTURBED, medians, table, write_page
from peer_tuned_table import write_tuned_page
from plots import draw
from run import machine

import neartag
from neartag.core.errors import DataError

HERE = Path(__file__).parent
LABELS = HERE / "results" / "labels"  # not part of the repository
TUNED_LABELS = LABELS / "tuned"
PACKAGES = ("neartag", "libpecos", "omikuji", "napkinxc", "libmultilabel", "scikit-learn", "numpy", "scipy", "numba")
ROUNDS, ROUNDS_TUNED = 5, 1


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


def plan(data: list[str], names: list[str], repeat: int, once: list[str], tuned: bool = False) -> list[dict]:
    """Return a row for every method on every data set, still without runs, or saying why there will be none.

    The settings of a tuned row are those of its search: what that finds comes later.
    """
    rows = []
    for one in data:
        try:
            labels = peer_data.load(one)[1].n_labels
        except DataError as error:
            print(f"{one}: left out: {error}")
            continue
        for name in names:
            title, kind = METHODS[name]
            given = peer_tune.plan(name, one) if tuned else settings(name, one)
            title = peer_tune.title(name) if tuned else title
            row = {"data": one, "name": name, "method": title, "settings": given, "runs": []}
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


def resume(rows: list[dict], before: dict, folder: Path | None = None) -> list[dict]:
    """Give rows the runs they had with the same settings and code, and keep the rows that are not to run now.

    With a folder, runs whose labels are not in it are measured again; the settings chosen for them stay.
    """
    had = {(row["data"], row["name"]): row for row in before.get("rows", [])}
    for row in rows:
        old = had.pop((row["data"], row["name"]), None)
        if old and (old["settings"], old["code"]) == (row["settings"], row["code"]):
            row.update({key: old[key] for key in ("tuning", "again") if key in old})
            if folder is None or has_labels(old, folder):
                row["runs"] = old["runs"]
    order = list(METHODS)
    together = rows + [{**row, "wanted": 0} for row in had.values()]
    places = list(dict.fromkeys(row["data"] for row in (*before.get("rows", []), *together)))
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


def labels_file(folder: Path, data: str, name: str, number: int | str) -> Path:
    """Return where the labels that a method found on a data set in its run of that number, from 1, are kept."""
    return folder / f"{data}.{name}.{number}.npz"


def again_number(number: int) -> str:
    """Return the number, for its labels, of a run that was made for these alone."""
    return f"again{number}"


def has_labels(row: dict, folder: Path) -> bool:
    """Return whether the labels of all its runs are still there."""
    return all(
        labels_file(folder, row["data"], row["name"], number).exists() for number in range(1, len(row["runs"]) + 1)
    )


def run_one(row: dict, threads: int, timeout: float, folder: Path, number: int | str) -> dict:
    """Return what a row's run of a number measured, with the settings chosen for it where it has a search."""
    found = labels_file(folder, row["data"], row["name"], number)
    chosen = ["--settings", json.dumps(row["tuning"]["settings"])] if "tuning" in row else []
    return start(row["data"], row["name"], threads, timeout, "--labels", str(found), *chosen)


def tune_row(row: dict, threads: int, timeout: float) -> None:
    """Put the settings that are best on held-out points into a row, or why there are none."""
    found = start(row["data"], row["name"], threads, timeout, "--tune")
    if "failed" in found:
        row.update(left_out=found["failed"], wanted=0)
        print(f"{row['data']}: {row['method']}: {found['failed']}", flush=True)
    else:
        row.pop("left_out", None)
        row["tuning"] = found
        print(f"{row['data']}: {row['method']}: {json.dumps(found['settings'])}", flush=True)


def run_rounds(result: dict, repeat: int, timeout: float, file: Path, folder: Path, tuned: bool = False) -> None:
    """Measure round by round until every row has the runs it wants; a row that failed is not tried again."""
    for number in range(1, repeat + 1):
        for row in result["rows"]:
            if tuned and row["wanted"] and "tuning" not in row:
                tune_row(row, result["threads"], timeout)
                save(result, file)
            if len(row["runs"]) >= min(number, row["wanted"]):
                continue
            run = run_one(row, result["threads"], timeout, folder, len(row["runs"]) + 1)
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


def run_again(result: dict, rows: list[dict], times: int, timeout: float, file: Path, folder: Path) -> None:
    """Make more runs of rows that have some, for their labels and figures alone: the machine may be busy meanwhile.

    neartag is left out: it finds the same each time, and its code may be another than that of the row.
    """
    for row in [row for _ in range(times) for row in rows if row["runs"] and row["code"] is None]:
        made = row.setdefault("again", [])
        run = run_one(row, result["threads"], timeout, folder, again_number(len(made) + 1))
        if "failed" in run:
            print(f"{row['data']}: {row['method']}: {run['failed']}", flush=True)
            continue
        made.append({key: value for key, value in run.items() if "@" in key})
        print(f"again {len(made)}: {row['data']}: {row['method']}: P@1 {run['P@1']:.2f}", flush=True)
        save(result, file)


def first_call(threads: int, timeout: float) -> float | None:
    """Return the seconds from start to neartag's first prediction on a tiny set, where nothing is compiled yet."""
    with tempfile.TemporaryDirectory() as empty:
        run = start("tiny", "x1-refined", threads, timeout, "--warm-up-only", NUMBA_CACHE_DIR=empty)
    return run.get("start s")


def agree(before: Any, now: Any) -> bool:
    """Return whether what is now is what was; a package may have come since, as no earlier row is of it."""
    if isinstance(before, dict):
        return all(now.get(name) == value for name, value in before.items())
    return before == now


def fill_in(arguments: argparse.Namespace) -> argparse.Namespace:
    """Return the options with those that depend on --tuned."""
    tuned = arguments.tuned
    if arguments.methods is None:
        arguments.methods = ",".join(TUNED if tuned else AT_DEFAULTS)
    if arguments.again:
        arguments.resume, arguments.repeat = True, 0
    if arguments.repeat is None:
        arguments.repeat = ROUNDS_TUNED if tuned else ROUNDS
    arguments.results = arguments.results or HERE / "results" / ("peers-tuned.json" if tuned else "peers.json")
    arguments.labels = arguments.labels or (TUNED_LABELS if tuned else LABELS)
    return arguments


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=list(DATA))
    parser.add_argument("--tuned", action="store_true", help="choose each method's settings on held-out points first")
    parser.add_argument("--methods", help=f"some of {','.join(METHODS)}")
    parser.add_argument("--repeat", type=int, help=f"rounds; {ROUNDS}, with --tuned {ROUNDS_TUNED}")
    parser.add_argument("--again", type=int, default=0, help="more runs of each, for their labels alone")
    parser.add_argument("--once", action="append", default=[], metavar="METHOD", help="measure this one a single time")
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--timeout", type=float, default=7200, help="seconds after which a run is given up")
    parser.add_argument("--resume", action="store_true", help="go on from what the results file has")
    parser.add_argument("--write", action="store_true", help="replace the table and the plots in docs/")
    parser.add_argument("--no-compile", action="store_true", help="do not measure the compilation of the kernels")
    parser.add_argument("--results", type=Path, help="peers.json or peers-tuned.json in results/")
    parser.add_argument("--labels", type=Path, help="folder for the labels that each run found; in results/")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    arguments = fill_in(parser.parse_args(argv))
    names = arguments.methods.split(",")
    if unknown := [name for name in [*names, *arguments.once] if name not in METHODS]:
        parser.error(f"no such method: {', '.join(unknown)}; there are {', '.join(METHODS)}")
    before = json.loads(arguments.results.read_text()) if arguments.resume and arguments.results.exists() else {}
    result = {"machine": machine(), "threads": arguments.threads, "versions": versions()}
    for key in ("machine", "threads", "versions"):
        if before and not agree(before[key], result[key]):
            parser.error(f"cannot resume: {key} was {before[key]}, now {result[key]}")
    result["first call s"] = before.get("first call s")
    given = arguments.data, names, arguments.repeat, arguments.once, arguments.tuned
    folder = arguments.labels
    result["rows"] = resume(plan(*given) if arguments.repeat else [], before, folder)
    if arguments.repeat and result["first call s"] is None and not (arguments.no_compile or arguments.tuned):
        result["first call s"] = first_call(arguments.threads, arguments.timeout)
    folder.mkdir(parents=True, exist_ok=True)
    run_rounds(result, arguments.repeat, arguments.timeout, arguments.results, folder, arguments.tuned)
    named = [row for row in result["rows"] if row["data"] in arguments.data and row["name"] in names]
    run_again(result, named, arguments.again, arguments.timeout, arguments.results, folder)
    save(result, arguments.results)
    print(table(result["rows"]))
    if arguments.write and arguments.tuned:
        write_tuned_page(result, arguments.docs / "benchmarks.md")
    elif arguments.write:
        write_page(result, arguments.docs / "benchmarks.md")
        if find_spec("matplotlib"):
            draw(result["rows"], arguments.docs)
        else:
            print("no plots: matplotlib is not installed")


if __name__ == "__main__":
    main()
