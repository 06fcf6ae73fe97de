"""Protobuf files from untrusted sources: the outer messages part by part, text whole, in bounded memory.

A message of two bytes may take a hundred in memory: the outer messages are walked here, and only the innermost ones,
one at a time, are handed to the library.

Strings are declared as bytes, which is the same in a file, so that a broken name is not a broken file; fields not
listed here are skipped.

References
----------
tensorflow/core/protobuf/config.proto (`RunMetadata`), tensorflow/core/framework: step_stats.proto, graph.proto,
node_def.proto, attr_value.proto, tensor_description.proto, tensor_shape.proto, types.proto.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.loading import Mend, open_plain, read_bounded
from simsched.text import one_line
from simsched.traces.shared.protobuf import message_classes
from simsched.traces.shared.wire import BYTES, FIXED_B, VARINT, varint

#: Element types by their numbers; of a reference it is 100 more.
DTYPES = re.findall(
    r"\w+",
    "INVALID FLOAT DOUBLE INT32 UINT8 INT16 INT8 STRING COMPLEX64 INT64 BOOL QINT8 QUINT8 QINT32 BFLOAT16 QINT16 "
    "QUINT16 UINT16 COMPLEX128 HALF RESOURCE VARIANT UINT32 UINT64 FLOAT8_E5M2 FLOAT8_E4M3FN FLOAT8_E4M3FNUZ "
    "FLOAT8_E4M3B11FNUZ FLOAT8_E5M2FNUZ INT4 UINT4 INT2 UINT2 FLOAT4_E2M1FN",
)
REFERENCE = 100

#: Name, number and type of each field; `*` marks repeated ones.
MESSAGES = {
    "RunMetadata": "step_stats 1 StepStats, partition_graphs 3 GraphDef*, function_graphs 4 FunctionGraphs*",
    "FunctionGraphs": "partition_graphs 1 GraphDef*",
    "StepStats": "dev_stats 1 DeviceStepStats*",
    "DeviceStepStats": "device 1 bytes, node_stats 2 NodeExecStats*, thread_names 3 ThreadName*",
    "ThreadName": "key 1 uint32, value 2 bytes",
    "NodeExecStats": (
        "node_name 1 bytes, all_start_micros 2 int64, op_start_rel_micros 3 int64, op_end_rel_micros 4 int64, "
        "all_end_rel_micros 5 int64, output 7 NodeOutput*, timeline_label 8 bytes, scheduled_micros 9 int64, "
        "thread_id 10 uint32, all_start_nanos 13 int64, op_start_rel_nanos 14 int64, op_end_rel_nanos 15 int64, "
        "all_end_rel_nanos 16 int64, scheduled_nanos 17 int64"
    ),
    "NodeOutput": "slot 1 int32, tensor_description 3 TensorDescription",
    "TensorDescription": "dtype 1 DataType, shape 2 Shape",
    "Shape": "dim 2 Dim*, unknown_rank 3 bool",
    "Dim": "size 1 int64",
    "GraphDef": "node 1 NodeDef*, versions 4 Versions",
    "Versions": "producer 1 int32",
    "NodeDef": "name 1 bytes, op 2 bytes, input 3 bytes*, device 4 bytes, attr 5 Attribute*",
    "Attribute": "key 1 bytes, value 2 Value",
    "Value": "list 1 List, s 2 bytes, i 3 int64, b 5 bool, type 6 DataType, shape 7 Shape",
    "List": "s 2 bytes*, i 3 int64*, b 5 bool*, type 6 DataType*, shape 7 Shape*",
}


@cache
def messages() -> dict[str, Any]:
    """Return the classes of all messages, by name.

    Raises
    ------
    MissingExtraError
        If the library `protobuf` is not installed.
    """
    types = {f"DT_{name}": number for number, name in enumerate(DTYPES)}
    types |= {f"{name}_REF": number + REFERENCE for name, number in types.items()}
    return message_classes("simsched_tensorflow", MESSAGES, "reading TensorFlow's files", {"DataType": types})


#: The limit of a protobuf message.
MAX_BINARY_B = 2**31 - 1
#: Text is read at some 3 MB per second, and this is the text of 18,000 nodes.
MAX_TEXT_B = 32 * 1024 * 1024
#: Of the outer messages, which are walked one by one, a few millions per second.
MAX_FIELDS = 4_000_000
#: Nodes and records have some 300 bytes; only constants are long.
MAX_LEAF_B = 1024 * 1024
LONG_FIELD_B = 64 * 1024


@dataclass
class Source:
    """A file during the walk.

    Parameters
    ----------
    path : Path
        The file, for messages.
    size_B : int
        How many bytes it has.
    mend : callable or None
        If given, a message that is cut off ends where the file does; and is called once.
    fields : int
        How many fields were walked.
    """

    path: Path
    size_B: int
    mend: Mend | None = None
    fields: int = 0
    _told: bool = False

    def count(self) -> None:
        """Count one more field, or raise `FormatError` if there are too many."""
        self.fields += 1
        if self.fields > MAX_FIELDS:
            raise FormatError(f"{self.path}: more than {MAX_FIELDS} fields; refused")

    def tell(self, at_B: int) -> None:
        """Report a message that is cut off."""
        if self.mend is not None and not self._told:
            self.mend(
                f"the file is cut off in the message at byte {at_B}; what is complete before that was read"
            )
            self._told = True


@dataclass(frozen=True)
class Part:
    """A message inside a file.

    Parameters
    ----------
    source : Source
        The file.
    data : memoryview
        The bytes of the message.
    at_B : int
        Where they begin in the file.
    """

    source: Source
    data: memoryview
    at_B: int = 0

    def wrong(self, problem: str) -> FormatError:
        """Return the error of this message."""
        return FormatError(f"{self.source.path}: the message at byte {self.at_B}: {problem}")

    def parts(self, **numbers: int) -> Iterator[tuple[str, Part]]:
        """Yield the contained messages and texts with the given field numbers, by the name of each.

        Raises
        ------
        FormatError
            If it is not a protobuf message, or is cut off and there is no `mend`.
        """
        names = {number: name for name, number in numbers.items()}
        for number, _, payload, end in self._fields():
            if number in names:
                yield names[number], Part(self.source, self.data[payload:end], self.at_B + payload)

    def parsed(self, kind: str) -> Any | None:
        """Return the message as one of `MESSAGES`; None where it is cut off and there is a `mend`.

        Of a long one, long fields are left out: constants have their values among their attributes.

        Raises
        ------
        FormatError
            If it is no such message.
        """
        message = messages()[kind]()
        from google.protobuf.message import DecodeError

        try:
            message.ParseFromString(
                bytes(self.data) if len(self.data) <= MAX_LEAF_B else self._short_fields()
            )
        except DecodeError:
            if self.source.mend is not None and self._last():
                self.source.tell(self.at_B)
                return None
            raise self.wrong(f"not a message {kind}; is the file cut off or of another kind?") from None
        return message

    def _short_fields(self) -> bytes:
        kept = b"".join(self.data[a:end] for _, a, _, end in self._fields() if end - a <= LONG_FIELD_B)
        if len(kept) > MAX_LEAF_B:
            raise self.wrong(f"a node or record of more than {MAX_LEAF_B} bytes; refused")
        return kept

    def _fields(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield number, begin, begin of the value and end of every field; number 0 for neither message nor text."""
        at = 0
        while at < len(self.data):
            self.source.count()
            begin = at
            tag, at = self._varint(at)
            number, kind = tag >> 3, tag & 7
            if kind == BYTES:
                length, payload = self._varint(at)
                at = self._end(payload + length)
                yield number, begin, payload, at
                continue
            if kind == VARINT:
                _, at = self._varint(at)
            elif kind in FIXED_B:
                at = self._end(at + FIXED_B[kind])
            else:
                raise self.wrong(f"wire type {kind} near its byte {at}; is this a protobuf file?")
            yield 0, begin, at, at

    def _last(self) -> bool:
        return self.at_B + len(self.data) == self.source.size_B

    def _end(self, end: int) -> int:
        if end <= len(self.data):
            return end
        if self.source.mend is None or not self._last():
            raise self.wrong(
                "it is cut off; was the file copied completely? tolerant=true keeps what is complete"
            )
        self.source.tell(self.at_B)
        return len(self.data)

    def _varint(self, at: int) -> tuple[int, int]:
        value, after = varint(self.data, at)
        if after:
            return value, after
        if self.source.mend is not None and len(self.data) - at < 10 and self._last():
            self.source.tell(self.at_B)
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
        return text_format.Parse(data.decode(), message, allow_unknown_field=True)
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 text at byte {error.start}") from None
    except text_format.ParseError as error:
        raise FormatError(f"{path}: not the text of a {kind}: line {one_line(str(error))}") from None
    except RecursionError:
        raise FormatError(f"{path}: not the text of a {kind}: values nested too deep; refused") from None
    except ValueError as error:  # a number of thousands of digits, for one
        raise FormatError(f"{path}: not the text of a {kind}: {one_line(str(error))}") from None
