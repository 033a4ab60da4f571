"""Run the image as the documentation says, and tell how large it is and how soon it answers.

    python scripts/try_image.py MODEL                                   # the image `neartag`, with docker or podman
    python scripts/try_image.py MODEL --engine "podman --runtime runc"

It ends with status 1 if the image is above 700 MB, runs as root, can write outside /tmp, compiles at its start, is not
found healthy by its own check, or does not end on SIGTERM.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

MAX_BYTES = 700_000_000
# podman's own are above what some machines allow it to set; a server needs about a thousand files at once.
LIMITS = ("--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096")
PATIENCE = 120  # seconds
# Run inside: who it is, whether it can write to the root, and which files of kernels are not those of the image.
PROBE = """
import json, os
from pathlib import Path
try:
    Path("/opt/neartag/written").touch()
    writable = True
except OSError:
    writable = False
kept = {path.name: path.read_bytes() for path in Path("/opt/neartag/kernels").rglob("*.nb[ci]")}
used = {path.name: path.read_bytes() for path in Path("/tmp/numba").rglob("*.nb[ci]")}
changed = sorted(name for name in used if kept.get(name) != used[name])
print(json.dumps({"uid": os.getuid(), "writable": writable, "kernel files": len(used), "compiled anew": changed}))
"""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", help="a model folder that every user may read")
    options.add_argument("--image", default="neartag")
    options.add_argument("--engine", help="docker or podman; unless told, the first that has the image")
    options.add_argument("--port", type=int, default=8000)
    given = options.parse_args()
    engine = shlex.split(given.engine) if given.engine else find_engine(given.image)

    def call(*arguments: str) -> str:
        done = subprocess.run([*engine, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{shlex.join([*engine, *arguments])}: {done.stderr.strip()}")
        return done.stdout.strip()

    described = json.loads(call("image", "inspect", given.image))[0]
    check = (described.get("Healthcheck") or described["Config"]["Healthcheck"])["Test"]
    begun = time.monotonic()
    container = call(
        *("run", "--detach", "--read-only", "--tmpfs=/tmp", "--cap-drop=ALL", "--security-opt=no-new-privileges"),
        *("--no-healthcheck", *LIMITS, "--network=host", f"--volume={Path(given.model).resolve()}:/model:ro"),
        *(given.image, "serve", "/model", f"--port={given.port}"),
    )
    try:
        address = f"http://127.0.0.1:{given.port}"
        health = wait_for(f"{address}/health")
        seconds = time.monotonic() - begun
        tagged = ask(f"{address}/tag", {"text": "play chess against the computer", "k": 3})
        probe = json.loads(call("exec", container, "python", "-c", PROBE))
        own_check = [each.replace(":8000/", f":{given.port}/") for each in check[1:]]  # without the word CMD
        call("exec", container, *own_check)
        call("stop", "--time=30", container)
        status = int(call("inspect", "--format={{.State.ExitCode}}", container))
    finally:
        subprocess.run([*engine, "rm", "--force", container], capture_output=True, check=False)
    size = int(described["Size"])
    print(f"image: {size / 1e6:.0f} MB; {seconds:.1f} s from `run` to the first answer of /health")
    print(f"model: {health['points']} documents, {health['labels']} labels; answer: {tagged['labels']}")
    print(f"inside: {probe}; exit status after SIGTERM: {status}")
    problems = {
        f"the image is above {MAX_BYTES / 1e6:.0f} MB": size > MAX_BYTES,
        "it runs as root": probe["uid"] == 0,
        "its root can be written to": probe["writable"],
        "kernels were compiled at the start": not probe["kernel files"] or bool(probe["compiled anew"]),
        "SIGTERM did not end it in order": status != 0,
    }
    for problem in (each for each, is_so in problems.items() if is_so):
        print(f"problem: {problem}", file=sys.stderr)
    return int(any(problems.values()))


def find_engine(image: str) -> list[str]:
    """Return the first engine that has the image: docker may be installed without its daemon running."""
    for name in filter(shutil.which, ("docker", "podman")):
        if subprocess.run([name, "image", "inspect", image], capture_output=True, check=False).returncode == 0:
            return [name]
    sys.exit(f"neither docker nor podman has an image {image}: make image builds it")


def wait_for(url: str) -> dict:
    """Return the answer of a server that is starting."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def ask(url: str, body: dict) -> dict:
    """Return the answer to a request with a body."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main())
