"""The server's parts by themselves: settings and token, batches, places in texts, the map of several clusters."""

from __future__ import annotations

import asyncio
import re
import socket
import sys
import threading

import numpy as np
import pytest

pytest.importorskip("fastapi")

from cli_helpers import fail
from neartag import VectorFeatures, store
from neartag.core.errors import ModelError, ParameterError
from neartag.serve.batch import MAX_BATCH_TEXTS, Batcher
from neartag.serve.explanations import utf16
from neartag.serve.followed_model import FollowedModel
from neartag.serve.map import ClusterMaps, _sample
from neartag.serve.metrics import Metrics
from neartag.serve.run import SHARES_PORTS, bind
from neartag.serve.settings import Settings
from neartag.serve.shared_port import choose_sockets, share_port
from neartag.tagging.tagger import TextTagger
from neartag.x1.classifier import X1Classifier
from serve_helpers import Client, corpus, train


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("parts") / "model"
    train().save(place)
    return place


# Settings and the token


def test_settings_reach_the_workers():
    settings = Settings(token_file="t", max_body=5, max_seconds=0.5, hosts=("a", "b"))
    assert Settings.from_text(settings.to_text("some folder")) == ("some folder", settings)


def test_limits_that_let_nothing_through():
    with pytest.raises(ParameterError, match="--max-texts must be above 0"):
        Settings(max_texts=0)


# The command line


def test_what_cannot_be_served(tmp_path, folder, monkeypatch):
    monkeypatch.delenv("NEARTAG_TOKEN", raising=False)
    assert "no folder" in fail("serve", tmp_path / "nothing")
    assert "--workers" in fail("serve", folder, "--workers", 0)
    assert "--port" in fail("serve", folder, "--port", 70000)
    assert "no number of bytes" in fail("serve", folder, "--max-body", "huge")
    assert "--max-seconds" in fail("serve", folder, "--max-seconds", 0)
    assert "cannot be read" in fail("serve", folder, "--token-file", tmp_path / "nothing", "--quiet")
    rows = np.eye(30, dtype=np.float32)
    store.save(X1Classifier(embedding_dim=5, n_jobs=1).fit(rows, rows), tmp_path / "rows")
    assert "rows of features" in fail("serve", tmp_path / "rows", "--workers", 2, "--quiet")


def test_a_port_that_is_taken(folder, monkeypatch):
    monkeypatch.delenv("NEARTAG_TOKEN", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port}" in fail("serve", folder, "--port", port, "--quiet")
    with bind("127.0.0.1", 0, 2) as ours:
        ours.listen()
        with pytest.raises(ParameterError, match="in use"):
            bind("127.0.0.1", ours.getsockname()[1], 2)


def test_what_is_to_be_installed_is_said(folder, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("neartag.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    line = fail("serve", folder)
    assert 'pip install "neartag[serve]"' in line
    assert 'pip install ".[serve]"' in line, "the only one of the two that works before a release"


@pytest.mark.skipif(not SHARES_PORTS, reason="only Linux deals connections out")
def test_a_shared_port_is_listened_on_by_each():
    with bind("127.0.0.1", 0, 2) as held, share_port(held, 5) as one, share_port(held, 5) as other:
        assert one.fileno() != other.fileno()
        assert one.getsockname() == other.getsockname() == held.getsockname()
        for _ in range(5):
            socket.create_connection(held.getsockname()).close()  # somebody listens


@pytest.mark.skipif(not SHARES_PORTS, reason="only Linux deals connections out")
@pytest.mark.parametrize("workers", [1, 2])
def test_answers_are_sent_at_once(workers):
    async def is_quick(listening):
        accepted = asyncio.get_running_loop().create_future()

        class Told(asyncio.Protocol):
            def connection_made(self, transport):
                options = socket.IPPROTO_TCP, socket.TCP_NODELAY
                accepted.set_result(bool(transport.get_extra_info("socket").getsockopt(*options)))

        server = await asyncio.get_running_loop().create_server(Told, sock=listening)
        async with server:
            _, writer = await asyncio.open_connection(*listening.getsockname())
            try:
                return await asyncio.wait_for(accepted, 10)
            finally:
                writer.close()

    with bind("127.0.0.1", 0, workers) as held, share_port(held, 5) as listening:
        assert asyncio.run(is_quick(listening)), "without Nagle's algorithm"


def test_new_connections_go_to_some_sockets_only():
    with bind("127.0.0.1", 0, 2) as held, share_port(held, 50) as one, share_port(held, 50) as other:
        one.setblocking(False)
        other.setblocking(False)
        for chosen, empty, place in (([1], one, other), ([0], other, one)):
            choose_sockets(one, chosen)
            clients = [socket.create_connection(held.getsockname()) for _ in range(10)]
            for _ in clients:
                place.accept()[0].close()
            with pytest.raises(BlockingIOError):
                empty.accept()
            for client in clients:
                client.close()


def test_a_port_that_cannot_be_shared_is_one_for_all():
    with bind("127.0.0.1", 0, 1) as held:
        assert share_port(held, 5) is held


# Batches


def test_batches_are_bounded_and_forget_who_left():
    async def scenario():
        sizes, go = [], threading.Event()

        def answer(texts, k):
            go.wait(10)
            return [[text.upper()] * k for text in texts]

        batcher = Batcher(answer, sizes.append)
        first = asyncio.ensure_future(batcher.ask(["first"], 1))
        while not sizes:
            await asyncio.sleep(0.01)
        many = [asyncio.ensure_future(batcher.ask([f"t{number}"], 1 + number % 3)) for number in range(100)]
        large = asyncio.ensure_future(batcher.ask(["x"] * 200, 2))
        await asyncio.sleep(0.01)
        for number in range(10):
            many[number].cancel()
        go.set()
        assert await first == [["FIRST"]]
        assert await large == [["X"] * 2] * 200
        for number in range(10, 100):
            assert await many[number] == [[f"T{number}"] * (1 + number % 3)]
        batcher.close()
        return sizes

    assert asyncio.run(scenario()) == [1, MAX_BATCH_TEXTS, 90 - MAX_BATCH_TEXTS, 200]


# Places in texts


@pytest.mark.parametrize("text", ["", "plain", "äöü €", "a😀b𝒳c", "😀" * 5])
def test_places_in_units_of_utf16(text):
    place = utf16(text)
    for at in range(len(text) + 1):
        assert place(at) == len(text[:at].encode("utf-16-le")) // 2


# The map


def test_the_map_of_several_clusters_shows_voters_of_others_too():
    classifier = X1Classifier(embedding_dim=8, n_clusters=4, n_learners=2, feature_share=0.3, n_jobs=1)
    tagger = TextTagger("words", classifier, calibration=None).fit(*corpus())
    maps, seen = ClusterMaps(), set()
    for text in corpus()[0][:20]:
        drawn = maps.draw(tagger, text, 30)
        seen.update(point["outside"] for point in drawn["points"] if point["share"] > 0)
        assert not any(point["outside"] for point in drawn["points"] if point["share"] == 0)
        assert sum(point["share"] for point in drawn["points"]) == pytest.approx(1, abs=1e-3)
        assert len(drawn["points"]) <= 30 + 2 * 3 * 80
        assert 0 < drawn["cluster"]["explained"] <= 1
    assert seen == {True, False}
    assert 1 < len(maps._cached) <= 4, "directions are found once a cluster"


def test_the_map_is_that_of_the_principal_components(folder):
    tagger = TextTagger.load(folder)
    drawn = ClusterMaps().draw(tagger, corpus()[0][0], 400)
    cluster = tagger.stored.model.learners[0].clusters[0]
    points = cluster.points - cluster.points.mean(axis=0)
    _, singular, axes = np.linalg.svd(points, full_matrices=False)
    assert drawn["cluster"]["explained"] == pytest.approx((singular[:2] ** 2).sum() / (singular**2).sum(), rel=1e-3)
    rows = {name: row for row, name in enumerate(tagger.stored.point_names)}
    for point in drawn["points"]:
        own = points[np.flatnonzero(cluster.members == rows[point["id"]])[0]] @ axes[:2].T
        assert abs(own) == pytest.approx(np.abs([point["x"], point["y"]]), abs=1e-4)


def test_the_sample_hardly_changes_as_points_are_added():
    before, after = set(_sample(1000, 100).tolist()), set(_sample(1010, 100).tolist())
    assert len(before) == len(after) == 100
    assert len(before & after) >= 95
    assert _sample(5, 100).tolist() == [0, 1, 2, 3, 4]


def test_a_map_where_everything_was_forgotten(folder):
    tagger = TextTagger.load(folder)
    tagger.forget(tagger.stored.point_names)
    assert ClusterMaps().draw(tagger, corpus()[0][0], 10)["points"] == []


# The model


def test_a_model_of_vectors_is_not_served(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(30, 4))
    classifier = X1Classifier(embedding_dim=4, n_jobs=1)
    TextTagger(VectorFeatures(), classifier, calibration=None).fit(vectors, [["a"], ["b"]] * 15).save(tmp_path)
    with pytest.raises(ModelError, match="vectors, not texts"):
        FollowedModel(tmp_path, Metrics())


def test_the_folder_is_followed_until_the_end(folder):
    served = FollowedModel(folder, Metrics())
    looked = threading.Event()
    served.refresh = looked.set
    served.start()
    assert looked.wait(10)
    served.close()
    assert not any(thread.name == "neartag-follow" for thread in threading.enumerate())


# The log of requests


def test_a_request_log_tells_no_text(tmp_path, capsys):
    train().save(tmp_path / "model")
    client = Client(tmp_path / "model", Settings(log_requests=True))
    secret = "qsecretq"
    given = client.post("/tag", {"text": secret}, headers={"X-Request-Id": "abc-1"})
    client.get(f"/labels?prefix={secret}")
    client.get(f"/{secret}")
    odd = client.get("/health", headers={"X-Request-Id": "two words"})
    client.close()
    assert given.headers["x-request-id"] == "abc-1"
    assert re.fullmatch("[0-9a-f]{32}", odd.headers["x-request-id"])
    lines = capsys.readouterr().err.splitlines()
    assert secret not in "".join(lines)
    pattern = r"time=\S+Z method=(\w+) path=(\S+) status=(\d+) ms=\d+\.\d id=(\S+)"
    told = [re.fullmatch(pattern, line).groups() for line in lines]
    assert [each[:3] for each in told] == [
        ("POST", "/tag", "200"),
        ("GET", "/labels", "200"),
        ("GET", "other", "404"),
        ("GET", "/health", "200"),
    ]
    assert [told[0][3], told[3][3]] == ["abc-1", odd.headers["x-request-id"]]
