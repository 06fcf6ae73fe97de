"""Messages of Chakra's protobuf schema, as far as they are read; what else a message holds is passed over."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from simsched.errors import MissingExtraError

_SCALARS = {
    3: "double", 5: "float", 7: "int32", 9: "int64", 11: "uint32", 13: "uint64", 15: "sint32", 17: "sint64",
    19: "fixed32", 21: "fixed64", 23: "sfixed32", 25: "sfixed64", 27: "bool", 29: "string",
}  # fmt: skip
#: Fields by message: number, name, type, whether repeated. `bytes` where text may be no UTF-8.
_FIELDS: dict[str, list[tuple[int, str, str, bool]]] = {
    "Attribute": [
        (1, "name", "bytes", False),
        *((number, kind, "bytes" if kind == "string" else kind, False) for number, kind in _SCALARS.items()),
    ],
    "Metadata": [(1, "version", "bytes", False), (2, "attr", "Attribute", True)],
    "Sides": [(1, "values", "bytes", False), (2, "shapes", "bytes", False), (3, "types", "bytes", False)],
    "Node": [
        (1, "id", "uint64", False), (2, "name", "bytes", False), (3, "type", "uint64", False),
        (4, "ctrl_deps", "uint64", True), (5, "data_deps", "uint64", True),
        (6, "start_us", "uint64", False), (7, "duration_us", "uint64", False),
        (8, "inputs", "Sides", False), (9, "outputs", "Sides", False), (10, "attr", "Attribute", True),
    ],
}  # fmt: skip
_PACKAGE = "simsched_chakra"


@cache
def messages() -> dict[str, Any]:
    """Return the classes of the messages by name: `Metadata`, `Node`, `Attribute`, `Sides`.

    Raises
    ------
    MissingExtraError
        If protobuf is not installed.
    """
    try:
        descriptors = import_module("google.protobuf.descriptor_pb2")
        pool = import_module("google.protobuf.descriptor_pool")
        factory = import_module("google.protobuf.message_factory")
    except ImportError:
        raise MissingExtraError("protobuf", "formats", "reading Chakra traces") from None
    # Presence of every field, as the schema has it for values of attributes: false and 0 are told, not left out.
    file = descriptors.FileDescriptorProto(name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto2")
    field = descriptors.FieldDescriptorProto
    for message, fields in _FIELDS.items():
        held = file.message_type.add(name=message)
        for number, name, kind, repeated in fields:
            label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
            column = held.field.add(number=number, name=name, label=label)
            if kind in _FIELDS:
                column.type, column.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
            else:
                column.type = getattr(field, f"TYPE_{kind.upper()}")
    known = pool.DescriptorPool()
    known.Add(file)
    return {
        name: factory.GetMessageClass(known.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _FIELDS
    }


def attributes(message: Any) -> dict[str, Any]:
    """Return the scalar attributes of a node or of the metadata by name; lists are passed over."""
    found: dict[str, Any] = {}
    for attribute in message.attr:
        for field, value in attribute.ListFields():
            if field.name != "name":
                plain = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
                found[attribute.name.decode("utf-8", "replace")] = plain
    return found
