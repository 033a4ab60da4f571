"""A small model, a real server on it, and a real browser: what the tests of the page share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_helpers import PATIENCE, Noted, Server, serving

PACKAGES = 3000
# A policy that was broken shows up in the console as an error, like a script that failed.
TELL_VIOLATIONS = """document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy broken: ${event.violatedDirective} ${event.blockedURI}`));"""


def saved_model(folder: Path, **settings: Any) -> Path:
    """Train on some thousand Debian packages, and return the folder."""
    from neartag.data import debian
    from neartag.tagging.tagger import TextTagger
    from neartag.x1.classifier import X1Classifier

    packages = debian.load("train")
    chosen = range(0, len(packages.words), len(packages.words) // PACKAGES)[:PACKAGES]
    tagger = TextTagger(classifier=X1Classifier(embedding_dim=50, n_jobs=1, **settings)).fit(
        [" ".join(packages.words[row]) for row in chosen],
        [packages.tags[row] for row in chosen],
        [packages.names[row] for row in chosen],
    )
    tagger.save(folder)
    return folder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model that votes decide in; not to be changed."""
    return saved_model(tmp_path_factory.mktemp("browser") / "model", refine=False)


@pytest.fixture(scope="session")
def refined_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of a model that rankers decide in, with so few voters that some labels have none; no test changes it."""
    with serving(saved_model(tmp_path_factory.mktemp("browser") / "refined", refine=True, vote_neighbours=10)) as found:
        yield found


@pytest.fixture
def own_model(model: Path, tmp_path: Path) -> Path:
    """A copy of the model that a test may change."""
    return Path(shutil.copytree(model, tmp_path / "model"))


@pytest.fixture(scope="session")
def server(model: Path) -> Iterator[Server]:
    """A server that no test changes."""
    with serving(model) as found:
        yield found


@pytest.fixture
def own_server(own_model: Path) -> Iterator[Server]:
    """A server for one test, whose model may be changed."""
    with serving(own_model) as found:
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make browser-test")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed: make browser-test")
    sync_api.expect.set_options(timeout=PATIENCE * 500)
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def noted() -> Noted:
    return Noted()


@pytest.fixture
def new_page(browser: Any, noted: Noted) -> Iterator[Any]:
    """Return a function that opens an address; fails the test where anything went wrong in the page."""
    contexts = []

    def opened(url: str, **settings: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 500)
        page.add_init_script(TELL_VIOLATIONS)
        page.on("console", lambda message: noted.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: noted.errors.append(str(error)))
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert noted.unexpected() == []
