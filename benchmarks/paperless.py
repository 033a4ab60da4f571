"""How long the connector for paperless-ngx takes for a document, against the tests' stand-in of paperless.

    python benchmarks/paperless.py --documents 200 --words 3000

A model of the embedded corpus tags scans that are as long as told. Three ways: many documents with the model's folder,
many with a running server, and the script after consuming, which is a program of its own for each document, with a
server. The stand-in answers at once, so this is the connector's own time.
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
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "examples"), str(ROOT / "examples" / "paperless")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--words", type=int, default=3000, help="of each document")
    parser.add_argument("--scripts", type=int, default=10, help="runs of the script after consuming")
    options = parser.parse_args()
    import paperless_tags
    from paperless_api import Paperless
    from suggesters import FolderSuggester, ServerSuggester
    from test_paperless import SCRIPT, TOKEN, Archive, answering

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
            for name, suggester in (("folder", FolderSuggester(folder)), ("server", ServerSuggester(address))):
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
            given = {"PAPERLESS_URL": url, "PAPERLESS_TOKEN": TOKEN, "NEARTAG_MODEL": address, "NEARTAG_WRITE": "1"}
            times, before = [], os.times()
            for number in range(1, options.scripts + 1):
                environment = {**os.environ, **given, "DOCUMENT_ID": str(number), "PYTHON": sys.executable}
                begun = time.perf_counter()
                subprocess.run([SCRIPT], env=environment, check=True, capture_output=True)
                times.append(1000 * (time.perf_counter() - begun))
            after = os.times()
            cpu = sum(getattr(after, name) - getattr(before, name) for name in ("children_user", "children_system"))
            report["script_ms"] = round(float(np.median(times)), 1)
            report["script_cpu_ms"] = round(1000 * cpu / options.scripts, 1)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
