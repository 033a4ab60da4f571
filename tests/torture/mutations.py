"""Bytes changed at random: as a bad disk, a bad program or a bad person would."""

from __future__ import annotations

import random
from collections.abc import Callable

# What often breaks readers: signs of the formats, edges of numbers, odd characters, broken UTF-8.
TOKENS = [
    *(b"\x00", b"\xff", b"\r", b"\n", b"\r\n", b"\t", b"\\", b'"', b'""', b"'", b",", b";", b"|", b":", b"{", b"}"),
    *(b"[", b"]", b"[[[[[[[[", b"null", b"true", b"NaN", b"Infinity", b"-0", b"1e999", b"-1", b"0x10", b"1_000"),
    *(
        b"2147483647",
        b"2147483648",
        b"-2147483649",
        b"4294967296",
        b"9223372036854775808",
        b"1" * 400,
        b"0." + b"1" * 99,
    ),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80", b"\xe2\x80\xa8"),
    *(b"\\ud800", b"\\u0000", b"&amp;", b"&x;", b"<!DOCTYPE a [<!ENTITY x 'y'>]>", b"<!--", b"]]>", b"</c>", b"=1+1"),
    *(b"__label__", b"__label__ ", b"text", b"labels", b"id", b'"text":', b'"labels":', b"\x1f\x8b", b"PK\x03\x04"),
    *("\u0130".encode(), "\u00df".encode(), "\u0301".encode(), "\U0001f9d9".encode(), "\u3000".encode()),
]
MAX_PIECE = 64  # bytes that are moved at once


def mutate(content: bytes, chance: random.Random) -> bytes:
    """Return the content with some changes; few are best, many may not be understood as anything at all."""
    for _ in range(1 + int(chance.expovariate(0.7))):
        content = chance.choice(_CHANGES)(content, chance)
    return content


def flip_bit(content: bytes, place: int) -> bytes:
    """Return the content with one bit changed."""
    byte = place // 8
    return content[:byte] + bytes([content[byte] ^ 1 << place % 8]) + content[byte + 1 :]


def _flip(content: bytes, chance: random.Random) -> bytes:
    return flip_bit(content, chance.randrange(8 * len(content))) if content else content


def _set_byte(content: bytes, chance: random.Random) -> bytes:
    place = _place(content, chance)
    return content[:place] + bytes([chance.randrange(256)]) + content[place + 1 :]


def _insert(content: bytes, chance: random.Random) -> bytes:
    place = _place(content, chance)
    return content[:place] + chance.choice(TOKENS) + content[place:]


def _overwrite(content: bytes, chance: random.Random) -> bytes:
    place, token = _place(content, chance), chance.choice(TOKENS)
    return content[:place] + token + content[place + len(token) :]


def _delete(content: bytes, chance: random.Random) -> bytes:
    start, stop = _span(content, chance)
    return content[:start] + content[stop:]


def _repeat(content: bytes, chance: random.Random) -> bytes:
    start, stop = _span(content, chance)
    return content[:stop] + content[start:stop] * chance.choice((1, 1, 2, 9, 100)) + content[stop:]


def _move(content: bytes, chance: random.Random) -> bytes:
    start, stop = _span(content, chance)
    place = _place(content, chance)
    return content[:place] + content[start:stop] + content[place:]


def _cut(content: bytes, chance: random.Random) -> bytes:
    return content[: _place(content, chance)]


def _change_number(content: bytes, chance: random.Random) -> bytes:
    """Overwrite 2, 4 or 8 bytes by a number, as lengths and offsets in binary files are."""
    size = chance.choice((2, 4, 8))
    value = chance.choice((0, 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 1, chance.randrange(2 ** (8 * size))))
    place = _place(content, chance)
    return content[:place] + value.to_bytes(size, chance.choice(("little", "big"))) + content[place + size :]


_CHANGES: list[Callable[[bytes, random.Random], bytes]] = [
    *(_flip, _set_byte, _insert, _insert, _overwrite, _delete, _repeat, _move, _cut, _change_number)
]


def _place(content: bytes, chance: random.Random) -> int:
    return chance.randrange(len(content) + 1)


def _span(content: bytes, chance: random.Random) -> tuple[int, int]:
    start = _place(content, chance)
    return start, min(len(content), start + chance.randrange(1, MAX_PIECE))
