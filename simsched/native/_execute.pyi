"""Real runs of task graphs: kernels, threads, executor."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray

class Kernel:
    """What a task does: FP32, row-major, NCHW."""

    @property
    def inputs(self) -> list[int]:
        """Elements of each input."""

    @property
    def output(self) -> int:
        """Elements of the output."""

    @property
    def scratch(self) -> int:
        """Elements that each thread needs besides."""

    def apply(
        self,
        inputs: Sequence[
            Annotated[
                NDArray[numpy.float32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
            ]
        ],
        output: Annotated[NDArray[numpy.float32], {"shape": (None,), "order": "C", "device": "cpu"}],
        width: int = 1,
    ) -> None:
        """Run the parts of a team of `width` one after another, for tests."""

def kernel(name: str, sizes: Sequence[int], instruction_set: str = "auto") -> Kernel:
    """Return the kernel of a name and its sizes; those are documented in the C++ file of its family."""

def kernel_names() -> list[str]:
    """Return the names of all kernels."""

def instruction_sets() -> list[str]:
    """Return the instruction sets that this machine has, the best last."""

def onednn_version() -> str:
    """Return the version of oneDNN; empty where it is not built in."""

def blas_version() -> str:
    """Return the version of the BLAS, and the cores that it takes these for."""

def fill(arena: Annotated[NDArray[numpy.float32], {"shape": (None,), "order": "C", "device": "cpu"}]) -> None:
    """Fill an array with numbers in [-1, 1)."""

def allowed_cpus() -> list[int]:
    """Return the CPUs that the calling thread may run on."""

def expected_sum(n: int) -> int:
    """Return the `sum` of a run in which each of n tasks ran once."""

class Crew:
    """Threads, pinned from birth, asleep between runs."""

    def __init__(self, cpus: Sequence[Sequence[int]]) -> None:
        """The CPUs of each worker."""

    @property
    def size(self) -> int:
        """Number of workers."""

    @property
    def broken(self) -> bool:
        """Whether workers are stuck for ever."""

def region_times(crew: Crew, rounds: int, timeout_s: float, grace_s: float) -> tuple:
    """
    Fork and join an empty region on all workers of a crew, again and again.

    Returns the seconds from each call to the last worker's first instruction, and from there until the last
    worker has been counted, both float64 (rounds,).
    """

def wake_up_times(
    crew: Crew, times: int, asleep_s: float, timeout_s: float
) -> Annotated[NDArray[numpy.float64], {"shape": (None,)}]:
    """
    Wake the first worker of a crew, asleep for `asleep_s`, again and again.

    Returns the seconds from each wake-up to its first instruction, float64 (times,).
    """

def addition_times(
    crew: Crew, width: int, count: int, rounds: int, timeout_s: float, grace_s: float
) -> tuple:
    """
    Add `count` times, each waiting for the one before, on the first `width` workers at once.

    Returns when each worker began and ended each round, in ns, both int64 (width * rounds,).
    """

def triad_times(
    crew: Crew, homes: Sequence[int], elements: Sequence[int], rounds: int, timeout_s: float, grace_s: float
) -> tuple:
    """
    Compute a = b + s c on arrays of doubles of each worker, first written by the worker that is its home.

    Returns when each worker began and ended each round, in ns, both int64 (workers * rounds,).
    """

def return_times(crew: Crew, count: int, rounds: int, timeout_s: float, grace_s: float) -> tuple:
    """
    Send a cache line there and back between the first two workers, `count` times a round.

    Returns when each of the two began and ended each round, in ns, both int64 (2 * rounds,).
    """

class Program:
    """What the tasks of a graph do, and in which memory."""

    def __init__(
        self,
        kernels: Sequence[Kernel],
        kernel_of: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        operands: Annotated[
            NDArray[numpy.int64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        arena: Annotated[NDArray[numpy.float32], {"shape": (None,), "order": "C", "device": "cpu"}],
    ) -> None:
        """
        Bind kernels to operands.

        kernel_of: int32 (n,), -1 for tasks that spin. operands: int64, of each task with a kernel where output
        and inputs begin in the arena (float32).
        """

class RunStats:
    """What came of a run, beside its columns."""

    @property
    def in_time(self) -> bool:
        """Whether it ended before its time was up."""

    @property
    def done(self) -> int:
        """Tasks that finished."""

    @property
    def failure(self) -> str:
        """Why it stopped early, if it did."""

    @property
    def latency_s(self) -> float:
        """Seconds that a message from worker 0 to worker 1 takes; 0 if unknown."""

    @property
    def wall_s(self) -> list[float]:
        """Seconds that each thread took part."""

    @property
    def cpu_s(self) -> list[float]:
        """Seconds that each of them had a CPU."""

    @property
    def preemptions(self) -> list[int]:
        """Times that each of them lost its CPU."""

    @property
    def cpus(self) -> list[int]:
        """CPU of each of them at the end."""

    @property
    def tasks(self) -> int:
        """Tasks that ran."""

    @property
    def sum(self) -> int:
        """Their sum; see `expected_sum`."""

    @property
    def running(self) -> list[tuple[int, float]]:
        """Of each worker the task that it runs, or -1, and the seconds since."""

    @property
    def abandoned(self) -> bool:
        """Whether workers were left behind."""

def execute_list(
    crew: Crew,
    program: Program,
    indptr: Annotated[
        NDArray[numpy.int64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    indices: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    seconds: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    discipline: str,
    position: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    executors_indptr: Annotated[
        NDArray[numpy.int64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    executors_indices: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    before_indptr: Annotated[
        NDArray[numpy.int64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    before_indices: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    scheduler_thread: bool,
    shares_cpus: bool,
    measures_latency: bool,
    timeout_s: float,
    grace_s: float,
    tick: object | None,
) -> tuple:
    """
    Run a static policy for real; arguments as in `_core.replay_list`. Seconds are those of tasks that spin.

    Returns (what came of it,) where it was stopped, else also ready_s, start_s, finish_s, team (empty),
    executor and start order.
    """

def execute_corun(
    crew: Crew,
    program: Program,
    indptr: Annotated[
        NDArray[numpy.int64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    indices: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    widths: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    seconds: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    serial: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    candidates: int,
    offered: int,
    max_running: int,
    cores: int,
    cores_per_tile: int,
    ways: int,
    corun: bool,
    scheduler_thread: bool,
    shares_cpus: bool,
    measures_latency: bool,
    timeout_s: float,
    grace_s: float,
    tick: object | None,
) -> tuple:
    """
    Run co-running by candidates for real; arguments as in `_core.replay_corun`.

    Returns (as `execute_list`, teams' indptr, teams' indices).
    """
