"""What ran on devices, and the calls of the host that launched it or waited for it."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simsched.traces.pytorch.events import Lanes, Window, arguments
from simsched.traces.shared.places import MAX_RECORDS, Place

if TYPE_CHECKING:
    from simsched.traces.pytorch.raw import RawEvent

_CUT = re.compile(r"[<(]")


def kernel_kind(name: str) -> str:
    """Return a kernel's kind: the name of its function, without types and arguments.

    Examples
    --------
    >>> kernel_kind("void at::native::(anonymous namespace)::gather<float, 4>(int, float*)")
    'at::native::gather'
    >>> kernel_kind("Memcpy HtoD (Pageable -> Device)")
    'Memcpy HtoD'
    """
    plain = name.removeprefix("void ").replace("(anonymous namespace)::", "")
    return _CUT.split(plain, maxsplit=1)[0].strip() or name


DEVICE = frozenset(
    {
        "kernel",
        "Kernel",
        "concurrent_kernel",
        "gpu_memcpy",
        "Memcpy",
        "gpu_memset",
        "Memset",
        "mtia_ccp_events",
    }
)
SYNC = "cuda_sync"
_RUNTIME = re.compile(r"(cuda|hip|xpu|mtia|privateuse1)_(runtime|driver)|Runtime")
#: Of CUDA (also with a default stream for each thread), HIP, Level Zero and Unified Runtime.
_BLOCKS = re.compile(
    r"(cuda|hip|cu)(Device|Stream|Event|Ctx)Synchronize(_pt(ds|sz))?"
    r"|(cuda|hip)Mem(cpy|set)(2D|3D)?(WithStream)?(_pt(ds|sz)|_spt)?|(cu|hip)Memcpy[DH]to[DH](_v2)?(_pt(ds|sz))?"
    r"|ze(CommandQueue|(CommandList|Event|Fence)Host)Synchronize|ur(EventWait|QueueFinish)"
)
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel, copy or fill.

    Parameters
    ----------
    start_ns, finish_ns : int
        When it ran.
    lane : int
        Its stream, as a number of `Lanes`.
    device, stream : int
        Its device, and its stream as the device counts; `UNKNOWN` where not told.
    order : int
        Position among the events.
    kind : str
        Name of its function.
    correlation : int
        Number that it shares with the call that launched it; `UNKNOWN` where not told.
    size_B : float
        Bytes that it moved; NaN where not told.
    """

    start_ns: int
    finish_ns: int
    lane: int
    device: int
    stream: int
    order: int
    kind: str
    correlation: int
    size_B: float


@dataclass(frozen=True, slots=True)
class RuntimeCall:
    """A call of the device's runtime on a thread of the host: when, where, and whether it waits for the device."""

    start_ns: int
    finish_ns: int
    lane: int
    correlation: int
    blocks: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait that the device tells of, on a stream, for another one of it where `waits_for` names it."""

    device: int
    stream: int
    waits_for: int
    recorded_by: int
    correlation: int


@dataclass
class Streams:
    """All that a file tells of devices.

    Parameters
    ----------
    kernels : list of Kernel
        In file order.
    calls : dict of int to RuntimeCall
        By correlation.
    waits : dict of int to Wait
        By correlation.
    """

    kernels: list[Kernel] = field(default_factory=list)
    calls: dict[int, RuntimeCall] = field(default_factory=dict)
    waits: dict[int, Wait] = field(default_factory=dict)

    def add(self, event: RawEvent, when_ns: tuple[int, int], lanes: Lanes, number: int, place: Place) -> None:
        """Add an event of a device or its runtime, or raise `FormatError` if it is malformed."""
        if len(self.kernels) + len(self.calls) + len(self.waits) == MAX_RECORDS:
            raise place.error(f"more than {MAX_RECORDS} events of devices", "record fewer")
        args = arguments(event, place)
        device, stream, correlation = map(_number, (args.device, args.stream, args.correlation))
        if event.cat in DEVICE:
            kind = kernel_kind(place.text(event.name, "name"))
            lane = lanes.number(event.pid, event.tid, place)
            size = args.size_B
            size_B = float(size) if type(size) in (int, float) and 0 <= size < 1e300 else float("nan")
            self.kernels.append(Kernel(*when_ns, lane, device, stream, number, kind, correlation, size_B))
        elif event.cat == SYNC:
            waits_for, recorded_by = _number(args.waits_for), _number(args.recorded_by)
            self.waits[correlation] = Wait(device, stream, waits_for, recorded_by, correlation)
        elif correlation != UNKNOWN:
            blocks = bool(_BLOCKS.fullmatch(place.text(event.name, "name")))
            lane = lanes.number(event.pid, event.tid, place)
            self.calls[correlation] = RuntimeCall(*when_ns, lane, correlation, blocks)

    def within(self, window: Window | None) -> Streams:
        """Return what was launched or waited for within a step."""
        if window is None:
            return self
        inside = range(window.start_ns, window.finish_ns)
        calls = {key: call for key, call in self.calls.items() if call.start_ns in inside}
        kernels = [
            k for k in self.kernels
            if k.correlation in calls or (k.correlation not in self.calls and k.start_ns in inside)
        ]  # fmt: skip
        return Streams(kernels, calls, self.waits)

    def by_stream(self) -> dict[int, list[int]]:
        """Return the indices of the kernels of each lane, by their start; those that start at once, by their launch."""
        found: dict[int, list[int]] = defaultdict(list)
        when = [(kernel.start_ns, kernel.correlation, kernel.order) for kernel in self.kernels]
        for index in sorted(range(len(when)), key=when.__getitem__):
            found[self.kernels[index].lane].append(index)
        return found


def is_of_device(category: object) -> bool:
    """Tell whether events of a category are a device's, or calls of its runtime."""
    return isinstance(category, str) and (
        category in DEVICE or category == SYNC or _RUNTIME.fullmatch(category) is not None
    )


def _number(value: object) -> int:
    return value if type(value) is int and 0 <= value < 2**63 else UNKNOWN
