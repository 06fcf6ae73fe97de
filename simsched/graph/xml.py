"""XML from untrusted files, as it comes: elements of bounded depth, no entities or types of the file's own.

Expat itself, not a wrapper around it: it has no way to fetch a DOCTYPE's files, and expands only entities that a file
declares, which is refused before the first is read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO
from xml.parsers import expat

from simsched.errors import FormatError
from simsched.graph.columns import plain_text
from simsched.text import printable

CHUNK_B = 64 * 1024
#: Only those that every XML file may use.
_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)[^;&<>\"'\s]{0,40};?")
#: A tag or a text; expat scans one that is not complete again with each chunk.
MOST_TOKEN_B = 1024 * 1024


def refuse_entities(path: Path, data: bytes) -> None:
    """Raise `FormatError` where a file uses an entity that is not XML's own."""
    if unknown := _ENTITY.search(data):
        line = data.count(b"\n", 0, unknown.start()) + 1
        found = plain_text(unknown[0])
        raise FormatError(f"{path}: line {line}: {found!r} is not a character; entities are refused")


class XmlReading:
    """Elements of a file as they begin and end; a reader of a format overrides `start`, `end` and `text`.

    Parameters
    ----------
    path : Path
        The file, for messages.
    """

    most_depth = 30

    def __init__(self, path: Path) -> None:
        self.path, self._depth, self._encoding, self._fed_B = path, 0, "", 0
        self._local = lru_cache(64)(lambda tag: tag[tag.rfind("}") + 1 :])
        self.parser = expat.ParserCreate("UTF-8", "}")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.XmlDeclHandler = self._declared

    def start(self, kind: str, attributes: dict[str, str]) -> None:
        """Take the beginning of an element; `kind` is its tag without its namespace."""

    def end(self, kind: str) -> None:
        """Take the end of an element."""

    def doctype(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        """Refuse a DOCTYPE."""
        raise self.refused("a DOCTYPE is refused; remove it")

    def read(self, stream: BinaryIO) -> None:
        """Take all elements of a file.

        Raises
        ------
        FormatError
            If it is not well-formed XML in UTF-8, nests too deep, or has a tag or text of more than a megabyte.
        """
        while data := stream.read(CHUNK_B):
            self.feed(data)
        self.feed(b"", last=True)

    def feed(self, data: bytes, last: bool = False) -> None:
        """Take the next bytes of the file; see `read`."""
        if b"\0" in data:
            raise FormatError(f"{self.path}: NUL bytes in it; expected XML in UTF-8")
        try:
            self.parser.Parse(data, last)
        except expat.ExpatError as error:
            raise self.malformed(error) from None
        self._fed_B += len(data)
        if not last and self._fed_B - max(self.parser.CurrentByteIndex, 0) > MOST_TOKEN_B + len(data):
            raise self.refused(f"a tag or text of more than {MOST_TOKEN_B} bytes; refused")

    def malformed(self, error: expat.ExpatError) -> FormatError:
        """Return the error of a place that is no XML."""
        reason = expat.ErrorString(error.code)
        return FormatError(
            f"{self.path}: line {error.lineno}, column {error.offset + 1}: not well-formed XML ({reason}); "
            f"{self.advice()}"
        )

    def refused(self, message: str) -> FormatError:
        """Return the error of where the file is being read."""
        return FormatError(f"{self.path}: line {self.parser.CurrentLineNumber}: {message}")

    def advice(self) -> str:
        """Return what to do about a file that is not well-formed."""
        if self._encoding.lower() in ("", "utf-8", "us-ascii"):
            return "was it copied completely?"
        return (
            f"it says that it is in {printable(self._encoding)[:40]}, expected UTF-8: "
            "xmllint --encode UTF-8 FILE converts it"
        )

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        self._encoding = encoding or ""

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > self.most_depth:
            raise self.refused(f"elements nested more than {self.most_depth} deep; refused")
        self.start(self._local(tag), attributes)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        self.end(self._local(tag))
