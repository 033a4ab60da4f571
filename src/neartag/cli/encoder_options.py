"""The encoder that the options of `train` and `compare` choose, unfitted."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neartag.core.errors import DataError, ParameterError

TFIDF = "tfidf"  # the encoder whose features have kinds
NONE = "none"  # for --encoder: words alone
# Kinds that need more than their name: a sentence encoder is named itself.
SENTENCE_KINDS = ("sentence", "hybrid")


@dataclass(frozen=True)
class EncoderOptions:
    """The encoder's name and parameters, as the command line gave them; None: not given.

    Each parameter has the name of the encoder's own. An encoder that has none of that name cannot be given it. A name
    that is no kind of encoder is that of a sentence encoder: a folder, a package or a name of the hub, or several.
    """

    name: str | None = None
    features: str | None = None
    word_pairs: bool | None = None
    char_ngrams: str | None = None
    min_df: str | None = None
    max_df: str | None = None
    hashing: int | None = None
    stop_words: str | None = None
    language: str | None = None
    preset: Mapping[str, Any] | None = None  # features that a preset brings; what is given overrides them
    words: bool = True  # beside the vectors of a sentence encoder
    bundle: bool = False  # a sentence encoder's weights into the model folder
    minutes: float | None = None  # that a sentence encoder may take
    cache: bool = False  # keep the vectors of texts

    def check(self) -> None:
        """Raise ParameterError for what can be told to be wrong without any library of numbers."""
        from neartag.encoders.feature_kinds import AUTO, kind_parameters

        self._read_parameters()
        if self.minutes is not None and not 0 < self.minutes < float("inf"):
            raise ParameterError(f"--encode-minutes must be above 0, not {self.minutes:g}")
        given = {"--no-words": not self.words, "--bundle-encoder": self.bundle, "--encode-minutes": self.minutes}
        for option, value in given.items():
            if value and self.name in (None, NONE, TFIDF):
                raise ParameterError(f"{option} is for a sentence encoder: name it with --encoder")
        if self.features not in (None, AUTO):
            kind_parameters(self.features)

    def make_encoder(self, part: str) -> Any:
        """Return the encoder chosen, or the default one for documents that bring this part, "text" or "vector".

        AutoFeatures, where the default one is an encoder of texts, and nothing is set that a trial would choose.
        """
        from neartag.encoders.registry import DEFAULTS, ENCODERS

        if self.name == NONE:
            return replace(self, name=None).make_encoder(part)
        if self.name is not None and self.name not in ENCODERS.names():
            return self._make_sentence_encoder(part)
        if self.name in SENTENCE_KINDS:
            raise ParameterError(f"--encoder {self.name}: give the sentence encoder itself, such as its folder")
        return self._make_encoder_of_kind(self.name or DEFAULTS[part])

    def _make_encoder_of_kind(self, name: str) -> Any:
        from neartag.encoders.feature_kinds import AUTO, CHOSEN_PARAMETERS, AutoFeatures, kind_parameters
        from neartag.encoders.registry import ENCODERS

        parameters, features = self._read_parameters(), self.features
        if name == TFIDF and features is None and self.preset:
            parameters = {**self.preset, **parameters}
            features = parameters.pop("kind", None)
            if features == AUTO and CHOSEN_PARAMETERS & parameters.keys():
                features = None
        if name == TFIDF:
            chosen = CHOSEN_PARAMETERS & parameters.keys()
            if features == AUTO and chosen:
                raise ParameterError(f"--features auto chooses {_flag(min(chosen))} by itself: leave one of them out")
            if features == AUTO or (features is None and self.name is None and not chosen):
                return AutoFeatures(parameters)
            if features is not None:
                parameters = {**kind_parameters(features), **parameters}
        elif features is not None:
            raise ParameterError(f"--features is for texts and the encoder {TFIDF!r}, not {name!r}: leave it out")
        encoder = ENCODERS.get(name)
        known = inspect.signature(encoder).parameters
        for parameter in parameters.keys() - known.keys():
            if self.name is not None:
                raise ParameterError(f"{_flag(parameter)} is no option of the encoder {self.name!r}: leave it out")
            del parameters[parameter]  # documents bring vectors: options for words change nothing
        return encoder(**parameters)

    def _make_sentence_encoder(self, part: str) -> Any:
        """Return the encoder of texts by a sentence encoder, which is opened, with words beside it if wanted."""
        from neartag.encoders.hybrid import HybridFeatures
        from neartag.encoders.registry import ENCODERS
        from neartag.encoders.sentence import SentenceFeatures
        from neartag.encoders.sentence_models.vector_cache import default_cache

        if part != "text":
            raise ParameterError(f"--encoder {self.name} encodes texts: leave it out, or the option for your vectors")
        references = [each.strip() for each in str(self.name).split(",")]
        for reference in references:
            if not _can_be_sentence_encoder(reference):
                known = ", ".join(name for name in ENCODERS.names() if name not in SENTENCE_KINDS)
                raise ParameterError(
                    f"there is no encoder {reference!r}: choose one of {known}, none, or a sentence encoder by its "
                    "folder, wordllama, or OWNER/MODEL of the hub"
                )
        vectors = SentenceFeatures(references, cache=default_cache() if self.cache else None, bundle=self.bundle).open()
        if self.words:
            return HybridFeatures(replace(self, name=None).make_encoder(part), vectors)
        if self.features is not None or self._read_parameters():
            raise ParameterError("--no-words leaves no words to count: leave out the options for words")
        return vectors

    def refuse_rows(self, data: str) -> None:
        """Raise ParameterError where an option was given that rows of features have no use for."""
        for option, value in (
            ("encoder", None if self.name == NONE else self.name),
            ("features", self.features),
            ("language", self.language),
        ):
            if value is not None:
                raise ParameterError(f"--{option} {value}: {data} holds rows of features, which need no encoder")

    def _read_parameters(self) -> dict[str, Any]:
        """Return the parameters given, as encoders take them; ParameterError names the option that cannot be used."""
        read: dict[str, Any] = {}
        if self.word_pairs:
            read["word_pairs"] = True
        if self.char_ngrams is not None:
            read["char_ngrams"] = _read_lengths(self.char_ngrams)
        if self.min_df is not None:
            read["min_df"] = _read_frequency("--min-df", self.min_df)
        if self.max_df is not None:
            read["max_df"] = _read_frequency("--max-df", self.max_df)
        if self.hashing is not None:
            read["hashing"] = self.hashing
        if self.stop_words is not None:
            read["stop_words"] = _read_words(self.stop_words)
        if self.language is not None:
            read["language"] = read_language(self.language)
        return read


def find_place(name: str | None) -> str | None:
    """Return a sentence encoder's name such that it means the same in any folder; None for none."""
    if name in (None, NONE):
        return None
    each = [reference.strip() for reference in str(name).split(",")]
    paths = [Path(reference).expanduser() for reference in each]
    return ",".join(
        str(path.resolve()) if path.exists() else reference for path, reference in zip(paths, each, strict=True)
    )


def open_sentence_encoder(name: str | None, part: str) -> Any:
    """Return the sentence encoder of this name, opened, with vectors kept; None for none."""
    from neartag.encoders.registry import ENCODERS

    if name in (None, NONE):
        return None
    if name in ENCODERS.names():
        raise ParameterError(f"--encoder {name} is no sentence encoder: give its folder, wordllama, or OWNER/MODEL")
    return EncoderOptions(name, words=False, cache=True).make_encoder(part)


def _can_be_sentence_encoder(reference: str) -> bool:
    from neartag.encoders.sentence_models.loading import HUB_NAME, WORDLLAMA

    is_hub_name = HUB_NAME.fullmatch(reference) is not None and not reference.startswith(".")
    return bool(reference) and (Path(reference).expanduser().exists() or reference == WORDLLAMA or is_hub_name)


def read_language(language: str) -> str:
    """Return the language's code; now, and not after all documents are read, told if it or a package is missing."""
    from neartag.encoders.languages import check_packages, language_code

    code = language_code(language)
    check_packages()
    return code


def _flag(parameter: str) -> str:
    return "--" + parameter.replace("_", "-")


def _read_frequency(option: str, text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ParameterError(f"{option} must be a whole number of texts, or a share from 0.0 to 1.0, not {text!r}")
    return share


def _read_lengths(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    if not (low.isdecimal() and (high or low).isdecimal()):
        raise ParameterError(f"--char-ngrams must be two lengths such as 3-5, not {text!r}")
    return int(low), int(high or low)


def _read_words(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"--stop-words {path} cannot be read: {error}") from error
