"""Environments beside .venv, each made when it is first asked for: `nox --list`, `nox -s tests-3.12 -- tests/core`.

`make` calls the most usual ones. Any of them takes other arguments after `--`.
"""

from __future__ import annotations

from pathlib import Path

import nox

PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
# Many tests start Python anew; without kept byte code it would compile everything each time.
KEEP_BYTE_CODE = {"PYTHONDONTWRITEBYTECODE": ""}
DEVELOPED = ".[serve,test,fuzz,mcp]"  # as the Makefile installs it for the tests
IN_PARALLEL = ["-n", "auto", "--dist", "worksteal"]

nox.needs_version = ">=2024.3.2"
nox.options.sessions = ["tests"]
nox.options.reuse_existing_virtualenvs = True


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The tests on one Python, with the newest versions of everything."""
    session.install("--upgrade", "--editable", DEVELOPED)
    if not session.posargs:
        session.run("python", "scripts/compile_kernels.py", env=KEEP_BYTE_CODE)
    session.run("python", "-m", "pytest", "-q", *(session.posargs or IN_PARALLEL), env=KEEP_BYTE_CODE)


@nox.session
def lowest(session: nox.Session) -> None:
    """The quick tests on the lower bounds that pyproject.toml declares."""
    constraints = Path(session.create_tmp()) / "constraints.txt"
    lines = session.run("python", "scripts/lowest.py", silent=True)
    constraints.write_text(str(lines), encoding="utf-8")
    session.install("--constraint", str(constraints), "--editable", ".[test]")
    session.run("python", "-m", "pytest", "-q", *(session.posargs or ["-m", "not slow"]), env=KEEP_BYTE_CODE)


@nox.session
def locked(session: nox.Session) -> None:
    """The tests on the versions that requirements-dev.txt names."""
    session.install("--require-hashes", "--requirement", "requirements-dev.txt")
    session.install("--no-deps", "--editable", ".")
    session.run("python", "-m", "pytest", "-q", *(session.posargs or IN_PARALLEL), env=KEEP_BYTE_CODE)


@nox.session
def browser(session: nox.Session) -> None:
    """The server's page in Debian's Chromium, with screenshots in build/screenshots."""
    session.install("--editable", ".[serve,test,browser]")
    session.run("sh", "scripts/need_chromium.sh", external=True)
    session.run("python", *(session.posargs or ["-m", "pytest", "-q", "tests/browser"]), env=KEEP_BYTE_CODE)


@nox.session
def peers(session: nox.Session) -> None:
    """neartag beside other tools, and then against the best of them (benchmarks/README.md)."""
    listed = "benchmarks/peers-requirements.txt"
    session.install("--requirement", listed, "--editable", ".")
    # Where one of these does not install (LibMultiLabel needs a C++ compiler), the others are measured without it.
    for optional in (["--no-deps", "libpecos==1.2.8"], ["--constraint", listed, "libmultilabel==0.10.0"]):
        session.install(*optional, success_codes=range(256))
    session.run("python", "benchmarks/peers.py", "--write", *session.posargs)
    tuned = [each for each in session.posargs if each == "--tuned"]
    session.run("python", "benchmarks/refined.py", "--write", *tuned, success_codes=range(256))


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation site into build/site, with links checked and notebooks run."""
    session.install("--editable", ".[serve,docs]")
    env = {"NO_MKDOCS_2_WARNING": "1"}
    session.run("mkdocs", *(session.posargs or ["build", "--strict", "--quiet"]), env=env)


@nox.session
def annif(session: nox.Session) -> None:
    """The backend for Annif in a real Annif."""
    own = ("--editable", ".", "--editable", "examples/annif_backend")
    session.install("hatchling", "pytest", "pytest-timeout", *own)
    session.run("python", *(session.posargs or ["-m", "pytest", "-q", "examples/annif_backend"]))


@nox.session
def label_studio(session: nox.Session) -> None:
    """The backend for Label Studio with Label Studio's own packages, of which one is on GitHub only."""
    theirs = ("label-studio-sdk", "git+https://github.com/HumanSignal/label-studio-ml-backend")
    session.install(*theirs, "--editable", ".[serve,test]")
    session.run("python", *(session.posargs or ["-m", "pytest", "-q", "examples/label_studio"]))


@nox.session
def package(session: nox.Session) -> None:
    """Build the wheel and the source archive into dist/, and check both (RELEASING.md); `-- --run-tests` too."""
    session.install("build", "twine")
    if "--run-tests" in session.posargs:
        session.install(DEVELOPED)
    session.run("python", "scripts/check_package.py", *session.posargs)


@nox.session
def lock(session: nox.Session) -> None:
    """Write requirements-dev.txt anew: versions and checksums of all that development needs, on every system."""
    session.install("uv")
    extras = [f"--extra={each}" for each in ("serve", "test", "fuzz", "mcp", "lint", "plot")]
    session.run(
        *("uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--python-version", PYTHONS[0]),
        *("--custom-compile-command", "nox -s lock", "--output-file", "requirements-dev.txt"),
        *(*extras, "pyproject.toml", *session.posargs),
    )
