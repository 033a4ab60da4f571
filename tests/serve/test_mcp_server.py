"""The tools for assistants, called by the SDK's own client: in this process, over stdio, and over HTTP."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest

pytest.importorskip("mcp", reason='needs the SDK: pip install ".[mcp]"')

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from cli_helpers import fail
from neartag.data.documents import Document
from neartag.serve.mcp_server import create_server
from neartag.tagging.live import LiveTagger
from serve_helpers import START, corpus, train

TEXT = "a web browser for the terminal"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("mcp") / "model"
    train().save(place)
    return place


@pytest.fixture(scope="module")
def server(folder):
    return create_server(folder, max_texts=3, max_characters=1000)


def ask(server, *calls):
    """Return the results of calls (tool, arguments) of a client that is connected to a server."""

    async def all_of_them():
        async with Client(server) as client:
            return [await client.call_tool(tool, arguments) for tool, arguments in calls]

    return anyio.run(all_of_them)


def answer(server, tool, **arguments):
    (result,) = ask(server, (tool, arguments))
    assert not result.is_error, result.content
    return result.structured_content


def refusal(server, tool, **arguments):
    (result,) = ask(server, (tool, arguments))
    assert result.is_error
    return result.content[0].text


def test_its_tools_are_described(server):
    async def listed():
        async with Client(server) as client:
            return await client.list_tools(), client.instructions

    tools, instructions = anyio.run(listed)
    by_name = {tool.name: tool for tool in tools.tools}
    assert sorted(by_name) == ["explain", "labels", "tag"]
    for tool in by_name.values():
        assert tool.description
        assert tool.annotations.read_only_hint
        assert tool.output_schema["type"] == "object"
    assert by_name["tag"].input_schema["required"] == ["texts"]
    assert "318" in instructions


def test_tag_gives_what_the_tagger_gives(server):
    texts = [TEXT, "zzzz qqqq"]
    found = answer(server, "tag", texts=texts, k=4)["texts"]
    expected = train().predict(texts, 4)
    assert [each["found"] for each in found] == [each.found for each in expected] == [True, False]
    assert [tag["label"] for tag in found[0]["labels"]] == [tag.label for tag in expected[0]]
    assert found[0]["labels"][0]["score"] == pytest.approx(expected[0][0].score, abs=1e-4)
    assert found[1]["labels"] == []
    few = answer(server, "tag", texts=[TEXT], k=50, threshold=0.5)["texts"][0]["labels"]
    assert all(tag["score"] >= 0.5 for tag in few)


def test_explain_names_documents_and_words(server):
    found = answer(server, "explain", text=TEXT, k=2, voters=2)["labels"]
    expected = train().explain(TEXT, 2, 2)
    assert [each["label"] for each in found] == [each.label for each in expected]
    assert [voter["id"] for voter in found[0]["voters"]] == [voter.id for voter in expected[0].voters]
    shared = [[word.word for word in voter.words][:5] for voter in expected[0].voters]
    assert [voter["words"] for voter in found[0]["voters"]] == shared
    assert any(shared)


def test_labels_are_found_by_a_part_of_their_name(server):
    found = answer(server, "labels", query="web", limit=3)
    assert found["total"] >= len(found["labels"]) > 0
    assert all("web" in each["label"] for each in found["labels"])
    assert answer(server, "labels")["total"] == len(train().labels)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("tag", {"texts": []}, "texts"),
        ("tag", {"texts": ["a"] * 4}, "at most 3"),
        ("tag", {"texts": ["a" * 1001]}, "at most 1000"),
        ("tag", {"texts": ["a"], "k": 0}, "k"),
        ("tag", {"texts": ["a"], "threshold": 2}, "threshold"),
        ("explain", {"text": "a" * 1001}, "at most 1000"),
        ("labels", {"limit": 100_000}, "limit"),
    ],
)
def test_what_is_wrong_reaches_the_assistant(server, tool, arguments, told):
    assert told in refusal(server, tool, **arguments)


def test_it_follows_the_folder(tmp_path):
    train().save(tmp_path)
    server = create_server(tmp_path)
    before = answer(server, "labels")["total"]
    LiveTagger(tmp_path).add([Document("an abacus of wood", ["counting::by-hand"], "abacus", None, "")])
    assert answer(server, "labels")["total"] == before + 1
    assert answer(server, "labels", query="by-hand")["labels"][0]["documents"] == 1


def command(folder, *options):
    return [sys.executable, "-m", "neartag.cli", "serve", str(folder), *options]


def test_over_stdio(folder):
    """As an assistant does it: it starts the program, and speaks to it through pipes."""
    program, *arguments = command(folder, "--mcp")
    kept = {name: os.environ[name] for name in ("PYTHONPATH", "OMP_NUM_THREADS") if name in os.environ}
    transport = stdio_client(StdioServerParameters(command=program, args=arguments, env=kept))
    tagged, explained = ask(transport, ("tag", {"texts": [TEXT]}), ("explain", {"text": TEXT, "k": 1}))
    expected = train().predict([TEXT])[0]
    assert [tag["label"] for tag in tagged.structured_content["texts"][0]["labels"]] == [tag.label for tag in expected]
    assert explained.structured_content["labels"][0]["label"] == expected[0].label


def test_over_http(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(command(folder, "--mcp-http", "--port", str(port)), stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
        (found,) = ask(f"http://127.0.0.1:{port}/mcp", ("labels", {"query": "web"}))
        assert found.structured_content["total"] > 0
    finally:
        process.terminate()
        process.wait(START)


def test_over_http_it_stays_on_this_computer(folder):
    assert "this computer only" in fail("serve", folder, "--mcp-http", "--host", "0.0.0.0")


def test_the_corpus_is_not_served_whole(server):
    """Explanations have ids, titles and words; the texts of documents stay where they are."""
    found = answer(server, "explain", text=TEXT, k=5, voters=5)
    texts = set(corpus()[0])
    assert not any(text in str(found) for text in texts if len(text) > 60)


def test_it_needs_nothing_of_the_other_server():
    program = "import sys; sys.modules['fastapi'] = None; import neartag.serve.mcp_server"
    subprocess.run([sys.executable, "-c", program], check=True)
