"""Windows that go over images: filters and pools."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.execute.rules import Dims, Sizes


@dataclass(frozen=True)
class Window:
    """A filter or window along one axis."""

    size: int
    stride: int
    padding: int

    def count(self, extent: int) -> int:
        """Return how many places it has on an axis."""
        return (extent + 2 * self.padding - self.size) // self.stride + 1

    @property
    def fits(self) -> bool:
        """Whether every place of it touches the axis."""
        return self.padding < self.size


#: Down and across.
Windows = tuple[Window, Window]


def places(windows: Windows, image: Dims) -> Dims:
    """Return how many places windows have on an image of (height, width)."""
    return tuple(v.count(extent) for v, extent in zip(windows, image, strict=True))


def checked(head: Sizes, windows: Windows, image: Dims, tail: Sizes) -> Sizes | None:
    """Return the sizes of a kernel whose windows have a place on an image of (height, width), else None."""
    if min(places(windows, image)) < 1:
        return None
    down, across = windows
    return [*head, down.stride, across.stride, down.padding, across.padding, *tail]
