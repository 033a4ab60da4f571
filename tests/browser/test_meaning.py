"""Words and vectors of a sentence encoder in the page: why two texts without a common word are near.

The encoder is tiny and made on the spot; the texts are Finnish and German.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make browser-test")
pytest.importorskip("tokenizers", reason="sentence encoders need tokenizers")

from browser_helpers import SCREENSHOTS, Server, serving
from playwright.sync_api import expect

from neartag import TextTagger, X1Classifier
from neartag.encoders.hybrid import HybridFeatures
from sentence_helpers import make_documents, make_static

GERMAN = "Größe: der Wagen"  # whose label has documents in Finnish, too


@pytest.fixture(scope="module")
def meaning_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("meaning")
    documents = make_documents(120)
    parts = zip(*((each["text"], each["labels"], each["id"]) for each in documents), strict=True)
    features = HybridFeatures("words", make_static(folder / "encoder"))
    TextTagger(features, X1Classifier(embedding_dim=4, refine=False, n_jobs=1)).fit(*parts).save(folder / "model")
    with serving(folder / "model") as found:
        yield found


def test_the_page_names_what_is_near_in_meaning(new_page, meaning_server):
    page = new_page(meaning_server.url)
    page.fill("#text", "a star in the sky")
    first = page.locator("#labels .row").first
    expect(first).to_contain_text("tähti")
    first.locator("> button").click()
    near = page.get_by_text("Near in meaning by:").first
    expect(near).to_be_visible()
    assert "star" in near.text_content() or "sky" in near.text_content()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "meaning.png", full_page=True)


def test_letters_of_other_languages_are_shown_as_they_are(new_page, meaning_server):
    page = new_page(meaning_server.url)
    page.fill("#text", GERMAN)
    first = page.locator("#labels .row").first
    expect(first).to_contain_text("auto")
    first.locator("> button").click()
    near = page.get_by_text("Near in meaning by:").first
    expect(near).to_contain_text("Wagen", ignore_case=True)
