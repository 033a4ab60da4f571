"""`neartag datasets`: which data sets are there, and `neartag datasets get`: another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from neartag.cli import output
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
    """List the data sets that DATA may name, or get another.

    Each is shown with its sizes and where it is; those that are known and missing follow, with the paper's sizes. They
    are looked for in the folder that NEARTAG_DATA names, else in the platform's cache folder.
    """
    if context.invoked_subcommand is not None:
        return
    from neartag.data import registry
    from neartag.data.registry.catalogue import entries

    found = [_embedded(), *map(_row, entries())]
    folder = registry.data_folder()
    if as_json:
        output.show_json({"folder": str(folder), "datasets": found})
        return
    for title, here in (("There:", True), ("Missing:", False)):
        rows = [each for each in found if (each["path"] is not None) == here]
        if rows:
            headings = ("data set", "train", "test", "features", "labels", "where" if here else "what")
            output.show_table(headings, [_cells(each) for each in rows], title=title, words=(0, 5))
            print()
    exists = "" if folder.is_dir() else ", which is not there yet"
    output.show_words(f"The data folder is {folder}{exists}; NEARTAG_DATA names another.")
    output.show_words("How to get one: neartag datasets get NAME")


@app.command()
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

    The address is that of an archive (.zip, .tar.xz, .tar.gz, .tar.bz2) with train.txt and test.txt, or with the files
    as the paper's data sets are published. It is kept only if it has come whole, has the checksum, where one is known,
    and can be unpacked.
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
    found = {**_row(entry(name)), "sha256": got.sha256, "checked": got.checked}
    if not got.checked:
        where = got.path.with_name(CHECKSUM_FILE)
        output.message(
            f"no checksum was known for {name}; what came is now listed in {where}: {got.sha256}", quiet=quiet
        )
    if as_json:
        output.show_json(found)
    else:
        output.show_table(("data set", "train", "test", "features", "labels", "where"), [_cells(found)], words=(0, 5))


def _embedded() -> dict[str, Any]:
    from neartag.data import debian

    counts = debian.info()
    about = {"name": EMBEDDED, "about": "Debian packages, embedded in neartag", "path": "embedded"}
    sizes = {"train": counts["train"], "test": counts["test"], "features": None, "labels": counts["tags"]}
    return {**about, **sizes, "note": "texts"}


def _row(found: Entry) -> dict[str, Any]:
    return {**vars(found), "path": None if found.path is None else str(found.path)}


def _cells(row: dict[str, Any]) -> list[str]:
    """Return a line of the table: of what is there its place, of what is missing what it is."""
    counts = ["–" if row[name] is None else f"{row[name]:,}" for name in ("train", "test", "features", "labels")]
    if row["path"] is None:
        note = row["note"].removeprefix("missing").removeprefix("; ")
        about = row["about"].partition(",")[0]
        return [row["name"], *counts, f"{about} ({note})" if note else about]
    return [row["name"], *counts, f"{row['path']} ({row['note']})" if row["note"] else row["path"]]
