"""A server whose readers need a token: the page asks for it plainly, and works with it."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make browser-test")

from browser_helpers import TOKEN, serving
from playwright.sync_api import expect

READ_TOKEN = "a-token-for-readers"


def give(page, token):
    page.fill("#token", token)
    page.keyboard.press("Enter")


def test_the_page_asks_for_the_token_of_readers(new_page, own_model, tmp_path, noted):
    noted.expected = ("401", "403")
    (tmp_path / "token").write_text(READ_TOKEN)
    with serving(own_model, "--read-token", str(tmp_path / "token")) as server:
        page = new_page(f"{server.url}#/documents")
        expect(page.locator("#token-why")).to_contain_text("for reading too")
        give(page, "not-the-token-at-all")
        expect(page.locator("#token-told")).to_contain_text("wrong")
        give(page, READ_TOKEN)
        expect(page.locator("#model")).to_contain_text("3,000 documents")
        expect(page.locator("#view-documents")).to_contain_text("role::")
        page.reload()
        expect(page.locator("#model")).to_contain_text("3,000 documents")
        expect(page.locator("#token-box")).to_be_hidden()
        page.evaluate("location.hash = '#/'")
        page.fill("#text", "a chess playing program")
        expect(page.locator("#labels")).to_contain_text("role::program")
        page.click("#add")
        expect(page.locator("#token-told")).to_contain_text("reading only")
        give(page, TOKEN)
        expect(page.locator("#add-told")).to_contain_text("Added as")
        page.goto(f"{server.url}docs")
        expect(page.locator("#POST-tag-token")).to_have_count(1)


def test_whoever_has_no_token_is_told_what_to_do(new_page, own_model, tmp_path, noted):
    noted.expected = ("401",)
    (tmp_path / "token").write_text(READ_TOKEN)
    with serving(own_model, "--read-token", str(tmp_path / "token")) as server:
        page = new_page(server.url)
        expect(page.locator("#token")).to_be_focused()
        page.click("#token-cancel")
        expect(page.locator("#closed")).to_contain_text("Reload the page")
