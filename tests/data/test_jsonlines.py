"""JSON lines: sparse rows without loss, texts with labels, and what is said of lines that are wrong."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_helpers import assert_same, datasets, rows, toy
from neartag.core.errors import DataError
from neartag.data import line_blocks, registry, synthetic
from neartag.data.documents import Fields, documents
from neartag.data.formats import jsonlines_rows
from neartag.data.formats.jsonlines import read_jsonl, write_jsonl
from neartag.data.json_objects import _refuse_repeats
from neartag.data.mapped import mapped_bytes
from process_helpers import inline_helpers

HEADER = '{"format": "neartag-sparse", "points": 1, "features": 4, "labels": 3, "features_by": "id"}\n'
NAMED = HEADER.replace("}", ', "label_names": ["a", "b", "b"]}')


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes, name: str = "data.jsonl"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_writes_names_where_they_are_clear_and_ids_where_not(tmp_path):
    path = tmp_path / "data.jsonl"
    data = toy(label_names=["x", "y", "y"], feature_names=["0", "001", "é", "3"], point_names=["p", "q", "r"])
    write_jsonl(data, path)
    header, first, *_ = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert header["features_by"] == "name"
    assert first == {"features": {"0": 0.1, "3": 1e-06}, "labels": [1, 2], "name": "p"}
    assert_same(read_jsonl(path), data)
    assert read_jsonl(path).name == "data"
    assert read_jsonl(path, name="other").name == "other"


@given(datasets())
def test_round_trip(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "round.jsonl"
    write_jsonl(data, path)
    assert_same(read_jsonl(path), data)


def test_extreme_values_survive(tmp_path):
    values = [np.finfo(np.float32).max, -np.finfo(np.float32).max, 1e-45, -0.0, 16777216.0, 1 / 3]
    data = toy(X=rows([dict(enumerate(values)), {}, {}], 6))
    write_jsonl(data, tmp_path / "data.jsonl")
    assert_same(read_jsonl(tmp_path / "data.jsonl"), data)


def test_without_a_header(file):
    ids = read_jsonl(file('{"features": {"3": 1, "0": 2.5}, "labels": [2]}\n\n{"features": {}, "labels": [0, 2, 0]}\n'))
    assert ids.X.toarray().tolist() == [[2.5, 0, 0, 1], [0, 0, 0, 0]]
    assert ids.Y.toarray().tolist() == [[0, 0, 1], [1, 0, 1]]
    assert ids.label_names is None
    assert ids.feature_names is None
    named = read_jsonl(
        file('{"features": {"red": 1, "7": 2}, "labels": ["b", "a"]}\n{"features": {}, "labels": ["a"]}')
    )
    assert named.feature_names == ["7", "red"]
    assert named.label_names == ["a", "b"]
    assert named.X.toarray().tolist() == [[2, 1], [0, 0]]
    assert named.Y.toarray().tolist() == [[1, 1], [1, 0]]
    digits = read_jsonl(file('{"features": {"01": 1}, "labels": ["5"]}'))
    assert digits.feature_names == ["01"]
    assert digits.label_names == ["5"]


def test_sparse_rows_without_labels(file):
    found = read_jsonl(file('{"features": {"1": 2}}\n{"features": {}}\n'), labelled=False)
    assert found.X.toarray().tolist() == [[0, 2], [0, 0]]
    assert found.Y.shape == (2, 0)
    header = HEADER.replace('"points": 1', '"points": 2')
    headed = read_jsonl(file(header + '{"features": {"1": 2}}\n{"features": {}, "labels": [2]}\n'), labelled=False)
    assert headed.Y.toarray().tolist() == [[0, 0, 0], [0, 0, 1]]
    for line, said in (
        ('{"features": {}, "labels": "x"}', "'labels' is a JSON string"),
        ('{"labels": []}', "no 'features'"),
    ):
        with pytest.raises(DataError, match=said):
            read_jsonl(file(line), labelled=False)


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ("", 1, "empty"),
        ("{", 1, "cannot be read as JSON"),
        ("[1]", 1, "is a JSON array"),
        ("[" * 100_000, 1, "cannot be read as JSON"),
        ("1" * 5000, 1, "JSON"),
        (b"\xff", 1, "cannot be read as JSON"),
        ('{"labels": []}', 1, "there is no 'features', wanted a JSON object"),
        ('{"features": [], "labels": []}', 1, "'features' is a JSON array, wanted a JSON object"),
        ('{"features": {}}', 1, "there is no 'labels', wanted a JSON array"),
        ('{"features": {}, "labels": "x"}', 1, "'labels' is a JSON string, wanted a JSON array"),
        ('{"features": {}, "labels": [null]}', 1, "a label must be an id or a name, not None"),
        ('{"features": {}, "labels": [true]}', 1, "a label must be an id or a name, not True"),
        ('{"features": {}, "labels": [1.5]}', 1, "a label must be an id or a name, not 1.5"),
        ('{"features": {"1": "x"}, "labels": []}', 1, "value x is not a finite float32"),
        ('{"features": {"1": NaN}, "labels": []}', 1, "value nan"),
        ('{"features": {"1": -Infinity}, "labels": []}', 1, "value -inf"),
        ('{"features": {"1": 1e39}, "labels": []}', 1, "value 1e\\+39"),
        ('{"features": {"1": true}, "labels": []}', 1, "value True"),
        ('{"features": {"1": 1, "1": 2}, "labels": []}', 1, "'1' occurs twice"),
        ('{"features": {}, "labels": [], "name": 3}', 1, "'name' is a JSON number, wanted a JSON string"),
        ('{"features": {}, "labels": []}\n' + HEADER, 2, "header stands after the first line"),
        ('{"features": {}, "labels": [], "name": "x"}\n{"features": {}, "labels": []}', 2, "1 of 2 points have a name"),
        ('{"features": {}, "labels": [1]}\n{"features": {}, "labels": ["x"]}', 2, "numbers and some are strings"),
        ('{"features": {}, "labels": [-1]}', 1, "label ids run from -1 to -1"),
        ('{"features": {"99999999999": 1}, "labels": []}', 1, "feature ids run from"),
        (HEADER, 1, "says 1 points, but 0 follow"),
        (HEADER + '{"features": {"4": 1}, "labels": []}', 2, "feature 4 is not from 0 to 3"),
        (HEADER + '{"features": {"01": 1}, "labels": []}', 2, "no feature '01'"),
        (HEADER + '{"features": {}, "labels": [3]}', 2, "label 3 is not from 0 to 2"),
        (NAMED + '{"features": {}, "labels": ["b"]}', 2, "no label 'b', or has it twice"),
        (NAMED + '{"features": {}, "labels": ["c"]}', 2, "no label 'c'"),
        (HEADER.replace("3", '"3"'), 1, "'labels' is a JSON string, wanted a JSON number"),
        (HEADER.replace("3", "-3"), 1, "header says -3 labels"),
        (HEADER.replace("}", ', "label_names": ["a"]}'), 1, "has 1 label_names for 3 labels"),
        (HEADER.replace("}", ', "label_names": [1, 2, 3]}'), 1, "'label_names' must be strings"),
    ],
)
def test_says_what_is_wrong_and_where(file, content, line, said):
    with pytest.raises(DataError, match=rf"data\.jsonl:{line}: .*{said}") as raised:
        read_jsonl(file(content))
    assert "; " in str(raised.value) or line == 1


def read_or_error(path, **options):
    """Return the data set, or the text of the error."""
    try:
        return read_jsonl(path, **options)
    except DataError as error:
        return str(error)


def assert_read_alike(path, **options):
    """Hold what helper processes read, in blocks of any size, equal to what is read line by line."""
    wanted = read_or_error(path, **options)
    for size in (1, 40, 10**6):
        with pytest.MonkeyPatch.context() as patch, inline_helpers(3, here=size % 2):
            patch.setattr(line_blocks, "BLOCK_BYTES", size)
            found = read_or_error(path, **options)
        if isinstance(wanted, str):
            assert found == wanted
        else:
            assert_same(found, wanted)
    return wanted


@given(datasets(), st.booleans())
def test_helpers_read_the_same_rows(tmp_path_factory, data, has_header):
    path = tmp_path_factory.getbasetemp() / "helped.jsonl"
    write_jsonl(data, path)
    if not has_header:
        path.write_bytes(path.read_bytes().partition(b"\n")[2] + b"\n\n")
    assert_read_alike(path)


@pytest.mark.parametrize("before", ["", '{"features": {"1": 1}, "labels": []}\n\n', HEADER, NAMED])
@pytest.mark.parametrize(
    "line",
    [
        "{",
        '{"labels": []}',
        '{"features": {"1": 1}, "labels": [true]}',
        '{"features": {"1": 1e39}, "labels": []}',
        '{"features": {"4": 1}, "labels": []}',
        '{"features": {"b": 1}, "labels": []}',
        '{"features": {}, "labels": [3]}',
        '{"features": {}, "labels": ["b"]}',
        '{"features": {}, "labels": [], "name": "x"}',
        '{"features": {}}',
        HEADER,
    ],
)
def test_helpers_say_the_same_of_what_is_wrong(file, before, line):
    point = '{"features": {"2": 1, "0": 3}, "labels": [1, 1, 0]}\n'
    path = file(before + point + line + "\n" + point)
    assert_read_alike(path)
    assert_read_alike(path, labelled=False)


@given(datasets())
def test_rows_in_files_are_the_same(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "large.jsonl"
    write_jsonl(data, path)
    found = read_jsonl(path, map_from=0)
    assert_same(found, data)
    large = [array for array in (found.X.data, found.X.indices, found.Y.data, found.Y.indices) if array.size]
    assert mapped_bytes(*large) == sum(array.nbytes for array in large)


def test_rows_take_little_more_than_their_entries(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonlines_rows, "_MAX_WAITING", 2**10)
    wide = synthetic.make(1500, 500, 50, 100, 2)
    write_jsonl(wide, tmp_path / "data.jsonl")
    entries = 8 * (wide.X.nnz + wide.Y.nnz)
    for map_from, most in ((None, 1.7), (1000, 0.6)):
        tracemalloc.start()
        try:
            read_jsonl(tmp_path / "data.jsonl", map_from=map_from)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < most * entries


def test_a_repeated_key_is_found_in_a_long_line(file):
    many = ", ".join(f'"{number}": 1' for number in range(200_000))
    with pytest.raises(DataError, match="'199999' occurs twice"):
        read_jsonl(file(f'{{"features": {{{many}, "199999": 2}}, "labels": []}}'))


def test_a_repeated_key_is_not_looked_for_among_all_others():
    compared = 0

    class Key(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    keys = [Key(number) for number in range(2000)]
    with pytest.raises(ValueError, match="'1999' occurs twice"):
        _refuse_repeats([(key, 1) for key in (*keys, Key(1999))])
    assert compared < 10 * len(keys), "each with each would be two million"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["features", "labels", "1"]), inner),
    max_leaves=8,
)


@given(st.binary(max_size=40) | st.lists(json_values, max_size=3).map(lambda v: "\n".join(map(json.dumps, v)).encode()))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(content)
    for read in (read_jsonl, registry.load_text):
        with suppress(DataError):
            read(path)


def test_names_that_are_no_text_are_refused(file, tmp_path):
    path = file('{"features": {}, "labels": ["\\ud800"]}')
    with pytest.raises(DataError, match="not valid Unicode"):
        write_jsonl(read_jsonl(path), tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_texts(file):
    lines = '{"text": "a b", "labels": ["x", "y"], "id": 3}\n\n{"text": "", "subjects": []}\r\n'
    assert registry.load_text(file(lines)) == (["a b", ""], [["x", "y"], []])
    assert registry.load_text(file(gzip.compress(lines.encode()), "data.jsonl.gz"))[0] == ["a b", ""]
    other = file('{"title": "t", "tags": ["z"]}')
    (document,) = documents(other, Fields(text="title", labels=("tags",)))
    assert (document.text, document.labels) == ("t", ["z"])


def test_texts_are_read_one_at_a_time(file):
    found = documents(file('{"text": "a", "labels": []}\nnot JSON\n'))
    assert next(found)[:2] == ("a", [])
    with pytest.raises(DataError, match=r"data\.jsonl:2: "):
        next(found)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "cannot be read as JSON"),
        ("3", "is a JSON number"),
        ('{"labels": []}', "there is no 'text'"),
        ('{"text": null, "labels": []}', "'text' is a JSON null"),
        ('{"text": "a"}', "there is no 'labels' or 'subjects'"),
        ('{"text": "a", "labels": {"x": 1}}', "'labels' is a JSON object"),
        ('{"text": "a", "labels": ["x", true]}', "a label in 'labels' is a JSON boolean"),
        ('{"text": "a", "text": "b", "labels": []}', "'text' occurs twice"),
    ],
)
def test_texts_that_are_wrong(file, line, said):
    with pytest.raises(DataError, match=rf"data\.jsonl:3: .*{said}.*; "):
        registry.load_text(file('{"text": "a", "labels": []}\n\n' + line + "\n"))


@pytest.mark.real
def test_real_texts(real_data):
    texts, labels = registry.load_text(real_data("cooking-text") / "train.jsonl")
    assert len(texts) == 12404
    assert round(sum(map(len, labels)) / len(labels), 2) == 2.31
