"""How much longer a request takes that asks for some labels only, by a list that was not asked for before.

    python benchmarks/restricted.py [--requests 2000] [--write]

A request is one text. Requests for some labels and for all labels of the same text take turns, in both orders, so that
a machine that slows down slows both. A row has the median CPU milliseconds of both, and the median of the ratios of
such pairs. The models are trained on the embedded corpus, by votes alone and refined. The lists have 50 of its labels,
another 50 each time; `under:` names another concept each time, of a vocabulary of 30,000 in which a tenth has two
broader ones. A list comes as a service has it, just read from JSON. The first request, for which names are laid out
once, is measured by itself. --write keeps the rows in benchmarks/results/restricted.json and docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from statistics import median

import pages
from run import machine

from neartag import TextTagger, X1Classifier
from neartag.data import debian
from neartag.vocabulary.concepts import Concept, Vocabulary

CONCEPTS, BRANCHES, LISTED = 30_000, 8, 50
HEADINGS = ["model", "request", "all labels, ms", "some labels, ms", "longer by %", "first, ms"]


def make_vocabulary(labels: list[str], chance: random.Random) -> Vocabulary:
    """Return a hierarchy of concepts among which the labels stand at random places."""
    names = [*labels, *(f"concept {number}" for number in range(CONCEPTS - len(labels)))]
    chance.shuffle(names)
    concepts = []
    for number, name in enumerate(names):
        above = {(number - 1) // BRANCHES} if number else set()
        if number > BRANCHES and chance.random() < 0.1:
            above.add(chance.randrange(number // BRANCHES))
        broader = tuple(f"http://example.org/{each}" for each in sorted(above))
        concepts.append(Concept(name, f"http://example.org/{number}", {"en": name}, (f"other {name}",), broader))
    return Vocabulary(tuple(concepts), language="en")


def make_lists(tagger: TextTagger, kind: str, count: int, chance: random.Random) -> Iterator[list[str]]:
    """Yield lists of labels, none twice."""
    if kind == "list":
        for _ in range(count):
            yield chance.sample(tagger.labels, LISTED)
    else:
        inner = CONCEPTS // BRANCHES  # the others have nothing below them
        for number in chance.sample(range(inner), count):
            yield [f"under:http://example.org/{number}"]


def cpu_ms(tagger: TextTagger, text: str, include: list[str] | None) -> float:
    include = json.loads(json.dumps(include))
    begun = time.process_time()
    tagger.predict([text], 5, include=include, n_jobs=1)
    return 1000 * (time.process_time() - begun)


def measure(tagger: TextTagger, kind: str, texts: list[str], chance: random.Random) -> list[float]:
    """Return the medians of requests for all labels and for some, by how many % these are longer, and the first."""
    first, *lists = make_lists(tagger, kind, len(texts) + 1, chance)
    for text in texts[:20]:
        cpu_ms(tagger, text, None)
    cold = cpu_ms(tagger, texts[0], first)
    everything, some = [], []
    for number, (text, include) in enumerate(zip(texts, lists, strict=True)):
        if number % 2:
            everything.append(cpu_ms(tagger, text, None))
            some.append(cpu_ms(tagger, text, include))
        else:
            some.append(cpu_ms(tagger, text, include))
            everything.append(cpu_ms(tagger, text, None))
    ratio = median(one / other for one, other in zip(some, everything, strict=True))
    return [median(everything), median(some), 100 * (ratio - 1), cold]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    chance = random.Random(0)
    train, test = debian.load("train"), debian.load("test")
    texts = [" ".join(words) for words in test.words[: arguments.requests]]
    rows = []
    print("| " + " | ".join(HEADINGS) + " |\n" + "|---" * len(HEADINGS) + "|")
    for name, refine in (("votes", False), ("refined", True)):
        trained = TextTagger("words", X1Classifier(refine=refine, n_jobs=1))
        trained.fit([" ".join(words) for words in train.words], train.tags)
        for kind in ("list", "under"):
            vocabulary = None if kind == "list" else make_vocabulary(trained.labels, chance)
            tagger = TextTagger.of(replace(trained.stored, vocabulary=vocabulary))
            gc.disable()
            measured = measure(tagger, kind, texts, chance)
            gc.enable()
            asked = f"another {LISTED} of {len(tagger.labels)} labels" if kind == "list" else "another `under:`"
            row = [name, asked, *measured]
            rows.append(row)
            print(line(row), flush=True)
    if arguments.write:
        found = {"machine": machine(), "requests": len(texts), "headings": HEADINGS, "rows": rows}
        pages.keep("restricted", found)
        table = ["| " + " | ".join(HEADINGS) + " |", "|---" * len(HEADINGS) + "|", *map(line, rows)]
        pages.insert("restricted", "\n".join([*table, "", f"Measured on: {machine()}."]))


def line(row: list) -> str:
    return f"| {row[0]} | {row[1]} | {row[2]:.3f} | {row[3]:.3f} | {row[4]:.1f} | {row[5]:.1f} |"


if __name__ == "__main__":
    main()
