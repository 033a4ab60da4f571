"""A search within a time budget: what is begun, what is left out, and what is chosen when time is short."""

from __future__ import annotations

import json

import pytest

from cli_helpers import succeed
from neartag.core.errors import ParameterError
from neartag.core.progress import Progress
from neartag.data import formats, synthetic
from neartag.methods import halving, registry, tune
from neartag.methods.points import RowPoints
from neartag.methods.search_space import plan_search
from neartag.methods.time_budget import GROWTH, MARGIN, TimeBudget
from neartag.methods.trial import Trial
from neartag.methods.trial_log import TrialLog


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture(scope="module")
def data():
    return synthetic.make(400, 150, 30, 10, 2.5, seed=3)


class TestPrediction:
    def test_without_a_limit_there_is_always_time(self):
        assert TimeBudget(None).left == float("inf")

    def test_times_grow_with_the_points(self):
        clock = Clock()
        budget = TimeBudget(60, clock)
        assert budget.predict("a", 1000) == 0, "nothing is known yet"
        budget.note("a", 1000, 2.0)
        budget.note("b", 1000, 5.0)
        assert budget.predict("a", 3000) == pytest.approx(MARGIN * 2 * 3**GROWTH)
        assert budget.predict("a", 10) == pytest.approx(MARGIN * 2)
        assert budget.predict("c", 1000) == pytest.approx(MARGIN * 5), "as the slowest"
        clock.now += 20
        assert (budget.used, budget.left) == (20, 40)


class FakeRunner(halving.TrialRunner):
    """Trials take a second for each 100 points, and longer where `slow` says so; the clock is made up."""

    def __init__(self, points, seconds, slow=lambda candidate: 1.0):
        self.clock, self.slow, self.begun = Clock(), slow, []
        budget = TimeBudget(seconds, self.clock)
        rest, held = tune.hold_out(points, 0)
        super().__init__(registry.get("x1"), RowPoints(None, None), {}, rest, held, budget, TrialLog(None, ""))

    def _train(self, candidate, train):
        takes = self.slow(candidate) * len(train) / 100
        self.begun.append((self.budget.predict(candidate.key, len(train)), self.budget.left, takes))
        self.clock.now += takes
        score = 50 + candidate.settings.get("embedding_dim", 0) / 100 if candidate.settings["refine"] else 10
        return Trial(candidate.settings, len(train), {"P@1": score})

    def search(self):
        search = plan_search(self.method, 1000, {"l2": 1.0}, {"embedding_dim": [50, 100, 200], "refine": [True]})
        search.default.settings["embedding_dim"] = 0
        candidates = search.candidates(0, 64)
        sizes = halving.rounds(len(self.rest), len(candidates))
        self.warm_up(search.default)
        self.begun.clear()
        halving.run_rounds(self, search, candidates, sizes, Progress())
        return halving.choose_best(self.trials)


class TestRounds:
    @pytest.mark.parametrize("minutes", [0.1, 1, 5, 12, 30, 60, 600])
    @pytest.mark.parametrize("slowness", [1.0, 4.0])
    def test_ends_in_time_with_the_best_so_far(self, minutes, slowness):
        runner = FakeRunner(27_000, 60.0 * minutes, lambda candidate: slowness)
        best, default = runner.search()
        assert default is not None
        assert best.score >= default.score
        assert best.points == default.points
        for predicted, left, _ in runner.begun if len(runner.trials) > 1 else []:
            assert predicted <= left
        assert runner.budget.used <= 60 * minutes or len(runner.trials) == 1
        sizes = [trial.points for trial in runner.trials if trial.default]
        assert sizes == sorted(set(sizes))

    def test_more_time_more_trials_on_more_points(self):
        found = {}
        for minutes in (5, 30, 600):
            runner = FakeRunner(27_000, 60.0 * minutes)
            best, _ = runner.search()
            found[minutes] = (best.points, len(runner.trials))
        assert found[5][0] < found[30][0] == found[600][0] == 24_000
        assert found[5][1] < found[30][1] < found[600][1]

    def test_time_for_nothing_still_gives_the_default(self):
        runner = FakeRunner(27_000, 1e-9)
        best, default = runner.search()
        assert best is default
        assert [trial.points for trial in runner.trials] == [halving.WARM_UP_POINTS]

    def test_slow_settings_are_not_begun_at_the_end(self):
        runner = FakeRunner(27_000, 1800.0, lambda candidate: 30.0 if candidate.settings["embedding_dim"] == 200 else 1)
        best, _ = runner.search()
        assert runner.budget.used <= 1800
        assert best.points > 888

    def test_of_equals_the_default(self):
        trials = [Trial({}, 10, {"P@1": 3.0}), Trial({}, 10, {"P@1": 3.0}, default=True)]
        assert halving.choose_best(trials) == (trials[1], trials[1])

    def test_a_last_round_with_the_default_alone_chooses_nothing(self):
        first = [Trial({"a": place}, 10, {"P@1": 3.0 + place}, default=place == 0) for place in range(2)]
        last = Trial({"a": 0}, 30, {"P@1": 9.0}, default=True)
        assert halving.choose_best([*first, last]) == (first[1], first[0])


class TestCommand:
    def test_a_tiny_budget(self, data, tmp_path):
        formats.write(data, tmp_path / "train.txt")
        report = json.loads(succeed("tune", tmp_path, "--minutes", "0.0001", "--json", "--n-jobs", 1))
        assert report["minutes"] == 0.0001
        assert report["gain"] == 0
        assert [trial["default"] for trial in report["trials"]] == [True]
        shown = succeed("tune", tmp_path, "--method", "knn", "--minutes", "5", "--n-jobs", 1)
        assert "of 5 min: what was tried depends on the speed of this machine" in shown

    def test_enough_time_chooses_as_without_a_limit(self, data):
        tried = {"l2": [1.0, 3.0], "embedding_dim": [5, 10]}
        fixed = {"refine": False, "svp_neighbours": 20, "vote_neighbours": 20, "feature_share": 0.0}
        free, limited = (
            tune.tune(data.X, data.Y, fixed=fixed, tried=tried, n_jobs=1, minutes=minutes) for minutes in (None, 60)
        )
        assert [trial.metrics for trial in free.trials] == [trial.metrics for trial in limited.trials]
        assert free.settings == limited.settings
        assert (free.minutes, limited.minutes) == (None, 60)

    @pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf")])
    def test_no_time(self, data, minutes):
        with pytest.raises(ParameterError, match="minutes must be above 0"):
            tune.tune(data.X, data.Y, minutes=minutes)
