"""Data sets by name: where they are looked for, how archives are checked and unpacked, what is said if not."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import sys
import tarfile
import threading
from pathlib import Path

import pytest

from data_helpers import assert_same, toy
from neartag.cli.sources import check_source, read_data
from neartag.core.errors import DataError
from neartag.data import formats, registry
from neartag.data.registry import archives
from neartag.data.registry.catalogue import entries

TRAIN = b"1 2 2\n0 1:0.5\n"
TEST = b"2 2 2\n0 1:0.5\n1\n"
TEXT = b'{"text": "a", "labels": ["x"]}\n'


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return the data folder and the cache folder, both empty."""
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    monkeypatch.setenv("NEARTAG_DATA", str(data))
    monkeypatch.setenv("NEARTAG_CACHE", str(cache))
    return data, cache


def pack(folder: Path, name: str, members: dict[str, bytes], *special: tarfile.TarInfo) -> Path:
    """Write an archive and list its checksum."""
    archive = folder / f"{name}.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        for path, content in members.items():
            info = tarfile.TarInfo(path)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for info in special:
            tar.addfile(info)
    with open(folder / "SHA256SUMS", "a", encoding="utf-8") as sums:
        sums.write(f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n")
    return archive


def test_archive_is_unpacked_once(places, monkeypatch):
    data, cache = places
    archive = pack(data, "tiny", {"tiny/train.txt": TRAIN, "tiny/test.txt": TEST, "tiny/labels.txt": b"a\nb\n"})
    folder = registry.find("tiny")
    assert folder.name == "tiny"
    assert cache in folder.parents
    assert sorted(path.name for path in folder.iterdir()) == ["labels.txt", "test.txt", "train.txt"]
    assert registry.load("tiny").n_points == 1
    test = registry.load("tiny", "test")
    assert (test.n_points, test.label_names, test.name) == (2, ["a", "b"], "tiny/test")
    monkeypatch.setattr(archives, "unpack", lambda *_: pytest.fail("unpacked again"))
    archive.touch()
    assert registry.find("tiny") == folder
    assert registry.names() == ["tiny"]


def test_a_new_archive_of_the_same_name_is_unpacked_anew(places):
    data, _ = places
    pack(data, "tiny", {"tiny/train.txt": TRAIN})
    old = registry.find("tiny")
    (data / "SHA256SUMS").unlink()
    pack(data, "tiny", {"tiny/train.txt": TEST})
    assert registry.find("tiny") != old
    assert registry.load("tiny").n_points == 2


def test_folders_need_no_archive(places, tmp_path, monkeypatch):
    data, _ = places
    (data / "mine").mkdir()
    formats.write(toy(), data / "mine" / "train.txt.gz")
    assert registry.find("mine") == data / "mine"
    assert_same(registry.load("mine"), toy())
    assert_same(registry.load(str(data / "mine")), toy())
    assert_same(registry.load(data / "mine" / "train.txt.gz", "test"), toy())
    (data / "empty").mkdir()
    assert registry.names() == ["mine"]
    # A folder at hand serves where no data set has its name.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "local").mkdir()
    formats.write(toy(), tmp_path / "local" / "test.txt")
    assert_same(registry.load("local", "test"), toy())


def test_texts(places, tmp_path):
    data, _ = places
    pack(data, "notes-text", {"notes/train.jsonl": TEXT, "notes/test.jsonl": TEXT * 2})
    pack(data, "both", {"both/train.txt": TRAIN})
    pack(data, "both-text", {"both/train.jsonl": TEXT * 3})
    assert registry.names() == ["both", "notes"]
    assert registry.load_text("notes") == (["a"], [["x"]])
    assert registry.load_text("notes", "test")[0] == ["a", "a"]
    assert registry.load("both").n_points == 1
    assert len(registry.load_text("both")[0]) == 3
    with pytest.raises(DataError, match="only its texts are there, see load_text"):
        registry.load("notes")
    with pytest.raises(DataError, match=r"no part 'train'.*text only: see load_text"):
        registry.load("notes-text")
    (tmp_path / "file.jsonl").write_bytes(TEXT)
    assert registry.load_text(tmp_path / "file.jsonl")[0] == ["a"]
    (data / "loose").mkdir()
    (data / "loose" / "train.jsonl").write_bytes(TEXT)
    assert registry.load_text("loose")[0] == ["a"]
    assert registry.load_text(data / "loose")[0] == ["a"]


def test_names_that_are_not_there(places):
    data, _ = places
    pack(data, "tiny", {"tiny/train.txt": TRAIN, "tiny/labels.txt": b"a\nb\n"})
    with pytest.raises(DataError) as raised:
        registry.load("bibtex")
    for said in ("'bibtex' (BibTeX", str(data), "where there is tiny", "bibtex.tar.xz", "SHA256SUMS", "NEARTAG_DATA"):
        assert said in str(raised.value)
    with pytest.raises(DataError, match=r"no part 'test': .* has parts train"):
        registry.load("tiny", "test")
    with pytest.raises(DataError, match=r"'cooking-text' .cooking questions"):
        registry.load_text("cooking")
    for name in ("", "..", "../data", "tiny/"):
        with pytest.raises(DataError):
            registry.find(name)


def test_no_data_folder_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("NEARTAG_DATA", str(tmp_path / "absent"))
    assert registry.names() == []
    with pytest.raises(DataError, match="where there is nothing"):
        registry.load("bibtex")


@pytest.fixture
def locked(tmp_path, monkeypatch):
    """Return a cache folder that may not be read, as another user's home; no other folder of data sets is set."""
    folder = tmp_path / "locked" / "neartag"

    def refuse(function):
        def checked(path=".", *arguments, **more):
            if str(path).startswith(str(folder)):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return function(path, *arguments, **more)

        return checked

    for name in ("stat", "listdir", "scandir", "mkdir"):
        monkeypatch.setattr(os, name, refuse(getattr(os, name)))
    monkeypatch.delenv("NEARTAG_DATA", raising=False)
    monkeypatch.setenv("NEARTAG_CACHE", str(folder))
    return folder


def test_a_folder_that_may_not_be_read_is_no_matter_for_local_files(locked, tmp_path):
    (tmp_path / "points.txt").write_bytes(TRAIN)
    assert registry.names() == []
    assert registry.load(tmp_path / "points.txt").n_points == 1
    assert read_data(str(tmp_path / "points.txt"), "train").n_points == 1
    (tmp_path / "texts.jsonl").write_bytes(TEXT)
    assert [document.text for document in read_data(str(tmp_path / "texts.jsonl"), "train")] == ["a"]
    for call in (lambda: registry.load("bibtex"), lambda: check_source("bibtex"), lambda: check_source("unknown")):
        with pytest.raises(DataError, match=r"neartag cannot be read .*: set NEARTAG_DATA .* NEARTAG_CACHE"):
            call()
    assert {entry.path for entry in entries()} == {None}


def test_an_archive_that_cannot_be_unpacked_there_names_the_variable(locked, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("NEARTAG_DATA", str(tmp_path / "data"))
    pack(tmp_path / "data", "tiny", {"tiny/train.txt": TRAIN})
    with pytest.raises(DataError, match=r"cannot be unpacked into .*NEARTAG_CACHE to one that can be written"):
        registry.load("tiny")


def test_a_changed_archive_is_refused(places):
    data, cache = places
    archive = pack(data, "tiny", {"tiny/train.txt": TRAIN})
    listed = hashlib.sha256(archive.read_bytes()).hexdigest()
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)
    with pytest.raises(DataError) as raised:
        registry.load("tiny")
    assert listed in str(raised.value)
    assert hashlib.sha256(content).hexdigest() in str(raised.value)
    assert not cache.exists()


def test_an_archive_that_is_not_listed_is_refused(places):
    data, _ = places
    pack(data, "tiny", {"tiny/train.txt": TRAIN})
    for sums in ("", "0123  other.tar.xz\n", None):
        (data / "SHA256SUMS").unlink()
        if sums is not None:
            (data / "SHA256SUMS").write_text(sums)
        with pytest.raises(DataError, match=r"is not listed in .*SHA256SUMS; .*sha256sum tiny\.tar\.xz"):
            registry.find("tiny")


def test_a_list_in_binary_mode_and_capitals_is_understood(places):
    data, _ = places
    archive = pack(data, "tiny", {"tiny/train.txt": TRAIN})
    (data / "SHA256SUMS").write_text(f"{hashlib.sha256(archive.read_bytes()).hexdigest().upper()} *tiny.tar.xz\r\n")
    assert registry.load("tiny").n_points == 1


def test_a_damaged_archive_leaves_nothing_behind(places):
    data, cache = places
    archive = pack(data, "tiny", {"tiny/train.txt": bytes(range(256)) * 400})
    for content in (archive.read_bytes()[:-40], b"no archive", b""):
        archive.write_bytes(content)
        (data / "SHA256SUMS").write_text(f"{hashlib.sha256(content).hexdigest()}  tiny.tar.xz\n")
        with pytest.raises(DataError, match="cannot be unpacked"):
            registry.find("tiny")
        assert list((cache / "unpacked").iterdir()) == []


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    ("members", "special"),
    [
        ({"tiny/train.txt": TRAIN, "../escaped.txt": b"x"}, ()),
        ({"tiny/../../escaped.txt": b"x"}, ()),
        ({"/tmp/escaped.txt": b"x"}, ()),
        ({"..\\escaped.txt": b"x"}, ()),
        ({}, (link("tiny/out", "../../..", tarfile.SYMTYPE),)),
        ({}, (link("tiny/out", "/etc/passwd", tarfile.LNKTYPE),)),
        ({}, (link("tiny/device", "", tarfile.FIFOTYPE),)),
    ],
)
def test_an_archive_that_leads_out_of_its_folder_is_refused(places, tmp_path, members, special):
    data, cache = places
    pack(data, "tiny", members, *special)
    with pytest.raises(DataError, match="leads out of its folder"):
        registry.find("tiny")
    assert list((cache / "unpacked").iterdir()) == []
    assert not list(tmp_path.rglob("escaped*"))


def test_many_unpack_at_once(places):
    data, cache = places
    pack(data, "tiny", {"tiny/train.txt": TRAIN, "tiny/big.bin": bytes(2_000_000)})
    start = threading.Barrier(6)
    found: list[object] = []

    def run() -> None:
        start.wait()
        try:
            found.append(registry.find("tiny"))
        except BaseException as error:
            found.append(error)

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert set(found) == {found[0]}
    assert isinstance(found[0], Path)
    assert len(list((cache / "unpacked").iterdir())) == 1


def test_folders_of_the_platform(monkeypatch, tmp_path):
    for name in ("NEARTAG_DATA", "NEARTAG_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(sys, "platform", "linux")
    assert registry.cache_folder() == tmp_path / ".cache" / "neartag" == registry.data_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert registry.cache_folder() == tmp_path / "xdg" / "neartag"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert registry.cache_folder() == tmp_path / "Library" / "Caches" / "neartag"
    monkeypatch.setattr(sys, "platform", "win32")
    assert registry.cache_folder() == tmp_path / "AppData" / "Local" / "neartag"
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert registry.cache_folder() == tmp_path / "local" / "neartag"
    monkeypatch.setenv("NEARTAG_CACHE", str(tmp_path / "chosen"))
    assert registry.cache_folder() == tmp_path / "chosen"
    monkeypatch.setenv("NEARTAG_DATA", str(tmp_path / "data"))
    assert registry.data_folder() == tmp_path / "data"


def test_a_cache_that_cannot_be_written(places, monkeypatch, tmp_path):
    data, _ = places
    pack(data, "tiny", {"tiny/train.txt": TRAIN})
    (tmp_path / "blocked").write_bytes(b"")
    monkeypatch.setenv("NEARTAG_CACHE", str(tmp_path / "blocked"))
    with pytest.raises(DataError, match="cannot be unpacked into"):
        registry.find("tiny")


@pytest.mark.real
def test_real_names(real_data):
    real_data("bibtex")
    assert "bibtex" in registry.names()
    assert registry.load("bibtex", "test").n_points == 2515
