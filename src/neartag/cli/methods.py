"""`neartag methods`: what there is to train, and what can be set."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.options import AsJson, flag, in_words
from neartag.core.method import Method
from neartag.methods import registry

_ENTRY = re.compile(r"(-|[0-9]+\.) ")  # of a list


def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A method, to be shown with all that can be set.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods, or show one with its parameters.

    Each can be trained (neartag train --method NAME) and held against others (neartag compare).
    """
    if name is not None:
        method = registry.get(name)
        if as_json:
            output.show_json(describe(method))
        else:
            show(method)
            output.suggest(f"neartag train DATA MODEL --method {method.name}", "learns by it")
    elif as_json:
        output.show_json([_summary(method) for method in registry.METHODS.all().values()])
    else:
        every = registry.METHODS.all().values()
        output.show_list([(each.name, [f"{each.title}: {each.summary}", each.reference]) for each in every])
        output.suggest("neartag methods NAME", "shows a method's parameters")


def describe(method: Method) -> dict[str, Any]:
    """Return all there is to know of a method, fit for JSON."""
    parameters = [
        {
            "name": each.name,
            "option": flag(each),
            "default": each.default,
            "allowed": each.describe(),
            "meaning": each.help,
        }
        for each in method.parameters
    ]
    # The first paragraph of a description is a heading, which says what the summary says.
    facts = (method.description or "").strip().partition("\n\n")[2]
    return {**_summary(method), "facts": facts, "presets": list(method.presets), "parameters": parameters}


def show(method: Method) -> None:
    """Print a method, its facts and its parameters."""
    output.show_words(f"{method.name}: {method.title}", "bold")
    output.show_words(f"{method.summary} ({method.reference})")
    described = describe(method)
    print()
    if described["facts"]:
        print(*map(output.escape_controls, reflow(described["facts"])), "", sep="\n")
    entries = []
    for parameter, each in zip(method.parameters, described["parameters"], strict=True):
        allowed = each["allowed"].replace("None", "none").replace("'", "")  # as a shell takes them
        entries.append((each["option"], [each["meaning"], f"default {in_words(parameter.default)}; {allowed}"]))
    output.show_list(entries, title="Options")
    print()
    known = ", ".join(described["presets"]) or "none"
    output.show_list([("presets", [known])])


def reflow(text: str) -> list[str]:
    """Return a docstring's lines broken anew to fit the terminal; blank and indented lines stay as they are."""
    lines: list[str] = []
    words: list[str] = []  # of the paragraph, or the entry of a list, that is being read
    for line in [*text.splitlines(), ""]:
        entry = bool(_ENTRY.match(line))
        listed = _ENTRY.match(words[0]) if words else None
        if line and not entry and (listed or not line.startswith(" ")):
            words.append(line.strip())
            continue
        lines += output.wrap(" ".join(words), hanging=len(listed.group()) if listed else 0)
        words = [line] if entry else []
        if not entry:
            lines.append(line)
    return lines[:-1]


def _summary(method: Method) -> dict[str, str]:
    return {"name": method.name, "title": method.title, "summary": method.summary, "reference": method.reference}
