"""How long commands take before they answer, as multiples of importing the libraries that they cannot do without.

    python benchmarks/startup.py [--rounds 7] [--write] [--check]

Each command runs in a process of its own, in turn with one that only imports these libraries; kernels are compiled
before. A row has the median of the rounds' CPU seconds and of their ratios, which hardly depend on the machine. --write
keeps them in benchmarks/results/startup.json; --check exits with 1 where a ratio is above its limit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import pages
from peer_run import Timer
from run import machine

from neartag import store
from neartag.data import formats, synthetic
from neartag.tagging.tagger import TextTagger
from neartag.x1.classifier import X1Classifier

SHELL, NUMBERS = (
    "import typer, rich.console",
    "import numpy, scipy.sparse, scipy.linalg, numba, safetensors.numpy, typer",
)
# Commands with the folder's files in it, what they need at least, and the ratio that is the limit.
COMMANDS = {
    "--help": (["--help"], SHELL, 2.0),
    "train, no such file": (["train", "absent.jsonl", "new"], NUMBERS, 4.5),
    "predict, ten points": (["predict", "model", "ten.txt", "--quiet"], NUMBERS, 3.0),
    "tag, one text": (["tag", "texts", "bread and butter"], NUMBERS, 4.5),
}


def cpu_seconds(words: list[str], folder: Path) -> float:
    """Return the CPU seconds of a process."""
    with Timer() as timer:
        subprocess.run(words, cwd=folder, capture_output=True, check=False)
    return timer.cpu


def prepare(folder: Path) -> None:
    """Write a small model of rows, a small model of texts, and ten rows to predict."""
    data = synthetic.make(600, 300, 40, 10, 2)
    formats.write(data.take(range(10)), folder / "ten.txt")
    settings = {"n_learners": 2, "n_clusters": 2, "embedding_dim": 20, "svp_neighbours": 20, "feature_share": 0.3}
    settings["refine"] = False
    store.save(X1Classifier(**settings).fit(data.X, data.Y).model_, folder / "model")
    texts = [f"bread {number} with {'butter' if number % 2 else 'jam'}" for number in range(60)]
    TextTagger().fit(texts, [["butter"] if number % 2 else ["jam"] for number in range(60)]).save(folder / "texts")


def measure(name: str, folder: Path, rounds: int) -> dict:
    """Return the row of a command."""
    words, needed, limit = COMMANDS[name]
    command, floor = [sys.executable, "-m", "neartag", *words], [sys.executable, "-c", needed]
    cpu_seconds(command, folder)  # compiles what is not compiled, and warms the disk's cache
    times = [(cpu_seconds(command, folder), cpu_seconds(floor, folder)) for _ in range(rounds)]
    ours, theirs = (median(column) for column in zip(*times, strict=True))
    ratio = median(mine / other for mine, other in times)
    return {"command": name, "CPU s": ours, "libraries' CPU s": theirs, "ratio": ratio, "limit": limit}


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        rows = [measure(name, Path(folder), arguments.rounds) for name in COMMANDS]
    print("| command | CPU s | the libraries' | ratio | limit |\n|---|---|---|---|---|")
    for row in rows:
        cells = " | ".join(f"{row[key]:.2f}" for key in ("CPU s", "libraries' CPU s", "ratio", "limit"))
        print(f"| {row['command']} | {cells} |")
    if arguments.write:
        pages.keep("startup", {"machine": machine(), "rounds": arguments.rounds, "rows": rows})
    return int(arguments.check and any(row["ratio"] > row["limit"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
