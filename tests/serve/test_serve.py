"""The server's paths: what they answer, whom they refuse, and why."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi")

from neartag import __version__, store
from neartag.data.documents import Document
from neartag.serve import page_files, schemas
from neartag.serve.followed_model import POLL_SECONDS, FollowedModel
from neartag.serve.settings import Settings
from neartag.storage import manifest
from neartag.tagging.live import LiveTagger
from neartag.tagging.tagger import TextTagger
from serve_helpers import BEARER, POINTS, Client, add, corpus, error_of, train

TEXT = "a chess playing program"


@pytest.fixture(scope="module")
def trained():
    return train()


@pytest.fixture(scope="module")
def shared(trained, tmp_path_factory):
    """Return a client whose model nobody changes."""
    folder = tmp_path_factory.mktemp("serve") / "model"
    trained.save(folder)
    client = Client(folder)
    yield client
    client.close()


@pytest.fixture
def folder(trained, tmp_path):
    trained.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def client(folder):
    made = Client(folder)
    yield made
    made.close()


@pytest.fixture
def limited(folder):
    """Return a function that makes a client of a server with other settings."""
    made = []

    def make(**changes):
        made.append(Client(folder, Settings(**changes)))
        return made[-1]

    yield make
    for each in made:
        each.close()


def labels_of(answer):
    assert answer.status_code == 200, answer.text
    return [tag["label"] for tag in answer.json()["labels"]]


# Tagging


def test_a_text_gets_what_the_tagger_gives(shared, trained):
    answer = shared.post("/tag", {"text": TEXT, "k": 3}).json()
    schemas.Tagged.model_validate(answer)
    wanted = trained.predict([TEXT], 3)[0]
    assert [tag["label"] for tag in answer["labels"]] == [tag.label for tag in wanted]
    for got, tag in zip(answer["labels"], wanted, strict=True):
        assert got["score"] == pytest.approx(tag.score)
        assert got["share"] == pytest.approx(tag.share)
    assert len(shared.post("/tag", {"text": TEXT}).json()["labels"]) == 5


def test_texts_are_answered_in_their_order(shared, trained):
    texts = [*corpus()[0][:20], "", "?!", "zzyzx"]
    answer = shared.post("/tag", {"texts": texts, "k": 2}).json()
    schemas.TaggedTexts.model_validate(answer)
    wanted = [[tag.label for tag in tags] for tags in trained.predict(texts, 2)]
    assert [[tag["label"] for tag in each["labels"]] for each in answer["results"]] == wanted
    assert [each["found"] for each in answer["results"]] == [True] * 20 + [False] * 3
    assert shared.post("/tag", {"texts": []}).json() == {"results": []}


def test_a_text_that_nothing_is_known_of_has_no_labels_unless_asked_for(shared, trained):
    assert shared.post("/tag", {"text": "zzyzx"}).json() == {"labels": [], "found": False}
    answer = shared.post("/tag", {"text": "zzyzx", "k": 2, "threshold": 0.9, "fallback": True}).json()
    schemas.Tagged.model_validate(answer)
    frequency = trained.stored.model.frequency
    frequent = [trained.labels[label] for label in np.argsort(-frequency, kind="stable")[:2]]
    assert answer == {"labels": [{"label": name, "score": 0, "share": 0} for name in frequent], "found": False}


@pytest.mark.parametrize("threshold", [0, 0.5, 1.0, "f1", "precision=0.5", "precision=.6"])
def test_a_threshold_is_the_taggers(shared, trained, threshold):
    texts = corpus()[0][:10]
    answer = shared.post("/tag", {"texts": texts, "k": 20, "threshold": threshold})
    assert answer.status_code == 200, answer.text
    wanted = [[tag.label for tag in tags] for tags in trained.predict(texts, 20, threshold)]
    assert [[tag["label"] for tag in each["labels"]] for each in answer.json()["results"]] == wanted


def test_requests_at_once_are_answered_together_each_with_its_own(folder, monkeypatch):
    gate, plain = [], FollowedModel.predict

    def slow(self, texts, k):
        gate.append(len(texts))
        time.sleep(0.2)
        return plain(self, texts, k)

    monkeypatch.setattr(FollowedModel, "predict", slow)
    client = Client(folder)
    texts = corpus()[0][:40]
    asked = [{"text": text, "k": 1 + number % 7} for number, text in enumerate(texts)]
    answers = client.together([("POST", "/tag", {"json": body}) for body in asked])
    wanted = TextTagger.load(folder).predict(texts, 7)
    for body, answer, tags in zip(asked, answers, wanted, strict=True):
        assert labels_of(answer) == [tag.label for tag in tags][: body["k"]]
    assert sum(gate) == 40
    assert len(gate) <= 4, "one pass answers many"
    client.close()


@pytest.mark.parametrize("text", ["", "   ", "\x00\x01\x1b[31m", "zzyzx qqqq", "😀", "\u202e", "a" * 100_000])
def test_any_text_is_answered(shared, text):
    for path in ("/tag", "/explain", "/map"):
        assert shared.post(path, {"text": text}).status_code == 200


# Reasons


def test_reasons_are_the_taggers_and_spans_find_the_words(shared, trained):
    text = "😀 A 𝒳 Chess-PLAYING program, İstanbul"
    answer = shared.post("/explain", {"text": text, "k": 3, "voters": 4}).json()
    schemas.Explained.model_validate(answer)
    wanted = trained.explain(text, 3, 4)
    assert [each["label"] for each in answer["labels"]] == [reason.label for reason in wanted]
    units = text.encode("utf-16-le")
    seen = [(units[2 * start : 2 * end].decode("utf-16-le"), word) for start, end, word, _ in answer["spans"]]
    assert ("Chess", "chess") in seen
    assert ("program", "program") in seen
    for each, reason in zip(answer["labels"], wanted, strict=True):
        assert [voter["id"] for voter in each["voters"]] == [voter.id for voter in reason.voters]
        for voter in each["voters"]:
            assert each["label"] in voter["labels"]
            own = voter["text"].encode("utf-16-le")
            for start, end, word, weight in voter["spans"]:
                assert own[2 * start : 2 * end].decode("utf-16-le").lower() == word
                assert weight > 0
            words, marked = {word["word"] for word in voter["words"]}, {span[2] for span in voter["spans"]}
            assert bool(words) == bool(marked)
            assert all(any(share_a_run(word, other) for other in words) for word in marked)


def share_a_run(word: str, other: str) -> bool:
    return word == other or any(
        run in f" {other} " for run in (f" {word} "[at : at + 4] for at in range(len(word) - 1))
    )


def test_reasons_of_a_model_that_is_not_refined(tmp_path):
    train(refine=False).save(tmp_path / "model")
    client = Client(tmp_path / "model")
    answer, unknown = (client.post("/explain", {"text": text, "fallback": True}).json() for text in (TEXT, "zzyzx"))
    nothing = client.post("/explain", {"text": "zzyzx"}).json()
    client.close()
    assert answer["refined"] is False
    assert all(each["words"] == [] and each["found"] == "votes" for each in answer["labels"])
    schemas.Explained.model_validate(unknown)
    assert all(
        each["voters"] == [] and each["found"] == "frequency" and each["score"] == 0 for each in unknown["labels"]
    )
    assert (answer["found"], unknown["found"]) == (True, False)
    assert (nothing["labels"], nothing["found"]) == ([], False)


@pytest.fixture(scope="module")
def refined(tmp_path_factory):
    """Return the tagger of a model that rankers decide in, so few voting that some labels have none; and its folder."""
    folder = tmp_path_factory.mktemp("refined") / "model"
    tagger = train(vote_neighbours=4)
    tagger.save(folder)
    return tagger, folder


def test_reasons_of_a_refined_model(refined):
    tagger, folder = refined
    client = Client(folder)
    ways = set()
    for text in (TEXT, corpus()[0][0], corpus()[0][40], "zzyzx"):
        answer = client.post("/explain", {"text": text, "k": 20, "fallback": True}).json()
        schemas.Explained.model_validate(answer)
        assert answer["refined"] is True
        wanted = tagger.explain(text, 20, words=20, fallback=True)
        tagged = client.post("/tag", {"text": text, "k": 20, "fallback": True}).json()["labels"]
        for each, reason, tag in zip(answer["labels"], wanted, tagged, strict=True):
            assert each["label"] == reason.label == tag["label"]
            assert each["score"] == pytest.approx(reason.score)
            assert tag["share"] == pytest.approx(each["share"], abs=1e-6)
            assert [(word["word"], word["weight"]) for word in each["words"]] == reason.words
            assert (each["found"] == "votes") == bool(each["voters"]) == (each["share"] > 0)
            ways.add(each["found"])
    assert ways == {"votes", "mean", "frequency"}
    client.close()


def test_a_refined_model_that_changes_is_followed(refined, tmp_path):
    tagger, _ = refined
    tagger.save(tmp_path / "model")
    one, other = Client(tmp_path / "model"), Client(tmp_path / "model")
    documents = [{"text": TEXT, "labels": ["new::label"], "id": f"n{number}"} for number in range(6)]
    one.post("/add", {"new_labels": True, "documents": documents}, headers=BEARER)
    other.model.refresh()
    asked = {"text": TEXT, "k": 20}
    answers = [client.post("/explain", asked).json() for client in (one, other)]
    assert answers[0] == answers[1]
    (reason,) = [each for each in answers[0]["labels"] if each["label"] == "new::label"]
    assert reason["words"], "it has a ranker of its own"
    one.post("/forget", {"ids": [each["id"] for each in documents]}, headers=BEARER)
    other.model.refresh()
    for client in (one, other):
        assert client.get("/health").json()["ok"]
        assert "new::label" not in labels_of(client.post("/tag", asked))
        client.close()


def test_a_long_text_of_a_voter_is_cut(client):
    long = "chess program " * 400
    add(client, _document(long, "sea::chess", "long"))
    voters = [
        voter
        for label in client.post("/explain", {"text": "chess program"}).json()["labels"]
        for voter in label["voters"]
    ]
    (found,) = {voter["text"] for voter in voters if voter["id"] == "long"}
    assert len(found) == 4000
    assert all(voter["cut"] == (voter["id"] == "long") for voter in voters)


# The map


def test_the_map_has_the_text_its_voters_and_others(shared, trained):
    answer = shared.post("/map", {"text": TEXT, "points": 50}).json()
    schemas.Map.model_validate(answer)
    voters = [point for point in answer["points"] if point["share"] > 0]
    assert sum(point["share"] for point in voters) == pytest.approx(1, abs=1e-3)
    assert 40 <= len(answer["points"]) - len(voters) <= 50
    assert len({point["id"] for point in answer["points"]}) == len(answer["points"])
    assert answer["cluster"]["points"] == POINTS
    assert answer == shared.post("/map", {"text": TEXT, "points": 50}).json()
    names = dict(zip(corpus()[2], corpus()[1], strict=True))
    for point in answer["points"]:
        assert set(point["labels"]) <= set(names[point["id"]])


def test_without_a_known_word_there_is_no_map(shared):
    assert shared.post("/map", {"text": "zzyzx"}).json() == {"cluster": None, "text": None, "points": []}


def test_what_is_added_is_on_the_map_and_what_is_forgotten_is_not(client):
    before = client.post("/map", {"text": TEXT}).json()
    client.post(
        "/add", {"new_labels": True, "documents": [{"text": TEXT, "labels": ["x"], "id": "mine"}]}, headers=BEARER
    )
    after = client.post("/map", {"text": TEXT}).json()
    (own,) = [point for point in after["points"] if point["id"] == "mine"]
    assert (own["x"], own["y"]) == pytest.approx((after["text"]["x"], after["text"]["y"]), abs=1e-5)
    assert after["text"] == before["text"], "the picture stays as it was"
    client.post("/forget", {"ids": ["mine"]}, headers=BEARER)
    assert "mine" not in [point["id"] for point in client.post("/map", {"text": TEXT}).json()["points"]]


# Labels


def test_labels_by_what_is_typed(shared, trained):
    everything = shared.get("/labels?limit=1000").json()
    schemas.KnownLabels.model_validate(everything)
    assert sorted(everything["labels"]) == sorted(trained.labels)
    assert everything["points"] == sorted(everything["points"], reverse=True)
    found = shared.get("/labels", params={"prefix": "USE::", "limit": 5}).json()
    assert len(found["labels"]) == 5
    assert all(name.startswith("use::") for name in found["labels"])
    assert found["total"] == sum("use::" in name for name in trained.labels)
    inside = shared.get("/labels", params={"prefix": "c", "limit": 1000}).json()["labels"]
    kinds = [0 if name.startswith("c") else 1 if re.search(r"(?<![a-z0-9])c", name) else 2 for name in inside]
    assert kinds == sorted(kinds)
    assert set(inside) == {name for name in trained.labels if "c" in name}
    nothing = shared.get("/labels", params={"prefix": "nothing such"}).json()
    assert (nothing["labels"], nothing["total"], nothing["known"], nothing["similar"]) == ([], 0, None, [])


def test_a_new_label_is_found_at_once(client):
    client.post("/add", {"new_labels": True, "documents": [{"text": TEXT, "labels": ["Brand New"]}]}, headers=BEARER)
    found = client.get("/labels?prefix=brand").json()
    assert (found["labels"], found["points"], found["total"], found["known"]) == (["Brand New"], [1], 1, None)
    assert client.get("/labels?prefix=Brand+New").json()["known"] == "Brand New"


# Changes


def test_adding_and_forgetting(client, folder):
    documents = [{"text": TEXT, "labels": ["new::label", "new::label"], "id": f"n{number}"} for number in range(3)]
    answer = client.post("/add", {"new_labels": True, "documents": documents}, headers=BEARER)
    assert answer.json() == {"ids": ["n0", "n1", "n2"], "new_labels": ["new::label"]}
    assert "new::label" in labels_of(client.post("/tag", {"text": TEXT}))
    assert "n1" in LiveTagger(folder).tagger
    assert "already" in error_of(client.post("/add", {"documents": documents[:1]}, headers=BEARER), 409)
    replaced = {"new_labels": True, "documents": [{**documents[0], "labels": ["other::label"]}], "replace": True}
    assert client.post("/add", replaced, headers=BEARER).json() == {"ids": ["n0"], "new_labels": ["other::label"]}
    assert "other::label" in labels_of(client.post("/tag", {"text": TEXT, "k": 20}))
    assert "nobody" in error_of(client.post("/forget", {"ids": ["n0", "nobody"]}, headers=BEARER), 404)
    assert client.post("/forget", {"ids": ["n0", "n1", "n1"]}, headers=BEARER).json() == {"forgotten": 2}
    health = client.get("/health").json()
    assert health["points"] == POINTS + 1
    assert health["model"]["added"] == 1


def test_an_id_is_made_where_none_is_given(client):
    body = {"new_labels": True, "documents": [{"text": TEXT, "labels": ["a"]}, {"text": TEXT, "labels": ["a"]}]}
    ids = client.post("/add", body, headers=BEARER).json()["ids"]
    assert len(set(ids)) == 2
    assert client.post("/forget", {"ids": ids}, headers=BEARER).json() == {"forgotten": 2}


@pytest.mark.parametrize("path", ["/add", "/forget"])
def test_without_the_token_nothing_is_changed(folder, path):
    before = (folder / "model.json").read_bytes()
    body = (
        {"new_labels": True, "documents": [{"text": TEXT, "labels": ["x"]}]}
        if path == "/add"
        else {"ids": [corpus()[2][0]]}
    )
    client = Client(folder)
    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer"},
        {"Authorization": f"Basic {BEARER['Authorization'].split()[1]}"},
        {"Authorization": BEARER["Authorization"] + "x"},
        {"Authorization": "Bearer \xff\xfe".encode("latin-1")},
    ):
        answer = client.post(path, body, headers=headers)
        assert "token" in error_of(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"
    client.close()
    client = Client(folder, token="")
    assert "--token-file" in error_of(client.post(path, body, headers=BEARER), 403)
    assert client.get("/health").json()["writable"] is False
    client.close()
    assert (folder / "model.json").read_bytes() == before


@pytest.mark.parametrize(
    "document",
    [
        {"text": TEXT},
        {"text": TEXT, "labels": []},
        {"text": TEXT, "labels": [""]},
        {"text": TEXT, "labels": [" \u00a0"]},
        {"text": TEXT, "labels": ["a\nb"]},
        {"text": TEXT, "labels": ["\x1b[2J"]},
        {"text": TEXT, "labels": ["a\x00"]},
        {"text": TEXT, "labels": ["x" * 501]},
        {"text": TEXT, "labels": "x"},
        {"text": TEXT, "labels": ["x"], "id": ""},
        {"text": TEXT, "labels": ["x"], "id": 5},
        {"text": TEXT, "labels": ["x"], "vector": [1]},
        {"labels": ["x"]},
    ],
)
def test_a_document_that_cannot_be_added(shared, document):
    assert "documents.0" in error_of(shared.post("/add", {"documents": [document]}, headers=BEARER), 422)
    assert shared.get("/health").json()["points"] == POINTS


def test_the_same_id_twice_and_nothing_to_add(shared):
    same = [{"text": TEXT, "labels": ["x"], "id": "same"}] * 2
    assert "same id" in error_of(shared.post("/add", {"new_labels": True, "documents": same}, headers=BEARER), 422)
    assert "documents" in error_of(shared.post("/add", {"new_labels": True, "documents": []}, headers=BEARER), 422)
    assert "ids" in error_of(shared.post("/forget", {"ids": []}, headers=BEARER), 422)


# Refusals


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "either text or texts"),
        ({"text": "a", "texts": ["b"]}, "either text or texts"),
        ({"text": None}, "text"),
        ({"text": 5}, "text: Input should be a valid string"),
        ({"texts": "abc"}, "texts"),
        ({"texts": ["a", 5]}, r"texts\.1"),
        ({"text": "a", "k": 0}, "k: "),
        ({"text": "a", "k": 101}, "k: "),
        ({"text": "a", "k": "5"}, "k: "),
        ({"text": "a", "k": True}, "k: "),
        ({"text": "a", "threshold": 1.5}, "threshold"),
        ({"text": "a", "threshold": "best"}, "threshold"),
        ({"text": "a", "threshold": True}, r"threshold: .*; threshold: "),
        ({"text": "a", "threshold": "precision=0.99"}, "precision of 0.99 was not reached"),
        ({"text": "a", "kk": 5}, "kk"),
        ([], "valid dictionary|object"),
        ("text", "valid dictionary|object"),
    ],
)
def test_a_request_of_another_shape(shared, body, words):
    assert re.search(words, error_of(shared.post("/tag", content=json.dumps(body), headers=JSON), 422))


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b'{"text": "a"', b"\xff\xfe", b'{"text": "\\ud800"}', b'{"text": "\xed\xa0\x80"}', b"[" * 5000],
)
def test_what_is_no_json(shared, content):
    assert "JSON" in error_of(shared.post("/tag", content=content, headers=JSON), 400)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000])
def test_numbers_that_are_none(shared, number):
    for field in ("k", "threshold"):
        answer = shared.post("/tag", content=f'{{"text": "a", "{field}": {number}}}', headers=JSON)
        assert answer.status_code in (400, 422), answer.text
        assert list(answer.json()) == ["error"]


def test_the_body_must_be_said_to_be_json(shared):
    for headers in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"}):
        assert "application/json" in error_of(shared.post("/tag", content=b'{"text": "a"}', headers=headers), 415)
    fine = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert shared.post("/tag", content=b'{"text": "a"}', headers=fine).status_code == 200


def test_paths_and_methods_that_there_are_not(shared):
    assert "/openapi.json" in error_of(shared.get("/nowhere"), 404)
    assert "GET" in error_of(shared.get("/tag"), 405)
    assert error_of(shared.post("/health", {}), 405)
    assert error_of(shared.get("/page/../app.py"), 404)
    assert error_of(shared.get("/page/%2e%2e/app.py"), 404)


def test_limits_are_told(limited):
    client = limited(max_body=1000, max_texts=3, max_characters=100)
    large = {"text": "a" * 2000}
    assert "1000 bytes" in error_of(client.post("/tag", large), 413)
    assert "--max-body" in error_of(client.post("/tag", content=_pieces(b"x" * 100, 20), headers=JSON), 413)
    assert "more than 3" in error_of(client.post("/tag", {"texts": ["a"] * 4}), 422)
    assert "more than 3" in error_of(client.post("/forget", {"ids": ["a"] * 4}, headers=BEARER), 422)
    documents = [{"text": "a", "labels": ["b"]}] * 4
    assert "more than 3" in error_of(client.post("/add", {"documents": documents}, headers=BEARER), 422)
    for path in ("/tag", "/explain", "/map"):
        assert "101 characters" in error_of(client.post(path, {"text": "a" * 101}), 422)
    assert "text 1 of texts" in error_of(client.post("/tag", {"texts": ["a", "a" * 101]}), 422)
    assert client.post("/tag", {"texts": ["a" * 100] * 3}).status_code == 200


async def _pieces(piece, count, pause=0.0):
    import asyncio

    for _ in range(count):
        yield piece
        await asyncio.sleep(pause)


def test_a_body_that_does_not_come(limited):
    client = limited(max_seconds=0.3)
    assert "0.3 seconds" in error_of(client.post("/tag", content=_pieces(b" ", 100, 0.1), headers=JSON), 408)


def test_what_takes_too_long_and_what_is_too_many(folder, monkeypatch):
    monkeypatch.setattr(FollowedModel, "predict", lambda self, texts, k: time.sleep(1.5) or [[] for _ in texts])
    client = Client(folder, Settings(max_seconds=0.5, max_waiting=3))
    answers = client.together([("POST", "/tag", {"json": {"text": TEXT}})] * 5)
    late = [answer for answer in answers if "longer than 0.5 seconds" in answer.json().get("error", "")]
    busy = [answer for answer in answers if "under way" in answer.json().get("error", "")]
    assert (len(late), len(busy)) == (3, 2)
    for answer in answers:
        assert "try again" in error_of(answer, 503)
        assert int(answer.headers["retry-after"]) > 0
    assert client.get("/health").status_code == 200
    client.close()


def test_only_names_that_are_allowed(limited):
    client = limited(hosts=("localhost", "127.0.0.1", "::1"))
    for host in ("localhost:8000", "127.0.0.1", "LOCALHOST", "[::1]:80"):
        assert client.get("/health", headers={"Host": host}).status_code == 200
    for host in ("evil.example", "", "localhost.evil.example:8000"):
        assert "--allow-host" in error_of(client.get("/health", headers={"Host": host}), 421)


def test_a_bug_is_told_without_telling_more(folder, monkeypatch):
    client = Client(folder)
    monkeypatch.setattr(type(client.model), "health", lambda self: 1 / 0)
    assert "bug" in error_of(client.get("/health"), 500)
    client.close()


def test_a_text_that_fails_harms_nobody_else(folder, monkeypatch):
    plain = FollowedModel.predict

    def picky(self, texts, k):
        if "bad" in texts:
            raise ZeroDivisionError
        time.sleep(0.05)
        return plain(self, texts, k)

    monkeypatch.setattr(FollowedModel, "predict", picky)
    client = Client(folder)
    answers = client.together([("POST", "/tag", {"json": {"text": text}}) for text in ["a", "b", "bad", "c", "d"]])
    assert [answer.status_code for answer in answers] == [200, 200, 500, 200, 200]
    client.close()


def test_a_model_that_has_no_voters(tmp_path, trained):
    from neartag.comparators.knn.classifier import KNNClassifier

    texts, _, names = corpus()
    X = trained.stored.features.transform(texts)
    model = KNNClassifier(n_jobs=1).fit(X, trained.stored.model.Y).model_
    known = {"label_names": trained.labels, "point_names": names, "features": trained.stored.features}
    store.save(model, tmp_path / "knn", **known)
    client = Client(tmp_path / "knn")
    assert len(labels_of(client.post("/tag", {"text": TEXT}))) == 5
    assert client.get("/labels").json()["total"] == len(trained.labels)
    assert client.get("/health").json()["model"]["kind"] == "knn"
    for path in ("/explain", "/map"):
        assert "'knn'" in error_of(client.post(path, {"text": TEXT}), 409)
    assert "'knn'" in error_of(client.post("/forget", {"ids": [names[0]]}, headers=BEARER), 409)
    assert "calibrated" in error_of(client.post("/tag", {"text": TEXT, "threshold": "f1"}), 422)
    assert client.get("/health").json()["ok"]
    client.close()


# The folder


def _document(text, label, name):
    from neartag.data.documents import Document

    return Document(text, [label], name, None, "")


def test_what_others_write_is_taken_in(client, folder):
    version = client.get("/health").json()["model"]["version"]
    other = LiveTagger(folder)
    other.add([_document(TEXT, "others::label", "o1")])
    assert client.model.refresh()
    assert not client.model.refresh()
    assert "others::label" in labels_of(client.post("/tag", {"text": TEXT}))
    assert client.get("/health").json()["model"]["version"] != version
    other.forget(["o1"])
    assert client.model.refresh()
    assert "others::label" not in labels_of(client.post("/tag", {"text": TEXT}))
    assert POLL_SECONDS <= 0.25, "four looks a second at least"


def test_what_others_forget_is_gone_here_though_the_files_are_as_before_it_came(client, folder):
    other, label = LiveTagger(folder), corpus()[1][0][0]  # a label that there is: the folder is then as it was
    before = manifest.read_manifest(folder)
    other.add([_document(TEXT, label, "gone")])
    assert client.model.refresh()
    assert "gone" in client.model.tagger
    other.forget(["gone"])
    assert manifest.read_manifest(folder).files == before.files  # only the generation tells
    assert client.model.refresh()
    assert "gone" not in client.model.tagger
    assert client.get("/health").json()["points"] == POINTS


def test_a_model_that_is_replaced_is_served(client, folder):
    texts, tags, names = corpus()
    train(embedding_dim=8).save(folder)
    assert client.model.refresh()
    smaller = TextTagger(calibration=None).fit(texts[:50], tags[:50], names[:50])
    smaller.save(folder)
    assert client.model.refresh()
    health = client.get("/health").json()
    assert (health["points"], health["ok"], health["model"]["calibrated"]) == (50, True, False)
    assert client.post("/tag", {"text": texts[3]}).status_code == 200


@pytest.mark.parametrize("request_", [("/forget", {"ids": ["nobody"]}, 404), ("/add", None, 409)])
def test_a_refused_change_serves_what_others_have_written(client, folder, request_):
    path, body, status = request_
    names = corpus()[2]
    other = LiveTagger(folder)
    other.add([Document(TEXT, ["of another process"], "theirs", None, "")])
    assert client.get("/health").json()["lag_seconds"] > 0
    # Refused, but it has looked at the folder: what it saw there must not be lost to those who ask next.
    body = body or {"documents": [{"id": names[0], "text": TEXT, "labels": corpus()[1][0]}]}
    error_of(client.post(path, body, headers=BEARER), status)
    health = client.get("/health").json()
    assert (health["points"], health["lag_seconds"]) == (POINTS + 1, 0.0)
    assert "theirs" in client.model.tagger


def test_a_broken_replacement_keeps_the_old_model(client, folder):
    before = labels_of(client.post("/tag", {"text": TEXT}))
    sound = (folder / "model.json").read_bytes()
    (folder / "model.json").write_bytes(sound[:-20])
    assert not client.model.refresh()
    health = client.get("/health")
    assert health.status_code == 200
    assert health.json()["ok"] is False
    assert "JSON" in health.json()["reload_error"]
    assert labels_of(client.post("/tag", {"text": TEXT})) == before
    body = {"new_labels": True, "documents": [{"text": TEXT, "labels": ["x"]}]}
    assert "JSON" in error_of(client.post("/add", body, headers=BEARER), 503)
    assert (folder / "model.json").read_bytes() == sound[:-20], "what is broken is not made worse"
    (folder / "model.json").write_bytes(sound)
    assert client.model.refresh()
    assert client.get("/health").json()["ok"] is True
    assert client.post("/add", body, headers=BEARER).status_code == 200


def test_a_file_of_the_replacement_is_missing_for_a_while(client, folder):
    train(embedding_dim=8).save(folder)
    (file,) = folder.glob("learner-000.*.safetensors")
    kept = file.read_bytes()
    file.unlink()
    body = {"new_labels": True, "documents": [{"text": TEXT, "labels": ["x"]}]}
    # Without a look before: the change itself finds out, and the next one must not take the folder for the old model's.
    for _ in range(3):
        assert "missing" in error_of(client.post("/add", body, headers=BEARER), 503)
    assert not client.model.refresh()
    assert "missing" in client.get("/health").json()["reload_error"]
    file.write_bytes(kept)
    assert not client.model.refresh(), "it is tried again after a while only"
    client.model.retry_seconds = 0.0
    assert client.model.refresh()
    assert client.get("/health").json()["ok"] is True
    assert client.post("/add", body, headers=BEARER).status_code == 200
    assert len(TextTagger.load(folder)) == POINTS + 1


def test_a_folder_that_is_gone_for_a_while(client, folder):
    moved = folder.rename(folder.with_name("moved"))
    assert not client.model.refresh()
    assert not client.get("/health").json()["ok"]
    assert client.post("/tag", {"text": TEXT}).status_code == 200
    moved.rename(folder)
    assert client.model.refresh()
    assert client.get("/health").json()["ok"]


# What is told about itself


def test_health(shared, trained):
    answer = shared.get("/health").json()
    schemas.Health.model_validate(answer)
    assert answer["ok"] is True
    assert answer["points"] == POINTS
    assert answer["labels"] == len(trained.labels)
    assert answer["neartag"] == __version__
    assert answer["writable"] is True


def samples_of(text):
    """Return the samples of Prometheus's text by name and labels, every line of it read."""
    found, kinds = {}, {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# "):
            word, name, rest = line[2:].split(" ", 2)
            assert word in ("HELP", "TYPE")
            if word == "TYPE":
                assert name not in kinds
                kinds[name] = rest
            continue
        name, labels, value = re.fullmatch(r"([a-z_]+)\{((?:[a-z]+=\"[^\"\\]*\",?)*)\} (\S+)", line).groups()
        assert name in kinds or re.sub(r"_(bucket|sum|count)$", "", name) in kinds
        pairs = tuple(sorted(re.findall(r'([a-z]+)="([^"]*)"', labels)))
        assert (name, pairs) not in found
        found[name, pairs] = float(value)
    return found


def test_metrics(folder):
    client = Client(folder)
    for _ in range(3):
        client.post("/tag", {"text": TEXT})
    client.post("/tag", {"texts": [TEXT] * 5})
    client.post("/tag", {})
    client.get("/made/up")
    client.get("/made/up/too")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = {
        (name, *(pair for pair in labels if pair[0] != "pid")): value
        for (name, labels), value in samples_of(answer.text).items()
    }
    assert found["neartag_requests_total", ("path", "/tag"), ("status", "200")] == 4
    assert found["neartag_requests_total", ("path", "/tag"), ("status", "422")] == 1
    assert found["neartag_requests_total", ("path", "other"), ("status", "404")] == 2
    assert found["neartag_request_seconds_count", ("path", "/tag")] == 5
    assert found["neartag_request_seconds_bucket", ("le", "+Inf"), ("path", "/tag")] == 5
    assert found["neartag_batch_texts_count",] == 4
    assert found["neartag_batch_texts_sum",] == 8
    assert found["neartag_batch_texts_bucket", ("le", "4")] == 3
    assert found["neartag_model_points",] == POINTS
    assert found["neartag_requests_under_way",] == 1, "the one that asks"
    assert found["neartag_model_stale",] == 0
    buckets = [value for key, value in found.items() if key[0] == "neartag_request_seconds_bucket" and "/tag" in key[2]]
    assert buckets == sorted(buckets)
    client.close()


def test_openapi_tells_all(shared):
    document = shared.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {
        *("/tag", "/explain", "/map", "/add", "/forget", "/labels", "/documents", "/health", "/metrics"),
        *("/tag-file", "/review", "/review-file", "/doubts", "/changes/{id}"),
    }
    names = set(document["components"]["schemas"])
    for reference in re.findall(r'"\$ref": ?"#/components/schemas/(\w+)"', json.dumps(document)):
        assert reference in names
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert operation["summary"]
            assert {"200", "500"} <= set(operation["responses"])
            if path in ("/tag", "/explain", "/map", "/add", "/forget"):
                assert {"400", "413", "415", "422", "503"} <= set(operation["responses"])
                body = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
                schema = getattr(schemas, body)
                for example in document["components"]["schemas"][body]["examples"]:
                    schema.model_validate(example)
    assert document["paths"]["/add"]["post"]["security"] == [{"token": []}]


def test_examples_in_the_description_fit_their_schemas():
    for schema in vars(schemas).values():
        extra = getattr(schema, "model_config", {}).get("json_schema_extra") or {}
        for example in extra.get("examples", []):
            schema.model_validate_json(json.dumps(example))


def test_examples_can_be_asked(client):
    paths = {"/tag": schemas.TagRequest, "/explain": schemas.ExplainRequest, "/map": schemas.MapRequest}
    for path, schema in paths.items():
        for example in schema.model_config["json_schema_extra"]["examples"]:
            assert client.post(path, example).status_code == 200
    for path, shape in (("/add", schemas.AddRequest), ("/forget", schemas.ForgetRequest)):
        for example in shape.model_config["json_schema_extra"]["examples"]:
            assert client.post(path, example, headers=BEARER).status_code == 200


def test_headers_of_every_answer(shared):
    for answer in (shared.get("/health"), shared.get("/nowhere"), shared.post("/tag", {}), shared.get("/")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert int(answer.headers["x-neartag-pid"]) > 0
    assert shared.get("/health").headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_a_page_loads_only_files_of_the_package(shared, path):
    answer = shared.get(path)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == page_files.POLICY
    assert "unsafe" not in page_files.POLICY
    assert re.findall(r"<script[^>]*>(?!</script>)|<style|\son\w+=|\sstyle=", answer.text) == []
    loaded = re.findall(r'(?:src|href)="(page/[^"]+)"', answer.text)
    assert loaded
    seen = set()
    while set(loaded) - seen:  # what modules import, too
        (name, *_) = set(loaded) - seen
        file = shared.get(f"/{name}")
        assert file.status_code == 200
        assert file.headers["content-security-policy"] == page_files.POLICY
        loaded += [f"page/{each}" for each in re.findall(r'from "\./([^"]+)"', file.text)]
        seen.add(name)
    assert shared.run(shared.send("HEAD", path)).status_code == 200
    same = shared.get(path, headers={"If-None-Match": answer.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")


def test_every_file_of_the_page_is_served(shared):
    kinds = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
    names = [path.name for path in (Path(page_files.__file__).parent / "page").iterdir()]
    assert set(page_files.load_files()) == set(names)
    for name in names:
        answer = shared.get(f"/page/{name}")
        assert answer.headers["content-type"] == kinds.get(Path(name).suffix, "text/html; charset=utf-8")
    assert shared.get("/favicon.ico").headers["content-type"] == "image/svg+xml"
