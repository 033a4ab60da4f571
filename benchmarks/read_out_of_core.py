"""Reading texts and rows that are larger than memory: what it needs at its peak, and how much work processes take over.

    python benchmarks/read_out_of_core.py                     texts as JSON lines and Parquet, rows as JSON lines
    python benchmarks/read_out_of_core.py --documents 50000   fewer of them
    python benchmarks/read_out_of_core.py --write             put the figures into docs/scaling.md
    python benchmarks/read_out_of_core.py --source OTHER/src  read with another version's source; prints, never writes

A made-up file is read as `neartag train` reads it, up to the rows that training begins with, and the rows are compared
byte by byte. Words are counted, or words, their pairs and runs of characters ("all"). What is counted as memory is
that of `out_of_core.py`: anonymous resident memory, without pages of mapped files, here less what Python with its
libraries takes. Helper processes are not in it. Processor seconds are those of the process that trains, with its start,
and of its helpers.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pages
from out_of_core import watch

PAGE, NAME = pages.DOCS / "scaling.md", "read_out_of_core"
LIMIT = 64 * 2**20  # of memory, for the runs within a limit: a quarter of it is for arrays of each kind
WORDS, LABELS, WORDS_IN_TEXT, LABELS_IN_TEXT, BLOCK = 60_000, 3000, 40, 3, 1000
# What each row of the table reads: its name, the file, the features, the jobs, and whether within the limit.
RUNS = [
    (f"{title}, {how}", file, features, jobs, limited)
    for title, file, features in (
        ("texts, JSON lines, words", "texts.jsonl", "words"),
        ("texts, JSON lines, all", "texts.jsonl", "all"),
        ("texts, Parquet, words", "texts.parquet", "words"),
        ("rows, JSON lines", "rows.jsonl", "words"),
    )
    for how, jobs, limited in (("in memory", 1, False), ("in files", 1, True), ("in memory, 2 processes", 2, False))
]
READ = """
import hashlib, json, resource, sys, time
from neartag.cli.data import load_training
from neartag.cli.reading import Reading
from neartag.core import memory
from neartag.data.mapped import mapped_bytes
from neartag.tagging.feature_choice import make_features
import neartag.x1.classifier
path, features, jobs, limit = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) or None
base, begun = memory.in_use(), time.perf_counter()
found = load_training(path, limit, Reading(), make_features(features, {}), keep_texts=True, n_jobs=jobs)
wall, end = time.perf_counter() - begun, time.time()
own, helpers = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
X, Y = found.dataset.X, found.dataset.Y
digest = hashlib.sha256()
for array in (X.data, X.indices, X.indptr, Y.data, Y.indices, Y.indptr):
    digest.update(array.tobytes())
digest.update(json.dumps([found.dataset.label_names, getattr(found.encoder, "feature_names_", None)]).encode())
cpu, helped = own.ru_utime + own.ru_stime, helpers.ru_utime + helpers.ru_stime
rows, mapped = 8 * (X.nnz + Y.nnz), mapped_bytes(X.data, X.indices, Y.data, Y.indices)
print(json.dumps({"base": base, "rows": rows, "in files": mapped, "seconds": wall, "end": end, "cpu": cpu,
    "cpu of helpers": helped, "digest": digest.hexdigest()}))
"""


def make_files(place: Path, documents: int) -> None:
    """Write texts of frequent and rare words as JSON lines and Parquet, and the same as rows."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    random = np.random.default_rng(0)
    letters = np.array(list("abcdefghiklmnoprstuvy"))
    words = np.array(["".join(random.choice(letters, random.integers(3, 10))) for _ in range(WORDS)])
    of_words, of_labels = 1 / np.arange(1, WORDS + 1) ** 1.05, 1 / np.arange(1, LABELS + 1) ** 0.8
    schema = pyarrow.schema({"text": pyarrow.string(), "labels": pyarrow.list_(pyarrow.string())})
    with (
        open(place / "texts.jsonl", "w") as texts,
        open(place / "rows.jsonl", "w") as rows,
        ParquetWriter(place / "texts.parquet", schema) as table,
    ):
        for _ in range(0, documents, BLOCK):
            drawn = random.choice(WORDS, (BLOCK, WORDS_IN_TEXT), p=of_words / of_words.sum())
            labels = random.choice(LABELS, (BLOCK, LABELS_IN_TEXT), p=of_labels / of_labels.sum()).tolist()
            written = [" ".join(words[each]) for each in drawn]
            names = [[f"label {label}" for label in each] for each in labels]
            for text, some in zip(written, names, strict=True):
                texts.write(json.dumps({"text": text, "labels": some}) + "\n")
            for each, some in zip(drawn.tolist(), labels, strict=True):
                features = {str(word): round(1 / (1 + word), 4) for word in each}
                rows.write(json.dumps({"features": features, "labels": some}) + "\n")
            table.write_table(pyarrow.table([written, names], schema=schema))


def read(file: Path, features: str, jobs: int, limit: int) -> dict:
    """Read a file in a process of its own, and return what it took."""
    watched = watch([sys.executable, "-c", READ, str(file), features, str(jobs), str(limit)])
    found = watched.report
    end = found.pop("end")
    peak = max(own for moment, own, _ in watched.seen if moment <= end)
    return {**found, "peak": peak - found["base"], "file": file.stat().st_size}


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--source", type=Path, help="where another version's source is")
    parser.add_argument(
        "--only", default="", help="only runs whose names have this in them; with --write, other figures stay"
    )
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if given.source is not None:
        os.environ["PYTHONPATH"] = str(given.source.resolve())
    found: dict[str, dict] = {}
    with tempfile.TemporaryDirectory(prefix="neartag-read-") as folder:
        make_files(Path(folder), given.documents)
        for name, file, features, jobs, limited in RUNS:
            if given.only in name:
                found[name] = read(Path(folder, file), features, jobs, LIMIT if limited else 0)
                print(f"{name:45}", json.dumps({key: shorten(value) for key, value in found[name].items()}), flush=True)
    for title in {name.rpartition(", in ")[0] for name in found}:
        digests = {each["digest"] for name, each in found.items() if name.startswith(title + ", in ")}
        if len(digests) > 1:
            raise SystemExit(f"{title}: the rows differ")
    if given.write and given.source is None:
        before = pages.kept(NAME)
        kept = before["runs"] if before.get("documents") == given.documents else {}
        runs = {name: {**kept, **found}[name] for name, *_ in RUNS if name in {**kept, **found}}
        result = {"documents": given.documents, "limit": LIMIT, "runs": runs}
        pages.keep(NAME, result)
        pages.insert("scaling reading", make_table(result), PAGE)


def shorten(value: object) -> object:
    """Return a figure with as many digits as a person reads."""
    if isinstance(value, int):
        return f"{value / 2**20:.0f} MB"
    return round(value, 2) if isinstance(value, float) else str(value)[:12]


def make_table(result: dict) -> str:
    """Return the figures as a table."""
    heads = "file, MB", "rows, MB", "of these in files", "peak, MB", "CPU, s", "CPU of helpers, s"
    lines = [f"| {result['documents']:,} documents | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for name, each in result["runs"].items():
        sizes = [f"{each[key] / 2**20:,.0f}" for key in ("file", "rows", "in files", "peak")]
        lines.append(f"| {name} | {' | '.join(sizes)} | {each['cpu']:.1f} | {each['cpu of helpers']:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
