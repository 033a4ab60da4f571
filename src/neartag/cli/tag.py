"""`neartag tag` and `neartag explain`: the labels of a text, and why they were given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.options import AsJson, Model
from neartag.cli.text_lines import STDIN, read_text_lines
from neartag.core.errors import ParameterError

if TYPE_CHECKING:
    from neartag.tagging.explain import Reason, Word
    from neartag.tagging.tagger import Tag, TextTagger

Count = Annotated[int, typer.Option("-k", help="At most so many labels.")]
Threshold = Annotated[
    str | None,
    typer.Option(
        metavar="SCORE|f1|precision=P",
        help="Only labels of this score and above. f1: the score with the best F1 on held-out documents; "
        "precision=0.8: the score that gave that precision.",
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL|PREFIX*|under:CONCEPT",
        help="Only this label, those that begin so, or a concept of the vocabulary and all narrower ones. May be given "
        "several times.",
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(metavar="LABEL|PREFIX*|under:CONCEPT", help="Leave such labels out. May be given several times."),
]
# What `explain` prints for a label that no document voted for, by what brought the label up.
WITHOUT_VOTERS = {
    "mean": "no document near has it: its documents, taken together, use words of the text",
    "frequency": "no document voted: it is one of the most frequent labels",
}
NO_LABEL = "  no label"
Texts = Annotated[list[str], typer.Argument(metavar="TEXT…", help="The text, or several, or - for lines of input.")]


def tag(
    model: Model,
    texts: Texts,
    k: Count = 5,
    threshold: Threshold = None,
    only: Only = None,
    without: Without = None,
    as_json: AsJson = False,
) -> None:
    """Print the labels of a text, best first, each with its score.

    The score is the probability that the label is right, if the model is calibrated or refined; otherwise it is the
    label's share of the votes. With --json, each text gets one line of JSON; a model with a vocabulary then also tells
    each label's URI and its preferred names by language.
    """
    min_score = read_threshold(threshold)
    tagger = _load_to_answer_once(model)
    given = read_text_lines() if texts == [STDIN] else texts
    answers = tagger.predict(given, k, min_score, include=only, exclude=without)
    for number, (text, tags) in enumerate(zip(given, answers, strict=True)):
        if as_json:
            print(output.json_line({"text": text, "labels": [_tag_as_json(each, tagger) for each in tags]}))
            continue
        if len(given) > 1:
            print(("\n" if number else "") + output.shorten(text))
        _show_tags(tags)


def _load_to_answer_once(model: str) -> TextTagger:
    from neartag.core.method import resolve
    from neartag.methods import registry
    from neartag.tagging.tagger import TextTagger

    tagger = TextTagger.load(model)
    hasten = registry.get(tagger.stored.model.kind).first_answer
    if hasten is not None:
        resolve(hasten)(tagger.stored.model)
    return tagger


def explain(
    model: Model,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text.")],
    k: Count = 3,
    voters: Annotated[int, typer.Option(help="Documents shown for each label.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Print the labels of a text and, for each, the documents that voted for it.

    A document's share is its part of all votes. Its words are those that it shares with the text, the weightiest first.
    A refined model also shows the words that the label's ranker weighed: + speaks for the label, − against it.
    """
    reasons = _load_to_answer_once(model).explain(text, k, voters)
    if as_json:
        output.show_json({"text": text, "labels": [_reason_as_json(reason) for reason in reasons]})
        return
    if not reasons:
        print(NO_LABEL)
    for number, reason in enumerate(reasons):
        print(("\n" if number else "") + f"{output.escape_controls(reason.label)}  {100 * reason.score:.0f}%")
        if reason.words:
            print(f"  the ranker weighed: {', '.join(map(_word_with_weight, reason.words))}")
        if not reason.voters:
            print(f"  {WITHOUT_VOTERS[reason.found]}")
        for voter in reason.voters:
            words = ", ".join(output.escape_controls(word.word) for word in voter.words) or "no word in common"
            print(f"  {100 * voter.share:4.1f}% of the votes  {output.escape_controls(voter.id)}: {words}")
            if voter.text:
                print(f"        {output.shorten(voter.text)}")
            print(f"        labels: {output.shorten(', '.join(voter.labels))}")


def read_threshold(text: str | None) -> str | float | None:
    """Return the threshold of an option's text: a number, or words that the model's calibration understands."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        if text != "f1" and not text.startswith("precision="):
            raise ParameterError(f"--threshold must be a score, f1 or precision=0.8, not {text!r}") from None
        return text


def _show_tags(tags: list[Tag]) -> None:
    if not tags:
        print(NO_LABEL)
    for each in tags:
        print(f"  {100 * each.score:5.1f}%  {output.escape_controls(each.label)}")


def _tag_as_json(tag: Tag, tagger: TextTagger) -> dict[str, Any]:
    concept = None if tagger.vocabulary is None else tagger.vocabulary.get(tag.label)
    known = {} if concept is None else {"uri": concept.uri or None, "names": dict(concept.names)}
    return {**tag._asdict(), **known}


def _word_with_weight(word: Word) -> str:
    return f"{output.escape_controls(word.word)} {'−' if word.weight < 0 else '+'}{abs(word.weight):.2f}"


def _reason_as_json(reason: Reason) -> dict[str, Any]:
    voters = [{**voter._asdict(), "words": [word._asdict() for word in voter.words]} for voter in reason.voters]
    return {**reason._asdict(), "voters": voters, "words": [word._asdict() for word in reason.words]}
