"""How long the connector for paperless-ngx takes for a document, against the tests' stand-in of paperless.

    python benchmarks/paperless.py --documents 200 --words 3000

A model of the embedded corpus tags scans that are as long as told. Many documents: with the model's folder, and with a
running server. One at a time, as the script after consuming does, which is a program of its own for each document: with
a connector that listens, and with a server, for which Python starts. The stand-in answers at once, so this is the
connector's own time. `--write` writes the table into examples/paperless/README.md.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "examples"), str(ROOT / "examples" / "paperless")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--words", type=int, default=3000, help="of each document")
    parser.add_argument("--scripts", type=int, default=20, help="runs of the script after consuming")
    parser.add_argument("--write", action="store_true", help="write the table into the connector's README")
    options = parser.parse_args()
    import paperless_tags
    from paperless_api import Paperless
    from suggesters import FolderSuggester, ServerSuggester
    from test_paperless import SCRIPT, TOKEN, Archive, answering, listening

    from serve_helpers import running, train

    archive = Archive(options.documents, 0)
    chance = np.random.default_rng(0)
    words = np.array(" ".join(each["content"] for each in archive.documents.values()).split())
    for each in archive.documents.values():
        each["content"] = f"{each['content']} {' '.join(chance.choice(words, options.words))}"
    report = {"documents": options.documents, "words": options.words}
    with tempfile.TemporaryDirectory() as folder, answering(archive) as url:
        train().save(folder)
        with running(folder, workers=1) as server:
            server.workers(1)
            address = f"http://127.0.0.1:{server.port}"
            suggesters = {"folder": FolderSuggester(folder), "server": ServerSuggester(address)}
            for name, suggester in suggesters.items():
                paperless = Paperless(url, TOKEN)
                suggester.suggest(["one"])  # what comes first is not what each document takes
                begun, cpu = time.perf_counter(), time.process_time()
                with contextlib.redirect_stdout(io.StringIO()):
                    seen, changed = paperless_tags.tag(paperless, suggester, paperless.documents(), write=True)
                report[f"{name}_ms"] = round(1000 * (time.perf_counter() - begun) / seen, 2)
                report[f"{name}_cpu_ms"] = round(1000 * (time.process_time() - cpu) / seen, 2)
                report[f"{name}_changed"] = changed
                for each in archive.documents.values():
                    each["tags"].clear()
            given = {"PAPERLESS_URL": url, "PAPERLESS_TOKEN": TOKEN, "NEARTAG_WRITE": "1", "PYTHON": sys.executable}
            socket = str(Path(folder, "socket"))
            with listening(socket, partial(paperless_tags.tag_one, Paperless(url, TOKEN), suggesters["folder"], True)):
                measure_script(report, "listener", options.scripts, SCRIPT, {**given, "NEARTAG_SOCKET": socket})
            for each in archive.documents.values():
                each["tags"].clear()
            measure_script(report, "script", options.scripts, SCRIPT, {**given, "NEARTAG_MODEL": address})
    print(json.dumps(report))
    if options.write:
        write_table(report)


def measure_script(report: dict, name: str, runs: int, script: Path, given: dict[str, str]) -> None:
    """Run the script for one document after another, and add its median wall time and the CPU of its processes."""
    times, before = [], os.times()
    for number in range(1, runs + 1):
        environment = {**os.environ, **given, "DOCUMENT_ID": str(number)}
        begun = time.perf_counter()
        subprocess.run([script], env=environment, check=True, capture_output=True)
        times.append(1000 * (time.perf_counter() - begun))
    after = os.times()
    cpu = sum(getattr(after, each) - getattr(before, each) for each in ("children_user", "children_system"))
    report[f"{name}_ms"] = round(float(np.median(times)), 1)
    report[f"{name}_cpu_ms"] = round(1000 * cpu / runs, 1)


def write_table(report: dict) -> None:
    """Write the table between its marks in the connector's README."""
    ways = {
        "folder": "`tag model/ --write`, many documents",
        "server": "`tag http://localhost:8001 --write`, many documents",
        "listener": "`post_consume.sh` with `listen`, each document alone",
        "script": "`post_consume.sh` with a server, each document alone",
    }
    rows = [f"| {way} | {report[f'{name}_ms']} | {report[f'{name}_cpu_ms']} |" for name, way in ways.items()]
    table = "\n".join(["| way | ms a document | of it CPU |", "|---|---:|---:|", *rows])
    page = ROOT / "examples" / "paperless" / "README.md"
    before, rest = page.read_text(encoding="utf-8").split("<!-- times begin -->\n")
    after = rest.split("<!-- times end -->")[1]
    page.write_text(f"{before}<!-- times begin -->\n{table}\n<!-- times end -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
