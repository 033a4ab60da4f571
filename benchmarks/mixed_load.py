"""Reading and changing at once, over many connections: how many errors, and changes of which nobody knows the fate.

    python benchmarks/mixed_load.py [--connections 100] [--seconds 60] [--workers 2] [--kill 10] [--adding] [--write]

Each connection asks as soon as it has an answer: /tag mostly, then /explain, /labels and /documents, additions,
removals, and changes that must be refused. A change without an answer, or answered with 503, is asked after by its id.
In the end what the model folder holds is compared with what the clients were told. With --kill a worker is killed
every so many seconds. With --adding all connections add one document after another: documents a second. --write keeps
the result in benchmarks/results/mixed_load.json and docs/server.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

import load
import pages
from http_client import TOKEN, Client, LostError, percentile
from run import machine

from neartag.data import debian

MAX_SECONDS = 10.0  # the server's: an unbegun change is not made later than that
LABEL = "role::program"


class Mix:
    """What is asked, and what became of it."""

    def __init__(self, port: int, texts: list[str], adding: bool) -> None:
        self.port, self.texts, self.adding = port, texts, adding
        self.seconds: dict[str, list[float]] = {}
        self.statuses: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()  # by the worker's fate
        self.there: dict[str, bool] = {}  # documents of which it is known whether they are there
        self.asked_after = self.unknown = 0
        self.killed: set[int] = set()
        self.over = False
        self.begun = time.time_ns()

    async def run(self, number: int) -> None:
        client, random_ = Client(self.port), random.Random(number)
        own: list[str] = []  # documents that this connection has added
        count = 0
        while not self.over:
            count += 1
            kind = "add" if self.adding else random_.choices(KINDS, WEIGHTS)[0]
            text = random_.choice(self.texts)
            name = f"{self.begun}-{number}-{count}"  # of the document, and of the request
            if kind == "forget" and not own:
                kind = "add"
            if kind == "add":
                body = {"documents": [{"text": text, "labels": [LABEL], "id": name}]}
                self.there[name] = await self._change(client, "/add", body, name)
                if self.there[name]:
                    own.append(name)
            elif kind == "forget":
                gone = own.pop()
                self.there[gone] = not await self._change(client, "/forget", {"ids": [gone]}, name)
            else:
                method, path, body, expected = make_request(kind, text)
                await self._ask(client, kind, method, path, body, expected)
        client.close()

    async def _ask(
        self, client: Client, kind: str, method: str, path: str, body: object, expected: int, request: str = ""
    ) -> int:
        begun = time.perf_counter()
        try:
            answer = await client.ask(method, path, body, request)
        except LostError as lost:
            where = "of a killed worker" if lost.worker in self.killed else "of another" if lost.worker else "fresh"
            self.lost[f"on connections {where}"] += 1
            return 0
        self.seconds.setdefault(kind, []).append(time.perf_counter() - begun)
        if answer.status != expected:
            self.statuses[f"{kind} {answer.status}"] += 1
        return answer.status

    async def _change(self, client: Client, path: str, body: object, request: str) -> bool:
        """Return whether a change was made."""
        status = await self._ask(client, path[1:], "POST", path, body, 200, request)
        if status == 200:
            return True
        self.asked_after += 1
        deadline = time.monotonic() + 3 * MAX_SECONDS
        settled = time.monotonic() + MAX_SECONDS + 2  # from then on a change that is not there will not be made
        while time.monotonic() < deadline:
            try:
                answer = await client.ask("GET", f"/changes/{request}")
            except LostError:
                await asyncio.sleep(0.2)
                continue
            if answer.status == 200 and answer.body["state"] != "under way":
                return answer.body["state"] == "made"
            if answer.status == 404 and (status or time.monotonic() > settled):
                return False
            await asyncio.sleep(0.5)
        self.unknown += 1
        return False


KINDS = ("tag", "explain", "labels", "documents", "add", "forget", "refused add", "refused forget")
WEIGHTS = (64, 5, 5, 5, 12, 3, 3, 3)


def make_request(kind: str, text: str) -> tuple[str, str, object, int]:
    """Return method, path, body and the status that is right."""
    word = text.split()[0][:20].encode("ascii", "ignore").decode() or "a"
    return {
        "tag": ("POST", "/tag", {"text": text}, 200),
        "explain": ("POST", "/explain", {"text": text, "k": 2}, 200),
        "labels": ("GET", f"/labels?prefix={word}", None, 200),
        "documents": ("GET", "/documents?limit=5", None, 200),
        "refused add": ("POST", "/add", {"documents": [{"text": text, "labels": ["never::seen"]}]}, 409),
        "refused forget": ("POST", "/forget", {"ids": [f"nobody {word}"]}, 404),
    }[kind]


async def kill_workers(mix: Mix, workers: int, every: float, end: float) -> list[float]:
    """Kill a worker every so many seconds; return how long it took until all were there again."""
    took = []
    while time.monotonic() + every < end:
        await asyncio.sleep(every)
        victim = (await load.worker_ids(mix.port, workers))[len(took) % workers]
        mix.killed.add(victim)
        os.kill(victim, signal.SIGKILL)
        begun = time.monotonic()
        while victim in await load.worker_ids(mix.port, workers):
            await asyncio.sleep(0.1)
        took.append(time.monotonic() - begun)
    return took


async def measure(port: int, arguments: argparse.Namespace, texts: list[str]) -> tuple[Mix, dict]:
    await load.worker_ids(port, arguments.workers)
    mix = Mix(port, texts, arguments.adding)
    begun = time.monotonic()
    end = begun + arguments.seconds
    clients = [asyncio.create_task(mix.run(number)) for number in range(arguments.connections)]
    took = await kill_workers(mix, arguments.workers, arguments.kill, end) if arguments.kill else []
    await asyncio.sleep(max(0.0, end - time.monotonic()))
    mix.over = True
    wall = time.monotonic() - begun
    await asyncio.gather(*clients)
    return mix, {"wall": wall, "back after s": took}


def run(arguments: argparse.Namespace, folder: Path) -> dict:
    server, port = load.start(folder, arguments.workers, NEARTAG_TOKEN=TOKEN)
    try:
        texts = [" ".join(words) for words in debian.load("test").words]
        mix, timing = asyncio.run(measure(port, arguments, texts))
    finally:
        load.end(server)
    from neartag import store

    there = set(store.load(folder, verify=False).point_names)
    wrong = [name for name, known in mix.there.items() if known != (name in there)]
    requests = sum(map(len, mix.seconds.values()))
    slow = {
        kind: [1000 * percentile(values, share) for share in (0.5, 0.99, 1.0)] for kind, values in mix.seconds.items()
    }
    told = {name: getattr(arguments, name) for name in ("connections", "workers", "seconds", "kill")}
    return {
        "machine": machine(),
        **told,
        "requests": requests,
        "requests a second": requests / timing["wall"],
        "documents a second": len(mix.seconds.get("add", [])) / timing["wall"],
        "wrong answers": dict(mix.statuses),
        "lost": dict(mix.lost),
        "changes asked after": mix.asked_after,
        "changes of unknown fate": mix.unknown,
        "changes told wrongly": len(wrong),
        "workers killed": len(mix.killed),
        "back after s": timing["back after s"],
        "milliseconds (median, p99, longest)": slow,
    }


def table(result: dict) -> str:
    """Return the result as a table."""
    lost = ", ".join(f"{count} ({why})" for why, count in result["lost"].items()) or "0"
    wrong = ", ".join(f"{count} × {what}" for what, count in result["wrong answers"].items()) or "0"
    rows = [
        (
            "requests a second; documents added a second",
            f"{result['requests a second']:,.0f}; {result['documents a second']:,.0f}",
        ),
        ("answers with a status that is not right", wrong),
        ("requests without an answer", lost),
        ("changes asked after by their ids", str(result["changes asked after"])),
        ("changes of unknown fate", str(result["changes of unknown fate"])),
        ("changes told wrongly", str(result["changes told wrongly"])),
    ]
    if result["workers killed"]:
        back = ", ".join(f"{seconds:.1f}" for seconds in result["back after s"])
        rows.append((f"{result['workers killed']} workers killed: seconds until all answered again", back))
    for kind, (median, p99, longest) in sorted(result["milliseconds (median, p99, longest)"].items()):
        rows.append((f"{kind}: median, 99th percentile, longest", f"{median:.0f}, {p99:.0f}, {longest:.0f} ms"))
    title = f"{result['connections']} connections, {result['workers']} workers, {result['seconds']:g} seconds"
    lines = [f"| {title} | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]
    return "\n".join([*lines, "", f"{result['requests']:,} requests. Measured on: {result['machine']}."])


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--adding", action="store_true")
    parser.add_argument("--model", type=Path, help="a model of the Debian corpus, which is changed")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args(given)
    with tempfile.TemporaryDirectory(prefix="neartag-load-") as place:
        folder = arguments.model or Path(place) / "model"
        if arguments.model is None:
            load.train(folder)
        result = run(arguments, folder)
    print(table(result))
    if arguments.write:
        name = "adding" if arguments.adding else "killed-workers" if arguments.kill else "mixed-load"
        name += "" if arguments.connections == 100 else f"-{arguments.connections}"
        pages.keep("mixed_load", {**pages.kept("mixed_load"), name: result})
        pages.insert(name, table(result), pages.DOCS / "server.md")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
