"""Real servers: several workers on one folder, changes seen by all, models replaced, ends without a request lost.

Every wait is bounded; the bounds are wide, since the machine may be busy with other things.
"""

from __future__ import annotations

import copy
import http.client
import importlib
import json
import os
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from neartag.tagging.tagger import TextTagger
from serve_helpers import BEARER, POINTS, START, corpus, running, train

# Starting a server takes several seconds: its processes import everything anew.
pytestmark = pytest.mark.skipif(os.name != "posix", reason="ends servers by signals")

TEXT = "a chess playing program"


@pytest.fixture(scope="module")
def trained():
    return train()


@pytest.fixture(scope="module")
def server(trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("workers") / "model"
    trained.save(folder)
    with running(folder) as made:
        made.folder = folder
        made.workers(2)
        yield made
        found = made.workers(2)
        made.process.kill()
        made.process.wait(START)
        deadline = time.monotonic() + START
        while any(_lives(worker) for worker in found):
            assert time.monotonic() < deadline, "a worker outlives the one that started it"
            time.sleep(0.02)


def restored(server, trained):
    """Put the model back as it was, and wait until both workers have it."""
    trained.save(server.folder)
    return server.workers(2, lambda health: health["points"] == POINTS and health["ok"])


def test_clients_add_and_tag_at_once_and_all_workers_see_it(server, trained):
    restored(server, trained)
    asked_by: list[int] = []

    def work(client):
        text = f"{corpus()[0][client]} {TEXT}"
        for step in range(4):
            name = f"client-{client}-{step}"
            document = {"text": text, "labels": [f"label::{client}"], "id": name}
            status, answer, worker = server.ask("POST", "/add", {"new_labels": True, "documents": [document]}, BEARER)
            assert (status, answer["ids"]) == (200, [name])
            asked_by.append(worker)
            status, answer, _ = server.ask("POST", "/tag", {"text": text, "k": 100})
            assert status == 200
            assert answer["labels"]
        return text

    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(work, range(4)))
    assert len(server.workers(2, lambda health: health["points"] == POINTS + 16)) == 2
    versions = set()
    server.workers(2, lambda health: versions.add(health["model"]["version"]) or True)
    assert len(versions) == 1, "both have the same model"
    found = set()
    while len(found) < 8:  # both workers know all four labels
        for client, text in enumerate(texts):
            _, answer, worker = server.ask("POST", "/tag", {"text": text, "k": 100})
            assert f"label::{client}" in [tag["label"] for tag in answer["labels"]]
            found.add((worker, client))
    assert len(TextTagger.load(server.folder)) == POINTS + 16
    # And forgotten by all, by one request.
    ids = [f"client-{client}-{step}" for client in range(4) for step in range(4)]
    assert server.ask("POST", "/forget", {"ids": ids}, BEARER)[:2] == (200, {"forgotten": 16})
    server.workers(2, lambda health: health["points"] == POINTS)
    for _ in range(6):
        _, answer, _ = server.ask("POST", "/tag", {"text": texts[0], "k": 100})
        assert "label::0" not in [tag["label"] for tag in answer["labels"]]


def test_what_one_worker_adds_all_see(server, trained):
    restored(server, trained)
    for step in range(10):
        document = {"text": TEXT, "labels": ["seen"], "id": f"seen-{step}"}
        assert server.ask("POST", "/add", {"new_labels": True, "documents": [document]}, BEARER)[0] == 200
        # How soon is a matter of POLL_SECONDS: an idle machine takes that and a few milliseconds.
        assert len(server.workers(2, lambda health, wanted=POINTS + step + 1: health["points"] == wanted)) == 2


def test_the_worker_that_added_sees_it_at_once(server, trained):
    restored(server, trained)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=START)
    headers = {"Content-Type": "application/json", **BEARER}
    for step in range(3):
        body = {"new_labels": True, "documents": [{"text": TEXT, "labels": [f"at::once{step}"]}] * 5}
        connection.request("POST", "/add", json.dumps(body), headers)
        assert len(json.loads(connection.getresponse().read())["ids"]) == 5
        connection.request("POST", "/tag", json.dumps({"text": TEXT, "k": 100}), headers)
        answer = json.loads(connection.getresponse().read())
        assert f"at::once{step}" in [tag["label"] for tag in answer["labels"]]
    connection.close()


def test_a_model_is_replaced_and_a_broken_one_is_not_taken(server, trained):
    restored(server, trained)
    texts, _, names = corpus()
    smaller = copy.deepcopy(train(embedding_dim=8))
    smaller.forget(names[300:])
    smaller.save(server.folder)
    server.workers(2, lambda health: health["points"] == 300)
    manifest = server.folder / "model.json"
    sound = manifest.read_bytes()
    broken = server.folder / "model.json.broken"
    broken.write_bytes(sound.replace(b'"sha256": "', b'"sha256": "0'))
    os.replace(broken, manifest)
    server.workers(2, lambda health: not health["ok"] and health["reload_error"] and health["points"] == 300)
    for _ in range(4):
        status, answer, _ = server.ask("POST", "/tag", {"text": texts[0]})
        assert status == 200
        assert answer["labels"]
        status, answer, _ = server.ask(
            "POST", "/add", {"new_labels": True, "documents": [{"text": TEXT, "labels": ["x"]}]}, BEARER
        )
        assert status == 503
        assert "error" in answer
    restored(server, trained)


def test_random_bytes_on_the_socket_and_large_bodies(server):
    for content in (
        os.urandom(1000),
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n" * 100,
        b"POST /tag HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
            raw.sendall(content)
            raw.shutdown(socket.SHUT_WR)
            answer = raw.recv(65536)
            assert not answer.startswith(b"HTTP/1.1 5"), answer
    large = json.dumps({"text": "a" * 10_000_000})
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=START)
    for _ in range(2):  # the connection can be used on
        connection.request("POST", "/tag", large, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 413
        assert "error" in json.loads(answer.read())
    connection.request("POST", "/tag", '{"text": "a"}', {"Content-Type": "application/json"})
    assert connection.getresponse().read().startswith(b'{"labels"')
    connection.close()
    pieces = iter([b'{"text": "', *[b"a" * 100_000] * 30, b'"}'])
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=START)
    connection.request("POST", "/tag", pieces, {"Content-Type": "application/json"}, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()
    status, answer, _ = server.ask("GET", "/health", headers={"Host": "evil.example"})
    assert status == 421


def test_requests_under_way_are_answered_before_the_end(trained, tmp_path):
    trained.save(tmp_path / "model")
    texts = [" ".join(corpus()[0][number % POINTS] for number in range(start, start + 40)) for start in range(1500)]
    body = {"texts": texts, "k": 1}
    options = ("--max-body", "50MB", "--max-texts", "5000", "--max-seconds", "600")
    with running(tmp_path / "model", *options) as server:
        server.workers(2)
        answers: list[tuple[int, int]] = []

        def work():
            status, answer, _ = server.ask("POST", "/tag", body)
            answers.append((status, len(answer["results"])))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + START
        while _under_way(server) < len(threads) - len(answers) and time.monotonic() < deadline:
            time.sleep(0.02)
        waiting = len(threads) - len(answers)
        server.process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join(START)
        assert answers == [(200, 1500)] * 4
        assert waiting > 0, "some were under way when the end was asked for"
        assert server.process.wait(START) == 0
        with pytest.raises(OSError, match="refused"):
            server.ask("GET", "/health")


def _under_way(server):
    """Return how many requests the workers are at, this one left out."""
    found = {}
    while len(found) < 2:
        _, text, worker = server.ask("GET", "/metrics")
        (line,) = [line for line in text.splitlines() if line.startswith("neartag_requests_under_way{")]
        found[worker] = int(line.split()[1]) - 1
    return sum(found.values())


def test_one_worker_ends_on_its_own_too(trained, tmp_path):
    trained.save(tmp_path / "model")
    (tmp_path / "token").write_text("another-token\n")
    with running(tmp_path / "model", "--token-file", str(tmp_path / "token"), workers=1) as server:
        assert server.workers(1) == [server.process.pid]
        body = {"new_labels": True, "documents": [{"text": TEXT, "labels": ["x"]}]}
        assert server.ask("POST", "/add", body, BEARER)[0] == 401
        assert server.ask("POST", "/add", body, {"Authorization": "Bearer another-token"})[0] == 200
        other = train(embedding_dim=8)
        other.save(tmp_path / "model")
        server.workers(1, lambda health: health["points"] == POINTS)
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(START) == 0
        assert not any("Traceback" in line for line in server.heard)


def test_a_worker_that_dies_is_replaced(server):
    first = server.workers(2)
    os.kill(first[0], signal.SIGKILL)
    deadline = time.monotonic() + START
    while True:
        found = set(server.workers(2))
        if first[0] not in found and len(found) == 2:
            break
        assert time.monotonic() < deadline
    assert first[1] in found
    (new,) = found - set(first)
    told = f"worker {first[0]} ended with status -9: worker {new} takes its place"
    assert any(told in line for line in server.heard)


def test_a_killed_worker_leaves_no_change_in_doubt(server, trained):
    """Clients add without end while workers are killed; each change is then made, or not, as the server says."""
    restored(server, trained)
    told, ended = {}, threading.Event()

    def add(number):
        for count in range(1000):
            if ended.is_set():
                return
            name = f"kill-{number}-{count}"
            body = {"documents": [{"text": TEXT, "labels": ["role::program"], "id": name}], "new_labels": True}
            try:
                told[name] = server.ask("POST", "/add", body, {**BEARER, "X-Request-Id": name})[0]
            except (OSError, http.client.HTTPException):
                told[name] = 0
                time.sleep(0.05)

    with ThreadPoolExecutor(8) as clients:
        adding = [clients.submit(add, number) for number in range(8)]
        for _ in range(3):
            found = server.workers(2)
            time.sleep(0.3)
            os.kill(found[0], signal.SIGKILL)
            server.workers(2, lambda health, gone=found[0]: health["pid"] != gone)
        ended.set()
        for each in adding:
            each.result()
    assert set(told.values()) <= {0, 200}
    assert 200 in told.values()
    there = set(TextTagger.load(server.folder).stored.point_names)
    for name, status in told.items():
        answered, state, _ = server.ask("GET", f"/changes/{name}", headers=BEARER)
        made = answered == 200 and state["state"] == "made"
        assert made == (name in there), name
        assert made or status == 0, "what was answered is there"
        if not made:  # sent again it is made, once
            body = {"documents": [{"text": TEXT, "labels": ["role::program"], "id": name}], "new_labels": True}
            assert server.ask("POST", "/add", body, {**BEARER, "X-Request-Id": name})[0] == 200


@pytest.fixture
def benchmark(trained, tmp_path, monkeypatch):
    """Return a function that runs a script of benchmarks/ on a small model, and gives what it has kept."""

    def run(name, marks, *options):
        monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
        for each in ("pages", "load", "run", "http_client"):  # others may have modules of these names
            monkeypatch.delitem(sys.modules, each, raising=False)
        script, pages = importlib.import_module(name), importlib.import_module("pages")
        monkeypatch.setattr(pages, "RESULTS", tmp_path)
        monkeypatch.setattr(pages, "DOCS", tmp_path)
        (tmp_path / "server.md").write_text(f"<!-- {marks} begin -->\nold\n<!-- {marks} end -->\n")
        trained.save(tmp_path / "model")
        script.main(["--model", str(tmp_path / "model"), "--write", *options])
        monkeypatch.delitem(sys.modules, name)
        return json.loads((tmp_path / f"{name}.json").read_text()), (tmp_path / "server.md").read_text()

    return run


def test_the_load_is_measured_and_written(benchmark):
    result, page = benchmark("load", "load", "--seconds", "0.3", "--warm-up", "0.1", "--connections", "4")
    assert result["errors"] == 0
    assert result["requests"] > 0
    assert 0 < result["p50 ms"] <= result["p99 ms"] <= result["largest ms"]
    assert result["points"] == POINTS
    assert "| requests a second |" in page


def test_a_mixed_load_is_measured_and_leaves_no_doubt(benchmark):
    result, page = benchmark("mixed_load", "mixed-load-6", "--seconds", "2", "--connections", "6")
    (told,) = result.values()
    assert told["requests"] > 0
    assert (told["wrong answers"], told["lost"]) == ({}, {})
    assert (told["changes of unknown fate"], told["changes told wrongly"]) == (0, 0)
    assert "| changes of unknown fate | 0 |" in page


def test_slow_clients_are_measured(benchmark):
    result, page = benchmark("slow_clients", "slow-clients", "--slow", "30", "--honest", "4", "--seconds", "1")
    assert result["opened"] >= 30
    assert result["beside"]["requests"] > 0
    assert (result["alone"]["errors"], result["beside"]["errors"]) == (0, 0)
    assert "beside 30 slow clients" in page


def _lives(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return True
