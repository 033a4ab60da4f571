"""Models pushed to and pulled from a hub by the real client, against a stand-in of the hub's protocol."""

from __future__ import annotations

import json

import pytest

from cli_helpers import fail, invoke, succeed
from hub_helpers import Repository, running_hub
from neartag.storage import store
from serve_helpers import train

pytest.importorskip("huggingface_hub")

NAME = "somebody/packages"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("hub") / "model"
    train().save(place)
    return place


@pytest.fixture(scope="module")
def running():
    from huggingface_hub import constants

    with pytest.MonkeyPatch.context() as patch, running_hub() as hub:
        # The real hub's faster way for large files needs a service of its own; the client can do without it.
        patch.setattr(constants, "HF_HUB_DISABLE_XET", True, raising=False)
        # The client reads the address when it is imported, which other tests may have done before.
        template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, hub.endpoint)
        patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        patch.setattr(constants, "ENDPOINT", hub.endpoint)
        patch.setenv("HF_ENDPOINT", hub.endpoint)
        patch.setenv("HF_TOKEN", "hf_of_the_tests")
        yield hub


@pytest.fixture(scope="module")
def first_push(running, folder):
    succeed("push", folder, NAME, "-q")
    return list(running.repositories[NAME].commits)


@pytest.fixture
def hub(running):
    """A hub without repositories."""
    running.repositories.clear()
    running.blobs.clear()
    return running


@pytest.fixture
def pushed(first_push, hub):
    """A hub with the model, as it was pushed."""
    hub.repositories[NAME] = Repository(private=True, commits=list(first_push))
    return hub


def newest(hub):
    return hub.repositories[NAME].commits[-1]


def change(hub, name, content):
    """Let somebody with access to the hub change a file."""
    hub.commit(NAME, {**newest(hub)[1], name: content})


def test_what_is_pushed_is_what_is_pulled(pushed, folder, tmp_path):
    target = tmp_path / "pulled"
    told = json.loads(succeed("pull", NAME, target, "--json"))
    digest = store.inspect(folder)["digest"]
    assert told == {"model": str(target), "commit": newest(pushed)[0], "digest": digest}
    assert store.load(target, expect_digest=digest).label_names == store.load(folder).label_names
    assert sorted(each.name for each in target.iterdir()) == sorted(
        {"README.md", *(each.name for each in folder.iterdir())}
    )
    assert f"neartag pull {NAME} model --expect-digest {digest[:16]}" in (target / "README.md").read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["pulled"]


def test_it_is_one_commit_of_a_private_repository(hub, folder):
    succeed("push", folder, NAME, "-q")
    repository = hub.repositories[NAME]
    assert repository.private
    assert len(repository.commits) == 2  # the first is that of the hub itself
    assert hub.blobs, "arrays are large files"


def test_files_of_an_earlier_model_go(pushed, folder):
    change(pushed, "labels.0123456789abcdef.safetensors", b"old")
    change(pushed, "notes.txt", b"by hand")
    succeed("push", folder, NAME, "-q")
    names = set(newest(pushed)[1])
    assert "labels.0123456789abcdef.safetensors" not in names
    assert "notes.txt" in names


def test_texts_are_not_published_by_accident(hub, folder):
    assert "--with-texts" in fail("push", folder, NAME, "--public", "-q")
    assert len(hub.repositories[NAME].commits) == 1
    assert "--with-texts" in fail("push", folder, NAME, "-q"), "the repository is public already"
    succeed("push", folder, NAME, "--with-texts", "-q")


def test_a_card_in_the_folder_is_sent_as_it_is(hub, folder, tmp_path):
    copy = tmp_path / "copy"
    train().save(copy)
    (copy / "README.md").write_text("---\nlibrary_name: neartag\n---\nours")
    assert "is sent as it is" in fail("push", copy, NAME, "--license", "mit", "-q")
    told = invoke("push", copy, NAME)
    assert newest(hub)[1]["README.md"].endswith(b"ours")
    assert "is it of an earlier model?" in told.stderr


def test_another_digest_is_refused(pushed, tmp_path):
    assert "has the digest" in fail("pull", NAME, tmp_path / "new", "--expect-digest", "0" * 16, "-q")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("length", ["same", "longer"])
def test_a_changed_file_is_refused(pushed, tmp_path, length):
    target = tmp_path / "model"
    succeed("pull", NAME, target, "-q")
    before = {each.name: each.read_bytes() for each in target.iterdir()}
    name = next(each for each in newest(pushed)[1] if each.startswith("label-names."))
    content = bytearray(newest(pushed)[1][name])
    content[-2] ^= 1
    change(pushed, name, bytes(content) + (b"" if length == "same" else b" "))
    asked = len(pushed.requests)
    told = fail("pull", NAME, target, "--overwrite", "-q")
    assert name in told
    assert ("its checksum differs" if length == "same" else "which it should not") in told
    assert {each.name: each.read_bytes() for each in target.iterdir()} == before
    fetched = any(path.endswith(name) for _, path in pushed.requests[asked:])
    assert fetched == (length == "same"), "what has another size is not even downloaded"


def test_a_manifest_cannot_name_a_file_elsewhere(pushed, tmp_path):
    manifest = json.loads(newest(pushed)[1]["model.json"])
    manifest["label_names"]["name"] = "../../evil.0123456789abcdef.json"
    change(pushed, "model.json", json.dumps(manifest).encode())
    assert "digest does not fit" in fail("pull", NAME, tmp_path / "new", "-q")


def test_other_files_are_not_fetched(pushed, tmp_path):
    change(pushed, "pytorch_model.bin", b"a pickle")
    change(pushed, "setup.py", b"import os")
    succeed("pull", NAME, tmp_path / "new", "-q")
    assert not [path for _, path in pushed.requests if path.endswith((".bin", ".py"))]


def test_an_earlier_commit_can_be_asked_for(pushed, folder, tmp_path):
    first = newest(pushed)[0]
    change(pushed, "model.json", b"{}")
    assert "not neartag's" in fail("pull", NAME, tmp_path / "new", "-q")
    succeed("pull", NAME, tmp_path / "new", "--revision", first, "-q")


def test_what_is_not_there_is_told_in_a_line(hub, folder, tmp_path):
    assert "cannot be fetched" in fail("pull", "nobody/nothing", tmp_path / "new", "-q")
    hub.repositories.clear()
    assert "OWNER/NAME" in fail("push", folder, "https://x/y/z", "-q")
    assert "OWNER/NAME" in fail("pull", "a", tmp_path / "new", "-q")


def test_a_model_that_is_there_stays_unless_told(pushed, tmp_path):
    target = tmp_path / "model"
    succeed("pull", NAME, target, "-q")
    assert "--overwrite" in fail("pull", NAME, target, "-q")
    assert "choose a new or an empty folder" in fail("pull", NAME, tmp_path, "-q")
