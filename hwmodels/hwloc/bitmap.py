"""hwloc's bitmaps: sets of numbers, as XML files write them."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

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
    size = (count + 7) // 8
    packed = (bits & ((1 << count) - 1)).to_bytes(size, "little")
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=count, bitorder="little").astype(bool)
