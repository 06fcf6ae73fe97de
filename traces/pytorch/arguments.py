"""Arguments and results of a recorded call: the tensors among them, by position."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from simsched.graph.shapes import MAX_RANK
from simsched.traces.pytorch.aten import Dims
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import Place

MAX_DIM = 2**48
_TENSOR_TYPES = re.compile(r"Tensor\(((?:[^()]|\([^()]*\))*)\)")
_UNDEFINED = "nullptr"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a call: its own id, that of the storage it lies in, bytes an element and in all, shape.

    The profiler tells no storage of sparse and MKL-DNN tensors and of functorch's wrappers: minus the tensor's id
    stands in for it, and the bytes are unknown. Storage 0 is that of undefined tensors, which all have one id.
    """

    id: int
    storage: int
    element_B: int
    size_B: int
    dims: Dims


class Side:
    """The arguments, or the results, of a call: values with the tensors among them, by position."""

    def __init__(self, values: list[Any], by_position: list[list[Tensor]], is_list: list[bool]) -> None:
        self.values, self._by_position, self._is_list = values, by_position, is_list
        self.tensors = [t for tensors in by_position for t in tensors if t.storage]

    @classmethod
    def of(cls, raw: dict[str, Any], side: str, place: Place) -> Side:
        """Read one side of a node of any schema."""
        held = raw.get(f"{side}s")
        if isinstance(held, dict):
            columns = [held.get(key) for key in ("values", "shapes", "types")]
        else:
            columns = [held, raw.get(f"{side}_shapes"), raw.get(f"{side}_types")]
        values, shapes, types = (place.array(column, f"{side}s") for column in columns)
        if not len(values) == len(shapes) == len(types):
            raise place.error(f"{side}s: {len(values)} values, {len(shapes)} shapes and {len(types)} types")
        by_position, is_list = [], []
        for value, shape, kind in zip(values, shapes, types, strict=True):
            holds = "Tensor" in place.text(kind, f"{side}s.types")
            by_position.append(_placed(list(_tensors(value, shape, place)), kind) if holds else [])
            is_list.append(not kind.startswith("Tensor"))
        return cls(values, by_position, is_list)

    def at(self, position: int) -> list[Tensor]:
        """Return the tensors of one argument."""
        return self._by_position[position] if position < len(self._by_position) else []

    def positional(self) -> list[Dims | None]:
        """Return the shape of each argument; None for what is not a single tensor, or may be a sparse one."""
        pairs = zip(self._by_position, self._is_list, strict=True)
        return [held[0].dims if held and not many and held[0].storage >= 0 else None for held, many in pairs]

    def dims(self) -> list[Dims]:
        """Return the shapes of all tensors."""
        return [t.dims for t in self.tensors]

    def dense_dims(self) -> list[Dims]:
        """Return the shapes of the tensors that have as many elements as their shapes say."""
        return [t.dims for t in self.tensors if t.storage > 0]


def _placed(tensors: list[Tensor], kind: str) -> list[Tensor]:
    """Return the tensors, with a storage where theirs is unknown; undefined ones, as their types tell, have none."""
    if all(t.storage for t in tensors):
        return tensors
    types = _TENSOR_TYPES.findall(kind)
    if len(types) != len(tensors):
        types = [kind] * len(tensors)
    return [
        replace(tensor, storage=-tensor.id)
        if tensor.storage == 0 and tensor.id > 0 and _UNDEFINED not in of
        else tensor
        for tensor, of in zip(tensors, types, strict=True)
    ]


def _tensors(value: Any, shape: Any, place: Place) -> Iterator[Tensor]:
    if not isinstance(value, list):
        return
    if len(value) in (5, 6) and all(type(v) is int for v in value[:5]):
        yield _tensor(value, shape, place)
        return
    shapes = shape if isinstance(shape, list) and len(shape) == len(value) else [[]] * len(value)
    for inner, dims in zip(value, shapes, strict=True):
        yield from _tensors(inner, dims, place)


def _tensor(value: list[Any], shape: Any, place: Place) -> Tensor:
    identity, storage, _, elements, element_B = (place.integer(v, "tensor") for v in value[:5])
    if elements < 0 or element_B < 0:
        raise place.error(f"tensor {shown(value)} has a negative size")
    return Tensor(identity, storage, element_B, elements * element_B, dims_of(shape, place))


def dims_of(shape: Any, place: Place) -> Dims:
    """Return a recorded shape as a tuple.

    Raises
    ------
    FormatError
        If it is not a list of at most `MAX_RANK` whole numbers from 0.
    """
    if (
        not isinstance(shape, list)
        or len(shape) > MAX_RANK
        or not all(type(d) is int and 0 <= d < MAX_DIM for d in shape)
    ):
        raise place.error(f"shape {shown(shape)} is not a list of sizes")
    return tuple(shape)
