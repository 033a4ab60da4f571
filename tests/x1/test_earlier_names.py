"""`refine_least`, the earlier name of `refine_min_weight`, wherever people and folders may still have it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from cli_helpers import succeed
from contract import problem
from neartag import X1Classifier, presets, store, tune
from neartag.cli.compare import read_changes
from neartag.cli.options import read_settings
from neartag.cli.tune import read_assignments
from neartag.core.errors import ParameterError
from neartag.core.parameters import Parameter, check_settings
from neartag.data import Dataset, write
from neartag.methods import registry
from neartag.methods.search_space import plan_search
from neartag.x1.model import X1Model
from neartag.x1.settings import X1Settings

TABLE = (Parameter("size", int, 3, "how large", 1, aliases=("largeness", "bigness")), Parameter("l2", float, 1.0, "λ"))
SMALL = {"n_clusters": 1, "embedding_dim": 8, "svp_neighbours": 10, "n_jobs": 1}


@pytest.mark.parametrize("name", ["size", "largeness", "bigness"])
def test_each_name_is_read_as_the_one_of_today(name):
    assert check_settings({name: 4, "l2": 2}, TABLE, "it") == {"size": 4, "l2": 2.0}
    with pytest.raises(ParameterError, match="size must be a whole number"):
        check_settings({name: 0.5}, TABLE, "it")


def test_two_names_of_one_parameter_are_refused():
    with pytest.raises(ParameterError, match="size is given under two names: leave largeness out"):
        check_settings({"size": 1, "largeness": 1}, TABLE, "it")


def test_errors_tell_of_the_names_of_today_only():
    with pytest.raises(ParameterError, match=r"it has no parameter 'width'; it has size, l2$"):
        check_settings({"width": 1}, TABLE, "it")


def test_settings():
    assert X1Settings.from_parameters({"refine_least": 0.2}) == X1Settings().replace(refine_min_weight=0.2)
    assert "refine_least" not in X1Settings().to_parameters()


# ---- the classifier, as scikit-learn renames parameters


def test_the_classifier_warns_and_does_the_same():
    data = problem()
    new = X1Classifier(**SMALL, refine=True, refine_min_weight=0.2).fit(data.X, data.Y).model_
    old = X1Classifier(**SMALL, refine=True, refine_least=0.2)
    with pytest.warns(FutureWarning, match="refine_least is now called refine_min_weight") as told:
        old.fit(data.X, data.Y)
    assert told[0].filename == __file__
    assert old.model_.settings == new.settings
    assert old.model_.parameters["refine_min_weight"] == 0.2
    for one, other in zip(old.model_.predict_topk(data.X_new, 5), new.predict_topk(data.X_new, 5), strict=True):
        assert np.array_equal(one, other)


def test_parameters_stay_as_they_were_set():
    given = X1Classifier(refine_least=0.2)
    assert given.get_params()["refine_least"] == clone(given).refine_least == 0.2
    assert given.get_params()["refine_min_weight"] == 0.05
    assert X1Classifier().refine_least == "deprecated"


@pytest.mark.filterwarnings("ignore:refine_least")
def test_a_bad_value_and_two_values_are_refused():
    data = problem()
    with pytest.raises(ParameterError, match="refine_min_weight must be a number of at least 0, not -1"):
        X1Classifier(refine_least=-1).fit(data.X, data.Y)
    with pytest.raises(ParameterError, match="leave refine_least out"):
        X1Classifier(refine_least=0.1, refine_min_weight=0.2).fit(data.X, data.Y)


@pytest.mark.filterwarnings("error::FutureWarning")
def test_without_it_there_is_no_warning():
    data = problem()
    X1Classifier(**SMALL, vote_neighbours=5, feature_share=0).fit(data.X, data.Y)


# ---- presets, the command line, folders


def test_presets(tmp_path):
    presets.write(tmp_path / "old.json", "x1", {"refine_least": 0.3, "refine": True})
    assert presets.get(str(tmp_path / "old.json")) == {"refine_min_weight": 0.3, "refine": True}


def test_options():
    assert read_settings({"refine_least": "0.3", "l2": None}) == {"refine_min_weight": 0.3}
    with pytest.raises(ParameterError, match="--refine-least must be a number of at least 0, not '-1'"):
        read_settings({"refine_least": "-1"})
    with pytest.raises(ParameterError, match="--refine-min-weight and --refine-least are the same"):
        read_settings({"refine_min_weight": "0.3", "refine_least": "0.3"})
    x1 = registry.get("x1")
    assert read_assignments(["refine-least=0.3"], x1, "--fix") == {"refine_min_weight": [0.3]}
    assert read_changes(["x1.refine_least=0.3"], {"x1": x1}) == {"x1": {"refine_min_weight": 0.3}}


def test_tune():
    x1 = registry.get("x1")
    refined = plan_search(x1, 100, {}, {"refine_least": [0.1, 0.2, 0.1]}).grids[0]
    assert refined.training["refine_min_weight"] == [0.1, 0.2]
    with pytest.raises(ParameterError, match="refine_min_weight is both fixed and to be tried"):
        plan_search(x1, 100, {"refine_min_weight": 0.1}, {"refine_least": [0.2]})
    X, Y = [[1, 0], [0, 1]] * 60, [[1, 0], [0, 1]] * 60
    one = {name: [1] for name in ("embedding_dim", "svp_neighbours", "l2", "vote_neighbours", "vote_sharpness")}
    found = tune.tune(X, Y, fixed={"refine_least": 0.4, "feature_share": 0}, tried=one, n_jobs=1)
    assert found.settings["refine_min_weight"] == 0.4


def test_train_on_the_command_line(tmp_path):
    data = problem()
    write(Dataset(csr_matrix(data.X), csr_matrix(data.Y)), tmp_path / "data.txt")
    words = ("--refine-least", "0.3", "--embedding-dim", "8", "--n-clusters", "1", "--quiet")
    succeed("train", tmp_path / "data.txt", tmp_path / "model", *words)
    document = json.loads((tmp_path / "model" / "model.json").read_text())
    assert document["settings"]["parameters"]["refine_min_weight"] == 0.3
    assert "refine_least" not in document["settings"]["parameters"]
    assert "--refine-least" not in succeed("train", "--help")


def test_folders(tmp_path):
    data = problem()
    model = X1Classifier(**SMALL, vote_neighbours=5, feature_share=0, refine_min_weight=0.3).fit(data.X, data.Y).model_
    settings, parts = model.to_state()
    settings["parameters"]["refine_least"] = settings["parameters"].pop("refine_min_weight")
    read = X1Model.from_state(settings, parts)
    assert read.settings == model.settings
    store.save(read, tmp_path / "model")
    assert store.load(tmp_path / "model").model.settings == model.settings
