"""What `neartag predict` does before it answers: the modules that it loads, and the kernels that it compiles.

How long that takes is measured by benchmarks/startup.py.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from neartag import store
from neartag.data import formats, synthetic
from neartag.x1.classifier import X1Classifier

# About 1,000 are loaded, half of them numba's and scipy's; scikit-learn would add 500.
MAX_MODULES = 1200
PROGRAM = """
import json, sys
from neartag.cli.main import run
try:
    run()
finally:
    modules = dict(sys.modules)
    from neartag.core.jit import Kernel
    ours = [vars(module).values() for name, module in modules.items() if name.split(".")[0] == "neartag"]
    known = {id(value): value for values in ours for value in values if isinstance(value, Kernel)}.values()
    kernels = [kernel.compile() for kernel in known if kernel.is_compiled]
    facts = {
        "modules": len(modules),
        "packages": sorted({name.split(".")[0] for name in modules}),
        "kernels": len(kernels),
        "compiled": sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels),
    }
    print(json.dumps(facts), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Return what the command that predicts for ten points prints, and its facts, when it runs for the second time."""
    folder = tmp_path_factory.mktemp("startup")
    data = synthetic.make(600, 300, 40, 10, 2)
    formats.write(data.take(np.arange(10)), folder / "ten.txt")
    settings = {"n_learners": 2, "n_clusters": 2, "embedding_dim": 20, "svp_neighbours": 20, "feature_share": 0.3}
    store.save(X1Classifier(**settings).fit(data.X, data.Y).model_, folder / "model")
    words = [sys.executable, "-c", PROGRAM, "predict", str(folder / "model"), str(folder / "ten.txt"), "--quiet"]
    subprocess.run(words, capture_output=True, check=True)
    found = subprocess.run(words, capture_output=True, text=True, check=True)
    return found.stdout, json.loads(found.stderr)


def test_predicting_loads_no_scikit_learn(done):
    answer, facts = done
    assert answer.count("\n") == 10
    assert not {"sklearn", "joblib", "pandas"} & set(facts["packages"])
    assert "numba" in facts["packages"]


def test_predicting_loads_few_modules(done):
    assert done[1]["modules"] < MAX_MODULES


def test_a_second_run_compiles_no_kernel(done):
    assert 3 < done[1]["kernels"] < 20  # those on the way, and no other
    assert done[1]["compiled"] == 0
