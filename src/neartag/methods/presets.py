"""Settings per data set, by name: ours chosen on a part of the training data, the original program's for large sets.

`benchmarks/choose_presets.py` repeats the choice. A preset only sets what differs from the defaults. It may also be a
JSON file, as `neartag tune` writes it: {"method": "x1", "settings": {"l2": 3.0, …}}.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neartag.comparators import METHODS
from neartag.comparators.presets import CHOSEN
from neartag.core.errors import DataError, ParameterError
from neartag.core.parameters import check_settings

# Chosen on held-out fifths of the training data.
_CHOSEN: dict[str, dict[str, Any]] = {
    "bibtex": {
        "n_learners": 1,
        "n_clusters": 1,
        "embedding_dim": 100,
        "l2": 2.0,
        "vote_neighbours": 20,
        "feature_share": 0.2,
    },
    "delicious": {
        "n_learners": 1,
        "n_clusters": 1,
        "embedding_dim": 100,
        "svp_neighbours": 200,
        "l2": 3.0,
        "vote_neighbours": 80,
        "vote_sharpness": 10.0,
        "feature_share": 0.4,
    },
    "mediamill": {
        "n_learners": 1,
        "n_clusters": 1,
        "embedding_dim": 100,
        "l2": 1e-3,
        "vote_neighbours": 60,
        "vote_sharpness": 40.0,
        "feature_share": 0.0,
    },
    "eurlex": {
        "n_learners": 1,
        "n_clusters": 1,
        "embedding_dim": 300,
        "svp_neighbours": 200,
        "l2": 0.5,
        "vote_neighbours": 20,
        "feature_share": 0.25,
    },
    "debian": {
        "n_learners": 1,
        "n_clusters": 1,
        "embedding_dim": 200,
        "svp_neighbours": 300,
        "svp_max_iter": 10,
        "l2": 10.0,
        "vote_neighbours": 60,
        "feature_share": 0.33,
    },
    # Short texts: rankers decide, and the rest is chosen in training. Above are the paper's method and its own vote;
    # `refine` on top of any of them is more accurate still.
    "cooking": {"refine": True},
    "yso-finna-en-100k": {"refine": True},
}


def _original(
    learners: int, clusters: int, neighbours: int, dim: int, cost: float, voters: int, keep: float = 1.0
) -> dict[str, Any]:
    """Return the original program's settings in our words: its cost C of the errors is our 1/λ, its vote is plain."""
    return {
        "n_learners": learners,
        "n_clusters": clusters,
        "svp_neighbours": neighbours,
        "embedding_dim": dim,
        "l2": 1 / cost,
        "vote_neighbours": voters,
        "vote_weight": "uniform",
        "vote_distance": "euclidean",
        "feature_share": 0.0,
        "cluster_start": "random",
        "keep_weights": keep,
    }


# What the authors' program ships for the paper's large sets (its w_thresh, .95 on WikiLSHTC, is the share zeroed).
_ORIGINAL: dict[str, dict[str, Any]] = {
    "wiki10": _original(5, 5, 50, 75, 0.1, 11),
    "delicious-large": _original(5, 50, 50, 50, 0.1, 70),
    "amazon": _original(20, 100, 25, 50, 0.1, 5),
    "wikilshtc": _original(10, 300, 15, 50, 0.1, 10, keep=0.05),
}

PRESETS = {**_CHOSEN, **_ORIGINAL}
FILE = ".json"  # how the name of a preset that is a file ends
# Data sets by the registry's names.
_ALIASES = {"mediamill-rand": "mediamill", "eurlex4k-partial": "eurlex"}


def names() -> tuple[str, ...]:
    """Return the presets' names."""
    return tuple(PRESETS)


def get(name: str, method: str = "x1") -> dict[str, Any]:
    """Return a copy of a preset's settings, by its name, that of its data set or its file; X1's, or a comparator's."""
    if name.endswith(FILE):
        return _read(Path(name), method)
    key = _ALIASES.get(name, name)
    known = PRESETS if method == "x1" else CHOSEN[method]
    if key not in known:
        where = "" if method == "x1" else f" of {method}"
        there = ", ".join(known) or "none"
        raise ParameterError(f"there is no preset {name!r}{where}; there are {there}, and files that end in {FILE}")
    return dict(known[key])


def write(path: Path | str, method: str, settings: dict[str, Any], about: dict[str, Any] | None = None) -> None:
    """Write a file that `get` reads, whole or not at all; `about` says where the settings are from."""
    import json

    from neartag.data.files import replacing

    content = {"method": method, "settings": settings, **({"about": about} if about else {})}
    with replacing(path) as stream:
        stream.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def check_target(path: Path | str) -> None:
    """Raise ParameterError, before any work is lost, where a preset could not be written, or not be read again."""
    if not str(path).endswith(FILE):
        raise ParameterError(f"a preset's file must end in {FILE}, which {path} does not")
    if not Path(path).absolute().parent.is_dir():
        raise ParameterError(f"{path}: there is no folder {Path(path).parent} to write it in")


def _read(path: Path, method: str) -> dict[str, Any]:
    import json

    from neartag.data.files import read_bytes

    form = '{"method": "x1", "settings": {"l2": 3.0}}'
    try:
        found = json.loads(read_bytes(path))
    except DataError as error:
        raise ParameterError(f"preset {error}; neartag tune DATA --out {path} would make it") from error
    except ValueError as error:
        raise ParameterError(f"preset {path}: is no JSON such as {form}: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("settings"), dict):
        raise ParameterError(f"preset {path}: must be an object such as {form}")
    whose = found.get("method", method)
    if whose != method:
        raise ParameterError(f"preset {path} is one of {whose}, not of {method}: give --method {whose}")
    try:
        return check_settings(found["settings"], METHODS[method].parameters, method)
    except ParameterError as error:
        raise ParameterError(f"preset {path}: {error}") from error
