"""Clients that open connections and send no request, or half of one, or too much of it: on a real server."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest

pytest.importorskip("httptools")

import uvicorn

from neartag.serve import guarded_protocol
from neartag.serve.guarded_protocol import AcceptErrors, GuardedProtocol, max_connections

REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


async def tell_host(scope, receive, send):
    hosts = [value.decode() for name, value in scope["headers"] if name == b"host"]
    body = json.dumps(hosts).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def port():
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(tell_host, http=GuardedProtocol, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join()


@contextmanager
def connected(port):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        yield client


def read_answer(client):
    """Return status and body of one answer that ends with its connection, or that is whole."""
    content = b""
    while not (b"\r\n\r\n" in content and content.endswith((b"]", b"}"))):
        piece = client.recv(65536)
        if not piece:
            break
        content += piece
    head, _, body = content.partition(b"\r\n\r\n")
    return (int(head.split()[1]), json.loads(body)) if content else (0, None)


def is_ended(client):
    """Return whether the other side has ended the connection; waits for it."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET / HT", REQUEST[:-2]])
def test_a_head_that_does_not_come_ends_the_connection(port, monkeypatch, sent):
    monkeypatch.setattr(guarded_protocol, "HEAD_SECONDS", 0.2)
    with connected(port) as client:
        client.sendall(sent)
        assert is_ended(client)


def test_nor_does_one_that_comes_byte_by_byte(port, monkeypatch):
    monkeypatch.setattr(guarded_protocol, "HEAD_SECONDS", 0.3)
    with connected(port) as client, suppress(OSError):
        client.sendall(b"GET /")
        for _ in range(10_000):
            client.sendall(b"x")
            time.sleep(0.01)
        raise AssertionError("it was never ended")


def test_requests_one_after_another_have_each_their_time(port, monkeypatch):
    monkeypatch.setattr(guarded_protocol, "HEAD_SECONDS", 1.0)
    with connected(port) as client:
        for _ in range(4):
            client.sendall(REQUEST[:10])
            time.sleep(0.3)
            client.sendall(REQUEST[10:])
            assert read_answer(client) == (200, ["here"])


def test_long_heads_and_many_headers_are_refused(port):
    with connected(port) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: here\r\nX: " + b"x" * 100_000)
        status, body = read_answer(client)
        assert (status, "longer than 65536 bytes" in body["error"]) == (431, True)
    with connected(port) as client:
        client.sendall(b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % each for each in range(200)) + b"\r\n")
        status, body = read_answer(client)
        assert (status, "too many headers" in body["error"]) == (400, True)


def test_what_is_no_http_is_told_as_json(port):
    with connected(port) as client:
        client.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        status, body = read_answer(client)
        assert (status, "not HTTP" in body["error"]) == (400, True)


def test_the_host_of_an_absolute_address_counts(port):
    with connected(port) as client:
        client.sendall(b"GET http://elsewhere/ HTTP/1.1\r\nHost: here\r\n\r\n")
        assert read_answer(client) == (200, ["elsewhere"])


def test_who_waits_longest_makes_room(port, monkeypatch):
    monkeypatch.setattr(guarded_protocol, "MAX_CONNECTIONS", 5)
    idle = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(20)]
    try:
        for _ in range(10):
            with connected(port) as client:
                client.sendall(REQUEST)
                assert read_answer(client) == (200, ["here"])
        assert is_ended(idle[0])
    finally:
        for client in idle:
            client.close()


def test_fewer_connections_than_files(monkeypatch):
    resource = pytest.importorskip("resource")
    for soft, expected in ((256, 156), (10**6, 1000), (-1, 1000), (50, 1)):
        monkeypatch.setattr(resource, "getrlimit", lambda kind, soft=soft: (soft, soft))
        assert max_connections() == expected


def test_accept_errors_are_logged_once_a_second(caplog):
    handler, loop = AcceptErrors(), asyncio.new_event_loop()
    try:
        with caplog.at_level(logging.ERROR):
            for _ in range(1000):
                handler(loop, {"message": guarded_protocol.DROPPED_ACCEPTS, "exception": OSError("too many files")})
            assert [record.message for record in caplog.records] == [
                "no connection can be accepted: too many files (0 more)"
            ]
            handler(loop, {"message": "something else"})
            assert len(caplog.records) == 2
    finally:
        loop.close()


def test_half_a_body_makes_room_and_a_client_that_is_known_stays(port, monkeypatch):
    monkeypatch.setattr(guarded_protocol, "MAX_CONNECTIONS", 5)
    half = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\nhalf"
    with connected(port) as known:
        known.sendall(REQUEST)
        assert read_answer(known) == (200, ["here"])
        slow = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(20)]
        try:
            for client in slow:
                with suppress(OSError):
                    client.sendall(half)
            with connected(port) as client:
                client.sendall(REQUEST)
                assert read_answer(client) == (200, ["here"])
            known.sendall(REQUEST)
            assert read_answer(known) == (200, ["here"])
        finally:
            for client in slow:
                client.close()
