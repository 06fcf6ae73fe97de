"""Inputs whose lowest dimension is dealt to the CPEs, and copies of them with other dimensions in front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.nest import Access, LoopNest, Tensor
from simsched.hwmodels.ldm.split import split


def parallel_loops(nest: LoopNest, group: CoreGroup) -> tuple[str, ...]:
    """Return the loops that are dealt to the CPEs, outermost first."""
    return tuple(loop for loop in split(nest, group.cpes).fused if nest.loops[loop] > 1)


def across_of(nest: LoopNest, group: CoreGroup) -> list[Tensor]:
    """Return the inputs along whose lowest dimension a parallel loop runs, and other loops along higher ones."""
    parallel = set(parallel_loops(nest, group))
    return [tensor for tensor in nest.inputs if _is_across(tensor, parallel, nest)]


def swapped(nest: LoopNest, tensors: Sequence[Tensor], group: CoreGroup) -> LoopNest:
    """Return a nest that reads copies of some tensors, in which the dimensions of parallel loops come first."""
    parallel = parallel_loops(nest, group)
    names = {tensor.name for tensor in tensors}
    reads = []
    for access, tensor in zip(nest.reads, nest.inputs, strict=True):
        order = _order(tensor, parallel) if tensor.name in names else range(len(tensor.dims))
        indices = tuple(access.indices[i] for i in order)
        reads.append(Access(access.tensor, indices, tuple(tensor.shape[i] for i in order)))
    return replace(nest, reads=tuple(reads))


def transposition(nest: LoopNest, tensor: Tensor, group: CoreGroup) -> LoopNest:
    """Return the nest in which all CPEs write such a copy of a tensor."""
    dims = [f"d{i}" for i in range(len(tensor.dims))]
    return LoopNest(
        name=f"{tensor.name} of {nest.name} transposed",
        loops=dict(zip(dims, tensor.shape, strict=True)),
        reads=(Access("from", tuple(dims)),),
        write=Access("to", tuple(dims[i] for i in _order(tensor, parallel_loops(nest, group)))),
        flops=0,
        element_B=nest.element_B,
    )


def _is_across(tensor: Tensor, parallel: set[str], nest: LoopNest) -> bool:
    ahead = {loop for dim in tensor.dims[:-1] for loop in dim.variables if nest.loops[loop] > 1}
    return bool(set(tensor.dims[-1].variables) & parallel) and bool(ahead - parallel)


def _order(tensor: Tensor, parallel: Sequence[str]) -> list[int]:
    """Return the dimensions of a tensor in their order after a swap: those of parallel loops first."""
    return sorted(range(len(tensor.dims)), key=lambda i: not set(tensor.dims[i].variables) & set(parallel))
