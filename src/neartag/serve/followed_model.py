"""The model that a worker serves: as the folder is now, or, where the folder cannot be read, as it last was."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from neartag.core.errors import ModelError, NeartagError, ParameterError
from neartag.core.threads import single_threaded_blas
from neartag.serve.metrics import Metrics
from neartag.storage import manifest
from neartag.storage.bundle import can_update
from neartag.storage.change_log import ChangeLog, LoggedChange
from neartag.storage.locking import lock
from neartag.storage.signing import Trust
from neartag.tagging.changes import Addition, AnyChange, Removal
from neartag.tagging.live import LiveTagger, Signature, read_signature
from neartag.tagging.tagger import Tags, TextTagger

logger = logging.getLogger("neartag.serve")

POLL_SECONDS = 0.2  # between two looks at the folder: a look is one system call
LOOKS = 3  # at a folder that others write to, before it is settled under the lock whether a change is refused
MAX_REWRITE_PAUSE = 2.0  # seconds
RETRY_SECONDS = 5.0  # until a model that could not be read is tried again, though its manifest is the same


class FollowedModel:
    """A tagger that follows its folder. Any thread may read it at any time; changes are made one after another."""

    def __init__(self, folder: str | os.PathLike[str], metrics: Metrics, trust: Trust | None = None) -> None:
        self.folder = Path(folder)
        self._trust = trust or Trust()
        self.error: str | None = None  # why the folder could not be taken in as it is now
        self.retry_seconds = RETRY_SECONDS
        # When the folder may be written anew again: what is added meanwhile waits for a write of that kind once only.
        self.next_rewrite = 0.0
        self._metrics = metrics
        self._tagger: TextTagger
        # Held by a thread that changes the folder or takes it in. Without it, one of two threads could put back what
        # was there before the other's change, or take for sound what the other found broken.
        self._lock = threading.RLock()
        self._failed: tuple[object, float] = (None, 0.0)  # the manifest's signature at the last failure, and when
        manifest.read_manifest(self.folder)  # it says best what a folder is, if it is no model folder
        self._live = LiveTagger(folder, trust=self._trust)
        self._trained: tuple[object, int] = (None, 0)  # files that training made, and how many points are in them
        self._publish()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="neartag-follow", daemon=True)

    @property
    def tagger(self) -> TextTagger:
        """The tagger as it is now. It never changes; another takes its place."""
        return self._tagger

    def warm_up(self) -> None:
        """Load and compile everything that the first request would wait for."""
        for texts in (["one"], ["one", "two"]):
            self.predict(texts, 1)

    def predict(self, texts: list[str], k: int) -> list[Tags]:
        """Return the k best labels of each text, the most frequent ones where nothing is known of it.

        On one thread: workers share the cores.
        """
        with single_threaded_blas():  # once, and not again in every step
            return self._tagger.predict(texts, k, fallback=True, n_jobs=1)

    def start(self) -> None:
        """Begin to follow the folder."""
        self._thread.start()

    def close(self) -> None:
        """Stop following the folder."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def log(self) -> ChangeLog:
        """The folder's log of changes."""
        return self._live.log

    @contextmanager
    def locked(self, seconds: float) -> Iterator[None]:
        """Keep every other writer out of the folder; FolderBusyError where one is still there after so many seconds."""
        with lock(self.folder, timeout=seconds):
            yield

    def commit(self, changes: Sequence[AnyChange]) -> list[Any]:
        """Make changes in one write, under the folder's lock, and return what each gave, or its error.

        They are seen here at once, and by other workers at their next look.
        """
        if self._trust.expect_digest is not None:
            raise self._pinned()
        with self._lock:
            if self.error is not None:
                # A change made from another model would harm the folder.
                raise ModelError(f"nothing can be changed while the model folder is not as it must be: {self.error}")
            begun, generation = time.monotonic(), self._live.manifest.generation
            try:
                try:
                    return self._live.commit(changes, locked=True)
                finally:  # a change that is refused has looked at the folder first, and taken in what others wrote
                    if self._live.tagger is not self._tagger:
                        self._publish()
            except ModelError as error:
                self._record_failure(error)
                raise
            finally:
                self._note_rewrite(generation, begun)

    def _pinned(self) -> ParameterError:
        return ParameterError("the server was told to serve this very model: nothing can be changed")

    def find_refusal(self, change: Addition | Removal) -> NeartagError | None:
        """Return why a change cannot be made to the folder as it is now; None where it can, or that is not sure."""
        if self._trust.expect_digest is not None:
            return self._pinned()
        unsigned = self._live.find_unsigned(change)
        if unsigned is not None:
            return unsigned
        for _ in range(LOOKS):
            tagger = self._tagger
            try:
                change.refuse_unfit(tagger)
            except NeartagError as error:
                if self._read_signature() == self._live.signature and self._live.tagger is tagger:
                    return error
                self.refresh()  # others have written since
            else:
                return None
        return None

    def find_change(self, who: str, request: str) -> LoggedChange | None:
        """Return what the log says about a change; one that a killed worker left open is settled first."""
        found = self.log.find(who, request)
        if found is None or found.made is not None:
            return found
        try:
            with lock(self.folder, timeout=0.0):
                self.log.settle()
        except NeartagError:  # it is being made, or nothing can be said as long as the folder is broken
            return self.log.find(who, request)
        return self.log.find(who, request)

    def refresh(self) -> bool:
        """Take in what others have written, and return whether there was anything."""
        with self._lock:
            begun, generation = time.monotonic(), self._live.manifest.generation
            try:
                if not self._take_in():
                    return False
                self._publish()
                self._note_rewrite(generation, begun)
            except (NeartagError, OSError, MemoryError) as error:
                self._record_failure(error)
                return False
            self.error = None
            self._metrics.reloads += 1
            return True

    def health(self) -> dict[str, Any]:
        """Return what there is to say about the model."""
        tagger, taken_in = self._tagger, self._live.manifest
        stored = tagger.stored
        added = getattr(stored.model, "added", None)
        return {
            "ok": self.error is None,
            "points": len(tagger),
            "labels": len(stored.label_names or []),
            "model": {
                "name": self.folder.resolve().name,
                "kind": stored.model.kind,
                # By content, not by time and place: all workers that have the same model say the same.
                "version": taken_in.digest[:16],
                "added": 0 if added is None else int(added.sum()),
                "texts": stored.texts is not None,
                "calibrated": tagger.calibration is not None,
                "updatable": can_update(stored.model),
                "thresholds": _thresholds(tagger),
                "languages": [] if stored.vocabulary is None else stored.vocabulary.languages,
            },
            "lag_seconds": self._lag(),
            "reload_error": self.error,
        }

    def _lag(self) -> float:
        """Return for how long the folder has held something that is not served; 0 where it is served as it is now."""
        signature = self._read_signature()
        if signature is None or signature == self._live.signature:
            return 0.0
        return max(0.0, time.time() - signature[0] / 1e9)

    def _note_rewrite(self, generation: int, begun: float) -> None:
        now = time.monotonic()
        if self._live.manifest.generation != generation:
            self.next_rewrite = now + min(now - begun, MAX_REWRITE_PAUSE)

    def _take_in(self) -> bool:
        """Return whether there was something new in the folder, which is then read."""
        if self.error is None:
            return self._live.refresh()
        signature, failed_at = self._failed
        if signature == self._read_signature() and time.monotonic() < failed_at + self.retry_seconds:
            return False
        self._live = LiveTagger(self.folder, trust=self._trust)
        return True

    def _publish(self) -> None:
        """Serve what was taken in, once it has as many points as the folder says."""
        trained = _trained_points(self._live)
        if trained[0] == self._trained[0] and trained[1] != self._trained[1]:
            # All that was added is forgotten, and the files are those from before: following them is not enough.
            self._live = LiveTagger(self.folder, trust=self._trust)
            trained = _trained_points(self._live)
        check_servable(self._live.tagger)
        self._tagger, self._trained = self._live.tagger, trained

    def _record_failure(self, error: Exception) -> None:
        text = str(error) or type(error).__name__
        if text != self.error:
            logger.error("the model in %s is not taken in: %s", self.folder, text)
        self.error, self._failed = text, (self._read_signature(), time.monotonic())
        self._metrics.reload_errors += 1

    def _read_signature(self) -> Signature | None:
        try:
            return read_signature(self.folder)
        except OSError:
            return None

    def _follow(self) -> None:
        parent = parent_process()
        while not self._end.wait(POLL_SECONDS):
            try:
                self.refresh()
            except Exception:  # whatever it is, the next look must come
                logger.exception("looking at %s failed", self.folder)
            if parent is not None and not parent.is_alive():
                os.kill(os.getpid(), signal.SIGTERM)  # nobody would ever end this worker otherwise
                return


def _thresholds(tagger: TextTagger) -> dict[str, float]:
    """Return the score that the threshold f1 stands for, if the model is calibrated."""
    return {} if tagger.calibration is None else {"f1": float(tagger.calibration.threshold("f1"))}


def check_servable(tagger: TextTagger) -> None:
    """Raise ModelError where a tagger cannot tag texts."""
    part = tagger.stored.features.accepts
    if part != "text":
        raise ModelError(f"the model takes {part}s, not texts: it cannot be served")


def _trained_points(live: LiveTagger) -> tuple[object, int]:
    """Return the files that training made, and how many points they hold if all that was added is taken in."""
    added = sum(entry.points for entry in live.manifest.added)
    return live.manifest.trained_files, len(live.tagger) - added
