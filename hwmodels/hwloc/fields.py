"""Values of an hwloc file's elements, bitmaps among them, each checked where it is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.errors import MachineError
from simsched.graph.columns import plain_text
from simsched.hwmodels.hwloc.xml import Element

_WORD = re.compile(r"(?:0x)?[0-9a-fA-F]{1,8}")
#: Words of 32 numbers that a set may have: more than a hundred thousand hardware threads.
MOST_WORDS = 2**12
_INFINITE = "0xf...f"


def parsed(text: str) -> int:
    """Return the bits of a set; negative, that is ones without end, where the set is infinite.

    Words of 32 bits are separated by commas, the highest first; an empty one is zero, and `0xf...f` in front stands
    for all numbers above.

    Raises
    ------
    ValueError
        If it is no such set, saying why.

    Examples
    --------
    >>> bin(parsed("0x00000001,,0x3")), parsed("0xf...f"), bin(parsed("0xf...f,0x0") & (1 << 33))
    ('0b10000000000000000000000000000000000000000000000000000000000000011', -1, '0b1000000000000000000000000000000000')
    """
    words = text.strip().split(",")
    if len(words) > MOST_WORDS:
        raise ValueError(f"a set of {len(words)} words; the most is {MOST_WORDS}")
    infinite = words[0] == _INFINITE
    words = words[infinite:]
    if text.strip() in {"", "0xf...f,"}:
        raise ValueError("expected a set of numbers, as in 0x0000ffff,0xffffffff")
    for word in words:
        if word and not _WORD.fullmatch(word):
            raise ValueError(f"{word!r} is not a word of a set of numbers, as in 0x0000ffff,0xffffffff")
    digits = "".join(word.removeprefix("0x").zfill(8) for word in words)
    bits = int(digits, 16) if digits else 0
    return bits - (1 << (32 * len(words))) if infinite else bits


def mask(bits: int, count: int) -> npt.NDArray[np.bool_]:
    """Return which of the numbers from 0 to `count` - 1 are in a set, bool (count,).

    Examples
    --------
    >>> mask(parsed("0xf...f,0x5"), 34).nonzero()[0].tolist()
    [0, 2, 32, 33]
    """
    packed = (bits & ((1 << count) - 1)).to_bytes((count + 7) // 8, "little")
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=count, bitorder="little").astype(bool)


_NUMBER = re.compile(r"[0-9]{1,19}")
_DECIMAL = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,30})?(?:e[+-]?[0-9]{1,2})?")
#: Numbers of hardware threads and of memories are at most this; the file has at most so many memories.
MOST_INDEX, MOST_MEMORIES = 2**17 - 1, 1024


@dataclass(frozen=True)
class Fields:
    """The elements of one file."""

    path: Path

    def wrong(self, element: Element, message: str) -> MachineError:
        """Return an error that names the file and the place."""
        kind = element.attributes.get("type")
        what = f'<{element.tag} type="{_short(kind)}">' if kind is not None else f"<{element.tag}>"
        return MachineError(
            f"{self.path}: line {element.line}, {what}: {message}; write it again: lstopo FILE.xml"
        )

    def number(self, element: Element, key: str, *, most: int, default: int | None = None) -> int:
        """Return a whole number from 0 to `most`."""
        text = element.attributes.get(key)
        if text is None and default is not None:
            return default
        if text is None or not _NUMBER.fullmatch(text) or int(text) > most:
            raise self._unexpected(element, key, f"a whole number from 0 to {most}")
        return int(text)

    def bits(self, element: Element, key: str, *, default: int | None = None) -> int:
        """Return the bits of a set of numbers; see `bitmap.parsed`."""
        text = element.attributes.get(key)
        if text is None and default is not None:
            return default
        if text is None:
            raise self._unexpected(element, key, "a set of numbers, as in 0x0000ffff,0xffffffff")
        try:
            return parsed(text)
        except ValueError as error:
            raise self.wrong(element, f"{key}={_short(text)!r}: {error}") from None

    def decimal(self, element: Element, key: str) -> float:
        """Return a number of 0 or more."""
        text = element.attributes.get(key)
        if text is None or not _DECIMAL.fullmatch(text):
            raise self._unexpected(element, key, "a number of 0 or more")
        return float(text)

    def numbers(self, element: Element, tag: str, *, most: int) -> list[int]:
        """Return the whole numbers that children with a tag list in their text, all together."""
        found: list[int] = []
        for child in element.named(tag):
            for word in "".join(child.texts).split(None, MOST_MEMORIES**2):
                if len(found) >= MOST_MEMORIES**2:
                    raise self.wrong(child, f"more than {MOST_MEMORIES**2} numbers")
                if not _NUMBER.fullmatch(word) or int(word) > most:
                    raise self.wrong(child, f"{_short(word)!r}: expected whole numbers from 0 to {most}")
                found.append(int(word))
        return found

    def infos(self, element: Element) -> dict[str, str]:
        """Return the `<info name= value=>` of an element, the first of a name."""
        found: dict[str, str] = {}
        for info in element.named("info"):
            name, value = info.attributes.get("name", ""), info.attributes.get("value", "")
            found.setdefault(name, " ".join(plain_text(value).split())[:200])
        return found

    def _unexpected(self, element: Element, key: str, expected: str) -> MachineError:
        text = element.attributes.get(key)
        got = f"{key} is missing" if text is None else f"{key}={_short(text)!r}"
        return self.wrong(element, f"{got}: expected {expected}")


def _short(text: str | None) -> str:
    return plain_text(text)[:60]
