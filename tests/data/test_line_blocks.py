"""Blocks of whole lines: together they are the lines of the file, with the same numbers and the same errors."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neartag.core.errors import DataError
from neartag.data.files import read_lines
from neartag.data.line_blocks import read_line_blocks, split_lines
from neartag.data.read_limits import hold_limits

lines = st.lists(st.sampled_from([b"", b"\r", b"a", b"ab\r", b"\r\r", b"a longer line", b"\xff\0"]), max_size=12)


def by_blocks(path, size):
    for first, content in read_line_blocks(path, size):
        yield from split_lines(first, content)


def until_error(read):
    """Return what comes before an error, and the error's text."""
    found = []
    try:
        for each in read:
            found.append(each)
    except DataError as error:
        return found, str(error)
    return found, None


@given(lines, st.booleans(), st.integers(1, 30), st.sampled_from([None, "1", "2", "5", "14", "15"]))
def test_are_the_lines(tmp_path_factory, content, is_open, size, longest):
    path = tmp_path_factory.getbasetemp() / "lines.txt"
    path.write_bytes(b"\n".join(content) + (b"" if is_open else b"\n"))
    with hold_limits({"max_line": longest}):
        assert until_error(by_blocks(path, size)) == until_error(read_lines(path))


@pytest.mark.parametrize("size", [1000, 10**5, 10**6])
def test_what_stands_before_the_cut_of_a_file_is_read(tmp_path, size):
    path = tmp_path / "lines.txt.gz"
    whole = gzip.compress(b"".join(b"%d %d\n" % (number, number**5) for number in range(200_000)))
    path.write_bytes(whole[: len(whole) * 3 // 4])
    found, error = until_error(by_blocks(path, size))
    wanted, said = until_error(read_lines(path))
    assert "cut short" in error
    assert error == said
    assert len(wanted) > 50_000
    assert found == wanted


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="there is no such file"):
        list(read_line_blocks(tmp_path / "absent.txt"))
