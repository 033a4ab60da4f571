"""The page, in a real browser against a real server: `make browser-test`."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make browser-test")

from browser_helpers import SCREENSHOTS, TOKEN, serving
from looks import background, faint_texts, focus, unnamed, wait_for_focus, wider
from playwright.sync_api import Error, expect

TEXT = "a chess playing program with a graphical board for the X Window System"
NEW = "brand-new::label"
HOSTILE = [
    '<img src=x onerror="window.harmed = 1">',
    '"><script>window.harmed = 2</script>',
    "</bdi></li><svg onload=window.harmed=3>",
    "javascript:window.harmed=4",
    "\u202ereversed\u202d {{harmed}} ${harmed} &lt;b&gt;",
    "long" * 120,
]
LOADING = "Failed to load resource"  # what Chromium itself writes about an answer that is an error


def tagged(page, text=TEXT):
    page.fill("#text", text)
    expect(page.locator("#labels .row")).to_have_count(5)
    expect(page.locator("#drawing svg")).to_be_visible()


def percent(share):
    return f"{int(100 * share + 0.5)}%"  # a half goes up, as in JavaScript


def found(page):
    return page.locator("#found [role=option]")


def names(page):
    return page.locator("#labels .name").all_text_contents()


def tab_to(page, wanted, most=60):
    """Press Tab until an element has the focus; return what had it on the way."""
    way = []
    for _ in range(most):
        page.keyboard.press("Tab")
        way.append(focus(page))
        if way[-1]["name"].startswith(wanted):
            return way
    raise AssertionError(f"Tab does not come to {wanted}: {[each['name'] for each in way]}")


def test_labels_appear_as_one_types(new_page, server):
    page = new_page(server.url)
    expect(page.locator("#model")).to_have_text(re.compile(r"^3,000 documents, \d+ labels$"))
    asked = []
    page.on("request", lambda request: asked.append(request) if request.url.endswith("/tag") else None)
    page.locator("#text").press_sequentially(TEXT, delay=10)
    expect(page.locator("#labels .row")).to_have_count(5)
    answer = server.ask("tag", {"text": TEXT})["labels"]
    expect(page.locator("#labels .name")).to_have_text([each["label"] for each in answer])
    expect(page.locator("#labels .score")).to_have_text([percent(each["score"]) for each in answer])
    widths = page.locator("#labels .fill").evaluate_all("all => all.map((each) => parseFloat(each.style.width))")
    assert widths == pytest.approx([100 * each["score"] for each in answer], abs=0.01)
    assert 1 <= len(asked) < len(TEXT) / 2
    expect(page.locator("#spoken")).to_contain_text(f"5 labels: {answer[0]['label']}")
    page.select_option("#most", "10")
    expect(page.locator("#labels .row")).to_have_count(10)
    page.click("#clear")
    expect(page.locator("#labels .row")).to_have_count(0)
    expect(page.locator("#correct")).to_be_hidden()
    expect(page.locator("#text")).to_be_focused()


def test_an_answer_that_comes_too_late_is_dropped(new_page, server):
    page = new_page(server.url)
    held = []
    page.route("**/tag", lambda route: held.append(route) if "fonts" in route.request.post_data else route.continue_())
    page.fill("#text", "fonts")
    end = time.monotonic() + 20
    while not held and time.monotonic() < end:
        page.wait_for_timeout(50)
    tagged(page)
    before = names(page)
    held[0].fulfill(json={"labels": [{"label": "late", "score": 1.0, "share": 1.0}]})
    page.wait_for_timeout(300)
    assert names(page) == before


def test_a_click_shows_why(new_page, server):
    page = new_page(server.url)
    tagged(page)
    reasons = server.ask("explain", {"text": TEXT, "k": 5, "voters": 15})["labels"]
    row = page.locator("#labels .row").nth(1)
    row.locator("> button").click()
    expect(row.locator("> button")).to_have_attribute("aria-expanded", "true")
    voters = reasons[1]["voters"]
    expect(row.locator(".voter")).to_have_count(5)
    expect(row.locator(".voter strong")).to_have_text([voter["id"] for voter in voters[:5]])
    first = row.locator(".voter").first
    expect(first).to_contain_text(f"{percent(voters[0]['share'])} of the votes")
    expect(first.locator(".tag")).to_have_text(voters[0]["labels"])
    expect(first.locator(".tag.same")).to_have_text([reasons[1]["label"]])
    shared = {word["word"] for voter in voters for word in voter["words"]}
    marked = row.locator(".why > div").first.locator("mark").all_text_contents()
    assert marked
    assert {word.lower() for word in marked} <= shared
    for place, voter in enumerate(voters[:5]):
        both = row.locator(".voter").nth(place).locator("mark").all_text_contents()
        assert {word.lower() for word in both} == {word for _, _, word, _ in voter["spans"]}
        assert bool(both) == bool(voter["words"])
    row.get_by_role("button", name="Show 10 more").click()
    expect(row.locator(".voter")).to_have_count(len(voters))
    row.locator("> button").click()
    expect(row.locator(".why")).to_be_hidden()


def signed(weight):
    return f"\u00a0{'+' if weight > 0 else '−'}{abs(weight):.2f}"


def test_a_click_shows_what_the_ranker_weighed(new_page, refined_server):
    page = new_page(refined_server.url)
    tagged(page)
    reasons = refined_server.ask("explain", {"text": TEXT, "k": 5, "voters": 15})["labels"]
    # One with words for it and against it.
    place = next(
        place for place, each in enumerate(reasons) if len({word["weight"] > 0 for word in each["words"]}) == 2
    )
    reason, row = reasons[place], page.locator("#labels .row").nth(place)
    row.locator("> button").click()
    expect(row.locator(".voter strong").first).to_have_text(reason["voters"][0]["id"])
    expect(row.locator(".why > p")).to_contain_text("Its ranker weighed the words of your text.")
    expect(row.locator(".why > p")).to_contain_text(f"right {percent(reason['score'])} of the time")
    good, bad = ([word for word in reason["words"] if (word["weight"] > 0) == wanted] for wanted in (True, False))
    lines = row.locator(".weighed")
    for number, (some, title) in enumerate([(good, "Words for it: "), (bad, "Words against it: ")]):
        told = title + ", ".join(f"{word['word']}{signed(word['weight'])}" for word in some)
        assert lines.nth(number).text_content() == told
    own = row.locator(".why > div").first
    for look, some in (("mark.against", bad), ("mark:not(.against)", good)):
        assert {word.lower() for word in own.locator(look).all_text_contents()} == {word["word"] for word in some}
    # Documents show what they share with the text, as ever.
    shared = row.locator(".voter").first.locator("mark").all_text_contents()
    assert {word.lower() for word in shared} == {word for _, _, word, _ in reason["voters"][0]["spans"]}
    assert row.locator(".voter mark.against").count() == 0


def test_a_label_that_nobody_voted_for(new_page, refined_server):
    page = new_page(refined_server.url)
    page.select_option("#most", "20")
    for text in ("fonts for thai", "spell checker for thai", "bluetooth headset", "a compiler for haskell"):
        reasons = refined_server.ask("explain", {"text": text, "k": 20})["labels"]
        found = [place for place, each in enumerate(reasons) if each["found"] == "mean"]
        if found:
            break
    assert found, "none of the texts has such a label"
    page.fill("#text", text)
    expect(page.locator("#labels .row")).to_have_count(20)
    expect(page.locator("#drawing svg")).to_be_visible()
    row = page.locator("#labels .row").nth(found[0])
    row.locator("> button").click()
    expect(row.locator(".why > p")).to_contain_text("No document near your text has this label")
    expect(row.locator(".why h3")).to_have_text(["Your text"])
    expect(row.locator(".voter")).to_have_count(0)
    expect(page.locator("#key")).to_contain_text("other votes")
    expect(page.locator("#key")).not_to_contain_text("voted for")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "desktop-light-nobody.png", full_page=True)


def test_the_map_shows_the_text_and_its_neighbours(new_page, server):
    page = new_page(server.url)
    tagged(page)
    answer = server.ask("map", {"text": TEXT, "points": 300})
    voters = [point for point in answer["points"] if point["share"]]
    expect(page.locator("#drawing .own")).to_have_count(1)
    expect(page.locator("#drawing .vote")).to_have_count(len(voters))
    expect(page.locator("#drawing .other")).to_have_count(len(answer["points"]) - len(voters))
    box = page.locator("#drawing svg").bounding_box()
    for mark in [page.locator("#drawing .own"), *page.locator("#drawing .vote").all()]:
        part = mark.bounding_box()
        assert box["x"] <= part["x"]
        assert part["x"] + part["width"] <= box["x"] + box["width"]
    strongest = page.get_by_role("img", name=voters[0]["id"])
    strongest.hover(force=True)
    expect(page.locator("#point strong")).not_to_have_text("Your text")
    page.locator("#drawing .own").focus()
    expect(page.locator("#point strong")).to_have_text("Your text")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#point strong")).to_have_text(voters[0]["id"])
    expect(page.locator("#point .tag")).to_have_text(voters[0]["labels"])
    page.keyboard.press("Home")
    expect(page.locator("#point strong")).to_have_text("Your text")
    page.click("#zoom")
    expect(page.locator("#drawing .other")).to_have_count(0)
    page.locator("#labels .row > button").first.click()
    expect(page.locator("#drawing .vote.has")).not_to_have_count(0)


def test_a_corrected_document_is_added_and_its_new_label_predicted(own_server, new_page, noted):
    noted.expected = (LOADING,)  # the wrong token
    page = new_page(own_server.url)
    tagged(page)
    first = names(page)[0]
    assert NEW not in names(page)
    page.get_by_role("button", name=f"Take away {first}", exact=True).click()
    expect(page.locator("#kept")).not_to_contain_text(first)
    expect(page.get_by_role("button", name=f"Keep {first}", exact=True)).to_be_visible()
    finder = page.get_by_role("combobox", name="Another label")
    finder.press_sequentially("game::bo")
    expect(found(page).first).to_contain_text("game::board")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#kept")).to_contain_text("game::board")
    finder.press_sequentially(NEW)
    expect(found(page).get_by_text(f"Add new label {NEW}…")).to_be_visible()
    page.keyboard.press("Enter")
    page.get_by_role("button", name=f"Add new label {NEW}", exact=True).click()
    expect(page.locator("#kept")).to_contain_text(NEW)
    kept = page.locator("#kept .chip > bdi").all_text_contents()
    page.click("#add")
    page.fill("#token", "not-the-token")
    page.keyboard.press("Enter")
    expect(page.locator("#token-told")).to_contain_text("wrong")
    expect(page.locator("#token-told")).not_to_contain_text("header")
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator("#add-told")).to_contain_text("Added as")
    expect(page.locator("#labels")).to_contain_text(NEW)
    expect(page.locator("#model")).to_contain_text("3,001 documents")
    reasons = own_server.ask("explain", {"text": TEXT, "k": 5})["labels"]
    (reason,) = [each for each in reasons if each["label"] == NEW]
    assert set(reason["voters"][0]["labels"]) == set(kept)
    assert page.evaluate("sessionStorage.getItem('neartag-token')") == f'"{TOKEN}"'
    page.get_by_role("button", name="Take it back").click()  # without being asked for the token again
    expect(page.locator("#add-told")).to_contain_text("Taken back")
    expect(page.locator("#labels")).not_to_contain_text(NEW)
    expect(page.locator("#model")).to_contain_text("3,000 documents")


def test_a_label_may_be_taken_before_the_suggestions_come(new_page, server):
    page = new_page(server.url)
    tagged(page)
    held = []
    page.route("**/labels?*", lambda route: held.append(route))
    with page.expect_request("**/labels?*"):
        page.locator("#finder").press_sequentially("game::board")
        page.keyboard.press("Enter")
    page.unroute("**/labels?*")
    page.wait_for_timeout(300)
    for route in held:
        with suppress(Error):  # the page may have given it up
            route.continue_()
    expect(page.locator("#kept")).to_contain_text("game::board")
    expect(page.locator("#finder")).to_have_value("")
    assert page.locator("#banner").is_hidden()  # at once: it would go away by itself


def test_what_a_server_refuses_is_said(new_page, own_model, noted):
    noted.expected = (LOADING,)
    with serving(own_model, "--max-characters", "300", token=None) as server:
        page = new_page(server.url)
        tagged(page)
        expect(page.locator("#closed")).to_contain_text("start the server with a token")
        expect(page.locator("#correct")).to_be_hidden()
        page.fill("#text", "chess " * 60)
        expect(page.locator("#text-told")).to_contain_text("The text has 360 characters, more than 300")
        # Nothing waits any more, and the labels of the text before are not shown as this one's.
        expect(page.locator("#answer.late")).to_have_count(0)
        expect(page.locator("#labels .row")).to_have_count(0)
        expect(page.locator("#map-hint")).to_contain_text("not drawn")
        page.fill("#text", TEXT)
        expect(page.locator("#text-told")).to_be_empty()


def test_a_text_without_known_words(new_page, server):
    page = new_page(server.url)
    page.fill("#text", "qqqqxx zzzzyy 💣")
    expect(page.locator("#labels-hint")).to_contain_text("Nothing is known of this text")
    expect(page.locator("#labels .row")).to_have_count(0)
    expect(page.locator("#map-hint")).to_contain_text("no place on a map")
    expect(page.locator("#spoken")).to_contain_text("Nothing is known of this text")


def test_words_are_marked_where_they_stand_behind_characters_of_two_units(new_page, server):
    page = new_page(server.url)
    tagged(page, f"💣💣 ÉTÉ {TEXT}")
    page.locator("#labels .row > button").first.click()
    expect(page.locator(".voter").first).to_be_visible()
    marked = page.locator(".why:visible > div").first.locator("mark").all_text_contents()
    assert marked
    assert {word.lower() for word in marked} <= set(TEXT.lower().split())


def test_a_long_text_is_shown_in_part(new_page, server):
    page = new_page(server.url)
    tagged(page, f"{TEXT}. " + "nothing to say here " * 60 + "program")
    page.locator("#labels .row > button").first.click()
    own = page.locator(".why:visible > div").first
    expect(own.locator(".words")).to_contain_text("…")
    short = len(own.locator(".words").text_content())
    own.get_by_role("button", name="Show all of it").click()
    assert short < 600 < len(own.locator(".words").text_content())


def test_everything_works_by_keyboard_alone(own_server, new_page):
    page = new_page(own_server.url)
    expect(page.locator("#model")).not_to_be_empty()
    way = tab_to(page, "text")
    page.keyboard.type(TEXT)
    expect(page.locator("#labels .row")).to_have_count(5)
    expect(page.locator("#drawing svg")).to_be_visible()
    first, second, *_ = names(page)
    way += tab_to(page, second)
    page.keyboard.press("Enter")
    expect(page.locator(".why:visible .voter").first).to_be_visible()
    way += tab_to(page, "Show 10 more")
    page.keyboard.press("Escape")
    expect(page.locator(".why:visible")).to_have_count(0)
    wait_for_focus(page, second)
    way += tab_to(page, f"Take away {first}")
    page.keyboard.press("Space")
    expect(page.locator("#kept")).not_to_contain_text(first)
    wait_for_focus(page, "Take away")
    way += tab_to(page, "finder")
    page.keyboard.type(NEW)
    expect(found(page).get_by_text(f"Add new label {NEW}…")).to_be_visible()
    page.keyboard.press("Escape")
    expect(found(page)).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.locator("#label-box")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#label-box")).to_be_hidden()
    expect(page.locator("#finder")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#label-choices button").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#kept")).to_contain_text(NEW)
    way += tab_to(page, "add")
    page.keyboard.press("Enter")
    expect(page.locator("#token")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#add-told")).to_contain_text("Not added")
    expect(page.locator("#add")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type(TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator("#labels")).to_contain_text(NEW)
    expect(page.locator("#add")).to_be_focused()
    way += tab_to(page, "Take it back") + tab_to(page, "zoom")
    way += tab_to(page, "Your text", most=1)  # the arrow keys work at once
    page.keyboard.press("ArrowDown")
    way.append(focus(page))
    assert way[-1]["tag"] == "circle"
    with page.expect_response("**/map"):  # drawn again, the map keeps the place
        page.locator("#most").dispatch_event("change")
    expect(page.locator("#drawing circle.at:focus")).to_have_count(1)
    assert focus(page)["name"].split(",")[0] == way[-1]["name"].split(",")[0]  # the votes change with the document
    assert [each["name"] for each in way if each["outline"] < 2 and each["stroke"] < 4] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "width", "height"), [("phone", 360, 800), ("desktop", 1280, 900)])
def test_it_can_be_read_everywhere(new_page, server, refined_server, device, width, height, scheme):
    settings = {"viewport": {"width": width, "height": height}, "color_scheme": scheme, "reduced_motion": "reduce"}
    page = new_page(server.url, **settings)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)

    def look(name, full_page=True, page=page):
        page.screenshot(path=SCREENSHOTS / f"{device}-{scheme}-{name}.png", full_page=full_page)
        assert wider(page) <= 0
        assert faint_texts(page) == []
        assert unnamed(page) == []

    assert (sum(map(int, re.findall(r"\d+", background(page))[:3])) < 150) == (scheme == "dark")
    expect(page.locator("#model")).not_to_be_empty()
    look("1-empty")
    tagged(page)
    look("2-labels")
    page.locator("#labels .row > button").nth(1).click()
    expect(page.locator(".voter").first).to_be_visible()
    look("3-why")
    page.fill("#finder", "game")
    expect(found(page).first).to_be_visible()
    look("4-finding")
    page.keyboard.press("Escape")
    page.fill("#finder", "")
    page.click("#add")
    expect(page.locator("#token")).to_be_focused()
    look("5-token", full_page=False)
    durations = page.locator("#labels .fill").evaluate_all(
        "all => all.map((each) => getComputedStyle(each).transitionDuration)"
    )
    assert set(durations) == {"0s"}  # motion is reduced
    if device == "phone":
        small = page.locator("button:visible").evaluate_all(
            "all => all.map((each) => each.getBoundingClientRect().height).filter((height) => height < 24)"
        )
        assert small == []
    refined = new_page(refined_server.url, **settings)
    tagged(refined)
    refined.locator("#labels .row > button").nth(1).click()
    expect(refined.locator(".weighed").first).to_be_visible()
    look("6-weighed", page=refined)


def test_hostile_names_and_texts_are_only_shown(own_server, new_page):
    text = f"chess board {HOSTILE[0]} {HOSTILE[1]} </textarea>"
    documents = [
        {"text": f"{text} {name}", "labels": [*HOSTILE, "role::program"], "id": f"{place}{name}"}
        for place, name in enumerate(HOSTILE[:5])
    ]
    own_server.ask("add", {"new_labels": True, "documents": documents})
    page = new_page(own_server.url, viewport={"width": 360, "height": 800})
    page.select_option("#most", "10")
    page.fill("#text", text)
    expect(page.locator("#labels .row")).to_have_count(10)
    shown = names(page)
    assert set(HOSTILE) <= set(shown)
    page.locator("#labels .row > button").nth(shown.index(HOSTILE[0])).click()
    expect(page.locator(".voter")).to_have_count(5)
    expect(page.locator(".voter strong").first).to_have_text(re.compile("|".join(re.escape(name) for name in HOSTILE)))
    page.locator("#drawing .vote").first.hover(force=True)
    page.locator("#finder").press_sequentially("<img")
    expect(found(page).first).to_contain_text(HOSTILE[0])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "phone-light-hostile.png", full_page=True)
    assert wider(page) <= 0
    assert page.evaluate("window.harmed") is None
    assert page.locator("img, iframe, bdi script, li script, p script, bdi svg, p svg").count() == 0
    page.fill("#text", HOSTILE[0])
    expect(page.locator("#labels .row")).to_have_count(10)
    page.goto(f"{own_server.url}#/documents")
    expect(page.locator("#documents-list .tag").first).to_be_visible()
    assert page.locator("#documents-list").get_by_role("link").count() == 0
    assert wider(page) <= 0
    assert page.evaluate("window.harmed") is None


def test_a_server_that_goes_away_is_told_and_found_again(new_page, own_model, noted):
    noted.expected = (LOADING,)
    with serving(own_model) as server:
        page = new_page(server.url)
        tagged(page)
        server.stop()
        page.fill("#text", "fonts for Thai")
        expect(page.locator("#banner")).to_be_visible()
        expect(page.get_by_role("alert").first).to_contain_text("The server does not answer")
        assert faint_texts(page) == []
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / "desktop-light-gone.png")
    before = names(page)
    with serving(own_model, port=int(server.url.rstrip("/").rpartition(":")[2])):
        expect(page.locator("#banner")).to_be_hidden()
        expect(page.locator("#labels .name")).not_to_have_text(before)


def test_the_policy_stops_what_is_not_the_page_s_own(new_page, server, noted):
    noted.expected = ("policy broken", "Content Security Policy", "Refused to")
    page = new_page(server.url)
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.harmed = 1";
          document.body.append(script);
          const image = document.createElement("img");
          image.src = "https://example.org/x.png";
          document.body.append(image);
        }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.harmed") is None
    assert any("policy broken: script-src" in error for error in noted.errors)
    assert any("policy broken: img-src" in error for error in noted.errors)
