"""The encoding of a text file, found on its beginning.

UTF-8 and UTF-16 can be told for sure. Of the others only cp1252 (western European Windows) is recognised, and only
where what it gives looks like words of its languages. Anything else is read as UTF-8, and the error of its first bad
line names `--encoding`.
"""

from __future__ import annotations

import codecs
import re

UTF8, CP1252 = "utf-8", "cp1252"
_NUL_SHARE = 0.3  # of every second byte: ASCII characters in UTF-16
_LETTERS = "àáâãäåæçèéêëìíîïñòóôõöøùúûüßœÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜŒ"
_SIGNS = "‘’‚“”„–—…•€£¥§©®°«»·¡¿ºª½¼¾²³×±\u00a0\u00ad™†‡‰‹›´"
_IN_WORD = re.compile(f"[A-Za-z][{_LETTERS}]|[{_LETTERS}][A-Za-z]")
# What tells other encodings: Polish, Hungarian, Estonian; Cyrillic, Greek and Asian ones.
_FOREIGN = re.compile(
    f"[A-Za-z{_LETTERS}][¡¿ºª³²£¥±×¾¼½€†‡‹›„‚][A-Za-z{_LETTERS}]|[õÕ](?![eE])|[{_LETTERS}]{{3}}|[¿¡][{_LETTERS}]"
)


def find_encoding(sample: bytes) -> str:
    """Return the encoding of a file that begins with these whole lines."""
    for mark, name in (
        (codecs.BOM_UTF8, UTF8),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if sample.startswith(mark):
            return name
    half = len(sample) // 2
    low, high = sample[1::2].count(0), sample[0::2].count(0)  # of little endian text, the odd bytes are 0
    if half and max(low, high) > _NUL_SHARE * half and min(low, high) < 0.1 * max(low, high):
        return "utf-16-le" if low > high else "utf-16-be"
    bad = []
    for line in sample.split(b"\n"):
        try:
            line.decode()
        except UnicodeDecodeError:
            bad.append(line)
        else:
            if not line.isascii():
                return UTF8  # a line that only UTF-8 gives: what else is wrong is damaged
    return CP1252 if bad and _is_western(b"\n".join(bad)) else UTF8


def is_by_lines(encoding: str) -> bool:
    """Return whether bytes can be split at line feeds before they are decoded."""
    return not codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))


def _is_western(sample: bytes) -> bool:
    """Return whether bytes, read as cp1252, look like a language that is written so."""
    try:
        text = sample.decode(CP1252)
    except UnicodeDecodeError:
        return False
    unusual = {character for character in text if not character.isascii()}
    if "\0" in text or not unusual <= {*_LETTERS, *_SIGNS} or _FOREIGN.search(text):
        return False
    czech = unusual & {*"øØ"} and unusual & {*"ìÌ"}
    return not czech and (unusual <= {*_SIGNS} or _IN_WORD.search(text) is not None)
