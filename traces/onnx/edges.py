"""Dependencies between the nodes of an ONNX model, by the tensors they make and read."""

from __future__ import annotations

from collections.abc import Sequence

from simsched.errors import FormatError
from simsched.graph.contracting import MAX_EDGES
from simsched.traces.onnx.model import Model


def edges(model: Model, kept: Sequence[object]) -> dict[tuple[int, int], str]:
    """Return the dependencies between the nodes that are kept, each with one tensor that carries it.

    Parameters
    ----------
    model : Model
    kept : sequence
        None for each node that is left out: it passes its own dependencies on to its readers.

    Raises
    ------
    FormatError
        If that makes more than `MAX_EDGES`.
    """
    found: dict[tuple[int, int], str] = {}
    sources: dict[str, frozenset[int]] = {}
    passed_on = 0
    for i, node in enumerate(model.nodes):
        reads = [name for name in (*node.inputs, *node.captured) if name in sources]
        # Nodes left out hand the same set on and on: each set counts once.
        distinct = {id(sources[name]): name for name in reversed(reads)}.values()
        if kept[i] is not None:
            made_by = frozenset([i])
            found.update(((before, i), name) for name in distinct for before in sources[name])
        else:
            made_by = _union([sources[name] for name in distinct])
            passed_on += len(made_by)
        if len(found) + passed_on > MAX_EDGES:
            raise FormatError(
                f"{model.file}: more than {MAX_EDGES} dependencies, most through nodes that are left out"
            )
        sources.update((name, made_by) for name in node.outputs)
    return found


def _union(sets: Sequence[frozenset[int]]) -> frozenset[int]:
    return sets[0] if len(sets) == 1 else frozenset().union(*sets)
