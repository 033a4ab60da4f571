"""Walk the path of somebody who finds neartag and has nothing yet, and tell how long each step takes.

    python scripts/strangers_path.py FOLDER                        # every step, in an empty folder
    python scripts/strangers_path.py FOLDER --steps clone,demo     # some; others can follow in the same folder
    python scripts/strangers_path.py FOLDER --image packages       # the image's base from Debian's packages
    python scripts/strangers_path.py FOLDER --tell                 # the table of what was measured there

The repository is cloned as it is committed, home is an empty folder, and nothing that pip or numba kept is used. Each
command stands in the README or the documentation (a test looks). Times are of this machine and its network: measure on
one that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
KEPT = "times.json"
# Of pip, certificates and proxies: how this machine reaches the network. All else of the environment is left out.
ABOUT_THE_NETWORK = ("PIP_", "SSL_", "REQUESTS_", "CURL_", "HTTP_", "HTTPS_", "NO_PROXY", "http_", "https_", "no_proxy")


class Step(NamedTuple):
    """A command of the documentation, where it stands, and what it gives."""

    command: str
    page: str
    gives: str


STEPS = {
    "demo": Step("make demo", "README.md", "four sentences tagged"),
    "train": Step("neartag train debian model/", "README.md", "a model of one's own"),
    "docs": Step("make docs", "CONTRIBUTING.md", "the site, its three notebooks run"),
    "notebook": Step(
        ".nox/docs/bin/jupyter execute docs/notebooks/tag-and-explain.ipynb", "docs/guides/index.md", "a notebook run"
    ),
    "image": Step("make image", "docs/deployment.md", "the container's image"),
    "serve": Step("python scripts/try_image.py model/", "docs/deployment.md", "a server answering from the image"),
    "package": Step("make package", "RELEASING.md", "wheel and source archive, checked"),
    "wheel": Step("python scripts/first_tag.py dist/*.whl", "RELEASING.md", "from pip install to the first tag"),
    "test": Step("make test", "README.md", "all tests"),
}
LEFT_OUT = ("test",)  # unless asked for


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=Path, help="empty, or one that this script has begun with")
    options.add_argument("--steps", help=f"some of clone, {', '.join(STEPS)}, with commas; all but test unless told")
    options.add_argument("--repository", default=str(ROOT), help="what to clone")
    options.add_argument("--image", default="", metavar="packages", help="make the image's base from Debian's packages")
    options.add_argument("--engine", default="", help="what runs the image, such as 'podman --runtime runc'")
    options.add_argument("--tell", action="store_true", help="only print the table")
    given = options.parse_args()
    kept = given.folder / KEPT
    times: dict[str, float] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    steps = given.steps.split(",") if given.steps else ["clone", *(each for each in STEPS if each not in LEFT_OUT)]
    for name in [] if given.tell else steps:
        command = f"git clone {given.repository} neartag" if name == "clone" else STEPS[name].command
        if name == "image" and given.image:
            command += f" IMAGE_FROM={given.image}"
        if name == "serve" and given.engine:
            command += f" --engine '{given.engine}'"
        seconds, status = run(command, given.folder, name == "clone")
        if status:
            print(f"{command}: ended with {status} after {seconds:.0f} s", file=sys.stderr)
            return 1
        times[name] = seconds
        kept.write_text(json.dumps(times), encoding="utf-8")
    print(tell(times))
    return 0


def run(command: str, folder: Path, in_folder: bool) -> tuple[float, int]:
    """Run a command as in a new shell of a new user, and return its seconds and exit status; it prints to stderr."""
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    own = {name: value for name, value in os.environ.items() if name.startswith(ABOUT_THE_NETWORK)}
    environment = {**own, "HOME": str(home.resolve()), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    place = folder if in_folder else folder / "neartag"
    activated = f". .venv/bin/activate; {command}" if (place / ".venv").exists() else command
    print(f"$ {command}", file=sys.stderr, flush=True)
    begun = time.monotonic()
    done = subprocess.run(["sh", "-c", activated], cwd=place, env=environment, stdout=sys.stderr, check=False)
    return time.monotonic() - begun, done.returncode


def tell(times: dict[str, float]) -> str:
    """Return the table of what was measured, in the order of the path."""
    lines = ["| command | gives | seconds |", "|---|---|---:|"]
    lines += [
        f"| `{STEPS[name].command}` | {STEPS[name].gives} | {times[name]:.0f} |" for name in STEPS if name in times
    ]
    total = sum(seconds for name, seconds in times.items() if name not in LEFT_OUT)
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"
    return "\n".join([*lines, "", f"Together {total / 60:.1f} minutes without the tests ({machine})."])


if __name__ == "__main__":
    sys.exit(main())
