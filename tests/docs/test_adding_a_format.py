"""What docs/adding-a-format.md shows runs as it stands there."""

from __future__ import annotations

import pytest
from docs_helpers import ROOT, blocks

from cli_helpers import fail, succeed
from neartag import TextTagger
from neartag.data.documents import BadLines, documents, read

CARDS = "".join(
    f"{text}\nsecond line {number}\n# {tags}\n\n"
    for number in range(15)
    for text, tags in (("a loaf of bread", "bread food"), ("sharpen the knife", "knives"))
)


@pytest.fixture
def cards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.cards").write_text(CARDS, encoding="utf-8")
    return blocks(ROOT / "docs" / "adding-a-format.md", "python")


def test_a_reader_of_ones_own(cards):
    around = {}
    exec(compile(cards[0], "adding-a-format.md", "exec"), around)
    assert len(around["tagger"]) == 30
    assert [tag.label for tag in TextTagger.load("model").predict(["bread"], k=2)[0]] == ["bread", "food"]


def test_a_format_of_neartag(cards, monkeypatch, tmp_path):
    around = {}
    exec(compile(cards[1], "adding-a-format.md", "exec"), around)
    monkeypatch.setitem(read.KINDS, "cards", around["read_card_file"])
    monkeypatch.setitem(read.ENDINGS, ".cards", "cards")
    succeed("train", "notes.cards", "model", "-q")
    assert "knives" in succeed("tag", "model", "a knife", "-k", "1")
    first = next(documents("notes.cards"))
    assert (first.text, first.labels) == ("a loaf of bread\nsecond line 0", ["bread", "food"])
    (tmp_path / "bad.cards").write_text("fine\n# a\n\nno tags\n\nlast\n# b", encoding="utf-8")
    assert "bad.cards:4: the card has no tags; end it with a line" in fail("train", "bad.cards", "other")
    bad = BadLines()
    assert [each.labels for each in documents("bad.cards", bad=bad)] == [["a"], ["b"]]
    assert bad.count == 1
    assert [each.text for each in documents("bad.cards", labelled=False)] == ["fine", "no tags", "last"]
