"""Model folders that neartag 0.1.0 wrote (scripts/old_folders.py): read, answered from and added to as it did."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cli_helpers import succeed
from neartag import LiveTagger, TextTagger, store

FOLDERS = Path(__file__).parent / "folders"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDERS / "expected.json").read_bytes())
GROWING = sorted(name for name, expected in EXPECTED.items() if "added" in expected)
NEAR = 1e-6  # relatively
pytestmark = pytest.mark.filterwarnings("ignore:.*was written by an earlier neartag:UserWarning")


@pytest.fixture
def folder(request, tmp_path) -> Path:
    """Return a copy of the folder that the test is about, whose name is its parameter."""
    return Path(shutil.copytree(FOLDERS / request.param, tmp_path / request.param))


every_folder = pytest.mark.parametrize("folder", sorted(EXPECTED), indirect=True)
growing_folder = pytest.mark.parametrize("folder", GROWING, indirect=True)


def check_tags(tagger: TextTagger, expected: dict[str, Any], near: float = NEAR) -> None:
    """Check the tags of the texts, asked all at once and one by one."""
    texts, most = expected["texts"], max(map(len, expected["tags"]))
    alone = [tagger.predict([text], most)[0] for text in texts]
    for found, wanted in ((tagger.predict(texts, most), expected["tags"]), (alone, expected["tags_alone"])):
        for tags, answers in zip(found, wanted, strict=True):
            assert [tag.label for tag in tags] == [label for label, _, _ in answers]
            assert [tag.score for tag in tags] == pytest.approx([score for _, score, _ in answers], rel=near)
            assert [tag.share for tag in tags] == pytest.approx([share for _, _, share in answers], rel=near)


def add(tagger: TextTagger, documents: list[dict[str, Any]]) -> list[str]:
    return tagger.add(*([document[name] for document in documents] for name in ("text", "labels", "id")))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_every_folder_is_asked():
    assert {path.name for path in FOLDERS.iterdir() if path.is_dir()} == set(EXPECTED)
    assert set(GROWING) == set(EXPECTED) - {"leml"}


@every_folder
def test_the_answers_are_the_same(folder):
    expected, before = EXPECTED[folder.name], contents(folder)
    tagger = TextTagger.load(folder)
    assert tagger.labels == expected["labels"]
    assert len(tagger) == expected["points"]
    check_tags(tagger, expected)
    assert contents(folder) == before  # reading writes nothing


@growing_folder
def test_the_reasons_are_the_same(folder):
    expected = EXPECTED[folder.name]["reasons"]
    found = TextTagger.load(folder).explain(expected["text"], 2, 3, 4)
    assert [reason.label for reason in found] == [reason[0] for reason in expected["labels"]]
    for reason, (_, score, share, voters, words, by) in zip(found, expected["labels"], strict=True):
        assert (reason.score, reason.share) == pytest.approx((score, share), rel=NEAR)
        assert reason.found == by
        check_words(reason.words, words)
        for voter, (name, part, labels, shared, text) in zip(reason.voters, voters, strict=True):
            assert (voter.id, voter.labels, voter.text) == (name, labels, text)
            assert voter.share == pytest.approx(part, rel=NEAR)
            check_words(voter.words, shared)


def check_words(found: list[Any], expected: list[Any]) -> None:
    """Check words and what they weigh; those that weigh the same may stand in any order."""
    assert dict(found) == pytest.approx({word: weight for word, weight in expected}, rel=NEAR)


@growing_folder
def test_documents_are_added_and_the_answers_are_the_same(folder, tmp_path):
    expected = EXPECTED[folder.name]["added"]
    tagger = TextTagger.load(folder)
    assert add(tagger, expected["documents"]) == [document["id"] for document in expected["documents"]]
    assert tagger.labels == expected["labels"]
    check_tags(tagger, expected)
    tagger.save(tmp_path / "anew")
    loaded = TextTagger.load(tmp_path / "anew")
    assert loaded.labels == expected["labels"]
    # Bytes are rounded anew to the largest number of old and new points.
    check_tags(loaded, expected, 1e-2 if folder.name == "int8" else NEAR)


@pytest.mark.parametrize("folder", ["added", "vectors", "votes"], indirect=True)
def test_the_folder_itself_grows_and_forgets(folder, tmp_path):
    expected = EXPECTED[folder.name]
    lines, options = tmp_path / "more.jsonl", []
    documents = expected["added"]["documents"]
    if folder.name == "vectors":
        documents = [{**document, "text": "", "vector": document["text"]} for document in documents]
        options = ["--vector-field", "vector"]
    lines.write_text("".join(json.dumps(document) + "\n" for document in documents))
    succeed("add", folder, lines, "--quiet", *options)
    check_tags(TextTagger.load(folder), expected["added"])
    live = LiveTagger(folder)
    assert live.forget([document["id"] for document in documents]) == 2
    assert len(TextTagger.load(folder)) == expected["points"]


@every_folder
def test_a_model_saved_anew_answers_the_same(folder, tmp_path):
    if folder.name == "leml":  # a model without documents of its own is saved by its parts
        stored = store.load(folder)
        names = {"label_names": stored.label_names, "point_names": stored.point_names}
        store.save(stored.model, tmp_path / "anew", features=stored.features, **names)
    else:
        TextTagger.load(folder).save(tmp_path / "anew")
    check_tags(TextTagger.load(tmp_path / "anew"), EXPECTED[folder.name])
