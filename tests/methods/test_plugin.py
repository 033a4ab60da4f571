"""Another package's method, one file with an entry point, is used as any other: the one that docs/ shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cli_helpers import fail, invoke, succeed
from contract import ClassifierContract, problem
from neartag import presets, store
from neartag.core.errors import ModelError, NeartagError
from neartag.data import formats, synthetic
from neartag.methods import registry
from plugin_helpers import write_distribution

GROUP = "neartag.methods"
PAGE = Path(__file__).parents[2] / "docs" / "adding-a-method.md"
TOY = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
TOY_AND_KNN = ["--methods", "toy,knn", "--set", "toy.toy_power=2", "--n-jobs", 1]


@pytest.fixture(scope="module", autouse=True)
def package(tmp_path_factory):
    """The folder of an installed package with the toy."""
    folder = tmp_path_factory.mktemp("package")
    write_distribution(folder, "toy-package", {GROUP: {"toy": "toy_method:METHOD"}}, toy_method=TOY)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield folder
    sys.modules.pop("toy_method", None)


@pytest.fixture(scope="module")
def data():
    return synthetic.make(360, 150, 30, 10, 2.5, seed=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data, package):
    """A folder with a data set in two parts, and a model of the toy."""
    place = tmp_path_factory.mktemp("plugin")
    formats.write(data.take(np.arange(300)), place / "train.txt")
    formats.write(data.take(np.arange(300, 360)), place / "test.txt")
    succeed("train", place, place / "model", "--method", "toy", "--toy-power", 2, "--n-jobs", 1)
    return place


class TestContract(ClassifierContract):
    def make_model(self, **changes):
        return registry.get("toy").estimator_class()(**{"n_jobs": 1, **changes})


class TestCommands:
    def test_methods(self):
        assert "toy  " in succeed("methods")
        assert json.loads(succeed("methods", "--json"))[-1]["name"] == "toy"
        shown = succeed("methods", "toy")
        assert "Rocchio" in shown
        assert "--toy-power" in shown
        assert json.loads(succeed("methods", "toy", "--json"))["presets"] == ["bibtex"]

    def test_train_takes_its_options_and_its_presets(self, folder, tmp_path):
        assert store.load(folder / "model").model.parameters["toy_power"] == 2
        succeed("train", folder, tmp_path / "m", "--method=toy", "--preset", "bibtex", "--row-scale", "raw")
        settings = store.load(tmp_path / "m").model.parameters
        assert (settings["toy_power"], settings["row_scale"]) == (2, "raw")
        assert "--toy-power must be a number" in fail(
            "train", folder, tmp_path / "n", "--method", "toy", "--toy-power=x"
        )
        assert "is no option of toy" in fail("train", folder, tmp_path / "n", "--method", "toy", "--trees", 3)
        assert "No such option" in fail("train", folder, tmp_path / "n", "--toy-power", 2)
        assert "--toy-power" not in succeed("train", "--help")

    def test_predict_evaluate_and_inspect(self, folder, data):
        classifier = registry.get("toy").estimator_class()(toy_power=2, n_jobs=1).fit(data.X[:300], data.Y[:300])
        labels, _ = classifier.predict_topk(data.X[300:], 5)
        lines = succeed("predict", folder / "model", folder, "--json").splitlines()
        assert [json.loads(line)["labels"] for line in lines] == [[v for v in row if v >= 0] for row in labels.tolist()]
        assert json.loads(succeed("evaluate", folder / "model", folder, "--json"))["metrics"]["P@1"] > 50
        report = json.loads(succeed("inspect", folder / "model", "--json"))
        assert (report["kind"], "drift" in report, "learners" in report) == ("toy", False, False)
        assert ", Toy\n" in succeed("inspect", folder / "model")

    def test_tune(self, folder, tmp_path):
        out = tmp_path / "toy.json"
        report = json.loads(succeed("tune", folder, "--method", "toy", "--out", out, "--json", "--n-jobs", 1))
        assert len(report["trials"]) == 3, "the default, and each scale"
        assert report["settings"].keys() == {"row_scale", "toy_power"}
        assert presets.get(str(out), "toy") == report["settings"]
        assert "settings of Toy, judged by" in succeed("tune", folder, "--method", "toy", "--fix", "toy_power=1")

    def test_compare_and_its_figure(self, folder, tmp_path):
        pytest.importorskip("matplotlib")
        plot = tmp_path / "figure.svg"
        toy, knn = json.loads(succeed("compare", folder, *TOY_AND_KNN, "--plot", plot, "--json"))["methods"]
        assert (toy["method"], knn["method"]) == ("toy", "knn")
        assert toy["metrics"]["P@1"] > 50
        assert toy["settings"] == {"toy_power": 2}
        drawn = plot.read_text()
        assert "#117733" in drawn
        assert "Toy" in drawn
        assert "Toy" not in succeed("compare", folder, *TOY_AND_KNN)  # tables have the names that options have

    def test_texts_are_tagged_but_none_can_be_added(self, tmp_path):
        lines = [json.dumps({"text": f"word{i % 5} other", "labels": [f"l{i % 5}"], "id": str(i)}) for i in range(60)]
        (tmp_path / "docs.jsonl").write_text("\n".join(lines[:50]))
        (tmp_path / "more.jsonl").write_text("\n".join(lines[50:]))
        succeed("train", tmp_path / "docs.jsonl", tmp_path / "m", "--method", "toy", "--n-jobs", 1)
        assert "l1" in succeed("tag", tmp_path / "m", "word1")
        line = fail("add", tmp_path / "m", tmp_path / "more.jsonl")
        assert "documents cannot be added to a model of kind 'toy', only to x1" in line


def test_a_stored_model_is_found_again(tmp_path):
    data = problem()
    classifier = registry.get("toy").estimator_class()(n_jobs=1).fit(data.X, data.Y)
    store.save(classifier, tmp_path / "model")
    labels, scores = store.load(tmp_path / "model").model.predict_topk(data.X_new, 5)
    assert np.array_equal(labels, classifier.predict_topk(data.X_new, 5)[0])
    assert np.array_equal(scores, classifier.predict_topk(data.X_new, 5)[1])


def test_a_model_whose_package_is_gone_is_one_line(tmp_path, monkeypatch, package):
    data = problem()
    store.save(registry.get("toy").estimator_class()(n_jobs=1).fit(data.X, data.Y), tmp_path / "model")
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(package)])
    with pytest.raises(ModelError, match="kind 'toy' is unknown"):
        store.load(tmp_path / "model")


def test_nothing_of_it_is_imported_until_it_is_asked_for(package):
    code = (
        "import sys\nfrom neartag.cli.main import run\ntry:\n    run()\nfinally:\n"
        "    print('toy_method' in sys.modules, 'numpy' in sys.modules, file=sys.stderr)\n"
    )
    path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
    for arguments in (["--help"], ["train", "--help"], ["compare", "--help"], ["methods", "knn"]):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
        *hints, last = done.stderr.splitlines()
        assert (done.returncode, last) == (0, "False False")
        assert all(line.startswith("next: neartag ") for line in hints)


class TestOtherPackages:
    """What is wrong with another package is told in a line, and everything else goes on."""

    @pytest.fixture
    def install(self, tmp_path, monkeypatch):
        def write(name, source, method="other"):
            module = name.replace("-", "_")
            targets = {GROUP: {method: f"{module}:METHOD"}}
            monkeypatch.syspath_prepend(str(write_distribution(tmp_path / name, name, targets, **{module: source})))

        return write

    def test_one_that_cannot_be_imported(self, install):
        install("broken-package", "import there_is_no_such_module\n")
        line = fail("methods", "other")
        assert "the method 'other' of the package 'broken-package' cannot be used (ModuleNotFoundError" in line
        done = invoke("methods", "--json")
        assert [each["name"] for each in json.loads(done.stdout)] == [*registry.METHODS.builtin(), "toy"]
        assert done.stderr.startswith("warning: the method 'other' of the package 'broken-package'")
        assert done.stderr.count("\n") == 1

    def test_one_that_is_no_record(self, install):
        install("odd-package", "METHOD = 'other'\n")
        with pytest.raises(NeartagError, match=r"'odd-package' .*TypeError: a method is a record"):
            registry.get("other")

    def test_two_of_one_name(self, install):
        source = TOY.replace('name="toy"', 'name="other"')
        install("first-package", source)
        install("second-package", source)
        line = fail("methods", "other")
        assert re.search(
            "the package '(first|second)-package' and the package '(first|second)-package' both have", line
        )
        assert "a method 'other': remove one of the packages" in line
        assert invoke("methods").stderr.count("both have a method 'other'") == 1

    def test_one_that_has_the_name_of_ours(self, install):
        install("rival-package", TOY.replace('name="toy"', 'name="knn"'), "knn")
        assert registry.get("knn").title == "kNN", "installing a package changes no model"

    def test_an_unknown_one_is_refused_with_those_there_are(self):
        assert "there is no method 'nonsense': choose one of x1, leml" in fail("methods", "nonsense")
        assert "knn, toy" in fail("methods", "nonsense")
