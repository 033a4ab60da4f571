"""How many of a point's neighbours by embedding a search in cells finds, of those that a search of all points does.

python benchmarks/cells.py [bibtex eurlex4k-partial …]
"""

from __future__ import annotations

import argparse

import numpy as np
import peer_data
from peer_settings import DATA

from neartag.x1.classifier import X1Classifier

ASKED = 2000  # test points at most


def shared(one: np.ndarray, other: np.ndarray) -> float:
    """Return the share of one's entries that the other's row has too; −1 is nobody."""
    found = [np.isin(mine[mine >= 0], theirs) for mine, theirs in zip(one, other, strict=True)]
    return float(np.concatenate(found).mean())


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=list(DATA))
    for name in parser.parse_args(argv).data:
        train, test = peer_data.load(name)
        model = X1Classifier().fit(train.X, train.Y).model_
        rows = test.X[:: max(1, test.X.shape[0] // ASKED)]
        count = model.n_neighbours  # of the first learner
        exact = model.with_settings({"vote_search": "exact"})
        whole, cells = (each.retrieve(rows).embedding_voters[0][:, :count] for each in (exact, model))
        print(f"{name}: {100 * shared(whole, cells):.1f}% of the {count} nearest", flush=True)


if __name__ == "__main__":
    main()
