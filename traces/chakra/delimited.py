"""Protobuf messages one after the other, each after its length."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from simsched.errors import FormatError
from simsched.graph.loading import Mend, open_plain, read_bounded

#: A node of thousands of tensors has some 100 kB.
MAX_MESSAGE_B = 64 * 1024 * 1024
_MAX_VARINT_B = 10
_VERSION, _ATTRIBUTE, _ID, _NAME = b"\x0a", b"\x12", b"\x08", b"\x12"


def messages_in(path: Path, mend: Mend | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield byte position and content of every message of a file.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    mend : callable, optional
        If given, a message that is cut off ends the file, and `mend` is told so.

    Raises
    ------
    FormatError
        If a message is cut off or longer than any can be.
    """
    at = 0
    with open_plain(path, mend) as file:
        while (length := _length(file, path, at)) is not None:
            size_B, prefix_B = length
            if size_B > MAX_MESSAGE_B:
                raise FormatError(
                    f"{path}: byte {at}: a message of {size_B} bytes; {MAX_MESSAGE_B} at most are read; the file is "
                    "damaged, or no Chakra trace"
                )
            content = read_bounded(file, size_B)
            if len(content) < size_B:
                _cut_off(path, at, mend)
                return
            yield at, content
            at += prefix_B + size_B


def _length(file: BinaryIO, path: Path, at: int) -> tuple[int, int] | None:
    value = 0
    for number in range(_MAX_VARINT_B):
        byte = file.read(1)
        if not byte:
            return (1, number) if number else None
        value |= (byte[0] & 0x7F) << (7 * number)
        if byte[0] < 0x80:
            return value, number + 1
    raise FormatError(f"{path}: byte {at}: no length of a message; the file is damaged, or no Chakra trace")


def _cut_off(path: Path, at: int, mend: Mend | None) -> None:
    story = f"{path}: the message at byte {at} is cut off"
    if mend is None:
        raise FormatError(f"{story}; was the copy interrupted? tolerant=true keeps what is complete")
    mend(f"{story}; what is complete before that was read")


def looks_delimited(head: bytes) -> bool:
    r"""Tell whether a file begins with Chakra's metadata and a node, each after its length.

    Examples
    --------
    >>> looks_delimited(b"\x07\x0a\x050.0.4" + b"\x05\x08\x01\x12\x01a")
    True
    """
    first = _split(head)
    second = first and _split(first[1])
    if not first or not second:
        return False
    metadata, node = first[0], second[0]
    told = not metadata or (metadata[:1] in (_VERSION, _ATTRIBUTE) and _within(metadata))
    numbered = node[:1] == _ID and node[1:].lstrip(bytes(range(0x80, 0x100)))[1:2] == _NAME
    return bool(told and (numbered or (node[:1] == _NAME and _within(node))))


def _within(message: bytes) -> bool:
    """Tell whether the first field of a message, a text or a message, is as long as it says."""
    return _split(message[1:], complete=True) is not None


def _split(data: bytes, complete: bool = False) -> tuple[bytes, bytes] | None:
    value = 0
    for number, byte in enumerate(data[:_MAX_VARINT_B]):
        value |= (byte & 0x7F) << (7 * number)
        if byte < 0x80:
            start = number + 1
            if complete and start + value > len(data):
                return None
            return data[start : start + value], data[start + value :]
    return None
