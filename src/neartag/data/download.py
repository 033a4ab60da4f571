"""Data sets fetched from where their address is configured, checked, and put into the data folder.

Addresses stand in `datasets.json` in the data folder, by data set:

    {"eurlex": {"url": "https://…/Eurlex.zip", "sha256": "…"}}

The checksum may be left out; it is then the one in `SHA256SUMS` or the one that neartag knows, if any. pooch downloads
(`pip install "neartag[data]"`). An archive takes its place in the folder, and its line in `SHA256SUMS`, only after it
has come whole, has the checksum expected, and could be unpacked.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from neartag.core.errors import DataError, ParameterError
from neartag.core.extras import install_hint
from neartag.core.progress import Progress
from neartag.data import archives, known, registry
from neartag.data.files import read_bytes

ADDRESSES = "datasets.json"
_SUM = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # nothing that leads elsewhere, or hides
_CHUNK = 2**16  # bytes written at a time
_SHOWN = 5  # names that an error tells
_TIMEOUT = (10, 60)  # seconds to connect, and to wait for more


class Address(NamedTuple):
    """Where an archive is, and its checksum where that is known."""

    url: str
    sha256: str | None = None


class Got(NamedTuple):
    """An archive that was fetched: where it is, its checksum, and whether that was known before."""

    path: Path
    sha256: str
    checked: bool


def addresses(folder: Path | None = None) -> dict[str, Address]:
    """Return the addresses configured in a folder, the data folder unless told otherwise."""
    path = (folder or registry.data_folder()) / ADDRESSES
    if not path.is_file():
        return {}
    try:
        found = json.loads(read_bytes(path))
    except ValueError as error:
        raise DataError(f"{path}: is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise DataError(f"{path}: must be an object of data sets by name, not {type(found).__name__}")
    return {name: _address(value, f"{path}: {name}") for name, value in found.items()}


def get(name: str, address: Address | None = None, *, progress: Progress | None = None) -> Got:
    """Return the archive of a data set, fetched into the data folder; DataError says what to do where it cannot be.

    `address` is used in place of the one configured. A data set that is already there is refused.
    """
    if not _NAME.fullmatch(name) or archives.stem(name) is not None:
        raise ParameterError(f"{name!r} is no name of a data set: give letters, digits, dots and dashes, no ending")
    if registry.is_here(name):
        raise DataError(f"{name} is already in {registry.data_folder()}: remove it there to get it again")
    address = address or addresses().get(name)
    if address is None:
        raise DataError(f"there is no address to get {name} from. {advice(name)}")
    address = _address(address._asdict(), name)
    pooch, folder = _pooch(), registry.data_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".incoming-", dir=folder) as incoming:
            fetched = _fetch(pooch, address.url, Path(incoming) / "download", name, progress or Progress())
            return _keep(name, fetched, address, folder)
    except OSError as error:
        raise DataError(f"{name} cannot be put into {folder}: {error.strerror or error}") from error


def advice(name: str) -> str:
    """Say where a data set's public copy is described, where to put its files, and how to configure an address."""
    folder, fact = registry.data_folder(), known.SETS.get(name)
    words = []
    if fact is not None:
        words.append(f"Its public copy: {fact.source}." if fact.source else "It was never published.")
    files = fact.files if fact is not None and fact.files else ("train.txt", "test.txt")
    words.append(
        f"Put {', '.join(files[:-1])} and {files[-1]} into {folder / name}{os.sep}, or {name}.zip or {name}.tar.xz "
        f"with its line in {archives.SUMS} into {folder}"
    )
    example = json.dumps({name: {"url": "https://…", "sha256": "…"}}, ensure_ascii=False)
    words[-1] += f"; or give --url, or write {example} into {folder / ADDRESSES}, and get it again"
    return " ".join(words)


def _address(value: Any, where: str) -> Address:
    """Return an address as it is configured; DataError where it cannot be one."""
    if isinstance(value, str):
        value = {"url": value}
    if not isinstance(value, dict) or not isinstance(value.get("url"), str):
        raise DataError(f'{where}: must be {{"url": "https://…", "sha256": "…"}}, the checksum if you know it')
    url, value_sum = value["url"], value.get("sha256")
    if not url.startswith(("https://", "http://")):
        raise DataError(f"{where}: the address must begin with https:// or http://, not {url!r}")
    if value_sum is not None and not (isinstance(value_sum, str) and _SUM.fullmatch(value_sum.lower())):
        raise DataError(f"{where}: the SHA-256 must be 64 hexadecimal digits, not {value_sum!r}")
    return Address(url, value_sum.lower() if value_sum else None)


def _pooch() -> ModuleType:
    try:
        import pooch
    except ModuleNotFoundError as error:
        raise DataError(install_hint("downloading needs pooch", "data")) from error
    pooch.get_logger().setLevel("ERROR")  # we tell what there is to tell
    return pooch


def _fetch(pooch: ModuleType, url: str, target: Path, name: str, progress: Progress) -> Path:
    """Return the file that has come from an address, whole."""
    from requests.exceptions import HTTPError, RequestException  # comes with pooch

    bar = _Bar(progress, name)
    # As it is: a server that packs a packed file once more would change its checksum.
    headers = {"Accept-Encoding": "identity"}
    downloader = pooch.HTTPDownloader(progressbar=bar, chunk_size=_CHUNK, timeout=_TIMEOUT, headers=headers)
    try:
        with progress.start(None, f"asking for {name}"):
            pooch.retrieve(url, None, fname=target.name, path=target.parent, downloader=downloader)
    except HTTPError as error:
        said = "" if error.response is None else f" {error.response.status_code} {error.response.reason}"
        raise DataError(f"{url} answers{said}: the address may have changed. {advice(name)}") from error
    except RequestException as error:
        raise DataError(
            f"{url} cannot be fetched ({_reason(error)}): try again, or another way. {advice(name)}"
        ) from error
    size = target.stat().st_size
    if bar.total and size != bar.total:  # which older versions of urllib3 let pass
        raise DataError(f"{url} broke off after {size} of {bar.total} bytes: get it again")
    return target


def _keep(name: str, fetched: Path, address: Address, folder: Path) -> Got:
    """Put what was fetched in its place, if it is what it must be."""
    ending = archives.kind(fetched)
    if ending is None:
        with open(fetched, "rb") as stream:
            start = stream.read(64).lstrip()
        what = (
            "a web page: open it, and find the address of the file itself" if start.startswith(b"<") else "another file"
        )
        raise DataError(f"{address.url} is no archive ({', '.join(archives.ENDINGS)}), but {what}")
    target, actual = folder / (name + ending), archives.checksum(fetched)
    listed, ours = archives.sums(folder).get(target.name), known.SUMS.get(target.name)
    expected = address.sha256 or listed or ours
    if expected is not None and actual != expected:
        whose = "was given" if address.sha256 else f"{archives.SUMS} has" if listed else "neartag knows"
        raise DataError(
            f"{address.url} has the SHA-256 {actual}, but {expected} {whose}; nothing was kept. If it is another copy "
            "that you trust, give the checksum that it has"
        )
    named = fetched.rename(fetched.with_name(target.name))
    unpacked = archives.place(target, actual, registry.cache_folder())
    if not unpacked.is_dir():
        archives.unpack(named, unpacked)
    content = archives.content(unpacked)
    if not (registry.parts(content, ".txt") or registry.parts(content, ".jsonl")):
        held = ", ".join(sorted(path.name for path in content.iterdir())[:_SHOWN]) or "nothing"
        shutil.rmtree(unpacked, ignore_errors=True)
        raise DataError(f"{address.url} holds no train.txt or test.txt, but {held}; nothing was kept")
    # The line first: an archive without one would be refused, a line without an archive does no harm.
    archives.list_sum(target, actual)
    os.replace(named, target)
    return Got(target, actual, expected is not None)


def _reason(error: BaseException) -> str:
    """Return the innermost reason why there was no answer, in a few words."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class _Bar:
    """What pooch tells of its progress, told on; it sets `total` once the server has said it, 0 where it has not."""

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress, self._name, self._total = progress, name, 0

    @property
    def total(self) -> int:
        """The bytes there are to come."""
        return self._total

    @total.setter
    def total(self, value: int) -> None:
        self._total = value
        self._progress.start(value or None, f"downloading {self._name}")

    def update(self, steps: int) -> None:
        """Count bytes; the last time it is all of them, after `reset`."""
        self._progress.advance(steps)

    def reset(self) -> None:
        """Begin to count anew."""
        self._progress.start(self._total or None, f"downloading {self._name}")

    def close(self) -> None:
        """End."""
        self._progress.finish()
