"""neartag as a machine learning backend of Label Studio: it suggests labels, and learns from what people give.

NEARTAG_MODEL=model/ python neartag_backend.py          # then: Label Studio, Settings, Model, http://localhost:9090
"""

from __future__ import annotations

import argparse
import os
from functools import cache
from typing import Any

from label_studio_ml.model import LabelStudioMLBase
from suggestions import Control, find_control

from neartag import LiveTagger
from neartag.core.errors import NeartagError
from neartag.data.documents import Document

LEARNED_FROM = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED")
MAX_LABELS = 5


@cache
def open_model(folder: str) -> LiveTagger:
    """Return the tagger of a folder, the same for all requests: Label Studio's package makes an object for each."""
    return LiveTagger(folder)


class NeartagBackend(LabelStudioMLBase):
    """Suggestions of a model folder, for a project whose labels are Choices or a Taxonomy."""

    def predict(
        self, tasks: list[dict[str, Any]], context: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """Return a prediction for each task. Its score is the mean of its labels', 0 where nothing is known."""
        live, control = self._live(), find_control(self.label_config)
        live.refresh()
        tagger = live.tagger
        texts = [str((task.get("data") or {}).get(control.field) or "") for task in tasks]
        allowed = control.allowed(tagger.labels)
        answers = (
            [[] for _ in texts]  # the project offers none of the model's labels
            if allowed == []
            else tagger.predict(texts, MAX_LABELS, self._threshold(), include=allowed, n_jobs=1)
        )
        return [
            {
                "result": control.region([tag.label for tag in answer]),
                "score": sum(tag.score for tag in answer) / len(answer) if answer else 0.0,
                "model_version": live.manifest.digest[:12],
            }
            for answer in answers
        ]

    def fit(self, event: str, data: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Learn from one annotation, at once: its document takes the place of what it was before."""
        document = _read_annotation(find_control(self.label_config), data) if event in LEARNED_FROM else None
        if document is None or os.environ.get("NEARTAG_LEARN", "yes").lower() in ("no", "0", "false"):
            return {"learned": None}
        try:
            self._live().add([document], replace=True)
        except NeartagError as error:  # a label outside a closed vocabulary, for example
            return {"learned": None, "error": str(error)}
        return {"learned": document.id}

    def _live(self) -> LiveTagger:
        return open_model(os.environ["NEARTAG_MODEL"])

    def _threshold(self) -> str | float | None:
        """Return the score from which labels are suggested: NEARTAG_THRESHOLD, or the model's own for the best F1."""
        wish = os.environ.get("NEARTAG_THRESHOLD", "")
        if wish:
            return wish if "=" in wish or wish == "f1" else float(wish)
        return "f1" if self._live().tagger.calibration is not None else None


def _read_annotation(control: Control, data: dict[str, Any]) -> Document | None:
    """Return the document of an annotation; None where a person skipped it or gave no label."""
    annotation, task = data.get("annotation") or {}, data.get("task") or {}
    labels = control.labels(annotation.get("result") or [])
    text = (task.get("data") or {}).get(control.field)
    if annotation.get("was_cancelled") or not labels or not text:
        return None
    return Document(str(text), labels, f"label-studio-{task['id']}", None, "")


def main() -> None:
    """Serve the backend on this computer."""
    from label_studio_ml.api import init_app

    parser = argparse.ArgumentParser(description="Suggest labels of a neartag model in Label Studio.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9090)
    options = parser.parse_args()
    open_model(os.environ["NEARTAG_MODEL"]).tagger.predict(["one"], 1)  # so that the first request does not wait
    init_app(NeartagBackend).run(options.host, options.port, threaded=True)


if __name__ == "__main__":
    main()
