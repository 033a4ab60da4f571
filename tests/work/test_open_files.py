"""A work folder of more clusters than files may be open: they are mapped at once, all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from neartag import store
from neartag.core import mapped_files
from neartag.core.errors import WorkError
from neartag.data import formats
from neartag.linalg import large_arrays
from neartag.work.folder import WorkFolder
from work_helpers import small_data

resource = pytest.importorskip("resource", reason="this system has no limits of open files")

CLUSTERS, FILES = 40, 40  # files that are open beside those of the clusters: less than 20
COMMAND = """
import resource, runpy, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1] if sys.argv[1] == "soft" else {files}
resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, hard))
sys.argv[:] = sys.argv[1:]
runpy.run_module("neartag", run_name="__main__")
"""


def run(limit, *command):
    """Run a command where few files may be open: "soft", unless the process allows itself more, or "hard"."""
    script = COMMAND.format(files=FILES)
    words = [sys.executable, "-c", script, limit, *map(str, command)]
    return subprocess.run(words, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "data.txt"
    formats.write(small_data(), path)
    return path


def train(limit, data, model, *options):
    settings = "--n-clusters", CLUSTERS, "--n-learners", 1, "--embedding-dim", 4, "--svp-neighbours", 5, "--n-jobs", 1
    return run(limit, "train", data, model, *settings, "--no-refine", "--json", *options)


@pytest.mark.parametrize("engine", [(), ("--engine", "processes", "--workers", 1)], ids=["threads", "processes"])
def test_a_training_has_more_clusters_than_files_may_be_open(data, tmp_path, engine):
    model = tmp_path / "model"
    trained = train("soft", data, model, "--work-dir", tmp_path / "work", *engine)
    assert trained.returncode == 0, trained.stderr
    assert json.loads(trained.stdout)["points"] == 400
    (learner,) = store.load(model).model.learners
    assert len(learner.clusters) >= CLUSTERS
    answered = run("hard", "predict", model, data, "--quiet", "-o", tmp_path / "answers.txt")
    assert answered.returncode == 0, answered.stderr
    assert len((tmp_path / "answers.txt").read_text().splitlines()) == 400


@pytest.mark.skipif(not mapped_files.HOLDS_FILES, reason="what is mapped is no open file here")
def test_where_no_more_may_be_open_the_error_says_what_to_do(data, tmp_path):
    trained = train("hard", data, tmp_path / "model", "--work-dir", tmp_path / "work")
    assert trained.returncode == 2
    assert "Too many open files" in trained.stderr
    assert "ulimit -n" in trained.stderr
    assert "Traceback" not in trained.stderr


def test_arrays_in_files_name_it_too(tmp_path, monkeypatch):
    def refuse(*given):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(large_arrays, "map_file", refuse)
    with large_arrays.in_files(tmp_path, 1), pytest.raises(WorkError, match=r"Too many open files.*ulimit -n"):
        large_arrays.empty(100, float)


@pytest.mark.skipif(mapped_files.HOLDS_FILES, reason="what is mapped is an open file in Python before 3.13")
def test_what_is_mapped_is_no_open_file(tmp_path):
    folder = WorkFolder(tmp_path / "work")
    folder.open({})
    folder.put("a", {"numbers": np.arange(5)})
    before = len(os.listdir("/dev/fd"))
    parts = [folder.get("a") for _ in range(20)]
    assert len(os.listdir("/dev/fd")) == before
    assert all(part["numbers"].tolist() == [0, 1, 2, 3, 4] for part in parts)


@pytest.mark.parametrize(
    ("limits", "allowed", "wanted"),
    [
        ((1024, 4096), 10**6, 4096),
        ((1024, resource.RLIM_INFINITY), 10**6, mapped_files.MAX_OPEN_FILES),
        ((1024, 2**30), 10**6, mapped_files.MAX_OPEN_FILES),
        ((1024, resource.RLIM_INFINITY), 20_000, mapped_files.MAX_OPEN_FILES_MACOS),
        ((2**17, 2**20), 10**6, 2**17),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), 10**6, resource.RLIM_INFINITY),
    ],
)
def test_the_soft_limit_is_raised_as_far_as_it_goes(monkeypatch, limits, allowed, wanted):
    now = list(limits)

    def set_limits(which, pair):
        if pair[0] > allowed:
            raise ValueError("not allowed to raise maximum limit")
        now[:] = pair

    monkeypatch.setattr(mapped_files, "HOLDS_FILES", True)
    monkeypatch.setattr(resource, "getrlimit", lambda which: tuple(now))
    monkeypatch.setattr(resource, "setrlimit", set_limits)
    mapped_files.allow_open_files()
    assert now == [wanted, limits[1]]
