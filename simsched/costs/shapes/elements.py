"""Types of elements that products and convolutions compute in, and the rates of cores for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from simsched.costs.shapes.kinds import OF_BYTES, kernel_of
from simsched.costs.shapes.ops import ops_of, read_op
from simsched.graph import TaskGraph
from simsched.graph.shapes import ELEMENTS, parse_element
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine
from simsched.notes import Note, Weight
from simsched.text import counted

#: What elements may be that are assumed by their bytes: others of as many, or converted to before they are multiplied.
OTHERS = {"bf16": "fp16", "int8": "bf16"}
#: Library whose reading of an op tells the type: all tell the same.
READER = "onednn"


@dataclass(frozen=True)
class Rates:
    """Rates of cores for products, by the type of the elements.

    Parameters
    ----------
    stated : mapping of str to float
        Operations per second over those of FP32, as `Machine.element_flops`; other types are converted to FP32.
    doubt : float
        Of types that are assumed, how far the rate is from that of the assumed type (0) towards that of the other type
        they may be (1), on a logarithmic scale.

    Examples
    --------
    >>> rates = Rates({"bf16": 16.0}, doubt=0.5)
    >>> rates.of("bf16", assumed=False), rates.of("bf16", assumed=True), rates.of("fp16", assumed=False)
    (16.0, 4.0, 1.0)
    """

    stated: Mapping[str, float]
    doubt: float = 0.0

    def of(self, element: str, assumed: bool) -> float:
        """Return the operations per second of a type of elements over those of FP32."""
        own = self.stated.get(element, 1.0)
        if not assumed:
            return own
        other = self.stated.get(OTHERS[element], 1.0)
        return float(own * (other / own) ** self.doubt)


@dataclass(frozen=True, eq=False)
class Elements:
    """Types of elements that the tasks of a graph compute in.

    Parameters
    ----------
    types : list of (str, bool)
        Types, and whether each is assumed; "" for FP32, for FP64, and where nothing is known.
    of_task : int array, shape (n,)
        Place of each task's type in the list.
    """

    types: list[tuple[str, bool]]
    of_task: npt.NDArray[np.intp]

    @property
    def narrow(self) -> bool:
        """Whether some are narrower than FP32."""
        return len(self.types) > 1

    def rates(self, rates: Rates) -> Seconds | float:
        """Return the operations per second of each task's type over those of FP32, shape (n,); 1 where all are."""
        if not self.narrow:
            return 1.0
        return np.array([rates.of(*one) for one in self.types])[self.of_task]


_KNOWN: WeakKeyDictionary[TaskGraph, Elements] = WeakKeyDictionary()


def elements_of(graph: TaskGraph) -> Elements:
    """Return the types of elements that the tasks of a graph compute in; cached from the second call on.

    Examples
    --------
    >>> import simsched as ss
    >>> shapes = ["64x64;64x64;element=bf16", "64x64;64x64"]
    >>> found = elements_of(ss.TaskGraph.from_edges([1.0, 1.0], kinds="MatMul", shapes=shapes))
    >>> found.types, found.of_task.tolist(), found.rates(Rates({"bf16": 16.0})).tolist()
    ([('', False), ('bf16', False)], [1, 0], [16.0, 1.0])
    """
    if graph not in _KNOWN:
        _KNOWN[graph] = _found(graph)
    return _KNOWN[graph]


def rates_on(graph: TaskGraph, machine: Machine, doubt: float = 0.0) -> Seconds | float:
    """Return the operations per second of each task's elements on a machine over those of FP32; 1 where all are FP32.

    Parameters
    ----------
    graph : TaskGraph
    machine : Machine
    doubt : float
        As in `Rates`.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0], kinds="MatMul", shapes="64x64;64x64;element=int8")
    >>> rates_on(graph, ss.machine("generic[cores.int8_per_cycle=128]")).tolist()
    [4.0]
    """
    return elements_of(graph).rates(Rates(machine.element_flops, doubt))


def _found(graph: TaskGraph) -> Elements:
    kernels = [kernel_of(kind) for kind in graph.kinds.labels]
    computes = np.array([one is not None and one.rule not in OF_BYTES for one in kernels], np.bool_)
    tasks, ops, op_of = ops_of(graph, computes[graph.kinds.codes])
    reads = [read_op(*op, READER) for op in ops]
    each = [
        # Of shapes that do not fit the kind the stated type holds.
        (parse_element(op[1]), False) if one is None else (one.element, one.assumed)
        for op, one in zip(ops, reads, strict=True)
    ]
    each = [one if ELEMENTS.get(one[0], 4.0) < ELEMENTS["fp32"] else ("", False) for one in each]
    types = list(dict.fromkeys([("", False), *each]))
    of_task = np.zeros(graph.n_tasks, np.intp)
    of_task[tasks] = np.array([types.index(one) for one in each], np.intp)[op_of]
    return Elements(types, of_task)


def said_of(counts: Mapping[tuple[str, bool], int], machine: Machine) -> Iterator[Note]:
    """Yield notes on the rates of tasks whose elements are not FP32.

    Parameters
    ----------
    counts : mapping of (str, bool) to int
        Tasks by type, and whether it is assumed.
    machine : Machine
    """
    rates = Rates(machine.element_flops)
    for (element, assumed), count in counts.items():
        if not element or not count:
            continue
        tasks, own = counted(count, "task"), rates.of(element, assumed=False)
        if element == "fp64":
            yield Note(f"half the FLOP rates of FP32 for {tasks} of elements of 8 bytes", Weight.ASSUMPTION)
            continue
        of = f"{_rate(own)} for {tasks} of {element.upper()}"
        if assumed:
            size, other = counted(int(ELEMENTS[element]), "byte"), OTHERS[element]
            yield Note(
                f"{of}, which elements of {size} are taken for; of {other.upper()} "
                f"{_rate(rates.of(other, assumed=False))}: element={other} behind their shapes says so",
                Weight.DOUBT,
            )
        elif element in machine.element_flops:
            yield Note(
                f"{of} (cores.{element}_per_cycle): a library may reach less of them", Weight.ASSUMPTION
            )
        else:
            yield Note(
                f"{of}: {machine} states no cores.{element}_per_cycle, as of cores that convert such elements",
                Weight.DOUBT,
            )


def _rate(ratio: float) -> str:
    return "FLOP rates of FP32" if ratio == 1 else f"{ratio:.3g} times the FLOP rates of FP32"
