"""What to look at next, fit for JSON: texts worth labelling, and labels of the model's documents that look wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from neartag.core.errors import ModelError
from neartag.data.documents import Document
from neartag.serve.documents import describe, link_of, title_of
from neartag.serve.errors import Refusal
from neartag.serve.labels import names_of
from neartag.tagging.tagger import TextTagger

if TYPE_CHECKING:
    from neartag.tagging.review_evidence import NearDocument

MAX_EVIDENCE_CHARACTERS = 500  # of a document's text that are shown


def review_documents(tagger: TextTagger, documents: Sequence[Document], n: int) -> dict[str, Any]:
    """Return the documents that are most worth labelling, the first first."""
    try:
        listed = tagger.review([document.text for document in documents], n, n_jobs=1)
    except ModelError as error:
        raise Refusal(409, str(error)) from error
    shown = [label for entry in listed for near in entry.evidence for label in near.labels]
    return {
        "documents": [
            {
                "index": entry.index,
                "id": documents[entry.index].id,
                "text": documents[entry.index].text,
                "score": float(entry.score),
                "labels": [tag._asdict() for tag in entry.labels],
                "reason": entry.reason,
                "evidence": [_describe_near(near) for near in entry.evidence],
            }
            for entry in listed
        ],
        "names": names_of(tagger.vocabulary, shown),
    }


def find_doubts(tagger: TextTagger, n: int) -> dict[str, Any]:
    """Return the labels of the model's own documents that are most probably wrong or missing.

    No model is trained for it, as the command line would: that takes longer than a request may.
    """
    try:
        doubts = tagger.review_labels(n=n, folds=0, n_jobs=1)
    except ModelError as error:
        raise Refusal(409, str(error)) from error
    shown = [label for doubt in doubts for near in doubt.evidence for label in near.labels]
    shown.extend(doubt.label for doubt in doubts)
    return {
        "doubts": [
            {
                "label": doubt.label,
                "kind": doubt.kind,
                "score": float(doubt.score),
                "reason": doubt.reason,
                "evidence": [_describe_near(near) for near in doubt.evidence],
                "document": describe(tagger.stored, doubt.index),
            }
            for doubt in doubts
        ],
        "names": names_of(tagger.vocabulary, shown),
    }


def _describe_near(near: NearDocument) -> dict[str, Any]:
    text = near.text
    return {
        "id": near.id,
        "title": title_of(text),
        "link": link_of(near.id),
        "similarity": float(near.similarity),
        "labels": near.labels,
        "words": [word.word for word in near.words],
        "text": None if text is None else text[:MAX_EVIDENCE_CHARACTERS],
    }
