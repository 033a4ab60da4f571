"""The documentation names only what exists: links, headings, modules, files; and its pictures carry nothing else."""

from __future__ import annotations

import importlib
import importlib.util
import re
import struct

import pytest
from docs_helpers import DOCS, PAGES, README, ROOT, anchors, links, pages, read

SOURCE = ROOT / "src" / "neartag"
PICTURES = sorted(path for path in (ROOT / "docs").rglob("*") if path.suffix in (".png", ".svg"))
MADE_BY_THE_SITE = {ROOT / "docs" / uri for uri in (*pages.MADE, *pages.SHOWN.values())}
# Not those where the image and the unit of systemd have neartag.
MACHINE = re.compile(
    r"(?<![\w.])/(?!(?:opt|var/lib|var/cache)/neartag\b)(home|root|tmp|work|Users|usr|opt|var)/|\b[A-Z]:\\|file://"
)
MODULE = re.compile(r"\bneartag(?:\.[A-Za-z_]\w*)+")
FILE = re.compile(r"(?<![\w/.-])((?:[\w.-]+/)+[\w-]+\.(?:py|sh|toml))\b")


def name(path):
    return str(path.relative_to(ROOT))


def exists(dotted):
    """Whether a dotted name is a module, or something in one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        try:
            if importlib.util.find_spec(module) is None:
                continue
        except ModuleNotFoundError:
            continue
        found = importlib.import_module(module)
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_somewhere(path):
    broken = []
    for link in links(path):
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if target in MADE_BY_THE_SITE:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_links_are_found():
    assert "docs/page.png" in links(README)
    assert "how-accurate-how-fast" in anchors(README)


@pytest.mark.parametrize("path", DOCS, ids=name)
def test_modules_exist(path):
    named = {dotted.rstrip(".") for dotted in MODULE.findall(read(path))}
    files = {"json", "jsonl", "toml", "service"}  # neartag.toml and the like are files
    assert [dotted for dotted in sorted(named) if dotted.split(".")[-1] not in files and not exists(dotted)] == []


@pytest.mark.parametrize("path", DOCS, ids=name)
def test_files_exist(path):
    """A path may be given from the package, from the top of the repository, or from the page."""
    named = set(FILE.findall(read(path)))
    places = (SOURCE, ROOT, path.parent)
    assert [file for file in sorted(named) if not any((place / file).exists() for place in places)] == []


def test_what_does_not_exist_is_noticed():
    assert exists("neartag.TextTagger")
    assert exists("neartag.data.read")
    assert not exists("neartag.nothing")
    assert not exists("neartag.data.nothing")
    found = FILE.findall("`x1/nothing.py`, see [cost](../benchmarks/cost.py)")
    assert found == ["x1/nothing.py", "../benchmarks/cost.py"]


@pytest.mark.parametrize("path", [*PAGES, *(each for each in PICTURES if each.suffix == ".svg")], ids=name)
def test_no_path_of_a_machine(path):
    assert MACHINE.search(read(path)) is None


def chunks(path):
    """Return the type and the content of each chunk of a PNG."""
    content, place, found = path.read_bytes(), 8, []
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    while place < len(content):
        length, kind = struct.unpack(">I4s", content[place : place + 8])
        found.append((kind.decode(), content[place + 8 : place + 8 + length]))
        place += length + 12
    return found


def test_the_page_is_pictured():
    path = ROOT / "docs" / "page.png"
    found = chunks(path)
    assert struct.unpack(">I", found[0][1][:4]) == (1280,)
    assert path.stat().st_size < 250_000
    assert {kind for kind, _ in found} <= {"IHDR", "PLTE", "IDAT", "IEND", "sRGB", "gAMA", "pHYs"}, "no text, no date"


def test_only_the_picture_of_the_page_is_no_drawing():
    assert [each for each in PICTURES if each.suffix == ".png"] == [ROOT / "docs" / "page.png"]


def test_the_architecture_lists_every_room_from_the_top():
    """The table's order is that of the layers, of which the rooms on one line may come in any order."""
    listed = re.findall(r"^\| `(\w+)/` \|", read(ROOT / "docs" / "architecture.md"), re.MULTILINE)
    assert sorted(listed) == sorted(each.name for each in SOURCE.iterdir() if (each / "__init__.py").exists())
    contract = read(ROOT / "pyproject.toml").split("layers = [")[1].split("]")[0]
    layers = [set(re.findall(r"\w+", line)) & set(listed) for line in contract.splitlines()]
    place = {room: number for number, layer in enumerate(layers) for room in layer}
    assert [place[room] for room in listed] == sorted(place[room] for room in listed)
