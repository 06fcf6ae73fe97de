"""The elements of hwloc's XML files, within limits, and their values, each checked where it is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError, MachineError
from simsched.graph.budget import limited
from simsched.graph.columns import plain_text
from simsched.graph.loading import find_file, open_plain, read_bounded
from simsched.graph.xml import XmlReading, refuse_entities

#: Bounds of files: real ones have some 100 bytes, 3 elements and 12 levels per hardware thread, or fewer.
MOST_B, MOST_ELEMENTS, MOST_DEPTH = 64 * 1024**2, 200_000, 100


class Element:
    """An element of a file: its tag, attributes, children, the line it begins in, and the text in it."""

    __slots__ = ("attributes", "children", "line", "tag", "texts")

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        self.tag, self.attributes, self.line = tag, attributes, line
        self.children: list[Element] = []
        self.texts: list[str] = []

    def named(self, tag: str) -> list[Element]:
        """Return the children with a tag."""
        return [child for child in self.children if child.tag == tag]


def read_elements(path: Path) -> Element:
    """Return the root of an XML file, plain or gzipped.

    Raises
    ------
    MachineError
        If the file cannot be read, is not well-formed, declares its own entities or types, or is out of bounds.
    """
    try:
        # The bound below is the only one: it needs no budget that somebody could raise.
        with limited(path, 2 * MOST_B), open_plain(find_file(path)) as stream:
            data = read_bounded(stream, MOST_B + 1)
        return _built(path, data)
    except FormatError as error:
        raise MachineError(str(error)) from None


def _built(path: Path, data: bytes) -> Element:
    if len(data) > MOST_B:
        raise FormatError(f"{path}: larger than {MOST_B >> 20} MiB, so it is not a file of lstopo; refused")
    if not data.strip():
        raise FormatError(f"{path}: the file is empty; write it again: lstopo FILE.xml")
    if b"\0" not in data:  # which the builder refuses
        refuse_entities(path, data)
    builder = _Builder(path)
    builder.feed(data, last=True)
    (root,) = builder.top.children
    return root


class _Builder(XmlReading):
    """Builder of the tree from the parser's events; hwloc writes UTF-8, so a file's stated encoding is ignored."""

    most_depth = MOST_DEPTH

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.top = Element("", {}, 0)
        self._open = [self.top]
        self._count = 0
        self.parser.buffer_text = True
        self.parser.CharacterDataHandler = self._text

    def advice(self) -> str:
        """Return what to do about a file that is not well-formed."""
        return "was it copied completely? write it again: lstopo FILE.xml"

    def doctype(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        """Read past `<!DOCTYPE topology SYSTEM "hwloc.dtd">`, as nothing is fetched; refuse others."""
        if internal:
            raise self.refused(
                f"DOCTYPE {_short(name)!r} declares entities or types of its own, which is refused; remove what stands "
                "in its square brackets"
            )

    def start(self, kind: str, attributes: dict[str, str]) -> None:
        """Take the beginning of an element."""
        self._count += 1
        if self._count > MOST_ELEMENTS:
            raise self.refused(f"more than {MOST_ELEMENTS} elements; this is not a file of lstopo")
        element = Element(kind, attributes, self.parser.CurrentLineNumber)
        self._open[-1].children.append(element)
        self._open.append(element)

    def end(self, kind: str) -> None:
        """Take the end of an element."""
        self._open.pop()

    def _text(self, text: str) -> None:
        # Only matrices have text; text between other elements is not kept.
        if self._open[-1].tag in {"indexes", "u64values"}:
            self._open[-1].texts.append(text)


_WORD = re.compile(r"(?:0x)?[0-9a-fA-F]{1,8}")
#: Words of 32 numbers that a set may have: more than a hundred thousand hardware threads.
MOST_WORDS = 2**12
_INFINITE = "0xf...f"


def parsed(text: str) -> int:
    """Return the bits of a set; negative, with ones without end, for an infinite set.

    Words of 32 bits are separated by commas, the highest first; an empty one is zero, and `0xf...f` in front means
    all numbers above.

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
        """Return the whole numbers listed in the text of children with a tag, all together."""
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
