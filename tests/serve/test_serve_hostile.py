"""Whatever is sent, the server answers, soon, and blames itself for nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi")

from serve_helpers import BEARER, Client, train

JSON = {"Content-Type": "application/json", **BEARER}
PATHS = ("/tag", "/explain", "/map", "/add", "/forget", "/review", "/doubts")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "model"
    train().save(folder)
    made = Client(folder)
    yield made
    made.close()


def sane(answer):
    assert answer.status_code < 500, answer.text
    content = answer.json()
    if answer.status_code >= 400:
        assert list(content) == ["error"]
    return answer.status_code


@settings(max_examples=150)
@given(path=st.sampled_from(PATHS), content=st.binary(max_size=300))
def test_random_bytes(client, path, content):
    assert sane(client.post(path, content=content, headers=JSON)) in (400, 422)


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.sampled_from(["a chess program"])
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3))
FIELDS = st.sampled_from(
    [
        "text",
        "texts",
        "k",
        "threshold",
        "voters",
        "documents",
        "ids",
        "replace",
        "labels",
        "id",
        "points",
        "include",
        "exclude",
        "n",
    ]
)


@settings(max_examples=200)
@given(path=st.sampled_from(PATHS[:4]), body=st.dictionaries(FIELDS, VALUES, max_size=4))
def test_fields_of_any_kind(client, path, body):
    content = json.dumps(body)  # with NaN and lone surrogates, as Python writes them
    sane(client.post(path, content=content.encode(), headers=JSON))


@settings(max_examples=100)
@given(text=st.text(max_size=200), k=st.integers(1, 100))
def test_texts_of_any_characters(client, text, k):
    body = json.dumps({"text": text, "k": k}).encode()
    wanted = 200 if not any("\ud800" <= character <= "\udfff" for character in text) else 400
    assert sane(client.post("/tag", content=body, headers=JSON)) == wanted
    body = json.dumps({"text": text}).encode()
    assert sane(client.post("/explain", content=body, headers=JSON)) == wanted


@settings(max_examples=50)
@given(prefix=st.text(max_size=20), limit=st.integers(-5, 2000))
def test_labels_by_anything(client, prefix, limit):
    prefix = prefix.encode("utf-8", "replace").decode()
    status = sane(client.get("/labels", params={"prefix": prefix, "limit": limit}))
    assert status == (200 if 1 <= limit <= 1000 else 422)


@settings(max_examples=50)
@given(query=st.text(max_size=20), label=st.text(max_size=20), offset=st.integers(-5, 700))
def test_documents_by_anything(client, query, label, offset):
    asked = {"query": query, "label": label, "offset": offset}
    status = sane(
        client.get("/documents", params={name: str(each).encode("utf-8", "replace") for name, each in asked.items()})
    )
    assert status == 422 or offset >= 0


CELLS = st.text(alphabet="a,;\t\"'\n\r\\=\x00é😀{}[]:", max_size=60)
ENDINGS = st.sampled_from(["csv", "tsv", "jsonl", "ndjson", "xlsx", "parquet", "csv.gz", "", "txt", "CSV"])
OPTIONS = st.dictionaries(
    st.sampled_from(["text_field", "delimiter", "encoding", "prefix", "threshold"]), st.text(max_size=6)
)


@settings(max_examples=100)
@given(
    content=st.binary(max_size=100) | CELLS.map(lambda cells: f"text\n{cells}".encode()), ending=ENDINGS, more=OPTIONS
)
def test_files_of_any_kind(client, content, ending, more):
    headers = {"Content-Type": "application/octet-stream"}
    for path, asked in (("/tag-file", more), ("/review-file", {})):
        query = {"name": f"docs.{ending}", **{name: each.encode("utf-8", "replace") for name, each in asked.items()}}
        answer = client.post(path, content=content, headers=headers, params=query)
        assert answer.status_code in (200, 413, 422), answer.text
        assert "/tmp" not in answer.text


@pytest.mark.parametrize("depth", [100, 10_000, 400_000])
@pytest.mark.parametrize("signs", ["[]", "{}"])
def test_deep_nesting(client, depth, signs):
    opening = '{"a":' if signs == "{}" else "["
    content = f'{{"text": {(opening * depth)[:900_000]}'
    assert sane(client.post("/tag", content=content.encode(), headers=JSON)) in (400, 422)


def test_large_bodies(client):
    assert sane(client.post("/tag", content=b'{"text": "' + b"a" * 10_000_000 + b'"}', headers=JSON)) == 413
    assert sane(client.post("/tag", content=b"\x00" * 1_000_000, headers=JSON)) == 400
    many = json.dumps({"texts": [""] * 300_000}).encode()
    assert sane(client.post("/tag", content=many[:1_000_000], headers=JSON)) == 400
    assert sane(client.post("/tag", {"texts": [""] * 200_000}, headers=JSON)) in (413, 422)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Length": "-5"},
        {"Content-Length": "99999999999999999999"},
        {"Content-Length": "five"},
        {"Content-Type": "application/json" * 100},
        {"Host": "\xff"},
        {"Authorization": "Bearer " + "x" * 5000},
    ],
)
def test_headers_of_any_kind(client, headers):
    sent = {name: value.encode("latin-1") for name, value in {**JSON, **headers}.items()}
    sane(client.post("/tag", content=b'{"text": "a"}', headers=sent))


def test_what_two_programs_would_read_in_two_ways_is_refused(client):
    body = json.dumps({"text": "a chess program"})
    twice = [("Host", "127.0.0.1"), ("Host", "elsewhere"), ("Content-Type", "application/json")]
    assert client.post("/tag", content=body, headers=twice).status_code == 400
    packed = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert client.post("/tag", content=body, headers=packed).status_code == 415
    plain = {"Content-Type": "application/json", "Content-Encoding": "identity"}
    assert client.post("/tag", content=body, headers=plain).status_code == 200
