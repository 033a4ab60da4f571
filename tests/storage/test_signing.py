"""Models signed and refused: with another key, without a signature, with what was signed changed."""

from __future__ import annotations

import json
import os
import shutil
import stat
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from cli_helpers import fail, succeed
from neartag import LiveTagger, TextTagger, X1Classifier, store
from neartag.core.errors import ModelError, NeartagError, ParameterError
from neartag.data.documents import Document
from neartag.storage import signing
from neartag.storage.content import encode_json
from neartag.storage.manifest import MANIFEST, compute_digest, read_manifest
from neartag.storage.signing import PublicKey, Trust, write_new_key

pytest.importorskip("cryptography")
TEXTS = ["bake bread in the oven", "ride a bicycle", "bread with butter", "the wheel of a bicycle"]
LABELS = [["cooking"], ["cycling"], ["cooking"], ["cycling"]]
SKY = Document("stars in the night sky", ["astronomy"], "sky", None, "")
SUN = Document("the sun at noon", ["astronomy"], "sun", None, "")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a folder with a model, and two keys beside it."""
    folder = tmp_path_factory.mktemp("signed")
    classifier = X1Classifier(embedding_dim=2, vote_neighbours=2, refine=False, n_jobs=1)
    TextTagger("words", classifier, calibration=None).fit(TEXTS, LABELS, list("abcd")).save(folder / "model")
    for name in ("key", "other"):
        write_new_key(folder / name)
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    """Return a copy of all of it, in which the model is signed."""
    copy = Path(shutil.copytree(trained, tmp_path / "all"))
    store.sign(copy / "model", copy / "key")
    return copy


def rewrite(model: Path, change) -> None:
    """Change model.json, with a digest that fits, as somebody could who has no key."""
    document = json.loads((model / MANIFEST).read_bytes())
    change(document)
    document["digest"] = compute_digest(document)
    (model / MANIFEST).write_bytes(encode_json(document, MANIFEST))


def test_a_signed_model_is_taken_and_any_other_refused(folder):
    model, key = folder / "model", folder / "key.pub"
    assert store.load(model, require_signature=key).label_names == ["cooking", "cycling"]
    with pytest.raises(ModelError, match="signed with another key"):
        store.load(model, require_signature=folder / "other.pub")
    rewrite(model, lambda document: document.pop("signature"))
    assert store.load(model).info["signed_by"] is None
    with pytest.raises(ModelError, match="is not signed, and a signature is required"):
        store.load(model, require_signature=key)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["extras"].update(calibration={"x": 1}),
        lambda document: document["settings"]["parameters"].update(vote_neighbours=1),
        lambda document: document.update(generation=7),
        lambda document: document["signature"].update(value="A" * 86 + "=="),
        lambda document: document["signature"].update(value="not base64"),
        lambda document: document.update(label_names=document["point_names"]),
    ],
)
def test_whoever_changes_what_was_signed_is_found_out(folder, change):
    rewrite(folder / "model", change)
    with pytest.raises(ModelError, match="wrong signature"):
        store.load(folder / "model", require_signature=folder / "key.pub")


def test_the_key_in_the_folder_proves_nothing(folder):
    other = store.sign(shutil.copytree(folder / "model", folder / "copy"), folder / "other").signature
    stolen = {"kind": "ed25519", "public_key": read_manifest(folder / "model").signature.public_key}
    rewrite(folder / "model", lambda document: document.update(signature={**stolen, "value": other.value}))
    with pytest.raises(ModelError, match="wrong signature"):
        store.load(folder / "model", require_signature=folder / "key.pub")


def test_additions_need_no_key_and_other_changes_do(folder):
    model, trust = folder / "model", Trust(public_key=PublicKey.read(folder / "key.pub"))
    live, reader = LiveTagger(model, trust=trust), LiveTagger(model, trust=trust)
    live.add([SKY])
    live.add([SUN])
    assert reader.refresh()
    assert "sun" in reader.tagger
    assert "sky" in TextTagger.load(model, trust=trust)
    with pytest.raises(ParameterError, match="must be signed, and this change would write anew what was signed"):
        live.forget(["sky"])
    with pytest.raises(ParameterError, match="must be signed"):
        live.add([SKY], replace=True)
    assert "sky" in TextTagger.load(model, trust=trust), "nothing was written"
    with pytest.warns(UserWarning, match="is not signed any more: sign it again"):
        LiveTagger(model).forget(["sky"])
    with pytest.raises(ModelError, match="is not signed"):
        reader.refresh()
    assert "sky" in reader.tagger, "what was read before is kept"
    store.sign(model, folder / "key")
    assert reader.refresh()
    assert "sky" not in reader.tagger


def test_additions_follow_the_model_that_they_were_made_to(folder):
    model = folder / "model"
    LiveTagger(model).add([SKY])
    LiveTagger(model).add([SUN])
    entries = read_manifest(model).to_json()["added"]
    assert entries[0]["after"] == read_manifest(model).base_digest
    rewrite(model, lambda document: document.update(generation=3))
    with pytest.raises(ModelError, match="added to another model than this one"):
        store.load(model)


def test_an_expected_digest_goes_along_with_changes_of_our_own_only(folder):
    model = folder / "model"
    live = LiveTagger(model, trust=Trust(expect_digest=read_manifest(model).digest))
    live.add([SKY])
    live.add([SUN])
    assert not live.refresh()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        live.forget(["sky"])
        LiveTagger(model).add([SKY])
    with pytest.raises(ModelError, match="not the one expected"):
        live.refresh()


def test_keys_are_private_and_never_overwritten(tmp_path):
    key = tmp_path / "key"
    public = write_new_key(key)
    assert public == tmp_path / "key.pub"
    if os.name == "posix":
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
    kept = key.read_bytes()
    with pytest.raises(ParameterError, match="never overwritten"):
        write_new_key(key)
    key.unlink()
    with pytest.raises(ParameterError, match="never overwritten"):
        write_new_key(key)
    key.symlink_to(tmp_path / "nowhere")
    with pytest.raises(ParameterError, match="never overwritten"):
        write_new_key(key)
    assert kept not in public.read_bytes()
    with pytest.raises(ParameterError, match="cannot be written"):
        write_new_key(tmp_path / "no" / "folder")


def test_what_is_no_key_is_told(folder):
    model = folder / "model"
    with pytest.raises(ParameterError, match="no private key"):
        store.sign(model, folder / "key.pub")
    with pytest.raises(ParameterError, match="no public key"):
        store.load(model, require_signature=folder / "key")
    with pytest.raises(ParameterError, match="cannot be read"):
        store.load(model, require_signature=folder / "none")
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    pem, public = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    (folder / "ec.pub").write_bytes(ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(pem, public))
    with pytest.raises(ParameterError, match="another kind than Ed25519"):
        store.load(model, require_signature=folder / "ec.pub")
    rewrite(model, lambda document: document["signature"].update(kind="rsa"))
    with pytest.raises(ModelError, match="upgrade neartag"):
        store.load(model)


def test_without_cryptography_the_extra_is_named(folder, monkeypatch):
    def nothing():
        raise NeartagError("signatures need cryptography")

    monkeypatch.setattr(signing, "_cryptography", nothing)
    assert store.load(folder / "model").info["signed_by"], "a signature that nobody asks for needs nothing"
    with pytest.raises(NeartagError, match="need cryptography"):
        store.load(folder / "model", require_signature=folder / "key.pub")


def test_a_signature_of_an_old_folder_and_of_added_documents(trained, tmp_path):
    old = Path(shutil.copytree(Path(__file__).parent / "folders" / "votes", tmp_path / "old"))
    with pytest.warns(UserWarning, match="earlier neartag"):
        before = TextTagger.load(old)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store.sign(old, trained / "key")
    after = TextTagger.load(old, require_signature=trained / "key.pub")
    assert after.labels == before.labels
    signed = replace(read_manifest(old), added=())
    assert signed.base_digest == read_manifest(old).base_digest, "what was added is not covered"


def test_the_commands(folder, tmp_path):
    model, key = folder / "model", folder / "key.pub"
    made = json.loads(succeed("new-key", tmp_path / "mine", "--json"))
    assert made == {"private": f"{tmp_path / 'mine'}", "public": f"{tmp_path / 'mine.pub'}"}
    assert "never overwritten" in fail("new-key", tmp_path / "mine")
    told = json.loads(succeed("sign", model, "--key", tmp_path / "mine", "--json"))
    assert told["digest"] == read_manifest(model).digest
    assert "another key" in fail("tag", model, "bread", "--require-signature", key)
    mine = tmp_path / "mine.pub"
    assert "cooking" in succeed("tag", model, "fresh bread", "--require-signature", mine)
    data = tmp_path / "docs.jsonl"
    data.write_text(json.dumps({"id": "x", "text": "fresh bread", "labels": ["cooking"]}) + "\n")
    commands = [
        ("tag", model, "fresh bread"),
        ("explain", model, "fresh bread"),
        ("predict", model, data),
        ("evaluate", model, data),
        ("review", model, data),
        ("labels", model),
        ("inspect", model),
        ("add", model, data),
    ]
    for command in commands:
        assert "not the one expected" in fail(*command, "--expect-digest", "0" * 16), command
        succeed(*command, "--expect-digest", told["digest"][:20], "--require-signature", mine)
    changed = read_manifest(model).digest
    assert changed != told["digest"]
    assert "not the one expected" in fail("forget", model, "x", "--expect-digest", told["digest"])
    assert "must be signed" in fail("forget", model, "x", "--require-signature", mine)
    succeed("forget", model, "x", "--expect-digest", changed)
