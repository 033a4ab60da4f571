"""Documents that helper processes parse: the same ones in the same order, and the same errors, as of one process."""

from __future__ import annotations

import gzip
import json
import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neartag.core.errors import DataError
from neartag.core.processes import Helpers, offer_processes
from neartag.data import line_blocks
from neartag.data.documents import BadLines, Fields, documents, parquet
from neartag.data.read_limits import hold_limits
from process_helpers import inline_helpers

LINES = [
    b'{"text": "a", "labels": ["x", "y"], "id": "1", "v": [1, 2]}',
    b'{"text": "\xc3\xa9", "labels": [], "v": [0.5, 3]}\r',
    b"",
    b"no JSON",
    b'{"text": 3, "labels": []}',
    b'{"text": "b", "labels": "x;z", "id": 7, "v": [1]}',
    b'\xef\xbb\xbf{"text": "c", "labels": ["x"]}',
    b'{"text": "' + b"long " * 30 + b'", "labels": ["y"], "v": [1, 1]}',
]


def read(path, fields, **options):
    """Return the documents before an error, the error's text, and what was skipped."""
    found, bad = [], options.get("bad")
    try:
        for document in documents(path, fields, **options):
            vector = None if document.vector is None else document.vector.tolist()
            found.append((*document._replace(vector=None), vector))
    except DataError as error:
        return found, str(error), bad
    return found, None, bad


def assert_read_alike(path, fields):
    for skips in (False, True):
        for labelled in (True, False):
            wanted = read(path, fields, labelled=labelled, bad=BadLines() if skips else None)
            with inline_helpers(2) as executor:
                assert read(path, fields, labelled=labelled, bad=BadLines() if skips else None) == wanted
                assert executor.calls or wanted[1], "somebody must have helped, unless nothing can be read"


@given(
    st.lists(st.sampled_from(LINES), min_size=1, max_size=12),
    st.integers(1, 300),
    st.sampled_from([None, "v"]),
    st.sampled_from([None, "60"]),
)
def test_json_lines(tmp_path_factory, lines, size, vector, longest):
    path = tmp_path_factory.getbasetemp() / "helped.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.MonkeyPatch.context() as patch, hold_limits({"max_line": longest}):
        patch.setattr(line_blocks, "BLOCK_BYTES", size)
        patch.setattr("neartag.data.documents.jsonlines._SAMPLE_BYTES", 0)  # settling a file reads it before
        assert_read_alike(path, Fields(separator=";", vector=vector))


def test_compressed_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(line_blocks, "BLOCK_BYTES", 50)
    path = tmp_path / "data.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n".join(LINES)))
    assert_read_alike(path, Fields(separator=";"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes")
def test_a_pipe_brings_one_line_after_the_other(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    go_on = threading.Event()

    def write():
        with open(tmp_path / "pipe.jsonl", "wb", buffering=0) as pipe:
            for number in range(2):
                pipe.write(json.dumps({"text": f"t{number}", "labels": []}).encode() + b"\n")
                go_on.wait(30)

    writer = threading.Thread(target=write)
    writer.start()
    with inline_helpers(2):
        found = documents(tmp_path / "pipe.jsonl")
        assert next(found).text == "t0"  # though the writer waits for us
        go_on.set()
        assert [document.text for document in found] == ["t1"]
    writer.join()


@pytest.mark.parametrize("group", [3, 100])
@pytest.mark.parametrize("batch", [2, 256])
def test_parquet(tmp_path, monkeypatch, group, batch):
    pa, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(parquet, "_BATCH_ROWS", batch)
    monkeypatch.setattr(parquet, "_BLOCK_ROWS", 4)
    n = 20
    columns = {
        "other": list(range(n)),
        "labels": [None if row == 7 else [f"l{row % 3}"] * (row % 4) for row in range(n)],
        "id": pa.array([None if row == 3 else f"d{row % 5}" for row in range(n)]).dictionary_encode(),
        "text": [None if row == 11 else f"text {row} é" * (row % 3) for row in range(n)],
        "v": [[1.0, row] if row != 13 else [2.0] for row in range(n)],
    }
    path = tmp_path / "data.parquet"
    writer.write_table(pa.table(columns), path, row_group_size=group)
    assert_read_alike(path, Fields())
    assert_read_alike(path, Fields(vector="v"))


def test_what_goes_to_a_helper_is_no_more_than_the_rows(tmp_path, monkeypatch):
    pa, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(parquet, "_BATCH_ROWS", 10)
    monkeypatch.setattr(parquet, "_BLOCK_ROWS", 10)
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("abcd"), 1000)) for _ in range(200)]
    writer.write_table(pa.table({"text": texts, "labels": [["x"]] * 200}), tmp_path / "data.parquet")
    sent = []
    parse = parquet.parse_block

    def note(*arguments):
        sent.append(len(arguments[-1]))
        return parse(*arguments)

    monkeypatch.setattr(parquet, "parse_block", note)
    assert len(list(documents(tmp_path / "data.parquet"))) == 200
    with offer_processes(Helpers(1, lambda: pytest.fail("so few rows need no help"))):
        assert [document.text for document in documents(tmp_path / "data.parquet")] == texts
    assert len(sent) == 20
    assert max(sent) < 15_000
