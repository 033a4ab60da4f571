"""Files sent to the server, which come back with added columns; reviews of texts, files and the model's labels."""

from __future__ import annotations

import csv
import io
import json
import re
import time
import zipfile
from urllib.parse import unquote

import pytest

pytest.importorskip("fastapi")

from neartag.data.documents import Document
from neartag.data.documents.whole_rows import Chunk
from neartag.serve import schemas, uploads
from neartag.serve.errors import Refusal
from neartag.serve.settings import Settings
from serve_helpers import Client, corpus, error_of, train

FILE = {"Content-Type": "application/octet-stream"}
TEXTS = ["a chess playing program", "library for fonts; shared", "zzyzx"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("files") / "model"
    train().save(place)
    return place


@pytest.fixture(scope="module")
def client(folder):
    made = Client(folder)
    yield made
    made.close()


def send(client, content, name="docs.csv", path="/tag-file", **query):
    return client.post(path, content=content, headers=FILE, params={"name": name, **query})


def as_csv(rows, delimiter=","):
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter).writerows(rows)
    return written.getvalue().encode()


def test_a_table_comes_back_with_labels(client):
    content = as_csv([["id", "text", "note"], *([str(n), text, "x"] for n, text in enumerate(TEXTS))], ";")
    answer = send(client, content, "my docs é.csv", k=2)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''my%20docs%20%C3%A9-tagged.csv"
    counts = [answer.headers[f"x-neartag-{name}"] for name in ("rows", "with-labels", "not-found")]
    assert counts == ["3", "2", "1"]
    assert "';'" in unquote(answer.headers["x-neartag-read-as"])
    assert unquote(answer.headers["x-neartag-delimiter"]) == ";"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    rows = list(csv.DictReader(io.StringIO(answer.text), delimiter=";"))
    assert [(row["id"], row["text"], row["note"], row["found"]) for row in rows] == [
        ("0", TEXTS[0], "x", "true"),
        ("1", TEXTS[1], "x", "true"),
        ("2", TEXTS[2], "x", "false"),
    ]
    wanted = client.model.tagger.predict(TEXTS, 2)
    assert [row["labels"].split("|") if row["labels"] else [] for row in rows] == [
        [tag.label for tag in tags] for tags in wanted
    ]


@pytest.mark.parametrize("name", ["docs.tsv", "docs.jsonl", "DOCS.CSV"])
def test_other_formats(client, name):
    rows = [["text"], *([text] for text in TEXTS[:2])]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS[:2]).encode()
    answer = send(
        client, lines if name.endswith("jsonl") else as_csv(rows, "\t" if name.endswith("tsv") else ","), name
    )
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-neartag-rows"] == "2"


def test_a_workbook(client, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [["text"], *([text] for text in TEXTS)]:
        book.active.append(row)
    book.save(tmp_path / "docs.xlsx")
    answer = send(client, (tmp_path / "docs.xlsx").read_bytes(), "docs.xlsx")
    assert answer.status_code == 200, answer.text
    back = openpyxl.load_workbook(io.BytesIO(answer.content)).active
    assert [cell.value for cell in back[1]] == ["text", "labels", "scores", "found"]
    assert back.max_row == 4


def test_rows_that_share_one_long_cell_are_counted():
    # A workbook has such a text once, however many rows name it.
    chunk = Chunk([Document("chess", [], None, None, "")] * 10, [["chess", "x" * 30_000]] * 10)
    with pytest.raises(Refusal, match="100,000 characters"):
        list(uploads._within_limits(iter([chunk]), uploads.Limits(10_000, 100, time.monotonic() + 60)))
    with pytest.raises(Refusal, match="too long"):
        list(uploads._within_limits(iter([chunk]), uploads.Limits(10**6, 100, time.monotonic() - 1)))


def test_a_threshold_and_columns(client):
    content = as_csv([["title", "body"], ["chess", "a chess playing program"]])
    answer = send(client, content, text_field=["title", "body"], threshold="0.5", prefix="new_")
    row = next(csv.DictReader(io.StringIO(answer.text)))
    tags = client.model.tagger.predict(["chess\na chess playing program"], 5, 0.5)[0]
    assert row["new_labels"] == ";".join(tag.label for tag in tags)
    assert all(float(score) >= 0.5 for score in row["new_scores"].split(";"))


@pytest.mark.parametrize(
    ("content", "name", "query", "words"),
    [
        (b"text\nchess\n", "docs.parquet", {}, "must end in one of .csv"),
        (b"text\nchess\n", "docs.csv.gz", {}, "must end in one of .csv"),
        (b"title,body\na,b\n", "docs.csv", {}, "docs.csv:1: there is no column 'text'"),
        (b"text,labels\na,b\n", "docs.csv", {}, "prefix"),
        (b"not a workbook", "docs.xlsx", {}, "no Excel workbook"),
        (b"text\nchess\n", "docs.csv", {"threshold": "best"}, "threshold"),
        (b"text\nchess\n", "docs.csv", {"threshold": "precision=0.99"}, "not reached"),
        (b"text\nchess\n", "docs.csv", {"encoding": "no-such"}, "encoding"),
        (b"text\nchess\n", "docs.csv", {"k": "21"}, "k: "),
        (b"", "docs.csv", {}, "docs.csv"),
    ],
)
def test_a_file_that_cannot_be_tagged(client, content, name, query, words):
    told = error_of(send(client, content, name, **query), 422)
    assert words in told
    assert "/tmp" not in told
    assert "--" not in told


def test_how_to_read_a_file_is_said_in_the_request(client):
    content = "name|C++\na|'a chess playing | program'\n".encode("utf-16")
    query = {"text_field": "C++", "delimiter": "|", "quoting": "single", "encoding": "utf-16"}
    row = next(csv.DictReader(io.StringIO(send(client, content, **query).content.decode("utf-8-sig")), delimiter="|"))
    assert row["C++"] == "a chess playing | program"
    (document,) = send(client, content, path="/review-file", id_field="name", **query).json()["documents"]
    assert (document["id"], document["text"]) == ("a", row["C++"])


@pytest.mark.parametrize("path", ["/tag-file", "/review-file"])
def test_errors_name_parameters_that_the_request_has(client, path):
    has = {each["name"] for each in client.get("/openapi.json").json()["paths"][path]["post"]["parameters"]}
    openpyxl = pytest.importorskip("openpyxl")
    book, written = openpyxl.Workbook(), io.BytesIO()
    for sheet in (book.active, book.create_sheet("second")):
        sheet.append(["text"])
    book.save(written)
    wrong = [
        (b"title,body\na,b\n", "docs.csv", {}, {"text_field"}),
        (b"title,text\na,b\n", "docs.csv", {"id_field": "key"}, {"id_field"}),
        (b"text\ncaf\xe9\n", "docs.csv", {"encoding": "utf-8"}, {"encoding"}),
        (b'{"text": "caf\xe9"}\n', "docs.jsonl", {}, set()),  # JSON is UTF-8
        (b'text,note\n"a chess" program,b\n', "docs.csv", {"quoting": "double"}, {"delimiter", "quoting"}),
        (written.getvalue(), "docs.xlsx", {}, {"sheet"}),
        (b'{"title": "a"}\n', "docs.jsonl", {}, {"text_field"}),
    ]
    for content, name, query, named in wrong:
        told = error_of(send(client, content, name, path, **query), 422)
        assert {*re.findall("`(.+?)`", told)} == named, told
        assert named <= has
        assert "label" not in told


def test_labels_of_a_file_are_chosen_as_those_of_a_text_are(client):
    content = as_csv([["text"], *([text] for text in TEXTS)])
    for query in ({"include": ["role::*", "use::*"]}, {"exclude": ["role::program"]}, {"fallback": True}):
        rows = list(csv.DictReader(io.StringIO(send(client, content, k=3, **query).text)))
        wanted = client.post("/tag", {"texts": TEXTS, "k": 3, **query}).json()["results"]
        assert [row["labels"] for row in rows] == [";".join(tag["label"] for tag in each["labels"]) for each in wanted]
    assert "no label" in error_of(send(client, content, include=["nothing"]), 422)
    told = error_of(send(client, content, treshold="0.9", text_fields="a"), 422)
    assert told.startswith("there is no parameter 'treshold', 'text_fields'; there are delimiter, encoding, exclude,")
    asked = send(client, content, path="/review-file", k=3)
    assert "no parameter 'k'" in error_of(asked, 422), "another endpoint has it"


def test_files_have_limits(folder, monkeypatch):
    client = Client(folder, Settings(max_upload=1000, max_characters=100))
    assert "--max-upload" in error_of(send(client, b"text\n" + b"x " * 600), 413)
    assert "101 characters" in error_of(send(client, b"text\n" + b"x" * 101 + b"\n"), 422)
    monkeypatch.setattr(uploads, "MAX_ROWS", 2)
    assert "more than 2 rows" in error_of(send(client, b"text\na\nb\nc\n"), 422)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * 100_000)
    assert "unpacks to 100,000 bytes" in error_of(send(client, bomb.getvalue(), "bomb.xlsx"), 413)
    wrong = client.post("/tag-file?name=a.csv", content=b"text\na\n", headers={"Content-Type": "text/plain"})
    assert "application/octet-stream" in error_of(wrong, 415)
    client.close()


# Reviews


def test_a_review_of_texts_and_of_a_file(client):
    texts = [*corpus()[0][:5], "zzyzx unheard of", "chess program"]
    answer = client.post("/review", {"texts": texts, "n": 3}).json()
    schemas.Review.model_validate(answer)
    listed = client.model.tagger.review(texts, 3)
    assert [each["index"] for each in answer["documents"]] == [entry.index for entry in listed]
    for each in answer["documents"]:
        assert each["text"] == texts[each["index"]]
        assert each["reason"]
    content = as_csv([["id", "text"], *([f"n{number}", text] for number, text in enumerate(texts))])
    same = send(client, content, path="/review-file", n=3).json()
    assert [each["id"] for each in same["documents"]] == [f"n{entry.index}" for entry in listed]
    assert "texts" in error_of(client.post("/review", {"texts": []}), 422)


def test_doubts_about_the_models_own_labels(client):
    answer = client.post("/doubts", {"n": 4}).json()
    schemas.Doubts.model_validate(answer)
    assert 0 < len(answer["doubts"]) <= 4
    for each in answer["doubts"]:
        assert (each["label"] in each["document"]["labels"]) == (each["kind"] == "wrong")
    assert error_of(client.post("/doubts", {"n": 0}), 422)
