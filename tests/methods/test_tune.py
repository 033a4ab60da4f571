"""Settings chosen on held-out points: who judges, who goes on, what is tried, and how the choice is used."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_helpers import fail, invoke, succeed
from neartag import presets, store
from neartag.cli import tune_report
from neartag.core.errors import DataError, ParameterError
from neartag.core.parameters import check_settings
from neartag.core.progress import Progress
from neartag.data import formats, synthetic
from neartag.methods import halving, registry, tune
from neartag.methods import search_space as grids
from neartag.methods.trial import Trial
from neartag.metrics import evaluate
from neartag.x1.classifier import X1Classifier

METHODS = registry.METHODS.builtin()
# Votes alone: what a trained model answers with other settings of the vote is then what training with these gives.
FIXED = {"n_clusters": 1, "n_learners": 1, "embedding_dim": 10, "svp_neighbours": 20, "vote_sharpness": 20.0}
FIXED["refine"] = False


@pytest.fixture(scope="module")
def data():
    return synthetic.make(400, 150, 30, 10, 2.5, seed=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    place = tmp_path_factory.mktemp("tune")
    formats.write(data, place / "train.txt")
    return place


def parted(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that a search may train on and those that judge, found again."""
    order = np.random.default_rng(seed).permutation(n)
    held = min(tune.MAX_VALIDATION_POINTS, int(tune.VALIDATION_SHARE * n))
    return np.sort(order[held:]), np.sort(order[:held])


def measured(classifier, data, rows, held) -> list[float]:
    labels, _ = classifier.fit(data.X[rows], data.Y[rows]).predict_topk(data.X[held], 5)
    found = evaluate(labels, data.Y[held])
    return [found[f"P@{k}"] for k in (1, 3, 5)]


class TestSearch:
    def test_the_figures_are_those_of_the_held_out_points(self, data):
        found = tune.tune(data.X, data.Y, fixed=FIXED, tried={"l2": [1.0, 1e6]}, n_jobs=1)
        rows, held = parted(400)
        assert found.held_out == len(held) == 80
        assert found.best.points == len(rows) == 320
        again = measured(X1Classifier(**found.settings, n_jobs=1), data, rows, held)
        assert list(found.best.metrics.values()) == pytest.approx(again)
        assert found.best.score == pytest.approx(np.mean(again))

    def test_the_best_is_chosen(self, data):
        found = tune.tune(data.X, data.Y, fixed=FIXED, tried={"l2": [1e6, 1.0]}, n_jobs=1)
        assert found.settings["l2"] == 1.0
        assert found.best.score == max(trial.score for trial in found.trials)
        assert [trial.settings["l2"] for trial in found.trials] == ["auto", 1e6, 1.0]
        assert {name: found.settings[name] for name in FIXED} == FIXED

    def test_what_only_prediction_uses_is_the_best_there_is_nearby(self, data):
        shares, counts = [0.0, 0.2, 0.5], [5, 20, 60]
        tried = {"l2": [1.0], "feature_share": shares, "vote_neighbours": counts}
        found = tune.tune(data.X, data.Y, fixed=FIXED, tried=tried, n_jobs=1)
        rows, held = parted(400)
        scores = {
            (share, count): np.mean(
                measured(
                    X1Classifier(**FIXED, l2=1.0, feature_share=share, vote_neighbours=count, n_jobs=1),
                    data,
                    rows,
                    held,
                )
            )
            for share in shares
            for count in counts
        }
        share, count = found.settings["feature_share"], found.settings["vote_neighbours"]
        assert found.best.score == pytest.approx(scores[share, count])
        place, other = shares.index(share), counts.index(count)
        for near in shares[max(0, place - 1) : place + 2]:
            assert scores[share, count] >= scores[near, count] - 1e-9
        for near in counts[max(0, other - 1) : other + 2]:
            assert scores[share, count] >= scores[share, near] - 1e-9

    def test_training_is_done_once_for_all_that_only_prediction_uses(self, data, monkeypatch):
        fits = []
        fit = X1Classifier.fit
        monkeypatch.setattr(X1Classifier, "fit", lambda self, *given: fits.append(self) or fit(self, *given))
        tune.tune(data.X, data.Y, fixed=FIXED, tried={"l2": [1.0, 3.0]}, n_jobs=1)
        assert len(fits) == 1 + 2, "the default, and each value"

    def test_what_was_refined_with_other_votes_is_trained_again(self, data):
        fixed = {**FIXED, "refine": True, "refine_cost": 1.0, "l2": 1.0}
        del fixed["vote_sharpness"]
        found = tune.tune(data.X, data.Y, fixed=fixed, tried={"vote_neighbours": [5, 20]}, n_jobs=1)
        assert [trial.settings for trial in found.trials] == [{"vote_neighbours": count} for count in ("auto", 5, 20)]
        rows, held = parted(400)
        for trial in found.trials:
            again = measured(X1Classifier(**fixed, **trial.settings, n_jobs=1), data, rows, held)
            assert list(trial.metrics.values()) == pytest.approx(again)

    def test_the_default_is_tried_in_every_round_and_never_beats_the_choice(self, data):
        fixed = {name: value for name, value in FIXED.items() if name not in ("refine", "vote_sharpness")}
        found = tune.tune(data.X, data.Y, fixed=fixed, n_jobs=1, min_round_points=30)
        sizes = list(dict.fromkeys(trial.points for trial in found.trials))
        assert sizes == [35, 106, 320]
        defaults = [trial for trial in found.trials if trial.default]
        assert [trial.points for trial in defaults] == sizes
        assert {trial.settings["refine"] for trial in found.trials} == {True, False}
        rows, held = parted(400)
        again = measured(X1Classifier(**fixed, n_jobs=1), data, rows, held)
        assert list(found.default.metrics.values()) == pytest.approx(again)
        assert found.default is defaults[-1]
        assert found.gain == found.best.score - found.default.score >= 0
        again = measured(X1Classifier(**found.settings, n_jobs=1), data, rows, held)
        assert list(found.best.metrics.values()) == pytest.approx(again)

    def test_where_nothing_is_better_the_default_is_chosen(self, data):
        fixed = {"row_scale": "unit", "metric": "cosine", "vote_weight": "similarity"}
        found = tune.tune(data.X, data.Y, "knn", fixed=fixed, tried={"neighbours": [300]}, n_jobs=1)
        assert found.best is found.default
        assert found.gain == 0
        assert 1 < found.settings["neighbours"] < 300

    def test_more_points_for_those_that_go_on(self, data):
        fixed = {name: value for name, value in FIXED.items() if name != "embedding_dim"}
        tried = {"embedding_dim": [2, 5, 10], "l2": [0.1, 1.0, 1e3, 1e4]}
        found = tune.tune(data.X, data.Y, fixed=fixed, tried=tried, n_jobs=1, min_round_points=30)
        sizes = [trial.points for trial in found.trials]
        assert sizes == [106] * 13 + [320] * 5, "the default comes first, and goes on in any case"
        first, last = found.trials[1:13], found.trials[14:]
        best = sorted(first, key=lambda trial: -trial.score)[:4]
        pairs = [[(t.settings["embedding_dim"], t.settings["l2"]) for t in some] for some in (best, last)]
        assert pairs[0] == pairs[1], "the best third goes on, the best first"
        assert found.best in last
        assert found.best.score == max(trial.score for trial in last)

    def test_nobody_is_trained_on_the_points_that_judge(self, data, monkeypatch):
        parts = []
        made = halving.run_trial
        monkeypatch.setattr(halving, "run_trial", lambda *given: parts.append(given[-1]) or made(*given))
        tune.tune(data.X, data.Y, "knn", n_jobs=1, random_state=5, min_round_points=30)
        rows, held = parted(400, 5)
        for X, Y, X_held, Y_held in parts:
            assert (X_held != data.X[held]).nnz == 0
            assert (Y_held != data.Y[held]).nnz == 0
            assert X.shape[0] == Y.shape[0] <= len(rows)
        assert (parts[-1][0] != data.X[rows]).nnz == 0

    def test_the_same_seed_makes_the_same_choice(self, data):
        one, other = (tune.tune(data.X, data.Y, fixed=FIXED, n_jobs=jobs) for jobs in (1, 2))
        assert one.settings == other.settings
        assert [trial.metrics for trial in one.trials] == [trial.metrics for trial in other.trials]

    def test_features_keep_a_vote_whatever_comes_first(self, data):
        fixed = {**FIXED, "l2": 1e6, "vote_neighbours": 20}
        found = tune.tune(data.X, data.Y, fixed=fixed, tried={"feature_share": [0.0, 0.9]}, n_jobs=1)
        default, other = found.trials
        assert default.default
        assert other.settings["feature_share"] == 0.9, "embeddings are worth nothing at this penalty"

    @pytest.mark.parametrize("method", ["knn", "leml"])
    def test_other_methods(self, data, method):
        found = tune.tune(data.X, data.Y, method, tried={"l2": [1.0, 3.0]} if method == "leml" else None, n_jobs=1)
        rows, held = parted(400)
        classifier = METHODS[method].estimator_class()(**found.settings, random_state=0, n_jobs=1)
        assert list(found.best.metrics.values()) == pytest.approx(measured(classifier, data, rows, held))

    def test_dense_rows(self, data):
        sparse, dense = (
            tune.tune(X, data.Y, "knn", fixed={"row_scale": "unit"}, n_jobs=1) for X in (data.X, data.X.toarray())
        )
        assert sparse.settings == dense.settings

    def test_progress_counts_what_is_trained(self, data):
        class Counting(Progress):
            done = total = 0

            def start(self, total, description):
                self.total = total
                return self

            def advance(self, steps=1, note=""):
                self.done += steps
                assert "at best" in note

        bar = Counting()
        tune.tune(data.X, data.Y, "knn", n_jobs=1, progress=bar)
        assert bar.done == bar.total == 3


class TestPlan:
    @pytest.mark.parametrize(
        ("points", "combinations", "sizes"),
        [
            (300, 90, [300]),
            (5999, 90, [5999]),
            (6000, 90, [2000, 6000]),
            (80_000, 30, [8888, 26_666, 80_000]),
            (80_000, 60, [2962, 8888, 26_666, 80_000]),
            (10**7, 10**6, [370_370, 1_111_111, 3_333_333, 10**7]),
            (10**6, 6, [10**6]),
            (10**6, 7, [333_333, 10**6]),
            (10**6, 1, [10**6]),
        ],
    )
    def test_rounds(self, points, combinations, sizes):
        assert tune.rounds(points, combinations) == sizes

    def test_the_likeliest_comes_first(self):
        assert grids.combinations({"a": [1, 2], "b": ["x", "y"]})[:2] == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}]
        assert grids.combinations({}) == [{}]

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("points", [100, grids.MANY_POINTS])
    def test_every_grid_can_be_used(self, method, points):
        method = METHODS[method]
        for space in (method.search_space, *method.search_space.others):
            training, prediction, when, _ = grids.space_grid(space, points)
            later = method.prediction
            assert set(prediction) <= set(later)
            assert space.retrains or not set(training) & set(later)
            check_settings(when, method.parameters, method.name)
            for name, values in {**training, **prediction}.items():
                assert len(set(values)) == len(values) >= 1
                for value in values:
                    check_settings({name: value}, method.parameters, method.name)
            grids.space_grid(space, points).training.clear()
            assert grids.space_grid(space, points).training == training

    def test_clusters_are_tried_on_many_points_only(self):
        (votes,) = METHODS["x1"].search_space.others
        assert "n_clusters" not in grids.space_grid(votes, grids.MANY_POINTS - 1).training
        assert "n_clusters" in grids.space_grid(votes, grids.MANY_POINTS).training

    def test_of_a_large_space_single_changes_come_first(self):
        search = grids.plan_search(METHODS["x1"], 1000, {}, {})
        made = search.candidates(0)
        assert len(made) == grids.MAX_COMBINATIONS
        assert len({candidate.key for candidate in [search.default, *made]}) == len(made) + 1
        assert made[0].settings == {"refine": False, "embedding_dim": 200, "l2": 1.0, "svp_neighbours": 100}
        assert made[1].settings == {**search.default.settings, "refine_cost": 0.5}
        changed = [
            sum(value != "auto" for name, value in candidate.settings.items() if name != "refine")
            for candidate in made
            if candidate.settings["refine"]
        ]
        assert changed[:10] == [1] * 10
        assert max(changed) > 1
        assert [candidate.key for candidate in search.candidates(0)] == [candidate.key for candidate in made]
        assert [candidate.key for candidate in search.candidates(1)] != [candidate.key for candidate in made]
        assert made[0].prediction.keys() == {"vote_neighbours", "feature_share", "vote_sharpness"}
        assert not made[1].prediction

    @pytest.mark.parametrize(
        ("fixed", "tried", "kept"),
        [
            ({}, {}, [True, False]),
            ({"refine": False}, {}, [None]),
            ({}, {"refine": [False]}, [False]),
            ({"refine": True}, {"refine_cost": [1.0]}, [None]),
        ],
    )
    def test_spaces_that_are_left(self, fixed, tried, kept):
        search = grids.plan_search(METHODS["x1"], 1000, fixed, tried)
        assert [grid.when.get("refine") for grid in search.grids] == kept
        assert search.default.settings.get("refine", True) is True

    def test_what_votes_do_not_use_is_not_tried_with_them(self):
        refined, votes = grids.plan_search(METHODS["x1"], 1000, {}, {"refine_cost": [7.0], "svp_step": [1.0]}).grids
        assert (refined.training["refine_cost"], refined.training["svp_step"]) == ([7.0], [1.0])
        assert "refine_cost" not in votes.training
        assert votes.training["svp_step"] == [1.0]

    def test_changes_that_helped_are_tried_together(self):
        search = grids.plan_search(METHODS["x1"], 1000, {"refine": True}, {})
        single = {tuple(candidate.settings.values()): candidate.key for candidate in search.candidates(0)}
        auto = dict.fromkeys(search.default.settings, "auto")
        scores = {search.default.key: 50.0}
        assert search.join_gains(scores) is None
        for change, score in (({"l2": 3.0}, 51.0), ({"l2": 10.0}, 52.0), ({"refine_cost": 0.5}, 49.0)):
            scores[single[tuple({**auto, **change}.values())]] = score
        assert search.join_gains(scores) is None
        scores[single[tuple({**auto, "embedding_dim": 100}.values())]] = 50.5
        assert search.join_gains(scores).settings == {**auto, "l2": 10.0, "embedding_dim": 100}
        assert search.join_gains({}) is None


class TestFailures:
    def test_settings_that_cannot_be_trained_are_told_and_passed_over(self, data, monkeypatch):
        fit = X1Classifier.fit

        def picky(self, *given):
            if self.l2 == 3.0:
                raise DataError("three is too many")
            if self.l2 == 4.0:
                raise MemoryError
            return fit(self, *given)

        monkeypatch.setattr(X1Classifier, "fit", picky)
        found = tune.tune(data.X, data.Y, fixed=FIXED, tried={"l2": [3.0, 4.0, 1.0]}, n_jobs=1)
        assert [trial.error for trial in found.trials] == ["", "three is too many", "there was not enough memory", ""]
        assert found.settings["l2"] in ("auto", 1.0)
        assert found.trials[1].score < 0
        with pytest.raises(ParameterError, match="no settings of x1 could be trained: three is too many"):
            tune.tune(data.X, data.Y, fixed={**FIXED, "l2": 3.0}, tried={"vote_neighbours": [3]}, n_jobs=1)

    def test_a_default_that_cannot_be_trained_is_passed_over(self, data, monkeypatch):
        fit = X1Classifier.fit

        def picky(self, *given):
            if self.l2 == "auto":
                raise DataError("say how much")
            return fit(self, *given)

        monkeypatch.setattr(X1Classifier, "fit", picky)
        found = tune.tune(data.X, data.Y, fixed=FIXED, tried={"l2": [1.0]}, n_jobs=1)
        assert (found.default, found.gain, found.settings["l2"]) == (None, None, 1.0)

    def test_a_bug_is_not_hidden(self, data, monkeypatch):
        def broken(self, *given):
            raise ZeroDivisionError

        monkeypatch.setattr(X1Classifier, "fit", broken)
        with pytest.raises(ZeroDivisionError):
            tune.tune(data.X, data.Y, fixed=FIXED, n_jobs=1)

    @pytest.mark.parametrize(
        ("fixed", "tried", "said"),
        [
            ({"l2": 1.0}, {"l2": [1.0]}, "l2 is both fixed and to be tried"),
            ({}, {"l2": []}, "l2 is to be tried, but no value"),
            ({"nonsense": 1}, {}, "has no parameter 'nonsense'"),
            ({}, {"nonsense": [1]}, "has no parameter 'nonsense'"),
            ({"l2": -1.0}, {}, "l2 must be"),
            ({}, {"l2": [1.0, -1.0]}, "l2 must be"),
            (
                {"row_scale": "unit", "neighbours": 5, "metric": "cosine", "vote_weight": "uniform"},
                {},
                "nothing to choose",
            ),
        ],
    )
    def test_what_cannot_be_asked_for(self, data, fixed, tried, said):
        with pytest.raises(ParameterError, match=said):
            tune.tune(data.X, data.Y, "knn" if "metric" in fixed else "x1", fixed=fixed, tried=tried)

    def test_too_few_points(self, data):
        with pytest.raises(DataError, match="99 points, too few to choose settings on: at least 100"):
            tune.tune(data.X[:99], data.Y[:99])

    def test_machine_settings_are_no_part_of_the_choice(self, data):
        fixed = {**FIXED, "max_memory": "4GB", "n_jobs": 1, "random_state": 3}
        found = tune.tune(data.X, data.Y, fixed=fixed, tried={"l2": [1.0]}, n_jobs=2)
        assert not {"max_memory", "n_jobs"} & set(found.settings)
        assert found.settings["random_state"] == 3


class TestGain:
    """How sure a gain is follows from the held-out points: the same gain is clear on some data and chance on others."""

    @staticmethod
    def tuned(gains):
        default = Trial({"l2": 1.0}, 10, {"P@1": 40.0}, default=True, precisions=[40.0] * len(gains))
        best = Trial({"l2": 3.0}, 10, {"P@1": 40.0 + np.mean(gains)}, precisions=[40.0 + gain for gain in gains])
        return tune.Tuned("x1", {"l2": 3.0}, best, [default, best], len(gains), default)

    def test_the_error_is_that_of_the_pairs(self):
        assert self.tuned([0.0, 10.0, 0.0, 10.0]).gain_error == 5 / 2

    @pytest.mark.parametrize(("gains", "chance"), [([1.0] * 99 + [2.0], False), ([31.0, -29.0] * 50, True)])
    def test_a_gain_may_be_chance(self, gains, chance):
        told = tune_report._gain(self.tuned(gains))
        assert told.startswith("+1.0")
        assert ("so little may be chance" in told) == chance

    def test_trials_know_the_precision_of_each_held_out_point(self, data):
        found = tune.tune(data.X, data.Y, "knn", tried={"neighbours": [3]}, n_jobs=1)
        for trial in found.trials:
            assert len(trial.precisions) == found.held_out
            assert np.mean(trial.precisions) == pytest.approx(trial.score, abs=0.005)


class TestFile:
    def test_what_is_written_is_read(self, tmp_path):
        presets.write(tmp_path / "mine.json", "x1", {"l2": 3.0, "n_clusters": "auto"}, {"data": "mine"})
        assert presets.get(str(tmp_path / "mine.json")) == {"l2": 3.0, "n_clusters": "auto"}
        with pytest.raises(ParameterError, match="is one of x1, not of leml: give --method x1"):
            presets.get(str(tmp_path / "mine.json"), "leml")

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (None, "there is no such file; neartag tune DATA --out"),
            ("{", "is no JSON such as"),
            ("[]", "must be an object such as"),
            ('{"settings": 3}', "must be an object such as"),
            ('{"settings": {"l2": "many"}}', "l2 must be"),
            ('{"settings": {"nonsense": 1}}', "x1 has no parameter 'nonsense'"),
        ],
    )
    def test_a_file_that_is_no_preset(self, tmp_path, content, said):
        path = tmp_path / "mine.json"
        if content is not None:
            path.write_text(content)
        with pytest.raises(ParameterError, match=said) as raised:
            presets.get(str(path))
        assert str(path) in str(raised.value)


class TestCommand:
    SMALL = tuple(f"--fix={each}" for each in ("n-clusters=1", "embedding_dim=10", "svp_neighbours=20", "refine=false"))
    SMALL += ("--n-jobs", 1)

    def test_shows_what_was_tried_and_writes_a_preset(self, folder, data, tmp_path):
        out = tmp_path / "mine.json"
        shown = succeed("tune", folder, *self.SMALL, "--try", "l2=1,3", "--out", out, "--quiet")
        assert "settings of X1 (SLEEC), judged by 80 held-out points" in shown
        assert "l2=3" in shown
        assert "default: " in shown
        assert not list(tmp_path.glob("*.progress"))
        assert f"neartag train {folder} MODEL --preset {out}" in shown
        written = json.loads(out.read_text())
        assert written["method"] == "x1"
        assert written["settings"]["embedding_dim"] == 10
        assert (written["about"]["trained_on"], written["about"]["held_out"]) == (320, 80)
        succeed("train", folder, tmp_path / "model", "--preset", out, "--n-jobs", 1)
        settings = store.load(tmp_path / "model").model.parameters
        set_to = {name: value for name, value in written["settings"].items() if value != "auto"}
        assert len(set_to) > 3
        assert {name: settings[name] for name in set_to} == set_to
        fixed = {"n_clusters": 1, "embedding_dim": 10, "svp_neighbours": 20, "refine": False}
        expected = tune.tune(data.X, data.Y, fixed=fixed, tried={"l2": [1.0, 3.0]})
        assert written["settings"] == expected.settings
        assert written["about"]["tried"] == len(expected.trials)
        assert "features" not in written
        report = json.loads(
            succeed("compare", "--train", folder, "--test", folder / "train.txt", "--preset", out, "--json")
        )
        assert [row["preset"] for row in report["methods"]] == [str(out), None]

    def test_json_has_every_trial(self, folder):
        report = json.loads(succeed("tune", folder, "--method", "knn", "--json", "--n-jobs", 1))
        assert report["method"] == "knn"
        assert [trial["default"] for trial in report["trials"]] == [True, False, False]
        assert report["default"] == report["trials"][0]
        assert report["gain"] == max(trial["score"] for trial in report["trials"]) - report["default"]["score"]
        assert report["train"].startswith(f"neartag train {folder} MODEL --method knn --row-scale")
        assert report["seconds"] > 0
        assert "features" not in report
        assert report["settings"].keys() == {"row_scale", "neighbours", "metric", "vote_weight"}
        best = max(report["trials"], key=lambda trial: trial["score"])
        assert report["about"]["P@1"] == round(best["metrics"]["P@1"], 2)

    def test_without_a_file_the_options_are_shown(self, folder):
        shown = succeed("tune", folder, *self.SMALL, "--fix", "l2=1", "--max-points", 200)
        assert "judged by 40 held-out points" in shown
        line = next(line for line in shown.splitlines() if line.startswith("train "))
        assert f"neartag train {folder} MODEL --n-clusters 1 --embedding-dim 10" in line
        assert "--l2 1 " in line

    def test_texts(self, tmp_path):
        lines = [json.dumps({"text": f"alpha{i % 7} beta{i % 3}", "labels": [f"l{i % 7}"]}) for i in range(150)]
        (tmp_path / "texts.jsonl").write_text("\n".join(lines))
        shown = succeed("tune", tmp_path / "texts.jsonl", "--method", "knn", "--quiet")
        assert "100.00" in shown

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--fix", "l2"], "--fix l2: write NAME=VALUE, such as l2=1"),
            (["--try", "l2="], "--try l2=: write NAME=VALUE,VALUE"),
            (["--fix", "nonsense=1"], "x1 has no parameter 'nonsense'; it has n_learners"),
            (["--fix", "l2=many"], "--fix l2 must be a number"),
            (["--try", "l2=1,many"], "--try l2 must be a number"),
            (["--fix", "l2=1", "--fix", "l2=2"], "was given before"),
            (["--method", "nonsense"], "there is no method 'nonsense'"),
            (["--out", "preset.txt"], "must end in .json"),
            (["--out", "nowhere/preset.json"], "there is no folder nowhere"),
            (["--max-points", "0"], "--max-points must be at least 1"),
            (["--minutes", "0"], "--minutes must be above 0, not 0"),
            (["--minutes", "nan"], "--minutes must be above 0"),
            (["--fix", "features=letters"], "features='letters': must be one of auto, characters"),
            (["--fix", "features=words,all"], "--fix features=words,all: name one kind, or use --try"),
            (["--try", "features=words", "--try", "features=all"], "features was given before"),
            (["--try", "features=words", "--fix", "features=all"], "features is both fixed and to be tried"),
            (["--random-state", "-1"], "--random-state must be at least 0"),
        ],
    )
    def test_mistakes_are_told_before_anything_is_read(self, tmp_path, arguments, said):
        assert said in fail("tune", tmp_path / "missing.txt", *arguments)

    def test_a_preset_that_is_missing(self, folder, tmp_path):
        line = fail("train", folder, tmp_path / "model", "--preset", tmp_path / "none.json")
        assert "neartag tune DATA --out" in line

    def test_progress_goes_to_standard_error(self, folder):
        result = invoke("tune", folder, *self.SMALL, "--try", "l2=1", "--json")
        assert json.loads(result.stdout)["settings"]["l2"] == 1.0
