"""The addresses from which data sets are downloaded, in `datasets.json` in the data folder.

    {"eurlex": {"url": "https://…/Eurlex.zip", "sha256": "…"}}

The checksum may be left out.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from neartag.core.errors import DataError
from neartag.data.files import read_bytes
from neartag.data.registry.checksums import CHECKSUM_FILE
from neartag.data.registry.dataset_facts import SETS
from neartag.data.registry.folders import data_folder

ADDRESS_FILE = "datasets.json"
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Address(NamedTuple):
    """Where an archive is, and its checksum if that is known."""

    url: str
    sha256: str | None = None


def read_addresses(folder: Path | None = None) -> dict[str, Address]:
    """Return the addresses configured in a folder by data set; None: the data folder."""
    path = (folder or data_folder()) / ADDRESS_FILE
    if not os.path.isfile(path):
        return {}
    try:
        addresses = json.loads(read_bytes(path))
    except ValueError as error:
        raise DataError(f"{path}: is no JSON: {error}") from error
    if not isinstance(addresses, dict):
        raise DataError(f"{path}: must be an object of data sets by name, not {type(addresses).__name__}")
    return {name: parse_address(value, f"{path}: {name}") for name, value in addresses.items()}


def parse_address(value: Any, where: str) -> Address:
    """Return an address as it is configured; DataError says what is wrong with it, and `where`."""
    if isinstance(value, str):
        value = {"url": value}
    if not isinstance(value, dict) or not isinstance(value.get("url"), str):
        raise DataError(f'{where}: must be {{"url": "https://…", "sha256": "…"}}, the checksum if you know it')
    url, sha256 = value["url"], value.get("sha256")
    if not url.startswith(("https://", "http://")):
        raise DataError(f"{where}: the address must begin with https:// or http://, not {url!r}")
    if sha256 is not None and not (isinstance(sha256, str) and _SHA256.fullmatch(sha256.lower())):
        raise DataError(f"{where}: the SHA-256 must be 64 hexadecimal digits, not {sha256!r}")
    return Address(url, sha256.lower() if sha256 else None)


def advice(name: str) -> str:
    """Say where a data set is published, where to put its files, and how to configure an address."""
    folder, facts = data_folder(), SETS.get(name)
    sentences = []
    if facts is not None:
        sentences.append(f"Its public copy: {facts.source}." if facts.source else "It was never published.")
    files = facts.files if facts is not None and facts.files else ("train.txt", "test.txt")
    example = json.dumps({name: {"url": "https://…", "sha256": "…"}}, ensure_ascii=False)
    sentences.append(
        f"Put {', '.join(files[:-1])} and {files[-1]} into {folder / name}{os.sep}, or {name}.zip or {name}.tar.xz "
        f"with its line in {CHECKSUM_FILE} into {folder}; or give --url, or write {example} into "
        f"{folder / ADDRESS_FILE}, and get it again"
    )
    return " ".join(sentences)
