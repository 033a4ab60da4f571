"""Changes over HTTP: made once, found by their ids, refused without waiting; and what the logs say of them."""

from __future__ import annotations

import json
import logging
import logging.config
import threading
import time

import pytest

pytest.importorskip("fastapi")

from neartag.serve import change_queue, limits, logs
from neartag.serve.followed_model import FollowedModel
from neartag.serve.settings import Settings
from neartag.storage.change_log import ChangeLog
from neartag.storage.location import CHANGE_LOG
from neartag.storage.locking import lock
from neartag.tagging.live import LiveTagger
from serve_helpers import BEARER, POINTS, Client, corpus, error_of, train

LABEL = corpus()[1][0][0]
MARKER = "zanzibarian"


@pytest.fixture
def folder(tmp_path):
    train().save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def client(folder):
    made = Client(folder)
    yield made
    made.close()


def one(name=None, text="a chess program", **more):
    return {"documents": [{"text": text, "labels": [LABEL], **({"id": name} if name else {})}], **more}


def with_id(name, header="X-Request-Id"):
    return {**BEARER, header: name}


def points(client):
    return client.get("/health").json()["points"]


@pytest.mark.parametrize("header", ["X-Request-Id", "Idempotency-Key"])
def test_a_change_is_made_once(client, header):
    first = client.post("/add", one(), headers=with_id("r-1", header))
    again = client.post("/add", one(), headers=with_id("r-1", header))
    assert first.json() == again.json()
    assert first.headers["x-request-id"] == "r-1"
    assert points(client) == POINTS + 1
    told = client.get("/changes/r-1", headers=BEARER).json()
    assert (told["state"], told["what"], told["answer"]) == ("made", "add", first.json())
    name = first.json()["ids"][0]
    for _ in range(2):
        assert client.post("/forget", {"ids": [name]}, headers=with_id("r-2", header)).json() == {"forgotten": 1}
    assert client.get("/changes/r-2", headers=BEARER).json()["answer"] == {"forgotten": 1}
    assert points(client) == POINTS


def test_a_change_without_an_id_gets_one(client):
    name = client.post("/add", one("x"), headers=BEARER).headers["x-request-id"]
    assert client.get(f"/changes/{name}", headers=BEARER).json()["answer"]["ids"] == ["x"]


def test_sent_again_with_its_own_id_a_document_is_not_there_already(client):
    for _ in range(3):
        assert client.post("/add", one("x"), headers=with_id("r")).json()["ids"] == ["x"]
    error_of(client.post("/add", one("x"), headers=with_id("s")), 409)
    assert client.get("/changes/s", headers=BEARER).status_code == 404


def test_an_id_that_is_another_changes(client):
    client.post("/add", one("x"), headers=with_id("r"))
    for path, body in (("/add", one("y")), ("/add", one("x", text="another")), ("/forget", {"ids": ["x"]})):
        assert "id of its own" in error_of(client.post(path, body, headers=with_id("r")), 409)
    assert points(client) == POINTS + 1


@pytest.mark.parametrize("name", ["two words", "a/b", "..", "ü", "x" * 129, "a\tb", "-a", '"', "a,b", "%00"])
def test_ids_that_are_none(client, name):
    sent = {**BEARER, "X-Request-Id": name.encode("latin-1")}
    assert "1 to 128 letters" in error_of(client.post("/add", one("x"), headers=sent), 422)
    assert points(client) == POINTS


def test_quotes_around_an_id_are_none_of_it(client):
    client.post("/add", one("x"), headers=with_id('"r"', "Idempotency-Key"))
    assert client.get("/changes/r", headers=BEARER).json()["state"] == "made"


def test_ids_that_nobody_gave(client):
    assert "was made so far" in error_of(client.get("/changes/nobody", headers=BEARER), 404)
    for name in ("a%20b", "%2e%2e%2fx", "x" * 200, "a%00"):
        assert client.get(f"/changes/{name}", headers=BEARER).status_code in (404, 422)
    several = [("X-Request-Id", "a"), ("X-Request-Id", "b"), *BEARER.items()]
    assert "several X-Request-Id" in error_of(client.post("/add", one("x"), headers=several), 400)


def test_ids_outlive_the_server(folder):
    client = Client(folder)
    first = client.post("/add", one(), headers=with_id("r")).json()
    client.close()
    client = Client(folder)
    assert client.get("/changes/r", headers=BEARER).json()["answer"] == first
    assert client.post("/add", one(), headers=with_id("r")).json() == first
    client.close()


def test_a_worker_killed_between_its_write_and_its_answer(folder, client, monkeypatch):
    """The line that says that a change was made is missing: any worker finds out."""
    monkeypatch.setattr(ChangeLog, "settle", lambda self, made=None: None)
    first = client.post("/add", one(), headers=with_id("r")).json()
    monkeypatch.undo()
    other = Client(folder)
    with lock(folder):
        assert other.get("/changes/r", headers=BEARER).json()["state"] == "under way"
    assert other.get("/changes/r", headers=BEARER).json() == {
        **{"id": "r", "state": "made", "what": "add", "answer": first},
        "time": other.get("/changes/r", headers=BEARER).json()["time"],
    }
    assert other.post("/add", one(), headers=with_id("r")).json() == first
    other.close()


def test_many_changes_at_once_are_few_writes(folder, client):
    requests = [("POST", "/add", {"json": one(f"d{number}"), "headers": BEARER}) for number in range(60)]
    requests += [("POST", "/forget", {"json": {"ids": [name]}, "headers": BEARER}) for name in corpus()[2][:5]]
    answers = client.together(requests)
    assert {answer.status_code for answer in answers} == {200}
    assert points(client) == POINTS + 55
    lines = (folder / CHANGE_LOG).read_text().splitlines()
    assert sum('"made"' in line for line in lines) < 20
    assert len(LiveTagger(folder).tagger) == POINTS + 55


def test_what_is_refused_does_not_wait_for_a_writer(folder, client):
    with lock(folder):
        error_of(client.post("/forget", {"ids": ["nobody"]}, headers=BEARER), 404)
        error_of(client.post("/add", one(corpus()[2][0]), headers=BEARER), 409)
        odd = {"documents": [{"text": "x", "labels": ["never::seen"]}]}
        assert "new_labels" in error_of(client.post("/add", odd, headers=BEARER), 409)


def test_what_others_added_is_no_reason_to_refuse(folder, client):
    """This worker has not looked at the folder since."""
    other = Client(folder)
    other.post("/add", one("x"), headers=BEARER)
    assert client.post("/forget", {"ids": ["x"]}, headers=BEARER).json() == {"forgotten": 1}
    other.close()


def test_a_change_that_did_not_begin_in_time_is_not_made(folder):
    client = Client(folder, Settings(max_seconds=0.3))
    with lock(folder):
        answer = client.post("/add", one("x"), headers=with_id("r"))
        assert "was not made" in error_of(answer, 503)
        assert answer.headers["retry-after"]
    time.sleep(0.1)
    assert client.get("/changes/r", headers=BEARER).status_code == 404
    assert points(client) == POINTS
    assert client.post("/add", one("x"), headers=with_id("r")).status_code == 200
    client.close()


def test_a_change_that_was_begun_is_waited_for(folder, monkeypatch):
    plain = LiveTagger.commit
    monkeypatch.setattr(LiveTagger, "commit", lambda *given, **more: time.sleep(0.3) or plain(*given, **more))
    client = Client(folder, Settings(max_seconds=0.1))
    assert client.post("/add", one("x"), headers=BEARER).json()["ids"] == ["x"]
    monkeypatch.setattr(limits, "CHANGE_GRACE_SECONDS", 0.1)
    assert "GET /changes/r tells" in error_of(client.post("/add", one("y"), headers=with_id("r")), 503)
    deadline = time.monotonic() + 60
    while client.get("/changes/r", headers=BEARER).json().get("state") != "made":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    client.close()


def test_a_write_that_fails_is_told_and_nothing_is_made(folder, client, monkeypatch):
    def full(*given, **more):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(ChangeLog, "begin", full)
        answers = client.together([("POST", "/add", {"json": one(f"d{n}"), "headers": BEARER}) for n in range(5)])
    for answer in answers:
        assert "No space left" in error_of(answer, 503)
        assert "not made" in answer.json()["error"]
    assert points(client) == POINTS
    assert client.post("/add", one("d0"), headers=BEARER).status_code == 200


def test_a_bug_in_a_write_ends_no_other(folder, client, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(LiveTagger, "commit", lambda *given, **more: 1 / 0)
        error_of(client.post("/add", one("x"), headers=BEARER), 500)
    assert client.post("/add", one("x"), headers=BEARER).status_code == 200


def test_a_write_takes_only_so_much(folder, client, monkeypatch):
    monkeypatch.setattr(change_queue, "MAX_CHANGES", 3)
    requests = [("POST", "/add", {"json": one(f"d{number}"), "headers": BEARER}) for number in range(20)]
    assert {answer.status_code for answer in client.together(requests)} == {200}
    begun = 0
    for line in map(json.loads, (folder / CHANGE_LOG).read_text().splitlines()):
        begun = begun + 1 if "request" in line else 0
        assert begun <= 3


def test_writers_take_turns(folder):
    """One that writes again and again does not keep out another."""
    ended, turns = threading.Event(), []

    def hog():
        while not ended.is_set():
            with lock(folder):
                time.sleep(0.02)

    hogs = [threading.Thread(target=hog) for _ in range(2)]
    for each in hogs:
        each.start()
    for _ in range(5):
        with lock(folder, timeout=30):
            turns.append(1)
    ended.set()
    for each in hogs:
        each.join()
    assert len(turns) == 5


def test_the_log_of_changes_names_who_and_which_and_no_text(folder, tmp_path):
    (tmp_path / "tokens").write_text("anna write a-secret-of-anna\nben write a-secret-of-ben\n")
    client = Client(folder, Settings(token_file=str(tmp_path / "tokens")))
    for name in ("anna", "ben"):
        bearer = {"Authorization": f"Bearer a-secret-of-{name}", "X-Request-Id": "r"}
        assert client.post("/add", one(f"of-{name}", f"{MARKER} words"), headers=bearer).json()["ids"] == [f"of-{name}"]
        assert client.get("/changes/r", headers=bearer).json()["answer"]["ids"] == [f"of-{name}"]
    client.close()
    content = (folder / CHANGE_LOG).read_text()
    told = [line for line in map(json.loads, content.splitlines()) if "who" in line]
    assert [(line["who"], line["documents"], line["request"]) for line in told] == [
        ("anna", ["of-anna"], "r"),
        ("ben", ["of-ben"], "r"),
    ]
    assert MARKER not in content
    assert "secret" not in content


@pytest.mark.parametrize("style", ["text", "json"])
def test_no_log_has_a_text(folder, capsys, monkeypatch, style):
    plain = FollowedModel.predict

    def picky(self, texts, k):
        if any("fail" in text for text in texts):
            raise ValueError(f"cannot answer {texts}")
        return plain(self, texts, k)

    monkeypatch.setattr(FollowedModel, "predict", picky)
    logging.config.dictConfig(logs.make_config(style))
    root = logging.getLogger()
    handler = root.handlers[-1]
    try:
        client = Client(folder, Settings(log_requests=True, log_format=style))
        client.post("/tag", {"text": MARKER})
        client.post("/explain", {"text": MARKER})
        client.post("/tag", {"text": 5, MARKER: MARKER})
        client.post("/tag", content=MARKER.encode(), headers={"Content-Type": "application/json"})
        client.get(f"/documents?query={MARKER}")
        client.get(f"/{MARKER}", headers={"X-Request-Id": f"{MARKER} two"})
        client.run(client.send(MARKER.upper(), "/tag"))
        client.post("/add", one("x", MARKER), headers=with_id("r"))
        error_of(client.post("/tag", {"text": f"fail {MARKER}"}), 500)
        logging.getLogger("neartag.serve").exception("it failed", exc_info=ValueError(MARKER))
        client.close()
    finally:
        root.removeHandler(handler)
    told = capsys.readouterr().err
    assert MARKER not in told.lower()
    assert MARKER not in (folder / CHANGE_LOG).read_text()
    assert "id=r" in told or '"id": "r"' in told
    if style == "json":
        lines = [json.loads(line) for line in told.splitlines()]
        assert {"time", "method", "path", "status", "ms", "id"} <= set(lines[0])
        assert lines[-1]["message"] == "it failed"
        assert lines[-1]["traceback"] == ["builtins.ValueError"]


@pytest.mark.parametrize(
    "body",
    [
        '{"text": "a", "text": "b"}',
        '{"k": 1, "text": "a", "k": 2}',
        '{"text": "a", "te\\u0078t": "b"}',
    ],
)
def test_a_key_that_is_given_twice(client, body):
    sent = {"content": body, "headers": {"Content-Type": "application/json"}}
    assert "given twice" in error_of(client.post("/tag", **sent), 422)


def test_a_key_given_twice_within(client):
    body = '{"documents": [{"text": "a", "labels": ["x"], "labels": ["y"]}]}'
    sent = {"content": body, "headers": {**BEARER, "Content-Type": "application/json"}}
    assert "'labels' is given twice" in error_of(client.post("/add", **sent), 422)
