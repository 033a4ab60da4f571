"""How soon `neartag predict` answers: what it loads, and the CPU time of a run whose kernels another has cached."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from neartag import store
from neartag.data import formats, synthetic
from neartag.x1.classifier import X1Classifier

CPU_SECONDS = 2.0
PROGRAM = """
import sys
from neartag.cli.main import run
try:
    run()
finally:
    loaded = {name.split(".")[0] for name in sys.modules}
    print(sorted(loaded & {"sklearn", "joblib", "pandas"}), "numba" in loaded, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """Return the command that predicts for ten points, after it has run once."""
    folder = tmp_path_factory.mktemp("startup")
    data = synthetic.make(600, 300, 40, 10, 2)
    formats.write(data.take(np.arange(10)), folder / "ten.txt")
    settings = {"n_learners": 2, "n_clusters": 2, "embedding_dim": 20, "svp_neighbours": 20, "feature_share": 0.3}
    store.save(X1Classifier(**settings).fit(data.X, data.Y).model_, folder / "model")
    words = [sys.executable, "-c", PROGRAM, "predict", str(folder / "model"), str(folder / "ten.txt"), "--quiet"]
    subprocess.run(words, capture_output=True, check=True)
    return words


def test_predicting_loads_no_scikit_learn(command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 10
    assert done.stderr == "[] True\n"


@pytest.mark.slow
def test_predicting_for_ten_points_takes_little_cpu(command):
    resource = pytest.importorskip("resource")
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(times) < CPU_SECONDS, "the least of a few: others may be at work on the same cores"
