"""Build the wheel and the source archive into dist/, and check what must be true of both before a release.

    python scripts/check_package.py                # needs the packages build and twine
    python scripts/check_package.py --run-tests    # also the tests, from the unpacked source archive, with this Python

The wheel is below 2 MB and has every file of the package. The source archive has every file that git knows, but for
those that only run the project, and no other. `twine check` finds no fault with either.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_WHEEL_BYTES = 2_000_000
LEFT_OUT = (".ci/",)  # of the source archive; pyproject.toml says so
TEST_OPTIONS = ("-m", "not slow and not real")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--run-tests", action="store_true", help="run the tests from the unpacked source archive")
    options.add_argument("tests", nargs="*", help="what to run of them, and pytest's options after --")
    given = options.parse_args()
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", dist, cwd=ROOT)
    (wheel,), (archive,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, archive)
    known = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    foreign = foreign_to_archive(archive, known)
    if foreign:
        sys.exit(f"not of the repository, but in the source archive: {', '.join(foreign[:10])}; move them away")
    missing = missing_from_wheel(wheel, known) + missing_from_archive(archive, known)
    if missing:
        sys.exit("missing: " + ", ".join(missing))
    for file in (wheel, archive):
        print(f"{file.name}: {file.stat().st_size / 1e6:.2f} MB")
    if wheel.stat().st_size > MAX_WHEEL_BYTES:
        sys.exit(f"the wheel is above {MAX_WHEEL_BYTES / 1e6:.0f} MB")
    if given.run_tests:
        run_tests(archive, given.tests or TEST_OPTIONS)


def missing_from_wheel(wheel: Path, known: list[str]) -> list[str]:
    """Return the files of the package that the wheel does not have."""
    with zipfile.ZipFile(wheel) as opened:
        held = set(opened.namelist())
    package = [file.removeprefix("src/") for file in known if file.startswith("src/")]
    return [f"{file} of the wheel" for file in package if file not in held]


def missing_from_archive(archive: Path, known: list[str]) -> list[str]:
    """Return the files of the repository that the source archive does not have."""
    with tarfile.open(archive) as opened:
        held = {name.partition("/")[2] for name in opened.getnames()}
    wanted = [file for file in known if file and not file.startswith(LEFT_OUT)]
    return [f"{file} of the source archive" for file in wanted if file not in held]


def foreign_to_archive(archive: Path, known: list[str]) -> list[str]:
    """Return the files of the source archive that git does not know, such as a model that was trained in the clone."""
    with tarfile.open(archive) as opened:
        held = [member.name.partition("/")[2] for member in opened.getmembers() if member.isfile()]
    return sorted(set(held) - set(known) - {"PKG-INFO"})


def run_tests(archive: Path, tests: list[str] | tuple[str, ...]) -> None:
    """Run the tests as somebody does who has nothing but the source archive."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
        (unpacked,) = Path(folder).iterdir()
        environment = {**os.environ, "PYTHONPATH": str(unpacked / "src"), "PYTHONDONTWRITEBYTECODE": ""}
        run(sys.executable, "-m", "pytest", "-q", *tests, cwd=unpacked, env=environment)


def run(*command: str | Path, **more: object) -> None:
    done = subprocess.run([str(each) for each in command], check=False, **more)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
