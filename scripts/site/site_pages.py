"""Which pages of the site are no files of docs/, and where a file of the repository is shown. Needs no mkdocs."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
# Pages that are made while the site is built, each by a function of reference.py.
MADE = {
    "reference/commands.md": "describe_commands",
    "reference/http.md": "describe_http",
    "reference/settings.md": "describe_settings",
}
# Files of the repository, from its top, and where the site shows them.
SHOWN = {
    "README.md": "index.md",
    "SECURITY.md": "project/security.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changes.md",
    "RELEASING.md": "project/releasing.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "examples/annif_backend/README.md": "project/annif.md",
    "examples/label_studio/README.md": "project/label-studio.md",
    "examples/paperless/README.md": "project/paperless.md",
}


def shown_at(path: str) -> str | None:
    """Return where the site shows a file of the repository, None if it does not."""
    if path in SHOWN:
        return SHOWN[path]
    if path.startswith("docs/"):
        uri = path.removeprefix("docs/")
        hidden = uri.startswith("reproduction/results") or uri == "reproduction.html"
        is_there = (ROOT / path).exists() or uri in MADE or uri in SHOWN.values()
        return uri if is_there and not hidden else None
    return None
