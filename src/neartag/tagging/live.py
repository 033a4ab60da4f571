"""A tagger that follows a model folder: what others write there is seen, and what it adds or forgets is written there.

Readers take no lock: what they see is always whole. Writers hold the folder's lock from the moment in which they look
at what is there until their own change is in place.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from neartag.core.errors import ModelError
from neartag.data.documents import Document
from neartag.storage import additions, store
from neartag.storage import manifest as manifests
from neartag.storage.folder import lock, remove_others
from neartag.storage.manifest import MANIFEST, Manifest
from neartag.tagging.tagger import TextTagger, save
from neartag.tagging.update import segment_of

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
            changed = self.tagger.copy()
            changed.apply(segment)  # before it is written: what the model does not take must not get into the folder
            self._manifest = additions.append(self.folder, segment, self.manifest)
            self._signature = self._seen()
            self.tagger = changed
            return segment.ids

    def forget(self, ids: Iterable[str]) -> int:
        """Forget documents, on disk too, and return how many; the folder is written anew."""
        with self._lock, lock(self.folder):
            self.refresh()
            # A writer that was killed may have left files of what it had forgotten: forgetting again must remove them.
            remove_others(self.folder, self.manifest.files)
            changed = self.tagger.copy()
            count = changed.forget(ids)
            if count:
                self._write(changed)
            return count

    @property
    def manifest(self) -> Manifest:
        """What the folder's manifest says of the model that is here."""
        assert self._manifest is not None
        return self._manifest

    def _write(self, changed: TextTagger) -> None:
        save(changed.stored, self.folder, generation=self.manifest.generation + 1, locked=True)
        # Read again rather than kept: mapped and rounded as it is for everybody else, and in no memory of our own.
        self.tagger = self._loaded()

    def _loaded(self) -> TextTagger:
        """Return the tagger of the folder as it is now; what is written meanwhile is for the next look."""
        signature = self._seen()
        stored = store.load(self.folder)
        tagger = TextTagger.of(stored)
        # Only now: after a failure the next look must try again, and nothing may be added to what was not read.
        self._manifest, self._signature = stored.manifest, signature
        return tagger

    def _follow(self, fresh: Manifest) -> bool:
        """Take in what was only added; False where there is more to it, and all must be loaded."""
        old = self.manifest
        same = (fresh.trained, fresh.extras, fresh.generation) == (old.trained, old.extras, old.generation)
        known = sum(entry.points for entry in old.added)
        if not same or sum(entry.points for entry in fresh.added) < known:
            return False
        kept = 0
        while kept < min(len(old.added), len(fresh.added)) and old.added[kept] == fresh.added[kept]:
            kept += 1
        # Segments become one as more are added: what is ours may be the beginning of a larger one now.
        begun = known - sum(entry.points for entry in old.added[:kept])
        try:
            segments = additions.read_added(self.folder, [entry.file for entry in fresh.added[kept:]])
            self.tagger = TextTagger.of(additions.with_more(self.tagger.stored, segments, begun, self.folder))
        except (OSError, ModelError):
            return False
        return True

    def _seen(self) -> Signature:
        try:
            found = os.stat(self.folder / MANIFEST)
        except OSError as error:
            raise ModelError(f"{self.folder} cannot be read any more, {error}: put the model back") from error
        return found.st_mtime_ns, found.st_ino, found.st_size
