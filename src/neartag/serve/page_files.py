"""The files of the page, all from the package, and the policy under which a browser runs them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources

FOLDER = "page"  # in the package, and the path under which the files are served
INDEX, DOCS, ICON = "index.html", "docs.html", "icon.svg"
# What a browser may load and run: files of this server; no inline script, nothing from elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class PageFile:
    """A file of the page."""

    content: bytes
    media_type: str
    etag: str

    @property
    def headers(self) -> dict[str, str]:
        """The headers of an answer with it: a browser asks each time whether it is still the same."""
        return {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache", "ETag": self.etag}


def load_files() -> dict[str, PageFile]:
    """Return the files of the page by their names."""
    files = {}
    for entry in resources.files("neartag.serve").joinpath(FOLDER).iterdir():
        ending = entry.name[entry.name.rfind(".") :]
        if ending in MEDIA_TYPES:
            content = entry.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            files[entry.name] = PageFile(content, MEDIA_TYPES[ending], etag)
    return files
