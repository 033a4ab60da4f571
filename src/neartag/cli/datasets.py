"""`neartag datasets`: list the data sets; `neartag datasets get`: download one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.limit_options import with_limits
from neartag.cli.options import AsJson, Quiet
from neartag.cli.sources import EMBEDDED
from neartag.core.errors import ParameterError

if TYPE_CHECKING:
    from neartag.data.registry.catalogue import Entry

app = typer.Typer(
    name="datasets",
    rich_markup_mode=None,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def datasets(context: typer.Context, as_json: AsJson = False) -> None:
    """List the data sets that DATA may name, or download one.

    First those that are there, with their sizes and their places, then those that are known but missing, with the
    paper's sizes. They are looked for in the folder that NEARTAG_DATA names, or else in the platform's cache folder.
    """
    if context.invoked_subcommand is not None:
        return
    from neartag.data import registry
    from neartag.data.registry.catalogue import entries
    from neartag.data.registry.folders import describe_problem

    rows = [_describe_embedded(), *map(_describe, entries())]
    folder = registry.data_folder()
    if as_json:
        output.show_json({"folder": str(folder), "datasets": rows})
        return
    for title, here in (("There:", True), ("Missing:", False)):
        shown = [row for row in rows if (row["path"] is not None) == here]
        if shown:
            headings = ("data set", "train", "test", "features", "labels", "where" if here else "what")
            output.show_table(headings, [_cells(row) for row in shown], title=title, words=(0, 5))
            print()
    exists = describe_problem(folder) or ("" if folder.is_dir() else ", which is not there yet")
    output.show_words(f"The data folder is {folder}{exists}; NEARTAG_DATA names another.")
    output.suggest("neartag datasets get NAME", "downloads one, or says how to get it")


@app.command()
@with_limits
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The data set.")],
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Archive to download.  [default: what datasets.json in the data folder says]"),
    ] = None,
    sha256: Annotated[str | None, typer.Option(metavar="SUM", help="SHA-256 that the archive must have.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Download a data set into the data folder, or say where to get it and where to put it.

    The address must be that of an archive (.zip, .tar.xz, .tar.gz, .tar.bz2) with train.txt and test.txt, or with the
    files of one of the paper's data sets as they are published. The archive is kept only if it arrives whole, can be
    unpacked, and has the right checksum, if one is known.
    """
    from neartag.data.registry import download
    from neartag.data.registry.addresses import Address, read_addresses
    from neartag.data.registry.catalogue import entry
    from neartag.data.registry.checksums import CHECKSUM_FILE

    if name == EMBEDDED:
        raise ParameterError(f"{EMBEDDED} is embedded in neartag: it is always there")
    if sha256 is not None and url is None:
        configured = read_addresses().get(name)
        url = configured.url if configured is not None else None
    address = None if url is None else Address(url, sha256)
    got = download.get(name, address, progress=output.progress(quiet))
    row = {**_describe(entry(name)), "sha256": got.sha256, "checked": got.checked}
    if not got.checked:
        where = got.path.with_name(CHECKSUM_FILE)
        output.message(
            f"no checksum was known for {name}; what came is now listed in {where}: {got.sha256}", quiet=quiet
        )
    if as_json:
        output.show_json(row)
    else:
        output.show_table(("data set", "train", "test", "features", "labels", "where"), [_cells(row)], words=(0, 5))
    output.suggest(f"neartag train {name} MODEL", "learns from it", quiet=quiet or as_json)


def _describe_embedded() -> dict[str, Any]:
    from neartag.data import debian

    counts = debian.info()
    about = {"name": EMBEDDED, "about": "Debian packages, embedded in neartag", "path": "embedded"}
    sizes = {"train": counts["train"], "test": counts["test"], "features": None, "labels": counts["tags"]}
    return {**about, **sizes, "note": "texts"}


def _describe(entry: Entry) -> dict[str, Any]:
    return {**vars(entry), "path": None if entry.path is None else str(entry.path)}


def _cells(row: dict[str, Any]) -> list[str]:
    """Return a row of the table: where a data set is, or if it is missing, what it is."""
    counts = ["–" if row[name] is None else f"{row[name]:,}" for name in ("train", "test", "features", "labels")]
    if row["path"] is None:
        note = row["note"].removeprefix("missing").removeprefix("; ")
        about = row["about"].partition(",")[0]
        return [row["name"], *counts, f"{about} ({note})" if note else about]
    return [row["name"], *counts, f"{row['path']} ({row['note']})" if row["note"] else row["path"]]
