"""How long small steps take that a user waits for, as multiples of one product of two matrices on the same core.

    python benchmarks/response.py [--rounds 7] [--write] [--check]

The unit is the product of two float32 matrices, 512 by 512, on one thread: a ratio to it hardly depends on the machine.
A row has the median of the rounds' CPU milliseconds and of their ratios. --write keeps them in
benchmarks/results/response.json; --check exits with 1 where a ratio is above its limit.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
import pages
from run import machine
from scipy.sparse import csr_matrix

from neartag.core.threads import single_threaded_blas
from neartag.data import debian, synthetic
from neartag.encoders.tfidf import TfidfFeatures
from neartag.linalg.rows import as_rows, normalise
from neartag.x1.classifier import X1Classifier
from neartag.x1.label_graph import label_neighbours
from neartag.x1.update import add, forget

SIDE = 512
SENTENCE = "how can i keep the crust of my bread crisp after i take it out of the hot oven again"
Step = tuple[str, float, int, Callable[[], object]]  # what it is called, limit of its ratio, times a round, the step


def reading_steps() -> Iterator[Step]:
    """Yield reading the embedded corpus and making rows of texts."""

    def read() -> None:
        debian._read.cache_clear()
        debian.load("train")

    titles = [f"title {number % 997} of part {number % 31} and word{number}" for number in range(20_000)]
    features = TfidfFeatures(char_ngrams=(3, 5)).fit([SENTENCE, *titles[:50]])
    yield "read the embedded corpus", 100, 1, read
    yield "rows of 20,000 titles", 60, 1, lambda: TfidfFeatures().fit_transform(titles)
    yield "the row of one sentence", 0.03, 200, lambda: features.transform([SENTENCE])


def training_steps() -> Iterator[Step]:
    """Yield the label graph of points of which nearly all have one label: 1.6 · 10⁹ pairs, if all were compared."""
    n = 40_000
    head = np.random.default_rng(0).random(n) < 0.97
    Y = csr_matrix(np.column_stack([head, np.arange(n) % 2000 == 0]).astype(np.float32))
    yield "neighbours by a label on nearly all points", 15, 1, lambda: label_neighbours(Y, 10)


def model_steps() -> Iterator[Step]:
    """Yield an answer of a refined model, and points that it adds and forgets, of a label with few points or many."""
    data = synthetic.make(2310, 1000, 200, 30, 3, seed=6)
    settings = {"embedding_dim": 50, "svp_neighbours": 20, "svp_max_iter": 2, "n_jobs": 1}
    model = X1Classifier(**settings).fit(data.X[:2000], data.Y[:2000]).model_
    rows = normalise(as_rows(data.X[2000:]))
    yield "answer one point", 0.4, 50, lambda: model.predict_topk(data.X[[7]], 5)
    for count, limit in ((0, 2), (8, 8), (300, 20)):
        labels = csr_matrix((np.ones(count, np.float32), (np.arange(count), np.full(count, 200))), (count, 201))
        known = add(model, rows[:count], labels) if count else model
        one = csr_matrix(([np.float32(1)], ([0], [200])), (1, 201))
        both = add(known, rows[[count]], one)
        last = np.arange(both.n_points) == both.n_points - 1
        name = f"of a label with {count} new points"
        yield f"add a point {name}", limit, 1, lambda known=known, row=rows[[count]], one=one: add(known, row, one)
        yield f"forget a point {name}", limit, 1, lambda both=both, last=last: forget(both, last)


def cpu_seconds(step: Callable[[], object], times: int) -> float:
    """Return the CPU seconds of a step, the mean of so many times."""
    begun = time.process_time()
    for _ in range(times):
        step()
    return (time.process_time() - begun) / times


def measure(steps: Iterator[Step], rounds: int) -> Iterator[dict]:
    """Yield the row of each step, measured in turn with the unit."""
    square = np.random.default_rng(0).random((SIDE, SIDE), np.float32)
    for name, limit, times, step in steps:
        step()  # what is compiled or made on the first call
        measured = [(cpu_seconds(step, times), cpu_seconds(lambda: square @ square, 5)) for _ in range(rounds)]
        ratio = median(mine / unit for mine, unit in measured)
        yield {"step": name, "CPU ms": 1000 * median(mine for mine, _ in measured), "ratio": ratio, "limit": limit}


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args(given)
    print("| step | CPU ms | ratio | limit |\n|---|---|---|---|")
    rows = []
    gc.disable()
    with single_threaded_blas():
        for steps in (reading_steps(), training_steps(), model_steps()):
            for row in measure(steps, arguments.rounds):
                print(f"| {row['step']} | {row['CPU ms']:.3g} | {row['ratio']:.3g} | {row['limit']:g} |", flush=True)
                rows.append(row)
    gc.enable()
    if arguments.write:
        pages.keep("response", {"machine": machine(), "rounds": arguments.rounds, "rows": rows})
    return int(arguments.check and any(row["ratio"] > row["limit"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
