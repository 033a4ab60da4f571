"""`neartag convert`: write a data file in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neartag.cli import output
from neartag.cli.limit_options import with_limits
from neartag.cli.options import AsJson, Quiet
from neartag.core.errors import ParameterError

ENDINGS = "XMC text (.txt, .xmc, .svm), sparse JSON lines (.jsonl), both also with .gz, .xz or .bz2, or .npz"


@with_limits
def convert(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=f"Data file to read: {ENDINGS}.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Data file to write; its ending says the format.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a data file in another format.

    The ending of the target says its format. Nothing is lost: names of labels, features and points are written too.
    A target that is there is replaced whole or not at all.
    """
    from neartag.data import formats

    if Path(target).exists() and Path(source).exists() and Path(target).samefile(source):
        raise ParameterError(f"{source} and {target} are the same file: name another target")
    with output.progress(quiet).start(None, f"converting {source}"):
        dataset = formats.convert(source, target)
    size = Path(target).stat().st_size
    report = {"points": dataset.n_points, "features": dataset.n_features, "labels": dataset.n_labels, "bytes": size}
    if as_json:
        output.show_json({"target": target, **report})
    elif not quiet:
        counts = f"{dataset.n_points:,} points, {dataset.n_features:,} features, {dataset.n_labels:,} labels"
        output.show_pairs([(target, f"{counts}, {output.human_bytes(size)}")])
    output.suggest(f"neartag train {target} MODEL", "learns from it", quiet=quiet or as_json)
