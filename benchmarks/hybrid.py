"""Words, vectors, and both side by side: accuracy with intervals, what it costs, and peers on the same rows.

    python benchmarks/hybrid.py cooking ENCODER FOLDER [--own-words] [--methods words vectors both …] [--write]

ENCODER is what `neartag train --encoder` takes; FOLDER keeps its vectors, and the answers. Words are made from the
texts as neartag does by default; with --own-words they are the own features of the data set. Nothing else is set. What
was measured before is read from FOLDER: remove its files to measure again.

Peers, where they are named and installed (.venv-peers): pecos and pecos-words (XR-Linear on both in one matrix, and on
words alone), knn (cosine, k chosen on a held-out tenth of the training part), logistic (one regression for each label,
on vectors). Intervals, 95% by a paired bootstrap over test points, are those of both against each other method.
Seconds are of CPU, on one thread, without encoding.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pages
from hybrid_peers import PEERS
from run import machine
from scipy.sparse import csr_matrix
from sentence_vectors import documents_of, vectors_of
from texts import truth_of

from neartag import data
from neartag.encoders.feature_kinds import AutoFeatures
from neartag.linalg import csr
from neartag.linalg.hybrid_rows import HybridRows
from neartag.metrics import evaluate, paired_bootstrap
from neartag.tagging.corpus import encode_corpus
from neartag.tagging.feature_choice import fit_corpus
from neartag.x1.classifier import X1Classifier

OWN = ("words", "vectors", "both")
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@5")
Parts = tuple[csr_matrix, csr_matrix, csr_matrix, csr_matrix]  # words and labels of the train part, of the test part


def words_of(name: str, own_words: bool) -> Parts:
    """Return words and labels of both parts."""
    if own_words:
        train, test = data.load(name), data.load(name, "test")
        return train.X, train.Y, test.X, test.Y
    learned, features = fit_corpus(documents_of(name, "train"), AutoFeatures(), keep_texts=False)
    other = encode_corpus(documents_of(name, "test"), features)
    return learned.X, learned.Y, other.X, truth_of(other, learned.label_names)


def measure(method: str, words: Parts, vectors: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, dict]:
    """Return the best 5 labels of the test points, and what they cost."""
    X, Y, X_test, _ = words
    if method in PEERS:
        return PEERS[method](X, Y, X_test, *vectors)
    rows = {
        "words": (X, X_test),
        "vectors": vectors,
        "both": (HybridRows(X, vectors[0]), HybridRows(X_test, vectors[1])),
    }[method]
    started = time.process_time()
    model = X1Classifier(n_jobs=1).fit(rows[0], Y)
    trained = time.process_time()
    labels, _ = model.predict_topk(rows[1], 5)
    answered = time.process_time() - trained
    return labels, {"train_cpu_s": trained - started, "predict_cpu_ms": 1000 * answered / len(labels)}


def describe(answers: dict[str, np.ndarray], costs: dict[str, dict], Y: csr_matrix, Y_test: csr_matrix) -> dict:
    """Return figures of every method, and by how much both is better, with intervals."""
    width = max(Y.shape[1], Y_test.shape[1])
    Y, Y_test = csr.widen(Y, width), csr.widen(Y_test, width)
    found: dict[str, dict] = {}
    for method, labels in answers.items():
        scores = evaluate(labels, Y_test, Y_train=Y)
        found[method] = {**{metric: round(scores[metric], 2) for metric in METRICS}, **costs[method]}
        if method == "both" or "both" not in answers:
            continue
        gains = {}
        for metric in METRICS:
            gain = paired_bootstrap(answers["both"], labels, Y_test, metric=metric, Y_train=Y)
            gains[metric] = [round(gain.low, 2), round(gain.high, 2)]
        found[method]["both_is_better_by"] = gains
    return found


def name_of(encoder: str) -> str:
    """As people know an encoder: the folder's name, with that of the file where there are several."""
    path = Path(encoder)
    return f"{path.parent.name}/{path.stem}" if path.suffix == ".onnx" else path.name


def table(results: dict) -> str:
    lines = [
        "| data | learned from | P@1 / 3 / 5 | PSP@1 / 5 | both is better in P@1; P@5 by | training, CPU s "
        "| a point, ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, found in results.items():
        if name == "machine":
            continue
        for method, row in found["methods"].items():
            precision = " / ".join(f"{row[metric]:.2f}" for metric in METRICS[:3])
            rare = " / ".join(f"{row[metric]:.2f}" for metric in METRICS[3:])
            gains = row.get("both_is_better_by")
            better = ""
            if gains is not None:
                better = "; ".join("{:+.1f} to {:+.1f}".format(*gains[metric]) for metric in ("P@1", "P@5"))
            cost = f"{row['train_cpu_s']:.0f} | {row['predict_cpu_ms']:.2f}"
            lines.append(f"| {name} | {method} | {precision} | {rare} | {better} | {cost} |")
    return "\n".join([*lines, "", f"Measured on: {results['machine']}."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("encoder")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--own-words", action="store_true")
    parser.add_argument("--methods", nargs="*", default=list(OWN), choices=[*OWN, *PEERS])
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    title = f"{given.name}, its own words" if given.own_words else given.name
    words = words_of(given.name, given.own_words)
    vectors = tuple(vectors_of(given.name, part, given.encoder, given.folder) for part in ("train", "test"))
    answers, costs = {}, {}
    for method in dict.fromkeys([*OWN, *PEERS, *given.methods]):
        file = given.folder / f"{title.replace(', ', '-').replace(' ', '-')}.{Path(given.encoder).stem}.{method}.npz"
        if method in given.methods and not file.exists():
            labels, cost = measure(method, words, vectors)
            np.savez(file, labels=labels, cost=json.dumps(cost))
        if file.exists():
            with np.load(file) as kept:
                answers[method], costs[method] = kept["labels"], json.loads(str(kept["cost"]))
            print(method, costs[method], flush=True)
    found = {"methods": describe(answers, costs, words[1], words[3])}
    name = f"{title}, {name_of(given.encoder)}"
    results = {**pages.kept("hybrid"), name: found, "machine": machine()}
    print(table({name: found, "machine": machine()}))
    if given.write:
        pages.keep("hybrid", results)
        pages.insert("hybrid", table(results), pages.DOCS / "encoders.md")


if __name__ == "__main__":
    main()
