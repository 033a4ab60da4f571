"""Workflows, sessions, lock file and package say the same, and a release needs nothing that does not exist."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NOXFILE = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
LOCK = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")

sys.path.insert(0, str(ROOT / "scripts"))
import check_version  # noqa: E402

sys.path.pop(0)


def read(path):
    return path.read_text(encoding="utf-8")


def workflow(name):
    return pytest.importorskip("yaml").safe_load(read(ROOT / ".github" / "workflows" / f"{name}.yml"))


def pythons():
    """Return the Pythons of the noxfile, which is not imported: the tests do not need nox."""
    values = {
        node.targets[0].id: node.value
        for node in NOXFILE.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    return ast.literal_eval(values["PYTHONS"])


def sessions():
    return {node.name for node in NOXFILE.body if isinstance(node, ast.FunctionDef) and node.decorator_list}


def extra(name):
    """Return what an extra of pyproject.toml asks for, or `dependencies`, each as a text such as `numpy>=1.26`."""
    found = re.search(rf"^{name} = \[(.*?)\]$", PYPROJECT, re.MULTILINE | re.DOTALL)
    return re.findall(r'"([^"]+)"', found[1])


def test_tested_pythons_are_those_that_the_package_declares():
    declared = re.findall(r"Programming Language :: Python :: (3\.\d+)", PYPROJECT)
    assert pythons() == declared
    assert workflow("ci")["jobs"]["tests"]["strategy"]["matrix"]["python"] == declared
    assert f'requires-python = ">={declared[0]}"' in PYPROJECT


def test_three_systems_are_tested():
    systems = workflow("ci")["jobs"]["tests"]["strategy"]["matrix"]["system"]
    assert {each.split("-")[0] for each in systems} == {"ubuntu", "macos", "windows"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_workflows_call_exists(path):
    text = read(path)
    targets = set(re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), re.MULTILINE))
    matrix = re.findall(r"session: \[([^\]]+)\]", text)
    named = re.findall(r'--session "?([a-z]+)', text) + [each for line in matrix for each in line.split(", ")]
    assert set(named) <= sessions()
    assert set(re.findall(r"run: make ([a-z-]+)", text)) <= targets
    assert [file for file in re.findall(r"(?:scripts|tests)/[\w/.]+", text) if not (ROOT / file).exists()] == []
    assert named or "run: make" in text


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_rights_are_given_one_by_one(path):
    text = read(path)
    foreign = [each for each in re.findall(r"uses: (.+)$", text, re.MULTILINE) if not each.startswith("./")]
    assert foreign
    assert [each for each in foreign if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []
    assert re.search(r"^permissions: \{\}$", text, re.MULTILINE)
    assert "secrets." not in text


def test_makefile_calls_sessions_that_exist():
    called = set(re.findall(r"\$\(NOX\) ([a-z_]+)", read(ROOT / "Makefile")))
    assert {"lowest", "browser", "peers", "annif", "docs", "package"} <= called <= sessions()


def test_sessions_test_what_the_makefile_tests():
    extras = re.search(r'^DEVELOPED = "([^"]+)"', read(ROOT / "noxfile.py"), re.MULTILINE)[1]
    assert f'--editable "{extras}"' in read(ROOT / "Makefile")


def test_only_the_job_that_publishes_may_do_so():
    jobs = workflow("release")["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["environment"] == "pypi"
    assert [name for name, job in jobs.items() if job["permissions"].get("contents") == "write"] == ["announce"]


def test_the_lock_has_all_that_development_needs():
    requirements = pytest.importorskip("packaging.requirements")
    pinned = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", LOCK, re.MULTILINE))
    session = next(node for node in NOXFILE.body if isinstance(node, ast.FunctionDef) and node.name == "lock")
    extras = next(ast.literal_eval(node.iter) for node in ast.walk(session) if isinstance(node, ast.comprehension))
    for text in [each for name in ("dependencies", *extras) for each in extra(name)]:
        wanted = requirements.Requirement(text)
        name = wanted.name.replace("_", "-").lower()
        assert name in pinned, f"{name} is not in requirements-dev.txt: nox -s lock"
        assert wanted.specifier.contains(pinned[name], prereleases=True), f"{text}: nox -s lock"


def test_the_lock_has_checksums_and_no_addresses():
    assert LOCK.count("--hash=sha256:") > len(re.findall("^[a-z]", LOCK, re.MULTILINE))
    assert not re.search(r"://|^--?\w", LOCK, re.MULTILINE)


CHANGELOG = (
    "# Changelog\n\n## [Unreleased]\n\n- new\n\n## [1.2.0] - 2026-01-31\n\n- b\n- c\n\n## [1.1.0] - 2025-12-01\n\n- a\n"
)


def test_notes_are_the_changelogs_part_of_the_version():
    assert check_version.notes_of("1.2.0", CHANGELOG) == "- b\n- c"
    assert check_version.notes_of("1.1.0", CHANGELOG) == "- a"


@pytest.mark.parametrize("version", ["1.3.0", "1.2", "Unreleased"])
def test_no_notes_of_a_version_without_a_part_and_a_date(version):
    assert check_version.notes_of(version, CHANGELOG) == ""


def test_another_tag_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["check_version.py", "v99.0.0"])
    with pytest.raises(SystemExit, match=r"the tag is v99\.0\.0, but the package says"):
        check_version.main()


def test_the_packages_version_is_found():
    import neartag

    assert check_version.package_version(read(ROOT / "src/neartag/core/version.py")) == neartag.__version__
