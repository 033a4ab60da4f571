"""The page, and the policy that lets a browser run exactly what is in it."""

from __future__ import annotations

import re
from importlib import resources

from neartag.core.html_page import source_hash

FILE_NAME = "page.html"
MISSING_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>neartag</title>
<p>The server runs; its page is missing. Ask <a href="/openapi.json">/openapi.json</a> what it answers.</p></html>
"""


def load_page() -> tuple[bytes, str]:
    """Return the page and its Content-Security-Policy."""
    try:
        content = resources.files("neartag.serve").joinpath(FILE_NAME).read_text(encoding="utf-8")
    except FileNotFoundError:
        content = MISSING_PAGE
    content = content.replace("\r\n", "\n").replace("\r", "\n")  # as browsers do before they look at a script
    return content.encode("utf-8"), make_policy(content)


def make_policy(page: str) -> str:
    """Return the policy of a page: it may run its own inline scripts and styles, by their hashes, and nothing else."""
    scripts, styles = (" ".join(_hashes(page, tag)) or "'none'" for tag in ("script", "style"))
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _hashes(page: str, tag: str) -> list[str]:
    found = re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}\s*>", page, re.DOTALL | re.IGNORECASE)
    return [f"'{source_hash(each)}'" for each in found]
