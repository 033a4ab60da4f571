"""The backend behind Label Studio's own package, its predictions checked by Label Studio's own rules.

The program itself is replaced by a small server on loopback, which the real client asks.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("label_studio_sdk", reason="needs Label Studio's packages: see README.md")
pytest.importorskip("label_studio_ml.response", reason="needs label-studio-ml 2, which is on GitHub: see README.md")

from label_studio_ml.api import init_app
from label_studio_sdk import LabelStudio
from label_studio_sdk.label_interface import LabelInterface
from neartag_backend import NeartagBackend
from review_queue import VERSION, queue_tasks
from suggestions import find_control

from neartag import TextTagger
from serve_helpers import corpus, train

TEXT = '<Text name="text" value="$body"/>'
LABELS = ["role::program", "interface::commandline", "use::editing", "never::given"]
CHOICES = "".join(f'<Choice value="{label}"/>' for label in LABELS)
CONFIG = f'<View>{TEXT}<Choices name="tags" toName="text" choice="multiple">{CHOICES}</Choices></View>'
TAXONOMY = (
    f'<View>{TEXT}<Taxonomy name="tags" toName="text"><Choice value="roles"><Choice value="role::program"/></Choice>'
    '<Choice value="interface::commandline"/></Taxonomy></View>'
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    train().save(tmp_path / "model")
    monkeypatch.setenv("NEARTAG_MODEL", str(tmp_path / "model"))
    return tmp_path / "model"


@pytest.fixture
def backend(folder):
    return init_app(NeartagBackend).test_client()


def predict(backend, tasks, config=CONFIG, project="1.0"):
    answer = backend.post("/predict", json={"tasks": tasks, "label_config": config, "project": project})
    assert answer.status_code == 200, answer.data
    return answer.get_json()["results"]


def tasks(n=4):
    return [{"id": number + 1, "data": {"body": text}} for number, text in enumerate(corpus()[0][:n])]


def test_it_is_up_and_can_be_set_up(backend):
    assert backend.get("/health").get_json()["status"] == "UP"
    answer = backend.post("/setup", json={"project": "7.1", "schema": CONFIG})
    assert answer.status_code == 200


@pytest.mark.parametrize("config", [CONFIG, TAXONOMY])
def test_its_predictions_keep_label_studios_rules(backend, config, monkeypatch):
    monkeypatch.setenv("NEARTAG_THRESHOLD", "0.01")
    interface = LabelInterface(config)
    found = predict(backend, tasks(30), config, f"{hash(config)}.0")
    assert len(found) == 30
    for each in found:
        assert interface.validate_prediction(each, return_errors=True) == []
        assert 0 <= each["score"] <= 1
    assert sum(bool(each["result"]) for each in found) > 15


def test_it_suggests_what_the_model_gives(backend):
    given = predict(backend, tasks(10))
    control = find_control(CONFIG)
    expected = train().predict(corpus()[0][:10], 5, "f1", include=LABELS[:3])
    assert [control.labels(each["result"]) for each in given] == [[tag.label for tag in each] for each in expected]


def test_tasks_without_a_text_and_projects_without_known_labels_get_nothing(backend):
    assert [each["result"] for each in predict(backend, [{"id": 1, "data": {}}, {"id": 2}])] == [[], []]
    strange = CONFIG.replace("::", "=")
    assert [each["result"] for each in predict(backend, tasks(2), strange, "3.0")] == [[], []]
    with pytest.raises(ValueError, match="no Choices"):
        find_control(f"<View>{TEXT}</View>")


def annotate(backend, labels, event="ANNOTATION_CREATED", **more):
    result = [{"from_name": "tags", "to_name": "text", "type": "choices", "value": {"choices": labels}}]
    sent = {
        "action": event,
        "project": {"id": 1, "label_config": CONFIG},
        "task": {"id": 42, "data": {"body": "edit a text on the command line"}},
        "annotation": {"result": result, **more},
    }
    return backend.post("/webhook", json=sent).get_json()


def test_it_learns_from_each_annotation(backend, folder, monkeypatch):
    assert annotate(backend, ["never::given"])["result"] == {"learned": "label-studio-42"}
    after = TextTagger.load(folder)
    assert "never::given" in after.labels
    assert len(after) == len(train()) + 1
    annotate(backend, ["use::editing"], "ANNOTATION_UPDATED")
    changed = TextTagger.load(folder)
    assert len(changed) == len(train()) + 1, "a changed annotation takes the place of the one before"
    for told in (
        annotate(backend, ["use::editing"], was_cancelled=True),
        annotate(backend, []),
        annotate(backend, ["use::editing"], "START_TRAINING"),
    ):
        assert told["result"] == {"learned": None}
    monkeypatch.setenv("NEARTAG_LEARN", "no")
    assert annotate(backend, ["use::editing"])["result"] == {"learned": None}


class Program(BaseHTTPRequestHandler):
    """As much of Label Studio as the queue asks for: a project, its tasks, and predictions that are stored."""

    stored: list[dict]

    def log_message(self, *about):
        pass

    def do_GET(self):
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if path == "/api/projects/5/":
            self.send({"id": 5, "title": "packages", "label_config": CONFIG})
        elif path == "/api/tasks/":
            assert query["project"] == ["5"]
            every = [{**task, "annotations": [{"id": 1}] if task["id"] <= 10 else []} for task in tasks(40)]
            page = every if query.get("page", ["1"]) == ["1"] else []
            self.send({"tasks": page, "total": len(every), "total_annotations": 10, "total_predictions": 0})
        else:
            self.send({"detail": "not found"}, 404)

    def do_POST(self):
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert urlsplit(self.path).path == "/api/predictions/"
        type(self).stored.append(sent)
        self.send({"id": len(type(self).stored), **sent}, 201)

    def send(self, value, status=200):
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def program():
    handler = type("Handler", (Program,), {"stored": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield handler, LabelStudio(base_url=f"http://127.0.0.1:{server.server_port}", api_key="a-key-of-the-tests")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_the_queue_has_the_tasks_that_teach_most(program):
    handler, client = program
    stored = queue_tasks(client, train(), 5, 6)
    assert [each["task"] for each in handler.stored] == [each["task"] for each in stored]
    waiting = corpus()[0][10:40]
    expected = [11 + each.index for each in train().review(waiting, 6)]
    assert [each["task"] for each in handler.stored] == expected, "tasks that people labelled are not in it"
    scores = [each["score"] for each in handler.stored]
    assert scores == sorted(scores)
    assert all(0 <= score < 1 for score in scores)
    interface = LabelInterface(CONFIG)
    for each in handler.stored:
        assert each["model_version"] == VERSION
        assert interface.validate_prediction(each, return_errors=True) == []
