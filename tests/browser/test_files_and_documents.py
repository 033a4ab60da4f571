"""The page's other views: a file tagged, a review, the documents; and the API page."""

from __future__ import annotations

import csv
import io

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make browser-test")

from browser_helpers import SCREENSHOTS, TOKEN, serving
from looks import faint_texts, unnamed, wider
from playwright.sync_api import expect
from test_page import LOADING, TEXT

TEXTS = [TEXT, "fonts for thai, with hinting", "zzyzx", "an editor for lisp", "a card game", "a sound mixer"]


@pytest.fixture
def table(tmp_path):
    """A small table with a column of its own."""
    path = tmp_path / "my docs.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(
            [["id", "text", "note"], *([f"n{n}", text, "kept"] for n, text in enumerate(TEXTS))]
        )
    return path


def give_token(page):
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")


def look(page, name):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
    assert wider(page) <= 0
    assert faint_texts(page) == []
    assert unnamed(page) == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_file_comes_back_with_labels(new_page, server, table, width, scheme):
    page = new_page(server.url, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.get_by_role("link", name="A file").click()
    expect(page.locator("#file-title")).to_be_focused()
    page.click("#file-send")
    expect(page.locator("#file-told")).to_have_text("Choose a file first.")
    page.set_input_files("#file", table)
    page.fill("#file-k", "2")
    page.click("#file-send")
    expect(page.locator("#file-told")).to_contain_text("6 rows, of which 5 got labels. Nothing is known of 1 row")
    expect(page.locator("#file-preview tbody tr")).to_have_count(6)
    look(page, f"file-{width}-{scheme}")
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save my docs-tagged.csv").click()
    assert saved.value.suggested_filename == "my docs-tagged.csv"
    rows = list(csv.DictReader(io.StringIO(saved.value.path().read_text(encoding="utf-8"))))
    assert [(row["id"], row["text"], row["note"]) for row in rows] == [
        (f"n{number}", text, "kept") for number, text in enumerate(TEXTS)
    ]
    answer = server.ask("tag", {"texts": TEXTS, "k": 2})["results"]
    assert [row["labels"] for row in rows] == [";".join(tag["label"] for tag in each["labels"]) for each in answer]
    assert [row["found"] for row in rows] == ["true", "true", "false", "true", "true", "true"]


def test_what_is_wrong_with_a_file_is_said(new_page, own_model, tmp_path, noted):
    noted.expected = (LOADING,)
    other, large = tmp_path / "other.csv", tmp_path / "large.csv"
    other.write_text("title,body\na chess program,with a board\n", encoding="utf-8")
    large.write_text("text\n" + "chess\n" * 400, encoding="utf-8")
    with serving(own_model, "--max-upload", "2KB") as server:
        page = new_page(f"{server.url}#/file")
        page.set_input_files("#file", other)
        page.click("#file-send")
        expect(page.locator("#file-told")).to_contain_text("there is no column 'text'")
        expect(page.locator("#file-told")).to_contain_text("name the right one by “Column with the text”.")
        expect(page.locator("#file-told")).not_to_contain_text("--")
        page.fill("#file-text", "title + body")
        page.keyboard.press("Enter")
        expect(page.locator("#file-told")).to_contain_text("1 row, of which 1 got labels")
        other.write_bytes("C++|b\ncaf\xe9|x\n".encode("cp1252"))
        page.fill("#file-text", "C++")
        page.locator("#file-form summary").click()
        page.fill("#file-encoding", "utf-8")
        page.set_input_files("#file", other)
        page.locator("#file-form summary").click()
        page.click("#file-send")
        expect(page.locator("#file-told")).to_contain_text("give its encoding by “Encoding”, such as cp1252")
        page.fill("#file-encoding", "cp1252")  # the message has opened what it speaks of
        page.fill("#file-delimiter", "|")
        page.click("#file-send")
        expect(page.locator("#file-preview tbody td").first).to_have_text("café")
        look(page, "file-more")
        page.set_input_files("#file", large)
        page.click("#file-send")
        expect(page.locator("#file-told")).to_contain_text("larger than")
        expect(page.locator("#file-preview")).to_be_empty()


def test_a_queue_of_texts_is_labelled_one_after_another(own_server, new_page, table):
    page = new_page(own_server.url)
    page.get_by_role("link", name="Review").click()
    page.click("#review-send")
    expect(page.locator("#review-told")).to_have_text("Paste texts, or choose a file.")
    page.set_input_files("#review-file", table)
    page.fill("#review-n", "3")
    page.click("#review-send")
    expect(page.locator("#queue-title")).to_have_text("Review: 1 of 3")
    expect(page.locator("#queue-title")).to_be_focused()
    expect(page.locator("#queue-why")).to_contain_text("Worth labelling")
    first = page.locator("#text").input_value()
    assert first in TEXTS
    page.reload()  # nothing is lost
    expect(page.locator("#queue-title")).to_have_text("Review: 1 of 3")
    expect(page.locator("#text")).to_have_value(first)
    page.fill("#finder", "game::board")
    page.keyboard.press("Enter")
    expect(page.locator("#kept")).to_contain_text("game::board")
    page.click("#add")
    give_token(page)
    expect(page.locator("#queue-title")).to_have_text("Review: 2 of 3")
    expect(page.locator("#queue-title")).to_be_focused()
    (added,) = own_server.ask("documents?limit=1")["documents"]
    assert (added["text"], added["id"]) == (first, f"n{TEXTS.index(first)}")
    assert "game::board" in added["labels"]
    page.locator("#queue summary").click()  # the first text was of no known word, and near to nothing
    look(page, "queue")
    page.click("#queue-skip")
    expect(page.locator("#queue-title")).to_have_text("Review: 3 of 3")
    page.click("#queue-skip")
    expect(page.locator("#review-told")).to_have_text("Reviewed all 3 documents; 1 saved.")
    page.fill("#review-texts", "one more text\nand another")
    page.set_input_files("#review-file", [])
    page.click("#review-send")
    expect(page.locator("#queue-title")).to_have_text("Review: 1 of 2")
    page.click("#queue-end")
    expect(page.locator("#review-told")).to_have_text("Ended: 0 of 2 documents saved.")


def test_a_doubtful_label_is_corrected(own_server, new_page):
    doubts = own_server.ask("doubts", {"n": 2})["doubts"]
    page = new_page(f"{own_server.url}#/review")
    page.fill("#review-n", "2")
    page.click("#review-doubts")
    expect(page.locator("#queue-title")).to_have_text("Review: 1 of 2")
    doubt = doubts[0]
    name, label = doubt["document"]["id"], doubt["label"]
    expect(page.locator("#queue-why")).to_contain_text(label)
    expect(page.locator("#add-hint")).to_contain_text(name)
    wrong = doubt["kind"] == "wrong"
    page.get_by_role("button", name=f"{'Take away' if wrong else 'Keep'} {label}", exact=True).click()
    if wrong and len(doubt["document"]["labels"]) == 1:
        page.locator("#offers button").first.click()
    page.click("#add")
    give_token(page)
    expect(page.locator("#queue-title")).to_have_text("Review: 2 of 2")
    (now,) = [each for each in own_server.ask(f"documents?query={name}")["documents"] if each["id"] == name]
    assert (label in now["labels"]) == (not wrong)
    assert now["text"] == doubt["document"]["text"]
    assert own_server.ask("health")["points"] == 3000


def test_a_document_that_stands_twice_in_the_queue_is_shown_as_it_is_now(own_server, new_page):
    first, other = own_server.ask("documents?query=chess&limit=2")["documents"]
    absent = ["use::editing", "use::browsing", "made-of::font"]
    assert not {*absent} & {*first["labels"]}

    def doubt(document, label):
        kind = "wrong" if label in document["labels"] else "missing"
        return {"document": document, "label": label, "kind": kind, "score": 0.9, "reason": "so", "evidence": []}

    doubts = [
        doubt(first, absent[0]),
        doubt(first, absent[1]),  # settled with the one before
        doubt(other, other["labels"][0]),  # which will be gone
        doubt(first, first["labels"][0]),
    ]
    page = new_page(f"{own_server.url}#/review")
    page.route("**/doubts", lambda route: route.fulfill(json={"doubts": doubts}))
    page.click("#review-doubts")
    expect(page.locator("#kept .chip > bdi")).to_have_text(first["labels"])
    own_server.ask("forget", {"ids": [other["id"]]})
    for label in absent[:2]:
        page.fill("#finder", label)
        page.keyboard.press("Enter")
        expect(page.locator("#kept")).to_contain_text(label)
    page.click("#add")
    give_token(page)
    expect(page.locator("#queue-title")).to_have_text("Review: 4 of 4")
    expect(page.locator("#queue-title")).to_be_focused()
    expect(page.locator("#queue-told p")).to_have_text(
        [
            f"Saved {first['id']}.",
            f"Settled already: {first['id']} has {absent[1]}.",
            f"The model has no {other['id']} any more.",
        ]
    )
    expect(page.locator("#kept .chip > bdi")).to_have_count(len(first["labels"]) + 2)
    page.get_by_role("button", name=f"Take away {first['labels'][0]}", exact=True).click()
    page.click("#add")
    expect(page.locator("#review-told")).to_have_text("Reviewed all 4 documents; 2 saved, 1 settled already, 1 gone.")
    (now,) = own_server.ask(f"documents?id={first['id']}")["documents"]
    assert {*now["labels"]} == {*first["labels"][1:], *absent[:2]}


@pytest.mark.parametrize("shown", [{"cut": True}, {"text": None}])
def test_a_doubtful_label_of_a_text_that_is_not_whole_cannot_be_saved(server, new_page, shown):
    document = server.ask("doubts", {"n": 1})["doubts"][0]["document"] | shown
    page = new_page(f"{server.url}#/review")
    page.route("**/documents?id=*", lambda route: route.fulfill(json={"documents": [document]}))
    page.fill("#review-n", "1")
    page.click("#review-doubts")
    expect(page.locator("#queue-title")).to_have_text("Review: 1 of 1")
    expect(page.locator("#queue-told")).to_contain_text("correct it with neartag add --replace")
    expect(page.locator("#text")).to_have_value("")


def test_documents_are_browsed_searched_corrected_and_deleted(own_server, new_page):
    page = new_page(own_server.url)
    page.get_by_role("link", name="Documents").click()
    expect(page.locator("#documents-count")).to_have_text("1 to 20 of 3,000 documents")
    page.click("#documents-older")
    expect(page.locator("#documents-count")).to_have_text("21 to 40 of 3,000 documents")
    page.fill("#documents-query", "CHESS")
    found = own_server.ask("documents?query=chess")
    expect(page.locator("#documents-list .voter")).to_have_count(found["total"])
    look(page, "documents")
    page.fill("#documents-label", "game::board:chess")
    expect(page.locator("#documents-list .voter")).not_to_have_count(found["total"])
    page.fill("#documents-label", "no such label")
    expect(page.locator("#documents-told")).to_contain_text("No label is named exactly so")
    page.fill("#documents-label", "game::bo")
    expect(page.locator("#documents-labels option").first).to_have_attribute("value", "game::board")
    page.fill("#documents-label", "")
    expect(page.locator("#documents-list .voter")).to_have_count(found["total"])
    first = found["documents"][0]
    page.get_by_role("button", name="Show its labels and reasons").first.click()
    expect(page.locator("#text")).to_have_value(first["text"])
    expect(page.locator("#kept .chip > bdi")).to_have_text(first["labels"])
    page.get_by_role("button", name="Leave it as it is").click()
    page.get_by_role("link", name="Documents").click()
    page.get_by_role("button", name="Delete…").first.click()
    expect(page.locator("#delete-title")).to_contain_text(first["id"])
    expect(page.locator("#delete-no")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#delete-box")).to_be_hidden()
    page.get_by_role("button", name="Delete…").first.click()
    page.click("#delete-yes")
    give_token(page)
    expect(page.locator("#documents-told")).to_contain_text(f"Deleted {first['id']}")
    expect(page.locator("#documents-list .voter")).to_have_count(found["total"] - 1)
    expect(page.locator("#model")).to_contain_text("2,999 documents")


def test_a_text_that_was_being_typed_comes_back(server, new_page):
    page = new_page(server.url)

    def expect_typed():
        expect(page.locator("#text")).to_have_value(TEXT)
        expect(page.locator("#kept")).to_contain_text("use::editing")
        expect(page.locator("#draft")).to_be_hidden()

    def open_document():
        page.get_by_role("link", name="Documents").click()
        page.get_by_role("button", name="Show its labels and reasons").first.click()

    def begin_review():
        page.get_by_role("link", name="Review").click()
        page.fill("#review-texts", "a sound mixer\nan editor for lisp")
        page.click("#review-send")
        expect(page.locator("#queue-title")).to_have_text("Review: 1 of 2")

    page.fill("#text", TEXT)
    expect(page.locator("#kept")).to_be_visible()
    page.fill("#finder", "use::editing")
    page.keyboard.press("Enter")
    expect_typed()
    open_document()
    expect(page.locator("#text")).not_to_have_value(TEXT)
    page.get_by_role("button", name="Leave it as it is").click()
    expect_typed()
    begin_review()
    page.reload()
    expect(page.locator("#queue-title")).to_have_text("Review: 1 of 2")
    page.click("#queue-skip")
    page.click("#queue-skip")
    expect(page.locator("#review-told")).to_contain_text("The text that you were typing is back")
    page.get_by_role("link", name="One text").click()
    expect_typed()
    open_document()
    page.click("#clear")
    expect(page.locator("#text")).to_have_value("")
    page.click("#draft")
    expect_typed()


def test_a_document_opened_during_a_review_takes_no_items_place(server, new_page):
    page = new_page(f"{server.url}#/review")
    page.fill("#review-texts", "a sound mixer\nan editor for lisp")
    page.click("#review-send")
    expect(page.locator("#queue-title")).to_have_text("Review: 1 of 2")
    first = page.locator("#text").input_value()
    page.get_by_role("link", name="Documents").click()
    page.get_by_role("button", name="Show its labels and reasons").first.click()
    expect(page.locator("#queue-title")).to_have_text("Review: 1 of 3")
    expect(page.locator("#queue-why")).to_have_text("You opened it in the documents. The review goes on after it.")
    expect(page.locator("#text")).to_have_value(server.ask("documents?limit=1")["documents"][0]["text"])
    page.click("#queue-skip")
    expect(page.locator("#queue-title")).to_have_text("Review: 2 of 3")
    expect(page.locator("#text")).to_have_value(first)


def test_without_a_token_the_page_only_reads(new_page, own_model):
    with serving(own_model, token=None) as server:
        page = new_page(f"{server.url}#/documents")
        expect(page.locator("#documents-list .voter")).to_have_count(20)
        expect(page.get_by_role("button", name="Delete…")).to_have_count(0)
        expect(page.locator("#closed")).to_contain_text("NEARTAG_TOKEN")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_the_api_page_describes_every_request(new_page, server, width, scheme):
    page = new_page(f"{server.url}docs", viewport={"width": width, "height": 900}, color_scheme=scheme)
    described = server.ask("openapi.json")["paths"]
    titles = [f"{method.upper()} {path}" for path, methods in described.items() for method in methods]
    expect(page.locator("h2")).to_have_text(titles)
    tag = page.locator("#POST-tag")
    tag.get_by_text("Try it").click()
    tag.get_by_role("button", name="Send").click()
    expect(tag.locator("pre")).to_contain_text('"labels"')
    labels = page.locator("#GET-labels")
    labels.get_by_text("Try it").click()
    labels.get_by_label("prefix").fill("game")
    labels.get_by_role("button", name="Send").click()
    expect(labels.locator("pre")).to_contain_text("game::board")
    look(page, f"api-{width}-{scheme}")


def test_voters_have_titles_and_links(own_server, new_page):
    text, name = f"Chess for two\n{TEXT}", "https://example.org/chess?a=1"
    own_server.ask("add", {"documents": [{"text": text, "labels": ["game::board"], "id": name}]})
    page = new_page(own_server.url)
    page.select_option("#most", "20")
    page.fill("#text", TEXT)
    page.locator("#labels .row", has_text="game::board").first.locator("> button").click()
    link = page.locator(".voter").first.get_by_role("link", name="Chess for two")
    expect(link).to_have_attribute("href", name)
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    page.goto(f"{own_server.url}#/documents")
    expect(page.locator("#documents-list").get_by_role("link", name="Chess for two")).to_be_visible()
