"""Raw texts in: accuracy with neartag's own features, labels that come after training, and what adding costs.

    python benchmarks/texts.py [accuracy] [new-labels] [adding] [--write]

accuracy: cooking and yso-finna-en-100k from their texts, refined and nothing else set: neartag chooses the features on
held-out training texts. Beside plain kNN on the same rows.
new-labels: 20 tags of cooking with 20 to 100 documents each. All documents that carry them are withheld from training;
then 5 of each are added. How many of these tags are found among the best 5 for the withheld documents that were not
added, against a model trained anew on everything it had, the added documents included.
adding: milliseconds to add a document to a model of the embedded corpus, one at a time and a hundred at a time.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from typing import NamedTuple

import numpy as np
import pages
from run import machine
from scipy.sparse import csr_matrix

from neartag.comparators.knn.classifier import KNNClassifier
from neartag.data import debian, registry
from neartag.data.documents import Document, documents
from neartag.encoders.feature_kinds import TITLES, AutoFeatures
from neartag.encoders.tfidf import TfidfFeatures
from neartag.metrics import evaluate
from neartag.tagging.corpus import Corpus, build_corpus, encode_corpus
from neartag.tagging.feature_choice import fit_corpus
from neartag.tagging.live import LiveTagger
from neartag.tagging.tagger import TextTagger
from neartag.x1.classifier import X1Classifier

DATA = ("cooking", "yso-finna-en-100k")
KS = (1, 3, 5)
NEW, ADDED = 20, 5  # tags withheld, and documents of each that are added


def texts_of(name: str, part: str) -> list[Document]:
    return list(documents(registry.text_file(name, part)))


def rows_of(train: list[Document], test: list[Document], settings: dict):
    """Rows of both parts by features of these settings, and labels under the train part's numbers."""
    features = TfidfFeatures(**settings)
    learned = build_corpus(train, features, keep_texts=False)
    other = encode_corpus(test, features)
    return learned.X, learned.Y, other.X, truth_of(other, learned.label_names)


def truth_of(other: Corpus, known: list[str]) -> csr_matrix:
    """Labels under the train part's numbers; others come after them."""
    column = {name: place for place, name in enumerate(known)}
    for name in other.label_names:
        column.setdefault(name, len(column))
    places = np.array([column[name] for name in other.label_names], np.int32)
    pieces = other.Y.data, places[other.Y.indices], other.Y.indptr
    truth = csr_matrix(pieces, shape=(other.Y.shape[0], len(column)))
    truth.sort_indices()
    return truth


def figures(labels: np.ndarray, Y: csr_matrix) -> list[float]:
    found = evaluate(labels, Y)
    return [found[f"P@{k}"] for k in KS]


def accuracy(name: str) -> dict:
    """What a user gets who sets nothing: features by a trial on training texts, then X1 refined."""
    train, test = texts_of(name, "train"), texts_of(name, "test")
    cpu = time.process_time()
    learned, features = fit_corpus(train, AutoFeatures(), keep_texts=False)
    X, Y = learned.X, learned.Y
    choosing = time.process_time() - cpu
    print(name, features.choice_, flush=True)
    other = encode_corpus(test, features)
    X_test, Y_test = other.X, truth_of(other, learned.label_names)
    cpu = time.process_time()
    classifier = X1Classifier(refine=True).fit(X, Y)
    cpu = time.process_time() - cpu
    result = {"features": TITLES[features.choice_.kind], "choice": features.choice_.describe()}
    result |= {"cpu": cpu, "choosing_cpu": choosing, "columns": X.shape[1]}
    result["x1"] = figures(classifier.predict_topk(X_test, 5)[0], Y_test)
    knn = {k: figures(KNNClassifier(neighbours=k).fit(X, Y).predict_topk(X_test, 5)[0], Y_test) for k in (10, 20, 40)}
    best = max(knn, key=lambda k: sum(knn[k]))
    return {**result, "knn": knn[best], "knn_neighbours": best}


class NewLabels(NamedTuple):
    """Documents without some labels, some with them that are added, others with them that are asked, and the labels."""

    old: list[Document]
    added: list[Document]
    rest: list[Document]
    labels: set[str]

    def recall(self, tagger: TextTagger) -> float:
        """How many of the new labels of the documents asked are among the best 5, in percent."""
        found = wanted = 0
        for document, tags in zip(self.rest, tagger.predict([each.text for each in self.rest], 5), strict=True):
            truth = self.labels & set(document.labels)
            found += len(truth & {tag.label for tag in tags})
            wanted += len(truth)
        return 100 * found / wanted


def withhold_labels(everything: list[Document], seed: int = 0) -> NewLabels:
    """Return 20 tags with 20 to 100 documents each, all documents apart that have one, and 5 of each to be added."""
    counts: dict[str, int] = {}
    for document in everything:
        for label in document.labels:
            counts[label] = counts.get(label, 0) + 1
    chance = np.random.default_rng(seed)
    fitting = sorted(label for label, count in counts.items() if 20 <= count <= 100)
    new = set(chance.choice(fitting, NEW, replace=False).tolist())
    old = [document for document in everything if not new & set(document.labels)]
    withheld = [document for document in everything if new & set(document.labels)]
    order, added, taken = chance.permutation(len(withheld)), [], dict.fromkeys(new, 0)
    rest = []
    for place in order:
        document = withheld[place]
        wanted = [label for label in document.labels if label in new]
        if any(taken[label] < ADDED for label in wanted):
            added.append(document)
            for label in wanted:
                taken[label] += 1
        else:
            rest.append(document)
    added = [document._replace(id=f"added-{number}") for number, document in enumerate(added)]
    old = [document._replace(id=f"old-{number}") for number, document in enumerate(old)]
    return NewLabels(old, added, rest, new)


def new_labels(seed: int = 0) -> dict:
    """Recall at 5 of tags that came after training, on documents that were not added."""
    parts = withhold_labels(texts_of("cooking", "train"), seed)
    before = TextTagger(refine=False).fit_documents(parts.old)
    none = parts.recall(before)
    before.add_documents(parts.added)
    after = parts.recall(before)
    retrained = parts.recall(TextTagger(refine=False).fit_documents([*parts.old, *parts.added]))
    sizes = {"trained_on": len(parts.old), "added": len(parts.added), "asked": len(parts.rest)}
    return {**sizes, "before": none, "added_recall": after, "retrained": retrained, "share": 100 * after / retrained}


def adding() -> dict:
    """Milliseconds to add a document, one by one and a hundred at once, to the embedded corpus's model, on disk."""
    packages = debian.load("train")
    made = [
        Document(" ".join(w), t, n, None, "")
        for n, w, t in zip(packages.names, packages.words, packages.tags, strict=True)
    ]
    other = debian.load("test")
    more = [
        Document(" ".join(w), t, f"new {n}", None, "")
        for n, w, t in zip(other.names, other.words, other.tags, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        TextTagger(refine=False).fit_documents(made).save(f"{folder}/model")
        live = LiveTagger(f"{folder}/model")
        live.add(more[:1])
        start = time.perf_counter()
        for document in more[1:51]:
            live.add([document])
        single = 1000 * (time.perf_counter() - start) / 50
        start = time.perf_counter()
        live.add(more[51:151])
        batch = 1000 * (time.perf_counter() - start) / 100
        start = time.perf_counter()
        live.forget([document.id for document in more[1:11]])
        forgetting = time.perf_counter() - start
    return {"points": len(made), "one": single, "of_hundred": batch, "forget_seconds": forgetting}


def table(results: dict) -> str:
    lines = [
        "| data | features, chosen on held-out texts | columns | neartag, refined | plain kNN, its best k "
        "| choosing and encoding, CPU s | training, CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in DATA:
        if name in results:
            found = results[name]
            x1, knn = (" / ".join(f"{value:.2f}" for value in found[key]) for key in ("x1", "knn"))
            words = f"{found['features']} | {found['columns']:,} | {x1} | {knn} (k = {found['knn_neighbours']})"
            choosing = f"{found['choosing_cpu']:.1f}" if "choosing_cpu" in found else "–"
            lines.append(f"| {name} | {words} | {choosing} | {found['cpu']:.1f} |")
    if "new-labels" in results:
        found = results["new-labels"]
        lines += [
            "",
            f"Labels that come after training: {NEW} tags of cooking, {found['trained_on']:,} documents to learn from "
            f"that have none of them, {found['added']} added ({ADDED} or more of each tag), {found['asked']} asked. "
            f"Recall at 5 of these tags: {found['before']:.1f}% before, **{found['added_recall']:.1f}%** after adding, "
            f"{found['retrained']:.1f}% for a model trained anew with the same documents: {found['share']:.0f}% of it.",
        ]
    if "adding" in results:
        found = results["adding"]
        lines += [
            "",
            f"Adding to a model of {found['points']:,} documents, on disk and crash-safe: {found['one']:.1f} ms for a "
            f"document alone, {found['of_hundred']:.2f} ms each for a hundred at once. Forgetting ten: "
            f"{found['forget_seconds']:.2f} s, since the model's files are written anew.",
        ]
    return "\n".join([*lines, "", f"Measured on: {results['machine']}."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["accuracy", "new-labels", "adding"])
    parser.add_argument("--data", nargs="*", default=list(DATA))
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    results = pages.kept("texts")
    if "accuracy" in arguments.what:
        for name in arguments.data:
            results[name] = accuracy(name)
            print(name, results[name], flush=True)
    if "new-labels" in arguments.what:
        results["new-labels"] = new_labels()
        print(results["new-labels"], flush=True)
    if "adding" in arguments.what:
        results["adding"] = adding()
        print(results["adding"], flush=True)
    results["machine"] = machine()
    print(table(results))
    if arguments.write:
        pages.keep("texts", results)
        pages.insert("texts", table(results))


if __name__ == "__main__":
    main()
