"""The folder of results: sorted lines, whole files, and several writers at once."""

from __future__ import annotations

import json
import threading

import pytest

from experiment_helpers import record
from neartag.core.errors import DataError
from neartag.experiments.results_folder import read_records, write_record, write_records


def test_records_are_read_back_as_they_were_written(tmp_path):
    one = record(
        "t", "d", "m", 3, {"P@1": 1.5}, settings={"l2": 0.1}, versions={"python": "3"}, seconds=2.0, behaviour="ab"
    )
    other = record("t", "d", "m", 3, {}, options={"size": [1, 2]}, failed="no", bug=True)
    write_records(tmp_path, [one, other])
    assert read_records(tmp_path) == {one.cell: one, other.cell: other}


def test_there_is_one_sorted_line_per_cell_and_one_file_per_experiment(tmp_path):
    cells = [("t", "b", "m", 1), ("t", "b", "m", 0), ("t", "a", "n", 0), ("t", "a", "m", 10), ("t", "a", "m", 9)]
    for place, cell in enumerate([*cells, *cells[::-1], ("s", "a", "m", 0)]):
        write_record(tmp_path, record(*cell, {"place": place}))
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == ["s.jsonl", "t.jsonl"]
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    order = [(line["data"], line["method"], line["seed"]) for line in lines]
    assert order == [("a", "m", 9), ("a", "m", 10), ("a", "n", 0), ("b", "m", 0), ("b", "m", 1)]
    assert [line["measured"]["place"] for line in lines] == [5, 6, 7, 8, 9]


def test_writers_at_the_same_time_lose_nothing(tmp_path):
    def write(writer):
        for seed in range(12):
            write_record(tmp_path, record("t", "d", f"m{writer}", seed, {"P@1": seed}))

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(read_records(tmp_path)) == 48


@pytest.mark.parametrize("line", ["", "{}", "[]", '{"experiment": "t"}', "\x00", '{"experiment"'])
def test_a_damaged_line_is_named(tmp_path, line):
    write_record(tmp_path, record("t", "d", "m", 3, {}))
    with (tmp_path / "t.jsonl").open("a") as stream:
        stream.write(f"{line}\n")
    with pytest.raises(DataError, match=r"t\.jsonl"):
        read_records(tmp_path)
