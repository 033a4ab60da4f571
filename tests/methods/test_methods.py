"""Other methods than X1 on the command line: the list of them, and train, predict, evaluate and inspect."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata

import numpy as np
import pytest

from cli_helpers import fail, invoke, succeed
from neartag import metrics, presets, store
from neartag.cli import methods, options, train
from neartag.comparators.knn.classifier import KNNClassifier
from neartag.core.errors import ParameterError
from neartag.data import formats, synthetic
from neartag.evaluation.propensities import LabelCounts
from neartag.methods.registry import METHODS as PLUGINS

METHODS = PLUGINS.builtin()
OTHERS = [name for name in METHODS if name != "x1"]
ALL_OPTIONS = {parameter.name for method in METHODS.values() for parameter in method.parameters}
# What makes a method quick on a few hundred points, where its defaults are not.
QUICK = {"fastxml": ["--trees", 3], "wsabie": ["--epochs", 2, "--dim", 8], "local_leml": ["--n-learners", 1]}
PROGRAM = """
import sys
from neartag.cli.main import run
try:
    run()
finally:
    heavy = {"numpy", "scipy", "sklearn", "numba", "joblib"}
    print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def data():
    return synthetic.make(360, 150, 30, 10, 2.5, seed=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    """A folder with a data set in two parts and a kNN model of it."""
    place = tmp_path_factory.mktemp("methods")
    formats.write(data.take(np.arange(300)), place / "train.txt")
    formats.write(data.take(np.arange(300, 360)), place / "test.txt")
    succeed("train", place, place / "model", "--method", "knn", "--neighbours", 7)
    return place


@pytest.fixture(scope="module")
def fitted(data):
    return KNNClassifier(neighbours=7, n_jobs=1).fit(data.X[:300], data.Y[:300])


class TestList:
    def test_names_every_method_within_80_columns(self):
        shown = succeed("methods")
        words = " ".join(shown.split())
        for method in METHODS.values():
            assert f"{method.name} {method.title}: {method.summary} {method.reference}" in words
        assert max(map(len, shown.splitlines())) <= 80
        assert [entry["name"] for entry in json.loads(succeed("methods", "--json"))] == list(METHODS)

    @pytest.mark.parametrize("name", METHODS)
    def test_shows_a_methods_parameters(self, name):
        method = METHODS[name]
        shown = succeed("methods", name)
        words = " ".join(shown.split())
        for parameter in method.parameters:
            about = f"{options.flag(parameter)} {parameter.help} default {options.in_words(parameter.default)};"
            assert " ".join(about.split()) in words
        told = invoke("methods", name).stderr
        assert f"next: neartag train DATA MODEL --method {name}" in told
        # Formulas stay as they are written, and so must be short; all else is broken anew.
        for line in shown.splitlines():
            assert sum(not unicodedata.combining(letter) for letter in line) <= 80, line

    @pytest.mark.parametrize("name", METHODS)
    def test_says_what_its_file_says(self, name):
        report = json.loads(succeed("methods", name, "--json"))
        assert len(report["facts"]) > 100, "where it comes from, its objective, its cost"
        assert METHODS[name].reference.split(",")[0].split()[0] in report["facts"]
        assert "cost" in report["facts"].lower()
        assert [each["name"] for each in report["parameters"]] == [each.name for each in METHODS[name].parameters]
        assert report["presets"] == list(presets.names(name))

    def test_a_name_may_have_dashes_and_an_unknown_one_is_refused(self):
        assert succeed("methods", "one-vs-all") == succeed("methods", "one_vs_all")
        assert "there is no method 'nonsense': choose one of x1, leml" in fail("methods", "nonsense")

    @pytest.mark.parametrize("arguments", [["methods"], ["methods", "knn"], ["train", "--help"], ["compare", "--help"]])
    def test_loads_nothing_heavy(self, arguments):
        command = [sys.executable, "-c", PROGRAM, *arguments]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        *hints, last = told.splitlines()
        assert last == "[]"
        assert all(line.startswith("next: neartag ") for line in hints)

    def test_text_is_broken_anew_but_for_blank_and_indented_lines(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "24")
        text = (
            "one two three four five\nsix\n\n    a  =  b\n\nlist:\n- one two three four five\n  six\n- seven\n"
            "1. eight nine ten eleven\n   twelve"
        )
        lines = ["one two three four five", "six", "", "    a  =  b", "", "list:"]
        lines += ["- one two three four", "  five six", "- seven", "1. eight nine ten eleven", "   twelve"]
        assert methods.reflow(text) == lines


class TestTrain:
    def test_settings_are_read_as_the_method_reads_them(self):
        given = dict.fromkeys(ALL_OPTIONS)
        assert train.choose_settings(None, {**given, "rank": "0.5", "bias": "1"}, "leml") == {"rank": 0.5, "bias": 1.0}
        # The same option, in two tables.
        assert train.choose_settings(None, {**given, "n_probe": "2"}, "lpsr") == {"n_probe": 2}
        assert train.choose_settings(None, {**given, "n_probe": "2"}) == {"n_probe": 2}

    def test_a_preset_is_the_methods_own(self, monkeypatch):
        monkeypatch.setitem(METHODS["knn"].presets, "toy", {"neighbours": 3, "metric": "euclidean"})
        given = {**dict.fromkeys(ALL_OPTIONS), "neighbours": "4"}
        assert train.choose_settings("toy", given, "knn") == {"neighbours": 4, "metric": "euclidean"}
        with pytest.raises(ParameterError, match="no preset 'toy'; there are bibtex"):
            train.choose_settings("toy", dict.fromkeys(ALL_OPTIONS))

    def test_the_model_is_the_python_interfaces(self, folder, fitted, tmp_path):
        store.save(fitted, tmp_path / "m")
        assert store.inspect(tmp_path / "m")["files"] == store.inspect(folder / "model")["files"]

    def test_rows_are_left_as_they_are(self, data, tmp_path):
        points = data.take(np.arange(300))
        points.X = points.X * 3  # synthetic rows are of unit length
        formats.write(points, tmp_path / "train.txt")
        arguments = ["--method", "knn", "--row-scale", "raw", "--metric", "euclidean", "--n-jobs", 1]
        report = json.loads(succeed("train", tmp_path / "train.txt", tmp_path / "m", *arguments, "--json"))
        assert report["method"] == "knn"
        rows = store.load(tmp_path / "m").model.rows
        assert np.allclose(rows.multiply(rows).sum(axis=1), 9)

    def test_says_which_method_it_was(self, folder, tmp_path):
        assert ", kNN, " in succeed("train", folder, tmp_path / "m", "--method", "knn")

    def test_hidden_options_are_not_shown_and_the_help_says_where_they_are(self):
        shown = succeed("train", "--help")
        own = {parameter.name for parameter in METHODS["x1"].parameters}
        for name in ALL_OPTIONS:
            assert (f" {options.flag(name)} " in shown) == (name in own)
        assert "neartag methods NAME" in shown
        for name in METHODS:
            assert name in shown

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (["--method", "nonsense"], "there is no method 'nonsense': choose one of x1"),
            (["--method", "knn", "--rank", "5"], "--rank is no option of knn, which has --neighbours, --metric, "),
            (["--method", "leml", "--embedding-dim", "5"], "is no option of leml, which has --rank, "),
            (["--rank", "5"], "--rank is no option of x1, which has --n-learners, "),
            (["--method", "knn", "--neighbours", "0"], "--neighbours must be a whole number from 1"),
            (["--method", "leml", "--rank", "many"], "--rank must be a number from"),
            (["--method", "one_vs_all", "--C", "0"], "--C must be a number from"),
            (["--method", "knn", "--preset", "nonsense"], "there is no preset 'nonsense' of knn"),
            (["--method", "knn", "--n-jobs", "0"], "n_jobs must be"),
        ],
    )
    def test_mistakes(self, folder, tmp_path, arguments, expected):
        assert expected in fail("train", folder, tmp_path / "m", *arguments)
        assert not (tmp_path / "m").exists()

    def test_what_needs_too_much_memory_is_refused(self, folder, tmp_path):
        line = fail("train", folder, tmp_path / "m", "--method", "knn", "--max-memory", "1MB")
        assert "knn would need about" in line
        assert not (tmp_path / "m").exists()


class TestModels:
    """Commands on a stored model that is not X1's."""

    def test_predict_equals_the_python_interface(self, folder, data, fitted):
        labels, scores = fitted.predict_topk(data.X[300:], 4)
        lines = succeed("predict", folder / "model", folder, "-k", 4, "--json", "--n-jobs", 1).splitlines()
        found = [json.loads(line) for line in lines]
        assert [point["labels"] for point in found] == [[v for v in row if v >= 0] for row in labels.tolist()]
        assert [s for point in found for s in point["scores"]] == scores[labels >= 0].tolist()

    def test_evaluate_equals_the_python_interface(self, folder, data, fitted):
        labels, _ = fitted.predict_topk(data.X[300:], 5)
        report = json.loads(succeed("evaluate", folder / "model", folder, "--json", "--n-jobs", 1))
        assert report["metrics"] == metrics.evaluate(labels, data.Y[300:], Y_train=data.Y[:300])
        assert report["by_frequency"] == metrics.by_frequency(labels, data.Y[300:], data.Y[:300])

    def test_frequencies_stand_for_the_training_labels(self, data, fitted):
        known, wanted = LabelCounts(fitted.model_.frequency, fitted.model_.n_points), LabelCounts.of(data.Y[:300])
        assert known.points == wanted.points == 300
        assert np.array_equal(known.frequency, wanted.frequency)
        assert np.array_equal(known.propensities(), metrics.propensities(data.Y[:300]))

    def test_inspect(self, folder, fitted):
        report = json.loads(succeed("inspect", folder / "model", "--json"))
        assert (report["kind"], report["points"], report["features"], report["labels"]) == ("knn", 300, 150, 30)
        assert report["parameters"] == fitted.model_.parameters
        assert "learners" not in report
        shown = succeed("inspect", folder / "model", "--all")
        for word in (*fitted.model_.parameters, *report["files"], "kNN", "nearest training points that vote"):
            assert word in shown
        assert "unexplained" not in shown

    @pytest.mark.parametrize("name", OTHERS)
    def test_every_method_goes_all_the_way(self, folder, tmp_path, name):
        arguments = ["--method", name, *QUICK.get(name, []), "--n-jobs", 1, "--quiet"]
        report = json.loads(succeed("train", folder, tmp_path / "m", *arguments, "--json"))
        assert (report["method"], report["points"]) == (name, 300)
        assert succeed("predict", tmp_path / "m", folder, "-k", 2, "--n-jobs", 1).count("\n") == 60
        found = json.loads(succeed("evaluate", tmp_path / "m", folder, "--json", "--n-jobs", 1))["metrics"]
        floor = json.loads(succeed("evaluate", folder / "model", folder, "--json", "--n-jobs", 1))["metrics"]
        assert found["P@1"] > 0.4 * floor["P@1"]
        assert METHODS[name].title in succeed("inspect", tmp_path / "m")
