"""Sockets: chips of cores with shared L3 caches and memory domains, joined by links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise
from math import ceil, sqrt
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from simsched.errors import MachineError
from simsched.graph.adjacency import Csr, Index, Ints
from simsched.hwmodels.sockets_table import SocketsTable, Times, missing_times, times_in
from simsched.hwmodels.tiles import whole_tiles
from simsched.machine.interconnect import Interconnect, Link, joined
from simsched.machine.structure import Box, Picture, Structure


@dataclass(frozen=True)
class Sockets(Structure):
    """Sockets, memory domains, L3 groups and tiles, each a run of cores; of equal size or not.

    Parameters
    ----------
    per_tile : int
        Cores that share an L2.
    sockets, domains, l3, clusters : tuple of int
        Cores of each, in the order of the cores; every one is made of whole tiles. Clusters have ways to memory.
    links : tuple of pairs of int
        Sockets that are joined directly.
    times : Times
        Seconds of a cache line.
    cluster : str
        Cluster mode in use, "any" where there are none.
    origin : Sockets, optional
        What `resized` scales: the structure of the machine's file, so that 64 cores are the same structure whatever
        number of cores came between.

    Examples
    --------
    >>> import simsched as ss
    >>> sockets = ss.machine("xeon-8160x2").structure
    >>> sockets.sockets, sockets.hops(0)[[0, 1, 47]].tolist()
    ((24, 24), [0, 1, 3])
    """

    kind: ClassVar[str] = "sockets"
    schema: ClassVar[type[SocketsTable]] = SocketsTable

    per_tile: int
    sockets: tuple[int, ...]
    domains: tuple[int, ...]
    l3: tuple[int, ...]
    clusters: tuple[int, ...]
    links: tuple[tuple[int, int], ...]
    times: Times
    cluster: str = "any"
    origin: Sockets | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, table: SocketsTable, n_cores: int, cores_per_tile: int) -> Sockets:
        """Return the sockets that a table describes.

        Raises
        ------
        MachineError
            If sockets, domains or L3 groups do not add up to the cores, split a tile or overlap in part, if links join
            missing sockets or leave some unconnected, or if a time that the machine needs is missing.
        """
        domains = _domains(table, cores_per_tile)
        l3 = table.l3 or domains
        sizes = {"sockets": table.sockets, "domains": domains, "l3": l3, "clusters": table.clusters or l3}
        mistakes = [m for key, size in sizes.items() for m in _mistakes(key, size, n_cores, cores_per_tile)]
        n_sockets = len(table.sockets)
        links = _links(table.links, n_sockets)
        mistakes += _link_mistakes(links, n_sockets)
        if not mistakes:
            mistakes = _crossings(sizes)
        if not mistakes:
            mistakes = missing_times(table, sizes["l3"], cores_per_tile)
        if mistakes:
            raise MachineError("[structure]:", mistakes)
        return cls(
            per_tile=cores_per_tile,
            sockets=tuple(sizes["sockets"]),
            domains=tuple(sizes["domains"]),
            l3=tuple(sizes["l3"]),
            clusters=tuple(sizes["clusters"]),
            links=links,
            times=times_in(table),
            cluster=table.cluster or "any",
        )

    @property
    def n_cores(self) -> int:
        """Number of cores."""
        return sum(self.sockets)

    @property
    def cores_per_tile(self) -> int:
        """Cores of a tile."""
        return self.per_tile

    @cached_property
    def domain_of(self) -> Index:
        """Memory domain of each core."""
        return _group_of(self.domains)

    @cached_property
    def cluster_of(self) -> Index:
        """Cluster of each core: by default that of its L3."""
        return _group_of(self.clusters)

    @property
    def segment_of(self) -> Index:
        """Interconnect of each core: that of its socket."""
        return self.socket_of

    @cached_property
    def socket_of(self) -> Index:
        """Socket of each core, int32 (n_cores,)."""
        return _group_of(self.sockets)

    @cached_property
    def l3_of(self) -> Index:
        """L3 group of each core, int32 (n_cores,)."""
        return _group_of(self.l3)

    @cached_property
    def interconnect(self) -> SocketLinks:
        """Links between sockets, in both directions."""
        return SocketLinks(self)

    @cached_property
    def links_between(self) -> npt.NDArray[np.int64]:
        """Fewest links between sockets, int64 (n_sockets, n_sockets)."""
        return _links_between(self.links, len(self.sockets))

    def hops(self, core: int) -> npt.NDArray[np.int64]:
        """Return 0 within a tile, 1 within an L3, 2 within a socket, and one more for each link to another."""
        links = self.links_between[self.socket_of[core]][self.socket_of]
        near = np.where(self.l3_of == self.l3_of[core], 1, 2)
        near[self.tile_of == self.tile_of[core]] = 0
        return np.where(links > 0, 2 + links, near)

    def transfer_s(self, core: int) -> npt.NDArray[np.float64]:
        """Return the seconds of a cache line from a core to every core; 0 to itself."""
        links = self.links_between[self.socket_of[core]][self.socket_of]
        seconds = np.where(self.l3_of == self.l3_of[core], self.times.same_l3_s, self.times.same_socket_s)
        seconds[self.tile_of == self.tile_of[core]] = self.times.same_tile_s
        other = self.times.other_socket_s + (links - 1) * self.times.further_link_s
        seconds = np.where(links > 0, other, seconds)
        seconds[core] = 0.0
        return seconds

    def resized(self, n_cores: int) -> Sockets:
        """Return these sockets with more or fewer cores each, in proportion and in whole tiles.

        The numbers of sockets, domains and L3 groups stay, except that those without a tile left vanish. Domains of a
        tile each stay such: more tiles bring theirs.

        Raises
        ------
        MachineError
            If the cores are not whole tiles.
        """
        first, tiles = self.origin or self, whole_tiles(n_cores, self.per_tile)
        before = first.n_cores // self.per_tile
        single = {*first.domains} == {self.per_tile}
        sizes = [
            (self.per_tile,) * tiles
            if single and group and {*size} == {self.per_tile}
            else _scaled(size, self.per_tile, tiles, before)
            for group, size in enumerate((first.sockets, first.domains, first.l3, first.clusters))
        ]
        kept = {old: new for new, old in enumerate(i for i, size in enumerate(sizes[0]) if size)}
        # Sockets that vanish take their links along; the rest is then joined one to one.
        links = tuple((kept[a], kept[b]) for a, b in first.links if a in kept and b in kept)
        if _link_mistakes(links, len(kept)):
            links = _links(None, len(kept))
        sockets, domains, l3, clusters = (tuple(filter(None, size)) for size in sizes)
        return Sockets(self.per_tile, sockets, domains, l3, clusters, links, self.times, self.cluster, first)

    def picture(self) -> Picture:
        """Return sockets side by side, with their domains, L3 groups, tiles and cores."""
        groups = [_socket(self, socket) for socket in range(len(self.sockets))]
        tops = _tops(groups)
        boxes = [
            box
            for group, (x, _) in zip(groups, tops, strict=True)
            for box in group.at(x - group.width / 2, 0)
        ]
        return Picture(boxes, [part for a, b in self.links for part in _bridge(tops[a], tops[b], abs(a - b))])

    def facts(self) -> Mapping[str, str]:
        """Return the numbers of all parts."""
        return {
            "sockets": _told(self.sockets),
            "memory domains": _told(self.domains),
            "L3 groups": _told(self.l3),
            **({} if self.clusters == self.l3 else {"clusters": _told(self.clusters)}),
            **({} if self.cluster == "any" else {"cluster mode": self.cluster}),
            "links": ", ".join(f"{a}-{b}" for a, b in self.links) or "none",
        }


def _domains(table: SocketsTable, per_tile: int) -> Sequence[int]:
    """Return the cores of each domain: as stated, or equal parts of the sockets, in whole L3s and tiles."""
    if table.cluster_domains is None:
        return table.domains or table.sockets
    parts = table.cluster_domains[str(table.cluster)]
    unit_ends = np.cumsum(table.l3) if table.l3 else np.arange(per_tile, sum(table.sockets) + 1, per_tile)
    sizes: list[int] = []
    for end, size in zip(np.cumsum(table.sockets).tolist(), table.sockets, strict=True):
        inside = unit_ends[(unit_ends > end - size) & (unit_ends <= end)]
        nearest = [
            int(np.abs(inside - (end - size + size * part / parts)).argmin()) for part in range(1, parts)
        ]
        borders = [end - size, *(int(inside[place]) for place in nearest), end]
        sizes += [after - before for before, after in pairwise(borders) if after > before]
    if len(sizes) < parts * len(table.sockets):
        raise MachineError(
            f"cluster_domains.{table.cluster}: {parts} domains per socket, of which each has whole L3s and tiles; "
            f"there are fewer of these"
        )
    return sizes


def _group_of(sizes: Sequence[int]) -> Index:
    return np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)


def _told(sizes: Sequence[int]) -> str:
    if len(set(sizes)) == 1:
        return f"{len(sizes)} of {sizes[0]} cores"
    return f"{len(sizes)} of {', '.join(map(str, sizes))} cores"


def _mistakes(key: str, sizes: Sequence[int], n_cores: int, per_tile: int) -> list[str]:
    mistakes = []
    if (total := sum(sizes)) != n_cores:
        mistakes.append(f"{key}: {sizes} are {total} cores together; cores.count says {n_cores}")
    if odd := [size for size in sizes if size % per_tile]:
        mistakes.append(f"{key}: {odd[0]} cores are not whole tiles of {per_tile}")
    return mistakes


def _crossings(sizes: Mapping[str, Sequence[int]]) -> list[str]:
    """Return a line for each two kinds of groups of which one group is only partly in one of the other."""
    mistakes = []
    # Groups that the file leaves out are those of another key: a mistake is that key's, once.
    apart: dict[tuple[int, ...], str] = {}
    for key, size in sizes.items():
        apart.setdefault(tuple(size), key)
    for one, other in combinations(apart.values(), 2):
        ends, border = np.cumsum(sizes[other]), np.cumsum([0, *sizes[one]])
        starts = ends - sizes[other]
        divided = np.searchsorted(border, starts, "right") < np.searchsorted(border, ends, "left")
        whole = np.isin(starts, border) & np.isin(ends, border)
        if (odd := np.flatnonzero(divided & ~whole)).size:
            mistakes.append(
                f"{other}: cores {starts[odd[0]]} to {ends[odd[0]] - 1} lie in several of {one}, not all of which "
                "they fill; let one of the two be within the other"
            )
    return mistakes


def _links(given: Sequence[Sequence[int]] | None, n_sockets: int) -> tuple[tuple[int, int], ...]:
    if given is None:
        return tuple((a, b) for b in range(n_sockets) for a in range(b))
    return tuple((a, b) for a, b in given)


def _link_mistakes(links: Sequence[tuple[int, int]], n_sockets: int) -> list[str]:
    for a, b in links:
        if a == b or max(a, b) >= n_sockets:
            return [f"links: [{a}, {b}] is not a pair of the sockets 0 to {n_sockets - 1}"]
    apart = np.flatnonzero(_links_between(links, n_sockets)[0] < 0)
    return [f"links: no way leads from socket 0 to socket {apart[0]}"] if apart.size else []


def _links_between(links: Sequence[tuple[int, int]], n_sockets: int) -> npt.NDArray[np.int64]:
    """Return the fewest links between sockets, -1 if there is no way; breadth first from all in parallel."""
    joined = np.eye(n_sockets, dtype=bool)
    for a, b in links:
        joined[a, b] = joined[b, a] = True
    distance = np.where(np.eye(n_sockets, dtype=bool), 0, -1)
    reached, steps = np.eye(n_sockets, dtype=bool), 0
    while True:
        steps += 1
        further = (reached.astype(np.float32) @ joined.astype(np.float32)) > 0
        if (further == reached).all():
            return distance.astype(np.int64)
        distance[further & ~reached] = steps
        reached = further


def _scaled(sizes: Sequence[int], per_tile: int, tiles: int, before: int) -> list[int]:
    """Return sizes in proportion; boundaries are rounded, so that nested groups stay nested."""
    ends = np.concatenate([[0], np.cumsum(sizes)]) // per_tile
    moved = [int((2 * end * tiles + before) // (2 * before)) for end in ends.tolist()]
    return [(after - start) * per_tile for start, after in pairwise(moved)]


#: Room around the content of a box, and the height of a domain's memory; a core is 1 wide and 1 high.
MARGIN, MEMORY = 0.25, 0.8

Point = tuple[float, float]


@dataclass(frozen=True)
class _Group:
    """Boxes that belong together: their lower left corner is (0, 0)."""

    width: float
    height: float
    boxes: Sequence[Box]

    def at(self, x: float, y: float) -> list[Box]:
        """Return the boxes, moved."""
        return [Box(b.x + x, b.y + y, b.width, b.height, b.role, b.label, b.core) for b in self.boxes]

    def framed(self, role: str, label: str) -> _Group:
        """Return the group with a box around it."""
        width, height = self.width + 2 * MARGIN, self.height + 2 * MARGIN
        return _Group(width, height, [Box(0, 0, width, height, role, label), *self.at(MARGIN, MARGIN)])


def _tops(groups: Sequence[_Group]) -> list[Point]:
    """Return the middle of the upper edge of each of groups that stand side by side."""
    starts = np.cumsum([0.0, *(group.width + 4 * MARGIN for group in groups)])
    return [(float(x) + group.width / 2, group.height) for x, group in zip(starts[:-1], groups, strict=True)]


class SocketLinks(Interconnect):
    """Links between sockets, one in either direction; data take a way of fewest links, by the lowest sockets.

    Examples
    --------
    >>> import simsched as ss
    >>> links = ss.machine("xeon-8160x2").structure.interconnect
    >>> [link.name for link in links.links], links.ways([0, 1], [1, 0]).indices.tolist()
    (['0 to 1', '1 to 0'], [0, 1])
    """

    def __init__(self, sockets: Sockets) -> None:
        self._sockets, self._apart = sockets, sockets.links_between
        self.stop_of = sockets.socket_of
        first = np.searchsorted(sockets.domain_of, np.arange(sockets.n_domains))
        self.memories, self.domains = sockets.socket_of[first], sockets.domain_of[first]
        self._ends = [end for a, b in sockets.links for end in ((a, b), (b, a))]

    @cached_property
    def links(self) -> Sequence[Link]:
        """Links, in pairs of both directions."""
        tops = _tops([_socket(self._sockets, socket) for socket in range(len(self._apart))])
        return [Link(f"{a} to {b}", (tops[a], tops[b])) for a, b in self._ends]

    @cached_property
    def _next(self) -> tuple[Ints, Ints]:
        """Next socket on the way from each socket to each, and the link to it; both (n_sockets, n_sockets)."""
        n = len(self._apart)
        socket, link = np.tile(np.arange(n), (n, 1)), np.full((n, n), -1)
        for number in np.argsort([-b for _, b in self._ends], kind="stable").tolist():
            a, b = self._ends[number]
            nearer = self._apart[b] == self._apart[a] - 1
            socket[a, nearer], link[a, nearer] = b, number
        return socket, link

    def ways(self, sources: Ints, targets: Ints) -> Csr:
        """Return the links from each source socket to its target socket, in order."""
        at, end = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
        socket, link = self._next
        parts = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        while (left := np.flatnonzero(at != end)).size:
            parts.append((left, link[at[left], end[left]]))
            at = socket[at, end]
        return joined(parts, len(end))


def _bridge(a: Point, b: Point, apart: int) -> list[tuple[Point, Point]]:
    # Links run over the sockets: those between farther ones are drawn higher.
    y = max(a[1], b[1]) + MARGIN * (1 + apart)
    return [(a, (a[0], y)), ((a[0], y), (b[0], y)), ((b[0], y), b)]


def _socket(sockets: Sockets, socket: int) -> _Group:
    cores = np.flatnonzero(sockets.socket_of == socket)
    domains = sockets.domain_of[cores]
    parts = [_domain(sockets, cores[domains == domain], int(domain)) for domain in np.unique(domains)]
    return _packed(parts).framed("domain", f"socket {socket}")


def _domain(sockets: Sockets, cores: np.ndarray, domain: int) -> _Group:
    groups = sockets.l3_of[cores]
    caches = _packed([_l3(sockets, cores[groups == group]) for group in np.unique(groups)])
    memory = Box(0, 0, caches.width, MEMORY, "memory", f"memory {domain}")
    return _Group(caches.width, caches.height + MEMORY + MARGIN, [memory, *caches.at(0, MEMORY + MARGIN)])


def _l3(sockets: Sockets, cores: np.ndarray) -> _Group:
    tiles = np.split(cores, len(cores) // sockets.per_tile)
    return _packed([_tile(tile.tolist()) for tile in tiles], gap=0.1).framed("cache", "")


def _tile(cores: Sequence[int]) -> _Group:
    boxes = _packed([_Group(1, 1, [Box(0, 0, 1, 1, "core", str(core), core)]) for core in cores], gap=0)
    if len(cores) == 1:
        return boxes
    return _Group(boxes.width, boxes.height, [Box(0, 0, boxes.width, boxes.height, "tile"), *boxes.boxes])


def _packed(groups: Sequence[_Group], gap: float = MARGIN) -> _Group:
    """Return groups in rows, the first at the top left, about as wide as high."""
    width, height = max(g.width for g in groups) + gap, max(g.height for g in groups) + gap
    columns = max(1, min(len(groups), ceil(sqrt(len(groups) * height / width))))
    rows = ceil(len(groups) / columns)
    boxes = []
    for index, group in enumerate(groups):
        row, column = divmod(index, columns)
        boxes += group.at(column * width, (rows - 1 - row) * height)
    return _Group(columns * width - gap, rows * height - gap, boxes)
