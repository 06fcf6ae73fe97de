"""The compiled replays, given anything at all: it is replayed or refused."""

from __future__ import annotations

from itertools import chain
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st

from simsched.graph.adjacency import Csr
from simsched.native import find

from .conftest import Bound

I32, I64, F64 = np.int32, np.int64, np.float64
Arguments = dict[str, Any]


def test_a_cycle_ends_with_tasks_left(
    bound: Bound, listed: Arguments, corunning: Arguments, loaded: Arguments
) -> None:
    circle = {"successors": (np.array([0, 1, 2], I64), np.array([1, 0], I32))}
    assert bound.replay_list(listed | circle)[0] == 0
    assert bound.replay_list(listed | loaded | circle)[0] == 0
    assert bound.replay_corun(corunning | circle)[0][0] == 0


@pytest.mark.parametrize("everything", [False, True])
def test_seconds_beyond_all_numbers(
    bound: Bound, sharing: Arguments, listed: Arguments, everything: bool
) -> None:
    """The pressure of a shared memory makes them infinite, and infinity minus infinity is not a time."""
    switches = dict.fromkeys(("tiles", "cores", "interconnect", "remote"), everything)
    one_memory = sharing | switches | {"domain_of": [0, 0], "n_domains": 1, "capacity_Bps": 2.0**42}
    endless = {
        "successors": (np.zeros(4, I64), np.empty(0, I32)), "seconds": np.array([1.7e308, 1.7e308, 1.0]),
        "loads": (np.ones(3), np.zeros(3), np.array([2**42, 2**42, 2**40]), np.ones(3)), "shared": one_memory,
        "discipline": "fifo", "executors": (np.arange(3), np.array([0, 1], I32)),
    }  # fmt: skip
    with pytest.raises(OverflowError, match="beyond all numbers"):
        bound.replay_list(listed | endless)
    with pytest.raises(OverflowError, match="beyond all numbers"):
        bound.replay_list(listed | {"seconds": np.full(2, 1.7e308)})


@pytest.mark.parametrize("throughput", [1e-308, 1e308])
def test_throughputs_at_the_ends_of_the_numbers(
    bound: Bound, sharing: Arguments, loaded: Arguments, listed: Arguments, throughput: float
) -> None:
    """What a core does is out of proportion; the times grow beyond all numbers, or tasks take next to nothing."""
    extreme = {"compute": [throughput], "waiting": [throughput], "tile_slowdowns": [0.0] * 3, "penalty": 0.0}
    both = {"executors": (np.arange(4), np.array([0, 0, 1], I32))}
    arguments = listed | loaded | both | {"shared": sharing | extreme}
    try:
        assert bound.replay_list(arguments)[0] == 2
    except OverflowError:
        assert throughput < 1


Strategy = st.SearchStrategy[Any]

SWITCHES = ("bandwidth", "tiles", "cores", "interconnect", "remote")
small = st.integers(-1, 4)
second = st.sampled_from([0.0, 0.5, 1.0, 2.0, 1e-300])
number = st.sampled_from([0.5, 1.0, 1.0, 1.5, 2.0, 1e9])
odd_number = st.sampled_from([0.0, 1e-300, 1e300, np.inf, np.nan, -1.0])


class Draw:
    """Draws arguments that have the right types: in half of the cases fitting ones, else others among them."""

    def __init__(self, data: st.DataObject) -> None:
        self.one = data.draw
        self.wild = data.draw(st.booleans())

    def values(self, fitting: Strategy, odd: Strategy) -> Strategy:
        """Return fitting values, and where anything goes one in eight of the others."""
        if not self.wild:
            return fitting
        return st.integers(0, 7).flatmap(lambda i: fitting if i else odd)

    def array(self, values: Strategy, dtype: npt.DTypeLike, size: int) -> npt.NDArray[Any]:
        """Return an array, where anything goes now and then too long by one."""
        size += self.one(self.values(st.just(0), st.just(1)))
        return np.array(self.one(st.lists(values, min_size=size, max_size=size)), dtype)

    def table(self, rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return as many rows of their numbers, of all that are equally long."""
        m = self.one(st.integers(0, 6)) if rows else 0
        ends = sorted(self.one(st.lists(st.integers(0, m), min_size=rows + 1, max_size=rows + 1)))
        indptr = np.array([0, *ends[1:-1], m][: rows + 1], I64)
        return indptr, self.array(self.values(st.integers(0, max(rows - 1, 0)), small), I32, m)

    def graph(self, n: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return edges, mostly from lower tasks to higher ones."""
        if self.wild:
            return self.table(n)
        after = [[j for j in range(i + 1, n) if self.one(st.booleans())] for i in range(n)]
        return np.cumsum([0, *map(len, after)]), np.array([*chain(*after)], I32)

    def sharing(self, module: ModuleType) -> tuple[object | None, int]:
        """Return what running tasks share on up to three cores, sometimes nothing, and the number of threads."""
        cores, domains, ways = (self.one(st.integers(1, most)) for most in (3, 2, 3))
        domains, threads = min(domains, cores), cores * self.one(st.integers(1, 2))
        if self.one(st.integers(0, 4)) == 0:
            return None, threads
        throughput, value = self.values(number, odd_number), self.values(number, odd_number)
        try:
            return module.Sharing(
                **{name: self.one(st.booleans()) for name in SWITCHES},
                tile_of=self.array(self.values(st.integers(0, cores - 1), small), I32, cores).tolist(),
                domain_of=self.array(self.values(st.integers(0, domains - 1), small), I32, cores).tolist(),
                segment_of=self.array(self.values(st.integers(0, domains - 1), small), I32, cores).tolist(),
                n_tiles=cores, n_domains=domains, n_segments=domains, n_threads=threads,
                compute=self.array(throughput, F64, ways).tolist(),
                waiting=self.array(throughput, F64, ways).tolist(),
                capacity_Bps=self.one(value), link_Bps=self.one(value), penalty=self.one(value),
                interconnect_share=self.one(value),
                tile_slowdowns=self.array(value, F64, threads + 1).tolist(),
            ), threads  # fmt: skip
        except ValueError:
            return None, threads

    def loads(self, rows: int) -> Arguments:
        """Return shares, which are sometimes too large together, and demands."""
        share = self.values(st.sampled_from([0.0, 0.3, 0.5]), st.sampled_from([1.0, 1.5, -1.0, np.nan]))
        demand = self.values(st.integers(0, 9), st.sampled_from([-1, 2**60, 2**62, 2**63 - 1]))
        cores = self.values(st.floats(0.0, 1.0), st.sampled_from([1.5, -1.0, np.nan]))
        columns = (share, F64), (share, F64), (demand, I64), (cores, F64)
        loads = tuple(self.array(values, kind, rows) for values, kind in columns)
        return {"loads": loads if rows or self.wild else None}

    def seconds(self, size: int) -> npt.NDArray[Any]:
        """Return seconds of tasks."""
        return self.array(self.values(second, odd_number), F64, size)

    def listed(self, n: int, shared: object | None, threads: int) -> Arguments:
        """Return arguments of `replay_list`, but for the graph's."""
        executors, width = self.one(st.integers(1, 3)), self.one(st.integers(1, 2))
        before = self.table(n) if self.one(st.booleans()) else None
        rows = self.values(st.just(np.arange(executors + 1) * width), st.just(self.table(n)[0]))
        stray = self.values(st.integers(-1, threads - 1), small)
        return self.loads(n if shared else 0) | {
            "seconds": self.seconds(n), "discipline": self.one(st.sampled_from(["rank", "fifo", "lifo"])),
            "position": np.array(self.one(st.permutations(range(n))), I32),
            "executors": (
                self.one(rows), self.array(self.values(st.integers(0, threads - 1), small), I32, executors * width)
            ),
            "displaced": self.array(stray, I32, self.one(st.sampled_from([0, n * width]))),
            "predecessors": before,
            "delay_s": self.one(self.values(second, odd_number)), "per_poller_s": self.one(second),
        }  # fmt: skip

    def before(self, after: Csr) -> tuple[Any, Any]:
        """Return the predecessors of a graph, where anything goes other ones."""
        if self.wild:
            return self.table(after.n)
        before = after.transposed()
        return before.indptr, before.indices

    def shortcuts(self, after: Csr, shared: object | None, threads: int) -> Arguments | None:
        """Return what runs past the queue, sometimes nothing; fitting ones leave no task without an executor."""
        n = after.n
        singles = self.one(st.integers(0, 2))
        if self.one(st.booleans()):
            return None
        apart = st.booleans() if singles or self.wild else st.just(False)
        return self.loads(n if shared and singles else 0) | {
            "threads": self.array(self.values(st.integers(0, threads - 1), small), I32, singles),
            "single_threaded": self.array(apart, np.bool_, n), "inline": self.array(st.booleans(), np.bool_, n),
            "seconds": self.seconds(n if singles else 0), "predecessors": self.before(after),
            "buffered": self.one(st.booleans()),
        }  # fmt: skip

    def corunning(self, n: int, shared: object | None, threads: int) -> Arguments:
        """Return arguments of `replay_corun`, but for the graph's."""
        count, anything = st.integers(1, 3), st.integers(0, 5)
        sizes = {name: self.one(self.values(count, anything)) for name in ("candidates", "max_running")}
        sizes["offered"] = self.one(self.values(st.integers(1, max(sizes["candidates"], 1)), anything))
        rows = n * sizes["candidates"]
        ways = 2 if threads % 2 == 0 and self.one(st.booleans()) else 1
        small_tasks = self.one(self.values(st.just(ways > 1), st.booleans()))
        widest = threads // ways if small_tasks else threads
        return sizes | self.loads(rows if shared else 0) | {
            "cores": self.one(self.values(st.just(threads // ways), anything)),
            "ways": self.one(self.values(st.just(ways), anything)), "corun": self.one(st.booleans()),
            "cores_per_tile": self.one(self.values(st.sampled_from([1, threads // ways]), anything)),
            "widths": self.array(self.values(st.integers(1, max(widest, 1)), small), I32, rows),
            "serial": self.seconds(n if small_tasks else 0),
            "estimates": self.seconds(rows), "seconds": self.seconds(rows),
            "noise": self.seconds(self.one(st.sampled_from([0, n]))),
            "dispatch_s": self.one(second), "resize_s": self.one(second),
            "resize_per_thread_s": self.one(self.values(second, odd_number)),
        }  # fmt: skip


@settings(max_examples=60)
@given(st.data())
def test_anything_that_has_the_right_types_is_replayed_or_refused(data: st.DataObject) -> None:
    module, draw, n = find(), Draw(data), data.draw(st.integers(0, 4))
    if module is None:
        pytest.skip("installed without the compiled module")
    bound, graph = Bound(module), draw.graph(n)
    shared, threads = draw.sharing(module)
    cuts = draw.shortcuts(Csr(*graph), shared, threads)
    for replay, arguments in (
        (bound.replay_list, draw.listed(n, shared, threads) | {"shortcuts": cuts}),
        (bound.replay_corun, draw.corunning(n, shared, threads)),
    ):
        try:
            result = replay(arguments | {"successors": graph, "shared": shared})
        except (ValueError, OverflowError):
            assert draw.wild
            continue
        done = result[0] if isinstance(result[0], int) else result[0][0]
        assert done == n or (draw.wild and 0 <= done < n)
