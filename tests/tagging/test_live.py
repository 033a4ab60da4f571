"""A tagger that follows its folder: what one adds the others see, whole, whoever writes at the same time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from neartag import store
from neartag.core.errors import DataError, ModelError
from neartag.data import debian
from neartag.data.documents import Document
from neartag.storage import additions, manifest
from neartag.storage.location import CHANGE_LOG
from neartag.storage.manifest import compute_digest
from neartag.tagging.live import LiveTagger
from neartag.tagging.tagger import TextTagger
from neartag.x1.classifier import X1Classifier


@pytest.fixture(scope="module")
def corpus():
    packages = debian.load("train")
    return [" ".join(words) for words in packages.words[:600]], packages.tags[:600], packages.names[:600]


@pytest.fixture
def folder(corpus, tmp_path, trained):
    trained.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(scope="module")
def trained(corpus):
    return TextTagger("words", X1Classifier(embedding_dim=16, n_jobs=1)).fit(*corpus)


def document(number: int, label: str = "new::label") -> Document:
    return Document(f"a chess playing program number {number}", [label], f"added-{number}", None, "")


def test_what_one_adds_another_sees(folder):
    one, other = LiveTagger(folder), LiveTagger(folder)
    assert not other.refresh()
    assert one.add([document(1), document(2)]) == ["added-1", "added-2"]
    assert "added-1" not in other.tagger
    assert other.refresh()
    assert not other.refresh()
    text = ["a chess playing program"]
    assert other.tagger.predict(text) == one.tagger.predict(text)
    assert "new::label" in [tag.label for tag in other.tagger.predict(text)[0]]
    assert TextTagger.load(folder).predict(text) == one.tagger.predict(text)


def test_each_writer_is_told_of_its_own_labels(folder):
    one, other = LiveTagger(folder), LiveTagger(folder)
    assert one.add_documents([document(1, "new::one")]).new_labels == ["new::one"]
    assert other.add_documents([document(2, "new::other"), document(3, "new::one")]).new_labels == ["new::other"]
    changed = one.add_documents([document(2, "new::third")], replace=True)
    assert (changed.ids, changed.replaced, changed.new_labels) == (["added-2"], 1, ["new::third"])
    assert one.add_documents([]) == ([], 0, [])


def test_followed_step_by_step_it_is_what_loading_gives(folder, corpus):
    writer, reader, late = LiveTagger(folder), LiveTagger(folder), LiveTagger(folder)
    chance = np.random.default_rng(0)
    number = 0
    for step in range(25):
        size = int(chance.integers(1, 5))
        writer.add([document(number + each, f"new::{(number + each) % 7}") for each in range(size)])
        number += size
        if step % 3 == 0:
            reader.refresh()
    reader.refresh()
    late.refresh()
    loaded = TextTagger.load(folder)
    texts = [*corpus[0][:20], "a chess playing program"]
    for each in (writer.tagger, reader.tagger, late.tagger):
        assert each.labels == loaded.labels
        assert each.stored.point_names == loaded.stored.point_names
        assert list(each.stored.texts) == list(loaded.stored.texts)
        assert each.predict(texts) == loaded.predict(texts)
        assert (each.stored.model.Y != loaded.stored.model.Y).nnz == 0


def test_many_single_adds_leave_few_files(folder):
    live = LiveTagger(folder)
    before = len(os.listdir(folder))
    for number in range(40):
        live.add([document(number)])
    entries = manifest.read_manifest(folder).added
    assert sum(entry.points for entry in entries) == 40
    assert len(entries) <= 6
    assert len(os.listdir(folder)) == before + len(entries) + 1  # and the log of changes
    assert [entry.points for entry in entries] == sorted((entry.points for entry in entries), reverse=True)


def test_forgetting_is_on_disk_too(folder, corpus):
    one, other = LiveTagger(folder), LiveTagger(folder)
    one.add([Document("an unmistakable zanzibarian sentence", ["some::label"], "secret", None, "")])
    everything = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"zanzibarian" in everything
    assert one.forget(["secret", corpus[2][3]]) == 2
    everything = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"zanzibarian" not in everything
    told = (folder / CHANGE_LOG).read_bytes()  # it says who forgot what
    assert b"secret" not in everything.replace(told, b"")
    assert other.refresh()
    assert "secret" not in other.tagger
    assert corpus[2][3] not in other.tagger
    assert other.tagger.stored.model.forgotten == 1
    assert other.tagger.predict(corpus[0][:10]) == one.tagger.predict(corpus[0][:10])


def test_who_forgets_has_what_all_others_load(corpus, tmp_path):
    # Rounded embeddings are rounded anew when a folder is written, with other scales where points are gone.
    made = TextTagger("words", X1Classifier(embedding_dim=16, precision="int8", n_jobs=1), calibration=None)
    made.fit(*corpus).save(tmp_path / "model")
    live = LiveTagger(tmp_path / "model")
    live.add([document(1)])
    live.forget([*corpus[2][:200], "added-1"])
    assert live.tagger.predict(corpus[0][:50]) == TextTagger.load(tmp_path / "model").predict(corpus[0][:50])


@pytest.mark.parametrize("change", ["forget", "add"])
def test_the_next_change_removes_what_a_killed_writer_left(folder, change):
    live = LiveTagger(folder)
    live.add([Document("an unmistakable zanzibarian sentence", ["some::label"], "secret", None, "")])
    (left,) = folder.glob("added.*")
    content = left.read_bytes()
    live.forget(["secret"])
    left.write_bytes(content)  # as if killed after the switch, before the old files went
    (folder / ".neartag.tmp").write_bytes(content)
    if change == "forget":
        with pytest.raises(DataError, match="no document"):
            LiveTagger(folder).forget(["secret"])
    else:
        LiveTagger(folder).add([document(1)])
    assert b"zanzibarian" not in b"".join(path.read_bytes() for path in folder.iterdir())
    assert len(TextTagger.load(folder)) == 600 + (change == "add")


def test_a_model_that_takes_no_documents_stays_as_it_is(folder, trained):
    from neartag.comparators.knn.classifier import KNNClassifier

    stored = trained.stored
    X = stored.features.transform(list(stored.texts))
    fitted = KNNClassifier(n_jobs=1).fit(X, stored.model.Y)
    names = {"label_names": stored.label_names, "point_names": stored.point_names}
    store.save(fitted, folder, **names, features=stored.features)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    live = LiveTagger(folder)
    for replace in (False, True):
        with pytest.raises(ModelError, match="cannot be added"):
            live.add([document(1)], replace=replace)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert TextTagger.load(folder).predict(["chess"])


def test_a_manifest_that_miscounts_what_was_added_is_refused(folder):
    LiveTagger(folder).add([document(1), document(2)])
    path = folder / "model.json"
    document_of = json.loads(path.read_text())
    document_of["added"][0]["points"] = 1
    document_of["digest"] = compute_digest(document_of)
    path.write_text(json.dumps(document_of))
    with pytest.raises(ModelError, match="damaged"):
        LiveTagger(folder)


def test_an_id_that_is_there_is_replaced_if_wished(folder):
    live = LiveTagger(folder)
    live.add([document(1, "old::label")])
    with pytest.raises(DataError, match="already"):
        live.add([document(1, "other::label")])
    live.add([document(1, "other::label"), document(2, "other::label")], replace=True)
    row = live.tagger.stored.point_names.index("added-1")
    assert live.tagger.stored.point_names.count("added-1") == 1
    assert [live.tagger.labels[label] for label in live.tagger.stored.model.Y[row].indices] == ["other::label"]
    assert TextTagger.load(folder).predict(["chess"]) == live.tagger.predict(["chess"])


def test_a_model_replaced_by_another_is_loaded(folder, corpus):
    live = LiveTagger(folder)
    TextTagger(classifier=X1Classifier(embedding_dim=8, n_jobs=1)).fit(*(part[:300] for part in corpus)).save(folder)
    assert live.refresh()
    assert len(live.tagger) == 300


def test_a_folder_that_was_never_a_model_is_said(tmp_path):
    with pytest.raises(ModelError, match="is not a model folder"):
        LiveTagger(tmp_path)


def test_a_folder_that_is_gone_is_said(folder):
    live = LiveTagger(folder)
    (folder / "model.json").unlink()
    with pytest.raises(ModelError, match="cannot be read any more"):
        live.refresh()
    assert live.tagger.predict(["chess"])


def test_nothing_is_added_or_forgotten_where_something_is_wrong(folder):
    live = LiveTagger(folder)
    before = (folder / "model.json").read_bytes()
    with pytest.raises(DataError):
        live.forget(["added-1", "nobody"])
    with pytest.raises(DataError):
        live.add([document(1), document(1)])
    assert live.add([]) == []
    assert live.forget([]) == 0
    assert (folder / "model.json").read_bytes() == before


def test_a_crafted_segment_is_refused(folder):
    live = LiveTagger(folder)
    live.add([document(1), document(2)])
    entry = manifest.read_manifest(folder).added[0]
    arrays = dict(additions.read_segment_files(folder, [entry.file])[0])
    from neartag.storage.segments import Segment

    width = live.tagger.stored.model.n_features
    Segment.from_arrays(arrays, width)
    harmed = {
        "rows.indices": lambda a: np.where(np.arange(len(a)) == 0, 2**30, a).astype(a.dtype),
        "labels.indices": lambda a: a + 10**6,
        "labels.indptr": lambda a: a[:-1],
        "labels.width": lambda a: np.zeros_like(a),
        "names": lambda a: np.frombuffer(b'{"ids": [1], "new_labels": []}', np.uint8),
        "texts.ends": lambda a: a[:-1],
    }
    for name, change in harmed.items():
        with pytest.raises((ValueError, LookupError)):
            Segment.from_arrays({**arrays, name: np.ascontiguousarray(change(np.array(arrays[name])))}, width)


def test_threads_add_and_tag_at_once(folder):
    live, errors = LiveTagger(folder), []

    def work(number: int) -> None:
        try:
            for step in range(6):
                live.add([document(100 * number + step)])
                assert live.tagger.predict(["a chess playing program"])[0]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(live.tagger) == len(TextTagger.load(folder)) == 624


@pytest.mark.skipif(os.name != "posix", reason="needs fork and SIGKILL")
def test_killed_while_adding_nothing_is_half(folder, corpus):
    # A process that has loaded everything forks the writers, or each would take a second to start.
    program = """
import os, sys
from neartag.data.documents import Document
from neartag.tagging.live import LiveTagger
for line in sys.stdin:
    writer = os.fork()
    if writer:
        os.waitpid(writer, 0)
        print("ended", flush=True)
        continue
    live, number = LiveTagger(sys.argv[1]), int(line)
    print(os.getpid(), flush=True)
    while True:
        live.add([Document(f"a chess playing program number {number}", ["new::label"], f"added-{number}", None, "")])
        print("added", flush=True)
        number += 1
"""
    chance = np.random.default_rng(0)
    command = [sys.executable, "-c", program, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        for attempt in range(5):
            print(1000 * (attempt + 1), file=parent.stdin, flush=True)
            writer = int(parent.stdout.readline())
            if not attempt:
                parent.stdout.readline()  # however busy the machine is, something is added
            threading.Event().wait(float(chance.uniform(0.05, 0.4)))
            os.kill(writer, signal.SIGKILL)
            while (line := parent.stdout.readline()) != "ended\n":
                assert line == "added\n"
            names = TextTagger.load(folder).stored.point_names
            assert len(set(names)) == len(names)
            for start in range(1, attempt + 2):
                own = sorted(int(name.split("-")[1]) for name in names if name.startswith(f"added-{start}"))
                assert own == list(range(1000 * start, 1000 * start + len(own))), "what was added is there, no gaps"
    assert len(names) > 600


def test_what_was_added_and_forgotten_between_two_looks_is_gone(folder, corpus):
    writer, reader = LiveTagger(folder), LiveTagger(folder)
    known = corpus[1][0][:1]
    writer.add([Document("a chess program", known, "x", None, "")])
    reader.refresh()
    assert "x" in reader.tagger
    # The files are then byte for byte those from before.
    writer.forget(["x"])
    assert reader.refresh()
    assert "x" not in reader.tagger
    # The same number of other documents, and one with the same id but another text.
    writer.add([Document("a chess program", known, "y", None, "")])
    reader.refresh()
    writer.forget(["y"])
    writer.add([Document("a text editor", known, "y", None, "")])
    reader.refresh()
    assert reader.tagger.stored.texts[-1] == "a text editor"
    assert reader.tagger.predict(corpus[0][:10]) == writer.tagger.predict(corpus[0][:10])


def test_after_a_reload_that_failed_nothing_is_written_over(folder, trained):
    live = LiveTagger(folder)
    whole = (folder / "model.json").read_bytes()
    (folder / "model.json").write_text("{")
    with pytest.raises(ModelError):
        live.refresh()
    with pytest.raises(ModelError):
        live.add([document(1)])
    with pytest.raises(ModelError):
        live.refresh()
    (folder / "model.json").write_bytes(whole)
    live.add([document(1)])
    assert "added-1" in TextTagger.load(folder)
