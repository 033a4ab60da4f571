"""`neartag sign` and `neartag new-key`: a signature, so that others can tell who made a model."""

from __future__ import annotations

from typing import Annotated

import typer

from neartag.cli import output
from neartag.cli.options import AsJson, Model, Quiet
from neartag.core.errors import ParameterError


def sign(
    model: Model,
    key: Annotated[
        str, typer.Option("--key", metavar="FILE", help="Private key, as neartag new-key makes it.", show_default=False)
    ],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Sign a model, so that --require-signature can tell that it comes from you.

    Every file is first compared with its checksum. The signature covers what training made: not documents that are
    added later, which need no key. Forgetting, replacing and changing labels write a model anew, without the signature:
    sign it again then.
    """
    from neartag.storage.sign import sign as sign_folder

    with output.progress(quiet).start(None, f"signing {model}"):
        manifest = sign_folder(model, key)
    added = sum(entry.points for entry in manifest.added)
    assert manifest.signature is not None
    report = {"digest": manifest.digest, "signed_by": manifest.signature.public_key, "added": added}
    if as_json:
        output.show_json(report)
    elif not quiet:
        output.show_pairs([("digest", manifest.digest), ("signed by", manifest.signature.public_key)])
    if added:
        documents = f"{added:,} added document{'s are' if added > 1 else ' is'}"
        output.message(f"{documents} not covered: --expect-digest covers all", quiet=quiet or as_json)
    told = f"neartag tag {model} TEXT --require-signature {key}.pub"
    output.suggest(told, "refuses any other model", quiet=quiet or as_json)


def new_key(
    key: Annotated[str, typer.Argument(metavar="FILE", help="File to write the private key to; FILE.pub is public.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make a key to sign models with: FILE, which only you may read, and FILE.pub for everybody else.

    Both are Ed25519 keys in PEM. Files that are there are never overwritten. Keep FILE away from models and servers:
    whoever has it can sign in your name.
    """
    if not key.strip():
        raise ParameterError("FILE is empty: name the file to write the key to")
    from neartag.storage.signing import write_new_key

    public = write_new_key(key)
    if as_json:
        output.show_json({"private": key, "public": str(public)})
    elif not quiet:
        output.show_pairs([("private key", key), ("public key", str(public))])
    output.suggest(f"neartag sign MODEL --key {key}", "signs a model", quiet=quiet or as_json)
