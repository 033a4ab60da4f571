"""Small files that unpack to much, endless lines and archives of many files: refused in time."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import pytest

from neartag.core.errors import DataError, ParameterError
from neartag.data import formats, read_limits
from neartag.data.documents import documents
from neartag.data.files import read_bytes, read_lines
from neartag.data.formats.xmc import read_xmc
from neartag.data.registry import archives

COMPRESS = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


@pytest.mark.parametrize("ending", sorted(COMPRESS))
def test_a_file_that_unpacks_to_far_more_than_its_size(tmp_path, monkeypatch, ending):
    bomb = tmp_path / f"bomb.jsonl{ending}"
    bomb.write_bytes(COMPRESS[ending](b"0" * 2**22))
    assert len(read_bytes(bomb)) == 2**22, "a small one is read"
    monkeypatch.setattr(read_limits, "FREE_BYTES", 2**20)
    with pytest.raises(DataError, match=r"bomb.*unpacks to more than 300 times its size.*set NEARTAG_MAX_RATIO"):
        read_bytes(bomb)
    monkeypatch.setenv("NEARTAG_MAX_RATIO", "1000000")
    assert len(read_bytes(bomb)) == 2**22
    monkeypatch.setenv("NEARTAG_MAX_UNPACKED", "1MB")
    with pytest.raises(DataError, match="unpacks to more than 1,048,576 bytes"):
        read_bytes(bomb)


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_an_endless_line(tmp_path, monkeypatch, ending):
    monkeypatch.setenv("NEARTAG_MAX_LINE", "1K")
    file = tmp_path / f"lines.txt{ending}"
    content = b"short\n" + b"x" * 1024 + b"\n"
    file.write_bytes(COMPRESS[".gz"](content) if ending else content)
    with pytest.raises(DataError, match=r"lines.txt.*:2: the line is longer than 1,024 bytes; .*NEARTAG_MAX_LINE"):
        list(read_lines(file))
    monkeypatch.setenv("NEARTAG_MAX_LINE", "1025")
    assert [line for _, line in read_lines(file)] == [b"short", b"x" * 1024]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("docs.jsonl", b'{"text": "' + b"x" * 5000 + b'", "labels": ["a"]}\n'),
        ("docs.csv", b"text,labels\n" + b"x" * 5000 + b",a\n"),
        ("docs.tsv", "text\tlabels\n{}\ta\n".format("x" * 5000).encode("utf-16")),
        ("docs.ft", b"__label__a " + b"x" * 5000 + b"\n"),
    ],
)
def test_an_endless_line_in_every_kind_of_documents(tmp_path, monkeypatch, name, content):
    (tmp_path / name).write_bytes(content)
    assert len(list(documents(tmp_path / name))) == 1
    monkeypatch.setenv("NEARTAG_MAX_LINE", "4K")
    with pytest.raises(DataError, match="longer than 4,096 bytes"):
        list(documents(tmp_path / name))


def test_an_endless_line_of_features(tmp_path, monkeypatch):
    file = tmp_path / "rows.txt"
    file.write_bytes(b"1 2000 1\n0 " + b" ".join(b"%d:1" % each for each in range(2000)) + b"\n")
    assert read_xmc(file, block_bytes=100).X.nnz == 2000, "in many blocks, each looked at once"
    monkeypatch.setenv("NEARTAG_MAX_LINE", "1K")
    with pytest.raises(DataError, match="a line that is longer than 1,024 bytes"):
        read_xmc(file, block_bytes=100)
    file.write_bytes(b"1" * 10_000)
    with pytest.raises(DataError, match="the header is"):
        read_xmc(file)


def write_tar(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def write_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


@pytest.mark.parametrize(("ending", "write"), [(".tar.gz", write_tar), (".zip", write_zip)])
def test_archives(tmp_path, monkeypatch, ending, write):
    monkeypatch.setattr(read_limits, "FREE_BYTES", 2**20)
    bomb, many = tmp_path / f"bomb{ending}", tmp_path / f"many{ending}"
    write(bomb, [("a", b"0" * 2**21), ("b", b"0" * 2**21)])
    with pytest.raises(DataError, match="unpacks to more than 300 times its size"):
        archives.unpack(bomb, tmp_path / "out")
    write(many, [(f"file-{each}", b"") for each in range(20)])
    archives.unpack(many, tmp_path / "sound")
    monkeypatch.setenv("NEARTAG_MAX_MEMBERS", "10")
    with pytest.raises(DataError, match="holds more than 10 files"):
        archives.unpack(many, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([bomb.name, many.name, "sound"])


def test_a_member_without_a_name(tmp_path):
    write_zip(tmp_path / "nameless.zip", [("", b"content")])
    with pytest.raises(DataError, match="holds '', which is a link or leads out of its folder"):
        archives.unpack(tmp_path / "nameless.zip", tmp_path / "out")


def test_what_npz_parquet_and_excel_unpack_to_is_limited_too(tmp_path, monkeypatch):
    np = pytest.importorskip("numpy")
    pyarrow, openpyxl = pytest.importorskip("pyarrow"), pytest.importorskip("openpyxl")
    from pyarrow import parquet

    np.savez_compressed(tmp_path / "bomb.npz", X_values=np.zeros(2**20, np.float32))
    table = pyarrow.table({"text": ["x" * 2**22], "labels": ["a"]})
    parquet.write_table(table, tmp_path / "bomb.parquet", compression="zstd")
    book = openpyxl.Workbook()
    book.active.append(["text", "labels"])
    for _ in range(130):
        book.active.append(["x" * 32_000, "a"])
    book.save(tmp_path / "bomb.xlsx")
    monkeypatch.setattr(read_limits, "FREE_BYTES", 2**20)
    for name in ("bomb.parquet", "bomb.xlsx"):
        with pytest.raises(DataError, match=r"unpacks to more than 300 times its size; .* give --max-ratio"):
            list(documents(tmp_path / name))
    with pytest.raises(DataError, match="unpacks to more than 300 times its size"):
        formats.read(tmp_path / "bomb.npz")


def test_limits_that_are_held_come_before_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("NEARTAG_MAX_LINE", "2K")
    assert read_limits.limit(read_limits.LINE) == 2048
    with read_limits.hold_limits({"max_line": "1K", "max_ratio": None}):
        assert read_limits.limit(read_limits.LINE) == 1024
        with read_limits.hold_limits({"max_members": "7"}):
            assert (read_limits.limit(read_limits.LINE), read_limits.limit(read_limits.MEMBERS)) == (1024, 7)
    assert read_limits.limit(read_limits.LINE) == 2048
    for text in ("0", "-1", "much"):
        with pytest.raises(ParameterError, match="--max-line"), read_limits.hold_limits({"max_line": text}):
            pass


def test_limits_are_options_of_commands(tmp_path):
    from cli_helpers import fail, succeed

    file = tmp_path / "points.jsonl"
    file.write_text('{"features": {"0": 1}, "labels": [0]}\n')
    assert "give --max-line" in fail("convert", file, tmp_path / "out.txt", "--max-line", "8")
    succeed("convert", file, tmp_path / "out.txt", "--max-line", "1K")
    assert "--max-unpacked must be above 0" in fail("convert", file, tmp_path / "o.npz", "--max-unpacked", "0")


def test_an_error_is_one_line_whatever_it_quotes():
    assert str(DataError("this\n is \r\n\n wrong")) == "this is wrong"
