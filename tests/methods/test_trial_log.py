"""A search that was interrupted goes on from what is finished; one of other data or settings is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from cli_helpers import fail, succeed
from neartag.core.errors import ParameterError
from neartag.data import formats, synthetic
from neartag.methods import tune
from neartag.methods.trial import Trial
from neartag.methods.trial_log import TrialLog
from neartag.x1.classifier import X1Classifier

FIXED = {"refine": False, "n_clusters": 1, "embedding_dim": 10, "svp_neighbours": 20, "vote_sharpness": 20.0}
TRIED = {"l2": [1.0, 3.0, 10.0]}


@pytest.fixture(scope="module")
def data():
    return synthetic.make(400, 150, 30, 10, 2.5, seed=3)


@pytest.fixture
def fits(monkeypatch):
    made = []
    fit = X1Classifier.fit
    monkeypatch.setattr(X1Classifier, "fit", lambda self, *given: made.append(self.l2) or fit(self, *given))
    return made


def run(data, path, **changes):
    return tune.tune(data.X, data.Y, **{"fixed": FIXED, "tried": TRIED, "n_jobs": 1, "resume": path, **changes})


class TestResume:
    def test_goes_on_from_what_is_finished(self, data, tmp_path, fits):
        path = tmp_path / "state"
        whole = run(data, path)
        lines = path.read_bytes().splitlines(keepends=True)
        assert len(lines) == 1 + 4
        path.write_bytes(b"".join(lines[:3]) + lines[3][:20])  # killed while it wrote
        fits.clear()
        again = run(data, path)
        assert fits == [3.0, 10.0]
        assert again.resumed == 2
        assert (again.settings, [t.metrics for t in again.trials]) == (
            whole.settings,
            [t.metrics for t in whole.trials],
        )
        assert len(path.read_bytes().splitlines()) == 5
        fits.clear()
        assert run(data, path, n_jobs=2).resumed == 4, "cores change nothing"
        assert not fits

    @pytest.mark.parametrize("kept", [0, 10, 40])
    def test_killed_in_its_first_line(self, data, tmp_path, kept):
        path = tmp_path / "state"
        run(data, path)
        path.write_bytes(path.read_bytes()[:kept])
        if kept == 10:
            with pytest.raises(ParameterError, match="is no progress of a search"):
                run(data, path)
        else:
            assert run(data, path).resumed == 0

    @pytest.mark.parametrize(
        "changes",
        [
            {"tried": {"l2": [1.0, 3.0]}},
            {"fixed": {**FIXED, "embedding_dim": 11}},
            {"random_state": 1},
            {"method": "leml", "fixed": {}, "tried": {"l2": [1.0]}},
        ],
    )
    def test_another_search_is_refused(self, data, tmp_path, changes):
        path = tmp_path / "state"
        run(data, path)
        before = path.read_bytes()
        with pytest.raises(ParameterError, match=r"progress of another search: its data, settings .* Delete the file"):
            run(data, path, **changes)
        assert path.read_bytes() == before

    def test_other_data_is_refused(self, data, tmp_path):
        path = tmp_path / "state"
        run(data, path)
        other = data.X.copy()
        other.data[7] += 1
        with pytest.raises(ParameterError, match="another search"):
            tune.tune(other, data.Y, fixed=FIXED, tried=TRIED, n_jobs=1, resume=path)

    @pytest.mark.parametrize("content", [b"a text\n", b"a text", b"[1]\n", b'{"method": "x1"}\n', b"\xff\xfe\n"])
    def test_a_file_of_something_else_is_left_alone(self, data, tmp_path, content):
        path = tmp_path / "state"
        path.write_bytes(content)
        with pytest.raises(ParameterError, match="is no progress of a search: delete it, or name another file"):
            run(data, path)
        assert path.read_bytes() == content

    @pytest.mark.parametrize(
        "line",
        [
            {},
            {"key": "k"},
            {"key": "k", "trial": 7},
            {"key": "k", "trial": {}},
            {"key": "k", "trial": {"settings": {}, "points": 1, "more": 2}},
            {"key": ["k"], "trial": {"settings": {}, "points": 1}},
            {"key": "k", "trial": {"settings": 7, "points": 1}},
            {"key": "k", "trial": {"settings": {}, "points": "many"}},
            {"key": "k", "trial": {"settings": {}, "points": 1, "metrics": {"P@1": None}}},
            {"key": "k", "trial": {"settings": {}, "points": 1, "metrics": []}},
            {"key": "k", "trial": {"settings": {}, "points": 1, "total_seconds": "long"}},
        ],
    )
    def test_a_damaged_line_is_refused(self, tmp_path, line):
        path = tmp_path / "state"
        TrialLog(path, "x").add("key", Trial({"a": 1}, 10, {"P@1": 50.0}))
        path.write_bytes(path.read_bytes() + json.dumps(line).encode() + b"\n")
        before = path.read_bytes()
        with pytest.raises(ParameterError, match="is no progress of a search: delete it, or name another file"):
            TrialLog(path, "x")
        assert path.read_bytes() == before

    def test_what_cannot_be_written(self, data, tmp_path):
        with pytest.raises(Exception, match="progress of the search cannot be written"):
            run(data, tmp_path / "nowhere" / "state")

    def test_trials_are_kept_as_they_were(self, tmp_path):
        trial = Trial({"a": "auto", "b": 1.5}, 10, {"P@1": 100 / 3}, 0.1, "", True, 0.2)
        TrialLog(tmp_path / "state", "x").add("key", trial)
        log = TrialLog(tmp_path / "state", "x")
        assert log.get("key") == trial
        assert log.get("other") is None
        assert log.resumed == 1


def test_a_killed_command_goes_on(data, tmp_path):
    formats.write(data, tmp_path / "train.txt")
    out, progress = tmp_path / "mine.json", tmp_path / "mine.json.progress"
    fixed = [f"--fix={each}" for each in ("embedding_dim=10", "n_clusters=1", "svp_neighbours=20", "l2=1")]
    few = [*fixed, "--try", "refine_cost=0.3,0.5,1,2", "--try", "vote_neighbours=20,40"]
    command = ["tune", str(tmp_path / "train.txt"), *few, "--n-jobs", "1", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "neartag", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ,
    )
    try:
        while process.poll() is None and (not progress.exists() or progress.read_bytes().count(b"\n") < 4):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        assert process.wait() == -signal.SIGKILL
    finished = progress.read_bytes().count(b"\n") - 1
    assert finished >= 3
    assert not out.exists()
    assert "is the progress of another search" in fail(*command, "--random-state", 1)
    resumed = json.loads(succeed(*command, "--json"))
    assert resumed["resumed"] == finished
    assert not progress.exists()
    written = json.loads(out.read_text())
    fresh = json.loads(succeed(*command, "--json"))
    assert fresh["resumed"] == 0
    assert [trial["metrics"] for trial in fresh["trials"]] == [trial["metrics"] for trial in resumed["trials"]]
    assert json.loads(out.read_text()) == written


def test_the_command_keeps_its_progress_where_it_is_told(data, tmp_path):
    formats.write(data, tmp_path / "train.txt")
    state = tmp_path / "state"
    command = ("tune", tmp_path / "train.txt", "--method", "knn", "--resume", state)
    assert "earlier run" not in succeed(*command)
    assert not state.exists(), "it is removed at the end"
    state.write_text("mine\n")
    assert "is no progress of a search" in fail(*command)
    assert state.read_text() == "mine\n"
