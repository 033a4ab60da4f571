"""The documentation site in a browser, if `make docs` has built it: nothing is cut off or comes from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "build" / "site"
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if path.name != "404.html")
WIDTHS = (390, 1280)
# Tables, pictures and code that stand beyond the page's edge, and in nothing that scrolls.
CUT_OFF = """() => [...document.querySelectorAll("article :is(table, img, svg, pre)")].filter((each) => {
  if (each.getBoundingClientRect().right <= innerWidth + 1) return false;
  for (let around = each; around && around !== document.body; around = around.parentElement) {
    const scrolls = ["auto", "scroll"].includes(getComputedStyle(around).overflowX);
    if (scrolls && around.clientWidth <= innerWidth) return false;
  }
  return true;
}).length"""
WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"

pytestmark = pytest.mark.skipif(not PAGES, reason="there is no build/site: make docs")


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_and_loads_nothing_from_elsewhere(browser, width):
    context = browser.new_context(viewport={"width": width, "height": 900})
    page, wrong = context.new_page(), []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url) if request.url.startswith("http") else None)
    found = {}
    for name in PAGES:
        wrong.clear()
        page.goto((SITE / name).as_uri())
        page.wait_for_load_state("load")
        seen = [*wrong, *(["too wide"] if page.evaluate(WIDER) else []), *["cut off"] * page.evaluate(CUT_OFF)]
        found |= {name: seen} if seen else {}
    context.close()
    assert found == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_of_the_vote_answers(browser, scheme):
    context = browser.new_context(color_scheme=scheme, viewport={"width": 390, "height": 900})
    page = context.new_page()
    page.goto((SITE / "concepts" / "vote.html").as_uri())
    picture = page.locator(".nt-vote")
    assert picture.locator(".nt-voter").count() == 5
    before = picture.locator(".nt-bar").all_inner_texts()
    picture.locator("input[type=range]").fill("20")
    assert picture.locator(".nt-voter").count() == 20
    assert picture.locator(".nt-bar").all_inner_texts() != before
    body = page.locator("body")
    assert body.get_attribute("data-md-color-scheme") == {"light": "default", "dark": "slate"}[scheme]
    context.close()
