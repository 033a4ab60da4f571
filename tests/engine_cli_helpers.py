"""What tests of `neartag train --engine` share: a small plain training by the command line."""

from __future__ import annotations

from cli_helpers import succeed
from neartag.data import formats
from work_helpers import PLAIN, small_data

OPTIONS = [
    word
    for name, value in {**PLAIN, "n_jobs": 1}.items()
    for word in ([f"--{name.replace('_', '-')}", str(value)] if name != "refine" else ["--no-refine"])
]


def write_points(folder):
    """Return the file of the small data."""
    formats.write(small_data(), folder / "points.txt")
    return folder / "points.txt"


def train_model(points, folder):
    """Return the folder of a model of them."""
    succeed("train", points, folder / "model", *OPTIONS)
    return folder / "model"
