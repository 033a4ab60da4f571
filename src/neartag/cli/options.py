"""Options that several commands share, and X1's parameters as options, made from the table that the estimator uses.

Nothing heavy is imported here: `neartag --help` reads this file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from neartag.errors import ParameterError
from neartag.parameters import Parameter
from neartag.x1.parameters import PARAMETERS

Model = Annotated[str, typer.Argument(metavar="MODEL", help="Folder of the model.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no messages, only results and errors.")]
Jobs = Annotated[int, typer.Option("--n-jobs", help="Cores used; -1: all.")]

_BY_NAME = {parameter.name: parameter for parameter in PARAMETERS}
_METAVARS = {int: "INTEGER", float: "NUMBER", bytes: "SIZE"}


def with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with an option for each X1 parameter; it gets their texts, None if not given, as keywords."""
    own = inspect.signature(command, eval_str=True)
    kept = [entry for entry in own.parameters.values() if entry.kind is not inspect.Parameter.VAR_KEYWORD]
    added = [
        inspect.Parameter(parameter.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_option(parameter))
        for parameter in PARAMETERS
    ]
    # typer reads both: the signature for order and defaults, the annotations for types.
    command.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    command.__annotations__ = {entry.name: entry.annotation for entry in (*kept, *added)}
    return command


def read_settings(given: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the parameters that were given, as X1 takes them; ParameterError for the first that cannot be used."""
    return {name: read_value(_BY_NAME[name], text) for name, text in given.items() if text is not None}


def read_value(parameter: Parameter, text: str) -> Any:
    """Return the value that an option's text stands for: a number, an allowed word, or None."""
    value: Any = text
    if parameter.optional and text.lower() == "none":
        return None
    if text not in parameter.choices and parameter.kind in (int, float):
        try:
            value = parameter.kind(text)
        except ValueError:
            value = text  # which the check refuses
    try:
        parameter.check(value)
    except ParameterError:
        raise ParameterError(f"{flag(parameter)} must be {parameter.describe()}, not {text!r}") from None
    return value


def flag(parameter: Parameter) -> str:
    """Return a parameter's name on the command line."""
    return "--" + parameter.name.replace("_", "-")


def _option(parameter: Parameter) -> Any:
    words = [*parameter.choices, *(["none"] if parameter.optional else [])]
    if parameter.kind is not str:
        words.insert(0, _METAVARS[parameter.kind])
    default = "none" if parameter.default is None else parameter.default
    # Texts, not numbers, as far as typer knows: words such as "auto" stand beside numbers, and errors are ours.
    option = typer.Option(
        flag(parameter), metavar="|".join(words), help=f"{parameter.help}  [default: {default}]", show_default=False
    )
    return Annotated[str | None, option]
