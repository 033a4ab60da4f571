"""What mkdocs asks for while it builds the site: pages made from the program, and links that lead to the right page.

Some pages are no files of docs/: the reference is made from the real parser, the OpenAPI document and the settings, and
files at the top of the repository (SECURITY.md and others) are shown too. A link to a file that the site does not show,
such as a script, becomes its name.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))

import reference  # noqa: E402
from site_pages import MADE, SHOWN, shown_at  # noqa: E402

WORKER_OF_THE_THEME = "https://unpkg.com/iframe-worker/shim"
_LINK = re.compile(r"(?<![`\\!])(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_CODE = re.compile(r"^(?:```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in docs/."""
    for uri, describe in MADE.items():
        files.append(File.generated(config, uri, content=getattr(reference, describe)()))
    for source, uri in SHOWN.items():
        if source != "README.md":  # which the site's first page stands for
            text = (ROOT / source).read_text(encoding="utf-8")
            files.append(File.generated(config, uri, content=lead_links(text, source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead the links of a page of docs/ to where the site has their targets."""
    if page.file.generated_by:
        return markdown
    return lead_links(markdown, posixpath.join("docs", page.file.src_uri))


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Take our own stand-in for workers in place of the theme's, which would come from the network."""
    return output.replace(WORKER_OF_THE_THEME, posixpath.relpath("site/worker.js", posixpath.dirname(page.url) or "."))


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """Do the same for the page of what is not found, whose addresses begin at the top of the server."""
    return output_content.replace(WORKER_OF_THE_THEME, "/site/worker.js")


def lead_links(text: str, source: str) -> str:
    """Return the text of a file of the repository with its links as the site needs them; code stays as it is."""
    pieces, place = [], 0
    for block in _CODE.finditer(text):
        pieces += [_lead(text[place : block.start()], source), block.group()]
        place = block.end()
    return "".join([*pieces, _lead(text[place:], source)])


def _lead(prose: str, source: str) -> str:
    own = shown_at(source)

    def lead(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        file, hash_mark, anchor = target.partition("#")
        if not file or "://" in target or target.startswith("mailto:"):
            return link.group()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), file))
        uri = shown_at(path)
        if uri is None:
            return words
        return f"{picture}[{words}]({posixpath.relpath(uri, posixpath.dirname(own) or '.')}{hash_mark}{anchor})"

    return _LINK.sub(lead, prose)
