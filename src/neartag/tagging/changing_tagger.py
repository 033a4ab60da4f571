"""A tagger as one changes it without training again: documents come and go, labels are renamed, merged and closed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from neartag.data.documents import Document, Fields
from neartag.storage.segments import Segment
from neartag.tagging.held_model import HeldModel
from neartag.tagging.label_changes import close_labels, merge_labels, rename_label
from neartag.tagging.labelled_items import make_documents
from neartag.tagging.update import forget_kept_vectors, forget_points, make_segment, mark_points


class ChangingTagger(HeldModel):
    """Takes and forgets documents, and edits labels."""

    def add(
        self,
        texts: Iterable[Any],
        labels: Iterable[Sequence[str]] | None = None,
        ids: Iterable[str] | None = None,
        *,
        fields: Fields | None = None,
    ) -> list[str]:
        """Add documents without training again. They vote at once, and their labels may be new.

        The tagger in memory changes; `save` keeps it. `LiveTagger` changes a folder.

        Parameters
        ----------
        texts, labels, ids, fields
            As in `fit`. A document without an id gets one that no other document has.

        Returns
        -------
        list of str
            The documents' ids.

        Raises
        ------
        DataError
            An id is there already, or given twice.
        ModelError
            The model is of a kind that takes no documents after training.
        """
        return self.add_documents(list(make_documents(self.stored.features, texts, labels, ids, fields)))

    def add_documents(self, documents: Sequence[Document]) -> list[str]:
        """Add documents without training again, and return their ids."""
        if not documents:
            return []
        segment = make_segment(self.stored, documents, self._row_of)
        self.apply(segment)
        return segment.ids

    def apply(self, segment: Segment) -> None:
        """Take in the documents of a segment."""
        rows, first = self._row_of, len(self)
        self._stored = self.stored.with_segment(segment)
        for place, name in enumerate(segment.ids):
            rows[name] = first + place

    def forget(self, ids: Iterable[str]) -> int:
        """Forget documents: their texts, features, embeddings and votes go.

        Parameters
        ----------
        ids : iterable of str
            The documents' ids.

        Returns
        -------
        int
            How many documents were forgotten.

        Raises
        ------
        DataError
            There is no document of this id; nothing is forgotten then.
        """
        names = [ids] if isinstance(ids, str) else list(ids)
        gone = mark_points(len(self), self._row_of, names)  # (n,)
        if names:
            forget_kept_vectors(self.stored, gone)
            self._stored, self._rows_by_id = forget_points(self.stored, gone), None
        return int(gone.sum())

    def rename_label(self, label: str, new: str) -> None:
        """Give a label another name; the old one, and with a vocabulary any other of its names, still leads to it."""
        self._take(rename_label(self.stored, label, new))

    def merge_label(self, label: str, into: str) -> None:
        """Make two labels one, without training again: documents that had either have `into` from now on.

        Names of the label that is gone lead to `into`. ModelError where the model's method cannot do it.
        """
        self._take(merge_labels(self.stored, label, into))

    def close_labels(self, closed: bool = True) -> None:
        """Refuse labels, from now on, that neither the model nor its vocabulary has; False: take any again."""
        self._take(close_labels(self.stored, closed))
