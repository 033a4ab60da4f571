"""Check that a tag, the version of the package and the changelog agree, and print what the changelog says of it.

python scripts/check_version.py v1.2.0 > notes.md
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    (tag,) = sys.argv[1:]
    version = package_version((ROOT / "src/neartag/core/version.py").read_text(encoding="utf-8"))
    if tag != f"v{version}":
        sys.exit(f"the tag is {tag}, but the package says {version}")
    notes = notes_of(version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    if not notes:
        sys.exit(f'CHANGELOG.md has no part "## [{version}] - YYYY-MM-DD" with something in it')
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    if cited and cited[1].strip("\"'") != version:
        sys.exit(f"CITATION.cff says {cited[1]}, but the package says {version}")
    print(notes)


def package_version(text: str) -> str:
    """Return the version that a module's text sets."""
    found = re.search(r'^__version__\s*=\s*"([^"]+)"', text, re.MULTILINE)
    assert found is not None
    return found[1]


def notes_of(version: str, changelog: str) -> str:
    """Return the part of the changelog about a version, "" where there is none that has a date."""
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    found = re.search(rf"{heading}\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


if __name__ == "__main__":
    main()
