"""Changes of a model folder that are made together: one after the other in memory, then all in one write.

What one of them does, the next one sees. One that cannot be made is left out, and the others are made.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from neartag.core.errors import NeartagError
from neartag.data.documents import Document
from neartag.storage.change_log import Change
from neartag.storage.segments import Segment
from neartag.tagging.tagger import TextTagger
from neartag.tagging.update import check_ids, check_known, make_segment


class Added(NamedTuple):
    """What adding documents changed."""

    ids: list[str]  # of all documents given
    replaced: int  # how many of them took the place of a document
    new_labels: list[str]  # that no document had before


@dataclass(frozen=True)
class Origin:
    """Who asked for a change, and by which id it is known."""

    who: str
    request: str = field(default_factory=lambda: uuid.uuid4().hex)
    fingerprint: str = ""  # of all that was asked: the same id with another one is a mistake


@dataclass(frozen=True)
class Addition:
    """Documents to be added."""

    origin: Origin
    documents: Sequence[Document]
    replace: bool = False
    check: Callable[[TextTagger], None] | None = None  # raises DataError where the documents are not wanted

    def refuse_unfit(self, tagger: TextTagger, gone: Collection[str] = ()) -> None:
        """Raise NeartagError where this cannot be made; the documents `gone` are there no more."""
        if self.check is not None:
            self.check(tagger)
        check_ids(self.documents, () if self.replace else _Left(tagger, gone))


@dataclass(frozen=True)
class Removal:
    """Documents to be forgotten."""

    origin: Origin
    ids: Sequence[str]

    def refuse_unfit(self, tagger: TextTagger, gone: Collection[str] = ()) -> None:
        """Raise NeartagError where this cannot be made; the documents `gone` are there no more."""
        check_known(self.ids, _Left(tagger, gone))


@dataclass(frozen=True)
class LabelEdit:
    """Labels to be renamed, merged or closed."""

    origin: Origin
    edit: Callable[[TextTagger], None]  # it changes the tagger that it is given
    details: dict[str, Any] = field(default_factory=dict)  # as the log shall have them


AnyChange = Addition | Removal | LabelEdit


class Draft:
    """A tagger as it will be once all changes are made, and what became of each change."""

    def __init__(self, tagger: TextTagger) -> None:
        self.tagger = tagger.copy()
        self.outcomes: dict[int, Any] = {}  # what each change gave: Added, a number, None or an error
        self.logged: dict[int, Change] = {}  # of those that are made
        self.segments: list[Segment] = []
        self.rewrites = False  # whether more than new documents must be written
        self._additions: dict[int, Addition] = {}  # not applied yet
        self._removals: dict[int, Removal] = {}
        self._gone: set[str] = set()  # ids that are removed before the additions
        self._new: set[str] = set()  # ids of the additions

    def take(self, number: int, change: AnyChange) -> None:
        """Take a change in, as far as that can be said before it is applied."""
        try:
            if isinstance(change, LabelEdit):
                self._edit(number, change)
                return
            ids = change.ids if isinstance(change, Removal) else [each.id for each in change.documents if each.id]
            if not self._new.isdisjoint(ids):  # it is about what was added just before
                self.apply()
            change.refuse_unfit(self.tagger, self._gone)
        except NeartagError as error:
            self.outcomes[number] = error
            return
        if isinstance(change, Removal):
            self._removals[number] = change
            self._gone.update(ids)
        else:
            self._additions[number] = change
            self._new.update(ids)

    def apply(self) -> None:
        """Apply all that was taken in: first documents go, then others come."""
        additions, removals, removed = self._additions, self._removals, self._gone
        self._additions, self._removals, self._gone, self._new = {}, {}, set(), set()
        replaced = {number: _find_known(self.tagger, each, removed) for number, each in additions.items()}
        while True:
            step = _Step(self.tagger.copy(), {}, {}, [])
            gone = removed.union(*(replaced[number] for number in additions))
            if gone:
                step.tagger.forget(sorted(gone))
            step.add(list(additions.items()), replaced)
            # Whoever is to be replaced by what is refused must stay: once more, without that.
            refused = [number for number in additions if replaced[number] and number not in step.added]
            if not refused:
                break
            for number in refused:
                self.outcomes[number] = step.refused[number]
                del additions[number]
        self.tagger = step.tagger
        self.segments += step.segments
        self.rewrites = self.rewrites or bool(gone)
        self.outcomes.update(step.refused)
        for number, removal in removals.items():
            ids = list(dict.fromkeys(removal.ids))
            self.outcomes[number] = len(ids)
            self._log(number, removal.origin, "forget", ids, {"forgotten": len(ids)})
        for number, added in step.added.items():
            self.outcomes[number] = added
            details = {"replaced": added.replaced, "new_labels": added.new_labels}
            self._log(number, additions[number].origin, "add", added.ids, details)

    def _edit(self, number: int, change: LabelEdit) -> None:
        self.apply()
        edited = self.tagger.copy()
        change.edit(edited)
        self.tagger, self.rewrites = edited, True
        self.outcomes[number] = None
        self._log(number, change.origin, "labels", [], change.details)

    def _log(self, number: int, origin: Origin, what: str, ids: Sequence[str], details: dict[str, Any]) -> None:
        self.logged[number] = Change(origin.request, origin.who, what, ids, details, origin.fingerprint)


@dataclass(frozen=True)
class _Step:
    """Documents added to a tagger, and what became of each addition."""

    tagger: TextTagger
    added: dict[int, Added]
    refused: dict[int, NeartagError]
    segments: list[Segment]

    def add(self, additions: list[tuple[int, Addition]], replaced: dict[int, set[str]]) -> None:
        """Add documents at once; if some are refused, each half on its own, until it is clear whose they are."""
        if not additions:
            return
        documents = [document for _, each in additions for document in each.documents]
        try:
            segment = make_segment(self.tagger.stored, documents, ())
            self.tagger.apply(segment)  # before it is written: what the model does not take must not get into it
        except NeartagError as error:
            if len(additions) == 1:
                self.refused[additions[0][0]] = error
            else:
                middle = len(additions) // 2
                self.add(additions[:middle], replaced)
                self.add(additions[middle:], replaced)
            return
        self.segments.append(segment)
        first = known = segment.Y.shape[1] - len(segment.new_labels)
        begin = 0
        for number, addition in additions:
            end = begin + len(addition.documents)
            columns = segment.Y.indices[segment.Y.indptr[begin] : segment.Y.indptr[end]]
            now = max(known, int(columns.max(initial=-1)) + 1)  # labels are numbered as they come
            new_labels = segment.new_labels[known - first : now - first]
            self.added[number] = Added(segment.ids[begin:end], len(replaced[number]), new_labels)
            begin, known = end, now


class _Left:
    """The ids of a tagger's documents without those that are gone."""

    def __init__(self, tagger: TextTagger, gone: Collection[str]) -> None:
        self._tagger, self._gone = tagger, gone

    def __contains__(self, name: object) -> bool:
        return name in self._tagger and name not in self._gone


def _find_known(tagger: TextTagger, addition: Addition, removed: Collection[str]) -> set[str]:
    """Return the ids of documents that an addition replaces."""
    ids = {document.id for document in addition.documents if document.id is not None}
    return {name for name in ids if name in _Left(tagger, removed)} if addition.replace else set()
