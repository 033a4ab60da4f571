"""X1's settings as a value: the same as the flat parameters, checked, and never changed."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from neartag.core.errors import ParameterError
from neartag.core.parameters import MACHINE
from neartag.x1.parameters import DEFAULTS, PARAMETERS
from neartag.x1.settings import VoteSettings, X1Settings

MODEL = {name: value for name, value in DEFAULTS.items() if name not in MACHINE}


def test_they_are_the_parameters_of_the_model_in_their_order():
    assert list(X1Settings().to_parameters().items()) == list(MODEL.items())
    assert X1Settings.from_parameters(DEFAULTS) == X1Settings() == X1Settings.from_parameters({})


def test_each_parameter_has_a_place_of_its_own():
    for parameter in PARAMETERS:
        if parameter.name in MACHINE:
            continue
        others = (each for each in (2, 0.25, True, False, *parameter.choices) if each != parameter.default)
        given = next(each for each in others if _may(parameter, each))
        changed = X1Settings().replace(**{parameter.name: given})
        assert changed.value(parameter.name) == given
        assert changed.to_parameters() == {**MODEL, parameter.name: given}
        assert X1Settings.from_parameters({parameter.name: given}) == changed


def _may(parameter, value) -> bool:
    try:
        parameter.check(value)
    except ParameterError:
        return False
    return True


def test_they_cannot_be_changed():
    settings = X1Settings()
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.learners = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.vote.neighbours = 3
    assert settings.replace(vote_neighbours=3).vote == VoteSettings(neighbours=3)
    assert settings == X1Settings()
    assert hash(settings) == hash(X1Settings())
    assert pickle.loads(pickle.dumps(settings)) == settings


@pytest.mark.parametrize("given", [{"l2": -1.0}, {"refine": 1}, {"vote_weight": "even"}, {"nonsense": 1}])
def test_what_cannot_be_used_is_refused(given):
    with pytest.raises(ParameterError):
        X1Settings.from_parameters(given)


def test_names_that_are_not_there():
    with pytest.raises(KeyError, match="no setting is called also, nonsense"):
        X1Settings().replace(nonsense=1, also=2)
    with pytest.raises(KeyError):
        X1Settings().value("n_jobs")
