"""Latencies between memories, as the firmware rates them: 10 is local, 20 twice that."""

from __future__ import annotations

from collections.abc import Sequence

from simsched.hwmodels.hwloc.fields import MOST_INDEX, Fields
from simsched.hwmodels.hwloc.tree import FoundNode
from simsched.hwmodels.hwloc.xml import Element

Matrix = tuple[tuple[float, ...], ...]

#: The bit of a matrix's kind that says that its values are latencies.
_LATENCIES = 4
#: Largest value, and most matrices of an old file that are looked at.
_MOST, _MOST_OLD = 2**40, 16


def distances_of(fields: Fields, root: Element, machine: Element, nodes: Sequence[FoundNode]) -> Matrix:
    """Return the first matrix of latencies between all given memories, in their order; empty where none is told.

    Raises
    ------
    MachineError
        If a matrix is not square, or names memories that the file does not have.
    """
    if not nodes:
        return ()
    for element in root.named("distances2"):
        kind = fields.number(element, "kind", most=2**31)
        if element.attributes.get("type") == "NUMANode" and kind & _LATENCIES:
            return _recent(fields, element, nodes)
    for element in machine.named("distances")[:_MOST_OLD]:
        if fields.number(element, "nbobjs", most=MOST_INDEX) == len(nodes) and _of_memories(
            fields, element, nodes
        ):
            return _old(fields, element, len(nodes))
    return ()


def _recent(fields: Fields, element: Element, nodes: Sequence[FoundNode]) -> Matrix:
    """Read a matrix of hwloc 2 and later, which names its memories by their numbers."""
    key = "gp_index" if element.attributes.get("indexing") == "gp" else "os_index"
    indexes = fields.numbers(element, "indexes", most=2**62)
    values = fields.numbers(element, "u64values", most=_MOST)
    place = {index: place for place, index in enumerate(indexes)}
    if len(place) != len(indexes) or len(values) != len(indexes) ** 2:
        raise fields.wrong(
            element,
            f"{len(indexes)} indexes ({len(place)} of them different) and {len(values)} values are not a matrix",
        )
    wanted = [place.get(fields.number(node.element, key, most=2**62, default=2**62)) for node in nodes]
    # Memories that the matrix leaves out (a GPU's, say) have no distances, so the machine has none.
    rows = [row for row in wanted if row is not None]
    if len(rows) != len(nodes):
        return ()
    return tuple(tuple(float(values[a * len(indexes) + b]) for b in rows) for a in rows)


def _of_memories(fields: Fields, element: Element, nodes: Sequence[FoundNode]) -> bool:
    # An old matrix is one of all objects that lie so many levels below its owner, here the machine.
    depth = fields.number(element, "relative_depth", most=100)
    return all(node.depth == depth for node in nodes)


def _old(fields: Fields, element: Element, count: int) -> Matrix:
    """Read a matrix of hwloc 1, in the order of the file and relative to `latency_base`."""
    base = fields.decimal(element, "latency_base")
    values = [base * fields.decimal(child, "value") for child in element.named("latency")]
    if len(values) != count**2:
        raise fields.wrong(element, f"{len(values)} latencies are not a matrix of {count} memories")
    return tuple(tuple(values[row * count : (row + 1) * count]) for row in range(count))
