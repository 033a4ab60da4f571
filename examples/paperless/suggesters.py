"""Who suggests tags: a model folder in this process, or a running `neartag serve`, which need not be started again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from paperless_api import PaperlessError

MAX_TAGS = 5
MAX_CHARACTERS = 20_000  # of a document that are read: its first pages say what it is
WISHES = ("precision=0.8", "f1")  # what to look for in a model's own thresholds, the first that it has
SECONDS = 30.0

Suggestion = tuple[str, float]  # a tag's name, and the probability that it is right


class Suggester(Protocol):
    """Suggests tags for texts."""

    def suggest(self, texts: Sequence[str]) -> list[list[Suggestion]]:
        """Return the tags of each text, the best first."""


class FolderSuggester:
    """Suggestions of a model folder."""

    def __init__(self, folder: str, threshold: str | None = None) -> None:
        from neartag import TextTagger

        self._tagger = TextTagger.load(folder)
        self._threshold = _read_threshold(threshold) if threshold else self._own_threshold()

    def suggest(self, texts: Sequence[str]) -> list[list[Suggestion]]:
        """Return the tags of each text, the best first."""
        answers = self._tagger.predict([text[:MAX_CHARACTERS] for text in texts], MAX_TAGS, self._threshold, n_jobs=1)
        return [[(tag.label, float(tag.score)) for tag in answer] for answer in answers]

    def _own_threshold(self) -> float:
        """Return the model's score for a precision of 80%, else for the best F1; 0.5 where it is not calibrated."""
        from neartag.core.errors import ParameterError

        calibration = self._tagger.calibration
        for wish in WISHES if calibration is not None else ():
            try:
                return float(calibration.threshold(wish))
            except ParameterError:  # that precision was not reached
                continue
        return 0.5


class ServerSuggester:
    """Suggestions of a server that `neartag serve` runs. Nothing of neartag is loaded here, so it starts at once."""

    def __init__(self, url: str, threshold: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._wishes = [_read_threshold(wish) for wish in ((threshold,) if threshold else WISHES)]

    def suggest(self, texts: Sequence[str]) -> list[list[Suggestion]]:
        """Return the tags of each text, the best first."""
        while True:
            try:
                found = self._ask([text[:MAX_CHARACTERS] for text in texts], self._wishes[0])
                return [[(tag["label"], tag["score"]) for tag in each["labels"]] for each in found["results"]]
            except HTTPError as error:
                told = " ".join(error.read(200).decode(errors="replace").split())
                if len(self._wishes) == 1 or not 400 <= error.code < 500:
                    raise PaperlessError(f"neartag's server answers {error.code}: {told}") from error
                del self._wishes[0]  # the model has not reached that precision
            except (URLError, OSError, ValueError) as error:
                raise PaperlessError(f"neartag's server cannot be asked at {self._url}: {error}") from error

    def _ask(self, texts: list[str], threshold: str | float) -> Any:
        body = json.dumps({"texts": texts, "k": MAX_TAGS, "threshold": threshold}, ensure_ascii=False)
        headers = {"Content-Type": "application/json"}
        with urlopen(Request(f"{self._url}/tag", body.encode(errors="replace"), headers), timeout=SECONDS) as answer:
            return json.loads(answer.read())


def _read_threshold(text: str) -> str | float:
    return text if text == "f1" or text.startswith("precision=") else float(text)
