"""Streaming JSON from untrusted files: one value at a time, exact numbers, bounded memory."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from simsched.errors import FormatError, require
from simsched.graph.loading import Mend, open_plain

#: Between values they are white space, within texts not allowed: a space is right in both places.
_TO_SPACES = bytes.maketrans(bytes(range(32)), b" " * 32)
_NEVER_ALLOWED = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BACKSLASH = re.compile(rb'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|)')
#: The beginning of an escape that the next chunk may complete.
_OPEN_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)\Z")
_REPLACED = "�".encode()
#: Non-numbers as written by printf and Python, after the colon of a member.
_NO_NUMBER = re.compile(rb"(:[ ]{0,64})-?(?:nan(?:\([a-z]{0,8}\))?|inf|NaN|Infinity)(?=[ ]{0,64}[,}])")
#: Part of a member, from the end of its name, that the next chunk may complete.
_OPEN_MEMBER = re.compile(rb'(?<!\\)(?:\\\\)*"[ ]{0,64}(?::[ ]{0,64}(?:[-A-Za-z()]{1,15}[ ]{0,64})?)?\Z')
#: Its largest distance from the end.
_BACK_B = 256
#: The parser's message, where its excerpt has an opening bracket at the place of the error.
_SECOND = re.compile(r"trailing garbage\n.{39}[{\[]")
#: Prefixes whose builders are remembered.
_MOST_ROUTES = 10_000


def mended(chunks: Iterable[bytes], mend: Mend) -> Iterator[bytes]:
    r"""Yield the text of chunks, mended for a strict parser; report the first change.

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
    decoder, held, noted, before = codecs.getincrementaldecoder("utf-8")("replace"), b"", False, b""
    for chunk in chunks:
        text = decoder.decode(chunk).encode()
        raw = before + chunk
        changed = _NEVER_ALLOWED.search(text) is not None or text.count(_REPLACED) > raw.count(_REPLACED)
        # A U+FFFD of the text itself, of three bytes, counts in the chunk where it ends.
        before = raw[-2:]
        text = held + text
        held = found[1] if (found := _OPEN_ESCAPE.search(text)) else b""
        text = text[: len(text) - len(held)]
        valid = _BACKSLASH.sub(_doubled, text)
        if not noted and (changed or len(valid) > len(text)):
            noted = True
            mend("characters that JSON does not allow were replaced")
        yield valid.translate(_TO_SPACES)
    yield held


def _doubled(found: re.Match[bytes]) -> bytes:
    return b"\\\\" if found[1] is None else found[0]


def _without_no_numbers(chunks: Iterable[bytes], mend: Mend) -> Iterator[bytes]:
    held, noted = b"", False
    for chunk in chunks:
        text = held + chunk
        found = _OPEN_MEMBER.search(text, max(len(text) - _BACK_B, 0))
        held = found[0] if found else b""
        text = text[: len(text) - len(held)]
        valid = _NO_NUMBER.sub(_absent, text)
        if not noted and valid != text:
            noted = True
            mend("numbers that JSON does not allow (nan, inf) are taken as absent")
        yield valid
    yield held


def _absent(found: re.Match[bytes]) -> bytes:
    """Return null after a member's name and colon; a text may contain anything."""
    before = found.string[max(found.start() - _BACK_B, 0) : found.start()].rstrip(b" ")
    name = before.removesuffix(b'"')
    escaped = (len(name) - len(name.rstrip(b"\\"))) % 2
    return found[0] if name == before or escaped else found[1] + b"null"


CHUNK_B = 64 * 1024
#: Real traces nest less than ten deep; the parser's memory grows with the square of the depth.
MAX_DEPTH = 100
#: The parser builds one value at a time; the largest real ones are below 1 MB. A text that spans chunks costs it the
#: square of its length.
MAX_VALUE_B = 16 * 1024 * 1024
#: The parser's C code does not survive integers of more digits than Python converts (4300).
MAX_DIGITS = 1000
_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % MAX_DIGITS)
#: Change of depth by each byte, outside texts.
STEPS = np.zeros(256, np.int8)
STEPS[[ord("["), ord("{")]] = 1
STEPS[[ord("]"), ord("}")]] = -1


def shown(value: object, most: int = 60) -> str:
    """Return a value as quoted in error messages: on one line, and cut where it is long."""
    try:
        cut = value[: most + 1] if isinstance(value, str | bytes | list) else value
        text = str(cut) if isinstance(cut, Decimal) else repr(cut)
    except (ValueError, RecursionError):  # thousands of digits, thousands of brackets
        text = f"a {type(value).__name__} too large to show"
    return text if len(text) <= most else text[:most] + "..."


class _Guard:
    """Guard against text that would make the parser crash or eat memory: deep nesting, endless numbers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._in_string, self._escape, self._depth = False, b"", 0

    def check(self, chunk: bytes, offset_B: int) -> None:
        """Raise `FormatError` if the file, read up to this chunk, nests too deep or holds an endless number."""
        outside = self._outside_strings(chunk)
        if _LONG_NUMBER.search(outside):
            raise FormatError(
                f"{self._path}: near byte {offset_B}: a number of more than {MAX_DIGITS} digits; refused"
            )
        depths = np.cumsum(STEPS[np.frombuffer(outside, np.uint8)], dtype=np.int64) + self._depth
        if len(depths):
            self._depth = int(depths[-1])
            if depths.max() > MAX_DEPTH:
                raise too_deep(self._path, offset_B)

    def _outside_strings(self, chunk: bytes) -> bytes:
        chunk = (self._escape + chunk).replace(b"\\\\", b"").replace(b'\\"', b"")
        self._escape = b"\\" if chunk.endswith(b"\\") else b""
        pieces = chunk.removesuffix(b"\\").split(b'"')
        outside = b" ".join(pieces[self._in_string :: 2])
        self._in_string ^= len(pieces) % 2 == 0
        return outside


def stream(path: Path, *prefixes: str, mend: Mend | None = None) -> Iterator[tuple[str, Any]]:
    """Yield (prefix, value) for every value of a JSON file under one of `prefixes`, in file order.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    *prefixes : str
        As ijson writes them: `traceEvents.item` is every element of the top-level array `traceEvents`.
    mend : callable, optional
        If given, characters that JSON does not allow are replaced, a file that is cut off ends after its last complete
        value, and `mend` is called with a sentence.

    Raises
    ------
    FormatError
        If the file is not JSON, is cut off, or would need unbounded memory.
    MissingExtraError
        If ijson is not installed.
    """
    parser = Parser(path, *prefixes)
    offset_B = last_value_B = 0
    with open_plain(path, mend) as file:
        for chunk in chunks(file, mend, CHUNK_B):
            parser.check(chunk)
            try:
                parser.feed(chunk)
            except FormatError as error:
                yield from parser.values()
                give_up(error, mend)
                return
            offset_B += len(chunk)
            noted = False
            for value in parser.values():
                noted = True
                yield value
            if noted:
                last_value_B = offset_B
            elif offset_B - last_value_B > MAX_VALUE_B:
                raise FormatError(
                    f"{path}: near byte {offset_B}: more than {MAX_VALUE_B} bytes without the end of a value that is "
                    f"read ({', '.join(prefixes)}); refused; take out what else the file holds"
                )
    try:
        parser.close()
    except FormatError as error:
        give_up(error, mend)
    yield from parser.values()


class Parser:
    """ijson's parser of some prefixes of one file, after a guard.

    Raises
    ------
    MissingExtraError
        If ijson is not installed.
    """

    def __init__(self, path: Path, *prefixes: str) -> None:
        require("ijson", "formats", "reading JSON traces")
        import ijson

        self._path, self._offset_B, self._guard = path, 0, _Guard(path)
        self._queues: dict[str, list[Any]] = {prefix: ijson.sendable_list() for prefix in prefixes}
        self._parser = (
            ijson.items_coro(self._queues[prefixes[0]], prefixes[0])
            if len(prefixes) == 1
            else ijson.parse_coro(_Router(self._queues))
        )

    def check(self, chunk: bytes) -> None:
        """Raise `FormatError` if the parser would not survive the next piece of the file."""
        self._guard.check(chunk, self._offset_B)

    def feed(self, chunk: bytes, offset_B: int | None = None) -> None:
        """Parse the next piece of the file, or raise `FormatError`; values complete before are kept.

        Parameters
        ----------
        chunk : bytes
            The piece.
        offset_B : int, optional
            Its offset in the file; by default after the bytes fed so far.
        """
        if offset_B is not None:
            self._offset_B = offset_B
        if (error := _parse(self._parser.send, self._path, self._offset_B, chunk)) is not None:
            raise error
        self._offset_B += len(chunk)

    def close(self) -> None:
        """Raise `FormatError` if the file is not complete."""
        if (error := _parse(self._parser.close, self._path, self._offset_B)) is not None:
            raise error

    def values(self) -> Iterator[tuple[str, Any]]:
        """Yield (prefix, value) for every value that became complete since the last call."""
        for prefix, queue in self._queues.items():
            for value in queue:
                yield prefix, value
            queue.clear()


class _Router:
    """Hands the events of one parser to the builders of the values of each prefix; a parser for each is slow."""

    def __init__(self, queues: Mapping[str, list[Any]]) -> None:
        import ijson

        items = ijson.get_backend(ijson.backend).items_basecoro
        self._builders = {prefix: items(queue, prefix).send for prefix, queue in queues.items()}
        self._routes: dict[str, list[Callable[[Any], object]]] = {}

    def send(self, event: tuple[str, str, Any]) -> None:
        """Take an event: its prefix, its kind and its value."""
        prefix = event[0]
        route = self._routes.get(prefix)
        if route is None:
            route = self._route(prefix)
        for send in route:
            send(event)

    def _route(self, prefix: str) -> list[Callable[[Any], object]]:
        if len(self._routes) >= _MOST_ROUTES:
            # A file has as many keys as it likes.
            self._routes.clear()
        found = [
            send
            for wanted, send in self._builders.items()
            if not wanted or prefix == wanted or prefix.startswith(f"{wanted}.")
        ]
        self._routes[prefix] = found
        return found

    def close(self) -> None:
        """Take note that there are no more events."""


def chunks(file: BinaryIO, mend: Mend | None, size_B: int) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces, mended where `mend` is given."""
    pieces = iter(lambda: file.read(size_B), b"")
    return pieces if mend is None else mended(pieces, mend)


def give_up(error: FormatError, mend: Mend | None) -> None:
    """Raise the error, or report what was read in spite of it."""
    if mend is None:
        raise FormatError(f"{error}; tolerant=true keeps what is complete") from None
    mend(f"{error}; what is complete before that was read")


def too_deep(path: Path, offset_B: int) -> FormatError:
    """Return the error of values nested too deep."""
    return FormatError(f"{path}: near byte {offset_B}: values nested more than {MAX_DEPTH} deep; refused")


def cut_off(path: Path, offset_B: int) -> FormatError:
    """Return the error of a file that ends too early."""
    return FormatError(
        f"{path}: the JSON is cut off at byte {offset_B}; was the copy or the recording interrupted?"
    )


def _parse(step: Callable[..., object], path: Path, offset_B: int, *chunk: bytes) -> FormatError | None:
    """Advance one parser; return the error of the text."""
    from ijson import JSONError

    try:
        step(*chunk)
    except StopIteration:
        return None
    except (JSONError, UnicodeError, ArithmeticError, ValueError) as error:
        return _story(path, offset_B, error)
    return None


def _story(path: Path, offset_B: int, error: Exception) -> FormatError:
    # The parser adds an excerpt of the file on further lines, as bytes where it is not UTF-8.
    said = error.args[0] if error.args else ""
    text = (said.decode("ascii", "replace") if isinstance(said, bytes) else str(error)).strip()
    line = text.split("\n")[0]
    if "premature" in line or "ncomplete" in line:
        return cut_off(path, offset_B)
    if _SECOND.search(text):
        line = "two documents follow each other, as where a file was put behind another"
    return FormatError(f"{path}: not valid JSON near byte {offset_B}: {line[:100] or type(error).__name__}")
