"""The model that a worker serves: as the folder is now, or as it last was where it cannot be read any more."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from neartag.core.errors import ModelError, NeartagError
from neartag.data.documents import Document
from neartag.serve.metrics import Metrics
from neartag.storage import manifest
from neartag.tagging.live import LiveTagger
from neartag.tagging.tagger import Tag, TextTagger

logger = logging.getLogger("neartag.serve")

PAUSE = 0.2  # seconds between two looks at the folder: one costs a system call
RETRY = 5.0  # seconds until a model that could not be read is tried again, though its manifest is the same


class Served:
    """A tagger that follows its folder. Reading is for any thread at any time; changes are made one after another."""

    def __init__(self, folder: str | os.PathLike[str], metrics: Metrics) -> None:
        self.folder = Path(folder)
        self.error: str | None = None  # why the folder could not be taken in as it is now
        self._metrics = metrics
        self._tagger: TextTagger
        # Held by who changes the folder or takes it in. Of two threads none may put back what was there before the
        # other, or take for sound what the other found broken.
        self._lock = threading.RLock()
        self._failed: tuple[object, float] = (None, 0.0)  # what the manifest was then, and when that was
        manifest.read(self.folder)  # which says best what a folder is, if not a model's
        self._live = LiveTagger(folder)
        self._trained: tuple[object, int] = (None, 0)  # files that training made, and how many points are in them
        self._settle()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="neartag-follow", daemon=True)

    @property
    def tagger(self) -> TextTagger:
        """The tagger as it is now; it never changes itself, another takes its place."""
        return self._tagger

    def warm_up(self) -> None:
        """Have everything at hand that the first request would wait for."""
        for texts in (["one"], ["one", "two"]):
            self.predict(texts, 1)

    def predict(self, texts: list[str], k: int) -> list[list[Tag]]:
        """Return the k best labels of each text. On one thread: workers share the cores."""
        return self._tagger.predict(texts, k, n_jobs=1)

    def start(self) -> None:
        """Begin to follow the folder."""
        self._thread.start()

    def close(self) -> None:
        """Stop following the folder."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def add(self, documents: Sequence[Document], replace: bool) -> list[str]:
        """Add documents to the folder; seen here at once, and by other workers at their next look."""
        return self._change(lambda: self._live.add(documents, replace=replace))

    def forget(self, ids: Sequence[str]) -> int:
        """Forget documents, on disk too."""
        return self._change(lambda: self._live.forget(ids))

    def _change(self, change: Callable[[], Any]) -> Any:
        with self._lock:
            if self.error is not None:
                # To write now what was made of another model would harm the folder.
                raise ModelError(f"nothing can be changed while the model folder is not as it must be: {self.error}")
            try:
                done = change()
                self._settle()
            except ModelError as error:
                self._note(error)
                raise
            return done

    def look(self) -> bool:
        """Take in what others have written; returns whether there was anything."""
        with self._lock:
            try:
                if self.error is None:
                    if not self._live.refresh():
                        return False
                elif self._failed[0] == self._manifest() and time.monotonic() < self._failed[1] + RETRY:
                    return False
                else:
                    self._live = LiveTagger(self.folder)
                self._settle()
            except (NeartagError, OSError, MemoryError) as error:
                self._note(error)
                return False
            self.error = None
            self._metrics.reloads += 1
            return True

    def health(self) -> dict[str, Any]:
        """Return what there is to say about the model."""
        tagger, taken_in = self._tagger, self._live.manifest
        stored = tagger.stored
        # By content, not by time and place: all workers that have the same model say the same.
        document = json.dumps(taken_in.to_json(), sort_keys=True)
        return {
            "ok": self.error is None,
            "points": len(tagger),
            "labels": len(stored.label_names or []),
            "model": {
                "kind": stored.model.kind,
                "version": hashlib.sha256(document.encode("utf-8", "surrogatepass")).hexdigest()[:16],
                "added": int(getattr(stored.model, "added", _NOTHING).sum()),
                "texts": stored.texts is not None,
                "calibrated": tagger.calibration is not None,
            },
            "reload_error": self.error,
        }

    def _settle(self) -> None:
        """Serve what was taken in, once it has as many points as the folder says."""
        trained = _trained(self._live)
        if trained[0] == self._trained[0] and trained[1] != self._trained[1]:
            # All that was added is forgotten, and the files are again those from before: to follow is not enough.
            self._live = LiveTagger(self.folder)
            trained = _trained(self._live)
        self._tagger, self._trained = servable(self._live.tagger), trained

    def _note(self, error: Exception) -> None:
        text = str(error) or type(error).__name__
        if text != self.error:
            logger.error("the model in %s is not taken in: %s", self.folder, text)
        self.error, self._failed = text, (self._manifest(), time.monotonic())
        self._metrics.reload_errors += 1

    def _manifest(self) -> object:
        try:
            found = os.stat(self.folder / manifest.MANIFEST)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_size

    def _follow(self) -> None:
        parent = parent_process()
        while not self._end.wait(PAUSE):
            try:
                self.look()
            except Exception:  # whatever it is, the next look must come
                logger.exception("looking at %s failed", self.folder)
            if parent is not None and not parent.is_alive():
                os.kill(os.getpid(), signal.SIGTERM)  # nobody would ever end this worker otherwise
                return


def _trained(live: LiveTagger) -> tuple[object, int]:
    """Return the files that training made, and how many points they hold if all that was added is taken in."""
    found = live.manifest
    return found.trained, len(live.tagger) - sum(entry.points for entry in found.added)


def servable(tagger: TextTagger) -> TextTagger:
    """Return the tagger; ModelError where it cannot tag texts."""
    if tagger.stored.features.kind == "vectors":
        raise ModelError("the model takes vectors, not texts: it cannot be served")
    tagger.calibration  # noqa: B018 (raises where it is damaged)
    return tagger


class _Nothing:
    def sum(self) -> int:
        return 0


_NOTHING = _Nothing()
