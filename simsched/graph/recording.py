"""Data of a recorded run beyond the graph: the machine, and the time and place of each task."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.graph.adjacency import Mask
from simsched.graph.columns import Floats, plain_text
from simsched.later import later
from simsched.parameters import is_number

if TYPE_CHECKING:
    from simsched.graph.taskgraph import TaskGraph
    from simsched.machine import Machine

#: A machine that recorded durations, as `RecordedOn.of` takes it.
Origin: TypeAlias = "str | Path | Machine | RecordedOn"

#: Floats that are times.
Seconds = Floats

#: Namespace of the kinds of what ran on a device.
DEVICE = "device::"
#: Namespace of the kinds of what launched work on a device: their seconds are those of the host alone, on one thread.
LAUNCH = "launch::"
#: Namespaces of kinds that are no ops of a CPU, whatever their names.
NO_OPS = (DEVICE, LAUNCH)
#: Fact of a report: the threads of a recording that a clean-up has changed.
THREADS = "recorded_threads"
#: Attribute, column or key of files: the machine that recorded the durations, as JSON.
RECORDED_ON = "recorded_on"
#: Most characters of its name that are read.
MOST_OF_A_NAME = 2000
#: Number of cores in the name of a processor, as WfFormat's: "GenuineIntel, 48 cores, 1200 MHz".
_CORES = re.compile(r"(?<![\w.])([1-9]\d{0,4}) cores\b")


def positive(value: object, what: str) -> float:
    """Return a finite number above zero as a float.

    Parameters
    ----------
    value : object
        The number.
    what : str
        What messages call it.

    Raises
    ------
    GraphError
        If it is none.
    """
    number = math.nan
    if is_number(value):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        value = number
    if not 0 < number < math.inf:
        raise GraphError(f"{what} is {value!r:.60}, expected a finite number above zero, or None")
    return number


@dataclass(frozen=True)
class RecordedOn:
    """The machine that recorded the durations, as far as it is known.

    Parameters
    ----------
    name : str
        Processor model.
    core_flops : float or None
        Floating-point operations per second that one core reached in a matrix product (FP32).
    core_bandwidth_Bps : float or None
        Bytes per second that one core reached in a copy.
    clock_Hz : float or None
        Clock of a core in code without vectors.

    Raises
    ------
    GraphError
        If one of the three is not a finite number above zero.

    Examples
    --------
    >>> import simsched as ss
    >>> laptop = ss.RecordedOn("laptop", core_flops=5e10, core_bandwidth_Bps=1e10)
    >>> graph = ss.TaskGraph.from_edges([1.0], kinds="MatMul", flops=[4e10], recorded_on=laptop)
    >>> graph.recorded_on.core_flops
    50000000000.0
    """

    name: str
    core_flops: float | None = None
    core_bandwidth_Bps: float | None = None
    clock_Hz: float | None = None

    @classmethod
    def of(cls, source: Origin) -> RecordedOn:
        """Return the known data of a core of a machine, such as `host`, a name or a file.

        Raises
        ------
        MachineError, SpecError
            If there is no such machine.

        Examples
        --------
        >>> import simsched as ss
        >>> ss.RecordedOn.of("knl-7250[cores=34]").name
        'knl-7250[cores=34]'
        """
        if isinstance(source, RecordedOn):
            return source
        found = later("machine")(source)
        return cls(found.spec, found.core_flops, found.one_core_Bps, found.scalar_clock_Hz(found.n_cores))

    def __post_init__(self) -> None:
        for key in ("core_flops", "core_bandwidth_Bps", "clock_Hz"):
            if (value := getattr(self, key)) is not None:
                object.__setattr__(self, key, positive(value, f"recorded_on: {key}"))

    @classmethod
    def read(cls, value: object) -> RecordedOn | None:
        """Return what a file says of the machine; None where it says nothing. A text that is no object is a name.

        Parameters
        ----------
        value : str or mapping
            As `written`, or the object itself.

        Raises
        ------
        GraphError
            If a text begins as an object and is none, or a value is not as the class has it.

        Examples
        --------
        >>> laptop = RecordedOn("laptop", core_flops=5e10)
        >>> RecordedOn.read(laptop.written) == laptop, RecordedOn.read("Some CPU").name, RecordedOn.read("")
        (True, 'Some CPU', None)
        """
        entries = value
        if isinstance(value, str):
            try:
                entries = json.loads(value) if value.lstrip().startswith("{") else {"name": value.strip()}
            except (ValueError, RecursionError):
                entries = None
        keys = set(cls.__dataclass_fields__)
        if (
            isinstance(entries, Mapping)
            and isinstance(name := entries.get("name"), str)
            and set(entries) <= keys
        ):
            if len(name) > MOST_OF_A_NAME:
                raise GraphError(
                    f"{RECORDED_ON}: a name of {len(name)} characters, expected {MOST_OF_A_NAME} at most"
                )
            numbers = {key: number for key, number in entries.items() if key != "name"}
            return cls(plain_text(name), **numbers) if name else None
        raise GraphError(
            f"{RECORDED_ON} is {value!r:.60}, expected a JSON object of {', '.join(sorted(keys))}"
        )

    @property
    def written(self) -> str:
        """What files say of it: a JSON object, in ASCII.

        Examples
        --------
        >>> RecordedOn("laptop", clock_Hz=2e9).written
        '{"name": "laptop", "clock_Hz": 2000000000.0}'
        """
        return json.dumps(self.known)

    @property
    def known(self) -> dict[str, Any]:
        """What is known of it, by name.

        Examples
        --------
        >>> RecordedOn("laptop", clock_Hz=2e9).known
        {'name': 'laptop', 'clock_Hz': 2000000000.0}
        """
        return {key: value for key, value in asdict(self).items() if value is not None}

    @property
    def is_known(self) -> bool:
        """Whether its speed is known, so that seconds can be carried from it to another machine.

        Examples
        --------
        >>> RecordedOn("laptop").is_known, RecordedOn("laptop", 5e10, 1e10).is_known
        (False, True)
        """
        return self.core_flops is not None and self.core_bandwidth_Bps is not None


#: The machine of durations that were measured nobody knows where.
UNKNOWN = RecordedOn("an unknown machine")


def measured_on(graph: TaskGraph) -> RecordedOn | None:
    """Return the machine that measured a graph's durations, which may be unknown; None where they are given numbers.

    Examples
    --------
    >>> import simsched as ss
    >>> print(measured_on(ss.TaskGraph.from_edges([1.0])))
    None
    """
    return UNKNOWN if graph.recorded_on is None and graph.recording is not None else graph.recorded_on


def recorded_threads(graph: TaskGraph) -> int | None:
    """Return how many threads a recording had, those of the widest task of each lane; None for graphs without one.

    Lanes on which devices alone worked are no threads. Clean-ups keep the number, with or without the recording. Where
    there are no lanes, they are the cores of the one machine that recorded the durations, if its name tells them.

    Examples
    --------
    >>> import simsched as ss
    >>> print(recorded_threads(ss.TaskGraph.from_edges([1.0, 2.0])))
    None
    >>> recorded_threads(ss.TaskGraph.from_edges([1.0], recorded_on=ss.RecordedOn("GenuineIntel, 48 cores")))
    48
    """
    facts = graph.report.facts
    if isinstance(known := facts.get(THREADS), int):
        return known
    if graph.recording is None:
        name = "" if graph.recorded_on is None else graph.recorded_on.name
        found = _CORES.search(name) if facts.get("machines", 1) == 1 else None
        return int(found[1]) if found else None
    host = ~on_device(graph)
    tasks = host if host.any() else ~host
    lanes = graph.recording.lanes[tasks]
    widest = np.zeros(int(lanes.max(initial=0)) + 1, np.int64)
    np.maximum.at(widest, lanes, graph.widths[tasks])
    # Lanes share the threads of one pool.
    return max(int(widest.sum()), int(team_widths(graph).max(initial=1)))


def dropped(graph: TaskGraph) -> str:
    """Return what dropped a graph's recording, for the end of a message; nothing where it never had one.

    Examples
    --------
    >>> import simsched as ss
    >>> dropped(ss.TaskGraph.from_edges([1.0]))
    ''
    """
    had = THREADS in graph.report.facts and graph.recording is None
    return " (a clean-up step that changes tasks or seconds dropped the recording)" if had else ""


def on_device(graph: TaskGraph) -> Mask:
    """Return which tasks ran on a device, shape (n,).

    Examples
    --------
    >>> import simsched as ss
    >>> on_device(ss.TaskGraph.from_edges([1.0, 2.0], kinds=["device::gemm", "gemm"])).tolist()
    [True, False]
    """
    return np.array([label.startswith(DEVICE) for label in graph.kinds.labels], np.bool_)[graph.kinds.codes]


def team_widths(graph: TaskGraph) -> npt.NDArray[np.int32]:
    """Return the threads of each task's team, shape (n,): those that it had, whether or not all of them got work.

    Examples
    --------
    >>> import simsched as ss
    >>> team_widths(ss.TaskGraph.from_edges([1.0, 2.0])).tolist()
    [1, 1]
    """
    team = graph.report.facts.get("intra_op_threads")
    return np.maximum(graph.widths, np.int32(team)) if isinstance(team, int) else graph.widths


@dataclass(frozen=True, eq=False)
class Recording:
    """Time and place of each task in a real run.

    Parameters
    ----------
    start_s, finish_s : float64 arrays, shape (n,)
        Seconds from the first start.
    lanes : int32 array, shape (n,)
        The worker or thread that ran each task, numbered from 0.
    lane_names : tuple of str
        Their names in the recording.
    priorities : float64 array, shape (n,), or None
        Priorities that the program gave to its tasks, the highest first; None where it gave none.
    origin_ns : int or None
        Reading of the recording's clock at second 0, by which recordings of one clock are put together; None where the
        clock begins with the recorded process; not saved.

    Examples
    --------
    >>> import numpy as np
    >>> import simsched as ss
    >>> from simsched.graph import Recording
    >>> run = Recording(np.array([0.0, 1.0]), np.array([1.0, 3.0]), np.array([0, 1], np.int32), ("main", "worker"))
    >>> ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], recording=run).recorded.makespan_s
    3.0
    """

    start_s: Seconds
    finish_s: Seconds
    lanes: npt.NDArray[np.int32]
    lane_names: tuple[str, ...]
    priorities: Floats | None = None
    origin_ns: int | None = None
