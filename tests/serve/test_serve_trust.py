"""A server that was told which model to serve: by its digest, or by who signed it."""

from __future__ import annotations

import shutil

import pytest

from neartag import LiveTagger, TextTagger, X1Classifier, store
from neartag.core.errors import ModelError
from neartag.data.documents import Document
from neartag.serve.settings import Settings
from neartag.storage.manifest import read_manifest
from neartag.storage.signing import PublicKey, write_new_key
from serve_helpers import BEARER, Client, error_of

TEXTS = ["bake bread in the oven", "ride a bicycle", "bread with butter", "the wheel of a bicycle"]
LABELS = [["cooking"], ["cycling"], ["cooking"], ["cycling"]]
SKY = {"text": "stars in the night sky", "labels": ["cooking"], "id": "sky"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trust") / "model"
    classifier = X1Classifier(embedding_dim=2, vote_neighbours=2, refine=False, n_jobs=1)
    TextTagger("words", classifier, calibration=None).fit(TEXTS, LABELS, list("abcd")).save(folder)
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "model")


@pytest.fixture
def serve():
    """Return a function that serves a folder; all is closed at the end."""
    clients = []

    def start(folder, **settings):
        clients.append(Client(folder, Settings(**settings)))
        return clients[-1]

    yield start
    for client in clients:
        client.close()


def test_another_digest_is_neither_served_nor_taken_in(folder, serve):
    digest = read_manifest(folder).digest
    with pytest.raises(ModelError, match="not the one expected"):
        serve(folder, expect_digest="0" * 64)
    client = serve(folder, expect_digest=digest[:16])
    assert client.post("/tag", {"text": "fresh bread"}).status_code == 200
    assert "nothing can be changed" in error_of(client.post("/add", {"documents": [SKY]}, headers=BEARER), 422)
    LiveTagger(folder).add([Document(SKY["text"], SKY["labels"], "sky", None, "")])
    client.model.refresh()
    health = client.get("/health").json()
    assert (health["ok"], health["points"]) == (False, 4)
    assert "not the one expected" in health["reload_error"]


def test_only_what_the_key_signed_is_served(folder, serve, tmp_path):
    pytest.importorskip("cryptography")
    key = PublicKey.read(write_new_key(tmp_path / "key")).text
    with pytest.raises(ModelError, match="is not signed"):
        serve(folder, public_key=key)
    store.sign(folder, tmp_path / "key")
    client = serve(folder, public_key=key)
    assert client.post("/add", {"documents": [SKY]}, headers=BEARER).status_code == 200
    refused = client.post("/forget", {"ids": ["sky"]}, headers=BEARER)
    assert "must be signed" in error_of(refused, 422)
    assert client.get("/health").json()["ok"]
    with pytest.warns(UserWarning, match="not signed any more"):
        LiveTagger(folder).forget(["sky"])
    client.model.refresh()
    health = client.get("/health").json()
    assert (health["ok"], health["points"]) == (False, 5), "it goes on with what it has"


def test_settings_reach_the_workers():
    settings = Settings(expect_digest="a" * 64, public_key="b" * 44)
    assert Settings.from_text(settings.to_text("model")) == ("model", settings)
    assert settings.trust.public_key == PublicKey("b" * 44)
