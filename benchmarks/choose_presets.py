"""Choose the presets' hyper-parameters on a fifth of each training set, never on the test set.

    python benchmarks/choose_presets.py bibtex delicious … [--seed 7] [--folds 2] [--refined]

Prints one line a setting, sorted at the end by the sum of P@1, P@3 and P@5 on the validation part (a mean over folds).
What prediction alone uses (neighbours that vote, their sharpness) is searched without training again. This is for votes
alone; --refined then measures with rankers what was chosen for votes, parts of that, and the defaults.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from votes import vote_preset

from neartag.data import debian, registry
from neartag.encoders.tfidf import TfidfFeatures
from neartag.methods.search_space import combinations
from neartag.metrics import evaluate
from neartag.x1.classifier import X1Classifier

# Training settings tried, and the vote settings tried on each of them.
GRIDS: dict[str, tuple[dict, dict]] = {
    "bibtex": (
        {"svp_neighbours": [100, 200], "l2": [1.0, 2.0, 3.0], "svp_max_iter": [8, 15]},
        {"vote_neighbours": [12, 20, 30], "vote_sharpness": [10.0, 20.0], "feature_share": [0.0, 0.2, 0.4]},
    ),
    "delicious": (
        {"svp_neighbours": [100, 200], "label_similarity": ["cosine", "inner"], "l2": [1.0, 2.0, 3.0]},
        {"vote_neighbours": [50, 80], "vote_sharpness": [5.0, 10.0, 20.0], "feature_share": [0.0, 0.2, 0.4]},
    ),
    "mediamill-rand": (
        {"n_clusters": [1, 5], "svp_neighbours": [100, 300], "l2": [1e-5, 1e-4, 1e-3, 3e-3]},
        {"vote_neighbours": [25, 40, 60], "vote_sharpness": [20.0, 40.0, 80.0], "feature_share": [0.0, 0.2]},
    ),
    "eurlex4k-partial": (
        {"svp_neighbours": [100, 200], "l2": [0.5, 1.0], "embedding_dim": [200, 300], "svp_max_iter": [8, 15]},
        {"vote_neighbours": [15, 20, 30], "vote_sharpness": [20.0, 30.0], "feature_share": [0.0, 0.25, 0.4]},
    ),
    "debian": (
        {"svp_neighbours": [100, 300], "l2": [5.0, 10.0, 20.0], "embedding_dim": [100, 200], "svp_max_iter": [10]},
        {"vote_neighbours": [30, 60, 100], "vote_sharpness": [10.0, 20.0, 40.0], "feature_share": [0.0, 0.2, 0.33]},
    ),
}
# Votes are chosen by themselves, by the paper's own measure of them.
VOTES = {"n_learners": 1, "n_clusters": 1, "embedding_dim": 100, "refine": False}


def training_data(name: str):
    """Features, labels and, for the split, a group a point: points of one group are never parted."""
    if name == "debian":
        part = debian.load("train")
        groups = np.unique(part.sources, return_inverse=True)[1]
        return part.words, part.label_matrix(debian.tag_names()), groups
    data = registry.load(name, "train")
    return data.X, data.Y, np.arange(data.n_points)


def folds(groups: np.ndarray, count: int, seed: int):
    """Pairs of (training rows, validation rows): a fifth of the groups is held out each time."""
    order = np.random.default_rng(seed).permutation(groups.max() + 1)
    for fold in range(count):
        held = np.zeros(groups.max() + 1, bool)
        held[order[fold::5]] = True
        yield np.flatnonzero(~held[groups]), np.flatnonzero(held[groups])


def rows_of(name: str, X, train: np.ndarray, held: np.ndarray):
    """Rows to train on and rows to validate on; those of texts are made with what the former know."""
    if name != "debian":
        return X[train], X[held]
    features = TfidfFeatures()
    return features.fit_transform([X[i] for i in train]), features.transform([X[i] for i in held])


def search(name: str, seed: int, count: int, grids: dict[str, tuple[dict, dict]] = GRIDS) -> None:
    X, Y, groups = training_data(name)
    grid, votes = grids[name]
    found: dict[tuple, list] = {}
    for train, held in folds(groups, count, seed):
        X_train, X_held = rows_of(name, X, train, held)
        for settings in combinations(grid):
            start = time.process_time()
            classifier = X1Classifier(**{**VOTES, **settings}).fit(X_train, Y[train])
            seconds = time.process_time() - start
            for vote in combinations(votes):
                labels, _ = classifier.set_params(**vote).predict_topk(X_held, 5)
                scores = evaluate(labels, Y[held])
                key = tuple({**settings, **vote}.items())
                found.setdefault(key, []).append([scores["P@1"], scores["P@3"], scores["P@5"], seconds])
                print(name, dict(key), *(f"{value:.2f}" for value in found[key][-1]), flush=True)
    print(f"\n{name}: the best on the held-out part (mean of {count} folds)")
    ranked = sorted(found, key=lambda key: -np.mean(found[key], axis=0)[:3].sum())
    for key in ranked[:12]:
        print(" / ".join(f"{value:.2f}" for value in np.mean(found[key], axis=0)), dict(key))


def compare_refined(name: str, seed: int, count: int) -> None:
    X, Y, groups = training_data(name)
    found: dict[str, list] = {}
    for train, held in folds(groups, count, seed):
        X_train, X_held = rows_of(name, X, train, held)
        for title, settings in refined_settings(vote_preset(name)).items():
            start = time.process_time()
            classifier = X1Classifier(**settings).fit(X_train, Y[train])
            seconds = time.process_time() - start
            scores = evaluate(classifier.predict_topk(X_held, 5)[0], Y[held])
            found.setdefault(title, []).append([scores["P@1"], scores["P@3"], scores["P@5"], seconds])
            print(name, title, *(f"{value:.2f}" for value in found[title][-1]), flush=True)
    print(f"\n{name}: P@1 / 3 / 5 and CPU seconds of training on the held-out part (mean of {count} folds)")
    for title in sorted(found, key=lambda title: -np.mean(found[title], axis=0)[:3].sum()):
        print(" / ".join(f"{value:.2f}" for value in np.mean(found[title], axis=0)), title)


def refined_settings(votes: dict) -> dict[str, dict]:
    """Return what is tried: the settings chosen for votes, alone and refined, some of them, and the defaults."""
    embedding = {key: votes[key] for key in votes if key in ("embedding_dim", "svp_neighbours", "svp_max_iter", "l2")}
    vote = {key: votes[key] for key in votes if key.startswith(("vote_", "feature_"))}
    return {
        "settings for votes, votes alone": {**votes, "refine": False},
        "defaults, votes alone": {"refine": False},
        "settings for votes": votes,
        "defaults": {},
        "embedding": embedding,
        "l2": {"l2": votes["l2"]},
        "vote": vote,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(GRIDS))
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--refined", action="store_true", help="measure with rankers what was chosen for votes")
    arguments = parser.parse_args()
    for each in arguments.names:
        (compare_refined if arguments.refined else search)(each, arguments.seed, arguments.folds)
