"""A small tagger of Debian packages, as the tests of taggers and of the server need it."""

from __future__ import annotations

from functools import cache

from neartag.data import debian
from neartag.tagging.tagger import TextTagger
from neartag.x1.classifier import X1Classifier

POINTS = 600


@cache
def corpus():
    """Return texts, tags and names of some packages; shared, so tests must not write to them."""
    packages = debian.load("train")
    return [" ".join(words) for words in packages.words[:POINTS]], packages.tags[:POINTS], packages.names[:POINTS]


def train(**settings) -> TextTagger:
    """Return a tagger of the corpus. With no settings it is the fixture `small_tagger`."""
    return TextTagger(classifier=X1Classifier(**{"embedding_dim": 16, "n_jobs": 1, **settings})).fit(*corpus())
