"""Messages of Chakra's protobuf schema, as far as they are read; what else a message holds is passed over."""

from __future__ import annotations

from functools import cache
from typing import Any

from simsched.traces.shared.protobuf import message_classes

_SCALARS = {
    3: "double", 5: "float", 7: "int32", 9: "int64", 11: "uint32", 13: "uint64", 15: "sint32", 17: "sint64",
    19: "fixed32", 21: "fixed64", 23: "sfixed32", 25: "sfixed64", 27: "bool", 29: "string",
}  # fmt: skip
#: Name, number and type of each field; `*` marks repeated ones. `bytes` where text may be no UTF-8.
_MESSAGES = {
    "Attribute": "name 1 bytes, "
    + ", ".join(
        f"{kind} {number} {'bytes' if kind == 'string' else kind}" for number, kind in _SCALARS.items()
    ),
    "Metadata": "version 1 bytes, attr 2 Attribute*",
    "Sides": "values 1 bytes, shapes 2 bytes, types 3 bytes",
    "Node": (
        "id 1 uint64, name 2 bytes, type 3 uint64, ctrl_deps 4 uint64*, data_deps 5 uint64*, start_us 6 uint64, "
        "duration_us 7 uint64, inputs 8 Sides, outputs 9 Sides, attr 10 Attribute*"
    ),
}


@cache
def messages() -> dict[str, Any]:
    """Return the classes of the messages by name: `Metadata`, `Node`, `Attribute`, `Sides`.

    Raises
    ------
    MissingExtraError
        If protobuf is not installed.
    """
    return message_classes("simsched_chakra", _MESSAGES, "reading Chakra traces")


def attributes(message: Any) -> dict[str, Any]:
    """Return the scalar attributes of a node or of the metadata by name; lists are passed over."""
    found: dict[str, Any] = {}
    for attribute in message.attr:
        for field, value in attribute.ListFields():
            if field.name != "name":
                plain = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
                found[attribute.name.decode("utf-8", "replace")] = plain
    return found
