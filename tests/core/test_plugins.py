"""Plug-ins by name: a file of one package each, or an entry point of another distribution."""

from __future__ import annotations

import sys

import pytest

from neartag.core.errors import NeartagError, ParameterError
from neartag.core.plugins import Plugins
from plugin_helpers import write_distribution

GROUP = "neartag.test_shapes"


def check(plugin):
    if not isinstance(plugin, dict):
        raise TypeError("a shape is a dict")


@pytest.fixture
def shapes(tmp_path, monkeypatch):
    """Plug-ins of a package with two shapes, one in a file of another name, and a module that is none."""
    package = tmp_path / "builtin" / "shapes_here"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "square.py").write_text("SHAPE = {'name': 'square', 'corners': 4}\n")
    (package / "angles.py").write_text("SHAPE = {'name': 'triangle', 'corners': 3}\n")
    (package / "helpers.py").write_text("import math\n")
    monkeypatch.syspath_prepend(str(package.parent))
    yield Plugins("shape", "shapes_here", "SHAPE", GROUP, lambda shape: shape["name"], check)
    for name in [name for name in sys.modules if name.split(".")[0] in ("shapes_here", "their_shapes")]:
        del sys.modules[name]


def install(tmp_path, monkeypatch, targets, source, package="their-shapes"):
    folder = write_distribution(tmp_path / package, package, {GROUP: targets}, their_shapes=source)
    monkeypatch.syspath_prepend(str(folder))


def test_built_in_ones_are_found_by_their_files(shapes):
    assert shapes.names() == ["triangle", "square"]
    assert shapes.get("square")["corners"] == 4
    assert shapes.get("triangle")["corners"] == 3
    assert [shape["name"] for shape in shapes.all().values()] == ["triangle", "square"]


def test_one_whose_file_has_its_name_is_imported_alone(shapes):
    shapes.get("square")
    assert "shapes_here.square" in sys.modules
    assert "shapes_here.angles" not in sys.modules


def test_unknown_names_are_refused_with_those_there_are(shapes, tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {"circle": "their_shapes:CIRCLE"}, "CIRCLE = {'name': 'circle', 'corners': 0}\n")
    for name in ("helpers", "angles", "", "no.such"):
        with pytest.raises(ParameterError, match=r"there is no shape .*: choose one of triangle, square, circle"):
            shapes.get(name)


@pytest.mark.parametrize("target", ["their_shapes:CIRCLE", "their_shapes"])
def test_others_are_found_by_entry_point(shapes, tmp_path, monkeypatch, target):
    source = "CIRCLE = SHAPE = {'name': 'circle', 'corners': 0}\n"
    install(tmp_path, monkeypatch, {"circle": target}, source)
    assert shapes.names() == ["triangle", "square", "circle"]
    assert "their_shapes" not in sys.modules, "names are told without running anybody's code"
    assert shapes.get("circle")["corners"] == 0
    assert list(shapes.all()) == ["triangle", "square", "circle"]


def test_nobody_replaces_a_built_in_one(shapes, tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {"square": "their_shapes:OTHER"}, "OTHER = {'name': 'square', 'corners': 5}\n")
    assert shapes.names() == ["triangle", "square"]
    assert shapes.get("square")["corners"] == 4
    assert shapes.all()["square"]["corners"] == 4


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import there_is_no_such_module\n", "ModuleNotFoundError"),
        ("CIRCLE = 'round'\n", "TypeError: a shape is a dict"),
        ("CIRCLE = {}\n", "KeyError"),
        ("OTHER = {}\n", "AttributeError"),
        ("CIRCLE = {'name': 'oval'}\n", "calls itself 'oval'"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
    ],
)
def test_a_broken_one_is_named_with_its_package(shapes, tmp_path, monkeypatch, source, reason):
    install(tmp_path, monkeypatch, {"circle": "their_shapes:CIRCLE"}, source)
    with pytest.raises(NeartagError, match=rf"the shape 'circle' of the package 'their-shapes' .*{reason}"):
        shapes.get("circle")
    with pytest.warns(UserWarning, match="their-shapes"):
        assert list(shapes.all()) == ["triangle", "square"], "the others are still there"
