"""How fast a table is tagged, CSV to CSV, and in how much memory: library titles with the subjects of a refined model.

    python benchmarks/batch_tagging.py [--rows 1000000] [--model FOLDER] [--write]

Trains on the texts of yso-finna-en-100k with nothing set, unless a model is given, and writes a CSV file of as many
short texts: every title of the data set, then titles made of the first words of one and the last words of another, so
that no two rows ask the same. `neartag tag MODEL docs.csv -o tagged.csv` then runs as a process of its own, whose wall
time, with everything from its start on, and peak memory are measured. --write keeps the result in
benchmarks/results/batch_tagging.json and docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pages
from run import machine

from neartag.data import registry
from neartag.data.documents import documents

DATA = "yso-finna-en-100k"
MB = 10**6


def make_titles(titles: list[str], seed: int = 0) -> Iterator[str]:
    """Yield the titles, then new ones made of halves of two, without end."""
    yield from titles
    chance = random.Random(seed)
    words = [title.split() for title in titles]
    while True:
        first, last = chance.choice(words), chance.choice(words)
        yield " ".join([*first[: (len(first) + 1) // 2], *last[len(last) // 2 :]])


def write_table(path: Path, rows: int) -> int:
    """Write a table of titles; returns its size in bytes."""
    titles = [
        document.text
        for part in ("test", "train")
        for document in documents(registry.text_file(DATA, part), labelled=False)
    ]
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["id", "text"])
        writer.writerows([f"t{number}", title] for number, title in enumerate(islice(make_titles(titles), rows)))
    return path.stat().st_size


def run(*arguments: object) -> str:
    command = [sys.executable, "-m", "neartag.cli", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def check(target: Path, rows: int) -> float:
    """Return the share of rows that have labels; all rows must be there, in their order."""
    labelled = 0
    with open(target, newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        number = -1
        for number, row in enumerate(reader):
            assert row["id"] == f"t{number}"
            labelled += bool(row["labels"])
    assert number + 1 == rows
    return labelled / rows


def measure(model: Path, folder: Path, rows: int) -> dict:
    source, target = folder / "docs.csv", folder / "tagged.csv"
    size = write_table(source, rows)
    load = os.getloadavg()
    begun = time.perf_counter()
    report = json.loads(run("tag", model, source, "-o", target, "--json", "--quiet"))
    seconds = time.perf_counter() - begun
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "rows": rows,
        "bytes": size,
        "seconds": seconds,
        "rows_per_second": rows / seconds,
        "cpu_seconds": report["cpu_seconds"],
        "peak_rss_bytes": children.ru_maxrss * 1024,
        "with_labels": check(target, rows),
        "load_before": load[0],
        "load_after": os.getloadavg()[0],
        "machine": machine(),
    }


def table(result: dict) -> str:
    return "\n".join(
        [
            "| rows | input | seconds | rows per second | CPU s | peak memory | load of the machine before, after |",
            "|---|---|---|---|---|---|---|",
            f"| {result['rows']:,} | {result['bytes'] / MB:.1f} MB | {result['seconds']:.0f} | "
            f"{result['rows_per_second']:,.0f} | {result['cpu_seconds']:.0f} | "
            f"{result['peak_rss_bytes'] / MB:,.0f} MB | {result['load_before']:.1f}, {result['load_after']:.1f} |",
            "",
            f"Other work ran beside it where the load is above 2: the process had "
            f"{result['cpu_seconds'] / result['seconds']:.2f} cores on average, and did "
            f"{result['rows'] / result['cpu_seconds']:,.0f} rows in a second of CPU time, its start left out.",
            "",
            f"Measured on: {result['machine']}.",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="neartag-") as place:
        model = options.model
        if model is None:
            model = Path(place) / "model"
            run("train", registry.text_file(DATA, "train"), model, "--quiet")
        result = measure(model, Path(place), options.rows)
    print(table(result))
    if options.write:
        pages.keep("batch_tagging", result)
        pages.insert("batch tagging", table(result))


if __name__ == "__main__":
    main()
