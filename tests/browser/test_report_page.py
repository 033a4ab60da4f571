"""The report of an evaluation, in a real browser: sorting, searching, and how it looks on a laptop and a phone."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make browser-test")

from browser_helpers import SCREENSHOTS
from looks import background, faint_texts, unnamed, wider

from cli_helpers import succeed

DOCUMENTS = 400


@pytest.fixture(scope="module")
def report(model, tmp_path_factory):
    """The page's address, and its figures."""
    from neartag.data import debian

    folder = tmp_path_factory.mktemp("report")
    packages = debian.load("test")
    lines = (
        json.dumps({"text": " ".join(packages.words[row]), "labels": packages.tags[row], "id": packages.names[row]})
        for row in range(DOCUMENTS)
    )
    (folder / "docs.jsonl").write_text("\n".join(lines))
    figures = succeed("evaluate", model, folder / "docs.jsonl", "--report", folder / "report.html", "--json", "--quiet")
    return f"file://{folder / 'report.html'}", json.loads(figures)


def column(page, number):
    return page.locator(f"table.sortable tbody tr > :nth-child({number})").all_inner_texts()


def test_labels_can_be_sorted_and_searched(new_page, report):
    url, figures = report
    page = new_page(url)
    assert column(page, 1) == [each["label"] for each in figures["by_label"]]
    heads = page.locator("table.sortable th button")
    heads.filter(has_text="F1").click()
    shares = [float(text) for text in column(page, 3)]
    assert shares == sorted(shares, reverse=True)
    assert page.locator("th[aria-sort=descending]").all_inner_texts() == ["F1"]
    heads.filter(has_text="F1").press("Enter")
    assert [float(text) for text in column(page, 3)] == shares[::-1]
    assert page.locator("th[aria-sort=ascending]").all_inner_texts() == ["F1"]
    heads.first.click()
    names = column(page, 1)
    assert names[0].lower() <= names[-1].lower()
    page.get_by_label("Show labels that contain").fill("ROLE::")
    expected = [name for name in names if "role::" in name]
    assert page.locator("table.sortable tbody tr:visible").count() == len(expected) > 1
    assert page.inner_text("#told") == f"{len(expected)} of {len(names)} labels"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_and_can_be_read(new_page, report, scheme, width):
    page = new_page(report[0], viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert wider(page) == 0
    assert faint_texts(page) == []
    assert set(unnamed(page)) <= {"group:"}  # what folds; its summary names it
    assert (background(page) == "rgb(255, 255, 255)") == (scheme == "light")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"report-{scheme}-{width}.png", full_page=True)
