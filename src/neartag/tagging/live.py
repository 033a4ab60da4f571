"""A tagger that follows a model folder: it sees what others write there, and writes there what it adds or forgets.

Readers take no lock: what they see is always whole. A writer holds the folder's lock from the moment it looks at what
is there until its own change is in place.
"""

from __future__ import annotations

import dataclasses
import getpass
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from neartag.core.errors import ModelError, NeartagError, ParameterError
from neartag.data.documents import Document
from neartag.storage import additions, store
from neartag.storage.change_log import ChangeLog
from neartag.storage.folder import remove_stale_files
from neartag.storage.locking import lock
from neartag.storage.manifest import MANIFEST, Manifest, read_manifest
from neartag.storage.segments import merge_segments
from neartag.storage.signing import Trust
from neartag.tagging.changes import Added, Addition, AnyChange, Draft, LabelEdit, Origin, Removal
from neartag.tagging.tagger import TextTagger

Signature = tuple[int, int, int]  # time, inode and size of model.json: they change with each change of the folder


class RepeatedIdError(ParameterError):
    """An id of a change was used before, for another one."""


class LiveTagger:
    """The tagger of a model folder, as the folder is now; for any number of threads and processes at once.

    Parameters
    ----------
    folder : str or path
        A model folder that was trained on documents.
    who : str, optional
        Who makes the changes, as the folder's log of changes names them; the user of this process unless given.
    trust : Trust, optional
        What the model must show each time it is read. A change of our own gives it another digest, which is then
        expected. Where a signature is required, documents can be added; other changes write anew what was signed, and
        are refused.

    Attributes
    ----------
    tagger : TextTagger
        The tagger as it is now. It never changes; another takes its place.

    Raises
    ------
    ModelError
        There is no such model in the folder.

    Examples
    --------
    >>> import tempfile
    >>> from neartag import LiveTagger, TextTagger, X1Classifier
    >>> from neartag.data.documents import Document
    >>> texts = ["bake bread in the oven", "ride a bicycle", "bread with butter", "the wheel of a bicycle"]
    >>> labels = [["cooking"], ["cycling"], ["cooking"], ["cycling"]]
    >>> tagger = TextTagger(classifier=X1Classifier(embedding_dim=2, vote_neighbours=2, n_jobs=1)).fit(texts, labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tagger.save(folder)
    ...     live = LiveTagger(folder)
    ...     live.add([Document("stars in the night sky", ["astronomy"], "sky", None, "")])
    ...     TextTagger.load(folder).predict(["the night sky"], k=1)[0][0].label
    ...     live.forget(["sky"])
    ['sky']
    'astronomy'
    1
    """

    def __init__(self, folder: str | os.PathLike[str], *, who: str | None = None, trust: Trust | None = None) -> None:
        self.folder = Path(folder)
        self._trust = trust or Trust()
        self.log = ChangeLog(self.folder)
        self._who = who or find_user()
        self._lock = threading.RLock()
        self._signature: Signature | None = None
        self._manifest: Manifest | None = None
        self.tagger = self._load()

    def refresh(self) -> bool:
        """Take in what others have written, and return whether there was anything; if not, it is one system call."""
        if self._read_signature() == self._signature:
            return False
        with self._lock:
            signature = self._read_signature()
            if signature == self._signature:
                return False
            fresh = read_manifest(self.folder)
            self._trust.check(fresh, self.folder)
            if self._apply_additions(fresh):
                self._manifest, self._signature = fresh, signature
            else:
                self.tagger = self._load()
            return True

    def add(self, documents: Sequence[Document], *, replace: bool = False) -> list[str]:
        """Add documents to the folder, and return their ids.

        Parameters
        ----------
        documents : sequence of Document
            They vote at once, and their labels may be new. A document without an id gets one that no other has.
        replace : bool, default False
            Replace the documents that have these ids; otherwise an id that is there already raises DataError.
        """
        return self.add_documents(documents, replace=replace).ids

    def add_documents(self, documents: Sequence[Document], *, replace: bool = False) -> Added:
        """Add documents to the folder as `add` does, and return what that changed."""
        if not documents:
            return Added([], 0, [])
        added: Added = self._commit_one(Addition(Origin(self._who), documents, replace))
        return added

    def forget(self, ids: Iterable[str]) -> int:
        """Forget documents, on disk too, and return how many; the folder is written anew.

        Parameters
        ----------
        ids : iterable of str
            The documents' ids; DataError where there is no such document.
        """
        names = [ids] if isinstance(ids, str) else list(ids)
        return int(self._commit_one(Removal(Origin(self._who), names))) if names else 0

    def change_labels(self, change: Callable[[TextTagger], None], **details: Any) -> None:
        """Rename, merge or close labels, on disk too: `change` is called with a tagger that it may change.

        The folder is written anew, and holds the old labels or the new ones whatever happens. Its log of changes gets
        the details.
        """
        self._commit_one(LabelEdit(Origin(self._who), change, details))

    def commit(self, changes: Sequence[AnyChange], *, locked: bool = False) -> list[Any]:
        """Make all changes in one write, and return what each gave, or the error of one that is left out.

        A change that was made before, by the same client with the same id, is not made again. All are on disk when this
        returns. With `locked` the caller holds the folder's lock.
        """
        with self._change(locked):
            draft = Draft(self.tagger)
            first: dict[Origin, int] = {}  # the first of those that are the same change, sent again
            owners: dict[tuple[str, str], Origin] = {}  # of an id, by who gave it
            for number, change in enumerate(changes):
                origin = change.origin
                if first.setdefault(origin, number) == number:
                    earlier = self._find_made(origin, owners.setdefault((origin.who, origin.request), origin))
                    refusal = self.find_unsigned(change) if earlier is None else earlier
                    if refusal is None:
                        draft.take(number, change)
                    else:
                        draft.outcomes[number] = refusal
            draft.apply()
            if draft.logged:
                try:
                    self._write(draft)
                except NeartagError as error:
                    if not self.log.settle():  # it may have failed after the switch
                        draft.outcomes.update(dict.fromkeys(draft.logged, error))
        return [draft.outcomes[first[change.origin]] for change in changes]

    def _commit_one(self, change: AnyChange) -> Any:
        outcome = self.commit([change])[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def find_unsigned(self, change: AnyChange) -> ParameterError | None:
        """Return why a change cannot be made where a signature is required: it writes anew what was signed."""
        if self._trust.public_key is None:
            return None
        if isinstance(change, Addition):
            known = change.replace and any(each.id is not None and each.id in self.tagger for each in change.documents)
            if not known:
                return None
        return ParameterError(
            f"{self.folder} must be signed, and this change would write anew what was signed: make it where no "
            "signature is required, with neartag forget, add --replace or labels, and sign the model again"
        )

    def _find_made(self, origin: Origin, owner: Origin) -> Any:
        """Return what a change gave that was made already, an error where its id is another's, None where it is new."""
        used = RepeatedIdError(f"the id {origin.request} was another change's: give each change an id of its own")
        if owner != origin:
            return used
        found = self.log.find(origin.who, origin.request)
        if found is None or not found.made:
            return None
        if found.line.get("fingerprint") != origin.fingerprint:
            return used
        return read_outcome(found.line)

    @property
    def manifest(self) -> Manifest:
        """The folder's manifest, as of the tagger that is here."""
        assert self._manifest is not None
        return self._manifest

    @property
    def signature(self) -> Signature | None:
        """The signature of the folder as of the tagger that is here."""
        return self._signature

    @contextmanager
    def _change(self, locked: bool) -> Iterator[None]:
        """Hold the folder for a change, with what others have written taken in.

        A writer that was killed may have left files, with documents that it had forgotten among them: they are removed.
        """
        with nullcontext() if locked else lock(self.folder), self._lock:
            self.refresh()
            self.log.settle()
            remove_stale_files(self.folder, self.manifest.files)
            yield

    def _write(self, draft: Draft) -> None:
        def announce(digest: str) -> None:
            self.log.begin(draft.logged.values(), digest)

        if draft.rewrites:
            generation = self.manifest.generation + 1
            if self.manifest.signature is not None:
                warnings.warn(f"{self.folder} is not signed any more: sign it again", UserWarning, stacklevel=4)
            self._expect(
                store.save_bundle(
                    draft.tagger.stored, self.folder, generation=generation, locked=True, announce=announce
                )
            )
        else:
            segment = merge_segments(draft.segments)
            self._manifest = additions.append_segment(self.folder, segment, self.manifest, announce)
            self._expect(self._manifest)
            self._signature = self._read_signature()
            self.tagger = draft.tagger
        with suppress(ModelError):  # whoever writes next finds out
            self.log.settle(made=True)
        if draft.rewrites:
            # Read it again: then it is mapped and rounded as for everybody else, and takes no memory of our own.
            self.tagger = self._load()

    def _expect(self, fresh: Manifest) -> None:
        """From now on expect the digest of what we have written ourselves, if any is expected."""
        if self._trust.expect_digest is not None:
            self._trust = dataclasses.replace(self._trust, expect_digest=fresh.digest)

    def _load(self) -> TextTagger:
        """Return the tagger of the folder as it is now; `refresh` sees what is written meanwhile."""
        signature = self._read_signature()
        stored = store.load(self.folder, trust=self._trust)
        tagger = TextTagger.of(stored)
        # Only now: after a failure the next look must try again, and nothing may be added to what was not read.
        self._manifest, self._signature = stored.manifest, signature
        return tagger

    def _apply_additions(self, fresh: Manifest) -> bool:
        """Take in documents that were only added; False where more has changed, and all must be loaded."""
        old = self.manifest
        same = (fresh.trained_files, fresh.extras, fresh.generation) == (old.trained_files, old.extras, old.generation)
        known = sum(entry.points for entry in old.added)
        if not same or sum(entry.points for entry in fresh.added) < known:
            return False
        kept = 0
        while kept < min(len(old.added), len(fresh.added)) and old.added[kept] == fresh.added[kept]:
            kept += 1
        # Segments are merged as more are added: what we have may be the beginning of a larger one now.
        begun = known - sum(entry.points for entry in old.added[:kept])
        try:
            segments = additions.read_segment_files(self.folder, [entry.file for entry in fresh.added[kept:]])
            stored = additions.apply_new_documents(self.tagger.stored, segments, begun, self.folder)
            self.tagger = TextTagger.of(stored)
        except (OSError, ModelError):
            return False
        return True

    def _read_signature(self) -> Signature:
        try:
            return read_signature(self.folder)
        except OSError as error:
            if self._signature is None:  # it was never read
                raise ModelError(f"{self.folder} is not a model folder, {error}: check the path") from error
            raise ModelError(f"{self.folder} cannot be read any more, {error}: put the model back") from error


def read_signature(folder: Path) -> Signature:
    """Return the signature of a folder as it is now; OSError where it has no manifest."""
    status = os.stat(folder / MANIFEST)
    return status.st_mtime_ns, status.st_ino, status.st_size


def read_outcome(line: dict[str, Any]) -> Any:
    """Return what a change gave, from its line in the log."""
    if line["what"] == "add":
        return Added(list(line["documents"]), int(line["replaced"]), list(line["new_labels"]))
    return int(line["forgotten"]) if line["what"] == "forget" else None


def find_user() -> str:
    """Return who runs this process, as the log of changes names them."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):
        name = "unknown"
    return "user:" + "".join(each if each.isalnum() and each.isascii() else "-" for each in name)[:64]
