"""The backend as a package: what its wheel holds, and that Annif's own program finds the backend."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("annif", reason="needs Annif: make test-annif")

HERE = Path(__file__).parent
PROJECT = """[neartag-en]
name=neartag
language=en
backend=neartag
analyzer=simple
vocab=tiny
"""


def run(folder: Path, *words: str, **variables: str) -> str:
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    command = [sys.executable, "-c", "from annif.cli import cli; cli()", *words]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    return done.stdout + done.stderr


def test_annif_itself_finds_it_by_its_configuration(tmp_path):
    (tmp_path / "projects.cfg").write_text(PROJECT)
    told = run(tmp_path, "show-project", "neartag-en", ANNIF_CONFIG="annif_neartag.Config")
    assert [line.split() for line in told.splitlines() if line.startswith("Backend:")] == [["Backend:", "neartag"]]
    assert "Could not create backend" in run(tmp_path, "show-project", "neartag-en")


def test_the_server_knows_it(monkeypatch):
    import annif.backend

    monkeypatch.setattr(annif.backend, "_backend_fns", dict(annif.backend._backend_fns))
    import annif_neartag

    annif_neartag.register()
    assert annif.backend.get_backend("neartag") is annif_neartag.NeartagBackend
    app = annif.create_flask_app("annif_neartag.Config")
    assert app.config["INITIALIZE_PROJECTS"]


def test_its_wheel_holds_the_backend_alone(tmp_path):
    pytest.importorskip("hatchling", reason="builds the wheel without a network")
    from hatchling.builders.wheel import WheelBuilder

    (built,) = WheelBuilder(str(HERE)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as wheel:
        names = wheel.namelist()
        (metadata,) = [wheel.read(name).decode() for name in names if name.endswith("METADATA")]
    assert [name for name in names if name.endswith(".py")] == ["annif_neartag.py"]
    assert any(name.endswith("entry_points.txt") for name in names)
    assert "Requires-Dist: neartag" in metadata
