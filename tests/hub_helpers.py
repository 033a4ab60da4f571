"""A stand-in for Hugging Face's hub on loopback: as much of its protocol as the real client needs to push and pull.

Repositories are kept in memory: a list of commits, each with all files. Large files come by LFS as on the real hub.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Repository:
    """Commits of files by name, the newest last."""

    private: bool
    commits: list[tuple[str, dict[str, bytes]]] = field(default_factory=list)

    def find(self, revision):
        if revision in ("main", "HEAD"):
            return self.commits[-1]
        return next(commit for commit in self.commits if commit[0] == revision)


@dataclass
class Hub:
    """The stand-in's state; tests may change files as an attacker on the hub could."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)  # sent by LFS
    requests: list[tuple[str, str]] = field(default_factory=list)
    endpoint: str = ""

    def commit(self, name, files):
        kept = self.repositories[name].commits
        kept.append((hashlib.sha1(f"{name}{len(kept)}".encode()).hexdigest(), files))
        return kept[-1][0]


@contextmanager
def running_hub():
    """Yield a hub that answers."""
    hub = Hub()

    class Handler(_Handler):
        state = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Hub

    def log_message(self, *about):
        pass

    def do_HEAD(self):
        self.respond()

    def do_GET(self):
        self.respond()

    def do_POST(self):
        self.respond()

    def do_PUT(self):
        self.respond()

    def respond(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(urlsplit(self.path).path)
        self.state.requests.append((self.command, path))
        for method, pattern, answer in _ROUTES:
            found = re.fullmatch(pattern, path)
            if self.command in method and found:
                try:
                    answer(self, body, *found.groups())
                except (KeyError, StopIteration, IndexError):
                    self.send(404, {"error": "not found"}, {"X-Error-Code": "RepoNotFound"})
                return
        self.send(501, {"error": f"the stand-in does not know {self.command} {path}"})

    def send(self, status, value, headers=()):
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        kind = "application/octet-stream" if isinstance(value, bytes) else "application/json"
        for name, text in {"Content-Type": kind, "Content-Length": str(len(content)), **dict(headers)}.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def create(self, body):
        asked = json.loads(body)
        name = f"{asked['organization']}/{asked['name']}"
        url = {"url": f"{self.state.endpoint}/{name}"}
        if name in self.state.repositories:
            self.send(409, {"error": "it is there already", **url})
            return
        private = asked.get("private", asked.get("visibility") == "private")
        self.state.repositories[name] = Repository(private)
        self.state.commit(name, {".gitattributes": b"*.safetensors filter=lfs\n"})
        self.send(200, url)

    def describe(self, body, name, revision=None):
        repository = self.state.repositories[name]
        commit, files = repository.find(revision or "main")
        siblings = [{"rfilename": file} for file in files]
        about = {"id": name, "modelId": name, "sha": commit, "private": repository.private, "siblings": siblings}
        self.send(200, {**about, "tags": [], "downloads": 0, "likes": 0})

    def list_tree(self, body, name, revision):
        _, files = self.state.repositories[name].find(revision)
        self.send(200, [_entry(file, content) for file, content in files.items()])

    def describe_paths(self, body, name, revision):
        if self.headers.get("Content-Type", "").startswith("application/json"):
            wanted = json.loads(body)["paths"]
        else:
            wanted = parse_qs(body.decode())["paths"]
        _, files = self.state.repositories[name].find(revision)
        self.send(200, [_entry(file, files[file]) for file in wanted if file in files])

    def validate(self, body):
        self.send(200, {"errors": [], "warnings": []})

    def preupload(self, body, name, revision):
        modes = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
                "shouldIgnore": False,
            }
            for file in json.loads(body)["files"]
        ]
        self.send(200, {"files": modes})

    def batch(self, body, name):
        objects = [
            {**each, "actions": {"upload": {"href": f"{self.state.endpoint}/blobs/{each['oid']}"}}}
            for each in json.loads(body)["objects"]
            if each["oid"] not in self.state.blobs
        ]
        self.send(200, {"transfer": "basic", "objects": objects})

    def upload(self, body, oid):
        assert hashlib.sha256(body).hexdigest() == oid
        self.state.blobs[oid] = body
        self.send(200, {})

    def commit(self, body, name, revision):
        files = dict(self.state.repositories[name].find(revision)[1])
        for line in body.splitlines():
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif entry["key"] == "lfsFile":
                files[value["path"]] = self.state.blobs[value["oid"]]
            elif entry["key"] == "deletedFile":
                del files[value["path"]]
        oid = self.state.commit(name, files)
        self.send(200, {"success": True, "commitOid": oid, "commitUrl": f"{self.state.endpoint}/{name}/commit/{oid}"})

    def resolve(self, body, name, revision, file):
        commit, files = self.state.repositories[name].find(revision)
        content = files[file]
        self.send(200, content, {"ETag": f'"{hashlib.sha1(content).hexdigest()}"', "X-Repo-Commit": commit})


def _entry(file, content):
    return {"type": "file", "path": file, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}


_NAME = r"([\w.-]+/[\w.-]+)"
_ROUTES = (
    ("POST", r"/api/repos/create", _Handler.create),
    ("POST", r"/api/validate-yaml", _Handler.validate),
    ("POST", rf"/api/models/{_NAME}/preupload/([^/]+)", _Handler.preupload),
    ("POST", rf"/api/models/{_NAME}/commit/([^/]+)", _Handler.commit),
    ("POST", rf"/api/models/{_NAME}/paths-info/([^/]+)", _Handler.describe_paths),
    ("GET", rf"/api/models/{_NAME}/tree/([^/]+)", _Handler.list_tree),
    ("GET", rf"/api/models/{_NAME}/revision/([^/]+)", _Handler.describe),
    ("GET", rf"/api/models/{_NAME}", _Handler.describe),
    ("POST", rf"/{_NAME}\.git/info/lfs/objects/batch", _Handler.batch),
    ("PUT", r"/blobs/([0-9a-f]{64})", _Handler.upload),
    (("HEAD", "GET"), rf"/{_NAME}/resolve/([^/]+)/(.+)", _Handler.resolve),
)
