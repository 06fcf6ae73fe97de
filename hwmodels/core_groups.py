"""`core_groups`: groups of simple cores on a grid, each with its own memory, as on the Sunway SW26010."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from simsched.errors import MachineError
from simsched.graph.adjacency import Csr, Index, Ints
from simsched.hwmodels.tiles import columns_of, filled, whole_tiles
from simsched.machine.interconnect import Interconnect, Link, joined
from simsched.machine.schema import Quantity, Strict, measures, si
from simsched.machine.structure import Box, Picture, Structure

#: Steps between cores of two groups: out of one, over the network between groups, into the other.
BETWEEN_GROUPS = 3


class CoreGroupsTable(Strict):
    """The `[structure]` table of core groups.

    Parameters
    ----------
    rows, columns : Quantity
        The grid of cores (CPEs) of a group.
    register_transfer : Quantity
        Time of a message between registers of two cores of one row or column.
    between_groups : Quantity
        Time of a message through memory: between cores of two groups, and to and from a management core.
    management : Quantity, optional
        Management cores (MPEs) of a group, beside its grid; none when not given.
    """

    kind: Literal["core_groups"] = "core_groups"
    rows: Annotated[Quantity, measures("count", least=1, most=1024, whole=True)]
    columns: Annotated[Quantity, measures("count", least=1, most=1024, whole=True)]
    register_transfer: Annotated[Quantity, measures("time")]
    between_groups: Annotated[Quantity, measures("time")]
    management: Annotated[Quantity, measures("count", most=64, whole=True)] | None = None


@dataclass(frozen=True)
class CoreGroups(Structure):
    """Groups of cores, each with a memory controller of its own, and perhaps a management core (MPE).

    A core group is the unit of placement: it is the tile and the memory domain of its cores. Cores are numbered row
    by row, management cores after the grid of their group. Registers communicate along rows and columns only, so that
    any other pair of a grid takes two steps; a management core communicates through memory.

    Parameters
    ----------
    groups, rows, columns : int
        Groups, and the grid of cores of each.
    register_s : float
        Seconds of a message along a row or a column.
    between_groups_s : float
        Seconds of a message to a core of another group, and to and from a management core.
    management : int
        Management cores of a group.

    Examples
    --------
    >>> from simsched.hwmodels.core_groups import CoreGroups
    >>> groups = CoreGroups(groups=2, rows=2, columns=2, register_s=1e-8, between_groups_s=1e-7)
    >>> groups.n_cores, groups.domain_of.tolist(), groups.hops(0)[:4].tolist()
    (8, [0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 2])
    >>> managed = CoreGroups(groups=2, rows=2, columns=2, register_s=1e-8, between_groups_s=1e-7, management=1)
    >>> managed.n_cores, managed.hops(4).tolist()
    (10, [2, 2, 2, 2, 0, 3, 3, 3, 3, 3])
    """

    kind: ClassVar[str] = "core_groups"
    schema: ClassVar[type[CoreGroupsTable]] = CoreGroupsTable

    groups: int
    rows: int
    columns: int
    register_s: float
    between_groups_s: float
    management: int = 0

    @classmethod
    def of(cls, table: CoreGroupsTable, n_cores: int, cores_per_tile: int) -> CoreGroups:
        """Return the structure of a checked table."""
        rows, columns = int(si(table.rows)), int(si(table.columns))
        management = int(si(table.management)) if table.management else 0
        if cores_per_tile != rows * columns + management:
            more = f", and {management} for management" if management else ""
            raise MachineError(
                f"rows x columns = {rows} x {columns} are {rows * columns} cores per group{more}, and a group is a "
                f"tile; cores.per_tile is {cores_per_tile}"
            )
        groups = whole_tiles(n_cores, cores_per_tile, "a core group")
        return cls(groups, rows, columns, si(table.register_transfer), si(table.between_groups), management)

    @property
    def n_cores(self) -> int:
        """Number of cores, management cores included."""
        return self.groups * self.cores_per_tile

    @property
    def cores_per_tile(self) -> int:
        """Cores of a group."""
        return self._grid + self.management

    @property
    def _grid(self) -> int:
        """Cores of a group's grid; those after them are for management."""
        return self.rows * self.columns

    @property
    def domain_of(self) -> Index:
        """Memory domain of each core: its group."""
        return self.tile_of

    @property
    def segment_of(self) -> Index:
        """Interconnect of each core: the mesh of its group."""
        return self.tile_of

    def hops(self, core: int) -> npt.NDArray[np.int64]:
        """Return 1 along the core's row and column, 2 elsewhere in its group, 3 to other groups, 0 to itself."""
        group, place = np.divmod(np.arange(self.n_cores), self.cores_per_tile)
        row, column = np.divmod(place, self.columns)
        steps = (row != row[core]).astype(np.int64) + (column != column[core])
        steps[self._through_memory(core)] = 2
        steps[core] = 0
        return np.where(group == group[core], steps, BETWEEN_GROUPS)

    def transfer_s(self, core: int) -> npt.NDArray[np.float64]:
        """Return the seconds of a message from a core's registers to every core's."""
        hops = self.hops(core)
        through = (hops == BETWEEN_GROUPS) | (self._through_memory(core) & (hops > 0))
        return np.where(through, self.between_groups_s, self.register_s * hops)

    def _through_memory(self, core: int) -> npt.NDArray[np.bool_]:
        """Return to which cores of its group a core's messages go through memory: one of both is for management."""
        managing: npt.NDArray[np.bool_] = np.arange(self.n_cores) % self.cores_per_tile >= self._grid
        return managing | bool(managing[core])

    @property
    def interconnect(self) -> GroupLinks:
        """Rows and columns on which registers communicate, and the memory of each group."""
        return GroupLinks(self)

    def resized(self, n_cores: int) -> CoreGroups:
        """Return another number of whole core groups."""
        return replace(self, groups=whole_tiles(n_cores, self.cores_per_tile, "a core group"))

    def picture(self) -> Picture:
        """Return the groups as a block, each with its cores, its MPE and its memory controller."""
        across, (width, height), corners = columns_of(self.groups), self._size, self.corners
        links = []
        for g, (x, y) in enumerate(corners):
            if (g + 1) % across and g + 1 < self.groups:
                links.append(((x + width, y + height / 2), (x + width + 1.4, y + height / 2)))
            if g + across < self.groups:
                links.append(((x + width / 2, y), (x + width / 2, y - 1.4)))
        boxes = [box for g, (x, y) in enumerate(corners) for box in self._group(g, x, y)]
        return Picture(tuple(boxes), tuple(links))

    @property
    def _size(self) -> tuple[float, float]:
        return self.columns + 0.8, self.rows + 1.7

    @property
    def corners(self) -> list[tuple[float, float]]:
        """Lower left corner of each group in the picture."""
        across, (width, height) = columns_of(self.groups), self._size
        return [(g % across * (width + 1.4), -(g // across) * (height + 1.4)) for g in range(self.groups)]

    def _group(self, group: int, x: float, y: float) -> Iterator[Box]:
        yield Box(x, y, *self._size, "domain", f"core group {group}")
        half, first = self.columns / 2 - 0.1, group * self.cores_per_tile
        each = half / max(self.management, 1)
        for i in range(self.management):
            number = first + self._grid + i
            yield Box(x + 0.4 + i * each, y + 0.4, each, 0.8, "control", f"MPE {number}", number)
        yield Box(x + 0.6 + half, y + 0.4, half, 0.8, "memory", "MC")
        cores = Box(x + 0.4, y + 1.4, self.columns, self.rows, "tile")
        yield from filled(cores, first, self._grid, self.columns)

    def facts(self) -> Mapping[str, str]:
        """Return the facts for readers."""
        managing = f" and {self.management} for management" if self.management else ""
        return {
            "core groups": f"{self.groups} of {self.rows} x {self.columns} cores{managing}",
            "memory domains": str(self.groups),
        }


class GroupLinks(Interconnect):
    """Ways between the cores of groups: registers along a row, then a column; to other groups through both memories.

    To and from a management core, they lead through the memory of its group.

    Examples
    --------
    >>> links = CoreGroups(groups=2, rows=2, columns=2, register_s=1e-8, between_groups_s=1e-7).interconnect
    >>> [links.links[link].name for link in links.ways([0, 0], [3, 4]).indices]
    ['group 0 row 0', 'group 0 column 1', 'group 0 memory', 'group 1 memory']
    """

    def __init__(self, groups: CoreGroups) -> None:
        self._groups = groups
        self.stop_of = np.arange(groups.n_cores, dtype=np.int32)
        self.domains = np.arange(groups.groups, dtype=np.int32)
        self.memories = self.domains + np.int32(groups.n_cores)

    @cached_property
    def links(self) -> Sequence[Link]:
        """Links, group by group: of rows, of columns, of the memory."""
        return [link for g, (x, y) in enumerate(self._groups.corners) for link in self._links(g, x, y)]

    def _links(self, group: int, x: float, y: float) -> Iterator[Link]:
        rows, columns = self._groups.rows, self._groups.columns
        left, bottom = x + 0.4, y + 1.4
        for row in range(rows):
            level = bottom + rows - row - 0.5
            yield Link(f"group {group} row {row}", ((left, level), (left + columns, level)))
        for column in range(columns):
            across = left + column + 0.5
            yield Link(f"group {group} column {column}", ((across, bottom + rows), (across, bottom)))
        middle = x + 0.6 + 0.75 * columns
        yield Link(f"group {group} memory", ((middle, y + 1.2), (middle, y + 1.4)), of_memory=True)

    def ways(self, sources: Ints, targets: Ints) -> Csr:
        """Return the links from each source stop to its target stop, in order."""
        shape, n = self._groups, self._groups.n_cores
        ends = np.stack([np.asarray(sources, np.int64), np.asarray(targets, np.int64)])
        core = ends < n
        group = np.where(core, ends // shape.cores_per_tile, ends - n)
        place = ends % shape.cores_per_tile
        row, column = np.divmod(place, shape.columns)
        first = group * (shape.rows + shape.columns + 1)
        memory = first + shape.rows + shape.columns
        on_grid = core & (place < shape.rows * shape.columns)
        within = on_grid.all(axis=0) & (group[0] == group[1])
        parts = [
            (within & (column[0] != column[1]), first[0] + row[0]),
            (within & (row[0] != row[1]), first[0] + shape.rows + column[1]),
            (~within, memory[0]),
            (group[0] != group[1], memory[1]),
        ]
        return joined([(np.flatnonzero(taken), link[taken]) for taken, link in parts], ends.shape[1])
