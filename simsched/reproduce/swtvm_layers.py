"""Layers of the networks that swTVM was measured on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simsched.reproduce.published import Published


@dataclass(frozen=True)
class LayerShape:
    """A layer: a convolution, or a matrix product that connects all inputs and outputs.

    Parameters
    ----------
    name : str
    sizes : mapping of str to int
        channels, filters, size, kernel, stride, padding of a convolution; n, k of a product.
    groups : int
        Equal parts of a convolution that do not know each other, one after another.
    """

    name: str
    sizes: Mapping[str, int]
    groups: int = 1

    @property
    def connected(self) -> bool:
        """Whether it is fully connected."""
        return "kernel" not in self.sizes

    def nest(self, operation: Callable[..., Any], batch: int) -> Any:
        """Return the loop nest of one group, as `operation` of a machine's `[ldm]` table makes it."""
        if self.connected:
            return operation("matmul", m=batch, **self.sizes)
        divided = {key: self.sizes[key] // self.groups for key in ("channels", "filters")}
        return operation("convolution", batch=batch, **{**self.sizes, **divided})

    def seconds(self, operation: Callable[..., Any], costing: Callable[[Any], float], batch: int) -> float:
        """Return the seconds of all groups in a costing."""
        return self.groups * costing(self.nest(operation, batch))


def layer_shapes(published: Published, network: str, *, groups: bool = False) -> dict[str, LayerShape]:
    """Return the layers of a network by name.

    Parameters
    ----------
    published : Published
        swTVM's data file.
    network : str
        alexnet or vgg19.
    groups : bool
        Whether layers are divided into their groups.
    """
    found = {}
    for row in published.inputs["layers"][network]:
        sizes = {key: value for key, value in row.items() if key not in {"name", "groups"}}
        found[row["name"]] = LayerShape(row["name"], sizes, row.get("groups", 1) if groups else 1)
    return found
