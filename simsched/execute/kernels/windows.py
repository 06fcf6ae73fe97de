"""Windows that go over images: filters and pools."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.execute.kernels.rules import Dims, Sizes


@dataclass(frozen=True)
class Window:
    """A filter or window along one axis."""

    size: int
    stride: int
    padding: int

    def count(self, extent: int) -> int:
        """Return how many places it has on an axis."""
        return (extent + 2 * self.padding - self.size) // self.stride + 1

    def covered(self, count: int) -> int:
        """Return the shortest axis on which it has so many places."""
        return (count - 1) * self.stride + self.size - 2 * self.padding

    @property
    def fits(self) -> bool:
        """Whether every place of it touches the axis."""
        return self.padding < self.size


#: Down and across.
Windows = tuple[Window, Window]


def places(windows: Windows, image: Dims) -> Dims:
    """Return how many places windows have on an image of (height, width)."""
    return tuple(v.count(extent) for v, extent in zip(windows, image, strict=True))


def windows_by_image(candidates: list[Windows], out: Dims, pixels: float) -> tuple[Windows, tuple[int, int]]:
    """Return the first windows that lead from an image of so many pixels to the output, and its height and width.

    Where none do, or the pixels are unknown, the first windows and the least image for them.
    """
    for windows in candidates:
        # A stride skips up to its length less one.
        for more in range(windows[0].stride):
            h, w = (v.covered(count) + more for v, count in zip(windows, out, strict=True))
            if h * w == pixels:
                return windows, (h, w)
    down, across = candidates[0]
    return candidates[0], (down.covered(out[0]), across.covered(out[1]))


def checked(head: Sizes, windows: Windows, image: Dims, tail: Sizes) -> Sizes | None:
    """Return the sizes of a kernel whose windows have a place on an image of (height, width), else None."""
    if min(places(windows, image)) < 1:
        return None
    down, across = windows
    return [*head, down.stride, across.stride, down.padding, across.padding, *tail]
