"""`neartag labels`: the labels of a model listed, renamed, merged and closed without training again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from neartag.cli import output
from neartag.cli.options import AsJson, Model, Quiet
from neartag.cli.trust_options import Trust, with_trust
from neartag.core.errors import ParameterError

if TYPE_CHECKING:
    from neartag.tagging.tagger import TextTagger


@with_trust
def labels(
    model: Model,
    rename: Annotated[
        tuple[str, str] | None, typer.Option(metavar="LABEL NEW", help="Give a label another name.")
    ] = None,
    merge: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="FROM INTO", help="Make two labels one: documents of FROM have INTO from then on."),
    ] = None,
    close: Annotated[
        bool | None,
        typer.Option("--close/--open", help="Refuse new labels in documents that are added, or take them again."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    trust: Trust,
) -> None:
    """List the labels of a model, or change them without training again.

    The list has each label, how many documents have it, and its URI where the model has a vocabulary. Old names of a
    label that was renamed or merged still lead to it when documents are added. Labels that differ only in case or
    punctuation are pointed out.
    """
    if sum(each is not None for each in (rename, merge, close)) > 1:
        raise ParameterError("give one of --rename, --merge and --close/--open at a time")
    if rename is None and merge is None and close is None:
        _show_labels(model, trust, as_json, quiet)
        return
    from neartag.tagging.live import LiveTagger

    def change(tagger: TextTagger) -> None:
        if rename is not None:
            tagger.rename_label(*rename)
        elif merge is not None:
            tagger.merge_label(*merge)
        else:
            tagger.close_labels(bool(close))

    live = LiveTagger(model, trust=trust)
    asked = {"rename": rename, "merge": merge, "closed": close}
    live.change_labels(change, **{name: value for name, value in asked.items() if value is not None})
    tagger = live.tagger
    report = {"labels": len(tagger.labels), "closed": tagger.vocabulary is not None and tagger.vocabulary.closed}
    if as_json:
        output.show_json(report)
    else:
        output.show_pairs(
            [("labels", f"{report['labels']:,}"), ("new labels", "refused" if report["closed"] else "taken")]
        )
    output.suggest(f'neartag tag {model} "a text"', "answers with them", quiet=quiet or as_json)


def _show_labels(model: str, trust: Trust, as_json: bool, quiet: bool) -> None:
    from neartag.data.near_duplicates import describe_near_duplicates, find_near_duplicates
    from neartag.tagging.label_changes import list_labels
    from neartag.tagging.tagger import TextTagger

    entries = list_labels(TextTagger.load(model, trust=trust).stored)
    for entry in entries:
        if as_json:
            print(output.json_line(entry._asdict()))
            continue
        count = "" if entry.documents is None else f"{entry.documents:,}"
        cells = [f"{count:>9}", output.escape_controls(entry.label), *([entry.uri] if entry.uri else [])]
        print("  ".join(cells))
    alike = find_near_duplicates(entry.label for entry in entries)
    if alike:
        output.message(output.escape_controls(describe_near_duplicates(alike, model)), quiet=quiet or as_json)
    step, purpose = ("--merge FROM INTO", "makes two labels one") if alike else ("--rename LABEL NEW", "renames one")
    output.suggest(f"neartag labels {model} {step}", purpose, quiet=quiet or as_json)
