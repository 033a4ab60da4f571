"""Who does the work: engines, work folders, and models with more learners, on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli_helpers import fail, invoke, succeed
from engine_cli_helpers import OPTIONS, train_model, write_points
from neartag import store
from neartag.work.folder import WorkFolder
from neartag.x1 import steps


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    return write_points(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def model(points, tmp_path_factory):
    return train_model(points, tmp_path_factory.mktemp("models"))


def digest(folder):
    return store.inspect(folder)["digest"]


@pytest.mark.parametrize("keep", [False, True])
def test_a_work_folder_is_removed_in_the_end_unless_it_is_kept(points, model, tmp_path, keep):
    work = tmp_path / "work"
    succeed("train", points, tmp_path / "model", *OPTIONS, "--work-dir", work, *(["--keep-work"] if keep else []))
    assert digest(tmp_path / "model") == digest(model)
    assert work.exists() == keep


def test_processes_train_the_same_model_and_answer_the_same(points, model, tmp_path):
    engine = "--engine", "processes", "--workers", "2"
    succeed("train", points, tmp_path / "model", *OPTIONS, *engine)
    assert digest(tmp_path / "model") == digest(model)
    assert not (tmp_path / "model.work").exists()
    wanted = succeed("predict", model, points, "--scores", "--quiet")
    succeed("predict", tmp_path / "model", points, "--scores", "--quiet", "-o", tmp_path / "answers", *engine)
    assert (tmp_path / "answers").read_text() == wanted
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers", "model"]


def test_an_interrupted_training_says_how_to_go_on_and_does(points, model, tmp_path, monkeypatch):
    trained = []

    def interrupt(*given):
        trained.append(given)
        if len(trained) > 3:
            raise KeyboardInterrupt
        return train(*given)

    train = steps.train_cluster
    command = "train", points, tmp_path / "model", *OPTIONS, "--work-dir", tmp_path / "work"
    with monkeypatch.context() as patch:
        patch.setattr(steps, "train_cluster", interrupt)
        result = invoke(*command)
    assert result.exit_code == 130
    assert f"what was done so far is in {tmp_path / 'work'}: the same command runs again" in result.stderr
    assert not (tmp_path / "model").exists()
    error = fail(*command[:3], *OPTIONS, "--work-dir", tmp_path / "work", "--l2", "7")
    assert 'l2 was "auto" there, and is 7.0 now' in error
    again = []
    monkeypatch.setattr(steps, "train_cluster", lambda *given: again.append(given) or train(*given))
    succeed(*command)
    assert digest(tmp_path / "model") == digest(model)
    assert len(again) > 0
    assert not (tmp_path / "work").exists()


def test_a_training_that_is_killed_when_its_model_is_saved_goes_on_too(points, model, tmp_path, monkeypatch):
    command = "train", points, tmp_path / "model", *OPTIONS, "--work-dir", tmp_path / "work"
    with monkeypatch.context() as patch:
        patch.setattr(WorkFolder, "remove", interrupt_removal)
        assert invoke(*command).exit_code == 130
    assert digest(tmp_path / "model") == digest(model)
    succeed(*command)
    assert digest(tmp_path / "model") == digest(model)
    assert not (tmp_path / "work").exists()
    assert "holds a model" in fail(*command)  # now as ever
    succeed(*command, "--overwrite", "--keep-work")
    assert "holds a model" in fail(*command)


def test_a_model_that_came_meanwhile_is_not_replaced_without_asking(points, model, tmp_path, monkeypatch):
    command = "train", points, tmp_path / "model", *OPTIONS, "--work-dir", tmp_path / "work"
    with monkeypatch.context() as patch:
        patch.setattr(WorkFolder, "remove", interrupt_removal)
        invoke(*command)
    succeed("train", points, tmp_path / "model", *OPTIONS, "--l2", "7", "--overwrite")
    before = digest(tmp_path / "model")
    assert "holds a model" in fail(*command)
    assert digest(tmp_path / "model") == before != digest(model)


@pytest.mark.parametrize("names", [("work/model", "work"), ("model", "model"), ("model", "model/work")])
def test_a_model_and_its_work_folder_are_not_one_in_the_other(points, tmp_path, names):
    made, work = (tmp_path / name for name in names)
    assert "must not be one inside the other" in fail("train", points, made, *OPTIONS, "--work-dir", work)
    assert not any(tmp_path.iterdir())


def interrupt_removal(folder):
    raise KeyboardInterrupt


def interrupt_amid(folder, **options):
    """Remove one file, and end."""
    for path in sorted(path for path in Path(folder).rglob("*") if path.is_file())[-1:]:
        path.unlink()
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--engine", "spark"], "--engine must be threads, processes or dask, not 'spark'"),
        (["--workers", "2"], "--workers is for --engine processes or dask"),
        (["--engine", "processes", "--workers", "0"], "--workers must be at least 1"),
        (["--scheduler", "tcp://host:1"], "--scheduler is for --engine dask"),
        (["--keep-work"], "--keep-work keeps a work folder: give one with --work-dir"),
        (["--method", "knn", "--engine", "processes"], "--engine and --work-dir are for X1"),
        (["--add-learners", "2", "--l2", "3"], "--add-learners takes the model's own settings: leave out --l2"),
        (["--add-learners", "0"], "--add-learners"),
        (["--add-learners", "1", "--expect-digest", "0123456789abcdef"], "not the one expected"),
        (["--expect-digest", "0123456789abcdef"], "are for the model that --add-learners gives more learners"),
    ],
)
def test_options_that_do_not_fit_are_told(points, model, tmp_path, options, error):
    target = model if "--add-learners" in options else tmp_path / "model"
    assert error in fail("train", points, target, *options)


def test_predictions_of_other_processes_need_a_place(points, model):
    assert "--output FILE, or --work-dir FOLDER" in fail("predict", model, points, "--engine", "processes")


def test_learners_are_added_to_a_model(points, tmp_path):
    fixed = *OPTIONS, "--vote-neighbours", "10", "--feature-share", "0.2"
    many = [option if option != "2" else "4" for option in fixed]
    assert many.count("4") == 1
    succeed("train", points, tmp_path / "few", *fixed)
    succeed("train", points, tmp_path / "many", *many)
    report = json.loads(succeed("train", points, tmp_path / "few", "--add-learners", "2", "--json"))
    assert report["learners"] == 4
    assert digest(tmp_path / "few") == digest(tmp_path / "many")


@pytest.fixture
def removed(monkeypatch):
    """Return the work folders that were removed, each with the files of it that were mapped then."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("this system does not tell what is mapped")
    folders, remove = [], WorkFolder.remove

    def watch(self):
        mapped = {line.split()[-1] for line in maps.read_text().splitlines() if str(self.place) in line}
        folders.append((self.place.name, sorted(mapped)))
        remove(self)

    monkeypatch.setattr(WorkFolder, "remove", watch)
    return folders


def test_nothing_of_a_work_folder_is_mapped_when_it_is_removed(points, tmp_path, removed):
    """Windows removes no file that is mapped."""
    model, answers = tmp_path / "model", tmp_path / "answers"
    refined = "--n-clusters", "2", "--n-learners", "2", "--embedding-dim", "8", "--n-jobs", "1"
    succeed("train", points, model, *refined, "--work-dir", tmp_path / "first")
    succeed("train", points, model, "--add-learners", "1", "--work-dir", tmp_path / "second")
    succeed("predict", model, points, "-o", answers, "--work-dir", tmp_path / "third")
    assert removed == [("first", []), ("second", []), ("third", [])]


@pytest.mark.parametrize("place", ["before", "amid"])
@pytest.mark.parametrize("trust", [False, True])
def test_learners_are_added_once_however_late_the_command_is_killed(points, model, tmp_path, monkeypatch, place, trust):
    """Between saving the model and removing the work folder, or amid that."""
    grown = tmp_path / "model"
    shutil.copytree(model, grown)
    command = ["train", points, grown, "--add-learners", "1", "--work-dir", tmp_path / "work", "--json"]
    command += ["--expect-digest", digest(grown)] if trust else []
    with monkeypatch.context() as patch:
        if place == "before":
            patch.setattr(WorkFolder, "remove", interrupt_removal)
        else:
            patch.setattr("neartag.work.folder.shutil.rmtree", interrupt_amid)
        assert invoke(*command).exit_code == 130
    once = digest(grown)
    assert len(store.load(grown).model.learners) == 3
    assert json.loads(succeed(*command)) == {"model": str(grown), "learners": 3}
    assert digest(grown) == once
    assert {path.name for path in tmp_path.iterdir()} == {"model"}
    if trust:
        assert "not the one expected" in fail(*command)
    else:
        assert json.loads(succeed(*command))["learners"] == 4, "asked again, when all was done"


def test_other_learners_than_were_added_are_refused_or_added(points, model, tmp_path, monkeypatch):
    grown = tmp_path / "model"
    shutil.copytree(model, grown)
    command = "train", points, grown, "--work-dir", tmp_path / "work", "--add-learners"
    with monkeypatch.context() as patch:
        patch.setattr(WorkFolder, "remove", interrupt_removal)
        assert invoke(*command, "1").exit_code == 130
    assert "learners before was 2 there, and is 3 now" in fail(*command, "2")
    assert len(store.load(grown).model.learners) == 3


def test_models_are_merged(points, model, tmp_path):
    succeed("train", points, tmp_path / "other", *OPTIONS, "--random-state", "1")
    report = json.loads(succeed("merge", model, tmp_path / "other", "-o", tmp_path / "both", "--json"))
    assert report["learners"] == 4
    assert store.load(tmp_path / "both").model.parameters["n_learners"] == 4
    assert "another random_state" in fail("merge", model, model, "-o", tmp_path / "twice")
    assert "holds a model" in fail("merge", model, tmp_path / "other", "-o", tmp_path / "both")


def test_models_are_merged_only_if_they_show_what_is_asked_for(points, model, tmp_path):
    pytest.importorskip("cryptography")
    one, other = tmp_path / "one", tmp_path / "other"
    shutil.copytree(model, one)
    succeed("train", points, other, *OPTIONS, "--random-state", "1")
    merge = "merge", one, other, "-o", tmp_path / "both"
    expected = "--expect-digest", digest(one), "--expect-digest"
    assert "give --expect-digest once for each model" in fail(*merge, *expected[:2])
    assert f"{other} has the digest" in fail(*merge, *expected, "0" * 16)
    for name in ("key", "stranger"):
        succeed("new-key", tmp_path / name)
    signed = "--require-signature", tmp_path / "key.pub"
    succeed("sign", one, "--key", tmp_path / "key")
    assert f"{other} is not signed" in fail(*merge, *signed)
    succeed("sign", other, "--key", tmp_path / "stranger")
    assert "signed with another key" in fail(*merge, *signed)
    assert not (tmp_path / "both").exists()
    succeed("sign", other, "--key", tmp_path / "key")
    succeed(*merge, *signed, "--expect-digest", digest(one), "--expect-digest", digest(other)[:16])
    assert len(store.load(tmp_path / "both").model.learners) == 4
