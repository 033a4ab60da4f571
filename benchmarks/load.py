"""How many requests a second the server answers, and how soon: /tag on loopback, over connections that stay open.

    python benchmarks/load.py [--seconds 20] [--connections 50] [--workers 2] [--model FOLDER] [--write]

Starts `neartag serve` on a model of the embedded Debian corpus, trained into a temporary folder unless one is given,
and asks for the labels of one test text after another; each connection asks anew as soon as it has an answer. The
client is one process of plain sockets, whose own share of the cores is measured too. --write keeps the result in
benchmarks/results/load.json and the table of docs/server.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from itertools import count
from pathlib import Path

import pages
from peer_run import busy
from run import machine

from neartag.data import debian

SETTINGS = {"refine": False, "embedding_dim": 200}
START, END = 120.0, 60.0  # seconds in which the server must be there, and be gone
MB = 2**20


class Connection(asyncio.Protocol):
    """Sends one request after another, and notes how long each took and with what status it was answered."""

    def __init__(self, load: Load) -> None:
        self.load, self.buffer, self.sent = load, bytearray(), 0.0

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        self.buffer.clear()
        self.sent = time.perf_counter()
        self.transport.write(self.load.next())

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        length = int(re.search(rb"content-length: (\d+)", self.buffer[:head], re.IGNORECASE)[1])
        if len(self.buffer) < head + 4 + length:
            return
        self.load.note(time.perf_counter() - self.sent, int(self.buffer[9:12]))
        if self.load.over:
            self.transport.close()
        else:
            self.ask()

    def connection_lost(self, error) -> None:
        if not self.load.over:
            self.load.lost += 1


class Load:
    """The requests, and what became of them."""

    def __init__(self, texts: list[str], port: int) -> None:
        self.requests = [_request(text, port) for text in texts]
        self.number = count()
        self.begin()
        self.over = False

    def begin(self) -> None:
        self.seconds: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.lost = 0

    def next(self) -> bytes:
        return self.requests[next(self.number) % len(self.requests)]

    def note(self, seconds: float, status: int) -> None:
        self.seconds.append(seconds)
        self.statuses[status] += 1


def _request(text: str, port: int) -> bytes:
    body = json.dumps({"text": text}).encode()
    head = f"POST /tag HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def measure(
    port: int, texts: list[str], connections: int, seconds: float, workers: list[int], *, warm_up: float
) -> dict:
    """Return what so many connections measured in so many seconds, after a warm-up that is not counted."""
    load, loop = Load(texts, port), asyncio.get_running_loop()
    for _ in range(connections):
        await loop.create_connection(lambda: Connection(load), "127.0.0.1", port)
    await asyncio.sleep(warm_up)
    load.begin()
    begun, own, everybody, used = time.perf_counter(), time.process_time(), busy(), sum(map(cpu_seconds, workers))
    await asyncio.sleep(seconds)
    wall, used = time.perf_counter() - begun, sum(map(cpu_seconds, workers)) - used
    client, all_cores = (time.process_time() - own) / wall, (busy() - everybody) / wall
    found, answered = sorted(load.seconds), Counter(load.statuses)
    load.over = True
    await asyncio.sleep(0.5)
    if not found:
        raise SystemExit("nothing was answered")
    return {
        "requests": len(found),
        "requests a second": len(found) / wall,
        "p50 ms": 1000 * found[len(found) // 2],
        "p99 ms": 1000 * found[int(len(found) * 0.99)],
        "largest ms": 1000 * found[-1],
        "errors": sum(number for status, number in answered.items() if status != 200) + load.lost,
        "CPU ms a request": 1000 * used / len(found),
        "cores used by the client": client,
        "cores used by all": all_cores,
    }


def train(folder: Path) -> None:
    """Save a tagger of the Debian corpus."""
    from neartag.tagging.tagger import TextTagger
    from neartag.x1.classifier import X1Classifier

    packages = debian.load("train")
    texts = [" ".join(words) for words in packages.words]
    TextTagger(classifier=X1Classifier(**SETTINGS)).fit(texts, packages.tags, packages.names).save(folder)


def start(folder: Path, workers: int, *options: str, **variables: str) -> tuple[subprocess.Popen, int]:
    """Return a server that answers, and its port."""
    command = [sys.executable, "-m", "neartag.cli", "serve", str(folder), "--port", "0", "--workers", str(workers)]
    environment = {**os.environ, **variables}
    server = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True, env=environment)
    for line in server.stderr:
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        if found:
            threading.Thread(target=sys.stderr.writelines, args=(server.stderr,), daemon=True).start()
            return server, int(found[1])
    raise SystemExit(f"the server did not start: status {server.wait()}")


async def worker_ids(port: int, workers: int) -> list[int]:
    """Return the process ids of all workers, each of which answers some of the fresh connections."""
    found: set[int] = set()
    deadline = time.monotonic() + START
    while len(found) < workers:
        if time.monotonic() > deadline:
            raise SystemExit(f"only {len(found)} of {workers} workers answer")
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
            content = await asyncio.wait_for(reader.read(), 10)
            writer.close()
            found.add(json.loads(content.partition(b"\r\n\r\n")[2])["pid"])
        except (OSError, ValueError, asyncio.TimeoutError):
            await asyncio.sleep(0.1)
    return sorted(found)


def end(server: subprocess.Popen) -> None:
    """End a server."""
    server.send_signal(signal.SIGTERM)
    try:
        server.wait(END)
    except subprocess.TimeoutExpired:
        server.kill()


def memory(process: int) -> dict[str, float]:
    """Return a process's memory in MB: all of it, and what is its own, mapped files left out."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return {}
    kept = {"RSS": "VmRSS", "own": "RssAnon"}
    return {name: int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) / 1024 for name, field in kept.items()}


def cpu_seconds(process: int) -> float:
    """Return the CPU time that a process has used; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def table(result: dict) -> str:
    """Return the result as a table."""
    memories = [
        f"{before['RSS']:.0f} → {after['RSS']:.0f} ({before['own']:.0f} → {after['own']:.0f})"
        for before, after in zip(result["memory before"], result["memory after"], strict=True)
        if before and after
    ]
    rows = [
        ("requests a second", f"{result['requests a second']:,.0f}"),
        ("time to an answer, median", f"{result['p50 ms']:.1f} ms"),
        ("99th percentile", f"{result['p99 ms']:.1f} ms"),
        ("longest", f"{result['largest ms']:.0f} ms"),
        ("errors", str(result["errors"])),
        ("CPU time of the workers for a request", f"{result['CPU ms a request']:.2f} ms"),
        ("memory of each worker before → after, MB (without mapped files)", "; ".join(memories) or "unknown"),
        (
            "cores used: by the client, by all",
            f"{result['cores used by the client']:.2f}, {result['cores used by all']:.2f}",
        ),
    ]
    title = f"{result['connections']} connections, {result['workers']} workers, {result['points']:,} points"
    lines = [f"| {title} | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]
    about = f"{result['requests']:,} requests in {result['seconds']:g} seconds. Measured on: {result['machine']}."
    return "\n".join([*lines, "", about])


def run(arguments: argparse.Namespace, folder: Path) -> dict:
    server, port = start(folder, arguments.workers)
    try:
        workers = asyncio.run(worker_ids(port, arguments.workers))
        texts = [" ".join(words) for words in debian.load("test").words]
        before = [memory(process) for process in workers]
        measured = measure(port, texts, arguments.connections, arguments.seconds, workers, warm_up=arguments.warm_up)
        result = asyncio.run(measured)
        after = [memory(process) for process in workers]
    finally:
        end(server)
    from neartag import store

    points = store.load(folder, verify=False).model.n_points
    told = {name: getattr(arguments, name) for name in ("connections", "workers", "seconds")}
    return {"machine": machine(), **told, "points": points, **result, "memory before": before, "memory after": after}


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--warm-up", type=float, default=2.0)
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args(given)
    with tempfile.TemporaryDirectory(prefix="neartag-load-") as place:
        folder = arguments.model or Path(place) / "model"
        if arguments.model is None:
            train(folder)
        result = run(arguments, folder)
    print(table(result))
    if arguments.write:
        pages.keep("load", result)
        pages.insert("load", table(result), pages.DOCS / "server.md")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
