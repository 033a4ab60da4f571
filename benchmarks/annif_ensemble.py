"""neartag inside Annif, beside Omikuji and MLLM and in an ensemble with them, on titles of yso-finna-en-100k.

    .venv-annif/bin/python -m pip install "annif[omikuji]"     # once; `make test-annif` makes the environment
    .venv-annif/bin/python benchmarks/annif_ensemble.py DATA --train 10000 --mllm 1000 --validation 1000 --test 2000

DATA has train.jsonl and test.jsonl. Annif itself trains, suggests and merges. The weights of both ensembles are chosen
on the same documents, which are held out of training, from the same grid. F1@5 is Annif's: the mean over documents of
F1 of the five best. The interval of a difference is a paired bootstrap over the test documents.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, vstack

ROOT = Path(__file__).parents[1]
DEPTH, LIMIT, BATCH = 5, 100, 256
SOURCES = ("omikuji", "mllm", "neartag")
GRID = (1, 2, 4, 8, 16)
SAMPLES = 2000
PROJECT = (
    "[{name}]\nname={name}\nlanguage=en\nbackend={backend}\nanalyzer=snowball(english)\nvocab=yso\nlimit={limit}\n"
)
OMIKUJI = "cluster_balanced=False\ncluster_k=100\nmax_depth=3\n"  # Bonsai, as Annif's documentation sets it


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "annif")
    parser.add_argument("--train", type=int, default=10_000)
    parser.add_argument("--mllm", type=int, default=1000, help="training documents for MLLM, which is slow")
    parser.add_argument("--validation", type=int, default=1000)
    parser.add_argument("--test", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", action="store_true", help="use the projects of the folder that are trained")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    write_corpora(options)
    write_projects(options.folder, {"pair": "omikuji,mllm", "trio": "omikuji,mllm,neartag"})
    os.chdir(options.folder)
    os.environ.update(ANNIF_PROJECTS="projects.cfg", ANNIF_DATADIR="data")
    sys.path.insert(0, str(ROOT / "examples" / "annif_backend"))
    cut_words_without_sentences()

    import annif
    import annif_neartag  # noqa: F401 (Annif knows the backend from here on)

    with annif.create_flask_app("annif_neartag.Config").app_context():
        report = measure(options.resume)
    sample = {name: value for name, value in vars(options).items() if type(value) is int}
    text = json.dumps({"data": options.data.name, "sample": sample, **report}, indent=1)
    Path("report.json").write_text(f"{text}\n", encoding="utf-8")  # Omikuji writes to standard output too
    print(text)


def cut_words_without_sentences() -> None:
    """Let Annif take a title for one sentence where the model that cuts sentences, a download, is not there."""
    import functools

    import nltk
    import nltk.tokenize

    try:
        nltk.data.find("tokenizers/punkt_tab")
    except LookupError:
        nltk.download = lambda *_: False
        nltk.tokenize.word_tokenize = functools.partial(nltk.tokenize.word_tokenize, preserve_line=True)
        nltk.tokenize.sent_tokenize = lambda text: [text]


def write_corpora(options) -> None:
    """Write Annif's files: a vocabulary of all labels, and parts of the documents."""
    chance = np.random.default_rng(options.seed)
    train, test = (read(options.data / f"{part}.jsonl") for part in ("train", "test"))
    names = sorted({label for each in (*train, *test) for label in each["labels"]})
    number = {name: place for place, name in enumerate(names)}
    rows = "".join(f"<{uri(place)}>\t{' '.join(name.split())}\n" for place, name in enumerate(names))
    (options.folder / "vocabulary.tsv").write_text(rows, encoding="utf-8")
    drawn = [train[place] for place in chance.permutation(len(train))[: options.train + options.validation]]
    parts = {
        "train": drawn[: options.train],
        "mllm": drawn[: options.mllm],
        "validation": drawn[options.train :],
        "test": [test[place] for place in chance.permutation(len(test))[: options.test]],
    }
    for part, documents in parts.items():
        lines = [
            f"{' '.join(each['text'].split())}\t{' '.join(f'<{uri(number[label])}>' for label in each['labels'])}\n"
            for each in documents
        ]
        (options.folder / f"{part}.tsv").write_text("".join(lines), encoding="utf-8")


def read(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def uri(number: int) -> str:
    return f"http://example.org/yso/{number}"


def write_projects(folder: Path, ensembles: dict[str, str]) -> None:
    own = {"omikuji": OMIKUJI, "mllm": "", "neartag": ""}
    text = "\n".join(PROJECT.format(name=name, backend=name, limit=LIMIT) + more for name, more in own.items())
    for name, sources in ensembles.items():
        text += "\n" + PROJECT.format(name=name, backend="ensemble", limit=LIMIT) + f"sources={sources}\n"
    (folder / "projects.cfg").write_text(text, encoding="utf-8")


def measure(resume: bool) -> dict:
    import annif.corpus
    import annif.registry
    from annif.vocab import VocabFileTSV

    registry = annif.registry.AnnifRegistry("projects.cfg", "data", False)
    if not resume:
        registry.get_vocab("yso").load_vocabulary(VocabFileTSV("vocabulary.tsv", "en"))
    registry = annif.registry.AnnifRegistry("projects.cfg", "data", False)
    subjects = registry.get_project("omikuji").subjects
    corpora = {part: annif.corpus.DocumentFileTSV(f"{part}.tsv", subjects) for part in ("train", "mllm", "validation")}
    seconds = {}
    for name in SOURCES if not resume else ():
        begun = time.process_time()
        registry.get_project(name).train(corpora["mllm" if name == "mllm" else "train"], jobs=1)
        seconds[name] = round(time.process_time() - begun, 1)
        print(f"{name} is trained: {seconds[name]} s of CPU", file=sys.stderr, flush=True)
    truth, suggested = suggest_all(registry, SOURCES, corpora["validation"])
    weights = {
        ensemble: choose_weights([suggested[source] for source in sources], truth)
        for ensemble, sources in (("pair", SOURCES[:2]), ("trio", SOURCES))
    }
    named = {
        name: ",".join(f"{source}:{weight}" for source, weight in zip(SOURCES, chosen, strict=False))
        for name, chosen in weights.items()
    }
    write_projects(Path(), named)
    registry = annif.registry.AnnifRegistry("projects.cfg", "data", False)
    test = annif.corpus.DocumentFileTSV("test.tsv", subjects)
    every = (*SOURCES, "pair", "trio")
    truth, suggested = suggest_all(registry, every, test)
    scores = {name: f1_at(suggested[name], truth) for name in every}
    compared = (("trio", "pair"), ("neartag", "omikuji"), ("neartag", "mllm"))
    return {
        "training_cpu_seconds": seconds,
        "weights": named,
        "F1@5": {name: round(100 * float(values.mean()), 2) for name, values in scores.items()},
        "differences": {f"{one} - {two}": interval(scores[one] - scores[two]) for one, two in compared},
    }


def suggest_all(registry, projects, corpus) -> tuple[csr_array, dict[str, csr_array]]:
    """Return the true subjects (n, L), and each project's suggestions with their scores (n, L)."""
    documents = list(corpus.documents)
    found = {}
    for name in projects:
        project = registry.get_project(name)
        project.initialize()
        parts = [project.suggest(documents[first : first + BATCH]) for first in range(0, len(documents), BATCH)]
        found[name] = csr_array(vstack([part.array for part in parts], format="csr"))
    rows = [row for row, each in enumerate(documents) for _ in each.subject_set]
    columns = [subject for each in documents for subject in each.subject_set]
    width = found[projects[0]].shape[1]
    truth = csr_array((np.ones(len(rows), bool), (rows, columns)), shape=(len(documents), width))
    return truth, found


def choose_weights(suggested: list[csr_array], truth: csr_array) -> tuple[int, ...]:
    """Return the weights with the best F1@5 on documents that nothing was trained on; of equals the first."""

    def value(weights: tuple[int, ...]) -> float:
        merged = sum(weight * each for weight, each in zip(weights, suggested, strict=True))
        return float(f1_at(csr_array(merged), truth).mean())

    return max(itertools.product(GRID, repeat=len(suggested)), key=value)


def f1_at(suggested: csr_array, truth: csr_array) -> np.ndarray:
    """Return F1 of each document's five best suggestions (n,)."""
    values = np.zeros(truth.shape[0])
    for row in range(truth.shape[0]):
        entries = slice(suggested.indptr[row], suggested.indptr[row + 1])
        labels, scores = suggested.indices[entries], suggested.data[entries]
        best = labels[np.argsort(-scores, kind="stable")[:DEPTH]]
        true = truth.indices[truth.indptr[row] : truth.indptr[row + 1]]
        size = len(best) + len(true)
        values[row] = 2 * len(np.intersect1d(best, true)) / size if size else 0.0
    return values


def interval(differences: np.ndarray) -> dict[str, float]:
    chance = np.random.default_rng(0)
    n = len(differences)
    means = [differences[chance.integers(n, size=n)].mean() for _ in range(SAMPLES)]
    low, high = np.quantile(means, [0.025, 0.975])
    values = {"difference": differences.mean(), "low": low, "high": high}
    return {name: round(100 * float(value), 2) for name, value in values.items()}


if __name__ == "__main__":
    main()
