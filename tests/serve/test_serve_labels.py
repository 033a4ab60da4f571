"""Labels and documents over HTTP: known labels first, new ones as a separate act, what a vocabulary adds, browsing."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("fastapi")

from neartag.data.documents import Document
from neartag.serve import schemas
from neartag.serve.documents import link_of, title_of
from neartag.tagging.live import LiveTagger
from neartag.vocabulary.concepts import Concept, Vocabulary
from serve_helpers import BEARER, POINTS, Client, add, corpus, error_of, train

TEXT = "a chess playing program"
LABEL = "role::program"


def make_client(folder, vocabulary=None):
    tagger = train()
    tagger.save(folder)
    if vocabulary is not None:
        LiveTagger(folder).change_labels(lambda each: each._take(replace(each.stored, vocabulary=vocabulary)))
    return Client(folder)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Return a client of a model without a vocabulary, which nobody changes."""
    client = make_client(tmp_path_factory.mktemp("labels") / "model")
    yield client
    client.close()


@pytest.fixture
def closed(tmp_path):
    concepts = (
        Concept(LABEL, "http://example.org/program", {"en": LABEL, "fi": "ohjelma"}, ("application",)),
        Concept("unused", "http://example.org/unused"),
    )
    client = make_client(tmp_path / "model", Vocabulary(concepts, True, "en"))
    yield client
    client.close()


# Labels


def test_labels_written_nearly_the_same_are_pointed_out(plain):
    answer = plain.get("/labels", params={"prefix": "Role::Program"}).json()
    assert (answer["known"], answer["similar"], answer["closed"]) == (None, [LABEL], False)
    exact = plain.get("/labels", params={"prefix": LABEL}).json()
    assert (exact["known"], exact["similar"]) == (LABEL, [])
    assert plain.get("/labels", params={"prefix": "role::program++"}).json()["similar"] == []


@pytest.mark.parametrize(("label", "guess"), [("Role::Program", f"did you mean {LABEL!r}"), ("drift, hover", "drift")])
def test_a_new_label_is_refused_unless_it_is_meant(plain, label, guess):
    body = {"documents": [{"text": TEXT, "labels": [LABEL, label]}]}
    told = error_of(plain.post("/add", body, headers=BEARER), 409)
    assert guess in told
    assert '"new_labels": true' in told
    assert plain.get("/health").json()["points"] == POINTS


def test_known_labels_are_added_without_saying_more(tmp_path):
    client = make_client(tmp_path / "model")
    body = {"documents": [{"text": TEXT, "labels": [LABEL]}]}
    assert client.post("/add", body, headers=BEARER).json()["new_labels"] == []
    client.close()


def test_a_vocabulary_gives_names_and_closes(closed):
    found = closed.get("/labels", params={"prefix": "ohj"}).json()
    schemas.KnownLabels.model_validate(found)
    assert (found["labels"], found["uris"]) == ([LABEL], ["http://example.org/program"])
    assert found["names"] == [{"en": LABEL, "fi": "ohjelma"}]
    unused = closed.get("/labels", params={"prefix": "unus"}).json()
    assert (unused["labels"], unused["points"], unused["closed"]) == (["unused"], [0], True)
    assert closed.get("/labels", params={"prefix": "http://example.org/program"}).json()["known"] == LABEL
    assert closed.get("/health").json()["model"]["languages"] == ["en", "fi"]
    tags = closed.post("/tag", {"text": TEXT}).json()["labels"]
    (tag,) = [each for each in tags if each["label"] == LABEL]
    assert (tag["uri"], tag["names"]["fi"]) == ("http://example.org/program", "ohjelma")
    refused = {"documents": [{"text": TEXT, "labels": ["brand new"]}], "new_labels": True}
    assert "closed" in error_of(closed.post("/add", refused, headers=BEARER), 409)
    fine = {"documents": [{"text": TEXT, "labels": ["application", "unused"], "id": "mine"}]}
    assert closed.post("/add", fine, headers=BEARER).json()["new_labels"] == ["unused"]
    answers = [closed.get("/documents?limit=100"), closed.post("/explain", {"text": TEXT}), closed.post("/doubts", {})]
    assert all(each.json()["names"] == {LABEL: {"en": LABEL, "fi": "ohjelma"}} for each in answers)
    (document,) = closed.get("/documents?query=mine&limit=1").json()["documents"]
    assert sorted(document["labels"]) == [LABEL, "unused"]


def test_some_labels_only(closed):
    tagger = closed.model.tagger
    asked = {"texts": [TEXT, corpus()[0][0]], "k": 4, "include": ["use::*", "ohjelma"], "exclude": ["use::monitor"]}
    answer = closed.post("/tag", asked).json()
    wanted = tagger.predict(asked["texts"], 4, include=asked["include"], exclude=asked["exclude"])
    assert [[tag["label"] for tag in each["labels"]] for each in answer["results"]] == [
        [tag.label for tag in each] for each in wanted
    ]
    assert "nobody" in error_of(closed.post("/tag", {"text": TEXT, "include": ["nobody"]}), 422)
    assert "include" in error_of(closed.post("/tag", {"text": TEXT, "include": "use::*"}), 422)


# Documents


def test_documents_are_browsed_newest_first(plain):
    names = corpus()[2]
    first = plain.get("/documents?limit=3").json()
    schemas.Documents.model_validate(first)
    assert [each["id"] for each in first["documents"]] == names[:-4:-1]
    assert (first["total"], first["complete"]) == (POINTS, True)
    last = plain.get(f"/documents?offset={POINTS - 1}").json()["documents"]
    assert [(each["id"], each["labels"]) for each in last] == [(names[0], sorted(corpus()[1][0]))]
    assert plain.get(f"/documents?offset={POINTS}").json()["documents"] == []


def test_documents_are_searched_by_text_id_and_label(plain):
    texts, tags, names = corpus()
    found = plain.get("/documents", params={"query": "LIBRARY", "limit": 100}).json()
    wanted = [row for row in range(POINTS) if "library" in texts[row].lower() or "library" in names[row].lower()]
    assert found["total"] == len(wanted) > 1
    having = plain.get("/documents", params={"label": LABEL, "query": "library", "limit": 100}).json()
    both = [names[row] for row in reversed(wanted) if LABEL in tags[row]]
    assert [each["id"] for each in having["documents"]] == both[:100]
    assert names[5] in [each["id"] for each in plain.get(f"/documents?query={names[5]}").json()["documents"]]
    assert "no label" in error_of(plain.get("/documents?label=nothing"), 422)
    one = plain.get("/documents", params={"id": names[5]}).json()
    assert [each["id"] for each in one["documents"]] == [names[5]]
    assert plain.get("/documents", params={"id": names[5][:-1] + "~"}).json()["total"] == 0
    for bad in ("limit=0", "limit=101", "offset=-1", f"query={'x' * 501}"):
        assert error_of(plain.get(f"/documents?{bad}"), 422)


def test_titles_and_links(tmp_path):
    client = make_client(tmp_path / "model")
    text, name = "Chess for two\nA chess playing program", "https://example.org/chess"
    add(client, Document(text, [LABEL], name, None, ""))
    voters = [voter for label in client.post("/explain", {"text": TEXT}).json()["labels"] for voter in label["voters"]]
    (own, *_) = [voter for voter in voters if voter["id"] == name]
    assert (own["title"], own["link"]) == ("Chess for two", name)
    (shown,) = client.get("/documents?limit=1").json()["documents"]
    assert (shown["title"], shown["link"], shown["text"]) == ("Chess for two", name, text)
    client.close()
    assert title_of("one line") is None
    assert title_of(None) is None
    assert title_of("x" * 300 + "\nmore") is None
    assert link_of("javascript:alert(1)") is None
    assert link_of("gnuchess") is None
