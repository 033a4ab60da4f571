"""X1's parameters: limits that float32 and int32 bear, and values that JSON knows."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from contract import problem
from neartag import store
from neartag.core.errors import ParameterError
from neartag.x1.classifier import X1Classifier
from neartag.x1.parameters import check_settings


@pytest.mark.parametrize(
    ("name", "value"),
    [("l2", 1e13), ("l1", 1e300), ("rho", 1e39), ("vote_neighbours", 2**31), ("l2", Fraction(10**13))],
)
def test_numbers_that_float32_and_int32_would_not_bear_are_refused(name, value):
    limits = "from 1 to 2147483647" if name == "vote_neighbours" else r"from [\d.e-]+ to 1e\+12"
    limits += " or 'auto'" if name in ("l2", "vote_neighbours") else ""
    with pytest.raises(ParameterError, match=f"{name} must be a .*number {limits}, not"):
        check_settings({name: value})


@pytest.mark.parametrize(("name", "value"), [("l2", 1e12), ("l1", 1e12), ("rho", 1e12), ("vote_neighbours", 2**31 - 1)])
def test_the_limits_themselves_are_allowed(name, value):
    assert check_settings({name: value}) == {name: value}


def test_numbers_of_any_kind_become_those_that_json_knows():
    numbers = {"l2": Fraction(1, 4), "l1": 2, "rho": np.float32(0.5), "threshold": np.int64(1), "n_probe": np.int8(3)}
    words = {"n_clusters": "auto", "max_cluster_size": None, "vote_weight": np.str_("uniform")}
    plain = check_settings({**numbers, **words})
    assert plain == {"l2": 0.25, "l1": 2, "rho": 0.5, "threshold": 1, "n_probe": 3, **words}
    assert [type(plain[name]) for name in numbers] == [float, float, float, float, int]
    assert [type(plain[name]) for name in words] == [str, type(None), str]
    assert json.loads(json.dumps(plain)) == plain


@pytest.mark.parametrize("value", [1.0, "1", None])
def test_what_is_no_whole_number_is_not_made_one(value):
    with pytest.raises(ParameterError, match="n_probe"):
        check_settings({"n_probe": value})


def test_a_model_trained_with_a_fraction_can_be_saved(tmp_path):
    data = problem()
    settings = {"n_clusters": 1, "embedding_dim": 6, "svp_neighbours": 10, "l2": Fraction(1, 4)}
    store.save(X1Classifier(**settings).fit(data.X, data.Y).model_, tmp_path / "model")
    assert store.load(tmp_path / "model").model.parameters["l2"] == 0.25


@pytest.mark.filterwarnings("ignore:ADMM")
def test_the_largest_penalties_train():
    data = problem()
    for name in ("l2", "l1", "rho"):
        settings = {
            "n_clusters": 1,
            "embedding_dim": 6,
            "svp_neighbours": 10,
            "l1": 0.1,
            "admm_max_iter": 5,
            name: 1e12,
        }
        _, scores = X1Classifier(**settings).fit(data.X, data.Y).predict_topk(data.X_new, 3)
        assert np.isfinite(scores).all()
