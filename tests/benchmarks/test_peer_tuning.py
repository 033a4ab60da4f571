"""How peers are tuned: the search and its counted time, what it tries, and that nothing finished is measured again."""

from __future__ import annotations

import json
import math
import time
from types import SimpleNamespace

import numpy as np
import pytest

from neartag.core.errors import DataError
from neartag.data import registry
from neartag.methods.tune import hold_out
from neartag.metrics import evaluate

AXES = [[{"C": 0.1}, {"C": 10.0}], [{"leaf": 5}, {"leaf": 50}], [{"n_trees": 6}]]
FIRST = {"C": 1.0, "n_trees": 3}


@pytest.fixture
def search(module):
    return module("peer_search")


def fake_peer(search, scores, seconds=1.0):
    """Return a function that tries settings, with a score for each in `scores` by (C, leaf), else 50, and its calls."""
    calls = []

    def attempt(settings):
        calls.append(settings)
        score = scores.get((settings["C"], settings.get("leaf")), 50.0)
        return search.Trial(settings, seconds * settings["n_trees"] / 3, {"P@1": score, "P@3": score, "P@5": score})

    return attempt, calls


def test_one_setting_after_the_other_is_chosen_with_the_best_before_and_the_default_comes_first(search):
    attempt, calls = fake_peer(search, {(0.1, None): 60.0, (0.1, 50): 70.0})
    choice = search.choose(FIRST, AXES, attempt, math.inf)
    tried = [(each["C"], each.get("leaf"), each["n_trees"]) for each in calls]
    assert tried == [(1, None, 3), (0.1, None, 3), (10, None, 3), (0.1, 5, 3), (0.1, 50, 3), (0.1, 50, 6)]
    assert choice.best.settings == {"C": 0.1, "leaf": 50, "n_trees": 3}  # more trees were no better: the first stands
    assert [trial.settings for trial in choice.tried] == calls
    assert choice.skipped == []
    assert choice.used == 7.0  # twice the trees, twice the time


def test_a_trial_begins_only_if_it_ends_in_time(search):
    attempt, calls = fake_peer(search, {(0.1, None): 60.0})
    choice = search.choose(FIRST, AXES, attempt, 5.5)
    assert len(calls) == 5
    assert choice.used <= 5.5
    assert choice.skipped == [{"C": 0.1, "n_trees": 6}]
    attempt, calls = fake_peer(search, {(0.1, None): 60.0})
    choice = search.choose(FIRST, AXES, attempt, 0.1)  # the default is tried whatever it takes
    assert calls == [FIRST]
    assert len(choice.skipped) == 5


def test_a_trial_that_fails_is_not_chosen_but_its_time_counts(search):
    def attempt(settings):
        if settings["C"] == 0.1:
            return search.Trial(settings, 4.0, failed="no memory")
        return search.Trial(settings, 1.0, {"P@1": 10.0})

    choice = search.choose(FIRST, AXES[:1], attempt, 5.5)
    assert choice.best.settings == FIRST
    assert choice.used == 5.0
    assert choice.skipped == [{"C": 10.0, "n_trees": 3}]
    with pytest.raises(RuntimeError, match="no memory"):
        search.choose({"C": 0.1}, AXES, attempt, 100)


class Peer:
    """Knows the right labels if it was trained with `good` and predicts with `wide`; counts its trainings."""

    reads_file = saves_in_fit = False

    def __init__(self):
        self.settings, self.trained, self.longest_minutes = {}, [], None

    def train_input(self, X, Y, file):
        return X, Y

    def test_input(self, X):
        return X

    def fit(self, given, folder):
        self.trained.append((dict(self.settings), given[0].shape[0]))

    def save(self, folder):
        pass

    def load(self, folder):
        pass

    def predict(self, X):
        topic = X.indices[X.indptr[:-1]] // 4  # of the toy data set
        right = self.settings.get("good", False) and self.settings.get("wide", False)
        return np.tile(np.arange(5), (X.shape[0], 1)) if not right else np.column_stack([2 * topic, 2 * topic + 1])

    def labels(self, found):
        return found if found.shape[1] == 5 else np.pad(found, ((0, 0), (0, 3)), constant_values=-1)


class Clock:
    """Times every block at so many seconds."""

    cpu, wall = 1.0, 1.0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def test_all_are_judged_by_the_points_that_neartag_holds_out_and_prediction_is_free(toy, module, monkeypatch):
    tuning, grids = module("peer_tune"), module("peer_grids")
    peer = Peer()
    grid = grids.Grid([grids.values("good", True), grids.values("more", *range(20))], [{}, {"wide": True}])
    monkeypatch.setitem(tuning.GRIDS, "plt", grid)

    def make(name, settings, threads):
        peer.settings = settings
        return peer

    monkeypatch.setattr(tuning, "make", make)
    found = tuning.tuned_settings("toy", "plt", 2, Clock)
    assert found["settings"] == {"seed": 0, "good": True, "wide": True}
    rest, held = hold_out(150, tuning.SEED)
    assert found["held out"] == len(held) == 30
    assert [points for _, points in peer.trained] == [150] + [len(rest)] * 10  # the default on all, then ten times that
    assert (found["default CPU s"], found["allowed CPU s"], found["used CPU s"]) == (1.0, 10.0, 10.0)
    assert peer.trained[0][0] == peer.trained[1][0] == {"seed": 0}
    truth = registry.load("toy", "train").Y[held]
    assert found["tried"][0]["figures"]["P@1"] == evaluate(np.tile(np.arange(5), (30, 1)), truth)["P@1"]
    assert found["tried"][1]["figures"]["P@1"] == 100.0
    assert len(found["no time for"]) == 20 - 8
    json.dumps(found)


def test_neartag_chooses_on_the_same_points_within_the_same_time(toy, module, monkeypatch):
    tuning, asked = module("peer_tune"), {}

    def tune(X, Y, method, **options):
        asked.update(options, method=method, clock=tuning.tune.TimeBudget(1.0)._clock)
        trial = SimpleNamespace(settings={"l2": 3.0}, points=9, seconds=1.0, metrics={"P@1": 1.0})
        return SimpleNamespace(trials=[trial], seconds=4.0, settings={"l2": 3.0}, held_out=30)

    monkeypatch.setattr(tuning.tune, "tune", tune)
    monkeypatch.setattr(tuning, "make", lambda *_: Peer())
    found = tuning.tuned_settings("toy", "x1-refined", 2, Clock)
    assert (asked["method"], asked["fixed"], asked["random_state"]) == ("x1", {"refine": True}, tuning.SEED)
    assert asked["minutes"] * 60 == pytest.approx(10.0)
    assert asked["clock"] is time.process_time
    assert (found["settings"], found["used CPU s"], found["allowed CPU s"]) == ({"l2": 3.0}, 4.0, 10.0)
    assert tuning.tuned_settings("bibtex", "leml", 2, Clock)["by"] == "preset"


def test_a_method_that_takes_too_long_is_not_tuned(toy, module, monkeypatch):
    tuning = module("peer_tune")
    monkeypatch.setattr(tuning, "make", lambda *_: Peer())
    slow = type("Slow", (Clock,), {"cpu": 1e5})
    with pytest.raises(RuntimeError, match="takes 833 minutes, and choosing 10 times that"):
        tuning.tuned_settings("toy", "plt", 2, slow)


def test_searches_begin_with_the_defaults_and_comparators_with_their_presets(module):
    plan, settings = module("peer_tune").plan, module("peer_methods").settings
    assert settings("knn", "debian") == {"n_neighbors": 200}  # the best on the test part: not for a choice
    assert plan("knn", "debian")["first"] == {"n_neighbors": 20}
    assert plan("bonsai", "bibtex")["first"] == {**settings("bonsai", "bibtex"), "n_trees": 3}
    assert plan("leml", "bibtex")["preset"] == module("peer_tune").presets.get("bibtex", "leml")
    assert plan("leml", "debian") == {"fixed": {}, "times": 10}
    assert plan("wsabie", "yso-finna-en-100k") is None
    assert plan("x1-refined", "bibtex") == {"fixed": {"refine": True}, "times": 10}
    assert set(module("peer_grids").GRIDS) == set(module("peer_methods").PEERS)


def fake_start(toy, started):
    """Return what takes the place of a process: it chooses k = 7, and every run finds the same labels."""
    figures = dict.fromkeys(("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5"), 50.0)
    times = ("train wall s", "train CPU s", "batch ms", "one ms", "model MB", "RSS before training MB")
    times += (
        "peak RSS training MB",
        "peak RSS predicting MB",
        "cores used by others",
        "load s",
        "read s",
        "first call s",
    )
    tuning = {"settings": {"n_neighbors": 7}, "tried": [{}, {}], "default CPU s": 2.0, "used CPU s": 8.0}

    def start(data, name, threads, timeout, *options):
        started.append(options)
        if "--tune" in options:
            return tuning
        np.savez_compressed(options[options.index("--labels") + 1], labels=np.zeros((30, 5), int))
        return {**figures, **dict.fromkeys(times, 0.0)}

    return start


def test_a_finished_choice_and_a_finished_row_are_kept(toy, module, monkeypatch):
    peers, started = module("peers"), []
    monkeypatch.setattr(peers, "start", fake_start(toy, started))
    options = ["toy", "--tuned", "--methods", "knn", "--resume", "--write", "--docs", str(toy)]
    options += ["--results", str(toy / "tuned.json"), "--labels", str(toy / "labels")]
    peers.main(options)
    label_file = str(toy / "labels" / "toy.knn.1.npz")
    assert started == [("--tune",), ("--labels", label_file, "--settings", '{"n_neighbors": 7}')]
    (row,) = json.loads((toy / "tuned.json").read_text())["rows"]
    assert (row["method"], len(row["runs"]), row["tuning"]["settings"]) == ("cosine kNN, tuned", 1, {"n_neighbors": 7})
    wanted = "| toy | cosine kNN, tuned | 50.00 / 50.00 / 50.00 | 50.00 / 50.00 | `n_neighbors=7` | 2 | 4.00× |"
    assert wanted in (toy / "benchmarks.md").read_text()
    peers.main(options)
    assert len(started) == 2
    (toy / "labels" / "toy.knn.1.npz").unlink()  # without labels there are no intervals: that run is made again
    peers.main(options)
    assert [given[0] for given in started[2:]] == ["--labels"]
    grids = module("peer_grids")
    monkeypatch.setitem(grids.GRIDS, "knn", grids.Grid([], grids.values("n_neighbors", 3)))
    peers.main(options)
    assert [given[0] for given in started[3:]] == ["--tune", "--labels"]  # another search


def test_a_search_that_fails_leaves_its_row_out(toy, module, monkeypatch):
    peers = module("peers")
    monkeypatch.setattr(peers, "start", lambda *_: {"failed": "took more than 1 s"})
    result = {"threads": 2, "rows": [{"data": "toy", "name": "knn", "method": "kNN", "runs": [], "wanted": 1}]}
    peers.run_rounds(result, 1, 1, toy / "tuned.json", toy, tuned=True)
    assert result["rows"][0]["left_out"] == "took more than 1 s"
    assert result["rows"][0]["runs"] == []


def test_results_go_on_when_a_package_came_and_not_when_one_changed(module):
    agree = module("peers").agree
    assert agree({"numpy": "1"}, {"numpy": "1", "libmultilabel": "2"})
    assert not agree({"numpy": "1"}, {"numpy": "2"})
    assert not agree(2, 3)


def test_a_peer_that_was_not_tuned_stands_with_its_defaults(toy, module):
    refined = module("refined")
    plain, tuned = toy / "plain", toy / "tuned"
    test = registry.load("toy", "test")
    right = np.argsort(-test.Y.toarray(), axis=1, kind="stable")[:, :5]
    for folder, name, labels in ((tuned, "x1-refined", right), (tuned, "leml", right[:, ::-1]), (plain, "plt", right)):
        folder.mkdir(exist_ok=True)
        np.savez_compressed(folder / f"toy.{name}.1.npz", labels=labels)
    scores = {"right": evaluate(right, test.Y, Y_train=registry.load("toy", "train").Y)}
    scores["wrong"] = evaluate(right[:, ::-1], test.Y, Y_train=registry.load("toy", "train").Y)
    rows = [
        {"data": "toy", "name": name, "method": method, "runs": [scores[which]], "median": scores[which]}
        for name, method, which in (
            ("x1-refined", "X1 refined, tuned", "right"),
            ("leml", "neartag LEML, tuned", "wrong"),
            ("plt", "napkinXC PLT", "right"),
        )
    ]
    other = {**rows[2], "data": "other"}
    together = refined.with_defaults(rows[:2], [rows[2], other], plain)
    assert [row["method"] for row in together][2:] == ["napkinXC PLT"]
    told = refined.measured(together, "toy", "x1-refined", tuned)
    assert told["peers"] == ["napkinXC PLT", "neartag LEML, tuned"]
    assert told["figures"]["P@1"]["peer"] == "napkinXC PLT"
    result = SimpleNamespace(method="X1 refined, tuned", tuned=True, machine="m", threads=2, versions={}, sets=[told])
    found = {"counts": refined.counts([told]), "counts, tuned": refined.counts(refined.against_tuned([told]))}
    lines = refined.section({**vars(result), **found}).splitlines()
    assert "- toy: not tuned, with the defaults: napkinXC PLT." in lines
    assert "- Significantly below the best peer: none." in lines
    assert any(line.startswith("- toy without PECOS XR-Linear, tuned,") for line in lines)


def test_a_tuned_peer_stands_with_its_defaults_too_where_these_are_better(toy, module, monkeypatch):
    refined = module("refined")
    folders = {"tuned": toy / "tuned", "plain": toy / "plain"}
    train, test = (registry.load("toy", part) for part in ("train", "test"))
    right = np.argsort(-test.Y.toarray(), axis=1, kind="stable")[:, :5]
    right[0] = right[0, ::-1]  # something is left to be better in
    best = np.argsort(-test.Y.toarray(), axis=1, kind="stable")[:, :5]

    def stored(name, method, folder, labels):
        folders[folder].mkdir(exist_ok=True)
        np.savez_compressed(folders[folder] / f"toy.{name}.1.npz", labels=labels)
        scores = evaluate(labels, test.Y, Y_train=train.Y)
        return {"data": "toy", "name": name, "method": method, "runs": [scores], "median": scores}

    rows = [stored("x1-refined", "X1 refined, tuned", "tuned", right)]
    rows.append(stored("plt", "napkinXC PLT, tuned", "tuned", right[:, ::-1]))
    plain = stored("plt", "napkinXC PLT", "plain", best)
    told = refined.measured(
        refined.with_defaults(rows, [plain], folders["plain"]), "toy", "x1-refined", folders["tuned"]
    )
    assert told["peers"] == ["napkinXC PLT, tuned", "napkinXC PLT"]
    assert told["figures"]["P@1"]["peer"] == "napkinXC PLT"
    assert told["figures, tuned"]["P@1"]["peer"] == "napkinXC PLT, tuned"
    all_runs, tuned = refined.counts([told]), refined.counts(refined.against_tuned([told]))
    assert (all_runs["at or above"], tuned["at or above"]) == (2, 5)  # the same five labels, in another order
    assert all_runs["behind"][0].startswith("toy P@1 -3.33 (")
    assert all_runs["behind"][0].endswith(") napkinXC PLT")
    assert tuned["behind"] == []
    result = SimpleNamespace(method="X1 refined, tuned", tuned=True, machine="m", threads=2, versions={}, sets=[told])
    lines = refined.section({**vars(result), "counts": all_runs, "counts, tuned": tuned}).splitlines()
    assert any(
        line.startswith("- At or above the best run of any peer, tuned or with the defaults: 2 of 5") for line in lines
    )
    assert any(line.startswith("- At or above the best tuned peer (with the defaults only where") for line in lines)
    assert not any("not tuned" in line and line.startswith("- toy:") for line in lines)
    (folders["plain"] / "toy.plt.1.npz").unlink()
    again = {key: value - 0.25 for key, value in plain["runs"][0].items()}
    plain = {**plain, "runs": [{key: value + 0.25 for key, value in again.items()}], "again": [again]}
    np.savez_compressed(folders["plain"] / "toy.plt.again1.npz", labels=best)
    monkeypatch.setattr(refined, "TOLERANCE", 1.0)
    together = refined.with_defaults(rows, [plain], folders["plain"])
    moved = refined.measured(together, "toy", "x1-refined", folders["tuned"])
    first, second = told["figures"]["P@1"], moved["figures"]["P@1"]  # without labels, by those of the run made again
    assert second["best"] == first["best"]
    assert second["interval of"] == first["best"] - 0.25
    assert second["low"] == pytest.approx(first["low"] - 0.25)
    lines = refined.section({**vars(result), "sets": [moved], "counts": all_runs, "counts, tuned": tuned}).splitlines()
    assert any(line.startswith("- toy P@1: the labels of that run of napkinXC PLT are gone") for line in lines)


def test_runs_made_again_keep_labels_and_figures_and_no_times(toy, module, monkeypatch):
    peers, started = module("peers"), []
    monkeypatch.setattr(peers, "start", fake_start(toy, started))
    options = ["toy", "--methods", "knn,x1-default", "--repeat", "1", "--no-compile"]
    options += ["--results", str(toy / "peers.json"), "--labels", str(toy / "labels"), "--docs", str(toy)]
    peers.main(options)
    before = {row["name"]: row for row in json.loads((toy / "peers.json").read_text())["rows"]}
    (toy / "labels" / "toy.knn.1.npz").unlink()
    peers.main([*options, "--again", "2"])
    after = {row["name"]: row for row in json.loads((toy / "peers.json").read_text())["rows"]}
    assert after["x1-default"] == before["x1-default"]  # neartag's own find the same each time
    again = after["knn"].pop("again")
    assert after["knn"] == before["knn"]
    assert len(again) == 2
    assert set(again[0]) == {key for key in before["knn"]["runs"][0] if "@" in key}
    names = {path.name for path in (toy / "labels").iterdir()}
    assert names == {"toy.x1-default.1.npz", "toy.knn.again1.npz", "toy.knn.again2.npz"}
    refined = module("refined")
    rows = [{"data": "toy", "name": "pecos", "method": "PECOS, tuned", "runs": [again[0]]}]
    plain = [{**after["knn"], "again": again}]
    together = refined.with_defaults(rows, plain, toy / "labels")
    assert [row.get("number") for row in together] == [None, 1, "again1", "again2"]
    assert refined.place(together[3], "P@1", toy) == toy / "labels" / "toy.knn.again2.npz"


def test_a_comparison_stays_where_the_labels_of_the_same_runs_are_gone(toy, module):
    refined = module("refined")
    train, test = (registry.load("toy", part) for part in ("train", "test"))
    figures = dict.fromkeys(refined.FIGURES, 50.0)
    ours, peer = ({"data": "toy", "name": name, "method": name, "runs": [figures]} for name in ("x1-refined", "plt"))
    known = {"ours": 50.0, "best": 50.0, "peer": "plt", "difference": 0.0, "low": -1.0, "high": 1.0}
    before = dict.fromkeys(refined.FIGURES, known)
    assert refined.compare(ours, [peer], train, test, toy, before) == before
    before["P@5"] = {**known, "best": 49.0}  # another run
    with pytest.raises(DataError, match="there are no labels of x1-refined on toy"):
        refined.compare(ours, [peer], train, test, toy, before)
