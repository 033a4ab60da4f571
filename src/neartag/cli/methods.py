"""`neartag methods`: what there is to train, and what can be set."""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.options import AsJson, find_method, flag, in_words
from neartag.comparators import METHODS, Method
from neartag.comparators.presets import CHOSEN
from neartag.methods.presets import PRESETS

_ENTRY = re.compile(r"(-|[0-9]+\.) ")  # of a list
# The comparators' facts stand where they are implemented; X1 is spread over many files.
_X1 = """\
Kush Bhatia, Himanshu Jain, Purushottam Kar, Manik Varma and Prateek Jain, "Sparse Local Embeddings for Extreme \
Multi-label Classification", NIPS 2015.

Objective: in each cluster of the points, with Ω the pairs of a point and its n̄ nearest label vectors, embeddings Z and
then regressors V

    min over Z (n, L̂) of ‖P_Ω(Y·Yᵀ) − P_Ω(Z·Zᵀ)‖²
    min over V (d, L̂) of ‖Z − X·V‖² + λ‖V‖² + μ‖X·V‖₁

A label's score is its share of the votes of the training points nearest to x·V, and with a share of its own of those
nearest to x.

Cost: a step of SVP takes n·L̂² + |Ω|·L̂ steps, the regression one factor of the smaller of d × d and n × n, or
conjugate gradients. Predicting a point takes d̄·L̂ for x·V, n·L̂ for the neighbours in its cluster and k·L̄ for the vote.
Memory: V, X·V and, where features vote too, the rows.
"""


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
        method = find_method(name)
        if as_json:
            output.show_json(describe(method))
        else:
            show(method)
    elif as_json:
        output.show_json([_summary(method) for method in METHODS.values()])
    else:
        entries = [(each.name, [f"{each.title}: {each.summary}", each.reference]) for each in METHODS.values()]
        output.show_list(entries)
        print()
        output.show_words("A method's parameters: neartag methods NAME")


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
    presets = list(PRESETS if method.name == "x1" else CHOSEN[method.name])
    return {**_summary(method), "facts": facts(method), "presets": presets, "parameters": parameters}


def facts(method: Method) -> str:
    """Return what the method's file says of its reference, objective and cost; nothing is imported for it."""
    if method.name == "x1":
        return _X1
    spec = find_spec(method.module)
    source = getattr(spec.loader, "get_source", lambda _: None)(method.module) if spec is not None else None
    text = ast.get_docstring(ast.parse(source)) if source else None
    # The first paragraph is the file's heading, which says what the summary says.
    return (text or "").partition("\n\n")[2]


def show(method: Method) -> None:
    """Print a method, its facts and its parameters."""
    output.show_words(f"{method.name}: {method.title}", "bold")
    output.show_words(f"{method.summary} ({method.reference})")
    described = describe(method)
    print()
    if described["facts"]:
        print(*map(output.visible, reflowed(described["facts"])), "", sep="\n")
    entries = []
    for parameter, each in zip(method.parameters, described["parameters"], strict=True):
        allowed = each["allowed"].replace("None", "none").replace("'", "")  # as a shell takes them
        entries.append((each["option"], [each["meaning"], f"default {in_words(parameter.default)}; {allowed}"]))
    output.show_list(entries, title="Options")
    print()
    known = ", ".join(described["presets"]) or "none"
    output.show_list([("presets", [known]), ("train", [f"neartag train DATA MODEL --method {method.name}"])])


def reflowed(text: str) -> list[str]:
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
