"""How accuracy and time change with the number of clusters, on a held-out fifth of the training data.

    python benchmarks/clusters.py [debian eurlex4k-partial mediamill-rand …] [--clusters 1 2 4 8]

One learner, the preset's settings otherwise: what lies behind `n_clusters="auto"`.
"""

from __future__ import annotations

import argparse
import time

from choose_presets import folds, training_data
from votes import vote_preset

from neartag.encoders.tfidf import TfidfFeatures
from neartag.metrics import evaluate
from neartag.x1.classifier import X1Classifier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["debian", "eurlex4k-partial", "mediamill-rand"])
    parser.add_argument("--clusters", type=int, nargs="+", default=[1, 2, 4, 8])
    arguments = parser.parse_args()
    print("| data | clusters | points in the largest | P@1 / 3 / 5 | train CPU s |\n|---|---|---|---|---|")
    for name in arguments.names:
        X, Y, groups = training_data(name)
        train, held = next(iter(folds(groups, 1, 7)))
        if name == "debian":
            features = TfidfFeatures()
            X_train, X_held = features.fit_transform([X[i] for i in train]), features.transform([X[i] for i in held])
        else:
            X_train, X_held = X[train], X[held]
        for clusters in arguments.clusters:
            settings = {**vote_preset(name), "n_clusters": clusters, "feature_share": 0.0, "refine": False}
            start = time.process_time()
            classifier = X1Classifier(**settings).fit(X_train, Y[train])
            seconds = time.process_time() - start
            scores = evaluate(classifier.predict_topk(X_held, 5)[0], Y[held])
            largest = max(len(cluster.members) for cluster in classifier.model_.learners[0].clusters)
            accuracy = " / ".join(f"{scores[f'P@{k}']:.2f}" for k in (1, 3, 5))
            print(f"| {name} | {clusters} | {largest} | {accuracy} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
