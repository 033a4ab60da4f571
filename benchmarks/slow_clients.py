"""Clients that open connections and send half a request, or nothing: how long honest clients then wait for /tag.

    python benchmarks/slow_clients.py [--slow 2000] [--honest 20] [--seconds 20] [--workers 2] [--write]

Measures /tag over connections that stay open and over fresh ones, first alone, then beside slow clients in a process
of their own: a third sends nothing, a third a head byte by byte, a third a body byte by byte. One that is cut comes
back. --write keeps the result in benchmarks/results/slow_clients.json and docs/server.md.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import resource
import tempfile
import time
from pathlib import Path

import load
import pages
from http_client import TOKEN, Client, LostError, percentile
from run import machine

from neartag.data import debian

HEADS = (
    b"",
    b"POST /tag HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ",
    b"POST /tag HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n",
)
PAUSE = 1.0  # seconds between two bytes
BACK = 1.0  # seconds until a client that was cut is back


def allow_files(count: int) -> None:
    """Let this process open so many files."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard) if hard > 0 else count, hard))


def be_slow(port: int, count: int, opened, ended) -> None:
    """Be so many slow clients until the end is told."""

    async def one(number: int) -> None:
        head = HEADS[number % len(HEADS)]
        await asyncio.sleep(random.random() * BACK)
        while not ended.is_set():
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                opened.value += 1
                writer.write(head)
                while not (ended.is_set() or reader.at_eof()):
                    await asyncio.sleep(PAUSE)
                    if head:
                        writer.write(b" ")
                        await writer.drain()
                writer.close()
            except OSError:
                pass
            await asyncio.sleep(BACK)

    async def everybody() -> None:
        await asyncio.gather(*(one(number) for number in range(count)))

    allow_files(count + 100)
    asyncio.run(everybody())


async def ask(port: int, texts: list[str], honest: int, seconds: float) -> dict:
    """Return how long honest clients waited; every fifth opens a connection for each request."""
    times: dict[str, list[float]] = {"kept": [], "fresh": []}
    errors: list[str] = []
    end = time.monotonic() + seconds

    async def one(number: int) -> None:
        client, kind = Client(port), "kept" if number % 5 else "fresh"
        while time.monotonic() < end:
            begun = time.perf_counter()
            try:
                answer = await client.ask("POST", "/tag", {"text": random.choice(texts)})
                times[kind].append(time.perf_counter() - begun)
                if answer.status != 200:
                    errors.append(str(answer.status))
            except LostError as lost:
                errors.append(str(lost))
            if kind == "fresh":
                client.close()
            await asyncio.sleep(0.05)
        client.close()

    await asyncio.gather(*(one(number) for number in range(honest)))
    both = [*times["kept"], *times["fresh"]]
    kinds = {kind: 1000 * percentile(values, 0.99) for kind, values in times.items()}
    return {
        "requests": len(both),
        "errors": len(errors),
        "p50 ms": 1000 * percentile(both, 0.5),
        "p99 ms": 1000 * percentile(both, 0.99),
        "p99 ms by connection": kinds,
    }


def run(arguments: argparse.Namespace, folder: Path) -> dict:
    server, port = load.start(folder, arguments.workers, NEARTAG_TOKEN=TOKEN)
    context = multiprocessing.get_context("spawn")
    ended, opened = context.Event(), context.Value("q", 0, lock=False)
    slow = context.Process(target=be_slow, args=(port, arguments.slow, opened, ended))
    try:
        asyncio.run(load.worker_ids(port, arguments.workers))
        texts = [" ".join(words) for words in debian.load("test").words]
        asyncio.run(ask(port, texts, arguments.honest, 1.0))  # not counted
        alone = asyncio.run(ask(port, texts, arguments.honest, arguments.seconds))
        slow.start()
        while opened.value < arguments.slow:
            time.sleep(0.1)
        beside = asyncio.run(ask(port, texts, arguments.honest, arguments.seconds))
    finally:
        ended.set()
        if slow.pid is not None:
            slow.join(30)
            slow.kill()
        load.end(server)
    told = {name: getattr(arguments, name) for name in ("slow", "honest", "workers", "seconds")}
    ratio = beside["p99 ms"] / max(alone["p99 ms"], 1e-9)
    return {"machine": machine(), **told, "alone": alone, "beside": beside, "ratio": ratio, "opened": opened.value}


def table(result: dict) -> str:
    """Return the result as a table."""
    head = (
        f"| {result['honest']} clients, {result['workers']} workers | alone | beside {result['slow']:,} slow clients |"
    )
    rows = [
        f"| /tag, {name} | " + " | ".join(f"{result[side][name]:.1f}" for side in ("alone", "beside")) + " |"
        for name in ("p50 ms", "p99 ms")
    ]
    rows += [
        f"| p99 ms over {what} | "
        + " | ".join(f"{result[side]['p99 ms by connection'][kind]:.1f}" for side in ("alone", "beside"))
        + " |"
        for kind, what in (("kept", "connections that stay open"), ("fresh", "a fresh connection each"))
    ]
    rows.append(f"| errors | {result['alone']['errors']} | {result['beside']['errors']} |")
    about = f"The 99th percentile is {result['ratio']:.2f} times as long. Measured on: {result['machine']}."
    return "\n".join([head, "|---|---|---|", *rows, "", about])


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slow", type=int, default=2000)
    parser.add_argument("--honest", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args(given)
    with tempfile.TemporaryDirectory(prefix="neartag-slow-") as place:
        folder = arguments.model or Path(place) / "model"
        if arguments.model is None:
            load.train(folder)
        result = run(arguments, folder)
    print(table(result))
    if arguments.write:
        pages.keep("slow_clients", result)
        pages.insert("slow-clients", table(result), pages.DOCS / "server.md")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
