"""Labelled texts: what goes into a file of each format comes out again, one at a time; faults are named and skipped."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import re
import subprocess
import sys
import tracemalloc
from codecs import BOM_UTF8
from contextlib import suppress
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neartag.core.errors import DataError, ParameterError
from neartag.data import formats
from neartag.data.documents import KINDS, BadLines, Document, Fields, documents, holds_documents
from neartag.data.documents.tables import read_csv

COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
compressions = st.sampled_from(sorted(COMPRESS))
MEGABYTE = 2**20

no_surrogates = st.characters(exclude_categories=["Cs"])
no_nul = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
# What stands on one line between ASCII blanks; a file may begin with a byte order mark, which is none of its text.
words = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=" \ufeff"), min_size=1, max_size=6)
# What survives being trimmed and being split at semicolons.
cells = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=";\ufeff"), max_size=6)
cells = cells.map(str.strip).filter(bool)
vectors = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3)


def pieces(text, label):
    """Return lists of (text, labels, id, vector)."""
    labels = st.lists(label, max_size=4, unique=True)
    identity = st.none() | st.text(no_nul, min_size=1, max_size=5)
    return st.lists(st.tuples(text, labels, identity, vectors), max_size=6)


def parts(found):
    """Return documents as `pieces` makes them."""
    return [(d.text, d.labels, d.id, None if d.vector is None else d.vector.tolist()) for d in found]


def table(rows: list[list[str]], delimiter: str = ",") -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter).writerows(rows)
    return stream.getvalue().encode()


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes, name: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("documents")


class TestRoundTrips:
    @settings(max_examples=40)
    @given(pieces(st.text(no_surrogates), st.text(no_nul, max_size=5)), compressions)
    def test_json_lines(self, place, wanted, compression):
        path = place / f"data.jsonl{compression}"
        keys = ("text", "labels", "id", "vector")
        lines = [json.dumps(dict(zip(keys, piece, strict=True)), ensure_ascii=False) for piece in wanted]
        path.write_bytes(COMPRESS[compression]("\n".join(lines).encode()))
        found = list(documents(path, Fields(vector="vector")))
        assert parts(found) == wanted
        assert [d.place for d in found] == [f"{path}:{number + 1}" for number in range(len(wanted))]
        assert all(d.vector.dtype == np.float32 for d in found)

    @pytest.mark.parametrize(("ending", "delimiter"), [(".csv", ","), (".tsv", "\t")])
    @settings(max_examples=30)
    @given(pieces=pieces(st.text(no_nul), cells), compression=compressions, mark=st.sampled_from([b"", BOM_UTF8]))
    def test_tables(self, place, ending, delimiter, pieces, compression, mark):
        path = place / f"data{ending}{compression}"
        rows = [[" ; ".join(labels), str(v), "x", text, name or ""] for text, labels, name, v in pieces]
        content = mark + table([["labels", "vector", "other", "text", "id"], *rows], delimiter)
        path.write_bytes(COMPRESS[compression](content))
        settled = {"separator": ";", "quoting": "double", "indicators": False, "label_per_row": False}
        found = list(documents(path, Fields(vector="vector", **settled)))
        assert parts(found) == pieces
        lines, line = [], 2
        for row in rows:
            lines.append(f"{path}:{line}")
            line += table([row], delimiter).count(b"\n")
        assert [d.place for d in found] == lines

    @settings(max_examples=40)
    @given(pieces(st.text(no_surrogates), st.text(no_nul, max_size=5)), st.integers(1, 4), st.booleans())
    def test_parquet(self, place, wanted, group, as_list):
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        path = place / "data.parquet"
        if not as_list:  # as one string of labels, for which not every label is fit
            wanted = [(text, [f"l{place}" for place, _ in enumerate(labels)], *rest) for text, labels, *rest in wanted]
        lists = pa.list_(pa.string())
        texts, labels, ids, numbers = ([piece[field] for piece in wanted] for field in range(4))
        columns = {
            "text": pa.array(texts, pa.large_string()),
            "other": pa.array(range(len(texts)), pa.int64()),
            "subjects": pa.array(labels, lists) if as_list else pa.array([" , ".join(x) for x in labels], pa.string()),
            "id": pa.array(ids, pa.string()),
            "vector": pa.array(numbers, pa.list_(pa.float32(), 3)),
        }
        parquet.write_table(pa.table(columns), path, row_group_size=group)
        found = list(documents(path, Fields(vector="vector", separator=",")))
        assert parts(found) == wanted
        assert [d.place for d in found] == [f"{path}:{number + 1}" for number in range(len(wanted))]

    @settings(max_examples=40)
    @given(pieces(st.lists(words).map(" ".join).filter(lambda t: not t.startswith("__label__")), words), compressions)
    def test_fasttext(self, place, wanted, compression):
        wanted = [piece for piece in wanted if piece[0] or piece[1]]  # a line must have something on it
        path = place / f"data.ft{compression}"
        lines = [" ".join([*(f"__label__{label}" for label in labels), text]) for text, labels, *_ in wanted]
        path.write_bytes(COMPRESS[compression]("\r\n".join(lines).encode()))
        assert parts(documents(path)) == [(text, labels, None, None) for text, labels, *_ in wanted]

    @settings(max_examples=40)
    @given(
        pieces=st.dictionaries(
            st.text("abcäß.-_ 1", min_size=1, max_size=5).filter(lambda name: name[0] != "." and name == name.strip()),
            st.tuples(st.text(no_nul), st.lists(cells, max_size=3, unique=True), compressions),
            min_size=1,
            max_size=4,
        ),
        ending=st.sampled_from([".tags", ".labels", ".key", ".tsv"]),
    )
    def test_folders(self, tmp_path_factory, pieces, ending):
        folder = tmp_path_factory.mktemp("folder")
        for name, (text, labels, compression) in pieces.items():
            (folder / f"{name}.txt{compression}").write_bytes(COMPRESS[compression](text.encode()))
            lines = [f"<http://example.org/{label}>\t{label}" if ending == ".tsv" else label for label in labels]
            (folder / f"{name}{ending}{compression}").write_bytes(COMPRESS[compression]("\n".join(lines).encode()))
        found = list(documents(folder))
        assert parts(found) == [
            (pieces[name][0].removeprefix("\ufeff"), pieces[name][1], name, None) for name in sorted(pieces)
        ]
        assert [d.place for d in found] == [f"{folder / name}.txt{pieces[name][2]}:1" for name in sorted(pieces)]


def test_labels_are_merged_and_may_stand_in_several_fields(file):
    lines = '{"body": "b", "a": ["x", "y", "x"], "b": ["z", "y"]}\n{"body": "", "b": []}\n'
    fields = Fields(text="body", labels=("a", "b"))
    assert [d.labels for d in documents(file(lines, "d.jsonl"), fields)] == [["x", "y", "z"], []]
    assert [d.labels for d in documents(file("body,a,b\nt,x; y,;z;x;", "d.csv"), fields)] == [["x", "y", "z"]]
    assert [d.labels for d in documents(file("__label__x __label__y __label__x t", "d.ft"))] == [["x", "y"]]


def test_the_first_of_two_usual_names_counts(file):
    assert next(documents(file("subjects,labels,text\na,b,t", "d.csv"))).labels == ["b"]
    assert next(documents(file('{"subjects": ["a"], "labels": ["b"], "text": ""}', "d.jsonl"))).labels == ["b"]


def test_ids(file):
    points = [{"id": "a"}, {"id": 12}, {"id": None}, {"key": 7}]
    path = file("\n".join(json.dumps({"text": "", **point}) for point in points), "d.ndjson")
    assert [d.id for d in documents(path, labelled=False)] == ["a", "12", None, None]
    assert [d.id for d in documents(path, Fields(id="key"), labelled=False)] == [None, None, None, "7"]
    assert [d.id for d in documents(path, Fields(id=None), labelled=False)] == [None] * 4


def test_without_labels(file):
    parquet = file(b"", "d.parquet")
    for name, content in (
        ("d.jsonl", '{"text": "t"}\n{"text": "t", "labels": null}\n{"text": "t", "labels": ["x"]}'),
        ("d.csv", "text,id\nt,\nt,1\nt,\n"),
        ("d.ft", "t\nt\n__label__x t\n"),
    ):
        path = file(content, name)
        assert [d.text for d in documents(path, labelled=False)] == ["t"] * 3
        assert next(documents(path, Fields(labels="labels"), labelled=False)).labels == []
    pa, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for columns in ({}, {"labels": pa.nulls(2)}, {"labels": pa.array([None, ["x"]], pa.list_(pa.string()))}):
        writer.write_table(pa.table({"text": ["t", "t"], **columns}), parquet)
        assert [d.text for d in documents(parquet, labelled=False)] == ["t"] * 2
        with pytest.raises(DataError, match=r"d\.parquet:1: "):
            list(documents(parquet))


def test_vectors_of_tables(file):
    path = file('text,labels,v\na,,"[0.5, -1e3]"\nb,,0.5 2\nc,,"(1,2)"\n', "d.csv")
    assert [d.vector.tolist() for d in documents(path, Fields(vector="v"))] == [[0.5, -1000], [0.5, 2], [1, 2]]


def test_kind_stands_above_the_ending(file):
    assert parts(documents(file("__label__a b c", "train.txt"), kind="fasttext")) == [("b c", ["a"], None, None)]
    zipped = file(gzip.compress(b"text\tlabels\nb\ta"), "table.txt.gz")
    assert parts(documents(zipped, kind="tsv")) == [("b", ["a"], None, None)]


LINES = {  # a file's good first lines, the line number of what follows, and a good last line
    ".jsonl": ('{"text": "a", "labels": [], "v": [1, 2]}\n\n', 3, '{"text": "b", "labels": [], "v": [1, 2]}'),
    ".csv": ('text,labels,v,id\n"a\nb",,1 2,\n\n', 5, "c,,1 2,"),
    ".tsv": ("text\tlabels\tv\tid\na\t\t1 2\t\n", 3, "c\t\t1 2\t"),
    ".ft": ("__label__x a\n\n", 3, "__label__x b"),
}


@pytest.mark.parametrize(
    ("ending", "line", "said"),
    [
        (".jsonl", "{", "cannot be read as JSON"),
        (".jsonl", "3", "is a JSON number"),
        (".jsonl", b'{"text": "\xff", "labels": []}', "cannot be read as JSON"),
        (".jsonl", b'{"text": "\0", "labels": []}', "cannot be read as JSON"),
        (".jsonl", '{"labels": []}', "no 'text'"),
        (".jsonl", '{"text": 3, "labels": []}', "'text' is a JSON number"),
        (".jsonl", '{"text": "a", "v": [1, 2]}', "no 'labels' or 'subjects'"),
        (
            ".jsonl",
            '{"text": "a", "labels": [true], "v": [1, 2]}',
            "a label in 'labels' is a JSON boolean",
        ),
        (".jsonl", '{"text": "a", "labels": null}', "'labels' is a JSON null"),
        (".jsonl", '{"text": "a", "labels": {"x": 1}}', "'labels' is a JSON object"),
        (".jsonl", '{"text": "\\ud800", "labels": [], "v": [1, 2]}', "the text is not valid Unicode"),
        (".jsonl", '{"text": "", "labels": ["\\udfff"], "v": [1, 2]}', "a label is not valid Unicode"),
        (".jsonl", '{"text": "", "labels": ["a\\u0000"], "v": [1, 2]}', "a label holds a NUL character"),
        (".jsonl", '{"text": "", "labels": [], "v": [1, 2], "id": 1.5}', "the id is 1.5"),
        (".jsonl", '{"text": "", "labels": [], "v": [1, 2], "id": true}', "the id is True"),
        (".jsonl", '{"text": "", "labels": [], "v": [1, 2], "id": "\\u0000"}', "the id holds a NUL character"),
        (".jsonl", '{"text": "", "labels": []}', "no 'v'"),
        (".jsonl", '{"text": "", "labels": [], "v": 2}', "'v' is a JSON number"),
        (".jsonl", '{"text": "", "labels": [], "v": [1, true]}', "'v' has a JSON boolean in it"),
        (".jsonl", '{"text": "", "labels": [], "v": []}', "the vector has the shape"),
        (".jsonl", '{"text": "", "labels": [], "v": [1, NaN]}', "number 1 of the vector is no finite float32"),
        (".jsonl", '{"text": "", "labels": [], "v": [1e39, 0]}', "number 0 of the vector"),
        (".jsonl", '{"text": "", "labels": [], "v": [1%s, 0]}' % ("0" * 400), "the vector cannot be read"),
        (".jsonl", '{"text": "", "labels": [], "v": [1, 2, 3]}', "has 3 numbers, but the first has 2"),
        (".csv", "a", "there are 1 cells, but 4 in the header"),
        (".csv", "a,,1 2,,", "there are 5 cells"),
        (".csv", '"a"b,,1 2,', "cannot be read as a row of cells"),
        (".csv", "a\rb,,1 2,", "cannot be read as a row of cells"),
        (".csv", b"\xe4,,1 2,", "not UTF-8"),
        (".csv", b"a,\0,1 2,", "NUL byte"),
        (".csv", "a,,1 x,", "the vector cannot be read"),
        (".csv", "a,,,", "the vector has the shape"),
        (".csv", "a,,1,", "has 1 numbers, but the first has 2"),
        (".tsv", "a,b", "there are 1 cells, but 4 in the header"),
        (".ft", b"__label__x \xff", "not UTF-8"),
        (".ft", b"a\0", "NUL byte"),
        (".ft", "__label__x __label__ a", "a __label__ without a name"),
    ],
)
def test_a_bad_line_is_named_or_skipped(file, ending, line, said):
    before, number, after = LINES[ending]
    line = line if isinstance(line, bytes) else line.encode()
    path = file(before.encode() + line + b"\n" + after.encode() + b"\n" + line + b"\n", f"d{ending}")
    fields = Fields(vector=None if ending == ".ft" else "v")
    with pytest.raises(DataError, match=rf"d\{ending}:{number}: .*{said}.*; .") as raised:
        list(documents(path, fields))
    bad = BadLines()
    assert len(list(documents(path, fields, bad=bad))) == 2
    assert bad.count == 2
    assert bad.messages[0] == str(raised.value)
    assert f":{number + 2}: " in bad.messages[1]


def test_the_line_of_a_bad_byte_in_a_row_of_several_lines(file):
    path = file(b'text,labels\n"a\n\xff\nb",x\n"c\nd",y\ne,f,g\n', "d.csv")
    bad = BadLines()
    assert [(d.text, d.place) for d in documents(path, bad=bad)] == [("c\nd", f"{path}:5")]
    assert [message.split(": ")[0] for message in bad.messages] == [f"{path}:3", f"{path}:7"]


def test_a_quote_that_is_never_closed(file):
    path = file('text,labels\na,x\n"b,y\nc,z\n', "d.csv")
    bad = BadLines()
    assert [d.text for d in documents(path, bad=bad)] == ["a"]
    assert bad.messages[0].startswith(f"{path}:3: cannot be read as a row of cells (unexpected end of data)")
    # It does not take the whole file into memory: a cell has a limit.
    limit = csv.field_size_limit(1000)
    try:
        path = file('text,labels\n"a,x\n' + "b,y\n" * 1000, "d.csv")
        first, *others = read_csv(path, Fields(), True, max_cell=1000)
        assert isinstance(first, DataError)
        assert re.match(r".*d\.csv:2: .*limit", str(first))
        assert sum(isinstance(found, Document) for found in others) > 700
    finally:
        csv.field_size_limit(limit)


def test_a_huge_cell(file):
    text = "ä" * 3_000_000
    assert next(documents(file(table([["labels", "text"], ["x", text]]), "d.csv"))).text == text


def test_bad_parquet_rows(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "d.parquet"
    broken = pa.array([b"\xff"]).cast(pa.binary()).buffers()
    lists = pa.list_(pa.string())
    columns = {
        "text": [None, "a", "b", "c", "d", "e"],
        "labels": pa.array([["x"], None, [None], ["x"], ["x"], ["x", "x"]], lists),
        "v": pa.array([[1.0], [1.0], [1.0], None, [None], [1.0]], pa.list_(pa.float64())),
    }
    parquet.write_table(pa.table(columns), path)
    bad = BadLines()
    assert parts(documents(path, Fields(vector="v"), bad=bad)) == [("e", ["x"], None, [1.0])]
    assert bad.count == 5
    said = (
        "the text is null",
        "the labels are null",
        "a label is null",
        "the vector is null",
        "number 0 of the vector",
    )
    for number, (message, what) in enumerate(zip(bad.messages, said, strict=True), start=1):
        assert message.startswith(f"{path}:{number}: {what}")
    parquet.write_table(pa.table({"text": pa.Array.from_buffers(pa.string(), 1, broken), "labels": [""]}), path)
    with pytest.raises(DataError, match=r"d\.parquet:1: not UTF-8"):
        list(documents(path))


def test_other_parquet_types(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "d.parquet"
    columns = {
        "text": pa.array(["a", "a"]).dictionary_encode(),
        "labels": pa.array(["x|y", "x"]).dictionary_encode(),
        "id": pa.array([1, 2], pa.uint8()),
        "v": pa.array([[1, 2], [3, 4]], pa.large_list(pa.int16())),
    }
    parquet.write_table(pa.table(columns), path)
    found = list(documents(path, Fields(vector="v", separator="|")))
    assert parts(found) == [("a", ["x", "y"], "1", [1, 2]), ("a", ["x"], "2", [3, 4])]
    for name, values, said in (
        ("text", [1, 2], "'text' holds int64; it must hold strings"),
        ("labels", [[1], [2]], "'labels' holds list.*; it must hold strings or lists of strings"),
        ("id", [1.5, 2], "'id' holds double"),
        ("v", [1.0, 2.0], "'v' holds double; it must hold lists of numbers"),
    ):
        parquet.write_table(pa.table({**columns, name: values}), path)
        with pytest.raises(DataError, match=rf"d\.parquet:1: the column {said}"):
            list(documents(path, Fields(vector="v"), bad=BadLines()))


class TestFaultsOfTheWhole:
    """What `bad` does not pass over."""

    @pytest.mark.parametrize(
        ("name", "content", "said"),
        [
            ("d.csv", b"", "the file is empty"),
            ("d.csv", b"id,body,labels\n", "no column 'text'; the columns there are: 'id', 'body', 'labels'"),
            ("d.csv", b"id,text\n", "no column 'labels' or 'subjects'; .*'id', 'text'"),
            ("d.csv", b"text,labels,text\n", "more than one column 'text'"),
            ("d.csv", b'"text,labels\n', "cannot be read as a row of cells"),
            ("d.csv", b"te\0xt,labels\n", "NUL byte"),
            ("d.csv", b"PK\x03\x04\x14\0\x06\0\n", "a zip archive, as Excel files are; .* end in .xlsx"),
            ("d.tsv", b"te\xfft\tlabels\n", "not UTF-8"),
            ("d.parquet", b"", "no Parquet file"),
            ("d.parquet", b"PAR1" + bytes(100) + b"PAR1", "no Parquet file"),
            ("d.jsonl.gz", gzip.compress(b'{"text": "a", "labels": []}\n' * 99, mtime=0)[:-9], "cut short"),
            ("d.csv.gz", gzip.compress(b"text,labels\n" + b"a,b\n" * 99, mtime=0)[:-9], "cut short"),
            ("d.ft.xz", b"no xz", "damaged"),
        ],
    )
    def test_files(self, file, name, content, said):
        if "parquet" in name:
            pytest.importorskip("pyarrow")
        bad = BadLines()
        with pytest.raises(DataError, match=said):
            list(documents(file(content, name), bad=bad))
        assert bad.count == 0

    def test_columns_asked_for(self, file):
        path = file("text,labels\na,b\n", "d.csv")
        for fields, said in (
            (Fields(id="key"), "'key'"),
            (Fields(vector="v"), "'v'"),
            (Fields(labels=("labels", "tags")), "'tags'"),
        ):
            with pytest.raises(DataError, match=rf"d\.csv:1: there is no column {said}; .*'text', 'labels'"):
                list(documents(path, fields, bad=BadLines()))

    @pytest.mark.parametrize("ending", [".jsonl", ".csv", ".tsv", ".ft", ".parquet", ".jsonl.gz"])
    def test_no_file(self, tmp_path, ending):
        if ending == ".parquet":
            pytest.importorskip("pyarrow")
        with pytest.raises(DataError, match="there is no such file"):
            list(documents(tmp_path / f"none{ending}", bad=BadLines()))
        with pytest.raises(DataError, match="cannot be read"):
            list(documents(tmp_path / "none", kind="folder", bad=BadLines()))

    def test_no_pyarrow(self, file, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(DataError, match=r'd\.parquet: .*pip install "neartag\[parquet\]"'):
            list(documents(file(b"", "d.parquet")))

    def test_arguments_are_looked_at_before_the_file(self, tmp_path):
        for path in ("d.txt", "d", "d.parquet.gz", "d.gz"):
            with pytest.raises(ParameterError, match=r"known are \.jsonl, .*\.parquet"):
                documents(tmp_path / path)
        with pytest.raises(ParameterError, match="kind='xml': must be one of 'jsonl'"):
            documents(tmp_path / "d.csv", kind="xml")
        for kind in ("fasttext", "folder"):
            with pytest.raises(ParameterError, match=f"vector='v': .*{kind}"):
                documents(tmp_path / "d", Fields(vector="v"), kind=kind)
        for wrong in ({"separator": ""}, {"labels": ()}, {"labels": ""}):
            with pytest.raises(ParameterError, match=next(iter(wrong))):
                Fields(**wrong)


def test_only_the_first_few_messages_are_kept(file):
    bad = BadLines()
    assert list(documents(file("x\n" * 1000, "d.jsonl"), bad=bad)) == []
    assert bad.count == 1000
    assert [message.split(": ")[0][-1] for message in bad.messages] == list("12345")


class TestFolders:
    def test_faults_of_single_texts(self, file, tmp_path):
        file("A", "a.txt")
        file("B\n", "b.txt")
        file("x\n\n  y \nx\n", "b.tags")
        file(b"C\nc\n\xff", "c.txt")
        file("x", "c.key")
        file("D", "d.txt")
        file(b"x\ny\xff\n", "d.labels")
        file(b"E\n\0", "e.txt.gz")
        file("", "e.labels")
        file("F", "f.txt")
        file("", "f.labels")
        file(b"\0", "g.txt")
        file("", "g.labels")
        bad = BadLines()
        assert parts(documents(tmp_path, bad=bad)) == [("B\n", ["x", "y"], "b", None), ("F", [], "f", None)]
        assert bad.count == 5
        wanted = (
            "a.txt:1: there are no labels",
            "c.txt:3: not UTF-8",
            "d.labels:2: not UTF-8",
            "e.txt.gz",
            "g.txt:1: ",
        )
        for message, said in zip(bad.messages, wanted, strict=True):
            assert message.startswith(f"{tmp_path}/{said}")
        with pytest.raises(DataError, match=r"a\.txt:1: .*a\.tags"):
            next(documents(tmp_path))

    def test_texts_to_predict_for_need_no_labels(self, file, tmp_path):
        for name in ("b.txt", "a.txt", ".hidden.txt", "notes.md", "inner/c.txt"):
            file(name, name)
        assert parts(documents(tmp_path, labelled=False)) == [("a.txt", [], "a", None), ("b.txt", [], "b", None)]

    def test_which_labels_count(self, file, tmp_path):
        file("", "a.txt")
        for ending in (".key", ".tsv", ".labels", ".tags"):
            file("<http://a>\tb c\n<http://d>\ne\n", f"a{ending}")
            wanted = ["b c", "http://d", "e"] if ending == ".tsv" else ["<http://a>\tb c", "<http://d>", "e"]
            assert next(documents(tmp_path)).labels == wanted
            (tmp_path / f"a{ending}").write_text(ending)
            assert next(documents(tmp_path)).labels == [ending]

    def test_two_texts_of_one_name(self, file, tmp_path):
        file("", "a.txt")
        file(gzip.compress(b""), "a.txt.gz")
        with pytest.raises(DataError, match=r"holds both a\.txt and a\.txt\.gz"):
            next(documents(tmp_path, labelled=False))

    def test_nothing(self, tmp_path):
        with pytest.raises(DataError, match="has no text"):
            next(documents(tmp_path))


class TestHoldsDocuments:
    @pytest.mark.parametrize(
        ("name", "content", "wanted"),
        [
            ("d.csv", "", True),
            ("d.tsv.gz", "", True),
            ("d.parquet", "", True),
            ("d.parquet.gz", "", False),
            ("d.ft", "", True),
            ("d.ndjson", "", True),
            ("d.txt", "hello", False),
            ("d.npz", "", False),
            ("d.jsonl", "", False),
            ("d.jsonl", '\nnonsense\n{"text": "a"}', True),
            ("d.jsonl", '{"text": "a", "features": {}}', False),
            ("d.jsonl", '{"features": {}, "labels": []}', False),
            ("d.jsonl", '{"format": "neartag-sparse", "points": 1}', False),
        ],
    )
    def test_files(self, file, name, content, wanted):
        assert holds_documents(file(content, name)) is wanted

    def test_named_fields(self, file):
        path = file('{"title": "a"}', "d.jsonl")
        assert not holds_documents(path)
        assert holds_documents(path, Fields(text="title"))

    def test_nothing(self, tmp_path):
        assert not holds_documents(tmp_path / "none.csv")
        assert not holds_documents(tmp_path)

    def test_folders(self, file, tmp_path):
        file("3 4 2\n0 1:1\n", "rows/train.txt")
        file("a\nb\n", "rows/labels.txt")
        file('{"text": "a", "labels": []}', "parts/train.jsonl")
        file("a\nb\n", "parts/labels.txt")
        file("about it", "parts/README.txt")
        file("a\nb\n", "names/labels.txt")
        file("hello", "texts/b.txt")
        file("a\n", "labelled/labels.txt")
        file("3 4 2\n", "labelled/a.txt")
        file("", "labelled/a.key")
        found = {folder.name for folder in tmp_path.iterdir() if holds_documents(folder)}
        assert found == {"texts", "labelled"}

    def test_each_file_has_one_reader(self, tmp_path):
        """A .jsonl file may hold either; no other ending is known to both."""
        for ending in (*formats.FORMATS, ".csv", ".tsv", ".parquet", ".ndjson", ".ft", ".fasttext"):
            (tmp_path / f"d{ending}").touch()
            assert holds_documents(tmp_path / f"d{ending}") != formats.is_data_file(tmp_path / f"d{ending}")


class _Counting(io.FileIO):
    """A file that counts the bytes read from it."""

    count = 0

    def readinto(self, buffer):
        done = super().readinto(buffer)
        _Counting.count += done or 0
        return done

    def readall(self):
        content = super().readall()
        _Counting.count += len(content)
        return content


@pytest.fixture(scope="module")
def large(place):
    """Return a function that writes a file of 50 MB and more, of 5,000 texts."""

    def write(ending: str) -> Path:
        path = place / f"large{ending}"
        text = "word " * 2100
        if ending == ".parquet":
            pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
            texts = [f"{number} {text}" for number in range(5000)]
            columns = {"text": texts, "labels": [["a"]] * len(texts)}
            # One group for all rows, as some programs write: not even that is read at once.
            parquet.write_table(pa.table(columns), path, compression="none", row_group_size=len(texts))
        else:
            before, line = {
                ".jsonl": ("", json.dumps({"text": text, "labels": ["a"]})),
                ".csv": ("text,labels\n", f'"{text}",a'),
                ".ft": ("", f"__label__a {text}"),
            }[ending]
            path.write_text(before + f"{line}\n" * 5000)
        assert path.stat().st_size > 50 * MEGABYTE
        return path

    return write


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".ft", ".parquet"])
def test_large_files_are_read_a_little_at_a_time(large, ending, monkeypatch):
    path = large(ending)
    monkeypatch.setattr("neartag.data.files._open_decompressed", lambda path: io.BufferedReader(_Counting(path)))
    monkeypatch.setattr(_Counting, "count", 0)
    found = documents(path)
    assert _Counting.count == 0
    next(found)
    if ending == ".parquet":
        # A page is the least that can be read of a column, and that of distinct texts takes 10 MB here.
        assert 0 < _Counting.count < 15 * MEGABYTE
        pyarrow = pytest.importorskip("pyarrow")
        assert max(pyarrow.total_allocated_bytes() for _ in found) < 35 * MEGABYTE
    else:
        assert 0 < _Counting.count < 3 * MEGABYTE  # a sample, and the first texts
        tracemalloc.start()
        assert sum(1 for _ in islice(found, 1000)) == 1000
        assert tracemalloc.get_traced_memory()[1] < MEGABYTE
        tracemalloc.stop()
        assert 10 * MEGABYTE < _Counting.count < 13 * MEGABYTE
    path.unlink()


@given(kind=st.sampled_from(sorted(KINDS.keys() - {"folder"})), content=st.binary(max_size=60), skip=st.booleans())
def test_any_bytes_are_read_or_refused(place, kind, content, skip):
    path = place / "any"
    path.write_bytes((b"text,labels\n" if kind == "csv" else b"") + content)
    for labelled in (True, False):
        with suppress(DataError):
            list(documents(path, labelled=labelled, kind=kind, bad=BadLines() if skip else None))


def test_pyarrow_is_imported_for_parquet_only(file):
    path = file("text,labels\na,b\n", "d.csv")
    program = "import sys; from neartag.data.documents import documents; print(len(list(documents(sys.argv[1]))))"
    program += "; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert done.stdout == "1\nFalse\n"
