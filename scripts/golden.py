"""Record what this version learns and answers, as digests, and check later that a changed version does the same.

    python scripts/golden.py record FILE.json [--only x1-refined,leml]
    python scripts/golden.py check FILE.json [--only 'x1-*']

A case trains something on fixed data with a fixed seed. Its items are SHA-256 digests, of exact bytes, of the arrays in
the model folder, of predictions, reasons and calibrations, and of what the command line prints as JSON. Times, memory,
version numbers and hashes of files are left out. `check` lists every item that differs, is missing or is new, and
exits with 1 where there is any. Only names that stay public are used, so that the script outlives what is inside;
the made-up data and the settings are those that tell whether kept results are fresh (experiments/behaviour.py).

The same machine and the same libraries give the same digests. Another processor or another BLAS rounds otherwise, and
`check` says so where the file was recorded elsewhere: record it there first, with the version that is held to be right.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import hashlib
import importlib.metadata
import json
import lzma
import os
import platform
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from scipy import sparse
from scipy.sparse import csr_matrix

import neartag
from neartag import LiveTagger, TextTagger, TfidfFeatures, VectorFeatures, X1Classifier, data, metrics, presets, store
from neartag.experiments.behaviour import CLUSTERS, OTHER_SETTINGS, VOTES, made_up

JOBS = 2
K = 5
DIGITS = 16  # of SHA-256
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "joblib", "safetensors", "pyarrow", "fastapi", "pydantic")
# Fields of JSON that tell of times, memory, versions and places, and what explains a method in words of its modules.
PASSING = re.compile(
    r".*seconds.*|.*_ms_.*|.*rss.*|mapped_bytes|model_bytes|files|neartag(_version)?|version|pid|facts|folder|path"
)
COMMANDS = (
    *("demo", "train", "tune", "tag", "explain", "add", "forget", "predict", "evaluate", "inspect", "methods"),
    *("compare", "convert", "serve", "reproduce", "datasets"),
)
SENTENCES = ("play chess against the computer", "monitor network traffic", "python library for json", "zzz qqq", "")


# What is put down


class Case:
    """What one case found: digests by item. It has a folder of its own to work in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.items: dict[str, str] = {}
        (folder / "no-data").mkdir(parents=True)

    def put(self, item: str, value: Any) -> None:
        if item in self.items:
            raise ValueError(f"the item {item!r} is there already")
        self.items[item] = digest(value)

    def put_folder(self, item: str, folder: Path) -> None:
        """Put down a model folder: model.json by its fields, and every array and name list that it lists."""
        document = json.loads((folder / "model.json").read_bytes())
        del document["neartag_version"]
        for field, value in document.items():
            self.put(f"{item} model.json {field}", self._without_files(f"{item} {field}", value, folder))

    def _without_files(self, item: str, value: Any, folder: Path) -> Any:
        """Return a value of model.json, the files in it put down array by array and replaced by their kind."""
        if isinstance(value, list):
            return [self._without_files(f"{item} {place}", each, folder) for place, each in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if set(value) != {"name", "bytes", "sha256"}:
            return {name: self._without_files(f"{item} {name}", each, folder) for name, each in value.items()}
        path = folder / value["name"]
        if path.suffix == ".json":
            self.put(item, json.loads(path.read_bytes()))
        else:
            for name, array in load_file(path).items():
                self.put(f"{item} {name}", array)
        return path.suffix

    def put_answers(self, item: str, model: Any, X: Any, **jobs: int) -> None:
        """Put down what a model, or a classifier, answers to rows: all at once, and each by itself."""
        self.put(f"{item} predict_topk", model.predict_topk(X, K, **jobs))
        self.put(f"{item} predict_topk of many", model.predict_topk(X, 70, **jobs))
        self.put(f"{item} decision_function", model.decision_function(X, **jobs))
        self.put(f"{item} predict", model.predict(X, **jobs))
        self.put(f"{item} one by one", [model.predict_topk(X[row : row + 1], K, **jobs) for row in range(X.shape[0])])

    def run(self, item: str, *words: str, stdin: str | None = None, status: int = 0) -> str:
        """Run neartag in the case's folder and put down what it prints: JSON, text, or the line of an error."""
        command = [sys.executable, "-m", "neartag", *words]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, input=stdin, capture_output=True, text=True
        )
        if done.returncode != status:
            raise RuntimeError(f"neartag {' '.join(words)} ended with {done.returncode}: {done.stderr[-2000:]}")
        if status:  # besides progress, which depends on the time; a name of a file has its hash in it
            lines = [line for line in done.stderr.splitlines() if line.startswith("error")]
            self.put(item, [re.sub(r"\b[0-9a-f]{16}\b", "HASH", line) for line in lines])
        elif "--json" in words:
            self.put(item, [lasting(json.loads(line)) for line in done.stdout.splitlines()])
        else:
            self.put(item, done.stdout)
        return done.stdout

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a run: no colours, lines of one width, and no data sets of this machine."""
        fixed = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100", "NEARTAG_DATA": "no-data"}
        return {**os.environ, **fixed, "NEARTAG_TOKEN": "", "PYTHONIOENCODING": "utf-8"}


def digest(value: Any) -> str:
    """Return the digest of arrays, of what JSON can hold, and of anything made of both."""
    state = hashlib.sha256()
    _feed(state, value)
    return state.hexdigest()[:DIGITS]


def _feed(state: Any, value: Any) -> None:
    if sparse.issparse(value):
        rows = csr_matrix(value)
        # Whether column numbers are 32 or 64 bits wide is scipy's choice.
        parts = [rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data]
        _feed(state, ["csr", *rows.shape, *parts])
    elif isinstance(value, np.ndarray):
        state.update(f"array {value.dtype.str} {value.shape};".encode())
        state.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (float, np.floating)):
        state.update(b"float " + struct.pack("<d", value))
    elif isinstance(value, bytes):
        state.update(b"bytes %d;" % len(value) + value)
    elif value is None or isinstance(value, (bool, int, np.integer, str)):
        state.update((json.dumps(int(value) if isinstance(value, np.integer) else value) + ";").encode())
    elif is_dataclass(value):
        _feed(state, asdict(value))
    elif isinstance(value, dict):
        state.update(b"object %d;" % len(value))
        for key in sorted(value):
            _feed(state, key)
            _feed(state, value[key])
    elif isinstance(value, (list, tuple)):
        state.update(b"list %d;" % len(value))
        for each in value:
            _feed(state, each)
    else:
        raise TypeError(f"a {type(value).__name__} has no digest")


def lasting(value: Any) -> Any:
    """Return JSON without the fields that another run, version or machine has otherwise."""
    if isinstance(value, list):
        return [lasting(each) for each in value]
    if isinstance(value, dict):
        return {name: lasting(each) for name, each in value.items() if not PASSING.fullmatch(name)}
    return value


# Data, all made here or embedded in the package


@cache
def measured(dim: int = 24) -> tuple[Any, ...]:
    """Return the same with dense features: projections of the words, and noise."""
    X, Y, X_test, Y_test = made_up()
    draw = np.random.RandomState(2)
    directions = draw.normal(size=(X.shape[1], dim)).astype(np.float32)
    noisy = [(rows @ directions + 0.3 * draw.normal(size=(rows.shape[0], dim))) for rows in (X, X_test)]
    return noisy[0].astype(np.float32), Y, noisy[1].astype(np.float32), Y_test


@cache
def packages(part: str, step: int) -> list[dict[str, Any]]:
    """Return every so-many-th package of the embedded corpus, read from its file wherever the package keeps that."""
    (file,) = Path(neartag.__file__).parent.rglob("debian.json.xz")
    columns = json.loads(lzma.decompress(file.read_bytes()))[part]
    lines = zip(*(columns[name].split("\n") for name in ("names", "words", "tags")), strict=True)
    every = [{"id": name, "text": words, "labels": tags.split()} for name, words, tags in lines]
    return every[::step]


def later_packages() -> list[dict[str, Any]]:
    """Return documents to be added: six of labels that are known, and six of one that is new."""
    found = [dict(each) for each in packages("test", 400)[:12]]
    for number, each in enumerate(found):
        if number % 2:
            each.update(text=f"{each['text']} telescope star sky", labels=["field::stars", each["labels"][0]])
    return found


def named(Y: Any) -> list[list[str]]:
    """Return the names of the labels of each row."""
    return [[f"label {label}" for label in row.indices] for row in Y]


def write_lines(path: Path, documents: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in documents), encoding="utf-8")


def write_xmc(path: Path, X: csr_matrix, Y: csr_matrix) -> None:
    """Write rows as XMC text, without the help of neartag."""
    lines = [f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}"]
    for x, y in zip(X, Y, strict=True):
        values = (f"{column}:{value:.6g}" for column, value in zip(x.indices, x.data, strict=True))
        lines.append(" ".join([",".join(map(str, y.indices)), *values]))
    path.write_text("\n".join(lines) + "\n")


def write_split(folder: Path, parts: tuple[Any, ...]) -> None:
    """Write a data set of two parts."""
    folder.mkdir()
    write_xmc(folder / "train.txt", *parts[:2])
    write_xmc(folder / "test.txt", *parts[2:])


# X1 on rows of features

PAPER = {
    **VOTES,
    "vote_distance": "euclidean",
    "vote_weight": "uniform",
    "label_similarity": "inner",
    "cluster_start": "random",
    "feature_share": 0.0,
    "vote_neighbours": 10,
    "svp_step": 1.0,
    "n_clusters": 3,
    "n_learners": 2,
}
WIDE = partial(made_up, d=6000, n=400, seed=3)
LONG = partial(made_up, n=2200, seed=6)
X1_CASES: dict[str, tuple[Callable[[], tuple[Any, ...]], dict[str, Any]]] = {
    "x1-votes": (made_up, VOTES),
    "x1-refined": (made_up, {"refine": True}),
    "x1-clusters": (made_up, CLUSTERS),
    "x1-dense": (measured, VOTES),
    "x1-dense-clusters": (measured, CLUSTERS),
    "x1-refined-dense": (measured, {"refine": True}),
    "x1-refined-clusters": (made_up, {**CLUSTERS, "refine": True, "feature_share": 0.3, "n_probe": 2}),
    "x1-refined-given": (
        made_up,
        {"refine": True, "refine_candidates": 12, "refine_cost": 1.0, "refine_least": 0.02, "vote_search": "exact"},
    ),
    "x1-paper": (made_up, PAPER),
    "x1-paper-dense": (measured, PAPER),
    "x1-l1": (made_up, {**VOTES, "l1": 0.02, "embedding_dim": 30, "admm_max_iter": 40}),
    "x1-l1-clusters": (made_up, {"l1": 0.05, "rho": 0.5, "keep_weights": 0.3, **CLUSTERS}),
    "x1-int8": (made_up, {"precision": "int8", **CLUSTERS}),
    "x1-float16": (made_up, {"precision": "float16", **CLUSTERS}),
    "x1-refined-int8": (made_up, {"precision": "int8", "refine": True}),
    "x1-dense-int8": (measured, {"precision": "int8", "refine": True}),
    "x1-probes": (made_up, {**CLUSTERS, "n_clusters": 4, "n_probe": 2}),
    "x1-many-clusters": (
        made_up,
        {
            **VOTES,
            **{"n_clusters": 40, "n_learners": 1, "centroid_entries": 30, "max_cluster_size": 60, "embedding_dim": 8},
        },
    ),
    "x1-cells": (
        LONG,
        {**VOTES, "vote_search": "cells", "feature_search": "near", "feature_share": 0.4, "embedding_dim": 30},
    ),
    "x1-refined-cells": (LONG, {"refine": True}),
    "x1-wide": (WIDE, {**VOTES, "svp_neighbours": 20, "svp_max_iter": 5}),
    "x1-wide-refined": (WIDE, {"refine": True}),
    "x1-memory": (made_up, {**CLUSTERS, "n_clusters": 3, "max_memory": "8GB"}),
    "x1-seed": (made_up, {**CLUSTERS, "random_state": 7}),
}


def x1_case(case: Case, source: Callable[[], tuple[Any, ...]], settings: dict[str, Any]) -> None:
    X, Y, X_test, Y_test = source()
    classifier = X1Classifier(n_jobs=JOBS, **settings).fit(X, Y)
    case.put_answers("trained", classifier, X_test)
    case.put("trained neighbours", classifier.model_.neighbours(X_test, n_jobs=JOBS))
    store.save(classifier, case.folder / "model")
    case.put_folder("folder", case.folder / "model")
    loaded = store.load(case.folder / "model").model
    case.put_answers("loaded", loaded, X_test, n_jobs=JOBS)
    case.put("loaded neighbours", loaded.neighbours(X_test, n_jobs=JOBS))
    labels, _ = classifier.predict_topk(X_test, K)
    case.put("metrics", metrics.evaluate(labels, Y_test, Y_train=Y))
    case.put("metrics by frequency", metrics.by_frequency(labels, Y_test, Y))
    # What only prediction uses may be set after training.
    classifier.set_params(vote_neighbours=7, vote_weight="uniform", n_probe=2, threshold=0.2, vote_search="exact")
    case.put_answers("adjusted", classifier, X_test)


def x1_jobs(case: Case) -> None:
    """One job must give what two do, to the byte."""
    for name in ("x1-votes", "x1-refined", "x1-clusters", "x1-refined-dense"):
        source, settings = X1_CASES[name]
        X, Y, X_test, _ = source()
        found = []
        for jobs in (1, JOBS):
            one = Case(case.folder / f"{name}-{jobs}")
            classifier = X1Classifier(n_jobs=jobs, **settings).fit(X, Y)
            one.put_answers("trained", classifier, X_test)
            store.save(classifier, one.folder / "model")
            one.put_folder("folder", one.folder / "model")
            found.append(one.items)
        if found[0] != found[1]:
            raise AssertionError(f"{name}: one job gives something else than two")
        case.put(name, found[0])


# Taggers of texts and vectors

TAGGERS: dict[str, Callable[[], TextTagger]] = {
    "tagger-votes": lambda: TextTagger(classifier=X1Classifier(n_jobs=JOBS, **VOTES)),
    "tagger-refined": lambda: TextTagger(classifier=X1Classifier(refine=True, n_jobs=JOBS)),
    "tagger-platt": lambda: TextTagger(
        classifier=X1Classifier(n_jobs=JOBS, **VOTES), calibration="platt", keep_texts=False
    ),
    "tagger-plain": lambda: TextTagger(classifier=X1Classifier(n_jobs=JOBS, **PAPER), calibration=None),
    "tagger-int8": lambda: TextTagger(classifier=X1Classifier(n_jobs=JOBS, precision="int8", **CLUSTERS)),
    "tagger-float16-refined": lambda: TextTagger(
        classifier=X1Classifier(n_jobs=JOBS, precision="float16", **{**CLUSTERS, "refine": True}),
        calibration="isotonic",
    ),
    "tagger-hashing": lambda: TextTagger(
        TfidfFeatures(hashing=4096, word_pairs=True, char_ngrams=(3, 4)), X1Classifier(n_jobs=JOBS, **VOTES)
    ),
}


def tagger_case(case: Case, make: Callable[[], TextTagger]) -> None:
    documents = packages("train", 11)  # more than 2000: from there on a refined model has cells
    tagger = make().fit(*(([each[name] for each in documents]) for name in ("text", "labels", "id")))
    texts = [*SENTENCES, *(each["text"] for each in packages("test", 120))]
    more = later_packages()
    gone = [documents[5]["id"], documents[700]["id"], more[0]["id"], more[1]["id"]]
    put_tagger(case, tagger, texts, [each["text"] for each in more], more, gone)


def vectors_case(case: Case, refine: bool) -> None:
    X, Y, X_test, Y_test = measured()
    tagger = TextTagger(VectorFeatures(), X1Classifier(n_jobs=JOBS, refine=refine))
    tagger.fit(X, named(Y), [f"point {row}" for row in range(X.shape[0])])
    new = [["brand new", *labels] if row % 3 else labels for row, labels in enumerate(named(Y_test[:21]))]
    more = [
        {"text": vector, "labels": labels, "id": f"more {row}"}
        for row, (vector, labels) in enumerate(zip(X_test[:21], new, strict=True))
    ]
    put_tagger(case, tagger, list(X_test), list(X_test[:8]), more, ["point 3", "point 500", "more 0", "more 5"])


def put_tagger(
    case: Case, tagger: TextTagger, texts: list[Any], like: list[Any], more: list[dict[str, Any]], gone: list[str]
) -> None:
    """Put down what a tagger answers as it is, with documents added, some forgotten, and read again from a folder."""
    put_tags(case, "trained", tagger, texts)
    case.put("calibration", tagger.calibration)
    if tagger.calibration is not None:
        for wish in ("f1", "precision=0.5", 0.2):
            case.put(f"tags from {wish} on", tagger.predict(texts, K, wish, n_jobs=JOBS))
    tagger.save(case.folder / "trained")
    case.put_folder("trained", case.folder / "trained")
    texts = [*texts, *like]
    changed = TextTagger.load(case.folder / "trained")
    put_tags(case, "loaded", changed, texts)
    half = len(more) // 2
    for number, some in enumerate((more[:half], more[half:])):
        columns = ([each[name] for each in some] for name in ("text", "labels", "id"))
        case.put(f"ids added, {number}", changed.add(*columns))
    put_tags(case, "added", changed, texts)
    changed.save(case.folder / "added")
    case.put_folder("added", case.folder / "added")
    case.put("number forgotten", changed.forget(gone))
    put_tags(case, "forgotten", changed, texts)
    changed.save(case.folder / "forgotten")
    case.put_folder("forgotten", case.folder / "forgotten")
    live = LiveTagger(case.folder / "forgotten")
    live.forget([more[2]["id"], more[3]["id"]])
    put_tags(case, "live", live.tagger, texts)
    case.put_folder("live", case.folder / "forgotten")


def put_tags(case: Case, item: str, tagger: TextTagger, texts: list[Any]) -> None:
    case.put(f"{item} labels", [tagger.labels, len(tagger)])
    case.put(f"{item} tags", tagger.predict(texts, K, n_jobs=JOBS))
    case.put(f"{item} tags one by one", [tagger.predict([text], K) for text in texts])
    case.put(f"{item} reasons", [tagger.explain(text, 3, 4, 6) for text in (*texts[:6], *texts[-3:])])


# The methods compared with, through the command line


def options_of(settings: dict[str, Any]) -> list[str]:
    """Return settings as the command line takes them."""
    words = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in settings.items()}
    return [word for name, value in words.items() for word in (f"--{name.replace('_', '-')}", value)]


def method_case(case: Case, name: str) -> None:
    rows, wide = made_up(n=500), WIDE()
    write_xmc(case.folder / "rows.txt", *rows[:2])
    write_xmc(case.folder / "wide.txt", *wide[:2])
    runs = [("rows", []), ("wide", []), *(("rows", options_of(each)) for each in OTHER_SETTINGS.get(name, []))]
    for number, (source, options) in enumerate(runs):
        item, folder = f"{source} {number}", f"model-{number}"
        words = ("train", f"{source}.txt", folder, "--method", name, "--n-jobs", str(JOBS), *options)
        case.run(f"{item} train", *words, "--json", "-q")
        case.put_folder(item, case.folder / folder)
        model, X_test = store.load(case.folder / folder).model, (rows if source == "rows" else wide)[2]
        case.put_answers(item, model, X_test, n_jobs=JOBS)
    case.run("methods", "methods", name, "--json")


def method_names() -> list[str]:
    """Return every method but X1."""
    command = [sys.executable, "-m", "neartag", "methods", "--json"]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return [method["name"] for method in listed if method["name"] != "x1"]


# The command line


def documents_case(case: Case, options: list[str]) -> None:
    """The life of a model of documents, as a person runs it."""
    write_lines(case.folder / "docs.jsonl", packages("train", 30))
    write_lines(case.folder / "test.jsonl", packages("test", 40))
    write_lines(case.folder / "more.jsonl", later_packages())
    model = case.folder / "model"
    case.run("train", "train", "docs.jsonl", "model", "--n-jobs", str(JOBS), *options, "--json", "-q")
    case.put_folder("trained", model)
    _put_uses(case, "trained")
    case.run("tag above f1", "tag", "model", *SENTENCES[:2], "--threshold", "f1", "--json")
    # As a person reads them.
    case.run("lines of tag", "tag", "model", *SENTENCES)
    case.run("lines of explain", "explain", "model", SENTENCES[1])
    case.run("lines of predict", "predict", "model", "-", "--scores", "-q", stdin="\n".join(SENTENCES[:3]))
    case.run("add", "add", "model", "more.jsonl", "--json", "-q")
    case.put_folder("added", model)
    _put_uses(case, "added")
    gone = [packages("train", 30)[3]["id"], later_packages()[0]["id"]]
    case.run("forget", "forget", "model", *gone, "--json", "-q")
    case.put_folder("forgotten", model)
    case.run("inspect forgotten", "inspect", "model", "--json", "-q")
    replaced = [{**each, "text": each["text"] + " sky"} for each in later_packages()[2:5]]
    write_lines(case.folder / "again.jsonl", replaced)
    case.run("replace", "add", "model", "again.jsonl", "--replace", "--json", "-q")
    case.put_folder("replaced", model)
    case.run("tag replaced", "tag", "model", "telescope sky", "--json", status=3)  # no word of it was known in training


def _put_uses(case: Case, item: str) -> None:
    case.run(f"{item} inspect", "inspect", "model", "--json", "-q")
    case.run(f"{item} tag", "tag", "model", *SENTENCES, "telescope for stars", "--json")
    case.run(f"{item} explain", "explain", "model", "a telescope that plays chess", "--json", "--voters", "4")
    case.run(f"{item} predict", "predict", "model", "test.jsonl", "--json", "-q", "--n-jobs", str(JOBS))
    case.run(f"{item} evaluate", "evaluate", "model", "test.jsonl", "--json", "-q", "--n-jobs", str(JOBS))


def whole_case(case: Case) -> None:
    """The whole embedded corpus, refined."""
    jobs = ("--n-jobs", str(JOBS))
    case.run("train", "train", "debian", "model", *jobs, "--json", "-q")
    case.put_folder("folder", case.folder / "model")
    case.run("inspect", "inspect", "model", "--json", "-q")
    case.run("evaluate", "evaluate", "model", "debian", "--json", "-q", *jobs)
    case.run("predict", "predict", "model", "debian", "--json", "-q", *jobs)
    case.run("explain", "explain", "model", SENTENCES[0], "--json")
    tagger = TextTagger.load(case.folder / "model")
    put_tags(case, "loaded", tagger, [*SENTENCES, *(each["text"] for each in packages("test", 50))])


def method_of_texts_case(case: Case) -> None:
    """A model of documents that is not X1."""
    write_lines(case.folder / "docs.jsonl", packages("train", 60))
    write_lines(case.folder / "test.jsonl", packages("test", 60))
    words = ("train", "docs.jsonl", "model", "--method", "leml", "--rank", "20", "--n-jobs", str(JOBS))
    case.run("train", *words, "--word-pairs", "--min-df", "2", "--json", "-q")
    case.put_folder("folder", case.folder / "model")
    case.run("tag", "tag", "model", *SENTENCES, "--json")
    case.run("predict", "predict", "model", "test.jsonl", "--json", "-q")
    case.run("evaluate", "evaluate", "model", "test.jsonl", "--json", "-q")
    case.run("inspect", "inspect", "model", "--json", "-q")
    case.run("add", "add", "model", "test.jsonl", status=2)


def compare_case(case: Case) -> None:
    write_split(case.folder / "set", made_up(n=300, labels=30))
    jobs = ("--n-jobs", str(JOBS), "--json", "-q")
    case.run("all", "compare", "set", "--methods", "all", "--set", "fastxml.trees=10", *jobs)
    case.run("preset", "compare", "set", "--methods", "x1,leml,knn", "--preset", "bibtex", "-k", "1,2,4", *jobs)


def tune_case(case: Case) -> None:
    write_xmc(case.folder / "rows.txt", *made_up(n=300, labels=30)[:2])
    jobs = ("--n-jobs", str(JOBS), "--json", "-q")
    tries = ("--try", "embedding_dim=8,16", "--try", "l2=0.5,2", "--try", "svp_neighbours=20")
    case.run("x1", "tune", "rows.txt", *tries, "--out", "x1.json", *jobs)
    case.run("knn", "tune", "rows.txt", "--method", "knn", "--max-points", "200", "--out", "knn.json", *jobs)
    for name in ("x1", "knn"):
        case.put(f"{name} preset", lasting(json.loads((case.folder / f"{name}.json").read_bytes())))
    case.run("train", "train", "rows.txt", "model", "--preset", "x1.json", *jobs)
    case.put_folder("folder", case.folder / "model")


def demo_case(case: Case) -> None:
    case.run("demo", "demo", "--quick", "--json", "-q")
    case.put_folder("folder", case.folder / "demo-model")


def help_case(case: Case) -> None:
    """What each command says of itself."""
    case.run("neartag", "--help")
    for name in COMMANDS:
        case.run(name, name, "--help")
    case.run("methods --json", "methods", "--json")
    case.run("methods x1 --json", "methods", "x1", "--json")
    case.run("datasets --json", "datasets", "--json")


def errors_case(case: Case) -> None:
    """What is said of mistakes, in a line each."""
    (case.folder / "bad.txt").write_text("2 3 2\n0 0:1 1:2\n1 0:x\n")
    (case.folder / "bad.jsonl").write_text('{"text": "one", "labels": ["a"]}\n{"text": 3, "labels": []}\n')
    (case.folder / "bad.csv").write_text("text,tags\none,a\n")
    write_lines(case.folder / "docs.jsonl", packages("train", 400))
    case.run("bad xmc", "train", "bad.txt", "model", status=2)
    case.run("bad jsonl", "train", "bad.jsonl", "model", status=2)
    case.run("bad csv", "train", "bad.csv", "model", status=2)
    case.run("no file", "train", "nothing.txt", "model", status=2)
    case.run("no data set", "train", "bibtex", "model", status=2)
    case.run("no method", "train", "docs.jsonl", "model", "--method", "magic", status=2)
    case.run("bad parameter", "train", "docs.jsonl", "model", "--embedding-dim", "0", status=2)
    case.run("no model", "tag", "nowhere", "text", status=2)
    case.run("train", "train", "docs.jsonl", "model", "--method", "knn", "-q", "--json")
    case.run("model there", "train", "docs.jsonl", "model", status=2)
    min((case.folder / "model").glob("*.safetensors")).write_bytes(b"damaged")
    case.run("damaged model", "tag", "model", "text", status=2)


def serve_case(case: Case) -> None:
    """What the server answers."""
    write_lines(case.folder / "docs.jsonl", packages("train", 60))
    case.run("train", "train", "docs.jsonl", "model", "--n-jobs", str(JOBS), "--json", "-q")
    with _served(case) as url:
        case.put("openapi", lasting(_asked(url + "openapi.json")))
        case.put("health", lasting(_asked(url + "health")))
        case.put("labels", lasting(_asked(url + "labels?prefix=ro")))
        case.put("tag", lasting(_asked(url + "tag", {"texts": list(SENTENCES[:3]), "k": 4})))
        case.put("explain", lasting(_asked(url + "explain", {"text": SENTENCES[0], "k": 3, "voters": 3})))
        case.put("map", lasting(_asked(url + "map", {"text": SENTENCES[0]})))


@contextmanager
def _served(case: Case) -> Iterator[str]:
    """Serve the case's model on a port that is free, and give the address."""
    command = [sys.executable, "-m", "neartag", "serve", "model", "--port", "0"]
    options = {"cwd": case.folder, "env": case.environment, "text": True}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options) as server:
        try:
            for line in server.stderr:
                if found := re.search(r"http://\S+", line):
                    yield found[0]
                    break
            else:
                raise RuntimeError("the server did not say where it is")
        finally:
            server.send_signal(signal.SIGTERM)


def _asked(url: str, question: Any = None) -> Any:
    content = None if question is None else json.dumps(question).encode()
    request = urllib.request.Request(url, content, {"Content-Type": "application/json"})
    for _ in range(300):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
            time.sleep(0.1)  # the address is told before anybody listens there
    raise RuntimeError(f"nobody answers at {url}")


# Files, features, metrics, presets


def formats_case(case: Case) -> None:
    """Rows of features from and into files."""
    X, Y, _, _ = made_up(n=60, d=40, labels=12)
    write_xmc(case.folder / "rows.txt", X, Y)
    read = data.read(case.folder / "rows.txt")
    put_dataset(case, "xmc", read)
    (case.folder / "odd.txt").write_text("4 5 3\n0,2 0:1 4:-2.5e-3\n 1:1e10 3:0.1\n1\n2 4:3.14159265 0:7 \n")
    put_dataset(case, "odd xmc", data.read(case.folder / "odd.txt"))
    lines = ['{"features": {"one": 1.5, "two": -2}, "labels": ["x", "y"]}', '{"features": {}, "labels": []}']
    (case.folder / "named.jsonl").write_text("\n".join([*lines, '{"features": {"two": 1}, "labels": ["z"]}', ""]))
    put_dataset(case, "jsonl", data.read(case.folder / "named.jsonl"))
    for ending in (".txt", ".npz", ".jsonl", ".txt.gz", ".jsonl.xz"):
        folder = case.folder / ending[1:]
        folder.mkdir()
        data.write(read, folder / f"copy{ending}")
        put_dataset(case, f"copy{ending}", data.read(folder / f"copy{ending}"))
        if ending in (".txt", ".jsonl"):
            case.put(f"bytes of copy{ending}", (folder / f"copy{ending}").read_bytes())
    converted = case.folder / "converted"
    converted.mkdir()
    put_dataset(case, "converted", data.convert(case.folder / "named.jsonl", converted / "named.txt"))
    case.put("bytes converted", {path.name: path.read_bytes() for path in converted.iterdir()})
    put_dataset(case, "converted, read", data.read(converted / "named.txt"))
    case.run("convert", "convert", "rows.txt", "rows.npz", "--json", "-q")
    write_split(case.folder / "set", made_up(n=60, d=40, labels=12))
    for part in ("train", "test"):
        put_dataset(case, f"part {part}", data.load(case.folder / "set", part))


def put_dataset(case: Case, item: str, dataset: Any) -> None:
    case.put(f"{item} rows", [dataset.X, dataset.Y, str(dataset.X.indices.dtype), str(dataset.Y.dtype)])
    case.put(f"{item} names", [dataset.label_names, dataset.feature_names, dataset.point_names])


def documents_formats_case(case: Case) -> None:
    """Documents from files of every kind: the models that learn from them, which are small, tell what was read."""
    documents = [{**each, "text": f'{each["text"]}, "quoted"\nline'} for each in packages("train", 300)]
    rows = [[each["id"], each["text"], ";".join(each["labels"])] for each in documents]
    write_lines(case.folder / "docs.jsonl", documents)
    with (case.folder / "docs.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["id", "text", "labels"], *rows])
    with (case.folder / "docs.tsv").open("w", newline="") as stream:
        csv.writer(stream, delimiter="\t").writerows([["name", "words", "tags"], *rows])
    with (case.folder / "docs.ft").open("w") as stream:
        for each in documents:
            stream.write(
                " ".join([*(f"__label__{label}" for label in each["labels"]), each["text"].split("\n")[0]]) + "\n"
            )
    (case.folder / "texts").mkdir()
    for number, each in enumerate(documents):
        (case.folder / "texts" / f"{number:03d}.txt").write_text(each["text"])
        (case.folder / "texts" / f"{number:03d}.key").write_text("\n".join(each["labels"]) + "\n")
    np.save(case.folder / "vectors.npy", np.random.RandomState(4).normal(size=(len(documents), 6)).astype(np.float32))
    fields = ("--text-field", "words", "--label-field", "tags", "--id-field", "name")
    sources = {
        "jsonl": ["docs.jsonl"],
        "csv": ["docs.csv", "--max-df", "0.5"],
        "tsv": ["docs.tsv", *fields],
        "fasttext": ["docs.ft", "--hashing", "512"],
        "folder": ["texts", "--char-ngrams", "2-3"],
        "vectors": ["docs.jsonl", "--vectors", "vectors.npy"],
    }
    if _version("pyarrow"):
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(documents), case.folder / "docs.parquet")
        sources["parquet"] = ["docs.parquet"]
    for item, (file, *options) in sources.items():
        words = ("--method", "knn", "--n-jobs", str(JOBS), "--json", "-q")
        case.run(f"{item} train", "train", file, f"model-{item}", *options, *words)
        case.put_folder(item, case.folder / f"model-{item}")


def features_case(case: Case) -> None:
    texts = [each["text"] for each in packages("train", 100)]
    others = [*SENTENCES, *(each["text"] for each in packages("test", 200))]
    kinds = {
        "words": {},
        "pairs": {"word_pairs": True, "sublinear": False},
        "characters": {"char_ngrams": (2, 4), "min_df": 2},
        "some words": {"min_df": 0.01, "max_df": 0.2, "stop_words": ["for", "the", "of"]},
        "hashing": {"hashing": 256, "word_pairs": True},
    }
    for item, settings in kinds.items():
        features = TfidfFeatures(**settings)
        case.put(f"{item} fitted", features.fit_transform(texts))
        case.put(f"{item} names", features.feature_names_)
        case.put(f"{item} idf", features.idf_)
        case.put(f"{item} transformed", features.transform(others))
        case.put(f"{item} one by one", [features.transform([text]) for text in others])
    X, _, X_test, _ = measured()
    for unit in (True, False):
        features = VectorFeatures(unit_rows=unit)
        case.put(f"vectors, unit rows {unit}", [features.fit_transform(X), features.transform(X_test)])


def metrics_case(case: Case) -> None:
    _, Y, _, Y_test = made_up()
    draw = np.random.RandomState(5)
    n, labels = Y_test.shape
    first, second = (np.argsort(draw.rand(n, labels), axis=1)[:, :K] for _ in range(2))
    best = np.argsort(-Y_test.toarray() - 0.5 * draw.rand(n, labels), axis=1, kind="stable")[:, :K]
    best[::7, 3:] = -1
    known = metrics.propensities(Y)
    case.put("propensities", [known, metrics.propensities(Y, 0.5, 0.4)])
    for name, found in (("first", first), ("second", second), ("best", best)):
        case.put(f"{name} evaluate", metrics.evaluate(found, Y_test, ks=(1, 2, 3, 4, 5), Y_train=Y))
        case.put(f"{name} by_frequency", metrics.by_frequency(found, Y_test, Y, edges=(10, 50)))
        for at in (metrics.precision_at, metrics.ndcg_at, metrics.recall_at):
            case.put(f"{name} {at.__name__}", [at(found, Y_test, k) for k in (1, 3, 5)])
        for at in (metrics.psp_at, metrics.psndcg_at):
            case.put(f"{name} {at.__name__}", [at(found, Y_test, known, k) for k in (1, 3, 5)])
    for metric in ("P@1", "nDCG@3", "PSP@5"):
        interval = metrics.paired_bootstrap(best, first, Y_test, metric=metric, Y_train=Y, samples=300)
        case.put(f"interval of {metric}", interval)


def presets_case(case: Case) -> None:
    case.put("names", presets.names())
    for name in presets.names():
        case.put(name, presets.get(name))
    for method in method_names():
        for name in presets.names():
            try:
                case.put(f"{method} {name}", presets.get(name, method))
            except Exception as error:  # most methods have few presets, and say so
                case.put(f"{method} {name}", str(error))
    presets.write(case.folder / "own.json", "x1", {"l2": 3.0, "refine": True}, {"from": "golden"})
    case.put("written", (case.folder / "own.json").read_bytes())
    case.put("read", presets.get(str(case.folder / "own.json")))


# Recording and checking


def all_cases() -> dict[str, Callable[[Case], None]]:
    cases: dict[str, Callable[[Case], None]] = {}
    for name, (source, settings) in X1_CASES.items():
        cases[name] = partial(x1_case, source=source, settings=settings)
    cases["x1-jobs"] = x1_jobs
    for name, make in TAGGERS.items():
        cases[name] = partial(tagger_case, make=make)
    cases["vectors-votes"] = partial(vectors_case, refine=False)
    cases["vectors-refined"] = partial(vectors_case, refine=True)
    for name in method_names():
        cases[name] = partial(method_case, name=name)
    cases["cli-votes"] = partial(documents_case, options=["--no-refine"])
    cases["cli-refined"] = partial(documents_case, options=[])
    cases["cli-whole"] = whole_case
    cases["cli-leml"] = method_of_texts_case
    cases["cli-compare"] = compare_case
    cases["cli-tune"] = tune_case
    cases["cli-demo"] = demo_case
    cases["cli-help"] = help_case
    cases["cli-errors"] = errors_case
    cases["cli-documents"] = documents_formats_case
    if _version("fastapi"):
        cases["serve"] = serve_case
    cases |= {"formats": formats_case, "features": features_case, "metrics": metrics_case, "presets": presets_case}
    return cases


def machine() -> dict[str, Any]:
    """Return what digests depend on besides the code."""
    from threadpoolctl import threadpool_info

    model = platform.processor()
    if (facts := Path("/proc/cpuinfo")).exists():
        found = re.search(r"^model name\s*:\s*(.*)$", facts.read_text(), re.M)
        model = found[1] if found else model
    blas = {f"{each['internal_api']} {each['version']} {each.get('architecture')}" for each in threadpool_info()}
    versions = {name: _version(name) for name in LIBRARIES}
    system = f"{platform.system()} {platform.machine()}"
    return {"cpu": model, "system": system, "python": platform.python_version(), "blas": sorted(blas), **versions}


def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def measure(cases: dict[str, Callable[[Case], None]], go_on: bool) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the items of each case, and what went wrong; without `go_on` the first fault is raised."""
    found: dict[str, dict[str, str]] = {}
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, run in cases.items():
            begun = time.perf_counter()
            case = Case(Path(folder) / name)
            try:
                run(case)
            except Exception as error:
                if not go_on:
                    raise
                faults.append(f"{name}: {type(error).__name__}: {error}")
            found[name] = case.items
            print(f"{name}: {len(case.items)} items, {time.perf_counter() - begun:.1f} s", file=sys.stderr, flush=True)
    return found, faults


def differences(before: dict[str, dict[str, str]], now: dict[str, dict[str, str]]) -> list[str]:
    """Return a line for each item that is not as it was."""
    lines = []
    for name in sorted({*before, *now}):
        old, new = before.get(name, {}), now.get(name, {})
        lines += [f"differs: {name}: {item}" for item in sorted({*old} & {*new}) if old[item] != new[item]]
        lines += [f"missing: {name}: {item}" for item in sorted({*old} - {*new})]
        lines += [f"new: {name}: {item}" for item in sorted({*new} - {*old})]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("action", choices=("record", "check"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", nargs="+", metavar="CASE", help="cases, by name or pattern, separated by commas")
    arguments = parser.parse_args()
    cases = all_cases()
    before = json.loads(arguments.file.read_bytes()) if arguments.action == "check" else {"cases": {}, "machine": {}}
    known = before["cases"]
    if arguments.only:
        wished = [pattern for words in arguments.only for pattern in words.split(",") if pattern]
        for pattern in wished:
            if not fnmatch.filter({*cases, *known}, pattern):
                parser.error(f"there is no case {pattern!r}; there are {', '.join(cases)}")
        cases = {name: run for name, run in cases.items() if any(fnmatch.fnmatch(name, each) for each in wished)}
        known = {name: each for name, each in known.items() if any(fnmatch.fnmatch(name, wish) for wish in wished)}
    found, faults = measure(cases, go_on=arguments.action == "check")
    count = f"{sum(map(len, found.values()))} items of {len(found)} cases"
    if arguments.action == "record":
        content = {"machine": machine(), "cases": found}
        arguments.file.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{arguments.file}: {count}")
        return 0
    here = machine()
    other = [f"{name} {before['machine'].get(name)} there, {value} here" for name, value in here.items()]
    other = [line for name, line in zip(here, other, strict=True) if before["machine"].get(name) != here[name]]
    if other:
        print(f"recorded on another machine, which may round otherwise: {'; '.join(other)}")
    lines = [*(f"failed: {fault}" for fault in faults), *differences(known, found)]
    print("\n".join([*lines, f"{count}, {len(lines)} not as recorded" if lines else f"{count}, all as recorded"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
