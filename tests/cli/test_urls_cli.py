"""Data and models in storage elsewhere: here in fsspec's own storage in memory, and in files by their URLs."""

from __future__ import annotations

import errno
import json
import tempfile

import pytest

from cli_helpers import fail, invoke, succeed
from neartag import store
from neartag.core.errors import DataError, ParameterError
from neartag.core.remote import is_url
from neartag.data import remote

fsspec = pytest.importorskip("fsspec")

ROWS = "".join(f"{i % 3} {i % 3}:1 {3 + i % 7}:0.5\n" for i in range(60))


@pytest.fixture
def storage():
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.pipe("/bucket/train.txt", f"60 10 3\n{ROWS}".encode())
    memory.pipe("/bucket/new.txt", b"2 10 3\n 1:1\n 2:1\n")
    yield memory
    memory.store.clear()


def test_data_and_model_may_be_urls(storage, tmp_path):
    local = tmp_path / "train.txt"
    local.write_bytes(storage.cat("/bucket/train.txt"))
    succeed("train", "memory://bucket/train.txt", "memory://bucket/models/first", "-q")
    succeed("train", local, tmp_path / "model", "-q")
    there = {file.rsplit("/", 1)[1] for file in storage.find("/bucket/models/first")}
    assert there == {file.name for file in (tmp_path / "model").iterdir() if file.is_file()} - {".lock"}
    answers = succeed("predict", "memory://bucket/models/first", "memory://bucket/new.txt", "-k", "1", "-q")
    assert answers.split() == ["1", "2"]
    assert succeed("predict", f"file://{tmp_path / 'model'}", f"file://{local}", "-k", "1", "-q").split()[:3] == [
        *"012"
    ]


def test_what_is_printed_names_the_urls(storage, tmp_path):
    """And not the copies on this computer, which are gone by then."""
    data, model = "memory://bucket/train.txt", "memory://bucket/model"
    result = invoke("train", data, model)
    assert result.stdout.split()[:2] == ["model", f"{model},"]
    assert f"next: neartag predict {model} DATA" in result.stderr
    assert "neartag-model-" not in result.output + result.stderr
    assert "neartag-copy-" not in result.output + result.stderr
    assert json.loads(succeed("train", data, model, "--overwrite", "--json"))["model"] == model
    result = invoke("predict", model, data, "-o", tmp_path / "answers.txt")
    assert result.exit_code == 0
    assert "neartag-copy-" not in result.output + result.stderr


def test_what_is_told_of_how_files_were_read_names_the_urls(storage, tmp_path):
    lines = "".join(f'{{"text": "some words {number}", "labels": ["a{number % 3}"]}}\n' for number in range(60))
    storage.pipe("/bucket/texts.jsonl", (lines + "no JSON\n").encode())
    result = invoke("train", "memory://bucket/texts.jsonl", tmp_path / "model", "--skip-bad")
    assert result.exit_code == 0
    assert "1 bad line was skipped, the first: memory://bucket/texts.jsonl:61" in result.stderr
    assert "memory://bucket/texts.jsonl: text from text" in result.stderr
    assert "neartag-copy-" not in result.output + result.stderr


def test_errors_about_copies_name_the_urls(storage):
    storage.pipe("/bucket/bad.txt", b"2 10 3\n0 1:1\n0 1:x\n")
    assert fail("train", "memory://bucket/bad.txt", "m", "-q").startswith("error: memory://bucket/bad.txt:3: ")
    storage.pipe("/bucket/model/model.json", b"{}")
    error = fail("predict", "memory://bucket/model", "memory://bucket/new.txt")
    assert "memory://bucket/model" in error
    assert "neartag-copy-" not in error


def test_a_model_that_is_there_is_replaced_only_when_asked(storage):
    command = "train", "memory://bucket/train.txt", "memory://bucket/model", "-q"
    succeed(*command)
    assert "holds a model: give --overwrite" in fail(*command)
    before = set(storage.find("/bucket/model"))
    assert not any(name.rpartition("/")[2].startswith(".") for name in before), "the lock stays here"
    storage.pipe("/bucket/model/notes/thesis.txt", b"not ours")
    succeed(*command, "--overwrite", "--random-state", "5", "--l2", "7")
    after = set(storage.find("/bucket/model"))
    assert "/bucket/model/notes/thesis.txt" in after
    assert len(after) == len(before) + 1  # what the old model had and the new one has not is gone
    assert after - before > {"/bucket/model/notes/thesis.txt"}


def test_a_place_with_other_files_is_refused(storage):
    storage.pipe("/bucket/models/other/model.json", b"{}")
    error = fail("train", "memory://bucket/train.txt", "memory://bucket/models", "-q")
    assert "memory://bucket/models holds other files than a model's" in error
    assert storage.find("/bucket/models") == ["/bucket/models/other/model.json"]
    storage.pipe("/bucket/model/model.json", b"{")
    error = fail("train", "memory://bucket/train.txt", "memory://bucket/model", "--overwrite", "-q")
    assert "holds a damaged model.json" in error


def test_a_model_that_cannot_be_copied_is_kept_here(storage, monkeypatch, tmp_path):
    def refuse(*given):
        raise DataError("the network is gone")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(remote, "upload_folder", refuse)
    result = invoke("train", "memory://bucket/train.txt", "memory://bucket/model")
    (kept,) = tmp_path.glob("neartag-model-*/model")
    assert result.exit_code == 2
    assert f"the model was not copied to memory://bucket/model: it is in {kept}" in result.stderr
    assert store.load(kept).model.n_points == 60


def test_a_folder_that_names_files_outside_of_itself_is_refused(storage, monkeypatch):
    storage.pipe("/bucket/set/a.txt", b"a")
    monkeypatch.setattr(type(storage), "find", lambda *given: ["/bucket/set/../../escaped.txt"])
    with pytest.raises(DataError, match="names a file outside of itself"), remote.local_copy("memory://bucket/set"):
        pass


def test_what_is_wrong_is_told_with_the_url(storage):
    assert "memory://bucket/none.txt: there is no such file" in fail("train", "memory://bucket/none.txt", "m", "-q")
    assert "nowhere://a/b" in fail("train", "nowhere://a/b", "m", "-q")
    url = "memory://bucket/model"
    assert "--work-dir" in fail("train", "memory://bucket/train.txt", url, "--engine", "processes", "-q")
    assert not storage.find("/bucket/model")


class ClientError(Exception):
    """An error such as botocore's, which is none of the operating system."""


@pytest.mark.parametrize("step", ["isdir", "get_file", "exists", "put_file"])
@pytest.mark.parametrize("error", [ClientError("An error (403):\nForbidden"), PermissionError("Forbidden"), KeyError()])
def test_whatever_the_storage_raises_is_one_line(storage, monkeypatch, tmp_path, step, error):
    """While data are read, while it is looked what is there, and while the model is written."""

    def refuse(*given, **options):
        raise error

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(type(storage), step, refuse)
    data, model = "memory://bucket/train.txt", "memory://bucket/model"
    result = invoke("train", data, model, "-q")
    assert result.exit_code == 2
    told = result.stderr.splitlines()[-1]  # before it may stand where the model is kept
    assert told.startswith(f"error: {data if step in ('isdir', 'get_file') else model}: ")
    assert ("Forbidden" if error.args else "KeyError") in told
    assert told.endswith("check the URL, the network, and that your account may do this there")


def test_storage_that_cannot_be_opened_is_told_with_the_url(monkeypatch):
    def refuse(url):
        raise ClientError("the profile is not there")

    monkeypatch.setattr("fsspec.core.url_to_fs", refuse)
    error = fail("train", "memory://bucket/train.txt", "m", "-q")
    assert "memory://bucket/train.txt: the profile is not there: check the URL" in error


def test_a_disk_without_room_for_a_copy_is_told_of(storage, monkeypatch, tmp_path):
    def fill(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(type(storage), "get_file", fill)
    assert f"make room in {tmp_path}, or set TMPDIR" in fail("train", "memory://bucket/train.txt", "m", "-q")


def test_a_training_that_fails_leaves_nothing(storage):
    fail("train", "memory://bucket/train.txt", "memory://bucket/model", "--n-clusters", "-4", "-q")
    assert not storage.find("/bucket/model")


def test_folders_are_copied_whole(storage):
    storage.pipe("/bucket/set/deep/a.txt", b"a")
    storage.pipe("/bucket/set/b.txt", b"b")
    with remote.local_copy("memory://bucket/set") as copy:
        files = {str(path)[len(copy) + 1 :]: path.read_bytes() for path in sorted(_files(copy))}
    assert files == {"b.txt": b"b", "deep/a.txt": b"a"}
    assert not _files(copy)


def test_errors_of_whoever_uses_a_copy_stay_their_own(storage):
    with pytest.raises(FileNotFoundError, match="mine"), remote.local_copy("memory://bucket/new.txt"):
        raise FileNotFoundError("mine")
    with pytest.raises(DataError, match="no such file"), remote.local_copy("memory://bucket/none"):
        pass
    with pytest.raises(ParameterError, match="nowhere"):
        remote.read_file("nowhere://a", "b")


@pytest.mark.parametrize(
    ("name", "wanted"), [("s3://a/b", True), ("file:///a", True), ("a/b", False), ("C:\\a", False)]
)
def test_urls_are_told_from_paths(name, wanted):
    assert is_url(name) is wanted


def _files(folder):
    from pathlib import Path

    return [path for path in Path(folder).rglob("*") if path.is_file()]
