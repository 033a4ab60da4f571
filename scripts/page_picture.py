"""Take docs/page.png, the README's picture of the server's page: a sentence, its labels, and one explanation open.

make pictures   # or, where playwright and Chromium are there: python scripts/page_picture.py [docs/page.png [MODEL]]

The model is what `neartag train debian MODEL` makes of the corpus that comes with neartag; it is trained unless given.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "browser"))

from browser_helpers import serving  # noqa: E402
from playwright.sync_api import Page, expect, sync_playwright  # noqa: E402

SENTENCE = "play chess against the computer"
LABEL = "game::board:chess"  # whose explanation is open
WIDTH, HEIGHT = 1280, 1400  # of the window, in pixels; the picture ends below the documents shown
VOTERS = 2  # documents shown


def open_explanation(page: Page, address: str) -> float:
    """Type the sentence, open the explanation of one of its labels, and return where its first documents end."""
    page.goto(address)
    page.fill("#text", SENTENCE)
    row = page.locator("#labels .row").filter(has=page.get_by_text(LABEL, exact=True)).first
    row.locator("> button").click()
    expect(row.locator(".voter").first).to_be_visible()
    expect(page.locator("#drawing svg")).to_be_visible()
    expect(page.locator("#model")).to_have_text(re.compile("documents"))
    page.mouse.move(0, 0)  # nothing is hovered over
    page.evaluate("() => { document.activeElement.blur(); window.scrollTo(0, 0); }")
    page.wait_for_timeout(700)  # the sign that answers are on their way fades
    box = row.locator(".voter").nth(VOTERS - 1).bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "page.png")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        model = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(folder) / "debian"
        if not model.exists():
            command = [sys.executable, "-m", "neartag", "train", "debian", str(model), "--quiet"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        with serving(model) as server:
            end = open_explanation(page, server.url)
            page.screenshot(path=target, clip={"x": 0, "y": 0, "width": WIDTH, "height": round(end) + 10})
        browser.close()
    print(f"{target}: {target.stat().st_size / 1000:.0f} KB")


if __name__ == "__main__":
    main()
