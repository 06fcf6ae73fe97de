"""Messages of TensorFlow's protobuf files, and files in their text form, from untrusted sources.

Strings are declared as bytes, which is the same in a file, so that a broken name is not a broken file; fields not
listed here are skipped.

References
----------
tensorflow/core/protobuf/config.proto (`RunMetadata`), tensorflow/core/framework: step_stats.proto, graph.proto,
node_def.proto, attr_value.proto, tensor_description.proto, tensor_shape.proto, types.proto.
"""

from __future__ import annotations

import re
from functools import cache, partial
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.graph.loading import Mend, open_plain, read_bounded
from simsched.text import one_line
from simsched.traces.shared.protobuf import message_classes

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


_TYPES = {f"DT_{name}": number for number, name in enumerate(DTYPES)}
_REFERENCES = {f"{name}_REF": number + REFERENCE for name, number in _TYPES.items()}
messages = cache(
    partial(
        message_classes, "simsched_tensorflow", MESSAGES, "reading TensorFlow's files",
        {"DataType": _TYPES | _REFERENCES},
    )
)  # fmt: skip


#: Text is read at some 3 MB per second, and this is the text of 18,000 nodes.
MAX_TEXT_B = 32 * 1024 * 1024


def parse_text(path: Path, kind: str, mend: Mend | None) -> Any:
    """Return a file in protobuf's text form, plain or gzipped, as one of `MESSAGES`.

    Raises
    ------
    FormatError
        If it is too large, or no such text; the message gives line and column.
    """
    message = messages()[kind]()
    from google.protobuf import text_format

    with open_plain(path, mend) as file:
        data = read_bounded(file, MAX_TEXT_B + 1)
    if len(data) > MAX_TEXT_B:
        raise FormatError(f"{path}: more than {MAX_TEXT_B} bytes of text; record the binary form instead")
    # Text has one or two lines a message, and shrinks less than the budget allows.
    budget().check(path, data.count(b"{"), "tasks")
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
