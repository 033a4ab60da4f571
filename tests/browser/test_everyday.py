"""The page at work: a long article, a threshold, copying, an example, what stays on reload, and new labels."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make browser-test")

from browser_helpers import SCREENSHOTS, TOKEN, serving
from playwright.sync_api import expect
from test_page import LOADING, TEXT, found, names, percent, tagged

ARTICLE = (f"{TEXT}. It plays against the computer, reads and writes games, and connects to servers. " * 20)[:2400]


def test_a_long_article_leaves_its_labels_in_sight(new_page, server):
    page = new_page(server.url)
    tagged(page, ARTICLE)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "desktop-light-article.png")
    assert page.evaluate("window.scrollY") == 0
    for row in page.locator("#labels .row").all():
        box = row.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 900


def test_the_slider_shows_labels_from_a_score_on(new_page, server):
    page = new_page(server.url)
    page.select_option("#most", "10")
    page.fill("#text", TEXT)
    expect(page.locator("#labels .row")).to_have_count(10)
    answer = server.ask("tag", {"text": TEXT, "k": 10})["labels"]
    page.get_by_role("slider").fill("60")
    wanted = [each["label"] for each in answer if each["score"] >= 0.6]
    assert 0 < len(wanted) < 10
    expect(page.locator("#labels .name")).to_have_text(wanted)
    expect(page.locator("#threshold-told")).to_have_text("60%")
    expect(page.locator("#kept .chip > bdi")).to_have_text(wanted)
    page.get_by_role("slider").fill("100")
    expect(page.locator("#labels-hint")).to_contain_text(f"No label reaches 100%; the best, {answer[0]['label']}")
    suggested = server.ask("health")["model"]["thresholds"]["f1"]
    page.get_by_role("button", name=f"best balance: {percent(suggested)}").click()
    expect(page.locator("#labels .row")).not_to_have_count(0)
    page.get_by_role("slider").focus()
    page.keyboard.press("Home")
    expect(page.locator("#labels .row")).to_have_count(10)


def test_labels_are_copied_and_an_example_is_shown(browser, new_page, server):
    page = new_page(server.url, permissions=["clipboard-read", "clipboard-write"])
    expect(page.locator("#model-name")).to_have_text("model")
    expect(page).to_have_title("model – neartag")
    page.get_by_role("button", name="Try an example").click()
    expect(page.locator("#text")).not_to_have_value("")
    expect(page.locator("#labels .row")).not_to_have_count(0)  # the example is any document, and may have few labels
    page.get_by_role("button", name="Copy the labels").click()
    count = len(names(page))
    expect(page.locator("#copied")).to_have_text(f"Copied {count} label{'s' if count > 1 else ''}.")
    assert page.evaluate("navigator.clipboard.readText()").split("\n") == names(page)


def test_a_reload_keeps_the_text_and_how_it_is_shown(new_page, server):
    page = new_page(server.url)
    page.select_option("#most", "10")
    page.fill("#text", TEXT)
    expect(page.locator("#labels .row")).to_have_count(10)
    page.get_by_role("slider").fill("20")
    page.locator("#labels .row > button").nth(1).click()
    expect(page.locator(".voter").first).to_be_visible()
    before = names(page)
    page.reload()
    expect(page.locator("#text")).to_have_value(TEXT)
    expect(page.locator("#most")).to_have_value("10")
    expect(page.locator("#labels .name")).to_have_text(before)
    expect(page.locator(".voter").first).to_be_visible()
    expect(page.locator("#labels .row > button").nth(1)).to_have_attribute("aria-expanded", "true")


def test_a_new_label_is_a_separate_act(own_server, new_page):
    page = new_page(own_server.url)
    tagged(page)
    finder = page.locator("#finder")
    finder.fill("Interface::X11")
    expect(found(page).first).to_contain_text("interface::x11")
    expect(found(page).last).to_contain_text("Add new label Interface::X11…")
    found(page).last.click()
    expect(page.locator("#label-why")).to_contain_text("The model has interface::x11, which is written nearly the same")
    page.get_by_role("button", name="Use interface::x11").click()
    expect(page.locator("#kept")).to_contain_text("interface::x11")
    finder.fill("role::program, drift")
    page.keyboard.press("Enter")
    expect(page.locator("#label-why")).to_contain_text("several labels in one")
    page.get_by_role("button", name="Take it as 2 labels").click()
    expect(page.locator("#label-title")).to_contain_text("“drift”")
    page.get_by_role("button", name="Add new label drift").click()
    expect(page.locator("#kept")).to_contain_text("drift")
    expect(page.locator("#kept")).not_to_contain_text("role::program, drift")
    page.click("#add")
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator("#add-told")).to_contain_text("Added as")
    assert own_server.ask("labels?prefix=drift")["known"] == "drift"
    expect(page.locator("#add")).to_be_focused()


def test_a_closed_vocabulary_refuses_new_labels_and_names_are_shown(own_model, new_page, noted):
    from neartag.tagging.live import LiveTagger
    from neartag.vocabulary.concepts import Concept, Vocabulary

    noted.expected = (LOADING,)
    label = "role::program"
    concept = Concept(label, "http://example.org/program", {"en": label, "fi": "ohjelma"}, ("application",))

    def put(tagger):
        from dataclasses import replace

        tagger._take(replace(tagger.stored, vocabulary=Vocabulary((concept, Concept("unused")), True, "en")))

    LiveTagger(own_model).change_labels(put)
    with serving(own_model) as server:
        page = new_page(server.url)
        tagged(page)
        page.locator("#labels .row", has_text=label).locator("> button").click()
        link = page.locator(".concept a")
        expect(link).to_have_attribute("href", "http://example.org/program")
        expect(page.locator(".concept")).to_contain_text("fi: ohjelma")
        page.select_option("#language", "fi")
        expect(page.locator("#labels")).to_contain_text("ohjelma")
        expect(page.locator("#kept")).to_contain_text("ohjelma")
        page.reload()
        expect(page.locator("#language")).to_have_value("fi")
        expect(page.locator("#labels")).to_contain_text("ohjelma")
        tags = page.locator("#labels .voter .tag", has_text="ohjelma")
        expect(tags.first).to_be_visible()
        page.fill("#finder", "applic")
        expect(found(page).first.locator("bdi")).to_have_text("ohjelma")
        page.fill("#finder", "")
        page.get_by_role("link", name="Documents").click()
        page.fill("#documents-label", label)
        expect(page.locator("#documents-list .tag", has_text="ohjelma")).to_have_count(20)
        page.get_by_role("link", name="Review").click()
        page.click("#review-doubts")
        expect(page.locator("#queue .tag", has_text=label)).to_have_count(0)
        expect(page.locator("#queue .tag").first).to_be_attached()
        page.click("#queue-end")
        page.get_by_role("link", name="One text").click()
        page.select_option("#language", "")
        expect(page.locator("#labels")).to_contain_text(label)
        finder = page.locator("#finder")
        finder.fill("applic")
        expect(found(page).first).to_contain_text(label)
        expect(found(page).first).to_contain_text("ohjelma")
        finder.fill("Role::Program!")
        expect(found(page).last).to_contain_text("not in the vocabulary, which is closed")
        finder.fill("ROLE::PROGRAM")
        page.keyboard.press("Enter")
        expect(page.locator("#finder-told")).to_contain_text("not in the vocabulary, which is closed. Do you mean")
        page.locator("#finder-told").get_by_role("button", name=label).click()
        expect(page.locator("#kept")).to_contain_text(label)
        finder.fill("unused")
        page.keyboard.press("Enter")
        expect(page.locator("#kept")).to_contain_text("unused")
