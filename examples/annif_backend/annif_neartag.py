"""neartag as a backend of Annif, the subject indexing tool: `backend=neartag` in projects.cfg.

    annif-neartag train PROJECT CORPUS                            # any of Annif's own commands, with this backend
    ANNIF_CONFIG=annif_neartag.Config annif train PROJECT CORPUS  # the same by Annif's own program

A project of this backend can `learn`: documents are added in milliseconds, and subjects that nobody had used before are
suggested right after. Texts go through the project's analyzer first, so that its stemming and its language count.
With `encoder=FOLDER` a sentence encoder reads the texts as they are, and their words are counted without the analyzer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import annif.backend
from annif.backend.backend import AnnifLearningBackend
from annif.default_config import ProductionConfig
from annif.exception import NotInitializedException, NotSupportedException
from annif.suggestion import SubjectSuggestion, SuggestionBatch
from annif.util import boolean

from neartag import LiveTagger, TextTagger, TfidfFeatures, X1Classifier
from neartag.data.documents import Document
from neartag.encoders.hybrid import HybridFeatures

# Settings of X1 that a project may give, with their types; `neartag methods x1` says what they mean.
SETTINGS = {
    "n_learners": int,
    "n_clusters": int,
    "embedding_dim": int,
    "svp_neighbours": int,
    "l2": float,
    "vote_neighbours": int,
    "feature_share": float,
    "random_state": int,
}


class NeartagBackend(AnnifLearningBackend):
    """Nearest-neighbour subject suggestions that can be added to without retraining."""

    name = "neartag"

    MODEL_FOLDER = "neartag-model"
    DEFAULT_PARAMETERS: ClassVar[dict[str, Any]] = {"min_df": 1, "word_pairs": False}

    _live: LiveTagger | None = None

    @property
    def _folder(self) -> str:
        return os.path.join(self.datadir, self.MODEL_FOLDER)

    @property
    def _encoder(self) -> str:
        """The sentence encoder that the project names, or nothing."""
        return str(self.params.get("encoder") or "")

    def initialize(self, parallel: bool = False) -> None:
        """Load the model; each process maps the same files."""
        if self._live is None:
            if not os.path.isdir(self._folder):
                raise NotInitializedException(f"model {self._folder} not found", backend_id=self.backend_id)
            self._live = LiveTagger(self._folder)

    def _train(self, corpus: Any, params: dict[str, Any], jobs: int = 0) -> None:
        if corpus == "cached":
            raise NotSupportedException("Training a neartag project from cached data is not supported.")
        if corpus.is_empty():
            raise NotSupportedException("Cannot train a neartag project with no documents")
        settings = {
            name: read(params[name]) for name, read in SETTINGS.items() if params.get(name) not in (None, "auto")
        }
        features: Any = TfidfFeatures(min_df=int(params["min_df"]), word_pairs=boolean(params["word_pairs"]))
        if self._encoder:
            features = HybridFeatures(features, self._encoder.split(","))
        classifier = X1Classifier(n_jobs=jobs or -1, **settings)
        tagger = TextTagger(features, classifier, keep_texts=False).fit_documents(self._documents(corpus.documents))
        tagger.save(self._folder)
        self._live = LiveTagger(self._folder)

    def _learn(self, corpus: Any, params: dict[str, Any]) -> None:
        self.initialize()
        assert self._live is not None
        self._live.add(list(self._documents(corpus.documents)))

    def _suggest_batch(self, documents: list[Any], params: dict[str, Any]) -> SuggestionBatch:
        assert self._live is not None
        self._live.refresh()
        texts = [self._read(document.text) for document in documents]
        found = self._live.tagger.predict(texts, k=int(params["limit"]))
        subjects = self.project.subjects
        return SuggestionBatch.from_sequence(
            [
                [
                    SubjectSuggestion(subject_id=number, score=tag.score)
                    for tag in tags
                    if (number := subjects.by_uri(tag.label)) is not None
                ]
                for tags in found
            ],
            subjects,
            limit=int(params["limit"]),
        )

    def _documents(self, documents: Iterable[Any]) -> Iterator[Document]:
        """Yield Annif's documents as ours: texts as `_read` returns them, subjects by URI, no ids."""
        subjects = self.project.subjects
        for document in documents:
            uris = [subjects[number].uri for number in document.subject_set]
            yield Document(self._read(document.text), uris, None, None, "")

    def _read(self, text: str) -> str:
        """Return a text's words as the project's analyzer sees them; a sentence encoder needs the text itself."""
        if self._encoder:
            return text
        return " ".join(self.project.analyzer.tokenize_words(text))


def register() -> None:
    """Make the backend known to Annif under its name."""
    annif.backend._backend_fns[NeartagBackend.name] = lambda: NeartagBackend


class Config(ProductionConfig):
    """Annif's own configuration. Where ANNIF_CONFIG names it, Annif imports this module, and so knows the backend."""


def main() -> None:
    """Run Annif's command line with this backend."""
    from annif.cli import cli

    cli()


register()  # Annif has no list of others' backends that a package could add to

if __name__ == "__main__":
    main()
