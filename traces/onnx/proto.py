"""An ONNX file as the message it holds, within limits; files that it names are never opened."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from simsched.errors import FormatError, MissingExtraError
from simsched.graph.loading import open_plain, read_bounded

#: The limit of a protobuf message; a larger model keeps its weights in other files, which are not read.
MAX_MODEL_B = 2**31 - 1
#: Of `ModelProto`: the numbers of its fields with their wire types.
FIELDS = {1: 0, 2: 2, 3: 2, 4: 2, 5: 0, 6: 2, 7: 2, 8: 2, 14: 2, 20: 2, 25: 2, 26: 2}
GRAPH, OPSETS = 7, 8
MAX_IR_VERSION = 99


def read_proto(file: Path) -> Any:
    """Return the `ModelProto` of a file, plain or gzipped.

    Raises
    ------
    FormatError
        If the file is empty, too large, or none.
    MissingExtraError
        If the library `onnx` is not installed.
    """
    try:
        import onnx

        # Comes with onnx, and without types.
        message = import_module("google.protobuf.message")
    except ImportError:
        raise MissingExtraError("onnx", "formats", "reading an ONNX model") from None
    data = _content(file)
    try:
        return onnx.load_model_from_string(data)
    except (message.DecodeError, ValueError) as error:
        raise FormatError(f"{file}: not an ONNX model ({error}); was it copied completely?") from None


def _content(file: Path) -> bytes:
    with open_plain(file) as stream:
        # A compressed file is no smaller than what it is refused for, but for a few bytes.
        data = read_bounded(stream, MAX_MODEL_B + 1) if file.stat().st_size <= MAX_MODEL_B else None
    if data is None or len(data) > MAX_MODEL_B:
        raise FormatError(
            f"{file}: larger than {MAX_MODEL_B} bytes, the most an ONNX model can have; save it with its weights "
            "beside it: onnx.save_model(model, path, save_as_external_data=True). They are not needed here"
        )
    if not data:
        raise FormatError(f"{file}: the file is empty; expected an ONNX model")
    return data


def library_errors() -> tuple[type[Exception], ...]:
    """Return what the library raises on models that it does not understand."""
    from onnx.checker import ValidationError
    from onnx.shape_inference import InferenceError

    return ValidationError, InferenceError, RuntimeError, ValueError, TypeError, IndexError, OverflowError


def bodies(node: Any) -> Iterator[Any]:
    """Yield the graphs that a node runs: branches, loop bodies."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def starts_as_model(head: bytes) -> bool:
    """Tell whether bytes start as a `ModelProto`: the version first, then only its fields, up to its graph.

    Examples
    --------
    >>> starts_as_model(bytes([0x08, 10, 0x3A, 4, 0x0A, 2, 0x22, 0])), starts_as_model(b"hello")
    (True, False)
    """
    if len(head) < 3 or head[0] != 0x08 or not 0 < head[1] <= MAX_IR_VERSION:
        return False
    at, seen = 0, set()
    while at < len(head):
        tag, at = _varint(head, at)
        field, wire = tag >> 3, tag & 7
        if FIELDS.get(field) != wire:
            return False
        seen.add(field)
        value, at = _varint(head, at)
        if field == GRAPH and value and at < len(head):
            # Of a graph: nodes, a name, or what else is a message or text.
            return head[at] & 7 == 2 and 1 <= head[at] >> 3 <= 15
        at += value if wire == 2 else 0
    # What lies beyond the head is a long field of a model, or the end of an empty one.
    return bool(seen & {GRAPH, OPSETS} or 2 in seen)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that starts at a byte, and where the next one starts; 0 where it does not end."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            return value, at
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    return 0, len(data)
