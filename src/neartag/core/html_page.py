"""One HTML page that needs nothing else: its style, its script and a policy that allows these alone."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from html import escape

_CODE = re.compile(r"`([^`]+)`")


def make_page(title: str, parts: Sequence[tuple[str, str, str]], style: str, script: str = "") -> str:
    """Return the whole page; each part is an id, a heading ("" for none) and its content as HTML.

    Links to all parts stand after the first. A page with a script gets a policy: the browser runs this script, and
    fetches nothing.
    """
    entries = "".join(f'<li><a href="#{key}">{escape(heading)}</a></li>' for key, heading, _ in parts if heading)
    body = [f"<h1>{escape(title)}</h1>"]
    for number, (key, heading, content) in enumerate(parts):
        head = f"<h2>{escape(heading)}</h2>" if heading else ""
        body.append(f'<section id="{key}">{head}{content}</section>')
        if number == 0:
            body.append(f"<nav><ul>{entries}</ul></nav>")
    policy = ""
    if script:
        allowed = f"default-src 'none'; script-src '{source_hash(script)}'; style-src '{source_hash(style)}'"
        policy = f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'
        body.append(f"<script>{script}</script>")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{policy}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n<body>{''.join(body)}</body></html>\n"
    )


def source_hash(source: str) -> str:
    """Return the hash by which a policy allows an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode('utf-8')).digest()).decode()}"


def inline(text: str) -> str:
    """Return a text as HTML; what stands between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))
