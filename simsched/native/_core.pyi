"""The compiled core of simsched."""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

def longest_path(
    indptr: Annotated[
        NDArray[numpy.int64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    indices: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    order: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ]
    | None,
    weights: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
) -> Annotated[NDArray[numpy.float64], {"shape": (None,)}]:
    """
    Return weights[i] + max(result of i's neighbours, 0 if none) for every node i.

    indptr: int64 (n + 1,); indices: int32 (m,); order: int32 (n,), every neighbour before its node, or None
    for n - 1 to 0; weights: float64 (n,). Nothing is copied or converted; arrays that do not fit raise.
    """

class Sharing:
    """
    What the running tasks of a machine share.

    bandwidth, tiles, cores, interconnect, remote: which of it counts. tile_of, domain_of, segment_of: of each
    core, below n_tiles, n_domains and n_segments; a segment is an interconnect that its cores load. n_threads:
    hardware threads in use, a multiple of the cores; thread i is one of core i % cores. compute, waiting:
    throughput of a core with 1, 2, ... threads. capacity_Bps, link_Bps: of a domain, and of what leaves it.
    penalty: of remote traffic. interconnect_share: of a thread's traffic there that counts. tile_slowdowns: of
    the memory-bound part of teams of 0, 1, ... threads that have no tile alone. cluster_of, cluster_Bps: cluster
    of each core, and the bytes a second that each moves; without them clusters have no limit of their own. fair:
    whether all running threads have equal shares of all cores.
    """

    def __init__(
        self,
        bandwidth: bool,
        tiles: bool,
        cores: bool,
        interconnect: bool,
        remote: bool,
        tile_of: Sequence[int],
        domain_of: Sequence[int],
        segment_of: Sequence[int],
        n_tiles: int,
        n_domains: int,
        n_segments: int,
        n_threads: int,
        compute: Sequence[float],
        waiting: Sequence[float],
        capacity_Bps: float,
        link_Bps: float,
        penalty: float,
        interconnect_share: float,
        tile_slowdowns: Sequence[float],
        cluster_of: Sequence[int] = [],
        cluster_Bps: float = float("inf"),
        fair: bool = False,
    ) -> None: ...

class Csr:
    """
    A table of rows.

    indptr: int64 (n + 1,), where the rows begin; indices: int32 (m,), their numbers one after another.
    """

    def __init__(
        self,
        indptr: Annotated[
            NDArray[numpy.int64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        indices: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
    ) -> None: ...

class Loads:
    """
    The demand of tasks on what running tasks share.

    memory_share, overhead_share: float64 (n,), shares of a task's seconds. demand_Bps: int64 (n,). core_share:
    float64 (n,), share of the seconds in which the memory limits it that its cores would take, too.
    """

    def __init__(
        self,
        memory_share: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        overhead_share: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        demand_Bps: Annotated[
            NDArray[numpy.int64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        core_share: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
    ) -> None: ...

class Shortcuts:
    """
    What runs past the queue of a static policy.

    threads: int32 (k,), the hardware thread of each single-threaded executor. single_threaded, inline: bool (n,),
    tasks that only those run, and tasks that run on the executor that released them. seconds: float64 (n,), of
    each task on one thread, and loads there; empty and None where there are no such executors, the latter also
    where nothing is shared. buffered: whether a busy executor can be handed a task.
    """

    def __init__(
        self,
        threads: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        single_threaded: Annotated[
            NDArray[numpy.bool_], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        inline: Annotated[
            NDArray[numpy.bool_], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        seconds: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        loads: Loads | None,
        predecessors: Csr,
        buffered: bool,
    ) -> None: ...

class Data:
    """
    What tasks read, and how it gets to them.

    inputs, written: objects that each task reads and writes. readers: int64 (k,), tasks that read each object.
    producer: int32 (k,), the task that writes each object, or -1. size_B: float64 (k,). home, goes_to: int32
    (k,), the place where each object is at the beginning, and the one to which it is sent once it is written, or
    -1. through: place from which objects are sent, or -1 for where they were written. place_of: int32 (threads,),
    of each hardware thread's data. latency_s, s_per_B: float64 (places * places,). ways: links from each place to
    each; None where moves do not share them. capacity_Bps: float64 (links,). planned: int32 (n,), place of each
    task, where objects leave when they are written; else None. read: whether objects are read from afar; else
    they are sent. cache_B: bytes that stay near a place. place_B: float64 (places,), what each holds. domain_of:
    int32 (places,), or -1. memory_of: places that are memories of each domain. limited, spills: whether places
    hold no more than their size, and spill rather than wait. aborts: whether runs may be aborted.
    """

    def __init__(
        self,
        inputs: Csr,
        written: Csr,
        readers: Annotated[
            NDArray[numpy.int64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        producer: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        size_B: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        home: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        goes_to: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        through: int,
        place_of: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        latency_s: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        s_per_B: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        ways: Csr | None,
        capacity_Bps: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        planned: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ]
        | None,
        read: bool,
        cache_B: float,
        place_B: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        domain_of: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        memory_of: Csr,
        limited: bool,
        spills: bool,
        aborts: bool,
    ) -> None: ...

class Pushing:
    """
    Where tasks go when they become ready: see simsched.policy.pushing.

    estimates: float64 like the seconds of the plan. alpha, beta: weights of the expected end and of missing data.
    aware: whether tasks are expected to wait for these. longest: whether these take as long as the longest message.
    sorts: whether queues are sorted. ready: whether of equals the one that misses fewest bytes goes first.
    by_start: whether expected starts are compared. pairs: whether tasks that become ready together go in the
    order of these. levels: float64 (n,), what is added to these, or empty.
    """

    def __init__(
        self,
        estimates: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        alpha: float,
        beta: float,
        aware: bool,
        longest: bool,
        sorts: bool,
        ready: bool,
        by_start: bool,
        pairs: bool,
        levels: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
    ) -> None: ...

class ListPlan:
    """
    The plan of a static policy.

    successors: of each task. seconds: float64 (n,), of each task on an executor. loads, shared: demand of each
    task on what running tasks share; both None where they share nothing. discipline: rank, fifo, lifo or planned.
    position: int32 (n,), a permutation, for rank. executors: hardware threads of each executor, all of one width.
    displaced: int32 (n * width,): where each thread runs instead, or -1; empty where all are pinned.
    predecessors: where a task prefers its producer's executor; else None. delay_s: seconds a start costs, and
    per_poller_s what every further idle executor adds. shortcuts: None, or what runs past the queue. kind_of:
    int32, kind of the cores of each executor, and kinds: their number, the columns of seconds and loads; None and
    1 where all are alike. assigned: int32 (n,), the executor of each task for discipline planned; else None.
    data: None where it is near. group_of: int32 (n,), group of each task, and runs_on: bool (groups * kinds,),
    kinds of cores that each group can run on, where some tasks cannot run on all; else None.
    """

    def __init__(
        self,
        successors: Csr,
        seconds: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        loads: Loads | None,
        shared: Sharing | None,
        discipline: str,
        position: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        executors: Csr,
        displaced: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        predecessors: Csr | None,
        delay_s: float,
        per_poller_s: float,
        shortcuts: Shortcuts | None,
        kind_of: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ]
        | None = None,
        assigned: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ]
        | None = None,
        kinds: int = 1,
        data: Data | None = None,
        pushing: Pushing | None = None,
        group_of: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ]
        | None = None,
        runs_on: Annotated[
            NDArray[numpy.bool_], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ]
        | None = None,
    ) -> None: ...

class CorunPlan:
    """
    The plan of co-running by candidate widths.

    widths: int32 (n * candidates,), estimates, seconds: float64 (n * candidates,): of each task the widths it
    offers, the preferred one first, the seconds by which the rule decides, and those that pass but for noise;
    loads likewise. noise: float64 (n,), factor on what really passes, or empty. serial: float64 (n,), seconds on
    one core, where small tasks run on second hardware threads; else empty. offered: candidates, from the first,
    that count beside others. max_running: tasks at once. cores, cores_per_tile, ways: the machine's, and the
    hardware threads of a core in use. corun: whether tasks start beside others. dispatch_s, resize_s,
    resize_per_thread_s: seconds of a start, and of a team that changes size. The rest as in ListPlan.
    """

    def __init__(
        self,
        successors: Csr,
        widths: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        estimates: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        seconds: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        noise: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        serial: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        loads: Loads | None,
        shared: Sharing | None,
        candidates: int,
        offered: int,
        max_running: int,
        cores: int,
        cores_per_tile: int,
        ways: int,
        corun: bool,
        dispatch_s: float,
        resize_s: float,
        resize_per_thread_s: float,
        data: Data | None = None,
    ) -> None: ...

class Platform:
    """
    What planners are given.

    successors: of each task. order: int32 (n,), each task before its successors. kind_seconds: float64 (n *
    kinds,). kind_of, place_of: int32 (executors,). edge_bytes: float64 (m,). latency_s, s_per_B: float64 (places
    * places,).
    """

    def __init__(
        self,
        successors: Csr,
        order: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        kind_seconds: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        kind_of: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        place_of: Annotated[
            NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        edge_bytes: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        latency_s: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        s_per_B: Annotated[
            NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
        ],
        kinds: int,
        places: int,
    ) -> None: ...

def upward_levels(
    platform: Platform,
    seconds: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    messages: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
) -> Annotated[NDArray[numpy.float64], {"shape": (None,)}]:
    """
    Return seconds[i] + max(messages[e] + result of the successor by e, 0 if none) for every task i.

    seconds: float64 (n,). messages: float64 (m,).
    """

def downward_levels(
    platform: Platform,
    seconds: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    messages: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
) -> Annotated[NDArray[numpy.float64], {"shape": (None,)}]:
    """
    Return the greatest result[i] + seconds[i] + messages[e] of the edges e to every task, 0 if none.

    seconds: float64 (n,). messages: float64 (m,).
    """

def linear_clusters(
    platform: Platform,
    seconds: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    messages: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
) -> Annotated[NDArray[numpy.int32], {"shape": (None,)}]:
    """
    Return the cluster of each task: the longest path of the tasks that are left, again and again.

    seconds: float64 (n,). messages: float64 (m,).
    """

def critical_widths(
    platform: Platform,
    table: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    most: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    cores: int,
    messages: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    group: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
) -> Annotated[NDArray[numpy.int32], {"shape": (None,)}]:
    """
    Return the width of each task: those on the critical path grow, while it is longer than the mean load.

    table: float64 (n * widest,), seconds of each task on 1, 2, ... cores. most: int32 (n,), the widest of each.
    messages: float64 (m,). group: int32 (n,), tasks with no more cores together than there are; or empty.
    """

def optimistic_costs(
    platform: Platform,
    messages: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
) -> Annotated[NDArray[numpy.float64], {"shape": (None,)}]:
    """
    Return the least seconds from the end of every task, on every kind of core, to that of the graph.

    messages: float64 (m,). The result has n * kinds entries.
    """

def plan_list(
    platform: Platform,
    position: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    insertion: bool,
    by_finish: bool,
    extra: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    pinned: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
) -> tuple[
    Annotated[NDArray[numpy.int32], {"shape": (None,)}], Annotated[NDArray[numpy.int32], {"shape": (None,)}]
]:
    """
    Return the executor of each task, and all tasks by their starts.

    position: int32 (n,), a permutation: the ready task of the lowest goes first. insertion: whether in idle times
    before placed tasks. by_finish: whether executors are compared by the finish, or the start. extra: float64 (n
    * kinds,), what counts besides, or empty. pinned: int32 (n,), executors without a choice or -1, or empty.
    """

def plan_lookahead(
    platform: Platform,
    position: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
) -> tuple[
    Annotated[NDArray[numpy.int32], {"shape": (None,)}], Annotated[NDArray[numpy.int32], {"shape": (None,)}]
]:
    """
    Return the executor of each task, and all tasks by their starts, where their children finish first.

    position: int32 (n,), a permutation: the ready task of the lowest goes first.
    """

def plan_dynamic(
    platform: Platform,
    level: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    messages: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
) -> tuple[
    Annotated[NDArray[numpy.int32], {"shape": (None,)}], Annotated[NDArray[numpy.int32], {"shape": (None,)}]
]:
    """
    Return the executor of each task, and all tasks by their starts; first goes the highest level less t-level.

    level: float64 (n,). messages: float64 (m,). Both are sums over as many executors as there are.
    """

def plan_groups(
    platform: Platform,
    order: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
) -> tuple[
    Annotated[NDArray[numpy.int32], {"shape": (None,)}], Annotated[NDArray[numpy.int32], {"shape": (None,)}]
]:
    """
    Return the executor of each task, and all tasks by their starts, balanced by groups of independent ones.

    order: int32 (n,), a permutation: each task before its successors.
    """

def plan_pairs(
    platform: Platform,
    rule: str,
    extra: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    column_of: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    level: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    batched: bool,
) -> tuple[
    Annotated[NDArray[numpy.int32], {"shape": (None,)}], Annotated[NDArray[numpy.int32], {"shape": (None,)}]
]:
    """
    Return the executor of each task, and all tasks by their starts.

    rule: least, level, greatest, sufferage or global. extra: float64 (n * columns,), what counts besides the start.
    column_of: int32 (executors,), the column of each. level: float64 (n,). batched: whether released tasks wait until
    all that are ready are placed.
    """

class Numbers(Sequence[int]):
    """Ascending numbers of tasks or cores: a tuple, made when it is needed."""

    @overload
    def __getitem__(self, key: int, /) -> int: ...
    @overload
    def __getitem__(self, key: slice, /) -> tuple[int, ...]: ...
    def __len__(self, /) -> int: ...
    def __add__(self, value: Numbers | tuple[int, ...], /) -> tuple[int, ...]: ...
    def __array__(self, dtype: object | None = "int64", copy: object | None = None) -> object: ...

    class Iterator:
        def __iter__(self, /) -> Numbers.Iterator: ...
        def __next__(self, /) -> int: ...

class PolicyView:
    """What a policy sees: see simsched.policy.View."""

    def __init__(
        self,
        *,
        problem: object | None,
        checks: object,
        running: object,
        n_tasks: int,
        cores: int,
        cores_per_tile: int,
        ways: int,
        delay_s: float,
        per_poller_s: float,
        resize_s: float,
        resize_per_thread_s: float,
        several_kinds: bool = False,
    ) -> None: ...
    @property
    def now_s(self) -> float: ...
    @property
    def ready(self) -> object: ...
    @property
    def newly_ready(self) -> tuple: ...
    @property
    def newly_finished(self) -> tuple: ...
    @property
    def running(self) -> object: ...
    @property
    def idle_cores(self) -> object: ...
    @property
    def problem(self) -> object: ...
    @property
    def levels(self) -> object: ...
    def ready_s(self, task: object) -> object: ...
    def seconds(self, task: object, width: object = 1, core: object | None = None) -> object: ...
    def missing_B(self, task: object, core: object) -> object: ...
    def fetch_s(self, task: object, core: object) -> object: ...
    def free_B(self, core: object) -> object: ...
    def is_near(self, one: int, place: int) -> bool:
        """Return whether an object is at a place, or on its way there."""

    def where(self, one: int) -> int:
        """Return whence an object is sent or read; -1 for nowhere."""

    def on_way(self, one: int, place: int) -> tuple[int, float, float, bool] | None:
        """Return how far an object is on its way to a place; None where it is not."""

    def far(self, task: int, place: int) -> list[tuple[int, int]]:
        """Return the objects that a task would read from afar at a place, each with whence."""

    def held_B(self, place: int) -> int:
        """Return the bytes taken at a place, where these are counted during the replay."""
    def became_ready_s(self, task: object) -> float | None:
        """Return when a task became ready; None before."""

    def finished_s(self, task: object) -> float | None:
        """Return about when a task finished; None before."""

    def teams(self) -> tuple:
        """Return every distinct team in order of first use, as indptr (int64) and indices (int32)."""

class NoRoomError(Exception):
    pass

def replay_list(plan: ListPlan, progress: object | None) -> tuple:
    """
    Replay a ListPlan without calling Python, without the interpreter's lock.

    progress: None, or called with the number of tasks finished since its last call.

    Returns the number of tasks that ran, ready_s, start_s, finish_s (float64 (n,)), executor and start order
    (int32 (n,)); what was sent: None where data are near, else object, source, place (int32), departure and arrival
    (float64), when each task was placed and when it began to compute; and task, executor (int32), start and end
    (float64) of each aborted run. Nothing is copied or converted; arrays that do not fit raise.
    """

def replay_corun(plan: CorunPlan, progress: object | None) -> tuple:
    """
    Replay a CorunPlan without calling Python, without the interpreter's lock.

    progress: as in replay_list.

    Returns (number of tasks that ran, ready_s, start_s, finish_s, team, executor, start order), and the teams'
    cores as indptr (int64) and indices (int32), and what was sent.
    """

def replay_policy(
    successors: Csr,
    view: PolicyView,
    decide: object,
    start: object,
    factors: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    shared: Sharing | None,
    progress: object | None,
    data: Data | None = None,
) -> tuple:
    """
    Replay a policy written in Python.

    successors: of each task. view: what it sees; of one replay. decide: called with the view, returns an iterable
    of starts, or None. start: the type of plain ones. factors: float64 (n,), what each task really takes over its
    estimate, or empty. shared: what running tasks share, or None. progress: as in replay_list. data: None where
    it is near. Holds the interpreter's lock, or where it has none that of the view, but while the policy decides.

    Returns (number of tasks that ran, ready_s, start_s, finish_s, team, executor and start order), and what was
    sent.
    """

def excess_seconds(
    successors: Csr,
    task: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    start_order: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    start_s: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    finish_s: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    teams: Csr,
    team: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    loads: Loads,
    watched: Annotated[
        NDArray[numpy.bool_], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    shared: Sharing,
) -> Annotated[NDArray[numpy.float64], {"shape": (None,)}]:
    """
    Return the seconds by which tasks were slowed down, by cause.

    successors: of each task. task: int32 (n,), of each run: those that finished, by task, then those that were
    aborted. start_order: int32 (n,), the runs as they started; one of no length before the next of its task.
    start_s, finish_s: float64 (n,). teams: hardware threads of each team. team: int32 (n,), of each run. loads:
    demand of each on what running tasks share. watched: bool (n,), whose seconds are wanted; the fewer of them run
    at once, the quicker.

    Returns float64 (n * 5,), five for each run, zeros for those not watched: by hardware threads that share a
    core, memory bandwidth, tiles, remote memory and the interconnect. Nothing is copied or converted; arrays that
    do not fit raise.
    """
