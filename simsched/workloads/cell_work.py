"""Work of a cell: that of its ops, when they run as one task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from simsched.workloads.tensor import NO_TASK, Phase, Place, Tensor

#: Phase and cell.
Key = tuple[Phase, tuple[int, ...] | None]


@dataclass(frozen=True)
class CellWork:
    """FLOPs and bytes of each cell of a network.

    Data within a cell stay in caches: its bytes are those of inputs from elsewhere and of outputs read
    elsewhere or not at all, each once. A cell adds its gradients of parameters to those of the cells before it, in
    place.

    Parameters
    ----------
    flops, bytes_B : mapping of (phase, cell) to float
        Of "forward" and of "gradients"; cells are those of `Builder.within`.
    """

    flops: Mapping[Key, float]
    bytes_B: Mapping[Key, float]

    @classmethod
    def of(
        cls,
        where: Sequence[tuple[Phase, Place]],
        inputs: Sequence[tuple[Tensor, ...]],
        made: Sequence[Tensor],
        flops: Sequence[float],
    ) -> CellWork:
        """Add up the ops of a network, given phase and place, inputs and FLOPs of each, and their outputs."""
        keys: list[Key] = [(phase, place.cell) for phase, place in where]
        operations: dict[Key, float] = defaultdict(float)
        for key, count in zip(keys, flops, strict=True):
            operations[key] += count
        moved: dict[Key, float] = defaultdict(float)
        for key, tensor in _crossing(keys, inputs, made):
            moved[key] += tensor.size_B
        for tensor in _added(keys, inputs):
            operations[keys[tensor.task]] += tensor.elements
            moved[keys[tensor.task]] += tensor.size_B
        return cls(
            *(
                {key: amount for key, amount in table.items() if key[0] != "update"}
                for table in (operations, moved)
            )
        )


def _added(keys: Sequence[Key], inputs: Sequence[tuple[Tensor, ...]]) -> Iterator[Tensor]:
    """Yield the gradients of parameters that are added to others: all but the first of each."""
    for key, read in zip(keys, inputs, strict=True):
        # An update reads its parameter first, which no task makes; any other op of this phase is a sum.
        if key[0] == "update" and read[0].task != NO_TASK:
            yield from read[1:]


def _crossing(
    keys: Sequence[Key], inputs: Sequence[tuple[Tensor, ...]], made: Sequence[Tensor]
) -> set[tuple[Key, Tensor]]:
    """Return the tensors that enter or leave each cell."""
    crossing: set[tuple[Key, Tensor]] = set()
    unread = set(made)
    for key, read in zip(keys, inputs, strict=True):
        for tensor in {x.storage for x in read}:
            unread.discard(tensor)
            home = keys[tensor.task] if tensor.task != NO_TASK else None
            if home != key:
                crossing.add((key, tensor))
                if home is not None:
                    crossing.add((home, tensor))
    crossing.update((keys[tensor.task], tensor) for tensor in unread)
    return crossing
