"""Tables as people have them: each shape of docs/formats.md is understood, or refused with the option to give."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import sys
import warnings
from zipfile import ZipFile

import pytest

from neartag.core.errors import DataError, ParameterError
from neartag.data.documents import Fields, documents, holds_documents, resolve_fields

CORPUS_LABELS = ("bread", "cake", "soup", "storage", "baking time", "grill", "wine", "fish")
WORDS = ("dough", "oven", "knife", "salt", "crème", "brûlée", "fresh", "how", "long", "“really”", "it's", "jalapeño")
MARKS = (", ", "; ", " | ", ' "quoted" ', " ", " ", " ", ". ", "! ", "\t", "\n", " - ")


def make_corpus(chance: random.Random, n: int = 80, *, plain: bool = False) -> list[tuple[str, str, list[str]]]:
    """Return documents (id, text, labels), of which each text is another one."""
    corpus = []
    for number in range(n):
        words = [chance.choice(WORDS) for _ in range(chance.randint(2, 9))]
        marks = (" ",) if plain else MARKS
        text = f"{words[0]}{number}" + "".join(chance.choice(marks) + word for word in words)
        corpus.append((f"d{number}", text, sorted(chance.sample(CORPUS_LABELS, chance.randint(1, 3)))))
    return corpus


def found_in(path, fields=None) -> list[tuple[str, list[str]]]:
    return [(document.text, sorted(document.labels)) for document in documents(path, fields or Fields())]


def wanted_of(corpus) -> list[tuple[str, list[str]]]:
    return [(text, labels) for _, text, labels in corpus]


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="d.csv", encoding="utf-8"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write_file


PLAIN = "text,labels\nbake bread,food;oven\nride a bicycle,sport\n"
READ = [("bake bread", ["food", "oven"]), ("ride a bicycle", ["sport"])]


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (PLAIN, "utf-8"),
        (PLAIN.replace(";", "|").replace(",", ";"), "utf-8"),
        (PLAIN.replace(",", "\t"), "utf-8"),
        (PLAIN.replace(",", "|"), "utf-8"),
        ("sep=;\n" + PLAIN.replace(";", "|").replace(",", ";"), "utf-8"),
        (PLAIN.replace("\n", "\r\n"), "utf-8-sig"),
        (PLAIN, "utf-16"),
        (PLAIN, "utf-16-le"),
        ("'text','labels'\n'bake bread','food;oven'\n'ride a bicycle','sport'\n", "utf-8"),
        ("text,labels\n'bake bread','food;oven'\n'ride a bicycle','sport'\n", "utf-8"),
        ('text, labels\nbake bread, "food; oven"\nride a bicycle, sport\n', "utf-8"),
        ("text;labels\nbake bread;{food,oven}\nride a bicycle;{sport}\n", "utf-8"),
        ("text;labels\nbake bread;{'food', 'oven'}\nride a bicycle;{'sport'}\n", "utf-8"),
        ("text;labels\nbake bread;('food', 'oven')\nride a bicycle;('sport',)\n", "utf-8"),
        ("text;labels\nbake bread;['food' 'oven']\nride a bicycle;['sport']\n", "utf-8"),
        ("text,labels\nbake bread,\"['food', 'oven']\"\nride a bicycle,['sport']\n", "utf-8"),
        ('text;labels\nbake bread;["food", "oven"]\nride a bicycle;["sport"]\n', "utf-8"),
        ("text,labels\nbake bread,<food><oven>\nride a bicycle,<sport>\n", "utf-8"),
        ('text,labels\nbake bread,"food\noven"\nride a bicycle,sport\n', "utf-8"),
        ("text,food,oven,sport\nbake bread,1,1,0\nride a bicycle,0,0,1\n", "utf-8"),
        ("text,food,oven,sport\nbake bread,TRUE,TRUE,FALSE\nride a bicycle,FALSE,FALSE,TRUE\n", "utf-8"),
        ("id,text,labels\n1,bake bread,food\n2,ride a bicycle,sport\n1,bake bread,oven\n", "utf-8"),
        ("id,text,labels\n1,bake bread,food\n1,,oven\n2,ride a bicycle,sport\n", "utf-8"),
    ],
)
def test_understood(write, content, encoding):
    assert found_in(write(content, encoding=encoding)) == READ


def test_western_windows_files_are_read_and_others_refused(write):
    text = "text;labels\nDie Müllabfuhr – “spät”;Stadt\ncafé à la crème;Küche\n"
    path = write(text, encoding="cp1252")
    assert resolve_fields(path).encoding == "cp1252"
    assert found_in(path) == [("Die Müllabfuhr – “spät”", ["Stadt"]), ("café à la crème", ["Küche"])]
    for words, encoding in (
        ("привет мир", "cp1251"),
        ("żółta gęś", "cp1250"),
        ("příliš žluťoučký kůň", "cp1250"),
        ("őrült nő", "cp1250"),
        ("こんにちは", "shift_jis"),
        ("καλημέρα", "cp1253"),
        ("ğüzel şey", "cp1254"),
    ):
        path = write(f"text,labels\n{words},a\n", encoding=encoding)
        with pytest.raises(DataError, match=r"not UTF-8 .*--encoding"):
            found_in(path)
        assert found_in(path, Fields(encoding=encoding)) == [(words, ["a"])]


def test_a_comma_separates_labels_where_they_recur(write):
    cells = ["a,b", "b,c", "a,c", "a", "c,b,a"] * 3
    path = write("text,labels\n" + "".join(f'text {n},"{cell}"\n' for n, cell in enumerate(cells)))
    assert resolve_fields(path).separator == ","
    assert found_in(path)[4][1] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("content", "said", "settled"),
    [
        ('text,labels\na,"Paris, France"\nb,"Lyon, France"\n', "--separator", {"separator": "none"}),
        ("text,labels\na,x;y\nb,y|z\n", "--separator", {"separator": ";"}),
        ("text,labels\na,u v\nb,v w\nc,u w\nd,u\n", "--separator", {"separator": "space"}),
        ("text,labels\na,u/v\nb,v/w\nc,u/w\nd,u\n", "--separator.*'/', another one, or none", {"separator": "/"}),
        ("text,labels\na,u+v\nb,v+w\nc,u+w\nd,u\n", "--separator", {"separator": "none"}),
        ('text,labels\na,u;v\nb,"u,v"\nc,u;w\nd,"v,w"\n', "both ';' and ','.*--separator", {"separator": ";"}),
        ("text,labels\na,u;v\nb,u/v\nc,u;w\nd,v/w\n", "both ';' and '/'.*--separator", {"separator": ";"}),
        ('text,labels\na,"u,v"\nb,u+v\nc,"u,w"\nd,v+w\ne,"v,w"\n', "both ',' and '.'", {"separator": ","}),
        ("text,labels\na,0\nb,1\n", "--indicators", {"indicators": False}),
        ("text,labels\na,0\nb,1\n", "--no-indicators", {"indicators": True}),
        ("text,u,v,w\na,1,0,7\nb,0,1,8\n", "--label-field", {"labels": ("u", "v")}),
        ("text,tag_u,tag_v,w\na,1,0,7\nb,0,1,8\n", "--label-field 'tag_", {"labels": "tag_*"}),
        ("text,labels\na,x\na,y\nb,x\nb,z\n", "--label-per-row", {"label_per_row": True}),
        ("text,labels\na,x\na,y\nb,x\nb,z\n", "--document-per-row", {"label_per_row": False}),
        ("text,tags\na,x\n", "--label-field", {"labels": "tags"}),
        ("body,labels\na,x\n", "--text-field", {"text": "body"}),
        ('text\tlabels\n"a\tx\nb"\ty\n', "--quoting", {"quoting": "none"}),
        ("text,u,v\na,yes,no\nb,no,yes\n", "no column 'labels'", {"labels": ("u", "v"), "indicators": True}),
    ],
)
def test_refused_with_the_option_that_settles_it(write, content, said, settled):
    path = write(content, "d.tsv" if "\t" in content else "d.csv")
    with pytest.raises(DataError, match=said):
        found_in(path)
    assert found_in(path, Fields(**settled))


@pytest.mark.parametrize(
    "cells",
    [
        ["science/physics", "science/chemistry", "arts/music", "arts/dance", "science/physics"],
        ["a", "a/b", "a/b/c", "a/b/d", "a/e", "a/e/f", "a/e/g"],
        ["TCP/IP", "C++", "CI/CD", "I/O", "TCP/IP", "C++"],
        ["Paris, France; Lyon, France", "Nice, France", "Bonn, Germany", "Kiel, Germany; Nice, France"],
    ],
)
def test_names_that_hold_marks_stay_whole(write, cells):
    path = write("text,labels\n" + "".join(f'text {n},"{cell}"\n' for n, cell in enumerate(cells)))
    assert {name for _, names in found_in(path) for name in names} == {
        name.strip() for cell in cells for name in cell.split(";")
    }


def test_rows_with_ids_of_their_own_and_equal_texts_are_refused(write):
    path = write("id,text,labels\n1,a,x\n2,a,y\n3,b,x\n4,b,z\n")
    with pytest.raises(DataError, match="--id-field; otherwise give --document-per-row"):
        found_in(path)
    assert len(found_in(path, Fields(label_per_row=False))) == 4


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("[]", []),
        ("['']", []),
        ('["it\'s", "b"]', ["it's", "b"]),
        ("[1, 2]", ["1", "2"]),
        ("['a' 'b c']", ["a", "b c"]),
        ('{"a b",c}', ["a b", "c"]),
        ("[a, b]", ["a", "b"]),
        ("{'a': 1}", None),
        ('{"a": 1}', None),
        ("['a', ['b']]", None),
        ("['a', 'b' 'c']", None),
        ("[True]", None),
        ("['a", None),
        ("a", None),
    ],
)
def test_lists_in_cells(cell, labels):
    fields = Fields(separator="list")
    if labels is None:
        with pytest.raises(ValueError, match="the labels"):
            fields.split(cell)
    else:
        assert fields.split(cell) == labels


def test_backslashes_that_escape_nothing_are_kept(write):
    path = write('text,labels\n"\\alpha, C:\\new",x\n"a \\, b",y\n')
    assert found_in(path) == [("\\alpha, C:\\new", ["x"]), ("a \\, b", ["y"])]
    path = write('text,labels\na \\"b\\" c,x\n')
    with pytest.raises(DataError, match="--quoting"):
        found_in(path)
    assert found_in(path, Fields(quoting="backslash")) == [('a "b" c', ["x"])]
    assert found_in(path, Fields(quoting="double")) == [('a \\"b\\" c', ["x"])]


def test_a_way_of_quoting_that_is_given_is_looked_at_too(write):
    path = write('text,labels\n"a","x, y"\nb,"x, z"\n')
    with pytest.raises(DataError, match="--separator"):
        found_in(path, Fields(quoting="backslash"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_table_cannot_come_through_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match="save it as a file"):
        found_in(tmp_path / "pipe.csv")


def test_texts_to_tag_need_no_labels_that_can_be_read(write):
    path = write('text,labels\na,"Paris, France"\nb,0\n')
    assert [document.text for document in documents(path, labelled=False)] == ["a", "b"]


def test_what_the_options_give(write):
    path = write("text,labels\na,x\na,y\nb,x\nb,z\n")
    assert found_in(path, Fields(label_per_row=True)) == [("a", ["x", "y"]), ("b", ["x", "z"])]
    path = write("text,spam\na,0\nb,1\n")
    assert found_in(path, Fields(labels="spam", indicators=True)) == [("a", []), ("b", ["spam"])]
    path = write("title,body,labels\na,b,x\nc,,y\n")
    assert found_in(path, Fields(text=("title", "body"))) == [("a\nb", ["x"]), ("c", ["y"])]
    path = write('text\tlabels\na "quote\tx\n"b\ty\n', "d.tsv")
    assert found_in(path) == [('a "quote', ["x"]), ('"b', ["y"])]


def test_rows_of_one_id_with_different_texts_are_an_error(write):
    path = write("id,text,labels\n1,a,x\n1,a,y\n2,b,x\n2,c,z\n")
    with pytest.raises(DataError, match=r"d\.csv:5: the id '2' has another text"):
        found_in(path)


def test_settings_that_a_format_does_not_have(write):
    path = write('{"text": "a", "labels": []}', "d.jsonl")
    for name in ("delimiter", "quoting", "encoding", "sheet"):
        value = {"delimiter": ";", "quoting": "none", "encoding": "cp1252", "sheet": "a"}[name]
        with pytest.raises(ParameterError, match=f"{name}="):
            documents(path, Fields(**{name: value}))
    for wrong in ({"delimiter": ";;"}, {"quoting": "loud"}, {"encoding": "none"}, {"text": ()}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            Fields(**wrong)


def test_json_lines(write):
    lines = [{"text": "a", "labels": "x"}, {"text": "b", "labels": 3}, {"text": "c", "labels": [1, "y"]}]
    path = write("\n".join(map(json.dumps, lines)), "d.jsonl")
    assert found_in(path) == [("a", ["x"]), ("b", ["3"]), ("c", ["1", "y"])]
    path = write('{"text": "a", "u": 1, "v": 0}\n{"text": "b", "u": 0, "v": true}', "d.jsonl")
    with pytest.raises(DataError, match="--indicators"):
        found_in(path, Fields(labels=("u", "v")))
    path = write('{"text": "a", "u": 1, "v": 0}\n{"text": "b", "u": 0, "v": 1}', "d.jsonl")
    assert found_in(path, Fields(labels=("u", "v"))) == [("a", ["u"]), ("b", ["v"])]
    path = write('{"text": "a", "labels": "x, y"}', "d.jsonl")
    with pytest.raises(DataError, match="--separator"):
        found_in(path)
    path = write('{"title": "a", "body": "b", "labels": []}\n{"title": null, "body": "c", "labels": []}', "d.jsonl")
    assert found_in(path, Fields(text=("title", "body"))) == [("a\nb", []), ("c", [])]


def test_folders_of_classes(write, tmp_path):
    write("about", "set/README")
    write("one", "set/sport/1.txt")
    write("two", "set/sport/2.txt")
    write("three", "set/food/100")
    folder = tmp_path / "set"
    assert holds_documents(folder)
    read = list(documents(folder))
    assert [(d.text, d.labels, d.id) for d in read] == [
        ("three", ["food"], "food/100"),
        ("one", ["sport"], "sport/1"),
        ("two", ["sport"], "sport/2"),
    ]
    write(b"", "set/food/a.pdf")
    with pytest.raises(DataError, match=r"a\.pdf:1: is no text"):
        list(documents(folder))
    write("1 2 3\n", "sets/bibtex/train.txt")
    assert not holds_documents(tmp_path / "sets")
    write("one", "parts/train/sport.txt")
    with pytest.raises(DataError, match="look like parts"):
        list(documents(tmp_path / "parts"))


def test_parquet(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "d.parquet"
    for columns in (
        {"labels": ["food|oven", "sport"]},
        {"food": [1, 0], "oven": [1, 0], "sport": [0, 1]},
        {"food": [True, False], "oven": [True, False], "sport": [False, True]},
    ):
        parquet.write_table(pa.table({"text": [text for text, _ in READ], **columns}), path)
        assert found_in(path) == READ
    columns = {"text": ["bake bread", "ride a bicycle", "bake bread"], "labels": ["food", "sport", "oven"]}
    parquet.write_table(pa.table({"id": [1, 2, 1], **columns}), path)
    assert found_in(path) == READ
    parquet.write_table(pa.table({"text": ["a", "b"], "labels": ["x, y", "z"]}), path)
    with pytest.raises(DataError, match="--separator"):
        found_in(path)


class TestExcel:
    def book(self, path, *sheets):
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        book.remove(book.active)
        for number, rows in enumerate(sheets):
            sheet = book.create_sheet(f"sheet {number}")
            for row in rows:
                sheet.append(row)
        book.save(path)
        return path

    def test_shapes(self, tmp_path):
        header, *rows = list(csv.reader(io.StringIO(PLAIN)))
        path = self.book(tmp_path / "d.xlsx", [header, [], *rows], [])
        assert found_in(path) == READ
        assert [document.place for document in documents(path)] == [f"{path}:3", f"{path}:4"]
        flags = [["text", "food", "oven", "sport"], ["bake bread", 1, 1, 0], ["ride a bicycle", None, 0, 1]]
        assert found_in(self.book(tmp_path / "d.xlsx", flags)) == READ
        pieces = [["id", "text", "labels"], [1, "bake bread", "food"], [1, "bake bread", "oven"]]
        assert found_in(self.book(tmp_path / "d.xlsx", [*pieces, [2, "ride a bicycle", "sport"]])) == READ

    def test_sheets(self, tmp_path):
        header, *rows = list(csv.reader(io.StringIO(PLAIN)))
        path = self.book(tmp_path / "d.xlsx", [["a"], ["b"]], [header, *rows])
        with pytest.raises(DataError, match="--sheet"):
            found_in(path)
        assert found_in(path, Fields(sheet="sheet 1")) == READ
        with pytest.raises(DataError, match="its sheets are 'sheet 0', 'sheet 1'"):
            found_in(path, Fields(sheet="x"))

    def test_formulas_without_a_saved_value_are_told(self, tmp_path):
        rows = [["text", "labels", "n"], ['="bake"&" bread"', "food", "=1+1"], ["ride", "sport", 2]]
        path = self.book(tmp_path / "d.xlsx", [["text", "labels"]], rows)  # openpyxl saves no values, as Excel does
        with pytest.warns(
            UserWarning, match=r"d\.xlsx: the formula of cell A2 has no saved value, and those of 1 more"
        ):
            resolve_fields(path, Fields(sheet="sheet 1"))
        saved = tmp_path / "saved.xlsx"
        with ZipFile(path) as source, ZipFile(saved, "w") as target:
            for name in source.namelist():
                content = (
                    source.read(name).replace(b"</f><v></v>", b"</f><v>1</v>").replace(b"</f><v />", b"</f><v>1</v>")
                )
                target.writestr(name, content.replace(b"</f><v/>", b"</f><v>1</v>"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert found_in(saved, Fields(sheet="sheet 1"))[0][0] == "1"

    def test_faults(self, tmp_path, write, monkeypatch):
        pytest.importorskip("openpyxl")
        with pytest.raises(DataError, match="no Excel file"):
            found_in(write("text", "d.xlsx"))
        path = self.book(tmp_path / "e.xlsx", [["text", "labels"], ["a", "x", "more"], ["b", "y"]])
        with pytest.raises(DataError, match=r"e\.xlsx:2: there are cells to the right"):
            found_in(path)
        monkeypatch.setitem(sys.modules, "openpyxl", None)
        with pytest.raises(DataError, match=r'pip install "neartag\[excel\]"'):
            found_in(path)


def join_labels(labels, separator):
    """Return the labels as one cell; "mixed": by another separator in each row."""
    if separator == "<>":
        return "".join(f"<{name}>" for name in labels)
    if separator == "{}":
        return "{" + ",".join(labels) + "}"
    if separator == "mixed":
        return ";,/+"[len("".join(labels)) % 4].join(labels)
    return str(labels) if separator == "[]" else separator.join(labels)


def spreadsheet(chance: random.Random, corpus, path):
    """Write the corpus in a random dialect; return the fields that must be named, and the corpus as it was written."""
    delimiter = chance.choice(",;\t|")
    quoting = chance.choice(["double", "double", "all", "backslash", "single"])
    encoding = chance.choice(["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
    layout = chance.choice(["cell"] * 5 + ["columns", "rows", "rows without ids", "numbered rows", "several"])
    text, label, identity = chance.choice([("text", "labels", "id"), ("Body", "Tags", "key")])
    named = {} if text == "text" else {"text": text, "labels": label, "id": identity}
    others = [name for name in ("year", "author") if chance.random() < 0.5 and layout != "columns"]
    separator = chance.choice([";", ",", "|", "\n", ", ", "; ", "<>", "[]", "{}", " ", "/", "+", "mixed"])
    if separator == " ":
        corpus = [(key, body, sorted(name.replace(" ", "-") for name in labels)) for key, body, labels in corpus]
    known = sorted({name for _, _, labels in corpus for name in labels})

    if layout == "columns":
        header = [identity, text, *known]
        rows = [[key, body, *("1" if name in labels else "0" for name in known)] for key, body, labels in corpus]
        named.pop("labels", None)
    elif layout.startswith("rows"):
        header = [identity, text, label]
        rows = [[key, body, name] for key, body, labels in corpus for name in labels or [""]]
        if chance.random() < 0.3:
            firsts = {row[0]: place for place, row in reversed([*enumerate(rows)])}
            rest = [row for place, row in enumerate(rows) if firsts[row[0]] != place]
            chance.shuffle(rest)
            rows = [rows[place] for place in sorted(firsts.values())] + rest
    elif layout == "numbered rows":
        header = [identity, text, label]
        pairs = [(body, name) for _, body, labels in corpus for name in labels or [""]]
        rows = [[f"r{number}", *pair] for number, pair in enumerate(pairs)]
    elif layout == "several":
        header = [identity, text, "l1", "l2", "l3"]
        rows = [[key, body, *labels, *[""] * (3 - len(labels))] for key, body, labels in corpus]
        named["labels"] = "l?"
    else:
        header = [identity, text, label]
        rows = [[key, body, join_labels(labels, separator)] for key, body, labels in corpus]
    header, rows = [*header, *others], [[*row, *("2001" for _ in others)] for row in rows]
    order = chance.sample(range(len(header)), len(header))
    if layout == "rows without ids":
        order.remove(0)
        named.pop("id", None)
    how = {
        "double": {},
        "all": {"quoting": csv.QUOTE_ALL},
        "backslash": {"doublequote": False, "escapechar": "\\"},
        "single": {"quotechar": "'"},
    }[quoting]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator=chance.choice(["\n", "\r\n"]), **how)
    for row in [header, *rows]:
        writer.writerow([row[place] for place in order])
    hint = f"sep={delimiter}\n" if chance.random() < 0.1 else ""
    path.write_bytes((hint + stream.getvalue()).encode(encoding))
    return Fields(**named), corpus


@pytest.mark.parametrize("block", range(4))
def test_200_dialects_give_the_same_documents_or_an_error(tmp_path, block):
    understood = refused = 0  # the latter: what nobody could tell
    for seed in range(50 * block, 50 * block + 50):
        chance = random.Random(seed)
        corpus = make_corpus(chance, 24)
        path = tmp_path / chance.choice(["d.csv", "d.csv", "d.tsv"])
        if chance.random() < 0.2:
            corpus += [(f"e{number}", f"without a label {number}", []) for number in range(3)]
        fields, corpus = spreadsheet(chance, corpus, path)
        try:
            found = found_in(path, fields)
        except DataError as error:
            assert "--" in str(error), f"{seed}: {error}"  # noqa: PT017
            refused += any(said in str(error) for said in ("a slash may", "a plus may", "stand between labels"))
            continue
        understood += 1
        assert sorted(found) == sorted(wanted_of(corpus)), f"dialect {seed}"
    assert understood + refused >= 30
    assert understood >= 0.6 * (50 - refused), "of those that can be told as many as before others were among them"
