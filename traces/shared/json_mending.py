"""Mending of what recorders write into JSON and JSON forbids: control characters, lone backslashes, nan and inf."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator

from simsched.graph.loading import Mend

#: Between values they are white space, within texts not allowed: a space is right in both places.
_TO_SPACES = bytes.maketrans(bytes(range(32)), b" " * 32)
_NEVER_ALLOWED = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BACKSLASH = re.compile(rb'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|)')
#: The beginning of an escape that the next chunk may complete.
_OPEN_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)\Z")
_REPLACED = "�".encode()
#: What printf and Python write where a value is not a number, behind the colon of a member.
_NO_NUMBER = re.compile(rb"(:[ ]{0,64})-?(?:nan(?:\([a-z]{0,8}\))?|inf|NaN|Infinity)(?=[ ]{0,64}[,}])")
#: What of a member, from the end of its name, the next chunk may complete.
_OPEN_MEMBER = re.compile(rb'(?<!\\)(?:\\\\)*"[ ]{0,64}(?::[ ]{0,64}(?:[-A-Za-z()]{1,15}[ ]{0,64})?)?\Z')
#: How far back from its end.
_BACK_B = 256


def mended(chunks: Iterable[bytes], mend: Mend) -> Iterator[bytes]:
    r"""Yield the text of chunks such that a strict parser takes it; tell once what had to be changed.

    Raw control characters become spaces, backslashes that begin no escape are doubled, bytes that are not UTF-8 become
    U+FFFD. Members of objects that are nan or infinite become null.

    Examples
    --------
    >>> b"".join(mended([b'"C:', b'\\dir\x01"'], print))
    characters that JSON does not allow were replaced
    b'"C:\\\\dir "'
    >>> b"".join(mended([b'{"GB/s": in', b'f, "dur": 0}'], print))
    numbers that JSON does not allow (nan, inf) are taken as absent
    b'{"GB/s": null, "dur": 0}'
    """
    return _without_no_numbers(_in_valid_characters(chunks, mend), mend)


def _in_valid_characters(chunks: Iterable[bytes], mend: Mend) -> Iterator[bytes]:
    decoder, held, told = codecs.getincrementaldecoder("utf-8")("replace"), b"", False
    for chunk in chunks:
        text = decoder.decode(chunk).encode()
        changed = _NEVER_ALLOWED.search(text) is not None or text.count(_REPLACED) > chunk.count(_REPLACED)
        text = held + text
        held = found[1] if (found := _OPEN_ESCAPE.search(text)) else b""
        text = text[: len(text) - len(held)]
        valid = _BACKSLASH.sub(_doubled, text)
        if not told and (changed or len(valid) > len(text)):
            told = True
            mend("characters that JSON does not allow were replaced")
        yield valid.translate(_TO_SPACES)
    yield held


def _doubled(found: re.Match[bytes]) -> bytes:
    return b"\\\\" if found[1] is None else found[0]


def _without_no_numbers(chunks: Iterable[bytes], mend: Mend) -> Iterator[bytes]:
    held, told = b"", False
    for chunk in chunks:
        text = held + chunk
        found = _OPEN_MEMBER.search(text, max(len(text) - _BACK_B, 0))
        held = found[0] if found else b""
        text = text[: len(text) - len(held)]
        valid = _NO_NUMBER.sub(_absent, text)
        if not told and valid != text:
            told = True
            mend("numbers that JSON does not allow (nan, inf) are taken as absent")
        yield valid
    yield held


def _absent(found: re.Match[bytes]) -> bytes:
    """Return null where a member's name stands before the colon; a text may say anything."""
    before = found.string[max(found.start() - _BACK_B, 0) : found.start()].rstrip(b" ")
    name = before.removesuffix(b'"')
    escaped = (len(name) - len(name.rstrip(b"\\"))) % 2
    return found[0] if name == before or escaped else found[1] + b"null"
