"""Sentence encoders: how many texts a CPU second, how near to each other, and how good their vectors are alone.

    python scripts/fetch_minilm.py MINILM
    python benchmarks/encoders.py MINILM MINILM/model-int8.onnx wordllama [--data cooking] [--write]

The first encoder is the one that others of its dimension are held against. X1 learns from the vectors with nothing set.
--write keeps the result in benchmarks/results/encoders.json and the table of docs/encoders.md.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pages
from run import machine
from texts import figures, rows_of, texts_of

from neartag.encoders.sentence import SentenceFeatures
from neartag.x1.classifier import X1Classifier


def measure(reference: str, data: str) -> tuple[dict, np.ndarray]:
    """What one encoder costs and brings on a data set of texts, and its vectors of the test part."""
    train, test = texts_of(data, "train"), texts_of(data, "test")
    _, Y, _, Y_test = rows_of(train, test, {})
    features = SentenceFeatures(reference).open()
    features.transform([document.text for document in test[:100]])  # whatever is done once
    cpu = time.process_time()
    X_test = features.transform([document.text for document in test])
    cpu = time.process_time() - cpu
    X = features.transform([document.text for document in train])
    labels = X1Classifier().fit(X, Y).predict_topk(X_test, 5)[0]
    result = {"encoder": features.identities_[0].to_json(), "texts_per_cpu_second": len(test) / cpu}
    return {**result, "precision": figures(labels, Y_test)}, X_test


def table(results: list[dict]) -> str:
    lines = ["| encoder | texts a CPU second | cosine with the first: mean, worst | P@1 / 3 / 5 of its vectors alone |"]
    lines.append("|---|---|---|---|")
    for each in results:
        cosine = "" if "cosine" not in each else f"{each['cosine'][0]:.3f}, {each['cosine'][1]:.3f}"
        precision = " / ".join(f"{figure:.1f}" for figure in each["precision"])
        name = f"{each['encoder']['name']}, {each['encoder']['dim']} dimensions"
        lines.append(f"| {name} | {each['texts_per_cpu_second']:,.0f} | {cosine} | {precision} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoders", nargs="+")
    parser.add_argument("--data", default="cooking")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    results: list[dict] = []
    first: np.ndarray | None = None
    for reference in options.encoders:
        result, vectors = measure(reference, options.data)
        if first is not None and vectors.shape == first.shape:
            cosines = (vectors * first).sum(axis=1)
            result["cosine"] = [float(cosines.mean()), float(cosines.min())]
        first = vectors if first is None else first
        results.append(result)
        print(table(results[-1:]).splitlines()[-1], flush=True)
    if options.write:
        pages.keep("encoders", {"machine": machine(), "data": options.data, "encoders": results})
        about = f"Measured on {options.data}, on: {machine()}."
        pages.insert("encoders", f"{table(results)}\n\n{about}", pages.DOCS / "encoders.md")


if __name__ == "__main__":
    main()
