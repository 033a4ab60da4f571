"""Build the embedded Debian corpus from Debian's package index.

    apt-cache dumpavail > available.txt
    python scripts/build_debian_corpus.py available.txt --release 12.11

Without a file it runs `apt-cache dumpavail` itself. The same index and release give the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).resolve().parent.parent / "src" / "neartag" / "data" / "debian.json.xz"
MIN_PACKAGES_PER_TAG = 5  # a rarer tag has too few packages to be both learned and tested
TRAIN_PERCENT = 80
WORD = re.compile(r"[a-z0-9]+")
BRACES = re.compile(r"^(.*?)\{([^{}]*)\}(.*)$")


@dataclass
class Package:
    """One package of the index, with nothing of its description but the words."""

    name: str
    source: str
    words: list[str]
    tags: list[str]


def paragraphs(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield the fields of each package; continuation lines are joined to their field by a newline."""
    fields: dict[str, str] = {}
    name = ""
    for line in lines:
        line = line.rstrip("\n")
        if not line.strip():
            if fields:
                yield fields
            fields = {}
        elif line[0] in " \t":
            if fields:
                fields[name] += "\n" + line.strip()
        else:
            name, _, value = line.partition(":")
            fields[name] = value.strip()
    if fields:
        yield fields


def split_outside_braces(text: str) -> list[str]:
    """Return the comma-separated parts of a tag field; commas inside braces do not separate."""
    return [part.strip() for part in re.split(r",(?![^{}]*\})", text.replace("\n", " ")) if part.strip()]


def expand_tag(tag: str) -> list[str]:
    """Return the tags that a compressed one stands for: `a::{b,c}` is `a::b` and `a::c`."""
    match = BRACES.match(tag)
    if match is None:
        return [tag]
    before, inside, after = match.groups()
    return [full for choice in inside.split(",") for full in expand_tag(before + choice.strip() + after)]


def read_tags(field: str) -> list[str]:
    """Return the sorted tags of a Tag field, without those that serve only Debian's own work."""
    tags = {tag for part in split_outside_braces(field) for tag in expand_tag(part)}
    return sorted(tag for tag in tags if not tag.endswith(":TODO") and not tag.startswith("special::"))


def read_words(name: str, summary: str) -> list[str]:
    """Return the sorted set of lower-case words of a name and a summary line."""
    return sorted(set(WORD.findall(f"{name} {summary}".lower())))


def read_packages(lines: Iterable[str]) -> list[Package]:
    """Return the tagged packages by name; if a name has several entries, the first tagged one counts."""
    packages: dict[str, Package] = {}
    for fields in paragraphs(lines):
        name = fields.get("Package", "")
        tags = read_tags(fields.get("Tag", ""))
        if not name or not tags or name in packages:
            continue
        source = fields.get("Source", name).split("(")[0].strip()
        summary = fields.get("Description", "").split("\n")[0]
        packages[name] = Package(name, source, read_words(name, summary), tags)
    return [packages[name] for name in sorted(packages)]


def drop_rare_tags(packages: list[Package], minimum: int = MIN_PACKAGES_PER_TAG) -> list[Package]:
    """Remove tags that fewer than `minimum` packages have, and packages that then have no tag."""
    counts = Counter(tag for package in packages for tag in package.tags)
    kept = [
        Package(package.name, package.source, package.words, [tag for tag in package.tags if counts[tag] >= minimum])
        for package in packages
    ]
    return [package for package in kept if package.tags]


def is_train(source: str) -> bool:
    """Return whether a package is for training; the source decides, so packages built together stay together."""
    return int(hashlib.sha256(source.encode()).hexdigest(), 16) % 100 < TRAIN_PERCENT


def pack_part(packages: list[Package]) -> dict[str, str]:
    """Return the columns of one part, one line per package; an empty source means the package's own name.

    Plain text columns compress as well as a vocabulary with delta-coded ids, and need no decoder.
    """
    return {
        "names": "\n".join(package.name for package in packages),
        "sources": "\n".join("" if package.source == package.name else package.source for package in packages),
        "words": "\n".join(" ".join(package.words) for package in packages),
        "tags": "\n".join(" ".join(package.tags) for package in packages),
    }


def build(lines: Iterable[str], release: str, minimum: int = MIN_PACKAGES_PER_TAG) -> dict[str, Any]:
    """Return the whole corpus as the file holds it."""
    packages = drop_rare_tags(read_packages(lines), minimum)
    train = [package for package in packages if is_train(package.source)]
    test = [package for package in packages if not is_train(package.source)]
    counts = {
        "packages": len(packages),
        "sources": len({package.source for package in packages}),
        "words": len({word for package in packages for word in package.words}),
        "tags": len({tag for package in packages for tag in package.tags}),
        "train": len(train),
        "test": len(test),
    }
    return {
        "format": 1,
        "release": f"Debian {release}",
        "counts": counts,
        "train": pack_part(train),
        "test": pack_part(test),
    }


def compress(corpus: dict[str, Any]) -> bytes:
    """Return the bytes of the file; xz keeps no date, so equal corpora give equal bytes."""
    text = json.dumps(corpus, separators=(",", ":"), sort_keys=True)
    return lzma.compress(text.encode("ascii"), preset=9 | lzma.PRESET_EXTREME)


def main() -> None:
    """Write the corpus and print its counts."""
    parser = argparse.ArgumentParser(description="Build the embedded Debian corpus.")
    parser.add_argument("index", nargs="?", type=Path, help="what `apt-cache dumpavail` printed; run it if absent")
    parser.add_argument("--release", help="Debian release; read from /etc/debian_version if absent")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    if options.index is None:
        index = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True).stdout.decode("utf-8")
    else:
        index = options.index.read_text(encoding="utf-8")
    release = options.release or Path("/etc/debian_version").read_text(encoding="utf-8").strip()
    # Split at newlines only: str.splitlines would also split at rare separators that summaries may contain.
    corpus = build(index.split("\n"), release)
    content = compress(corpus)
    options.output.write_bytes(content)
    print(json.dumps({"release": corpus["release"], **corpus["counts"], "bytes": len(content)}))


if __name__ == "__main__":
    main()
