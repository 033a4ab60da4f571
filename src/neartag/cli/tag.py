"""`neartag tag` and `neartag explain`: the labels of a text, and why they were given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.options import AsJson, Jobs, Model, Quiet
from neartag.cli.output_file import Overwrite
from neartag.cli.reading import Reading, with_reading
from neartag.cli.tag_table import check_paths, show_report, tag_table
from neartag.cli.text_lines import STDIN, read_text_lines
from neartag.cli.text_or_file import refuse_paths
from neartag.cli.trust_options import Trust, with_trust
from neartag.core.errors import ParameterError

if TYPE_CHECKING:
    from neartag.tagging.explain import Reason, Word
    from neartag.tagging.tagger import Tag, Tags, TextTagger

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
NOT_FOUND = "  no label: the model knows nothing of this text"
FREQUENT = "  the model knows nothing of this text; the most frequent labels:"
NOTHING_KNOWN = 3  # exit status of a single text that nothing is known of
Texts = Annotated[
    list[str],
    typer.Argument(
        metavar="TEXT…", help="The text, or several, or - for lines of input. With -o: a table, such as docs.csv, or -."
    ),
]
Fallback = Annotated[
    bool, typer.Option("--fallback", help="Give a text that nothing is known of the most frequent labels.")
]


@with_trust
@with_reading
def tag(
    model: Model,
    texts: Texts,
    target: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the table TEXT with added columns: .csv, .tsv, .jsonl, .xlsx or .parquet.",
        ),
    ] = None,
    k: Count = 5,
    threshold: Threshold = None,
    fallback: Fallback = False,
    only: Only = None,
    without: Without = None,
    overwrite: Overwrite = False,
    prefix: Annotated[
        str,
        typer.Option(
            metavar="WORD",
            help="With -o: stands before the names of the added columns: labels, scores, found.",
        ),
    ] = "",
    jobs: Jobs = -1,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    reading: Reading,
    trust: Trust,
) -> None:
    """Print the labels of a text, best first, each with its score; or tag a whole table.

    The score is the probability that the label is right, if the model is calibrated or refined; otherwise it is the
    label's share of the votes. With --json, each text gets one line of JSON; a model with a vocabulary then also tells
    each label's URI and its preferred names by language. A text that nothing is known of, because no word of it is
    known, has no labels (exit status 3 if it is the only one), unless --fallback is given.

    neartag tag MODEL docs.csv -o tagged.csv writes your table with all its columns and rows, in their order, and with
    the columns labels, scores and found added. The table is read in parts, so it may be of any size. FILE is written
    whole or not at all.
    """
    min_score = read_threshold(threshold)
    reading.refuse_label_options("tag")
    if target is not None:
        if len(texts) != 1:
            raise ParameterError(f"-o takes one table, and {len(texts)} are given: tag one after the other")
        check_paths(texts[0], target, model, overwrite)
        from neartag.tagging.batches import Asked

        asked = Asked(k, min_score, only, without, fallback, jobs)
        report = tag_table(_load(model, trust, quiet), texts[0], target, asked, prefix, reading, quiet)
        if as_json:
            output.show_json(report)
        else:
            show_report(report, quiet)
        if min_score is None and report["with_labels"]:
            purpose = f"writes only labels that are more probably right than wrong, not the best {k} of each row"
            output.suggest("--threshold 0.5", purpose, quiet=quiet or as_json)
        step = f"neartag review {model} {'DATA' if texts[0] == STDIN else texts[0]}{reading.as_options()}"
        output.suggest(step, "tells what to label next", quiet=quiet or as_json)
        return
    refuse_paths(texts)
    tagger = _load_to_answer_once(model, trust)
    given = read_text_lines() if texts == [STDIN] else texts
    answers = tagger.predict(given, k, min_score, include=only, exclude=without, fallback=fallback, n_jobs=jobs)
    for number, (text, tags) in enumerate(zip(given, answers, strict=True)):
        if as_json:
            labels = [_tag_as_json(each, tagger) for each in tags]
            print(output.json_line({"text": text, "labels": labels, "found": tags.found}))
            continue
        if len(given) > 1:
            print(("\n" if number else "") + output.shorten(text))
        _show_tags(tags)
    if len(answers) == 1 and not answers[0].found and not fallback:
        output.suggest("--fallback", "gives the most frequent labels", quiet=quiet or as_json)
        raise typer.Exit(NOTHING_KNOWN)
    if texts != [STDIN]:
        output.suggest(f"neartag explain {model} TEXT", "tells why", quiet=quiet or as_json)


def _load(model: str, trust: Trust, quiet: bool) -> TextTagger:
    from neartag.tagging.tagger import TextTagger

    with output.progress(quiet).start(None, f"loading {model}"):
        return TextTagger.load(model, trust=trust)


def _load_to_answer_once(model: str, trust: Trust) -> TextTagger:
    from neartag.core.method import resolve
    from neartag.methods import registry
    from neartag.tagging.tagger import TextTagger

    tagger = TextTagger.load(model, trust=trust)
    hasten = registry.get(tagger.stored.model.kind).first_answer
    if hasten is not None:
        resolve(hasten)(tagger.stored.model)
    return tagger


@with_trust
def explain(
    model: Model,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text.")],
    k: Count = 3,
    voters: Annotated[int, typer.Option(help="Documents shown for each label.")] = 3,
    fallback: Fallback = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    trust: Trust,
) -> None:
    """Print the labels of a text and, for each, the documents that voted for it.

    A document's share is its part of all votes. Its words are those that it shares with the text, the weightiest first.
    A refined model also shows the words that the label's ranker weighed: + speaks for the label, − against it. A text
    that nothing is known of has no labels (exit status 3), unless --fallback is given.
    """
    refuse_paths([text])
    tagger = _load_to_answer_once(model, trust)
    reasons = tagger.explain(text, k, voters, fallback=fallback)
    found = reasons[0].found != "frequency" if reasons else tagger.predict([text], 1)[0].found
    if as_json:
        labels = [_reason_as_json(reason) for reason in reasons]
        output.show_json({"text": text, "labels": labels, "found": found})
    elif not reasons:
        print(NO_LABEL if found else NOT_FOUND)
    else:
        _show_reasons(reasons)
    if not found and not fallback:
        output.suggest("--fallback", "gives the most frequent labels", quiet=quiet or as_json)
        raise typer.Exit(NOTHING_KNOWN)


def _show_reasons(reasons: list[Reason]) -> None:
    for number, reason in enumerate(reasons):
        print(("\n" if number else "") + output.escape_controls(reason.label) + _as_percent(reason))
        if reason.words:
            print(f"  the ranker weighed: {', '.join(map(_word_with_weight, reason.words))}")
        if not reason.voters:
            print(f"  {WITHOUT_VOTERS[reason.found]}")
        for voter in reason.voters:
            told = [_list_words(voter.words), f"near in meaning by {_list_words(voter.meaning)}" * bool(voter.meaning)]
            words = "; ".join(filter(None, told)) or output.NO_TELLING_WORD
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


def _as_percent(reason: Reason) -> str:
    return "" if reason.found == "frequency" else f"  {100 * reason.score:.0f}%"


def _show_tags(tags: Tags) -> None:
    if not tags.found:
        print(FREQUENT if tags else NOT_FOUND)
    elif not tags:
        print(NO_LABEL)
    for each in tags:
        print(f"  {100 * each.score:5.1f}%  " if tags.found else "    ", output.escape_controls(each.label), sep="")


def _tag_as_json(tag: Tag, tagger: TextTagger) -> dict[str, Any]:
    concept = None if tagger.vocabulary is None else tagger.vocabulary.get(tag.label)
    known = {} if concept is None else {"uri": concept.uri or None, "names": dict(concept.names)}
    return {**tag._asdict(), **known}


def _word_with_weight(word: Word) -> str:
    return f"{output.escape_controls(word.word)} {'−' if word.weight < 0 else '+'}{abs(word.weight):.2f}"


def _reason_as_json(reason: Reason) -> dict[str, Any]:
    voters = [_voter_in_json(voter) for voter in reason.voters]
    return {**reason._asdict(), "voters": voters, "words": [word._asdict() for word in reason.words]}


def _voter_in_json(voter: Any) -> dict[str, Any]:
    told = {**voter._asdict(), "words": [word._asdict() for word in voter.words]}
    told["meaning"] = [word._asdict() for word in voter.meaning]
    return told if voter.meaning else {name: value for name, value in told.items() if name != "meaning"}


def _list_words(words: Any) -> str:
    return ", ".join(output.escape_controls(word.word) for word in words)
