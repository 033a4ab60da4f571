"""`neartag card`: a model card, in the format of Hugging Face's hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.options import Model, Quiet
from neartag.cli.trust_options import Trust, with_trust
from neartag.core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from neartag.report.card import CardOptions
    from neartag.storage.bundle import StoredModel

CARD = "README.md"  # by which a hub shows it
Licence = Annotated[str, typer.Option("--license", metavar="NAME", help="The licence, such as mit or cc-by-4.0.")]
DataName = Annotated[str, typer.Option("--dataset", metavar="NAME", help="The name of the data it learned from.")]
Figures = Annotated[
    str | None,
    typer.Option("--figures", metavar="FILE", help="Test figures: what neartag evaluate MODEL DATA --json printed."),
]


@with_trust
def card(
    model: Model,
    target: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write it; -: standard output.")
    ] = None,
    name: Annotated[
        str, typer.Option(help="The model's name.  [default: that of its folder]", show_default=False)
    ] = "",
    licence: Licence = "",
    dataset: DataName = "",
    figures: Figures = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a card that is there already.")] = False,
    quiet: Quiet = False,
    *,
    trust: Trust,
) -> None:
    """Write a model card: what a model is, what it learned from, how good it is, and its limits.

    It is README.md in the model's folder unless -o names another file: Markdown, with the metadata that Hugging Face's
    hub reads. All of it comes from the model itself; figures on test data are added with --figures.
    """
    place = Path(model) / CARD if target is None else Path(target)
    if target != "-" and place.exists() and not overwrite:
        raise ParameterError(f"{place} is there already: give --overwrite to replace it, or -o another file")
    from neartag.data.files import open_to_replace
    from neartag.report.card import CardOptions
    from neartag.storage import store

    with output.progress(quiet).start(None, f"loading {model}"):
        stored = store.load(model, trust=trust)
    options = CardOptions(name or Path(model).resolve().name, licence, dataset)
    text = write_card(stored, options, read_figures(figures, stored.info["digest"]))
    if target == "-":
        print(text, end="")
        return
    with open_to_replace(place) as stream:
        stream.write(text.encode())
    output.message(f"the card is in {place}", quiet=quiet)
    output.suggest(f"neartag push {model} OWNER/NAME", "stores model and card on a hub", quiet=quiet)


def write_card(stored: StoredModel, options: CardOptions, figures: dict[str, Any] | None = None) -> str:
    """Return the card of a model."""
    from neartag.cli.inspect import describe
    from neartag.report.card import make_card
    from neartag.report.card_facts import describe_contents

    return make_card({**describe(stored), **describe_contents(stored)}, options, figures)


def read_figures(file: str | None, digest: str) -> dict[str, Any] | None:
    """Return the figures of a file; DataError where they are not what evaluate printed, or of another model."""
    if file is None:
        return None
    from neartag.data.files import read_bytes
    from neartag.report.figures import CUTS

    try:
        found = json.loads(read_bytes(file))
        wanted = [found["metrics"][f"{family}@{k}"] for family in ("P", "nDCG", "PSP", "R") for k in CUTS]
        usable = all(isinstance(value, (int, float)) for value in (found["points"], *wanted))
    except (ValueError, TypeError, KeyError):
        usable = False
    if not usable:
        raise DataError(f"{file} has no figures: write it with neartag evaluate MODEL DATA --json")
    if found.get("digest") != digest:
        raise DataError(f"{file} has figures of another model: run neartag evaluate with this one")
    return dict(found)
