"""Labels with their reasons, and the places of words in both texts, counted as the page counts them."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from neartag.serve.documents import link_of, title_of
from neartag.serve.errors import Refusal
from neartag.serve.labels import names_of
from neartag.tagging.explain import FREQUENCY, has_voters, is_refined
from neartag.tagging.explained_words import known_words, names_words, word_encoder, words_in_document
from neartag.tagging.tagger import TextTagger

MAX_WORDS = 20  # of each voter and of each ranker, the weightiest
MAX_TEXT_CHARACTERS = 4000  # of a voter's text that are shown


def explain_text(tagger: TextTagger, text: str, k: int, voters: int, fallback: bool = False) -> dict[str, Any]:
    """Return the k best labels of a text with their voters and words, and the text's words that the model knows.

    With `fallback`, a text that nothing is known of has the most frequent labels.
    """
    check_votes(tagger)
    features = word_encoder(tagger.stored.features)
    X = features.transform([text]) if hasattr(features, "spans") and names_words(features) else None  # (1, d)
    described: dict[str, dict[str, Any]] = {}  # voters by id: one of several labels is described once
    labels = []
    for reason in tagger.explain(text, k, voters, MAX_WORDS, fallback=fallback):
        for voter in reason.voters:
            if voter.id not in described:
                described[voter.id] = _describe_voter(features, X, voter)
        labels.append(
            {
                "label": reason.label,
                "score": reason.score,
                "share": min(1.0, reason.share),
                "voters": [described[voter.id] for voter in reason.voters],
                "words": [word._asdict() for word in reason.words],
                "found": reason.found,
            }
        )
    known = [] if X is None else spans(features, text, known_words(features, X, text))
    found = any(each["found"] != FREQUENCY for each in labels)
    names = names_of(tagger.vocabulary, (label for voter in described.values() for label in voter["labels"]))
    refined = is_refined(tagger.stored.model)
    return {"labels": labels, "found": found, "spans": known, "refined": refined, "names": names}


def check_votes(tagger: TextTagger) -> None:
    """Raise Refusal where a model has no voters to name."""
    if not has_voters(tagger.stored.model):
        raise Refusal(409, f"a model of kind {tagger.stored.model.kind!r} has no voters to name: serve one of X1")


def spans(features: Any, text: str, weight_of: dict[str, float]) -> list[tuple[int, int, str, float]]:
    """Return where words stand in a text, with start and end in UTF-16 units; only words that have a weight."""
    if not weight_of or not hasattr(features, "spans"):
        return []
    place = utf16(text)
    return [
        (place(start), place(end), word, weight_of[word])
        for start, end, word, _ in features.spans(text)
        if word in weight_of
    ]


def utf16(text: str) -> Any:
    """Return the function that turns a place in a text into the same place counted in UTF-16 units."""
    if text.isascii() or max(text) <= "\uffff":
        return int
    large = [place for place, character in enumerate(text) if character > "\uffff"]  # each has two units
    return lambda place: place + bisect_left(large, place)


def _describe_voter(features: Any, X: Any, voter: Any) -> dict[str, Any]:
    """Return a voter, fit for JSON; X is the row of the text that it voted on, None where no words can be marked."""
    text = voter.text
    marked: list[tuple[int, int, str, float]] = []
    if text is not None and voter.words and X is not None:
        marked = spans(features, text[:MAX_TEXT_CHARACTERS], words_in_document(features, X, text, MAX_WORDS))
    return {
        "id": voter.id,
        "title": title_of(text),
        "link": link_of(voter.id),
        "share": min(1.0, voter.share),
        "labels": voter.labels,
        "words": [word._asdict() for word in voter.words],
        "meaning": [word._asdict() for word in voter.meaning],
        "text": None if text is None else text[:MAX_TEXT_CHARACTERS],
        "cut": text is not None and len(text) > MAX_TEXT_CHARACTERS,
        "spans": marked,
    }
