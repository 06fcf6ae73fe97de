"""`ompss`: a trace of Nanos++ written by hand, one event after the other, with its .pcf and .row files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from simsched.graph import TaskGraph
from simsched.traces.paraver.reader import PARAVER

#: Numbers that no version of Nanos++ has, so that only labels can tell.
WD, STATE, NAME, DEPENDENCE, DIRECTION, POINTER, TASKWAIT = (
    9200102,
    9000100,
    9200111,
    9200136,
    9200137,
    9200114,
    9200140,
)
PCF = f"""\
DEFAULT_OPTIONS

LEVEL               THREAD

STATES
0    Idle
1    Running

GRADIENT_COLOR
0    {{0,255,2}}

EVENT_TYPE
0    {WD}    Work Descriptor id:

EVENT_TYPE
9    {STATE}    Thread state:
VALUES
5      IDLE
6      RUNTIME
17      RUNNING

EVENT_TYPE
0    {NAME}    User Function Name
0    9200121    User Function Location
VALUES
0   End
1   potrf
2   gemm(double*, int)

EVENT_TYPE
0    {DEPENDENCE}    Dependence analysis
EVENT_TYPE
0    {DIRECTION}    Dependence direction

EVENT_TYPE
0    {POINTER}    Create WD pointer:
EVENT_TYPE
0    {TASKWAIT}    Call to the taskwait nanos runtime function
"""
ROW = (
    "LEVEL CPU SIZE 2\n1.host\n2.host\n\nLEVEL NODE SIZE 1\nhost\n\nLEVEL THREAD SIZE 2\nmaster\nworker <1>\n"
)


class Trace:
    """Lines of a trace, added one by one; times in its unit."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "run.prv"
        self.header = "#Paraver (20/11/2026 at 09:19):5000_ns:1(2):1:1(2:1),0"
        self.lines: list[str] = []
        folder.joinpath("run.pcf").write_text(PCF)
        folder.joinpath("run.row").write_text(ROW)

    def event(self, thread: int, time: int, *pairs: int) -> None:
        """Add an event record."""
        self.lines.append(f"2:{thread}:1:1:{thread}:{time}:" + ":".join(map(str, pairs)))

    def create(self, time: int, task: int, thread: int = 1) -> None:
        """Create a task: an event with a pointer, and a communication with its number."""
        self.event(thread, time, POINTER, 0xFFFF_8000_0000_0000 - 2**64)
        self.hand(time, task, thread)

    def hand(self, time: int, task: int, thread: int = 1, tag: int = 0) -> None:
        """Add a communication to wherever the task runs next."""
        self.lines.append(f"3:{thread}:1:1:{thread}:{time}:{time}:2:1:1:2:{time + 1}:{time + 1}:{task}:{tag}")

    def run(
        self, thread: int, enter: int, start: int, finish: int, leave: int, task: int, name: int = 0
    ) -> None:
        """Run a task: the runtime's own work, the body, the runtime's own work."""
        self.event(thread, enter, WD, task, STATE, 6)
        self.event(thread, start, STATE, 17, NAME, name)
        self.event(thread, finish, STATE, 0)
        self.event(thread, leave, WD, 0, STATE, 0)

    def depend(self, time: int, before: int, after: int, direction: int = 1) -> None:
        """Tell of a dependency that was found."""
        self.event(1, time, DEPENDENCE, before << 32 | after, DIRECTION, direction)

    def write(self) -> Path:
        """Write the file."""
        self.path.write_text("\n".join([self.header, *self.lines]) + "\n")
        return self.path

    def read(self, **options: object) -> TaskGraph:
        """Write the file and return its graph."""
        return PARAVER.read(self.write(), **options)


@pytest.fixture
def new_trace(tmp_path: Path) -> Callable[[], Trace]:
    """Return a function that begins a trace."""
    return lambda: Trace(tmp_path)


@pytest.fixture
def ompss(new_trace: Callable[[], Trace]) -> Trace:
    """Two tasks after one: 4 (potrf, 100 to 200), then 5 and 6 (gemm, 210 to 300 and 220 to 330)."""
    trace = new_trace()
    trace.lines += ["# a comment of paramedir", "c:1:1:1:1", "1:1:1:1:1:0:90:1"]
    trace.event(1, 10, WD, 1, STATE, 6, STATE, 17)
    trace.event(2, 12, WD, 3, STATE, 6)
    for number, task in enumerate((4, 5, 6)):
        trace.create(20 + 10 * number, task)
    trace.depend(31, 4, 5)
    trace.depend(41, 4, 6)
    trace.event(1, 80, WD, 0, STATE, 0, STATE, 0)
    trace.event(2, 80, WD, 0, STATE, 0)
    # Not in the order of their times, as communications and events of two threads are not.
    trace.run(2, 205, 210, 300, 310, 5, 2)
    trace.run(1, 90, 100, 200, 215, 4, 1)
    trace.hand(203, 5, tag=1)
    trace.hand(204, 6, tag=1)
    trace.run(1, 216, 220, 330, 340, 6, 2)
    return trace
