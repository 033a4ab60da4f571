"""Data sets downloaded from a configured address (`addresses`), checked, and put into the data folder.

pooch downloads (`pip install "neartag[data]"`). The checksum is the one given, else the one in `SHA256SUMS`, else the
one that neartag knows, if any. An archive gets its place in the folder, and its line in `SHA256SUMS`, only after it
has arrived whole, has the expected checksum, and could be unpacked.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from neartag.core.errors import DataError, ParameterError
from neartag.core.extras import install_hint
from neartag.core.progress import Progress
from neartag.core.replace_file import replace_file
from neartag.data.registry import archives
from neartag.data.registry.addresses import Address, advice, parse_address, read_addresses
from neartag.data.registry.checksums import CHECKSUM_FILE, checksum, read_checksums, write_checksum
from neartag.data.registry.dataset_facts import CHECKSUMS
from neartag.data.registry.folders import cache_folder, data_folder
from neartag.data.registry.lookup import is_here
from neartag.data.registry.set_files import part_files
from neartag.data.temporaries import temporary_beside

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # nothing that leads to another folder, or hides
_CHUNK_BYTES = 2**16  # written at a time
_SHOWN_NAMES = 5  # that an error quotes
TIMEOUT = (10.0, 60.0)  # seconds to connect, and to wait for more bytes


class Download(NamedTuple):
    """An archive that was downloaded: where it is, its checksum, and whether that was known before."""

    path: Path
    sha256: str
    checked: bool


def get(
    name: str,
    address: Address | None = None,
    *,
    progress: Progress | None = None,
    timeout: tuple[float, float] = TIMEOUT,
) -> Download:
    """Download the archive of a data set into the data folder.

    Parameters
    ----------
    name : str
        Name of the data set, which must not be in the data folder yet.
    address : Address, optional
        Used in place of the one configured in `datasets.json`.
    progress : Progress, optional
        Told how many bytes have arrived.
    timeout : (float, float)
        Seconds to wait for a connection, and for more bytes.

    Returns
    -------
    Download

    Raises
    ------
    ParameterError
        If the name cannot be a data set's.
    DataError
        If the data set is already there, no address is known, or what arrives cannot be used. The message says
        what to do.
    """
    if not _NAME.fullmatch(name) or archives.without_ending(name) is not None:
        raise ParameterError(f"{name!r} is no name of a data set: give letters, digits, dots and dashes, no ending")
    if is_here(name):
        raise DataError(f"{name} is already in {data_folder()}: remove it there to get it again")
    address = address or read_addresses().get(name)
    if address is None:
        raise DataError(f"there is no address to get {name} from. {advice(name)}")
    address = parse_address(address._asdict(), name)
    pooch, folder = _import_pooch(), data_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with temporary_beside(folder / f"{name}.incoming", Path.mkdir) as incoming:
            target = incoming / "download"
            _fetch(pooch, address.url, target, name, progress or Progress(), timeout)
            return _keep(name, target, address, folder)
    except OSError as error:
        raise DataError(f"{name} cannot be put into {folder}: {error.strerror or error}") from error


def _import_pooch() -> ModuleType:
    try:
        import pooch
    except ModuleNotFoundError as error:
        raise DataError(install_hint("downloading needs pooch", "data")) from error
    pooch.get_logger().setLevel("ERROR")  # our own messages are enough
    return pooch


def _fetch(
    pooch: ModuleType, url: str, target: Path, name: str, progress: Progress, timeout: tuple[float, float]
) -> None:
    """Download an address into a file; DataError if it does not arrive whole."""
    from requests.exceptions import HTTPError, RequestException  # comes with pooch

    bar = _Bar(progress, name)
    # A server that compresses an archive once more would change its checksum.
    headers = {"Accept-Encoding": "identity"}
    downloader = pooch.HTTPDownloader(progressbar=bar, chunk_size=_CHUNK_BYTES, timeout=timeout, headers=headers)
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
    if bar.total and size != bar.total:  # older versions of urllib3 let this pass
        raise DataError(f"{url} broke off after {size} of {bar.total} bytes: get it again")


def _keep(name: str, fetched: Path, address: Address, folder: Path) -> Download:
    """Move what was downloaded into the data folder, after checking it."""
    ending = archives.ending_of_content(fetched)
    if ending is None:
        raise DataError(f"{address.url} is no archive ({', '.join(archives.ENDINGS)}), but {_describe(fetched)}")
    target, actual = folder / (name + ending), checksum(fetched)
    listed, published = read_checksums(folder).get(target.name), CHECKSUMS.get(target.name)
    expected = address.sha256 or listed or published
    if expected is not None and actual != expected:
        whose = "was given" if address.sha256 else f"{CHECKSUM_FILE} has" if listed else "neartag knows"
        raise DataError(
            f"{address.url} has the SHA-256 {actual}, but {expected} {whose}; nothing was kept. If it is another copy "
            "that you trust, give the checksum that it has"
        )
    archive = fetched.rename(fetched.with_name(target.name))
    unpacked = archives.unpack_target(target, actual, cache_folder())
    if not unpacked.is_dir():
        archives.unpack(archive, unpacked)
    content = archives.inner_folder(unpacked)
    if not (part_files(content, ".txt") or part_files(content, ".jsonl")):
        held = ", ".join(sorted(path.name for path in content.iterdir())[:_SHOWN_NAMES]) or "nothing"
        shutil.rmtree(unpacked, ignore_errors=True)
        raise DataError(f"{address.url} holds no train.txt or test.txt, but {held}; nothing was kept")
    # The line first: an archive without one would be refused, a line without an archive does no harm.
    write_checksum(target, actual)
    replace_file(archive, target)
    return Download(target, actual, expected is not None)


def _describe(file: Path) -> str:
    """Say what a file is that is no archive."""
    with open(file, "rb") as stream:
        start = stream.read(64).lstrip()
    if start.startswith(b"<"):
        return "a web page: open it, and find the address of the file itself"
    return "another file"


def _reason(error: BaseException) -> str:
    """Return in a few words why there was no answer: the message of the innermost error."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class _Bar:
    """Passes on the progress that pooch reports; pooch sets `total` when the server has said it, else 0."""

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress, self._name, self._total = progress, name, 0

    @property
    def total(self) -> int:
        """Bytes of the whole file."""
        return self._total

    @total.setter
    def total(self, value: int) -> None:
        self._total = value
        self._progress.start(value or None, f"downloading {self._name}")

    def update(self, steps: int) -> None:
        """Count bytes; at the end pooch calls `reset` and then counts all of them at once."""
        self._progress.advance(steps)

    def reset(self) -> None:
        """Begin to count again."""
        self._progress.start(self._total or None, f"downloading {self._name}")

    def close(self) -> None:
        """End the progress bar."""
        self._progress.finish()
