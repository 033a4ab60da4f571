"""A small model and clients of a server, in this process and in others, as all tests of the server need them."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from functools import cache

import httpx

from neartag.data import debian
from neartag.serve.app import create_app
from neartag.serve.settings import Settings
from neartag.tagging.changes import Addition, Origin
from neartag.tagging.tagger import TextTagger
from neartag.x1.classifier import X1Classifier

TOKEN = "a-token-of-the-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
POINTS = 600
START = 120.0  # seconds that a server may take on a busy machine to answer


@cache
def corpus():
    packages = debian.load("train")
    return [" ".join(words) for words in packages.words[:POINTS]], packages.tags[:POINTS], packages.names[:POINTS]


@cache
def train(**settings) -> TextTagger:
    """Return a tagger of the corpus, made once a process: tests must not change it, but a copy that they save or load.

    Of words, which it would choose itself: the trial takes longer than the training.
    """
    return TextTagger("words", X1Classifier(**{"embedding_dim": 16, "n_jobs": 1, **settings})).fit(*corpus())


class Client:
    """Asks an application in this process, on a loop of its own."""

    def __init__(self, folder, settings=None, token=TOKEN):
        before = os.environ.get("NEARTAG_TOKEN")
        os.environ["NEARTAG_TOKEN"] = token
        try:
            self.app = create_app(folder, settings or Settings())
        finally:
            os.environ.pop("NEARTAG_TOKEN")
            if before is not None:
                os.environ["NEARTAG_TOKEN"] = before
        self.model = self.app.state.model
        self.loop = asyncio.new_event_loop()

    def run(self, work):
        return self.loop.run_until_complete(asyncio.wait_for(work, START))

    async def send(self, method, path, **more):
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, **more)

    def get(self, path, **more):
        return self.run(self.send("GET", path, **more))

    def post(self, path, body=None, **more):
        if body is not None:
            more["json"] = body
        return self.run(self.send("POST", path, **more))

    def together(self, requests):
        """Return the answers to requests (method, path, more) that are sent at once."""

        async def all_of_them():
            return await asyncio.gather(*(self.send(method, path, **more) for method, path, more in requests))

        return self.run(all_of_them())

    def close(self):
        self.app.state.changes.close()
        self.app.state.endpoints.close()
        self.app.state.files.close()
        self.loop.close()


def add(client, *documents):
    """Add documents to the model that a client asks."""
    with client.model.locked(START):
        client.model.commit([Addition(Origin("tests"), documents)])


def error_of(answer, status):
    """Return what a refusal says, after a look at its shape."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    content = answer.json()
    assert list(content) == ["error"]
    assert content["error"]
    assert "\n" not in content["error"]
    return content["error"]


class Running:
    """A server in processes of its own."""

    def __init__(self, process, port):
        self.process, self.port = process, port

    def ask(self, method, path, body=None, headers=(), timeout=START):
        """Return status, content and worker, over a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            sent = {"Content-Type": "application/json", **dict(headers)}
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            content = answer.read()
            kind = answer.getheader("content-type", "")
            worker = int(answer.getheader("x-neartag-pid", 0))
            return answer.status, json.loads(content) if kind == "application/json" else content.decode(), worker
        finally:
            connection.close()

    def workers(self, count, fitting=lambda health: True, seconds=START):
        """Wait until so many workers answer with a health that fits, and return their ids."""
        found, deadline = {}, time.monotonic() + seconds
        while sum(found.values()) < count:
            assert time.monotonic() < deadline, f"workers and whether they fit: {found}"
            try:
                _, health, worker = self.ask("GET", "/health", timeout=10)
            except OSError:
                time.sleep(0.05)
                continue
            found[worker] = bool(fitting(health))
            time.sleep(0.005)
        return sorted(worker for worker, fits in found.items() if fits)


@contextmanager
def running(folder, *options, workers=2, token=TOKEN):
    """Yield a server that runs, and end it."""
    command = [sys.executable, "-m", "neartag.cli", "serve", str(folder), "--port", "0", "--workers", str(workers)]
    environment = {**os.environ, "NEARTAG_TOKEN": token}
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True, env=environment)
    heard: list[str] = []
    watchdog = threading.Timer(START, process.kill)
    watchdog.start()
    try:
        for line in process.stderr:
            heard.append(line)
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
            if found:
                break
        else:
            raise AssertionError(f"it did not start: {heard}")
        watchdog.cancel()
        drain = threading.Thread(target=lambda: heard.extend(process.stderr), daemon=True)
        drain.start()
        server = Running(process, int(found[1]))
        server.heard = heard
        yield server
    finally:
        watchdog.cancel()
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
