"""Who may read and who may change, how often a client may ask, and by which address it is known."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")

from neartag.core.errors import ParameterError
from neartag.serve.access import Access
from neartag.serve.clients import MAX_CLIENTS, RateLimit, check_proxies, find_client
from neartag.serve.settings import Settings
from serve_helpers import BEARER, TOKEN, Client, error_of, train

READER = {"Authorization": "Bearer a-token-of-readers"}
TAG = {"text": "a chess program"}


@pytest.fixture(autouse=True)
def no_tokens(monkeypatch):
    monkeypatch.delenv("NEARTAG_TOKEN", raising=False)
    monkeypatch.delenv("NEARTAG_READ_TOKEN", raising=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("access") / "model"
    train().save(place)
    return place


@pytest.fixture
def make_client(folder):
    made = []

    def make(**settings):
        made.append(Client(folder, Settings(**settings)))
        return made[-1]

    yield make
    for client in made:
        client.close()


def tokens_of(tmp_path, content, **more):
    (tmp_path / "token").write_text(content)
    return Access.from_settings(Settings(token_file=str(tmp_path / "token"), **more))


def test_tokens_from_the_environment_and_from_files(tmp_path, monkeypatch):
    assert not Access.from_settings(Settings()).writable
    monkeypatch.setenv("NEARTAG_TOKEN", "from-the-environment")
    access = Access.from_settings(Settings())
    assert access.find(b"Bearer from-the-environment").name == "write"
    assert access.find(b"bearer  from-the-environment ").name == "write"
    for wrong in (
        b"",
        b"Bearer",
        b"Bearer ",
        b"Bearer from-the-environmen",
        b"Basic from-the-environment",
        b"\xff \xfe",
    ):
        assert access.find(wrong) is None
    assert "environment" not in repr(access.tokens)
    assert not access.reading_needs_token
    assert tokens_of(tmp_path, "  from-the-file\n").find(b"Bearer from-the-file").role == "write"
    monkeypatch.setenv("NEARTAG_READ_TOKEN", "for-reading")
    assert Access.from_settings(Settings()).reading_needs_token


def test_several_tokens_with_names_and_roles(tmp_path):
    access = tokens_of(tmp_path, "# who  may\nanna write first-secret\n\nben read second-secret\n")
    assert [(each.name, each.role) for each in access.tokens] == [("anna", "write"), ("ben", "read")]
    assert access.find(b"Bearer second-secret").name == "ben"
    assert access.reading_needs_token


@pytest.mark.parametrize("content", ["", "short", "with a space in it", "ünïcödé-token", "two\nlines-of-it"])
def test_a_token_that_is_none(tmp_path, content):
    with pytest.raises(ParameterError, match=r"token in .*token must be") as found:
        tokens_of(tmp_path, content)
    assert not content or content not in str(found.value), "no part of a secret is told"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("anna admin first-secret", "ROLE"),
        ("an/na read first-secret", "ROLE"),
        ("anna read first-secret\nanna write second-secret", "two tokens are named anna"),
        ("anna read same-secret\nben write same-secret", "ben is the same"),
    ],
)
def test_tokens_that_cannot_be_used(tmp_path, content, told):
    with pytest.raises(ParameterError, match=told) as found:
        tokens_of(tmp_path, content)
    assert "secret" not in str(found.value).replace("its own secret", "")


def test_a_token_on_the_command_line_is_not_repeated():
    with pytest.raises(ParameterError, match="name of a file") as found:
        Access.from_settings(Settings(read_token_file="my-real-token"))
    assert "my-real-token" not in str(found.value)


def test_reading_that_needs_a_token(make_client, monkeypatch):
    monkeypatch.setenv("NEARTAG_READ_TOKEN", "a-token-of-readers")
    client = make_client()
    for method, path, body in (
        *(("POST", path, TAG) for path in ("/tag", "/explain", "/map")),
        *(("GET", path, None) for path in ("/labels", "/documents", "/metrics")),
        ("POST", "/doubts", {}),
    ):
        answers = [client.run(client.send(method, path, json=body, headers=each)) for each in ({}, READER, BEARER)]
        assert [answer.status_code for answer in answers] == [401, 200, 200], path
        assert answers[0].headers["www-authenticate"] == "Bearer"
    assert client.post("/tag-file?name=a.csv", content=b"text\nx\n").status_code == 415
    sent = {"content": b"text\nx\n", "headers": {"Content-Type": "application/octet-stream"}}
    assert client.post("/tag-file?name=a.csv", **sent).status_code == 401
    for path in ("/", "/docs", "/openapi.json", "/page/main.js", "/favicon.ico"):
        assert client.get(path).status_code == 200, path
    assert client.get("/health").json() == {"ok": True, "needs_token": True}
    assert client.get("/health", headers=READER).json()["points"] > 0
    for change in ("/add", "/forget"):
        assert "reading only" in error_of(client.post(change, {}, headers=READER), 403)
        error_of(client.post(change, {}), 401)
    error_of(client.get("/changes/1", headers=READER), 403)
    error_of(client.get("/changes/1"), 401)


def test_reading_without_a_token(make_client):
    client = make_client()
    assert client.post("/tag", TAG).status_code == 200
    assert client.get("/health").json()["needs_token"] is False


def test_two_tokens_in_a_request(make_client):
    client = make_client()
    twice = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer another-token")]
    assert "several Authorization" in error_of(client.post("/add", {}, headers=twice), 400)


def test_requests_of_a_client_are_limited(make_client):
    client = make_client(rate_limit=2)
    answers = [client.post("/tag", TAG) for _ in range(20)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(refused) >= 10
    assert {answer.status_code for answer in answers} == {200, 429}
    assert "2 requests a second" in error_of(refused[0], 429)
    assert int(refused[0].headers["retry-after"]) >= 1
    assert client.get("/health").status_code == 200
    assert client.get("/").status_code == 200


def test_the_rate_of_each_client():
    now = [0.0]
    limit = RateLimit(2, lambda: now[0])
    assert [limit.count("a") for _ in range(6)] == [0, 0, 0, 0, 1, 1]
    assert limit.count("b") == 0
    now[0] = 0.5
    assert [limit.count("a"), limit.count("a")] == [0, 1]
    now[0] = 1000.0
    assert [limit.count("a") for _ in range(5)] == [0, 0, 0, 0, 1]
    slow = RateLimit(0.1, lambda: now[0])
    assert [slow.count("a"), slow.count("a")] == [0, 10]


def test_clients_are_forgotten(monkeypatch):
    limit = RateLimit(1)
    for number in range(MAX_CLIENTS + 10):
        limit.count(str(number))
    assert len(limit._left) == MAX_CLIENTS


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.1", b"", "192.0.2.1"),
        ("192.0.2.1", b"203.0.113.9", "192.0.2.1"),  # anybody can send this header
        ("127.0.0.1", b"203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", b"1.2.3.4, 203.0.113.9", "203.0.113.9"),  # what stands before, the client wrote itself
        ("127.0.0.1", b"203.0.113.9, 10.0.0.1", "203.0.113.9"),
        ("127.0.0.1", b"203.0.113.9:4711", "203.0.113.9"),
        ("127.0.0.1", b"[2001:db8::1]:4711", "2001:db8::/64"),
        ("127.0.0.1", b"", "127.0.0.1"),
        ("127.0.0.1", b"rubbish, \xff", "127.0.0.1"),
        ("2001:db8:0:0:1::5", b"", "2001:db8::/64"),
        ("::ffff:192.0.2.1", b"", "192.0.2.1"),
        ("::ffff:127.0.0.1", b"203.0.113.9", "203.0.113.9"),
        ("fe80::1%eth0", b"", "fe80::/64"),
        ("", b"", ""),
    ],
)
def test_the_address_of_a_client(peer, forwarded, client):
    assert find_client(peer, forwarded, ("127.0.0.1", "10.0.0.1")) == client


def test_proxies_and_limits_that_are_none():
    with pytest.raises(ParameterError, match="--trust-proxy"):
        check_proxies(["localhost"])
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ParameterError, match="--rate-limit"):
            Settings(rate_limit=wrong)
    with pytest.raises(ParameterError, match="--log-format"):
        Settings(log_format="xml")
