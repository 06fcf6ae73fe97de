"""Protobuf files from nobody knows whom: the outer messages part by part, text whole, so that memory stays bounded.

A message of two bytes may take a hundred in memory: the outer messages are walked here, and only the innermost ones,
one at a time, are handed to the library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.loading import Mend, open_plain, read_bounded
from simsched.traces.tensorflow.schema import messages

#: The limit of a protobuf message.
MAX_BINARY_B = 2**31 - 1
#: Text is read some 3 MB a second, and this is the text of 18,000 nodes.
MAX_TEXT_B = 32 * 1024 * 1024
LENGTH_DELIMITED = 2
#: Bytes of a fixed field, by wire type.
_FIXED_B = {1: 8, 5: 4}


@dataclass(frozen=True)
class Part:
    """A message inside a file: where it begins, and its bytes.

    Parameters
    ----------
    path : Path
        The file, for messages.
    data : memoryview
        The bytes of the message.
    file_B : int
        How many bytes the file has.
    at_B : int
        Where they begin in the file.
    mend : callable or None
        If given, a message that is cut off ends where the file does.
    """

    path: Path
    data: memoryview
    file_B: int
    at_B: int = 0
    mend: Mend | None = None

    def wrong(self, problem: str) -> FormatError:
        """Return the error of this message."""
        return FormatError(f"{self.path}: the message at byte {self.at_B}: {problem}")

    def parts(self, **numbers: int) -> Iterator[tuple[str, Part]]:
        """Yield the messages and texts in it that have one of the given field numbers, by the name given to each.

        Raises
        ------
        FormatError
            If it is no protobuf message, or is cut off and there is no `mend`.
        """
        names = {number: name for name, number in numbers.items()}
        at = 0
        while at < len(self.data):
            tag, at = self._varint(at)
            number, kind = tag >> 3, tag & 7
            if kind == LENGTH_DELIMITED:
                length, at = self._varint(at)
                end = self._end(at + length)
                if number in names:
                    yield (
                        names[number],
                        Part(self.path, self.data[at:end], self.file_B, self.at_B + at, self.mend),
                    )
                at = end
            elif kind == 0:
                _, at = self._varint(at)
            elif kind in _FIXED_B:
                at = self._end(at + _FIXED_B[kind])
            else:
                raise self.wrong(f"wire type {kind} near its byte {at}; is this a protobuf file?")

    def parsed(self, kind: str) -> Any | None:
        """Return the message as one of `MESSAGES`; None where it is cut off and there is a `mend`."""
        message = messages()[kind]()
        from google.protobuf.message import DecodeError

        try:
            message.ParseFromString(bytes(self.data))
        except DecodeError:
            if self.mend is not None and self._last():
                self._tell(self.mend)
                return None
            raise self.wrong(f"not a message {kind}; is the file cut off or of another kind?") from None
        return message

    def _last(self) -> bool:
        return self.at_B + len(self.data) == self.file_B

    def _tell(self, mend: Mend) -> None:
        mend(f"the file is cut off in the message at byte {self.at_B}; what is complete before that was read")

    def _end(self, end: int) -> int:
        if end <= len(self.data):
            return end
        if self.mend is None:
            raise self.wrong(
                "it is cut off; was the file copied completely? tolerant=true keeps what is complete"
            )
        return len(self.data)

    def _varint(self, at: int) -> tuple[int, int]:
        value = 0
        for i, byte in enumerate(self.data[at : at + 10]):
            value |= (byte & 127) << 7 * i
            if byte < 128:
                return value, at + i + 1
        if self.mend is not None and len(self.data) - at < 10 and self._last():
            return 0, len(self.data)
        raise self.wrong("a number without an end; is this a protobuf file?")


def read_bytes(path: Path, mend: Mend | None = None) -> bytes:
    """Return the bytes of a file, decompressed.

    Raises
    ------
    FormatError
        If there are more than a protobuf message may have.
    """
    with open_plain(path, mend) as file:
        data = read_bounded(file, MAX_BINARY_B + 1)
    if len(data) > MAX_BINARY_B:
        raise FormatError(
            f"{path}: larger than {MAX_BINARY_B} bytes, the limit of a protobuf message; refused"
        )
    return data


def parse_text(path: Path, data: bytes, kind: str) -> Any:
    """Return a file in protobuf's text form as one of `MESSAGES`.

    Raises
    ------
    FormatError
        If it is too large, or no such text; the message gives line and column.
    """
    message = messages()[kind]()
    from google.protobuf import text_format

    if len(data) > MAX_TEXT_B:
        raise FormatError(f"{path}: more than {MAX_TEXT_B} bytes of text; record the binary form instead")
    try:
        text = data.decode()
        return text_format.Parse(text, message, allow_unknown_field=True)
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 text at byte {error.start}") from None
    except text_format.ParseError as error:
        raise FormatError(f"{path}: not the text of a {kind}: line {str(error)[:200]}") from None
    except RecursionError:
        raise FormatError(f"{path}: not the text of a {kind}: values nested too deep; refused") from None
    except ValueError as error:  # a number of thousands of digits, for one
        raise FormatError(f"{path}: not the text of a {kind}: {str(error)[:200]}") from None
