"""Changes made together in one write: each gets what is its own, in the log of changes too, and what is refused harms
no other."""

from __future__ import annotations

import json
import os

import pytest

from neartag.core.errors import DataError, ModelError
from neartag.data.documents import Document
from neartag.storage import change_log
from neartag.storage import folder as folder_module
from neartag.storage.change_log import ChangeLog
from neartag.storage.location import CHANGE_LOG
from neartag.tagging.changes import Addition, LabelEdit, Origin, Removal
from neartag.tagging.live import Added, LiveTagger, RepeatedIdError
from neartag.tagging.tagger import TextTagger
from serve_helpers import POINTS, corpus, train


@pytest.fixture
def folder(tmp_path):
    train().save(tmp_path / "model")
    return tmp_path / "model"


def document(name, *labels, text="a chess playing program"):
    return Document(text, list(labels) or [corpus()[1][0][0]], name, None, "")


def addition(request, *documents, replace=False, fingerprint="f"):
    return Addition(Origin("anna", request, fingerprint), documents, replace)


def removal(request, *ids):
    return Removal(Origin("anna", request, "f"), ids)


def lines(folder):
    return [json.loads(line) for line in (folder / CHANGE_LOG).read_text().splitlines()]


def ids_of(folder):
    return set(TextTagger.load(folder).stored.point_names)


def test_many_changes_are_one_write(folder):
    live = LiveTagger(folder)
    changes = [addition(str(number), document(f"d{number}", f"new::{number // 2}")) for number in range(6)]
    outcomes = live.commit(changes)
    assert outcomes == [Added([f"d{number}"], 0, [] if number % 2 else [f"new::{number // 2}"]) for number in range(6)]
    assert len(live.manifest.added) == 1
    told = lines(folder)
    assert [line.get("request") for line in told] == [*"012345", None]
    assert {line["becomes"] for line in told[:-1]} == {live.manifest.digest} == {told[-1]["made"]}
    assert all(line["who"] == "anna" and line["what"] == "add" for line in told[:-1])
    assert ids_of(folder) == {*corpus()[2], *(f"d{number}" for number in range(6))}


def test_a_change_sees_those_before_it(folder):
    live, trained = LiveTagger(folder), corpus()[2]
    outcomes = live.commit(
        [
            addition("1", document("a"), document("b")),
            addition("2", document("a")),  # it is there now
            removal("3", "a", trained[0]),
            removal("4", "a"),  # it is gone now
            addition("5", document("a"), document(trained[0])),
            addition("6", document("b", "new::b"), document(trained[1]), replace=True),
            removal("7", "nobody"),
        ]
    )
    assert [type(outcome) for outcome in outcomes] == [Added, DataError, int, DataError, Added, Added, DataError]
    assert outcomes[2] == 2
    assert outcomes[5] == Added(["b", trained[1]], 2, ["new::b"])
    assert "there already" in str(outcomes[1])
    assert ids_of(folder) == {*trained, "a", "b"}
    assert {line.get("request") for line in lines(folder)} == {"1", "3", "5", "6", None}
    assert len(LiveTagger(folder).tagger) == POINTS + 2


def test_what_is_refused_takes_nobody_with_it(folder):
    live, trained = LiveTagger(folder), corpus()[2]
    live.change_labels(lambda tagger: tagger.close_labels())
    changes = [addition(str(number), document(f"d{number}")) for number in range(5)]
    changes[2] = addition("2", document("d2", "not::known"))
    changes[3] = addition("3", document(trained[3], "not::known"), replace=True)  # the old one must stay
    outcomes = live.commit(changes)
    assert [type(outcome) for outcome in outcomes] == [Added, Added, DataError, DataError, Added]
    assert ids_of(folder) == {*trained, "d0", "d1", "d4"}
    assert [line.get("request") for line in lines(folder)[2:]] == ["0", "1", "4", None]


def test_a_change_is_made_once(folder):
    live, other = LiveTagger(folder), LiveTagger(folder)
    first = live.commit([addition("r", document(None, "new::a"))])[0]
    again, same, another = other.commit(
        [
            addition("r", document(None, "new::a")),
            addition("r", document(None)),
            addition("r", document("x"), fingerprint="g"),
        ]
    )
    assert first == again == same
    assert isinstance(another, RepeatedIdError)
    forgotten = live.commit([removal("s", first.ids[0]), removal("s", first.ids[0])])
    assert forgotten == [1, 1]
    assert LiveTagger(folder).commit([removal("s", first.ids[0])]) == [1]
    assert LiveTagger(folder).commit([Addition(Origin("ben", "r", "f"), [document("of-ben")])])[0].ids == ["of-ben"]
    assert ids_of(folder) == {*corpus()[2], "of-ben"}


def test_two_with_one_id_in_a_write(folder):
    outcomes = LiveTagger(folder).commit([addition("r", document("a")), addition("r", document("b"), fingerprint="g")])
    assert isinstance(outcomes[0], Added)
    assert isinstance(outcomes[1], RepeatedIdError)
    assert ids_of(folder) == {*corpus()[2], "a"}


def test_a_change_that_was_refused_can_be_sent_again(folder):
    live = LiveTagger(folder)
    assert isinstance(live.commit([removal("r", "x")])[0], DataError)
    live.commit([addition("s", document("x"))])
    assert live.commit([removal("r", "x")]) == [1]


class Killed(BaseException):
    """The end of a process."""


def test_a_writer_that_is_killed(folder, monkeypatch):
    """Wherever it is killed, the log tells afterwards what the folder holds."""
    steps = []
    for name in ("_replace", "_sync", "sync_folder", "remove_stale_files"):
        plain = getattr(folder_module, name)

        def count(*given, plain=plain, **more):
            steps.append(plain.__name__)
            if len(steps) == at:
                raise Killed
            return plain(*given, **more)

        monkeypatch.setattr(folder_module, name, count)
    seen = set()
    for at in range(1, 50):
        name = f"d{at}"
        live = LiveTagger(folder)
        steps.clear()
        try:
            live.commit([addition(name, document(name))])
            whole = True
        except Killed:
            whole = False
        there = name in ids_of(folder)
        reader = ChangeLog(folder)
        found = reader.find("anna", name)
        if not whole:
            at = -1
            steps.clear()
            reader.settle()
            found = reader.find("anna", name)
            assert (found is not None and bool(found.made)) == there
        seen.add((whole, there, None if found is None else found.made))
        if whole:
            break
    assert seen == {(False, False, None), (False, False, False), (False, True, True), (True, True, True)}


def test_the_next_writer_settles_what_was_left(folder, monkeypatch):
    live = LiveTagger(folder)
    monkeypatch.setattr(ChangeLog, "settle", lambda self, made=None: None)
    live.commit([addition("r", document("a"))])
    monkeypatch.undo()
    assert ChangeLog(folder).find("anna", "r").made is None
    train().save(folder)  # another model takes the place of the one that would tell
    found = ChangeLog(folder).find("anna", "r")
    assert found.made
    assert found.line["documents"] == ["a"]


def test_a_full_disk(folder, monkeypatch):
    live = LiveTagger(folder)
    live.commit([addition("before", document("before"))])
    before = (folder / CHANGE_LOG).read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(change_log.os, "fsync", full)
        (outcome,) = live.commit([addition("r", document("a"))])
    assert isinstance(outcome, ModelError)
    assert (folder / CHANGE_LOG).read_bytes() == before
    assert live.commit([addition("r", document("a"))])[0].ids == ["a"]


def test_half_a_line_is_dropped(folder):
    live = LiveTagger(folder)
    live.commit([addition("r", document("a"))])
    whole = (folder / CHANGE_LOG).read_bytes()
    with (folder / CHANGE_LOG).open("ab") as handle:
        handle.write(b'{"request":"half","who":"anna","time":"x' + b"y" * 100_000)
    assert ChangeLog(folder).find("anna", "half") is None
    live.commit([addition("s", document("b"))])
    content = (folder / CHANGE_LOG).read_bytes()
    assert content.startswith(whole)
    assert b"half" not in content
    assert all(map(json.loads, content.splitlines()))


def test_ids_are_remembered_for_a_while(folder, monkeypatch):
    monkeypatch.setattr(change_log, "MAX_REMEMBERED", 5)
    live = LiveTagger(folder)
    for number in range(8):
        live.commit([addition(str(number), document(f"d{number}"))])
    found = [live.log.find("anna", str(number)) is not None for number in range(8)]
    assert found == [False] * 3 + [True] * 5
    monkeypatch.setattr(change_log, "MAX_READ_BYTES", os.path.getsize(folder / CHANGE_LOG) // 4)
    fresh = ChangeLog(folder)
    assert fresh.find("anna", "7").made
    assert fresh.find("anna", "4") is None


def test_a_log_that_was_moved_away(folder):
    live = LiveTagger(folder)
    live.commit([addition("r", document("a"))])
    (folder / CHANGE_LOG).rename(folder.parent / "old.jsonl")
    assert live.log.find("anna", "r") is None
    live.commit([addition("s", document("b"))])
    assert [line.get("request") for line in lines(folder)] == ["s", None]


def test_a_log_of_rubbish_does_no_harm(folder):
    (folder / CHANGE_LOG).write_bytes(b'\xff\x00\n{}\n[]\n{"made":\n' + b'{"request":"r","who":\n')
    live = LiveTagger(folder)
    assert live.commit([addition("r", document("a"))])[0].ids == ["a"]
    assert live.log.find("anna", "r").made


@pytest.mark.parametrize("rest", ['"becomes":5}', '"what":"add"}', '"what":"forget","forgotten":"x"', ""])
def test_a_line_that_was_damaged_does_no_harm(folder, rest):
    (folder / CHANGE_LOG).write_text(
        '{"request":"r","who":"anna",' + rest + '\n{"made":"x"}\n{"request":"s","who":"anna",\n'
    )
    live = LiveTagger(folder)
    assert live.log.find("anna", "r") is None
    assert [outcome.ids for outcome in live.commit([addition("r", document("a")), addition("s", document("b"))])] == [
        ["a"],
        ["b"],
    ]
    assert live.log.find("anna", "s").made


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
def test_a_log_that_leads_elsewhere_is_not_written(folder, tmp_path):
    live = LiveTagger(folder)
    (tmp_path / "elsewhere").write_text("mine\n")
    (folder / CHANGE_LOG).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ModelError):
        live.add([document("a")])
    assert (tmp_path / "elsewhere").read_text() == "mine\n"
    (folder / CHANGE_LOG).unlink()
    os.mkfifo(folder / CHANGE_LOG)
    with pytest.raises(ModelError, match="plain file"):
        live.add([document("a")])
    (folder / CHANGE_LOG).unlink()
    assert live.add([document("a")]) == ["a"]


def test_the_log_names_labels_that_were_edited_and_no_text(folder):
    live = LiveTagger(folder, who="ben")
    live.add([document("a", "new::a", text="an unmistakable zanzibarian sentence")])
    edit = LabelEdit(
        Origin("ben"), lambda tagger: tagger.rename_label("new::a", "new::b"), {"rename": ["new::a", "new::b"]}
    )
    assert live.commit([edit]) == [None]
    live.forget(["a"])
    told = [line for line in lines(folder) if "who" in line]
    assert [line["what"] for line in told] == ["add", "labels", "forget"]
    assert {line["who"] for line in told} == {"ben"}
    assert told[1]["rename"] == ["new::a", "new::b"]
    assert [line["documents"] for line in told] == [["a"], [], ["a"]]
    assert "zanzibarian" not in (folder / CHANGE_LOG).read_text()
