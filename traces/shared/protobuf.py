"""Protobuf messages from a table of their fields, without their original definition files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simsched.errors import MissingExtraError


def message_classes(
    package: str,
    messages: Mapping[str, str],
    reading: str,
    enums: Mapping[str, Mapping[str, int]] | None = None,
) -> dict[str, Any]:
    r"""Return the classes of messages by name.

    Every field has presence (`proto2`): false and 0 are written, not left out. Other content of a message than
    the fields of the table is skipped.

    Parameters
    ----------
    package : str
        Unique name of this set of messages.
    messages : mapping of str to str
        Of each message its fields, `NAME NUMBER TYPE` with commas between. A type is one of protobuf's, a message or an
        enum; `*` after it marks a repeated field.
    reading : str
        Purpose of the library, for the message if it is missing: `reading TensorFlow's files`.
    enums : mapping of str to mapping, optional
        Of each enum the numbers of its values by name.

    Raises
    ------
    MissingExtraError
        If the library `protobuf` is not installed.

    Examples
    --------
    >>> classes = message_classes("doctest", {"Edge": "before 1 int32, after 2 int32"}, "reading edges")
    >>> classes["Edge"](before=1, after=2).SerializeToString()
    b'\x08\x01\x10\x02'
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise MissingExtraError("protobuf", "formats", reading) from None
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto2")
    for enum, numbers in (enums or {}).items():
        values = file.enum_type.add(name=enum).value
        for name, number in numbers.items():
            values.add(name=name, number=number)
    for message, fields in messages.items():
        described = file.message_type.add(name=message)
        for told in fields.split(", "):
            _describe(described.field.add(), package, set(messages), set(enums or ()), *told.split())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in messages
    }


def _describe(
    field: Any, package: str, messages: set[str], enums: set[str], name: str, number: str, kind: str
) -> None:
    """Fill in a field's descriptor."""
    field.name, field.number = name, int(number)
    field.label = field.LABEL_REPEATED if kind.endswith("*") else field.LABEL_OPTIONAL
    kind = kind.removesuffix("*")
    if kind in messages or kind in enums:
        field.type = field.TYPE_ENUM if kind in enums else field.TYPE_MESSAGE
        field.type_name = f".{package}.{kind}"
    else:
        field.type = getattr(field, f"TYPE_{kind.upper()}")
