"""An operation as a nest of loops over tensors, and the part of it that each CPE computes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral, Real

from simsched.hwmodels.ldm.affine import Affine, NestError, parse
from simsched.hwmodels.ldm.group import CoreGroup

Tiles = Mapping[str, int]


@dataclass(frozen=True)
class Access:
    """A tensor and the index of each of its dimensions, the highest first.

    Parameters
    ----------
    tensor : str
        Its name, unique within a nest.
    indices : tuple of str
        An affine expression for each dimension, such as "oh*2+kh-1"; the last dimension is contiguous in memory.
    shape : tuple of int, optional
        Extents of the dimensions as stored; by default the ranges of the nest's loops. An index may leave it
        (padding): elements outside are not moved.

    Examples
    --------
    >>> from simsched.hwmodels.ldm import Access
    >>> Access("image", ("c", "oh*2+kh", "ow*2+kw"))
    Access(tensor='image', indices=('c', 'oh*2+kh', 'ow*2+kw'), shape=None)
    """

    tensor: str
    indices: tuple[str, ...]
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Tensor:
    """An access with its expressions read and its shape known."""

    name: str
    dims: tuple[Affine, ...]
    shape: tuple[int, ...]

    @cached_property
    def variables(self) -> frozenset[str]:
        """All loop variables that select a part of it."""
        return frozenset(name for dim in self.dims for name in dim.variables)

    def spans(self, tiles: Mapping[str, float]) -> tuple[float, ...]:
        """Return the extent of each dimension of the part that a tile touches."""
        return tuple(min(dim.span(tiles), size) for dim, size in zip(self.dims, self.shape, strict=True))

    def elements(self, tiles: Mapping[str, float]) -> float:
        """Return the number of elements that a tile touches, halos included."""
        return math.prod(self.spans(tiles))


@dataclass(frozen=True)
class LoopNest:
    """Loops around one statement that reads tensors and writes one.

    Parameters
    ----------
    name : str
        Name of the operation.
    loops : mapping of str to int
        Extent of each loop variable, outermost first.
    reads, write : tuple of Access, Access
        What an iteration reads and writes.
    reductions : frozenset of str
        Loops whose iterations add up into the same output.
    flops : float
        Floating-point operations of an iteration.
    element_B : int
        Bytes of an element.
    constants : mapping of str to int
        Names that index expressions may use for whole numbers, such as a stride.

    Raises
    ------
    NestError
        On an extent below one, an unknown loop, an index that is not affine, two accesses of one name.

    Examples
    --------
    >>> from simsched.hwmodels.ldm import Access, LoopNest
    >>> reads = (Access("A", ("m", "k")), Access("B", ("k", "n")))
    >>> product = LoopNest(
    ...     "matmul", {"m": 8, "n": 4, "k": 2}, reads, Access("C", ("m", "n")), frozenset({"k"}), flops=2
    ... )
    >>> product.iterations, product.total_flops, [tensor.shape for tensor in product.tensors]
    (64, 128, [(8, 2), (2, 4), (8, 4)])
    """

    name: str
    loops: Mapping[str, int]
    reads: tuple[Access, ...]
    write: Access
    reductions: frozenset[str] = frozenset()
    flops: float = 1.0
    element_B: int = 4
    constants: Mapping[str, int] = field(default_factory=dict)
    inputs: tuple[Tensor, ...] = field(init=False)
    output: Tensor = field(init=False)

    def __hash__(self) -> int:
        return hash((self.name, *self.loops.items(), self.reads, self.write, self.flops, self.element_B))

    def __post_init__(self) -> None:
        self._check_loops()
        object.__setattr__(self, "loops", {loop: int(extent) for loop, extent in self.loops.items()})
        names = [access.tensor for access in (*self.reads, self.write)]
        if len(set(names)) < len(names):
            raise NestError(f"{self.name}: tensors {names} share a name; each access needs its own buffer")
        object.__setattr__(self, "inputs", tuple(map(self._tensor, self.reads)))
        object.__setattr__(self, "output", self._tensor(self.write))
        if wrong := sorted(self.output.variables & self.reductions):
            raise NestError(f"{self.name}: {wrong} index {self.output.name}, so they cannot be reductions")

    def _check_loops(self) -> None:
        for loop, extent in self.loops.items():
            if isinstance(extent, bool) or not isinstance(extent, Integral) or extent < 1:
                raise NestError(
                    f"{self.name}: loop {loop!r} has extent {extent}; expected a whole number from 1"
                )
        if not self.loops:
            raise NestError(f"{self.name}: no loops")
        if unknown := sorted(self.reductions - set(self.loops)):
            raise NestError(f"{self.name}: reductions {unknown} are none of the loops {list(self.loops)}")
        for what, value, least in (("flops", self.flops, 0), ("element_B", self.element_B, 1)):
            if not isinstance(value, Real) or not (math.isfinite(value) and value >= least):
                raise NestError(f"{self.name}: {what} is {value!r}; expected at least {least}")

    def _tensor(self, access: Access) -> Tensor:
        dims = tuple(parse(index, self.constants) for index in access.indices)
        for index, dim in zip(access.indices, dims, strict=True):
            if unknown := sorted(set(dim.variables) - set(self.loops)):
                raise NestError(
                    f"{self.name}: index {index!r} of {access.tensor} uses {unknown}; the loops are {list(self.loops)}"
                )
        if not dims:
            raise NestError(f"{self.name}: {access.tensor} has no dimension; write a scalar as index '0'")
        shape = access.shape or tuple(int(dim.span(self.loops)) for dim in dims)
        if len(shape) != len(dims) or min(shape) < 1:
            raise NestError(f"{self.name}: {access.tensor} has shape {shape} and {len(dims)} indices")
        return Tensor(access.tensor, dims, tuple(shape))

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Inputs, then the output."""
        return (*self.inputs, self.output)

    @property
    def iterations(self) -> int:
        """Number of executions of the statement."""
        return math.prod(self.loops.values())

    @property
    def total_flops(self) -> float:
        """Floating-point operations of the whole nest."""
        return self.iterations * self.flops

    def resized(self, extents: Mapping[str, int]) -> LoopNest:
        """Return the part of the nest with some loops shortened; tensors keep their shape in memory."""
        shapes = {tensor.name: tensor.shape for tensor in self.tensors}
        return replace(
            self,
            loops={**self.loops, **extents},
            reads=tuple(replace(access, shape=shapes[access.tensor]) for access in self.reads),
            write=replace(self.write, shape=shapes[self.write.tensor]),
        )


def trips(nest: LoopNest, tiles: Tiles) -> dict[str, int]:
    """Return the number of tiles of each loop."""
    return {loop: -(-extent // tiles[loop]) for loop, extent in nest.loops.items()}


@dataclass(frozen=True)
class Split:
    """A nest spread over the CPEs.

    Parameters
    ----------
    part : LoopNest
        The part of the CPE with the most work.
    cpes : int
        CPEs that have work.
    fused : tuple of str
        Loops whose iterations, taken together, are dealt out.
    pieces : int
        Their number.
    """

    part: LoopNest
    cpes: int
    fused: tuple[str, ...]
    pieces: int


def split(nest: LoopNest, cpes: int) -> Split:
    """Split the highest dimension of the output over the CPEs, fused with lower ones until pieces suffice.

    Loops that add up into one element are never split, so the CPEs need not talk (swTVM, Sec. 5.4). With `pieces` of
    them a CPE gets up to ceil(pieces / cpes), all from the lowest of the fused loops.
    """
    fused: list[str] = []
    pieces = 1
    for dim in nest.output.dims:
        for loop in dim.variables:
            if pieces < cpes and loop not in fused:
                fused.append(loop)
                pieces *= nest.loops[loop]
    if not fused:
        return Split(nest, 1, (), 1)
    each = -(-pieces // cpes)
    extents = dict.fromkeys(fused, 1)
    # All but the last give fewer pieces than there are CPEs, so that no CPE's share exceeds the last one's extent.
    extents[fused[-1]] = min(each, nest.loops[fused[-1]])
    others = math.prod(nest.loops[loop] for loop in fused[:-1])
    busy = min(cpes, -(-nest.loops[fused[-1]] // extents[fused[-1]]) * others)
    return Split(nest.resized(extents), busy, tuple(fused), pieces)


def placement(tensor: Tensor, order: Sequence[str], counts: Mapping[str, int]) -> int:
    """Return the number of tile loops around a tensor's transfer.

    It sits in the outermost loop at which all variables of the tensor are fixed (swTVM, Alg. 2); loops of one tile
    fix nothing.

    Parameters
    ----------
    tensor : Tensor
        The moved tensor.
    order : sequence of str
        Tile loops, outermost first.
    counts : mapping of str to int
        Tiles of each loop.
    """
    return max(
        (place + 1 for place, loop in enumerate(order) if loop in tensor.variables and counts[loop] > 1),
        default=0,
    )


def moves(tensor: Tensor, order: Sequence[str], counts: Mapping[str, int]) -> int:
    """Return the number of fills of a tensor's buffer (swTVM's DMA transfers): see `placement`."""
    return math.prod(counts[loop] for loop in order[: placement(tensor, order, counts)])


def distinct(tensor: Tensor, counts: Mapping[str, int]) -> int:
    """Return the number of different tiles of a tensor: the least that any order can move."""
    return math.prod(counts[loop] for loop in tensor.variables)


def parallel_loops(nest: LoopNest, group: CoreGroup) -> tuple[str, ...]:
    """Return the loops that are distributed over the CPEs, outermost first."""
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
