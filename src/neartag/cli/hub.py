"""`neartag push` and `neartag pull`: models on Hugging Face's hub, or on a server that speaks as it does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neartag.cli import output
from neartag.cli.card import DataName, Figures, Licence, read_figures, write_card
from neartag.cli.model_folder import check_target
from neartag.cli.options import AsJson, Model, Quiet
from neartag.cli.trust_options import Trust, with_trust
from neartag.core.errors import ParameterError

Repository = Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The repository on the hub.")]


@with_trust
def push(
    model: Model,
    repository: Repository,
    public: Annotated[bool, typer.Option("--public", help="Make a new repository that everybody can read.")] = False,
    with_texts: Annotated[
        bool, typer.Option("--with-texts", help="Publish the texts of the documents that the model keeps.")
    ] = False,
    licence: Licence = "",
    dataset: DataName = "",
    figures: Figures = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    trust: Trust,
) -> None:
    """Store a model with its card on a hub, in one commit.

    A new repository is private unless --public is given. A card that stands in the folder (neartag card) is sent as it
    is; otherwise one is made. Sign in first with the hub's own command, hf auth login; HF_ENDPOINT names another
    server.
    """
    from neartag.report.card import CardOptions
    from neartag.storage import hub, store

    with output.progress(quiet).start(None, f"loading {model}"):
        stored = store.load(model, trust=trust)
    digest = stored.info["digest"]
    own = Path(model) / hub.CARD
    if own.is_file():
        if licence or dataset or figures:
            raise ParameterError(
                f"{own} is sent as it is: write it anew with neartag card --overwrite and these options"
            )
        card = own.read_text(encoding="utf-8")
        if digest not in card:
            output.message(f"{own} does not name this model's digest: is it of an earlier model?", quiet=quiet)
    else:
        options = CardOptions(repository.partition("/")[2], licence, dataset, repository)
        card = write_card(stored, options, read_figures(figures, digest))
    with output.progress(quiet).start(None, f"sending {model}"):
        commit = hub.push(Path(model), repository, card, public=public, with_texts=with_texts)
    if as_json:
        output.show_json({"repository": repository, "commit": commit, "digest": digest})
    else:
        output.show_pairs([("repository", repository), ("commit", commit), ("digest", digest)])
    step = f"neartag pull {repository} FOLDER --expect-digest {digest[:16]}"
    output.suggest(step, "fetches it elsewhere", quiet=quiet or as_json)


@with_trust
def pull(
    repository: Repository,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Folder to save the model in.")],
    revision: Annotated[
        str | None, typer.Option(metavar="NAME", help="A commit, branch or tag.  [default: the newest]")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a model that is there already.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    trust: Trust,
) -> None:
    """Fetch a model from a hub into a folder.

    Every file is compared with its size and its checksum, and the folder changes only once all of them are right. No
    code of the repository is fetched or run. Whoever made the model can say its digest (neartag inspect), or
    sign it: with --expect-digest or --require-signature no other is taken.
    """
    check_target(model, overwrite)
    from neartag.storage import hub

    with output.progress(quiet).start(None, f"fetching {repository}"):
        manifest, commit = hub.pull(repository, Path(model), revision=revision, trust=trust)
    if as_json:
        output.show_json({"model": model, "commit": commit, "digest": manifest.digest})
    else:
        output.show_pairs([("model", model), ("commit", commit), ("digest", manifest.digest)])
    output.suggest(f"neartag inspect {model}", "shows what it is", quiet=quiet or as_json)
