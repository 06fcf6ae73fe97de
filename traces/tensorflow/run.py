"""The tasks of a TensorFlow run, while they are joined."""

from __future__ import annotations

from dataclasses import dataclass, field

from simsched.traces.tensorflow.records import Definition, Execution

#: Nodes that did not run can join each of their inputs with each of their readers.
MAX_STEPS = 8_000_000


@dataclass
class Joined:
    """Tasks by start, their nodes and edges, and what was found on the way.

    Parameters
    ----------
    tasks : list of Execution
        By start, finish and place in the file.
    nodes : list of Definition
        The node of each task.
    matched : int
        Tasks whose node is in a graph; those of the others are what the recording's labels tell.
    edges : set of (int, int)
        Before, after: indices of tasks.
    control : int
        How many edges only carry order, no data.
    repeated : int
        Nodes that ran more than once.
    ambiguous : int
        Tasks whose name stands in several graphs.
    unpaired : int
        Inputs of an execution of which no execution was early enough.
    starts_ns : list of int
        When each task really began: a receive waits for its send, a call for what it calls.
    waits : int
        How many receives were shortened so.
    calls : int
        How many calls of functions were, to nothing.
    """

    tasks: list[Execution]
    nodes: list[Definition]
    matched: int
    edges: set[tuple[int, int]] = field(default_factory=set)
    control: int = 0
    repeated: int = 0
    ambiguous: int = 0
    unpaired: int = 0
    starts_ns: list[int] = field(default_factory=list)
    waits: int = 0
    calls: int = 0
