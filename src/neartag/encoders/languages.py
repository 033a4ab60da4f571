"""Languages by name: their stop words, and the stems of their words.

Stop words come from `stopwordsiso`, stems from `snowballstemmer`: `pip install "neartag[languages]"`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from importlib.util import find_spec
from typing import Any

from neartag.core.errors import NeartagError, ParameterError
from neartag.core.extras import install_hint
from neartag.encoders.terms import CACHE_LIMITS, BoundedCache, Text, words_of

# ISO 639-1 codes of the languages that have a Snowball stemmer; its name is the language's name in English.
LANGUAGES = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "st": "sesotho",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
_OTHER_CODES = {"nb": "no", "nn": "no"}
# The lists of stop words are long, and have words such as "system" and "fire", which say what a text is about. Only
# those that this share of the texts have are left out: a word as frequent as that tells texts apart no more.
MIN_STOP_WORD_SHARE = 0.05


def language_code(language: object) -> str:
    """Return the code of a language, given by its code or English name; ParameterError with the list for another.

    >>> language_code("Finnish")
    'fi'
    """
    if isinstance(language, str):
        name = language.strip().lower()
        code = _OTHER_CODES.get(name, name)
        if code in LANGUAGES:
            return code
        for code, known in LANGUAGES.items():
            if name == known:
                return code
    choices = ", ".join(f"{code} ({name})" for code, name in LANGUAGES.items())
    raise ParameterError(f"language={language!r:.60}: must be one of {choices}")


def check_packages() -> None:
    """Raise NeartagError where a package is missing that learning from texts of a language needs."""
    for name in ("stopwordsiso", "snowballstemmer"):
        if find_spec(name) is None:
            raise NeartagError(install_hint(f"a language of texts needs {name}", "languages"))


def frequent_stop_words(code: str, texts: Collection[Text], min_share: float = MIN_STOP_WORD_SHARE) -> list[str]:
    """Return the stop words of a language that at least this share of the texts have, sorted; none if it has no list.

    Raises
    ------
    NeartagError
        The package that has the lists is not installed.
    """
    try:
        import stopwordsiso
    except ImportError as error:
        raise NeartagError(install_hint("stop words of a language need stopwordsiso", "languages")) from error
    known = stopwordsiso.stopwords(code) if stopwordsiso.has_lang(code) else frozenset()
    counts: Counter[str] = Counter()
    for number, text in enumerate(texts):
        counts.update(known & set(words_of(text, number)))
    return sorted(word for word, count in counts.items() if count >= min_share * len(texts))


class Stemmer:
    """Turns words of a language into their stems, and remembers those of frequent words; the package loads late.

    A pickled copy starts without the package: it loads it when it is first asked.
    """

    def __init__(self, code: str) -> None:
        self.code = code
        self._stems = BoundedCache(_LateStem(code), CACHE_LIMITS)

    def __call__(self, words: Iterable[str]) -> list[str]:
        """Return the stem of each word."""
        return list(map(self._stems.__getitem__, words))


class _LateStem:
    def __init__(self, code: str) -> None:
        self.code = code
        self._stem: Callable[[str], str] | None = None

    def __call__(self, word: str) -> str:
        if self._stem is None:
            self._stem = _load_stemmer(self.code).stemWord
        return self._stem(word) or word  # a stem may be empty, and an empty word would be no feature

    def __reduce__(self) -> tuple[Any, ...]:
        return _LateStem, (self.code,)


def _load_stemmer(code: str) -> Any:
    try:
        import snowballstemmer
    except ImportError as error:
        need = f"stems of {LANGUAGES[code].capitalize()} words need snowballstemmer"
        raise NeartagError(install_hint(need, "languages")) from error
    try:
        return snowballstemmer.stemmer(LANGUAGES[code])
    except KeyError as error:
        raise NeartagError(
            f"the snowballstemmer that is installed does not know {LANGUAGES[code].capitalize()}: install a newer one"
        ) from error
