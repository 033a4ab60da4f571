"""How long a SKOS vocabulary takes to import and to open with a model, and how much memory it needs.

    python benchmarks/vocabulary.py [--concepts 30000] [--write]

Writes SKOS in Turtle of so many concepts, with preferred names in three languages, two alternative names, and broader
terms in a tree of which a tenth has two: the labels of the embedded corpus among them. A model is trained on that
corpus with the vocabulary, and one without it. Everything is measured in processes of their own: reading the file, as
training with it does once; and loading each model, five times in turns. A row has the median of wall and of CPU
seconds, and the peak of memory. Importing Python's modules is not counted, for `neartag` needs them anyway; rdflib is.
--write keeps the result in benchmarks/results/vocabulary.json and docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import pages
from run import machine

from neartag.data import debian
from neartag.tagging.tagger import TextTagger
from neartag.vocabulary.read import read_vocabulary
from neartag.x1.classifier import X1Classifier

CONCEPTS, BRANCHES, ROUNDS = 30_000, 8, 5
LANGUAGES = ("en", "fi", "sv")
MB = 10**6
# A process that does one thing with a path, and tells how long it took and the peak of its memory, as Linux counts it:
# `resource` would count what the process that starts it has.
MEASURE = """
import json, re, sys, time
from {module} import {name} as act
begun = time.perf_counter(), time.process_time()
act(sys.argv[1])
ended = time.perf_counter(), time.process_time()
peak = 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
print(json.dumps([ended[0] - begun[0], ended[1] - begun[1], peak]))
"""
IMPORT = MEASURE.format(module="neartag.vocabulary.read", name="read_vocabulary")
OPEN = MEASURE.format(module="neartag.storage.store", name="load")


def write_skos(path: Path, labels: list[str], count: int) -> None:
    """Write a vocabulary in which the labels are concepts at random places."""
    chance = random.Random(0)
    names = [*labels, *(f"concept number {number}" for number in range(count - len(labels)))]
    chance.shuffle(names)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix e: <http://example.org/> .\n")
        for number, name in enumerate(names):
            said = [f'skos:prefLabel "{name}{"" if each == "en" else f" ({each})"}"@{each}' for each in LANGUAGES]
            said += [f'skos:altLabel "{kind} {name}"@en' for kind in ("other", "further")]
            above = {(number - 1) // BRANCHES} if number else set()
            if number > BRANCHES and chance.random() < 0.1:
                above.add(chance.randrange(number // BRANCHES))
            said += [f"skos:broader e:{each}" for each in sorted(above)]
            stream.write(f"e:{number} a skos:Concept ; {' ; '.join(said)} .\n")


def measure(program: str, path: Path) -> list[float]:
    """Return wall and CPU seconds and the peak of memory in bytes."""
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def middle(rows: list[list[float]]) -> list[float]:
    return [median(column) for column in zip(*rows, strict=True)]


def run_all(place: Path, count: int) -> dict:
    train = debian.load("train")
    texts = [" ".join(words) for words in train.words]
    file = place / "vocabulary.ttl"
    write_skos(file, sorted({tag for tags in train.tags for tag in tags}), count)
    load = os.getloadavg()[0]
    imported = measure(IMPORT, file)
    vocabulary = read_vocabulary(file)
    folders = {"without": place / "plain", "with": place / "model"}
    for kind, folder in folders.items():
        tagger = TextTagger("words", X1Classifier(n_jobs=1), vocabulary=vocabulary if kind == "with" else None)
        tagger.fit(texts, train.tags).save(folder)
    opened = {kind: [] for kind in folders}
    for _ in range(ROUNDS):
        for kind, folder in folders.items():
            opened[kind].append(measure(OPEN, folder))
    return {
        "concepts": count,
        "file_bytes": file.stat().st_size,
        "import": imported,
        **{f"open {kind}": middle(rows) for kind, rows in opened.items()},
        "load": [load, os.getloadavg()[0]],
        "machine": machine(),
    }


def table(result: dict) -> str:
    def line(name: str, measured: list[float]) -> str:
        return f"| {name} | {measured[0]:.2f} | {measured[1]:.2f} | {measured[2] / MB:,.0f} MB |"

    size = f"{result['concepts']:,} concepts, {result['file_bytes'] / MB:.1f} MB of Turtle"
    return "\n".join(
        [
            "| what | seconds | CPU s | peak memory |",
            "|---|---|---|---|",
            line(f"import, once ({size})", result["import"]),
            line("open a model with it", result["open with"]),
            line("open the same model without it", result["open without"]),
            "",
            f"Load of the machine before and after: {result['load'][0]:.1f}, {result['load'][1]:.1f}.",
            "",
            f"Measured on: {result['machine']}.",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--concepts", type=int, default=CONCEPTS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="neartag-") as place:
        result = run_all(Path(place), options.concepts)
    print(table(result))
    if options.write:
        pages.keep("vocabulary", result)
        pages.insert("vocabulary", table(result))


if __name__ == "__main__":
    main()
