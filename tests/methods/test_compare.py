"""`neartag compare`: what it measures, what it prints and draws, and what becomes of a method that fails."""

from __future__ import annotations

import json
import sys
import weakref

import numpy as np
import pytest

from cli_helpers import fail, invoke, succeed
from neartag import metrics, store
from neartag.cli import compare as command
from neartag.cli import compare_report, output, train
from neartag.comparators.knn.classifier import KNNClassifier
from neartag.core.errors import ParameterError
from neartag.core.method import OTHERS_COLOUR
from neartag.core.progress import Progress
from neartag.data import formats, synthetic
from neartag.evaluation import plots
from neartag.methods import compare
from neartag.methods.registry import METHODS
from neartag.x1.classifier import X1Classifier

X1 = {"n_learners": 1, "n_clusters": 2, "embedding_dim": 10, "svp_neighbours": 20, "feature_share": 0.0}
SETTINGS = [word for name, value in X1.items() for word in ("--set", f"x1.{name}={value}")]
BOTH = ["--methods", "x1,knn", *SETTINGS, "--set", "knn.neighbours=7", "--n-jobs", 1]
TEXTS = [("bake bread with yeast", ["bread"]), ("knead the dough", ["bread"]), ("grill a steak", ["meat"])] * 8


@pytest.fixture(scope="module")
def data():
    return synthetic.make(360, 150, 30, 10, 2.5, seed=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    place = tmp_path_factory.mktemp("compare")
    formats.write(data.take(np.arange(300)), place / "train.txt")
    formats.write(data.take(np.arange(300, 360)), place / "test.txt")
    return place


@pytest.fixture(scope="module")
def report(folder):
    return json.loads(succeed("compare", folder, *BOTH, "--json"))


@pytest.fixture
def broken(monkeypatch):
    """Return a function that makes kNN's training fail."""

    def break_with(error):
        def refuse(*_):
            raise error

        monkeypatch.setattr(KNNClassifier, "_train", refuse)

    return break_with


class TestMeasures:
    def test_equals_the_python_interface(self, report, data, tmp_path):
        found = {}
        for estimator in (X1Classifier(**X1, n_jobs=1), KNNClassifier(neighbours=7, n_jobs=1)):
            estimator.fit(data.X[:300], data.Y[:300])
            labels, _ = estimator.predict_topk(data.X[300:], 5)
            store.save(estimator, tmp_path / estimator.model_.kind)
            found[estimator.model_.kind] = labels
        assert [row["method"] for row in report["methods"]] == ["x1", "knn"]
        for row in report["methods"]:
            labels = found[row["method"]]
            assert row["metrics"] == metrics.evaluate(labels, data.Y[300:], Y_train=data.Y[:300])
            assert row["model_bytes"] == train.disk_bytes(tmp_path / row["method"])
            assert row["train_seconds"] >= 0
            assert row["train_cpu_seconds"] >= 0
            assert row["predict_ms_per_point"] > 0
        interval = metrics.paired_bootstrap(found["knn"], found["x1"], data.Y[300:])
        assert (report["against"], report["metric"]) == ("x1", "P@1")
        assert report["differences"] == [{"method": "knn", **interval._asdict()}]
        assert report["train"] == {"points": 300, "features": 150, "labels": 30}
        assert report["test"] == {"points": 60}

    def test_files_in_place_of_a_folder(self, report, folder):
        for where in (["--train", folder / "train.txt", "--test"], [folder / "train.txt", "--test"]):
            other = json.loads(succeed("compare", *where, folder / "test.txt", *BOTH, "--json"))
            assert [row["metrics"] for row in other["methods"]] == [row["metrics"] for row in report["methods"]]

    def test_other_cuts(self, report, folder):
        other = json.loads(succeed("compare", folder, *BOTH, "-k", "5,2", "--json"))
        assert other["k"] == [2, 5]
        assert other["metric"] == "P@2"
        for row, usual in zip(other["methods"], report["methods"], strict=True):
            assert {name for name in row["metrics"] if name.startswith("P@")} == {"P@2", "P@5"}
            assert row["metrics"]["PSP@5"] == usual["metrics"]["PSP@5"]

    def test_texts_as_train_and_evaluate_have_them(self, tmp_path):
        lines = [json.dumps({"text": text, "labels": labels}) for text, labels in TEXTS]
        (tmp_path / "train.jsonl").write_text("\n".join(lines))
        test = [{"text": "steak", "labels": ["meat"]}, {"text": "bread", "labels": ["bread", "zebra"]}]
        (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, test)))
        row = json.loads(succeed("compare", tmp_path, "--methods", "knn", "--json"))["methods"][0]
        succeed("train", tmp_path, tmp_path / "m", "--method", "knn")
        single = json.loads(succeed("evaluate", tmp_path / "m", tmp_path, "--json"))
        assert row["metrics"] == single["metrics"]
        assert row["metrics"]["P@1"] == 100
        assert row["metrics"]["R@5"] == 75  # nobody has ever heard of the zebra

    def test_what_all_methods_are_given(self, folder, monkeypatch):
        seen = []

        def fit(self, *arguments, original=KNNClassifier.fit, **more):
            seen.append(self.get_params())
            return original(self, *arguments, **more)

        monkeypatch.setattr(KNNClassifier, "fit", fit)
        arguments = ["--random-state", 5, "--max-memory", "4GB", "--n-jobs", 1]
        succeed("compare", folder, "--methods", "knn", *arguments)
        succeed("compare", folder, "--methods", "knn", *arguments, "--set", "knn.random_state=6")
        assert [each["random_state"] for each in seen] == [5, 6]
        assert {(each["max_memory"], each["n_jobs"]) for each in seen} == {("4GB", 1)}

    def test_a_model_is_gone_before_the_next_is_trained(self, folder, monkeypatch):
        models, alive = [], []
        for estimator in (KNNClassifier, X1Classifier):

            def fit(self, *arguments, original=estimator.fit, **more):
                alive.append([one() is not None for one in models])
                original(self, *arguments, **more)
                models.append(weakref.ref(self.model_))

            monkeypatch.setattr(estimator, "fit", fit)
        succeed("compare", folder, *BOTH)
        assert alive == [[], [False]]

    def test_progress_says_whose_it_is(self):
        class Told(Progress):
            words: list[str]

            def start(self, total, description):
                self.words.append(description)
                return self

            def finish(self):
                self.words.append("end")

        told = Told()
        told.words = []
        with compare.NamedProgress(told, "kNN").start(3, "training") as progress:
            progress.advance(1)
        assert told.words == ["kNN: training", "end"]


class TestPlan:
    def test_methods_by_name(self):
        assert list(command.choose_methods("all")) == METHODS.names()
        assert list(command.choose_methods("knn, X1,local-leml,knn")) == ["knn", "x1", "local_leml"]

    def test_the_preset_of_the_data_is_used_where_there_is_one(self, monkeypatch):
        methods = METHODS.builtin()
        monkeypatch.setitem(methods["knn"].presets, "toy", {"neighbours": 3, "metric": "euclidean"})
        both = [methods["knn"], methods["leml"]]
        given = command.read_changes(["knn.neighbours=4", "leml.rank=0.5"], methods)
        knn, leml = compare.plan(both, None, "toy", given)
        assert (knn.preset, knn.settings) == ("toy", {"neighbours": 4, "metric": "euclidean"})
        assert (leml.preset, leml.settings) == (None, {"rank": 0.5})
        (knn,) = compare.plan(both[:1], "none", "toy", {})
        assert (knn.preset, knn.settings) == (None, {})
        knn, leml = compare.plan(both, "toy", "other", {})
        assert (knn.preset, leml.preset) == ("toy", None)

    def test_a_preset_that_no_method_has_is_refused(self):
        with pytest.raises(ParameterError, match="no preset 'nonsense'"):
            compare.plan(list(METHODS.builtin().values()), "nonsense", "debian", {})


class TestShows:
    def test_a_table_with_the_best_marked(self, report, capsys):
        compare_report.show(report)
        shown = capsys.readouterr().out
        x1, knn = (next(line for line in shown.splitlines() if line.startswith(name)) for name in ("x1 ", "knn "))
        best = max(report["methods"], key=lambda row: row["metrics"]["P@1"])
        assert f"{best['metrics']['P@1']:.2f}*" in (x1 if best["method"] == "x1" else knn)
        # Four scores, of which ties have two stars, and four costs.
        assert x1.count("*") + knn.count("*") >= 8
        for heading in ("P@1", "P@3", "P@5", "PSP@1", "train s", "CPU s", "ms/point", "model"):
            assert f" {heading}" in shown
        assert max(map(len, shown.splitlines())) <= 80

    def test_intervals_bars_and_settings(self, report, capsys):
        compare_report.show(report)
        shown = capsys.readouterr().out
        difference = report["differences"][0]["difference"]
        assert f"{difference:+.2f}".replace("-", "−") in shown
        assert "P@1 beside x1's: 95% intervals of a paired bootstrap" in shown
        assert "█" in shown
        assert "knn  set: neighbours 7" in shown
        assert "embedding_dim 10" in shown

    @pytest.mark.parametrize(
        ("low", "high", "verdict"), [(0.1, 2, "better"), (-2, -0.1, "worse"), (-1, 1, "not told apart")]
    )
    def test_verdicts(self, report, capsys, low, high, verdict):
        each = {"method": "knn", "difference": (low + high) / 2, "low": low, "high": high}
        compare_report.show_differences({**report, "differences": [each]})
        assert capsys.readouterr().out.rstrip().endswith(verdict)

    def test_what_looks_the_same_is_equally_good(self, report):
        first = report["methods"][0]
        rows = [first, {**first, "metrics": {name: value + 1e-6 for name, value in first["metrics"].items()}}]
        _, marked = compare_report.table(rows, ["P@1"])
        assert marked == {(row, column) for row in (0, 1) for column in range(1, 6)}

    @pytest.mark.parametrize(
        ("value", "cost", "text"),
        [(66.5213, -1, "66.52"), (1234.5, 0, "1,234"), (12.34, 1, "12.3"), (1.234, 2, "1.23"), (0.0123, 2, "0.012")],
    )
    def test_numbers_have_as_many_digits_as_tell_them(self, value, cost, text):
        assert compare_report._cell(value, cost) == text
        assert compare_report._cell(2.5e6, 3) == "2.5 MB"

    def test_bars_fit_the_terminal_and_their_length_tells_the_value(self, capsys, monkeypatch):
        monkeypatch.setenv("COLUMNS", "40")
        output.show_bars([("long name", 80.0), ("b", 40.0), ("c", 0.0)], title="P@1")
        title, *lines = capsys.readouterr().out.splitlines()
        assert title == "P@1"
        assert max(map(len, lines)) <= 40
        assert lines[0].split()[2] == 21 * "█"
        assert lines[1].split()[1] == 10 * "█" + "▌"
        assert lines[2].split() == ["c", "0.00"]

    def test_stars_do_not_move_the_digits(self, capsys):
        output.show_table(["m", "n"], [["a", "10"], ["b", "5"]], marked={(1, 1)})
        assert capsys.readouterr().out.splitlines() == ["m    n", "-  ---", "a  10", "b   5*"]

    def test_cells_are_marked_by_colour_on_a_terminal(self, capsys, monkeypatch):
        from rich.console import Console

        monkeypatch.setattr(
            output, "find_terminal", lambda: Console(width=60, force_terminal=True, color_system="standard")
        )
        output.show_table(["m", "n"], [["a", "10"], ["b", "5"]], marked={(1, 1)})
        output.show_list([("name", ["[bold] first", "second"])], title="T")
        shown = capsys.readouterr().out
        assert shown.count("\x1b[1;32m") == 1
        assert "*" not in shown
        assert "[bold] first" in shown

    def test_a_list_is_broken_beside_its_names(self, capsys, monkeypatch):
        monkeypatch.setenv("COLUMNS", "28")
        output.show_list([("name", ["one two three four five six seven"]), ("n", ["\x1b[2J"])])
        lines = ["name  one two three four", "      five six seven", "n     \\x1b[2J"]
        assert capsys.readouterr().out.splitlines() == lines


class TestFailures:
    def test_a_method_that_refuses_is_a_row_and_the_others_go_on(self, folder, broken):
        broken(ParameterError("kNN has no wish to learn"))
        result = invoke("compare", folder, *BOTH)
        assert (result.exit_code, "Traceback" in result.stderr) == (0, False)
        row = next(line for line in result.stdout.splitlines() if line.startswith("knn "))
        assert row.split() == ["knn", *["–"] * 8]
        assert "Not trained\nknn  kNN has no wish to learn\n" in result.stdout
        x1, knn = json.loads(succeed("compare", folder, *BOTH, "--json"))["methods"]
        assert x1["metrics"]["P@1"] > 0
        assert knn["error"] == "kNN has no wish to learn"
        assert "metrics" not in knn

    def test_no_memory_is_a_reason(self, folder, broken):
        broken(MemoryError())
        assert "not enough memory" in succeed("compare", folder, *BOTH)

    def test_a_bug_keeps_its_traceback_and_the_others_go_on(self, folder, broken):
        broken(ZeroDivisionError("oh"))
        result = invoke("compare", folder, *BOTH)
        assert result.exit_code == 1
        assert "Traceback" in result.stderr
        assert "knn  ZeroDivisionError: oh" in result.stdout
        assert "ms/point" in result.stdout

    def test_the_first_that_could_be_trained_is_what_others_are_held_against(self, folder, broken):
        broken(ParameterError("no"))
        report = json.loads(succeed("compare", folder, *BOTH, "--methods", "knn,x1", "--json"))
        assert (report["against"], report["differences"]) == ("x1", [])

    def test_nothing_trained_is_one_line(self, folder, broken):
        broken(ParameterError("no"))
        line = fail("compare", folder, "--methods", "knn", "--quiet")
        assert line == "error: no method could be trained: knn: no\n"

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (["--methods", "x1,nonsense"], "there is no method 'nonsense': choose one of x1"),
            (["--methods", " , "], "--methods names none"),
            (["--preset", "nonsense"], "there is no preset 'nonsense'"),
            (["--set", "rank"], "write METHOD.PARAMETER=VALUE"),
            (["--set", "knn=3"], "write METHOD.PARAMETER=VALUE"),
            (["--set", "leml.rank=3"], "leml is not among the methods to compare"),
            (["--set", "knn.rank=3"], "knn has no parameter 'rank'; it has neighbours, metric,"),
            (["--set", "knn.neighbours=no"], "--set knn.neighbours must be a whole number from 1 to"),
            (["--random-state", "x"], "--random-state must be"),
            (["--max-memory", "x"], "--max-memory must be"),
            (["--n-jobs", "0"], "n_jobs must be"),
            (["-k", "1,x"], "-k must be whole numbers from 1 to 1000"),
            (["-k", "0"], "-k must be whole numbers"),
            (["--propensity-b", "0"], "b > 0"),
            (["--plot", "figure.pdf"], "an .svg or a .png file"),
            (["--plot", "no/such/folder/figure.svg"], "there is no folder"),
        ],
    )
    def test_mistakes_are_found_before_anything_is_trained(self, folder, monkeypatch, arguments, expected):
        monkeypatch.setattr(KNNClassifier, "fit", lambda *_: 1 / 0)
        monkeypatch.setattr(X1Classifier, "fit", lambda *_: 1 / 0)
        assert expected in fail("compare", folder, *arguments, "--quiet")

    def test_mistakes_in_data(self, folder, tmp_path):
        assert "name the data" in fail("compare")
        assert "name the data" in fail("compare", "--train", folder / "train.txt")
        assert "is one file" in fail("compare", folder / "train.txt")
        file, again = folder / "train.txt", f"{folder}/./train.txt"
        for where in (["--train", file, "--test", file], [file, "--test", file], ["--train", file, "--test", again]):
            told = fail("compare", *where)
            assert "the same file" in told
            assert "is one file" not in told
        assert "no such file" in fail("compare", tmp_path / "missing")
        (tmp_path / "other.txt").write_text("1 7 30\n0 3:1\n")
        assert "7 features" in fail("compare", folder, "--test", tmp_path / "other.txt", "-q")


class TestPlot:
    @pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
    def test_is_written_and_the_same_results_give_the_same_bytes(self, report, tmp_path, ending, start):
        pytest.importorskip("matplotlib")
        for name in ("a", "b"):
            compare_report.draw(report, METHODS.builtin(), str(tmp_path / f"{name}.{ending}"))
        content = (tmp_path / f"a.{ending}").read_bytes()
        assert content.startswith(start)
        assert content == (tmp_path / f"b.{ending}").read_bytes()

    def test_a_path_is_no_formula(self, report, tmp_path):
        pytest.importorskip("matplotlib")
        compare_report.draw({**report, "data": "$\\no{$"}, METHODS.builtin(), str(tmp_path / "figure.svg"))
        assert (tmp_path / "figure.svg").exists()

    def test_a_folder_that_cannot_be_written_in_is_found_out_first(self, tmp_path, monkeypatch):
        def refuse(**_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("tempfile.TemporaryFile", refuse)
        (tmp_path / "empty").mkdir()  # there, and nothing to read in it
        line = fail("compare", tmp_path / "empty", "--plot", tmp_path / "figure.svg")
        assert line == f"error: --plot {tmp_path / 'figure.svg'}: cannot be written: Permission denied\n"

    def test_a_drawing_that_fails_does_not_cost_the_table(self, folder, tmp_path, monkeypatch):
        pytest.importorskip("matplotlib")

        def refuse(*_):
            raise ParameterError("the disk is full")

        monkeypatch.setattr(plots, "draw", refuse)
        result = invoke("compare", folder, "--methods", "knn", "--n-jobs", 1, "--plot", tmp_path / "figure.svg")
        assert result.exit_code != 0
        assert "P@1, percent" in result.stdout

    def test_the_command_draws_every_method_that_could_be_trained(self, folder, tmp_path, monkeypatch):
        pytest.importorskip("matplotlib")
        drawn = []
        monkeypatch.setattr(plots, "draw_panel", lambda axes, panel: drawn.append(panel))
        succeed("compare", folder, *BOTH, "--plot", tmp_path / "figure.svg")
        assert (tmp_path / "figure.svg").exists()
        time, size = drawn
        assert [mark.name for mark in time.marks] == [mark.name for mark in size.marks] == ["X1 (SLEEC)", "kNN"]
        assert time.marks[0].cost > 0
        assert time.marks[1].cost is None, "kNN has nothing to train"
        assert all(mark.cost > 0 for mark in size.marks)

    def test_without_matplotlib_one_line_says_what_to_install(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        # Found out before anything is read: the data do not exist.
        (tmp_path / "empty").mkdir()  # there, and nothing to read in it
        line = fail("compare", tmp_path / "empty", "--plot", tmp_path / "figure.svg")
        assert line.startswith('error: --plot needs matplotlib: pip install "neartag[plot]"')

    def test_every_method_has_a_colour_of_its_own(self):
        colours = [method.colour for method in METHODS.builtin().values()]
        assert len(set(colours)) == len(colours)
        assert OTHERS_COLOUR not in colours

    def test_names_keep_apart_and_in_order(self):
        heights = [0.5, 0.51, 0.95, 0.99, 0.02, 0.5, 0.1]
        placed = plots.spread(heights, 0.1)
        assert np.diff(sorted(placed)).min() > 0.1 - 1e-9
        assert -1e-9 <= min(placed) <= max(placed) <= 1 + 1e-9
        assert np.array_equal(np.argsort(placed, kind="stable"), np.argsort(heights, kind="stable"))
