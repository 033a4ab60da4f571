"""Tables in and out: the user's own columns and rows, with labels, scores and found added, in every format."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shlex
import signal
import sys
import time

import pytest

from cli_helpers import fail, invoke, start, succeed
from neartag import TextTagger, X1Classifier

TEXTS = ["bake bread with yeast", "ride a bicycle", "bread and butter", "the wheel of a bicycle", "prune the roses"]
LABELS = [["kitchen", "a, b"], ["cycling"], ["kitchen", "a, b"], ["cycling"], ["=garden"]]
AWKWARD = ["=1+1", "-3", 'a "quoted", cell', "two\nlines", "", "Ünïcödé", "@home", "01", "+x", " spaced "]
ROWS = [[str(n), f"bread {n}" if n % 3 else "zzzz", AWKWARD[n % 10]] for n in range(25)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables") / "model"
    classifier = X1Classifier(embedding_dim=2, vote_neighbours=2, refine=False, n_jobs=1)
    TextTagger("words", classifier, calibration=None).fit(TEXTS, LABELS).save(folder)
    return folder


def write_csv(path, rows=ROWS, header=("nr", "text", "note"), **dialect):
    encoding = dialect.pop("encoding", "utf-8")
    with open(path, "w", newline="", encoding=encoding) as stream:
        csv.writer(stream, **dialect).writerows([list(header), *rows])
    return path


def read_csv(path, **dialect):
    encoding = dialect.pop("encoding", "utf-8")
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="", encoding=encoding) as stream:
        return list(csv.reader(stream, **dialect))


def check(header, rows, added=("labels", "scores", "found")):
    assert header == ["nr", "text", "note", *added]
    assert [row[:3] for row in rows] == ROWS
    for row in rows:
        if row[1] == "zzzz":
            assert row[3:] == ["", "", "false"]
        else:
            assert {"kitchen", "a, b"} <= set(row[3].split(";"))
            assert len(row[4].split(";")) == len(row[3].split(";"))
            assert all(0 < float(score) <= 1 for score in row[4].split(";"))
            assert row[5] == "true"


def test_csv_comes_back_with_every_column_and_row(model, tmp_path):
    source = write_csv(tmp_path / "docs.csv")
    report = json.loads(succeed("tag", model, source, "-o", tmp_path / "out.csv", "--json"))
    header, *rows = read_csv(tmp_path / "out.csv")
    check(header, rows)
    assert (report["rows"], report["not_found"], report["with_labels"]) == (25, 9, 16)
    shown = succeed("tag", model, source, "-o", tmp_path / "out.tsv.gz")
    assert "9 rows, where found is false" in shown
    header, *rows = read_csv(tmp_path / "out.tsv.gz", delimiter="\t")
    check(header, rows)


def test_what_to_do_next_can_be_typed_as_it_stands(model, tmp_path):
    source = write_csv(tmp_path / "docs.csv", header=("nr", "a text", "note"))
    told = invoke("tag", model, source, "-o", tmp_path / "out.csv", "--text-field", "a text").stderr
    assert "next: --threshold 0.5  writes only labels that are more probably right" in told
    (line,) = [line for line in told.splitlines() if line.startswith("next: neartag review")]
    command = shlex.split(line.removeprefix("next: ").split("  ")[0])
    assert command[-2:] == ["--text-field", "a text"]
    succeed(*command[1:])
    told = invoke("tag", model, source, "-o", tmp_path / "o.csv", "--text-field", "a text", "--threshold", "0.5").stderr
    assert "--threshold" not in told


def test_the_answers_are_those_of_single_texts(model, tmp_path):
    source = write_csv(tmp_path / "docs.csv")
    succeed("tag", model, source, "-o", tmp_path / "out.jsonl", "-k", "2", "--threshold", "0.4", "--fallback", "-q")
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    answers = TextTagger.load(model).predict([row[1] for row in ROWS], 2, 0.4, fallback=True)
    for record, row, tags in zip(records, ROWS, answers, strict=True):
        assert [record["nr"], record["text"], record["note"]] == row
        assert record["labels"] == [tag.label for tag in tags]
        assert record["scores"] == pytest.approx([tag.score for tag in tags], abs=1e-4)
        assert record["found"] is tags.found
        assert tags.found or record["scores"] == [0, 0], "the most frequent labels have no probability"


def test_json_lines_keep_their_types_and_their_own_names(model, tmp_path):
    records = [
        {"text": "bread", "n": 3, "nested": {"a": [1, 2.5, None]}, "odd": "\ud800"},
        {"text": "zzzz", "late": True},
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    succeed("tag", model, tmp_path / "docs.jsonl", "-o", tmp_path / "out.jsonl")
    tagged = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [{name: each[name] for name in record} for each, record in zip(tagged, records, strict=True)] == records
    assert tagged[1] == {**records[1], "labels": [], "scores": [], "found": False}
    succeed("tag", model, tmp_path / "docs.jsonl", "-o", tmp_path / "out.csv")
    header, first, second = read_csv(tmp_path / "out.csv")
    assert header[:5] == ["text", "n", "nested", "odd", "late"]
    assert first[1:3] == ["3", '{"a": [1, 2.5, null]}']
    assert second[:5] == ["zzzz", "", "", "", "true"]


def test_excel_keeps_types_and_makes_no_formulas(model, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    from datetime import datetime

    book = openpyxl.Workbook()
    when = datetime(2024, 5, 17, 8, 30)
    for row in (["text", "when", "count", "note"], ["bread", when, 7, "plain"], ["the roses", None, 2.5, ""]):
        book.active.append(row)
    book.save(tmp_path / "docs.xlsx")
    succeed("tag", model, tmp_path / "docs.xlsx", "-o", tmp_path / "out.xlsx", "-k", "1")
    header, first, second = openpyxl.load_workbook(tmp_path / "out.xlsx").active.iter_rows(values_only=True)
    assert header == ("text", "when", "count", "note", "labels", "scores", "found")
    assert first[:4] == ("bread", when, 7, "plain")
    assert second[:4] == ("the roses", None, 2.5, None)
    assert second[4::2] == ("=garden", True)
    assert float(second[5]) > 0.9
    succeed("tag", model, write_csv(tmp_path / "docs.csv"), "-o", tmp_path / "all.xlsx")
    cells = [row for row in openpyxl.load_workbook(tmp_path / "all.xlsx").active.iter_rows(min_row=2)]
    assert [row[2].value or "" for row in cells] == [row[2] for row in ROWS]
    assert all(cell.data_type != "f" for row in cells for cell in row)


def test_what_excel_cannot_hold_is_told(model, tmp_path):
    pytest.importorskip("openpyxl")
    for cell, words in (("x" * 40_000, "40,000 characters"), ("a\x07b", "control character")):
        source = write_csv(tmp_path / "docs.csv", [["1", "bread", cell]])
        assert words in fail("tag", model, source, "-o", tmp_path / "out.xlsx", "-q")
        assert not (tmp_path / "out.xlsx").exists()


def test_what_a_format_cannot_hold_is_told_before_anything_is_replaced(model, tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    source = write_csv(tmp_path / "docs.csv", header=("nr", "text", "nr"))
    monkeypatch.setattr("neartag.data.documents.excel_writer.MAX_ROWS", 10)
    assert "holds 10 rows at most: write CSV" in fail("tag", model, source, "-o", tmp_path / "out.xlsx", "-q")
    told = fail("tag", model, source, "-o", tmp_path / "out.jsonl", "-q")
    assert "cannot have two columns of one name, 'nr'" in told
    assert [path.name for path in tmp_path.iterdir()] == ["docs.csv"]
    succeed("tag", model, source, "-o", tmp_path / "out.csv")
    assert read_csv(tmp_path / "out.csv")[0][:3] == ["nr", "text", "nr"]


def test_parquet_keeps_its_types(model, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table(
        {
            "text": ["bread", "zzzz", "a bicycle"],
            "n": pyarrow.array([1, None, 3], pyarrow.int16()),
            "when": pyarrow.array([1, 2, 3], pyarrow.timestamp("ns")),
            "list": [["a"], [], None],
        }
    )
    parquet.write_table(table, tmp_path / "docs.parquet")
    succeed("tag", model, tmp_path / "docs.parquet", "-o", tmp_path / "out.parquet")
    tagged = parquet.read_table(tmp_path / "out.parquet")
    assert tagged.select(table.column_names).equals(table)
    assert tagged["found"].to_pylist() == [True, False, True]
    assert tagged["labels"].to_pylist()[1] == []
    assert "cycling" in tagged["labels"].to_pylist()[2]
    succeed("tag", model, write_csv(tmp_path / "docs.csv"), "-o", tmp_path / "all.parquet")
    assert parquet.read_table(tmp_path / "all.parquet")["note"].to_pylist() == [row[2] for row in ROWS]


def test_a_table_of_european_excel_stays_one(model, tmp_path):
    source = write_csv(tmp_path / "docs.csv", delimiter=";", encoding="cp1252")
    succeed("tag", model, source, "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes().startswith(b"\xef\xbb\xbf"), "Excel would take it for cp1252"
    _, *rows = read_csv(tmp_path / "out.csv", delimiter=";", encoding="utf-8-sig")
    assert [row[:3] for row in rows] == ROWS
    assert "|" in rows[1][3], "a label separator that does not separate cells"


def test_documents_without_a_table_and_lines_of_input(model, tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "one.txt").write_text("bread")
    succeed("tag", model, tmp_path / "texts", "-o", tmp_path / "out.csv")
    assert read_csv(tmp_path / "out.csv")[1][:2] == ["one", "bread"]
    succeed("tag", model, "-", "-o", tmp_path / "lines.csv", input="bread\nzzzz\n")
    assert [row[0] for row in read_csv(tmp_path / "lines.csv")] == ["text", "bread", "zzzz"]


def test_columns_of_the_same_name_need_a_prefix(model, tmp_path):
    source = write_csv(tmp_path / "docs.csv", header=("labels", "text", "found"))
    told = fail("tag", model, source, "-o", tmp_path / "out.csv", "-q")
    assert "columns 'labels', 'found' already: give --prefix" in told
    succeed("tag", model, source, "-o", tmp_path / "out.csv", "--prefix", "new_")
    assert read_csv(tmp_path / "out.csv")[0][3:] == ["new_labels", "new_scores", "new_found"]
    (tmp_path / "docs.jsonl").write_text('{"text": "a"}\n{"text": "b", "scores": 1}\n')
    assert "docs.jsonl:2 has a column 'scores'" in fail(
        "tag", model, tmp_path / "docs.jsonl", "-o", tmp_path / "out.jsonl", "-q"
    )


@pytest.mark.parametrize("option", ["--label-field=note", "--indicators", "--label-per-row"])
def test_where_labels_are_is_not_asked_for(model, tmp_path, option):
    source = write_csv(tmp_path / "docs.csv")
    told = fail("tag", model, source, "-o", tmp_path / "out.csv", option)
    assert told == f"error: {option.partition('=')[0]} says how labels are read, and tag reads none: leave it out\n"


def test_the_separator_is_one_that_no_label_holds(model, tmp_path):
    source = write_csv(tmp_path / "docs.csv")
    told = fail("tag", model, source, "-o", tmp_path / "out.csv", "--separator", ",", "-q")
    assert "1 labels hold it, such as 'a, b'" in told
    succeed("tag", model, source, "-o", tmp_path / "out.csv", "--separator", "list")
    assert "a, b" in json.loads(read_csv(tmp_path / "out.csv")[2][3])


def test_labels_like_formulas_are_kept_and_told(model, tmp_path):
    done = invoke("tag", model, write_csv(tmp_path / "docs.csv"), "-o", tmp_path / "out.csv")
    assert "1 labels of the model begin as formulas do, such as '=garden'" in done.stderr


def test_a_file_is_replaced_only_when_asked_for(model, tmp_path):
    source, target = write_csv(tmp_path / "docs.csv"), tmp_path / "out.csv"
    target.write_text("mine")
    assert "give --overwrite" in fail("tag", model, source, "-o", target)
    assert "would replace a file that is read" in fail("tag", model, source, "-o", source, "--overwrite")
    assert "would replace a file that is read" in fail("tag", model, source, "-o", model / "x.csv")
    assert "there is no folder" in fail("tag", model, source, "-o", tmp_path / "none" / "x.csv")
    assert "its ending does not say" in fail("tag", model, source, "-o", tmp_path / "out.doc")
    write_csv(tmp_path / "bad.csv", [["1", "bread", "x"], ["2", "bread"]])
    assert "bad.csv:3: there are 2 cells" in fail("tag", model, tmp_path / "bad.csv", "-o", target, "--overwrite", "-q")
    assert target.read_text() == "mine"
    succeed("tag", model, tmp_path / "bad.csv", "-o", target, "--overwrite", "--skip-bad")
    assert len(read_csv(target)) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "docs.csv", "out.csv"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes with names")
@pytest.mark.parametrize("ended_by", ["SIGKILL", "SIGTERM"])
def test_a_kill_in_the_middle_leaves_the_old_file(model, tmp_path, ended_by):
    os.mkfifo(tmp_path / "docs.jsonl")
    target = tmp_path / "out.jsonl"
    target.write_text("old")
    run = start("tag", model, tmp_path / "docs.jsonl", "--format", "jsonl", "-o", target, "--overwrite")
    with open(tmp_path / "docs.jsonl", "w") as pipe:
        pipe.write('{"text": "bread"}\n' * 20_000)
        pipe.flush()
        until = time.monotonic() + 120
        while not [path for path in tmp_path.glob(".out.jsonl.*") if path.stat().st_size]:
            assert run.poll() is None, run.stderr.read()
            assert time.monotonic() < until
            time.sleep(0.02)
        run.send_signal(getattr(signal, ended_by))
        _, told = run.communicate()
    assert target.read_text() == "old"
    if ended_by == "SIGTERM":
        assert run.returncode == 143
        assert told.splitlines()[-1] == "terminated"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl", "out.jsonl"]


def test_a_path_where_a_text_was_meant_is_recognised(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "docs.csv")
    (tmp_path / "bread").mkdir()
    for command in ("tag", "explain"):
        assert "docs.csv is a file, and tag takes texts" in fail(command, model, "docs.csv")
        assert "absent.csv looks like a file, but there is none" in fail(command, model, "absent.csv")
        assert "./bread is a folder" in fail(command, model, "./bread")
    succeed("tag", model, "bread")
    succeed("tag", model, "is bread better than docs.csv")
    succeed("tag", model, "-", input="docs.csv bread\n")


def test_a_text_where_a_path_was_meant_is_recognised(model, tmp_path):
    told = fail("tag", model, "fresh bread", "-o", tmp_path / "out.csv")
    assert "there is no file 'fresh bread'" in told
    assert "leave -o out" in told
    assert "no such file" in fail("tag", model, tmp_path / "absent.csv", "-o", tmp_path / "out.csv")
    assert "neartag tag" in fail("predict", model, "fresh bread")
    assert "one table" in fail("tag", model, "a.csv", "b.csv", "-o", tmp_path / "out.csv")


def test_a_text_that_nothing_is_known_of_says_so(model):
    done = invoke("tag", model, "zzzz")
    assert done.exit_code == 3
    assert "no label: the model knows nothing of this text" in done.stdout
    assert "--fallback" in done.stderr
    done = invoke("tag", model, "zzzz", "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout) == {"text": "zzzz", "labels": [], "found": False}
    assert done.stderr == ""
    done = invoke("tag", model, "zzzz", "--fallback")
    assert done.exit_code == 0
    assert "%" not in done.stdout
    assert "cycling" in done.stdout
    assert invoke("tag", model, "zzzz", "qqqq").stdout.count("knows nothing") == 2
    assert invoke("explain", model, "zzzz").exit_code == 3
    done = invoke("tag", model, "bread", "--threshold", "1.0", "--only", "cycling")
    assert (done.exit_code, done.stdout) == (0, "  no label\n"), "known, but not with this label"
    lines = succeed("predict", model, "-", "--json", input="zzzz\nbread\n").splitlines()
    assert [json.loads(line)["found"] for line in lines] == [False, True]
    assert succeed("predict", model, "-", input="zzzz\n") == "\n"


@pytest.mark.parametrize("command", ["train", "tag", "evaluate", "tune", "compare"])
def test_help_has_panels_with_everyday_options_first(command):
    shown = succeed(command, "--help")
    titles = ["Everyday options:", "Data:", *(["Features:"] if command in ("train", "compare") else []), "Method:"]
    places = [shown.index(f"\n{title}") for title in titles]
    assert places == sorted(places)
    assert places[0] < shown.index("--text-field") < places[1] < shown.index("--delimiter")


def test_small_commands_have_one_panel():
    assert "\nOptions:" in succeed("convert", "--help")


def test_inspect_leads_with_what_a_user_wants(model):
    shown = succeed("inspect", model)
    assert [line.split("  ")[0] for line in shown.splitlines()[:6]] == [
        *("model", "learned from", "takes", "how good", "written", "size")
    ]
    assert "5 documents with 4 labels" in shown
    assert "vote_neighbours" not in shown
    assert "vote_neighbours" in succeed("inspect", model, "--all")


def test_commands_end_with_what_to_do_next(model, tmp_path):
    (tmp_path / "docs.jsonl").write_text(
        "".join(json.dumps({"text": text, "labels": labels}) + "\n" for text, labels in zip(TEXTS, LABELS, strict=True))
    )
    train = ("train", tmp_path / "docs.jsonl", tmp_path / "m", "--no-refine", "--features", "words", "--n-jobs", "1")
    assert invoke(*train).stderr.splitlines()[-1] == f'next: neartag tag {tmp_path / "m"} "a text"  gives its labels'
    assert "next:" not in invoke(*train, "--overwrite", "-q").stderr
    assert "next: neartag evaluate" in invoke("evaluate", model, tmp_path / "docs.jsonl").stderr
    assert "next:" not in invoke("evaluate", model, tmp_path / "docs.jsonl", "--json").stderr
    assert "next: neartag explain" in invoke("tag", model, "bread").stderr
