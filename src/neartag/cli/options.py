"""Options that several commands share, and all methods' parameters as options, made from the estimators' own tables.

Nothing heavy is imported here: `neartag --help` reads this file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from neartag.cli.panels import METHOD, PanelCommand
from neartag.comparators.shared.parameters import MAX_MEMORY
from neartag.core.errors import ModelError, ParameterError
from neartag.core.method import Method
from neartag.core.parameters import RANDOM_STATE, Parameter, by_every_name
from neartag.core.remote import is_url
from neartag.methods import registry
from neartag.methods.registry import DEFAULT_METHOD
from neartag.storage.location import check_model_folder


def _check_model(model: str) -> str:
    """Refuse a folder that holds no model before the command imports anything heavy."""
    if not model.strip():
        raise ModelError("MODEL is empty: name the folder of a model")
    check_model_folder(Path(model))
    return model


def _check_model_or_url(model: str) -> str:
    """Do the same, but for a URL, which is looked at when it is copied."""
    return model if is_url(model) else _check_model(model)


Model = Annotated[str, typer.Argument(metavar="MODEL", help="Folder of the model.", callback=_check_model)]
ModelOrUrl = Annotated[str, typer.Argument(metavar="MODEL", help="Folder of the model.", callback=_check_model_or_url)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress and no messages, only results, warnings and errors.")
]
Jobs = Annotated[int, typer.Option("--n-jobs", help="Cores used; -1: all.")]
PropensityA = Annotated[float, typer.Option("--propensity-a", help="A of the propensities (Wikipedia: 0.5).")]
PropensityB = Annotated[float, typer.Option("--propensity-b", help="B of the propensities (Wikipedia: 0.4).")]

# neartag's own methods, for help texts: those of other packages are looked for when they are needed.
METHOD_NAMES = ", ".join(registry.METHODS.builtin())
_METAVARS = {int: "INTEGER", float: "NUMBER", bytes: "SIZE"}


def option(parameter: Parameter, *, hidden: bool = False, name: str = "") -> Any:
    """Return the type that makes typer offer a parameter as an option: its text, None where it is not given.

    `name` is another name than the parameter's own: an earlier one.
    """
    name = name or parameter.name
    if parameter.kind is bool:
        both = f"{flag(name)}/{flag('no_' + name)}"
        about = f"{parameter.help}  [default: {'yes' if parameter.default else 'no'}]"
        return Annotated[
            bool | None, typer.Option(both, help=about, show_default=False, hidden=hidden, rich_help_panel=METHOD)
        ]
    words = [*parameter.choices, *(["none"] if parameter.optional else [])]
    if parameter.kind is not str:
        words.insert(0, _METAVARS[parameter.kind])
    about = f"{parameter.help}  [default: {in_words(parameter.default)}]"
    # Texts, not numbers, as far as typer knows: words such as "auto" stand beside numbers, and errors are ours.
    made = typer.Option(
        flag(name), metavar="|".join(words), help=about, show_default=False, hidden=hidden, rich_help_panel=METHOD
    )
    return Annotated[str | None, made]


def with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with an option for each parameter of each method; it gets their texts as keywords.

    Options that the default method does not have are hidden: `neartag methods NAME` shows them. A name that several
    methods use is one option, read by `read_settings` as the method chosen reads it. The options of another package's
    method are there when the arguments choose that method.
    """
    signature = inspect.signature(command, eval_str=True)

    class WithMethods(MethodCommand):
        def extend(self, method: Method) -> Callable[..., None]:
            def run(**given: Any) -> None:
                command(**given)

            return _set_options(run, signature, [*registry.METHODS.builtin().values(), method])

    _set_options(command, signature, list(registry.METHODS.builtin().values()))
    command.command_class = WithMethods  # type: ignore[attr-defined]
    return command


class MethodCommand(PanelCommand):
    """A command that takes the parameters of any method as options, also where another package brings the method."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; what another package's method can be asked is known by then."""
        name = _chosen_method(args)
        elsewhere = name is not None and name not in registry.METHODS.builtin()
        if name is not None and elsewhere and name in registry.METHODS.names():
            app = typer.Typer(add_completion=False)
            app.command()(self.extend(registry.get(name)))
            whole = typer.main.get_command(app)
            self.params, self.callback = whole.params, whole.callback
        return super().parse_args(ctx, args)

    def extend(self, method: Method) -> Callable[..., None]:
        """Return the command's function with the options of one more method."""
        raise NotImplementedError


def _set_options(
    command: Callable[..., None], signature: inspect.Signature, methods: Sequence[Method]
) -> Callable[..., None]:
    """Give a command these methods' parameters as options, those hidden that the first method does not have."""
    kept = [entry for entry in signature.parameters.values() if entry.kind is not inspect.Parameter.VAR_KEYWORD]
    shown = {parameter.name: option(parameter) for parameter in methods[0].parameters}
    every = (named for method in methods for named in by_every_name(method.parameters).items())
    hidden = {name: option(each, hidden=True, name=name) for name, each in every if name not in shown}
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in {**shown, **hidden}.items()
    ]
    # typer reads both: the signature for order and defaults, the annotations for types.
    command.__signature__ = signature.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    command.__annotations__ = {entry.name: entry.annotation for entry in (*kept, *added)}
    return command


def _chosen_method(args: Sequence[str]) -> str | None:
    for word, after in pairwise([*args, ""]):
        if word == "--method" or word.startswith("--method="):
            return (after if word == "--method" else word.partition("=")[2]).strip().lower().replace("-", "_")
    return None


def read_settings(given: Mapping[str, str | bool | None], method: str = DEFAULT_METHOD) -> dict[str, Any]:
    """Return the parameters that were given, as the method takes them; ParameterError for the first that it cannot."""
    table = registry.get(method).parameters
    by_name = by_every_name(table)
    settings: dict[str, Any] = {}
    for name, text in given.items():
        if text is None:
            continue
        if name not in by_name:
            known = ", ".join(flag(parameter) for parameter in table)
            raise ParameterError(f"{flag(name)} is no option of {method}, which has {known}")
        parameter = by_name[name]
        if parameter.name in settings:
            raise ParameterError(f"{flag(parameter)} and {flag(name)} are the same: give one")
        settings[parameter.name] = text if isinstance(text, bool) else read_value(parameter, text, flag(name))
    return settings


def read_value(parameter: Parameter, text: str, called: str = "") -> Any:
    """Return the value that an option's text stands for: a number, an allowed word, or None.

    `called` is what the person wrote before the text, unless that was the parameter's own option.
    """
    value: Any = text
    if parameter.optional and text.lower() == "none":
        return None
    if parameter.kind is bool:
        value = {"true": True, "yes": True, "false": False, "no": False}.get(text.lower(), text)
    elif text not in parameter.choices and parameter.kind in (int, float):
        try:
            value = parameter.kind(text)
        except ValueError:
            value = text  # which the check refuses
    try:
        parameter.check(value)
    except ParameterError:
        raise ParameterError(f"{called or flag(parameter)} must be {parameter.describe()}, not {text!r}") from None
    return value


def flag(parameter: Parameter | str) -> str:
    """Return a parameter's name on the command line."""
    name = parameter if isinstance(parameter, str) else parameter.name
    return "--" + name.replace("_", "-")


def in_words(value: Any) -> str:
    """Return a parameter's value as the command line takes it."""
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


RandomState = option(RANDOM_STATE)
MaxMemory = option(MAX_MEMORY)
