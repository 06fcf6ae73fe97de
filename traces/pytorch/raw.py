"""Fields that are decoded of an event of a Kineto trace; its numbers stay text until they are wanted."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw

_NOTHING = Raw(b"")


class RawEvent(msgspec.Struct, gc=False):
    """An event, unchecked."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: Raw = _NOTHING
    dur: Raw = _NOTHING
    args: Raw = _NOTHING


class RawArguments(msgspec.Struct, gc=False):
    """Arguments of an event, unchecked; UNSET where absent."""

    name: Any = UNSET
    rf_id: Any = msgspec.field(default=UNSET, name="Record function id")
    index: Any = msgspec.field(default=UNSET, name="Ev Idx")
    old_index: Any = msgspec.field(default=UNSET, name="Profiler Event Index")
    sequence: Any = msgspec.field(default=UNSET, name="Sequence number")
    dims: Raw = msgspec.field(default=_NOTHING, name="Input Dims")
    values: Raw = msgspec.field(default=_NOTHING, name="Concrete Inputs")
    types: Raw = msgspec.field(default=_NOTHING, name="Input type")
    correlation: Any = UNSET
    device: Any = UNSET
    stream: Any = UNSET
    size_B: Any = msgspec.field(default=UNSET, name="bytes")
    waits_for: Any = msgspec.field(default=UNSET, name="wait_on_stream")
    recorded_by: Any = msgspec.field(default=UNSET, name="wait_on_cuda_event_record_corr_id")


EVENTS = msgspec.json.Decoder(list[RawEvent])
ARGUMENTS = msgspec.json.Decoder(RawArguments)
