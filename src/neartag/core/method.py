"""What a method is: one record with all that the rest of neartag asks of it.

The record stands beside the method, and nothing else names it: `neartag.methods.registry` finds it. A record is light:
it names its classes as text, "module:Class", so that listing methods and showing help imports no numerical library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from neartag.core.parameters import Parameter

# This module must stay light: the command line reads it for --help, long before numpy is wanted.
Settings = dict[str, Any]  # values by parameter
Choices = dict[str, list[Any]]  # values to try, by parameter; the likeliest first
OTHERS_COLOUR = "#999999"
LAST_PLACE = 1000  # the place of a method that does not say where it stands


@dataclass(frozen=True)
class SearchSpace:
    """What `neartag tune` tries of a method unless told otherwise: a small grid.

    Parameters
    ----------
    training : values of parameters that need the method to be trained again.
    prediction : values of parameters that only prediction uses.
    many_points : values for training that are tried too where there are many points.
    train_at_largest : parameters of `prediction` whose largest value is set in training, since training keeps only
        what that value needs.
    when : settings that hold in this whole space.
    retrains : whether settings that only prediction uses need training again here, since training adapts to them.
    unused : parameters that change nothing here, and are not tried even if a person names values of them.
    others : further spaces that are tried too, each with a `when` of its own.
    """

    training: Choices = field(default_factory=dict)
    prediction: Choices = field(default_factory=dict)
    many_points: Choices = field(default_factory=dict)
    train_at_largest: tuple[str, ...] = ()
    when: Settings = field(default_factory=dict)
    retrains: bool = False
    unused: tuple[str, ...] = ()
    others: tuple[SearchSpace, ...] = ()


@dataclass(frozen=True, eq=False)
class Method:
    """A method: what it is called, what can be set, and where its classes are.

    Parameters
    ----------
    name : how the command line, stored models and presets name it. Small letters, digits and underscores.
    title : how people write it.
    summary : what it does, in a line.
    reference : authors and year.
    estimator : the class that learns, or "module:Class".
    model : the class of what it learns, or "module:Class". Its `kind` is the method's name.
    parameters : what the estimator's constructor takes.
    description : what `neartag methods NAME` prints: the reference, the objective, the cost. Usually the docstring of
        the module; its first paragraph, the heading, is left out.
    presets : settings chosen for data sets, by the data set's name. Usually only what differs from the defaults.
    search_space : what `neartag tune` tries.
    prediction : the parameters that may be set after training.
    colour : of its mark in figures.
    highlight : whether its mark stands out.
    place : where it stands in lists, from 0.
    learns : whether training takes time; if not, a figure has no training time of it.
    scales : whether it trains on large data sets, so that others name it where they cannot.
    explains : whether its models name the training points that voted, so that their texts are worth keeping.
    unit_rows : whether training scales rows to unit length, so that a caller may do it before, in place.
    by_tasks : whether training is a plan of tasks that an executor given to `fit` runs.
    updates : the module that adds points to a model and forgets them; None: they cannot be.
    inspection : "module:function" that returns what more `neartag inspect` tells of a model; None: nothing.
    first_answer : "module:function" that a process which answers once calls with the model before it reads the text, to
        compile meanwhile what the answer needs; None: nothing.
    """

    name: str
    title: str
    summary: str
    reference: str
    estimator: str | type
    model: str | type
    parameters: tuple[Parameter, ...]
    description: str | None = None
    presets: Mapping[str, Settings] = field(default_factory=dict)
    search_space: SearchSpace = SearchSpace()
    prediction: tuple[str, ...] = ("threshold",)
    colour: str = OTHERS_COLOUR
    highlight: bool = False
    place: int = LAST_PLACE
    learns: bool = True
    scales: bool = False
    explains: bool = False
    unit_rows: bool = False
    by_tasks: bool = False
    updates: str | None = None
    inspection: str | None = None
    first_answer: str | None = None

    def estimator_class(self) -> Any:
        """Return the class that learns, imported now."""
        return resolve(self.estimator)

    def model_class(self) -> Any:
        """Return the class of what is learned, imported now."""
        return resolve(self.model)

    def public_class(self, name: str) -> Any:
        """Return the class of this name, for a package's `__getattr__`: AttributeError unless it is one of the two."""
        for given in (self.estimator, self.model):
            if isinstance(given, str) and given.rpartition(":")[2] == name:
                return resolve(given)
        raise AttributeError(f"the package of the method {self.name!r} has no attribute {name!r}")


def resolve(given: Any) -> Any:
    """Return what "module:name" stands for, imported now; anything but a text is returned as it is."""
    if not isinstance(given, str):
        return given
    module, _, name = given.partition(":")
    return getattr(import_module(module), name)
