"""What sockets look like: domains, L3 groups, tiles and cores as boxes in boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np

from simsched.machine.structure import Box, Picture

if TYPE_CHECKING:
    from simsched.hwmodels.sockets import Sockets

#: Room around what a box holds, and the height of a domain's memory; a core is 1 wide and 1 high.
MARGIN, MEMORY = 0.25, 0.8

Point = tuple[float, float]


@dataclass(frozen=True)
class Group:
    """Boxes that belong together: their lower left corner is (0, 0)."""

    width: float
    height: float
    boxes: Sequence[Box]

    def at(self, x: float, y: float) -> list[Box]:
        """Return the boxes, moved."""
        return [replace(box, x=box.x + x, y=box.y + y) for box in self.boxes]

    def framed(self, role: str, label: str) -> Group:
        """Return the group with a box around it."""
        width, height = self.width + 2 * MARGIN, self.height + 2 * MARGIN
        return Group(width, height, [Box(0, 0, width, height, role, label), *self.at(MARGIN, MARGIN)])


def picture_of(sockets: Sockets) -> Picture:
    """Return sockets side by side; in each its domains with their memory, L3 groups, tiles and cores."""
    boxes: list[Box] = []
    x, tops = 0.0, []
    for socket in range(len(sockets.sockets)):
        group = _socket(sockets, socket)
        boxes += group.at(x, 0)
        tops.append((x + group.width / 2, group.height))
        x += group.width + 4 * MARGIN
    links = [part for a, b in sockets.links for part in _bridge(tops[a], tops[b], abs(a - b))]
    return Picture(boxes, links)


def _bridge(a: Point, b: Point, apart: int) -> list[tuple[Point, Point]]:
    # Links run over the sockets: those between farther ones are drawn higher.
    y = max(a[1], b[1]) + MARGIN * (1 + apart)
    return [(a, (a[0], y)), ((a[0], y), (b[0], y)), ((b[0], y), b)]


def _socket(sockets: Sockets, socket: int) -> Group:
    cores = np.flatnonzero(sockets.socket_of == socket)
    domains = sockets.domain_of[cores]
    parts = [_domain(sockets, cores[domains == domain], int(domain)) for domain in np.unique(domains)]
    return _packed(parts).framed("domain", f"socket {socket}")


def _domain(sockets: Sockets, cores: np.ndarray, domain: int) -> Group:
    groups = sockets.l3_of[cores]
    caches = _packed([_l3(sockets, cores[groups == group]) for group in np.unique(groups)])
    memory = Box(0, 0, caches.width, MEMORY, "memory", f"memory {domain}")
    return Group(caches.width, caches.height + MEMORY + MARGIN, [memory, *caches.at(0, MEMORY + MARGIN)])


def _l3(sockets: Sockets, cores: np.ndarray) -> Group:
    tiles = np.split(cores, len(cores) // sockets.per_tile)
    return _packed([_tile(tile.tolist()) for tile in tiles], gap=0.1).framed("cache", "")


def _tile(cores: Sequence[int]) -> Group:
    boxes = _packed([Group(1, 1, [Box(0, 0, 1, 1, "core", str(core), core)]) for core in cores], gap=0)
    if len(cores) == 1:
        return boxes
    return Group(boxes.width, boxes.height, [Box(0, 0, boxes.width, boxes.height, "tile"), *boxes.boxes])


def _packed(groups: Sequence[Group], gap: float = MARGIN) -> Group:
    """Return groups in rows, the first at the top left, about as wide as high."""
    width, height = max(g.width for g in groups) + gap, max(g.height for g in groups) + gap
    columns = max(1, min(len(groups), ceil(sqrt(len(groups) * height / width))))
    rows = ceil(len(groups) / columns)
    boxes = []
    for index, group in enumerate(groups):
        row, column = divmod(index, columns)
        boxes += group.at(column * width, (rows - 1 - row) * height)
    return Group(columns * width - gap, rows * height - gap, boxes)
