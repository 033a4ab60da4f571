"""Tables of very many columns: the work grows with the columns, and not with their square."""

from __future__ import annotations

from neartag.data.documents import documents


class Counted(str):
    """A name that counts how often it is compared; equal names of a dictionary are the same object, and are not."""

    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_columns_of_0_and_1_are_found_without_comparing_each_name_with_all(tmp_path, monkeypatch):
    count = 3000
    table = tmp_path / "wide.csv"
    names = [f"l{number}" for number in range(count)]
    rows = [",".join(["some text", *("01"[(place + row) % 7 == 0] for place in range(count))]) for row in range(3)]
    table.write_text("\n".join([",".join(["text", *names]), *rows]))
    from neartag.data.documents import tables

    real = tables.find_columns
    monkeypatch.setattr(
        tables, "find_columns", lambda path, header, *others: real(path, [*map(Counted, header)], *others)
    )
    read = list(documents(table))
    assert [len(each.labels) for each in read] == [429, 428, 428]
    assert read[0].labels[:2] == ["l0", "l7"]
    assert Counted.compared < 20 * count
