"""`--work-dir` as a URL: the same model, work that goes on from any computer, and nothing left in the end."""

from __future__ import annotations

import json
import shutil
import tempfile

import pytest

from cli_helpers import fail, invoke, succeed
from engine_cli_helpers import OPTIONS, train_model, write_points
from neartag import store
from neartag.core.remote import RemoteFiles
from neartag.work.remote_folder import RemoteFolder
from neartag.x1 import steps

fsspec = pytest.importorskip("fsspec")

WORK = "memory://bucket/run"


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    return write_points(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def model(points, tmp_path_factory):
    return train_model(points, tmp_path_factory.mktemp("models"))


@pytest.fixture
def storage(tmp_path, monkeypatch):
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    yield memory
    memory.store.clear()
    assert not list(copies.iterdir()), "copies are removed whatever happens"


def digest(folder):
    return store.inspect(folder)["digest"]


def interrupt(*given, **options):
    raise KeyboardInterrupt


@pytest.mark.parametrize("keep", [False, True])
def test_the_model_is_the_same_and_the_work_is_removed_unless_it_is_kept(points, model, storage, tmp_path, keep):
    succeed("train", points, tmp_path / "model", *OPTIONS, "--work-dir", WORK, *(["--keep-work"] if keep else []))
    assert digest(tmp_path / "model") == digest(model)
    there = [name.split("/")[3] for name in storage.find("/bucket")]
    assert set(there) == ({"plan.json", "parts", "times"} if keep else set())


def test_processes_train_and_answer(points, model, tmp_path):
    made, answers, work = tmp_path / "model", tmp_path / "answers", (tmp_path / "bucket" / "run").as_uri()
    engine = "--engine", "processes", "--workers", "2", "--work-dir", work
    succeed("train", points, made, *OPTIONS, *engine)
    assert digest(made) == digest(model)
    succeed("predict", made, points, "--scores", "--quiet", "-o", answers, *engine)
    assert answers.read_text() == succeed("predict", model, points, "--scores", "--quiet")
    assert not any((tmp_path / "bucket").iterdir())


def test_model_and_work_may_both_be_elsewhere(points, model, storage, tmp_path):
    succeed("train", points, "memory://bucket/model", *OPTIONS, "--work-dir", WORK)
    storage.get("/bucket/model", str(tmp_path / "fetched"), recursive=True)
    assert digest(tmp_path / "fetched") == digest(model)
    assert not storage.exists("/bucket/run")


def test_an_interrupted_training_says_how_to_go_on_and_does(points, model, storage, tmp_path, monkeypatch):
    trained, train = [], steps.train_cluster
    command = "train", points, tmp_path / "model", *OPTIONS, "--work-dir", WORK

    def train_three(*given):
        if len(trained) == 3:
            raise KeyboardInterrupt
        trained.append(1)
        return train(*given)

    with monkeypatch.context() as patch:
        patch.setattr(steps, "train_cluster", train_three)
        result = invoke(*command)
    assert result.exit_code == 130
    assert f"what was done so far is in {WORK}: the same command runs again" in result.stderr
    assert f'{WORK} holds work of another training: l2 was "auto" there' in fail(*command, "--l2", "7")
    again = []
    monkeypatch.setattr(steps, "train_cluster", lambda *given: again.append(1) or train(*given))
    succeed(*command)
    assert digest(tmp_path / "model") == digest(model)
    assert len(trained) + len(again) == 6, "3 clusters of 2 learners"
    assert not storage.find("/bucket")


def test_a_training_that_is_killed_when_its_model_is_saved_goes_on_too(points, model, storage, tmp_path, monkeypatch):
    command = "train", points, tmp_path / "model", *OPTIONS, "--work-dir", WORK
    with monkeypatch.context() as patch:
        patch.setattr(RemoteFolder, "remove", interrupt)
        assert invoke(*command).exit_code == 130
    assert storage.cat("/bucket/run/saving").decode() == digest(tmp_path / "model") == digest(model)
    succeed(*command)
    assert digest(tmp_path / "model") == digest(model)
    assert not storage.find("/bucket")
    assert "holds a model" in fail(*command)


@pytest.mark.parametrize("place", ["before", "amid"])
def test_learners_are_added_once_however_late_the_command_is_killed(
    points, model, storage, tmp_path, monkeypatch, place
):
    """Between saving the model and removing the work folder, or amid that."""
    grown = tmp_path / "model"
    shutil.copytree(model, grown)
    command = "train", points, grown, "--add-learners", "1", "--work-dir", WORK, "--json"
    with monkeypatch.context() as patch:
        if place == "before":
            patch.setattr(RemoteFolder, "remove", interrupt)
        else:
            patch.setattr(RemoteFiles, "remove", interrupt)  # of the notes, when the parts are gone
        assert invoke(*command).exit_code == 130
    assert (len(storage.find("/bucket/run")) == 2) == (place == "amid")
    once = digest(grown)
    assert json.loads(succeed(*command))["learners"] == 3
    assert digest(grown) == once
    assert not storage.find("/bucket")
    assert json.loads(succeed(*command))["learners"] == 4, "asked again, when all was done"


@pytest.mark.parametrize("names", [("run/model", "run"), ("model", "model"), ("model", "model/work")])
def test_a_model_and_its_work_folder_are_not_one_in_the_other(points, storage, tmp_path, names):
    made, work = (tmp_path / "local" / name for name in names)
    assert "must not be one inside the other" in fail("train", points, made, *OPTIONS, "--work-dir", work.as_uri())
    made, work = (f"memory://bucket/{name}" for name in names)
    told = fail("train", points, made, *OPTIONS, "--work-dir", work)
    assert f"the work folder {work} and {made} must not be" in told
    assert not (tmp_path / "local").exists()
    assert not storage.find("/bucket")


def test_what_is_wrong_is_told_with_the_url(points, storage, tmp_path, monkeypatch):
    train = "train", points, tmp_path / "model", *OPTIONS, "--work-dir"
    assert "nowhere://a/b" in fail(*train, "nowhere://a/b")
    storage.pipe("/bucket/run/letter.txt", b"dear")
    assert f"{WORK} holds other things than work" in fail(*train, WORK)

    def refuse(*given, **options):
        raise PermissionError("Forbidden")

    monkeypatch.setattr(type(storage), "put_file", refuse)
    told = fail(*train, "memory://bucket/other").splitlines()[-1]
    assert told.startswith("error: memory://bucket/other/parts/")
    assert "Forbidden: check the URL" in told
    assert not (tmp_path / "model").exists()
