"""Layouts `k x w`: k executors of w cores; `k x w + d`: d devices beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from simsched.errors import LayoutError
from simsched.parameters import is_whole

Best = Literal["best"]
#: In place of a layout: the one of the shortest of a few replays.
BEST: Best = "best"
_LAYOUT = re.compile(r"\s*(\d{1,9})\s*[xX×]\s*(\d{1,9})\s*(?:\+\s*(\d{1,9})\s*)?")


@dataclass(frozen=True, order=True)
class Layout:
    """Executors and the cores of each.

    Parameters
    ----------
    executors : int
        Number of executors.
    width : int
        Cores of one executor.
    devices : int, default 0
        Devices of the machine, such as GPUs, each of which is an executor besides.

    Examples
    --------
    >>> import simsched as ss
    >>> layout = ss.Layout(executors=8, width=4)
    >>> layout.cores, str(layout)
    (32, '8x4')
    >>> ss.Layout.parse("2x36+1").n_executors
    3
    """

    executors: int
    width: int
    devices: int = 0

    def __post_init__(self) -> None:
        if not all(is_whole(part) for part in (self.executors, self.width, self.devices)):
            raise LayoutError(
                f"the layout {self.executors!r:.40} x {self.width!r:.40} + {self.devices!r:.40} is not of whole numbers"
            )
        if self.executors < 1 or self.width < 1 or self.devices < 0:
            raise LayoutError(f"the layout {self} has no cores; the smallest layout is 1x1")

    @classmethod
    def parse(cls, layout: str | Layout | tuple[int, int]) -> Layout:
        """Return the layout written `8x4`, with devices `2x36+1`, or as a pair.

        Parameters
        ----------
        layout : str, Layout or pair of int
            Executors and cores of each; a Layout is returned unchanged.

        Returns
        -------
        Layout

        Raises
        ------
        LayoutError
            If it is malformed.

        Examples
        --------
        >>> import simsched as ss
        >>> ss.Layout.parse("8x4") == ss.Layout.parse((8, 4)) == ss.Layout(8, 4)
        True
        """
        if isinstance(layout, Layout):
            return layout
        if isinstance(layout, tuple) and len(layout) == 2 and all(is_whole(part) for part in layout):
            return cls(*map(int, layout))
        if layout == BEST:
            raise LayoutError("'best' is for simulations only; write executors x cores here, as in 8x4")
        match = _LAYOUT.fullmatch(layout) if isinstance(layout, str) else None
        if match is None:
            raise LayoutError(f"{layout!r} is not a layout; write executors x cores, as in 8x4, or best")
        return cls(int(match[1]), int(match[2]), int(match[3] or 0))

    @classmethod
    def wanted(cls, layout: str | Layout | tuple[int, int] | None) -> Layout | Best | None:
        """Return the layout as `parse` does; "best" and None stay unchanged, and "", as in tables, is None.

        Examples
        --------
        >>> import simsched as ss
        >>> ss.Layout.wanted("8x4") == ss.Layout(8, 4), ss.Layout.wanted("best"), ss.Layout.wanted(None)
        (True, 'best', None)
        """
        if layout is None or layout == "":
            return None
        return BEST if layout == BEST else cls.parse(layout)

    @classmethod
    def filling(cls, cores: int) -> tuple[Layout, ...]:
        """Return the layouts to which no executor, and no core of each, can be added; the widest first.

        Parameters
        ----------
        cores : int
            Cores to fill.

        Examples
        --------
        >>> import simsched as ss
        >>> [str(layout) for layout in ss.Layout.filling(5)]
        ['1x5', '2x2', '5x1']
        """
        widths = {cores // executors for executors in range(1, cores + 1)}
        return tuple(cls(cores // width, width) for width in sorted(widths, reverse=True))

    @classmethod
    def of_kinds(cls, cores: Sequence[int], devices: int = 0) -> tuple[Layout, ...]:
        """Return the layouts whose teams fill the first kind of cores, or all kinds, with teams of one kind.

        Parameters
        ----------
        cores : sequence of int
            Cores of each kind, in the order of the cores; 0 for devices.
        devices : int, default 0
            Devices; each layout is there with all of them, and without.

        Examples
        --------
        >>> import simsched as ss
        >>> [str(layout) for layout in ss.Layout.of_kinds([2, 4])]
        ['1x4', '3x2', '1x2', '6x1', '2x1']
        >>> [str(layout) for layout in ss.Layout.of_kinds([2], devices=1)]
        ['1x2+1', '2x1+1', '1x2', '2x1']
        """
        widths = {layout.width for count in cores if count for layout in cls.filling(count)}
        line = (
            (sum(count // width for count in some), width)
            for width in sorted(widths, reverse=True)
            for some in (cores, cores[:1])
        )
        found = dict.fromkeys(cls(executors, width) for executors, width in line if executors)
        beside = (replace(layout, devices=devices) for layout in found if devices)
        return (*beside, *found)

    @property
    def n_executors(self) -> int:
        """Executors, the devices included."""
        return self.executors + self.devices

    @property
    def cores(self) -> int:
        """Cores of all executors, the devices included."""
        return self.executors * self.width + self.devices

    def __str__(self) -> str:
        return f"{self.executors}x{self.width}" + (f"+{self.devices}" if self.devices else "")
