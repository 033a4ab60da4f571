"""The XMC text format: what is read, what is written, and what is said of files that are wrong."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from data_helpers import assert_same, datasets, rows, singles, toy
from neartag.core.errors import DataError
from neartag.data.dataset import Dataset
from neartag.data.formats.split import read_split
from neartag.data.formats.xmc import BLOCK_BYTES, read_xmc, write_xmc
from neartag.data.formats.xmc_rows import nearest_float32

TOY = b"3 4 3\n1,2 0:0.1 3:1e-06\n 1:-2.5\n\n"


@pytest.fixture
def file(tmp_path):
    def write(content: bytes, name: str = "data.txt"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


# Blocks so small that most end within a line.
in_blocks = pytest.mark.parametrize("block_bytes", [BLOCK_BYTES, 1, 5])


def test_reads_a_file_by_hand(file):
    data = read_xmc(file(TOY))
    assert_same(data, toy())
    assert data.name == "data"
    assert read_xmc(file(TOY), name="other").name == "other"


@pytest.mark.parametrize(
    "content",
    [
        TOY.replace(b"\n", b"\r\n"),
        b"3 4 3\n1,2 0:0.1 3:1e-06 \n 1:-2.5\n \n",  # blanks at line ends
        b" 3\t4  3 \n1,2\t0:0.1  3:1e-06\t\n\t1:-2.5\n\t",  # tabs, and no end to the last line
        b"3 4 3\n2,1,2 3:+.1e-5 0:00.10\n 1:-2.50\n\n",  # unordered, a label twice, other ways to write a number
        b"3 4 3\n1,2 0:1E-1 3:0.000001000\n 1:-25e-1\n\r\n",
    ],
)
@pytest.mark.parametrize("map_from", [None, 0])
@in_blocks
def test_reads_what_others_write(file, content, map_from, block_bytes):
    assert_same(read_xmc(file(content), map_from=map_from, block_bytes=block_bytes), toy())


@pytest.mark.parametrize(
    ("ending", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)]
)
def test_compressed(file, tmp_path, ending, compress):
    assert_same(read_xmc(file(compress(TOY), "data.txt" + ending)), toy())
    write_xmc(toy(), tmp_path / f"out.txt{ending}")
    assert_same(read_xmc(tmp_path / f"out.txt{ending}"), toy())
    for wrong in (compress(TOY)[:-9], TOY, b""):
        with pytest.raises(DataError, match=f"bad.txt{ending}"):
            read_xmc(file(wrong, "bad.txt" + ending))


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (b"", 1, "empty"),
        (b"\n", 1, "header"),
        (b"3 4\n", 1, "'3 4'"),
        (b"3 4 3 2\n", 1, "header"),
        (b"3 4 x\n", 1, "'3 4 x'"),
        (b"-1 4 3\n", 1, "header"),
        (b"1_0 4 3\n", 1, "header"),
        (b"1.0 4 3\n", 1, "header"),
        (b"1 4 9999999999\n\n", 1, "at most 2147483647"),
        (b"1 4 99999999999999999999\n\n", 1, "header"),
        (b"3 4 3\n1 0:1\n2 1:1\n", 3, "says 3 points, but 2 lines follow"),
        (b"999999999999 4 3\n1 0:1\n", 2, "says 999999999999 points, but 1 lines follow"),
        (b"1 4 3\n1 0:1\n2 1:1\n0 1:1\n", 3, "says 1 points, but 3 lines follow"),
        (b"1 4 3", 1, "says 1 points, but 0 lines follow"),
        (b"2 4 3\n0\n3 0:1\n", 3, "label '3' is not below 3"),
        (b"2 4 3\n0\n1,99999999999999999999999,2 0:1\n", 3, "label '99999999999999999999999' is not below 3"),
        (b"2 4 3\n0\n0:1 1:1\n", 3, "expected labels, found '0:1'; .* begins with a space"),
        (b"2 4 3\n0\n1,,2 0:1\n", 3, "expected labels, found '1,,2'"),
        (b"2 4 3\n0\n1, 0:1\n", 3, "expected labels, found '1,'"),
        (b"2 4 3\n0\n1,\n", 3, "expected labels, found '1,'"),
        (b"2 4 3\n0\n,1 0:1\n", 3, "expected labels, found ',1'"),
        (b"2 4 3\n0\n-1 0:1\n", 3, "expected labels, found '-1'"),
        (b"2 4 3\n0\n1.0 0:1\n", 3, "expected labels, found '1.0'"),
        (b"2 4 3\n0\ncats 0:1\n", 3, "expected labels, found 'cats'"),
        (b"2 4 3\n0\n1\r1 0:1\n", 3, "expected labels"),
        (b"2 4 3\n0\n1 4:1\n", 3, "feature '4' is not below 4"),
        (b"2 4 3\n0\n1 18446744073709551616:1\n", 3, "feature '18446744073709551616' is not below 4"),
        (b"2 4 3\n0\n1 2\n", 3, "expected a feature, found '2'"),
        (b"2 4 3\n0\n1 2 :1\n", 3, "expected a feature, found '2'"),
        (b"2 4 3\n0\n1 -1:1\n", 3, "expected a feature, found '-1:1'"),
        (b"2 4 3\n0\n1 :1\n", 3, "expected a feature, found ':1'"),
        (b"2 4 3\n0\n1 2:\n", 3, "value in '2:' is not a finite number"),
        (b"2 4 3\n0\n1 2: 1\n", 3, "value in '2:' is not a finite number"),
        (b"2 4 3\n0\n1 2:1:1\n", 3, "value in '2:1:1'"),
        (b"2 4 3\n0\n1 2:1,5\n", 3, "value in '2:1,5'"),
        (b"2 4 3\n0\n1 2:1.2.3\n", 3, "value in '2:1.2.3'"),
        (b"2 4 3\n0\n1 2:.\n", 3, "value in '2:.'"),
        (b"2 4 3\n0\n1 2:-\n", 3, "value in '2:-'"),
        (b"2 4 3\n0\n1 2:1e\n", 3, "value in '2:1e'"),
        (b"2 4 3\n0\n1 2:e5\n", 3, "value in '2:e5'"),
        (b"2 4 3\n0\n1 2:1_0\n", 3, "value in '2:1_0'"),
        (b"2 4 3\n0\n1 2:0x1\n", 3, "value in '2:0x1'"),
        (b"2 4 3\n0\n1 2:nan\n", 3, "value in '2:nan' is not a finite number"),
        (b"2 4 3\n0\n1 2:-inf\n", 3, "value in '2:-inf' is not a finite number"),
        (b"2 4 3\n0\n1 2:1e39\n", 3, "'1e39' does not fit into float32"),
        (b"2 4 3\n0\n1 2:1e999999999999999999999\n", 3, "does not fit into float32"),
        (b"2 4 3\n0\n1 2:1\0\n", 3, "value in"),
        (b"2 4 3\n0\n1 2:\xff\xfe\n", 3, "value in"),
        (b"2 4 3\n0\n1 2:1 3:1 2:1\n", 3, "feature 2 occurs more than once"),
        (b"2 4 3\n0 1:1\n1 2:1 2:1\n", 3, "feature 2 occurs more than once"),
    ],
)
@in_blocks
def test_says_what_is_wrong_and_where(file, content, line, said, block_bytes):
    with pytest.raises(DataError, match=rf"data\.txt:{line}: .*{said}") as raised:
        read_xmc(file(content), block_bytes=block_bytes)
    assert "; " in str(raised.value)  # and what to do


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"3 4 3\n0 0:1\n1 1:1 2:", "2 lines follow it; the file may be cut short"),
        (b"2 4 3\n0 0:1\n1 1:1\n# a comment\n", "3 lines follow it; remove the extra lines"),
        (b"3 4 3\nx\n1 1:1\n", "2 lines follow it"),
    ],
)
@in_blocks
def test_lines_that_are_missing_or_too_many_say_more_than_a_line(file, content, said, block_bytes):
    with pytest.raises(DataError, match=said):
        read_xmc(file(content), block_bytes=block_bytes)


@in_blocks
def test_line_numbers_count_crlf_lines_once(file, block_bytes):
    with pytest.raises(DataError, match=r"data\.txt:4: "):
        read_xmc(file(b"3 4 3\r\n0 0:1\r\n1 1:1\r\n2 9:1\r\n"), block_bytes=block_bytes)


def test_no_such_file_and_no_file_at_all(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_xmc(tmp_path / "absent.txt")
    with pytest.raises(DataError, match="cannot be read"):
        read_xmc(tmp_path)


@given(
    st.binary(max_size=60)
    | st.builds(lambda body: b"2 4 3\n" + body, st.text("01239,: .e-+\r\n\tnx", max_size=40).map(str.encode))
)
@example(b"1 4 3\n1 2:1e5\r")
def test_any_bytes_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_bytes(content)
    try:
        data = read_xmc(path)
    except DataError:
        return
    assert np.isfinite(data.X.data).all()
    assert data.X.has_canonical_format
    assert data.Y.has_canonical_format


@given(datasets())
def test_round_trip(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("round", numbered=True)
    write_xmc(data, folder / "data.txt")
    assert_same(read_xmc(folder / "data.txt"), data)


def test_every_kind_of_float32_survives(tmp_path):
    random = np.random.default_rng(0)
    values = random.integers(0, 2**32, 200_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    powers = np.ldexp(np.float32(1), np.arange(-149, 128)).astype(np.float32)
    powers = np.concatenate([powers, -powers, np.nextafter(powers, np.float32(0)), np.float32([0, -0.0])])
    values = np.concatenate([values[np.isfinite(values)], powers, np.float32([np.finfo(np.float32).max, 16777216])])
    data = Dataset(X=rows([dict(enumerate(values.tolist()))], values.size), Y=rows([{}], 1))
    write_xmc(data, tmp_path / "data.txt")
    assert_same(read_xmc(tmp_path / "data.txt"), data)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16777217", 16777216.0),  # just between two float32: to the even one
        ("16777219", 16777220.0),
        ("16777217.00000000000000000001", 16777218.0),  # a hair above it, which a double does not see
        ("16777216.99999999999999999999", 16777216.0),
        ("0.1000000000000000055511151231257827", 0.1),
        ("123456789012345678901234567890", 1.2345679e29),
        ("0." + "0" * 200 + "1e200", 0.1),
        ("1e-46", 0.0),
        ("1e-45", 1e-45),
        ("7.006492321624085e-46", 0.0),  # half the smallest: to even
        ("7.0064923216240862e-46", 1e-45),  # just above half
        ("3.4028235e38", 3.4028235e38),
    ],
)
def test_numbers_are_rounded_once(file, text, value):
    for sign in ("", "-"):
        data = read_xmc(file(f"1 1 1\n 0:{sign}{text}\n".encode()))
        assert data.X.data[0] == np.float32(float(sign + "1") * value if sign else value)
        assert nearest_float32(sign + text) == data.X.data[0]


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30), singles)
def test_numbers_are_those_of_numpy(tmp_path_factory, decimal, single):
    path = tmp_path_factory.getbasetemp() / "number.txt"
    path.write_bytes(f"1 3 1\n 0:{decimal} 1:{single!r} 2:{np.float32(single)!s}\n".encode())
    values = read_xmc(path).X.data
    assert values[0] == nearest_float32(str(decimal))
    assert values[1] == np.float32(single)
    assert values[2] == np.float32(single)


def test_many_numbers_that_need_an_exact_reading(file):
    body = " ".join(f"{column}:16777217" for column in range(10_000))
    data = read_xmc(file(f"1 10000 1\n {body}\n".encode()))
    assert (data.X.data == 16777216).all()
    assert data.X.nnz == 10_000


def test_writing_is_whole_or_not_at_all(tmp_path, monkeypatch):
    write_xmc(toy(), tmp_path / "data.txt")
    before = (tmp_path / "data.txt").read_bytes()
    assert before == TOY
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(DataError, match=r"data\.txt: cannot be written: No space left"):
        write_xmc(toy(X=rows([{}, {}, {}], 4)), tmp_path / "data.txt")
    assert (tmp_path / "data.txt").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["data.txt"]


def test_writing_does_not_change_what_it_writes(tmp_path):
    data = toy(X=rows([{0: 1, 1: 2}, {}, {}], 4))
    data.X.indices[:] = [1, 0]
    data.X.has_sorted_indices = data.X.has_canonical_format = False
    data.Y.data[0] = 0
    write_xmc(data, tmp_path / "data.txt")
    assert data.X.indices.tolist() == [1, 0]
    assert (tmp_path / "data.txt").read_bytes() == b"3 4 3\n2 0:2 1:1\n\n\n"
    with pytest.raises(DataError, match="point 1 has the value nan"):
        write_xmc(toy(X=rows([{}, {2: np.nan}, {}], 4)), tmp_path / "data.txt")


def test_long_data_are_written_in_blocks(tmp_path):
    data = Dataset(
        X=rows([{column: 0.5 for column in range(row % 7)} for row in range(50)], 9), Y=rows([{1: 1}] * 50, 2)
    )
    write_xmc(data, tmp_path / "data.txt", block_bytes=60)
    assert_same(read_xmc(tmp_path / "data.txt", block_bytes=60), data)


def test_names_beside(file, tmp_path):
    data = file(TOY)
    file("p1\tkatze\np2\tcafé\tau lait\nplain\n".encode(), "labels.txt")
    file(b"a\r\nb\r\n\r\nd", "features.txt")
    found = read_xmc(data)
    assert found.label_names == ["katze", "café\tau lait", "plain"]
    assert found.feature_names == ["a", "b", "", "d"]
    file(b"only\ntwo\n", "labels.txt")
    with pytest.raises(DataError, match=r"labels\.txt: 2 names for the 3 labels of data\.txt"):
        read_xmc(data)
    file(b"one\ntwo\n\xff\n", "labels.txt")
    with pytest.raises(DataError, match=r"labels\.txt:3: not UTF-8"):
        read_xmc(data)


def test_names_of_other_data_are_not_replaced(tmp_path):
    write_xmc(toy(label_names=["a", "b", "c"], point_names=["x", "y", "z"]), tmp_path / "one.txt")
    write_xmc(toy(label_names=["a", "b", "c"]), tmp_path / "two.txt")
    assert read_xmc(tmp_path / "one.txt").point_names == ["x", "y", "z"]
    assert read_xmc(tmp_path / "two.txt").point_names is None
    for names, Y in ((["a", "b", "other"], toy().Y), (None, rows([{}] * 3, 5))):
        with pytest.raises(DataError, match=r"labels\.txt: holds other names"):
            write_xmc(toy(label_names=names, Y=Y), tmp_path / "three.txt")
    for name, said in (("line\nbreak", "line break"), ("\ud800", "not valid Unicode")):
        with pytest.raises(DataError, match=said):
            write_xmc(toy(feature_names=["a", "b", "c", name]), tmp_path / "four.txt")
    assert not (tmp_path / "four.txt").exists()


def test_split(file):
    data = file(TOY)
    train, test = read_split(data, file(b"1 3\n2 1\n", "train.idx"), file(b"3 2\r\n", "test.idx"), column=1)
    assert train.X.toarray().tolist() == toy().X[[2, 0]].toarray().tolist()
    assert test.Y.shape == (1, 3)
    for content, said in (
        (b"1 2\n3\n", r"split:2: 1 columns, but 2 in line 1"),
        (b"1 2\n\n3 1\n", r"split:2: 0 columns"),
        (b"1 0\n", r"split:1: '0' is not the number of a row; rows count from 1 to 3"),
        (b"1 1\n2 4\n", r"split:2: '4' is not the number of a row"),
        (b"1 x\n", r"split:1: 'x'"),
        (b"1\n2\n", r"has 1 columns, so there is no column 1"),
        (b"", r"has 0 columns"),
    ):
        with pytest.raises(DataError, match=said):
            read_split(data, file(content, "split"), file(b"1 1\n", "test.idx"), column=1)


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "train", "test"),
    [("bibtex", (4880, 1836, 159), 2515), ("mediamill-rand", (30993, 120, 101), 12914)],
)
def test_real_sets(real_data, name, train, test):
    folder = real_data(name)
    data = read_xmc(folder / "train.txt")
    assert (data.n_points, data.n_features, data.n_labels) == train
    assert read_xmc(folder / "test.txt").n_points == test
    assert data.label_names is not None
    if name == "bibtex":
        assert round(data.X.nnz / data.n_points, 2) == 68.74
        assert round(data.Y.nnz / data.n_points, 2) == 2.40
    else:
        # About four in a hundred points have no label.
        assert 0.035 < np.mean(np.diff(data.Y.indptr) == 0) < 0.045


@pytest.mark.real
def test_real_flaws(real_data, tmp_path):
    eurlex = real_data("eurlex4k-partial")
    train, whole = read_xmc(eurlex / "train.txt"), read_xmc(eurlex / "all.txt")
    assert whole.n_points == 10251
    assert np.sum(np.asarray(train.Y.sum(axis=0)) == 0) == 172
    write_xmc(train, tmp_path / "train.txt")
    assert (tmp_path / "train.txt").read_bytes() == (eurlex / "train.txt").read_bytes()
    yso = read_xmc(real_data("yso-finna-en-100k") / "test.txt")
    assert yso.label_names is not None
    assert yso.label_names[0] == "light reading"
    assert len(yso.label_names) - len(set(yso.label_names)) == 114
