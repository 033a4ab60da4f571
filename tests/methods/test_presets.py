"""Settings by data set: every one usable, and no accident of the defaults."""

from __future__ import annotations

import doctest

import pytest

from neartag import presets
from neartag.core.errors import ParameterError
from neartag.methods import presets as methods_presets
from neartag.methods import tune
from neartag.x1 import parameters


@pytest.mark.parametrize("name", presets.names())
def test_every_preset_can_be_used(name):
    assert parameters.check_settings(presets.get(name)) == presets.get(name)


@pytest.mark.parametrize(
    ("name", "learners", "clusters", "dim", "voters"),
    [
        ("wiki10", 5, 5, 75, 11),
        ("delicious-large", 5, 50, 50, 70),
        ("amazon", 20, 100, 50, 5),
        ("wikilshtc", 10, 300, 50, 10),
    ],
)
def test_large_sets_have_the_original_programs_settings(name, learners, clusters, dim, voters):
    found = presets.get(name)
    assert (found["n_learners"], found["n_clusters"], found["embedding_dim"]) == (learners, clusters, dim)
    assert (found["vote_neighbours"], found["l2"]) == (voters, 10.0)
    assert (found["vote_weight"], found["vote_distance"], found["cluster_start"]) == ("uniform", "euclidean", "random")
    assert found["feature_share"] == 0  # nothing that the original has not
    assert found["refine"] is False


def test_data_sets_names_are_presets_too():
    assert presets.get("mediamill-rand") == presets.get("mediamill")
    assert presets.get("eurlex4k-partial") == presets.get("eurlex")


def test_the_docstrings_examples_run():
    for module in (methods_presets, tune):
        failed, attempted = doctest.testmod(module)
        assert failed == 0
        assert attempted > 3


def test_a_preset_is_the_callers_own():
    presets.get("bibtex")["l2"] = -1
    assert presets.get("bibtex")["l2"] > 0


def test_an_unknown_preset_lists_the_known():
    with pytest.raises(ParameterError, match=r"'nonsense'.*bibtex.*wikilshtc"):
        presets.get("nonsense")
