"""Elements of an XML file, read within bounds and without executing or fetching anything."""

from __future__ import annotations

import re
from pathlib import Path

# Expat itself, not a wrapper around it: it has no way to fetch what a DOCTYPE names, and it expands entities only where
# a file declares some, which is refused below before the first is read. defusedxml does the same by the same means.
from xml.parsers import expat

from simsched.errors import FormatError, MachineError
from simsched.graph.loading import find_file, open_plain, read_bounded

#: Bounds of what is read: real files have some 100 bytes, 3 elements and 12 levels a hardware thread, or fewer.
MOST_B, MOST_ELEMENTS, MOST_DEPTH = 64 * 1024**2, 200_000, 100
_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)[^;&<>\"'\s]{0,40};?")


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
        If the file cannot be read, is not well-formed, declares entities or types of its own, or is out of bounds.
    """
    try:
        with open_plain(find_file(path)) as stream:
            data = read_bounded(stream, MOST_B + 1)
    except FormatError as error:
        raise MachineError(str(error)) from None
    if len(data) > MOST_B:
        raise MachineError(f"{path}: larger than {MOST_B >> 20} MiB, so it is not a file of lstopo; refused")
    if not data.strip():
        raise MachineError(f"{path}: the file is empty; write it again: lstopo FILE.xml")
    if b"\0" in data:
        # Expat would take the encoding from the file's first bytes, and the search below would see nothing.
        raise MachineError(f"{path}: NUL bytes in it; expected XML in UTF-8, as lstopo FILE.xml writes it")
    if unknown := _ENTITY.search(data):
        line = data.count(b"\n", 0, unknown.start()) + 1
        raise MachineError(
            f"{path}: line {line}: {_shown(unknown[0])} is not a character; entities are refused"
        )
    return _Builder(path).built(data)


class _Builder:
    """Builds the tree from what the parser meets."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: list[Element] = []
        self._root: Element | None = None
        self._count = 0
        # hwloc writes UTF-8; what a file says of its encoding is not believed.
        self._parser = expat.ParserCreate("UTF-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._doctype

    def built(self, data: bytes) -> Element:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise MachineError(
                f"{self._path}: line {error.lineno}, column {error.offset + 1}: not well-formed XML ({reason}); "
                "was it copied completely? write it again: lstopo FILE.xml"
            ) from None
        if self._root is None:
            raise MachineError(f"{self._path}: no element in it; write it again: lstopo FILE.xml")
        return self._root

    def _doctype(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        # `<!DOCTYPE topology SYSTEM "hwloc.dtd">` is read past; nothing is fetched.
        if internal:
            raise self._refused(
                f"DOCTYPE {_shown(name.encode())} declares entities or types of its own, which is refused; remove "
                "what stands in its square brackets"
            )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MOST_ELEMENTS:
            raise self._refused(f"more than {MOST_ELEMENTS} elements; this is not a file of lstopo")
        if len(self._open) >= MOST_DEPTH:
            raise self._refused(f"elements nested deeper than {MOST_DEPTH}; this is not a file of lstopo")
        element = Element(tag, attributes, self._parser.CurrentLineNumber)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)

    def _end(self, tag: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        # Only matrices have text; what separates other elements is not kept.
        if self._open[-1].tag in {"indexes", "u64values"}:
            self._open[-1].texts.append(text)

    def _refused(self, message: str) -> MachineError:
        return MachineError(f"{self._path}: line {self._parser.CurrentLineNumber}: {message}")


def _shown(data: bytes) -> str:
    return repr(data[:40].decode("utf-8", "backslashreplace"))
