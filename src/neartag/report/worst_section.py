"""The documents that went most wrong, as cards: the text, the given labels, the missed ones, the nearest documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neartag.report.markup import clean, fold, paragraph, score

MAX_LABELS = 40  # of each kind, for one document


def worst_section(report: Mapping[str, Any]) -> str:
    """Return a card for each of the worst documents."""
    about = (
        "Documents with the fewest right labels at the threshold; of equal ones, first where the model was surest of a "
        "wrong label. Read them: some labels may be missing in the data, and then the model is right."
    )
    if not report["worst"]:
        return paragraph("Every document that has labels got exactly these.")
    return paragraph(about) + "".join(map(_card, report["worst"]))


def _card(document: Mapping[str, Any]) -> str:
    missed = [each for each in document["true"] if not each["given"]]
    name = f"Document {document['id']}" if document["id"] == str(document["row"]) else document["id"]
    text = f"<p>{clean(document['text'])}</p>" if document["text"] else ""
    given = [
        (each["label"], score(each["score"]), "good" if each["right"] else "bad", "right" if each["right"] else "wrong")
        for each in document["given"]
    ]
    parts = [
        f'<article class="document"><h3>{clean(name)}</h3>{text}',
        "<p>Given:</p>" + _labels(given) if given else "<p>No label was given.</p>",
        "<p>Missed:</p>" + _labels([(each["label"], _why(each), "missed", "") for each in missed]) if missed else "",
        _voters(document["voters"]),
        "</article>",
    ]
    return "".join(parts)


def _why(label: Mapping[str, Any]) -> str:
    """Return what is known of a label that was missed."""
    if not label["training"]:
        return "not in training"
    seen = f"{label['training']:,} in training"
    return seen if label["score"] is None else f"score {score(label['score'])}, {seen}"


def _labels(labels: Sequence[tuple[str, str, str, str]]) -> str:
    """Return labels, each with a note and, in words too, whether it is right."""
    shown = "".join(
        f'<li class="{kind}">{clean(name)} <small>{note}{", " if word else ""}{word}</small></li>'
        for name, note, kind, word in labels[:MAX_LABELS]
    )
    more = f"<li>and {len(labels) - MAX_LABELS} more</li>" if len(labels) > MAX_LABELS else ""
    return f'<ul class="labels">{shown}{more}</ul>'


def _voters(voters: Sequence[Mapping[str, Any]]) -> str:
    if not voters:
        return ""
    entries = []
    for voter in voters:
        words = f"; words in common: {clean(', '.join(voter['words']))}" if voter["words"] else ""
        text = f"<br>{clean(voter['text'])}" if voter["text"] else ""
        labels = clean(", ".join(voter["labels"][:MAX_LABELS]))
        entries.append(
            f"<li><b>{clean(voter['id'])}</b>, {100 * voter['share']:.0f}% of the votes{words}{text}"
            f'<br><span class="soft">labels: {labels}</span></li>'
        )
    return fold("The training documents that voted most", f'<ul class="voters">{"".join(entries)}</ul>')
