"""The connector for paperless-ngx against a stand-in of its REST API, which refuses whatever is not adding tags."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import listener
import paperless_api
import paperless_tags
import pytest
from paperless_api import Paperless, PaperlessError
from suggesters import FolderSuggester, ServerSuggester

from neartag import TextTagger
from serve_helpers import Client, corpus, train

TOKEN = "a-token-of-the-tests"
INBOX = 1000
SCRIPT = Path(paperless_tags.__file__).with_name("post_consume.sh")


class Archive:
    """Documents with tags, as paperless keeps them. Tags 1, 2, … are the labels of the corpus; one is the inbox's."""

    def __init__(self, n=40, tagged=30):
        texts, labels, _ = corpus()
        names = sorted({label for each in labels for label in each})
        number = {name: place + 1 for place, name in enumerate(names)}
        self.tags = [{"id": place, "name": name, "is_inbox_tag": False} for name, place in number.items()]
        self.tags.append({"id": INBOX, "name": "new", "is_inbox_tag": True})
        self.documents = {
            place + 1: {
                "id": place + 1,
                "title": f"scan {place + 1}",
                "content": texts[place],
                "tags": [number[label] for label in labels[place]] if place < tagged else [],
            }
            for place in range(n)
        }
        self.asked = []

    def list(self, path, query):
        entries = self.tags if path == "/api/tags/" else list(self.documents.values())
        if "is_tagged" in query:
            entries = [each for each in entries if bool(each["tags"]) == (query["is_tagged"] == ["true"])]
        if "is_in_inbox" in query:
            entries = [each for each in entries if INBOX in each["tags"]]
        size, page = int(query["page_size"][0]), int(query["page"][0])
        found = entries[(page - 1) * size : page * size]
        more = page * size < len(entries)
        return {"count": len(entries), "next": "http://elsewhere.example/api/" if more else None, "results": found}

    def edit(self, body):
        assert body["method"] == "modify_tags"
        assert body["parameters"]["remove_tags"] == [], "nothing may ever be removed"
        for number in body["documents"]:
            have = self.documents[number]["tags"]
            have += [tag for tag in body["parameters"]["add_tags"] if tag not in have]
        return {"result": "OK"}


@contextmanager
def answering(archive):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *about):
            pass

        def do_GET(self):
            path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
            single = re.fullmatch(r"/api/documents/(\d+)/", path)
            if path in ("/api/tags/", "/api/documents/"):
                self.answer(archive.list(path, query))
            elif single and int(single[1]) in archive.documents:
                self.answer(archive.documents[int(single[1])])
            else:
                self.answer({"detail": "Not found."}, 404)

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.answer(archive.edit(body) if self.path == "/api/documents/bulk_edit/" else {}, 200)

        def answer(self, value, status=200):
            archive.asked.append((self.command, self.path))
            if self.headers.get("Authorization") != f"Token {TOKEN}":
                value, status = {"detail": "Invalid token."}, 401
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("paperless") / "model"
    train().save(place)
    return str(place)


@pytest.fixture
def archive(monkeypatch):
    made = Archive()
    with answering(made) as url:
        monkeypatch.setenv("PAPERLESS_URL", url)
        monkeypatch.setenv("PAPERLESS_TOKEN", TOKEN)
        made.url = url
        yield made


def before(archive):
    return {number: list(each["tags"]) for number, each in archive.documents.items()}


def test_it_shows_what_it_would_do_and_does_nothing(archive, folder, capsys):
    was = before(archive)
    assert paperless_tags.main(["tag", folder, "--threshold", "f1"]) == 0
    told = capsys.readouterr()
    assert re.search(r"^\d+  scan \d+: \+\S+ \(\d+%\)", told.out, re.MULTILINE)
    assert "would be tagged; give --write" in told.err
    assert before(archive) == was
    assert {command for command, _ in archive.asked} == {"GET"}


def test_it_gives_the_tags_that_it_showed(archive, folder, capsys):
    paperless_tags.main(["tag", folder])
    shown = capsys.readouterr().out
    paperless_tags.main(["tag", folder, "--write"])
    assert capsys.readouterr().out == shown
    names = {each["id"]: each["name"] for each in archive.tags}
    given = {number: {names[tag] for tag in tags} for number, tags in before(archive).items() if number > 30 and tags}
    expected = {}
    for line in shown.splitlines():
        number, told = line.split("  ", 1)
        expected[int(number)] = set(re.findall(r"\+(\S+) \(", told))
    assert given == expected
    assert expected


def test_tags_are_only_ever_added(archive, folder):
    archive.documents[1]["tags"] = [5, INBOX]
    archive.documents[2]["tags"] = [INBOX]
    was = before(archive)
    paperless_tags.main(["tag", folder, "1", "2", "3", "--write", "--threshold", "0.05"])
    paperless_tags.main(["tag", folder, "--inbox", "--write", "--threshold", "0.01"])
    now = before(archive)
    assert all(set(was[number]) <= set(now[number]) for number in was)
    assert now != was
    assert all(len(set(tags)) == len(tags) for tags in now.values())
    assert {path.split("?")[0] for command, path in archive.asked if command == "POST"} == {"/api/documents/bulk_edit/"}


def test_a_tag_that_somebody_adds_meanwhile_stays(archive, folder, monkeypatch):
    class Meanwhile(FolderSuggester):
        def suggest(self, texts):
            for each in archive.documents.values():
                each["tags"].append(INBOX)
            return super().suggest(texts)

    monkeypatch.setattr(paperless_tags, "FolderSuggester", Meanwhile)
    paperless_tags.main(["tag", folder, "35", "--write", "--threshold", "0.01"])
    assert INBOX in archive.documents[35]["tags"]
    assert len(archive.documents[35]["tags"]) > 1


def test_only_tags_of_the_archive_are_given(archive, folder):
    archive.tags = [each for each in archive.tags if each["name"] == "role::program" or each["is_inbox_tag"]]
    paperless_tags.main(["tag", folder, "--write", "--threshold", "0.01"])
    given = {tag for number, tags in before(archive).items() if number > 30 for tag in tags}
    assert given == {archive.tags[0]["id"]}


def test_it_learns_from_the_tags_that_people_gave(archive, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paperless_api, "PAGE_SIZE", 7)  # so that there are several pages
    archive.documents[1]["tags"].append(INBOX)
    archive.documents[2]["tags"] = [INBOX]
    assert paperless_tags.main(["learn", str(tmp_path / "model")]) == 0
    tagger = TextTagger.load(tmp_path / "model")
    assert len(tagger) == 29
    assert "new" not in tagger.labels
    assert tagger.stored.texts is None, "letters stay in the archive unless asked for"
    assert "from 29 documents" in capsys.readouterr().out
    archive.documents = dict(list(archive.documents.items())[:10])
    assert paperless_tags.main(["learn", str(tmp_path / "other")]) == 2
    assert "tag some more first" in capsys.readouterr().err


def test_a_running_server_suggests_the_same(archive, folder):
    client = Client(folder)

    class Here(ServerSuggester):
        def _ask(self, texts, threshold):
            answer = client.post("/tag", {"texts": texts, "k": 5, "threshold": threshold})
            assert answer.status_code == 200
            return answer.json()

    try:
        texts = [each["content"] for each in archive.documents.values()][:8]
        there, here = Here("http://x", "f1").suggest(texts), FolderSuggester(folder, "f1").suggest(texts)
    finally:
        client.close()
    assert [[name for name, _ in each] for each in there] == [[name for name, _ in each] for each in here]


def test_mistakes_are_told_in_a_line(archive, folder, monkeypatch, capsys):
    def told(*arguments):
        assert paperless_tags.main(list(arguments)) == 2
        line = capsys.readouterr().err
        assert line.startswith("error: ")
        assert line.count("\n") == 1
        return line

    assert "no folder" in told("tag", folder + "-none")
    assert "404" in told("tag", folder, "77777")
    monkeypatch.setenv("PAPERLESS_TOKEN", "another")
    assert "401" in told("tag", folder)
    monkeypatch.setenv("PAPERLESS_TOKEN", "")
    assert "no token" in told("tag", folder)
    monkeypatch.setenv("PAPERLESS_TOKEN", TOKEN)
    monkeypatch.setenv("PAPERLESS_URL", "file:///etc/passwd")
    assert "no address" in told("tag", folder)
    monkeypatch.setenv("PAPERLESS_URL", archive.url)
    assert "neartag's server cannot be asked" in told("tag", "http://127.0.0.1:9", "1")
    with pytest.raises(PaperlessError, match="cannot be asked"):
        list(Paperless("http://127.0.0.1:9", TOKEN).documents())


def test_titles_cannot_command_the_terminal(archive, folder, capsys):
    archive.documents[35]["title"] = "a\x1b[2Jb\nc"
    paperless_tags.main(["tag", folder, "35", "--threshold", "0.01"])
    assert "\x1b" not in capsys.readouterr().out


def consume(folder, **more):
    given = {"DOCUMENT_ID": "35", "NEARTAG_MODEL": folder, "NEARTAG_WRITE": "", "PYTHON": sys.executable, **more}
    done = subprocess.run([SCRIPT], env={**os.environ, **given}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a script for a shell")
def test_the_script_after_consuming_writes_only_if_told(folder):
    assert consume(folder, PYTHON="echo").split()[1:] == ["tag", folder, "35"]
    assert consume(folder, PYTHON="echo", NEARTAG_WRITE="yes").split()[-1] == "--write"


@pytest.mark.skipif(sys.platform == "win32", reason="a script for a shell")
def test_the_script_after_consuming(archive, folder):
    assert consume(folder, NEARTAG_WRITE="yes").startswith("35  scan 35: +")
    assert archive.documents[35]["tags"]


def call(socket, **more):
    """Run the script as paperless does, and return how it ended, with what it printed."""
    environment = {**os.environ, "NEARTAG_SOCKET": str(socket), "DOCUMENT_ID": "35", **more}
    return subprocess.run([SCRIPT], env=environment, capture_output=True, text=True, check=False)


@contextmanager
def listening(place, answer):
    server = listener._make_server(str(place), answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


needs_curl = pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("curl") is None, reason="a script for a shell with curl"
)


@needs_curl
def test_the_script_hands_the_document_to_the_connector_that_stays(archive, folder, tmp_path):
    suggester, socket = FolderSuggester(folder), tmp_path / "socket"
    paperless = Paperless(archive.url, TOKEN)
    with listening(socket, partial(paperless_tags.tag_one, paperless, suggester, False)):
        assert stat.S_IMODE(socket.stat().st_mode) == 0o600
        shown = call(socket, PAPERLESS_TOKEN="", PYTHON="false")  # neither a token nor Python is needed
        assert shown.returncode == 0, shown.stderr
        assert not archive.documents[35]["tags"]
    with listening(socket, partial(paperless_tags.tag_one, paperless, suggester, True)):
        done = call(socket)
        assert done.stdout == shown.stdout
        assert done.stdout.startswith("35  scan 35: +")
        assert archive.documents[35]["tags"]
        assert call(socket).stdout == "35: no tag\n", "it has them already"


@needs_curl
def test_a_document_that_fails_is_told_and_the_next_is_tagged(archive, folder, tmp_path):
    socket, paperless = tmp_path / "socket", Paperless(archive.url, TOKEN)
    with listening(socket, partial(paperless_tags.tag_one, paperless, FolderSuggester(folder), True)):
        missing = call(socket, DOCUMENT_ID="77777")
        assert missing.returncode != 0
        assert "404" in missing.stdout
        for odd in ("", "x", "-1", "9" * 40, "٣"):
            assert "must be a document's number" in call(socket, DOCUMENT_ID=odd).stdout
        assert call(socket).returncode == 0
    assert call(socket).returncode != 0, "nobody listens any more"


@needs_curl
def test_only_a_socket_is_replaced(tmp_path, archive, folder, capsys):
    file = tmp_path / "letters.txt"
    file.write_text("mine", encoding="utf-8")
    assert paperless_tags.main(["listen", folder, str(file)]) == 2
    assert "is no socket" in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == "mine"
    for _ in range(2):  # the second finds the socket that the first left
        with listening(tmp_path / "socket", str):
            assert call(tmp_path / "socket").stdout == "35\n"
