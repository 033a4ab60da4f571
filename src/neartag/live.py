"""A tagger that follows a model folder: what others write there is seen, and what it adds or forgets is written there.

Readers take no lock: what they see is always whole. Writers hold the folder's lock from the moment in which they look
at what is there until their own change is in place.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from neartag import manifest as manifests
from neartag import store
from neartag.data.document import Document
from neartag.errors import ModelError
from neartag.folder import lock
from neartag.manifest import MANIFEST, Manifest
from neartag.tagger import TextTagger, save
from neartag.update import segment_of

Signature = tuple[int, int, int]


class LiveTagger:
    """The tagger of a folder, as the folder is now; for any number of threads and processes at once."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._lock = threading.RLock()
        self._signature: Signature | None = None
        self._manifest: Manifest | None = None
        self.tagger = self._loaded()

    def refresh(self) -> bool:
        """Take in what others have written; returns whether there was anything. Costs one look where there is not."""
        if self._seen() == self._signature:
            return False
        with self._lock:
            signature = self._seen()
            if signature == self._signature:
                return False
            fresh = manifests.read(self.folder)
            if not self._follow(fresh):
                self.tagger = self._loaded()
            else:
                self._manifest, self._signature = fresh, signature
            return True

    def add(self, documents: Sequence[Document], *, replace: bool = False) -> list[str]:
        """Add documents to the folder and return their ids; with `replace`, those that have their ids go."""
        if not documents:
            return []
        with self._lock, lock(self.folder):
            self.refresh()
            known = [document.id for document in documents if document.id is not None and document.id in self.tagger]
            if replace and known:
                # All in one write: whoever reads sees the old documents or the new ones, never neither.
                changed = self.tagger.copy()
                changed.forget(known)
                ids = changed.add_documents(documents)
                self._write(changed)
                return ids
            segment = segment_of(self.tagger.stored, documents, self.tagger)
            assert self._manifest is not None
            self._manifest = store.append(self.folder, segment, self._manifest)
            self._signature = self._seen()
            changed = self.tagger.copy()
            changed.apply(segment)
            self.tagger = changed
            return segment.ids

    def forget(self, ids: Iterable[str]) -> int:
        """Forget documents, on disk too, and return how many; the folder is written anew."""
        with self._lock, lock(self.folder):
            self.refresh()
            changed = self.tagger.copy()
            count = changed.forget(ids)
            if count:
                self._write(changed)
            return count

    def _write(self, changed: TextTagger) -> None:
        self._manifest = save(changed.stored, self.folder, locked=True)
        self._signature = self._seen()
        self.tagger = changed

    def _loaded(self) -> TextTagger:
        """Return the tagger of the folder as it is now; what is written meanwhile is for the next look."""
        self._signature = self._seen()
        stored = store.load(self.folder)
        self._manifest = stored.manifest
        return TextTagger.of(stored)

    def _follow(self, fresh: Manifest) -> bool:
        """Take in what was only added; False where there is more to it, and all must be loaded."""
        old = self._manifest
        if old is None or fresh.trained != old.trained or fresh.extras != old.extras:
            return False
        known = sum(entry.points for entry in old.added)
        kept, points = 0, 0
        while kept < len(fresh.added) and points + fresh.added[kept].points <= known:
            points += fresh.added[kept].points
            kept += 1
        # Segments become one as more are added: ours may be part of a larger one now.
        new = fresh.added[kept:]
        try:
            segments = store.read_added(self.folder, [entry.file for entry in new])
        except OSError:
            return False
        try:
            self.tagger = TextTagger.of(store.with_more(self.tagger.stored, segments, known - points, self.folder))
        except ModelError:
            return False
        return True

    def _seen(self) -> Signature:
        try:
            found = os.stat(self.folder / MANIFEST)
        except OSError as error:
            raise ModelError(f"{self.folder} cannot be read any more, {error}: put the model back") from error
        return found.st_mtime_ns, found.st_ino, found.st_size
