"""The `[structure]` table of sockets, and its times of a cache line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from simsched.machine.schema import Quantity, Strict, measures, si

_Sizes = Annotated[list[Annotated[int, Field(ge=1, le=2**20, strict=True)]], Field(min_length=1)]
_Link = Annotated[list[Annotated[int, Field(ge=0, lt=1024, strict=True)]], Field(min_length=2, max_length=2)]
_Time = Annotated[Quantity, measures("time")]


class SocketsTable(Strict):
    """The `[structure]` table of `kind = "sockets"`.

    Parameters
    ----------
    sockets : list of int
        Cores of each socket, in the order of the cores.
    domains : list of int, optional
        Cores of each memory domain, in the same order; one a socket where left out.
    l3 : list of int, optional
        Cores that share each L3, in the same order; one a domain where left out.
    clusters : list of int, optional
        Cores of each cluster that has a way of its own to memory, in the same order; those of an L3 where left out.
    cluster : str, optional
        Cluster mode in use, one of `cluster_domains`.
    cluster_domains : mapping of str to int, optional
        Domains of each socket by cluster mode: `{ off = 1, snc2 = 2 }`. They replace `domains`.
    links : list of pairs, optional
        Sockets that are joined directly; every pair where left out.
    same_tile, same_l3, same_socket, other_socket, further_link : Quantity
        Time of a cache line between cores of a tile, tiles of an L3, L3s of a socket, and sockets one link apart;
        and the addition of each further link. Times without such cores in the machine may be left out.
    """

    kind: Literal["sockets"]
    sockets: Annotated[_Sizes, Field(max_length=1024)]
    domains: _Sizes | None = None
    l3: _Sizes | None = None
    clusters: _Sizes | None = None
    cluster: str | None = None
    cluster_domains: dict[str, Annotated[int, Field(ge=1, le=1024, strict=True)]] | None = None
    links: list[_Link] | None = None
    same_tile: _Time | None = None
    same_l3: _Time | None = None
    same_socket: _Time | None = None
    other_socket: _Time | None = None
    further_link: _Time | None = None

    @model_validator(mode="after")
    def _one_of_the_modes(self) -> Self:
        modes = self.cluster_domains
        if (self.cluster is None) != (modes is None):
            raise ValueError("cluster is one of the modes in cluster_domains; give both or none")
        if modes is not None and self.cluster not in modes:
            raise ValueError(f"cluster: {self.cluster!r} is none of {', '.join(modes)}")
        if modes is not None and self.domains is not None:
            raise ValueError("domains follow from cluster_domains; give one of them")
        return self


@dataclass(frozen=True)
class Times:
    """Seconds of a cache line by the distance of two cores; 0 where a machine has no such cores.

    Parameters
    ----------
    same_tile_s, same_l3_s, same_socket_s, other_socket_s : float
        Within a tile, between tiles of an L3, between L3s of a socket, between sockets one link apart.
    further_link_s : float
        Addition of each further link.
    """

    same_tile_s: float
    same_l3_s: float
    same_socket_s: float
    other_socket_s: float
    further_link_s: float


def needed_times(sockets: Sequence[int], l3: Sequence[int], per_tile: int) -> list[str]:
    """Return the times of a cache line between cores that a machine has, by their keys in `SocketsTable`."""
    needed = {
        "same_tile": per_tile > 1,
        "same_l3": max(l3) > per_tile,
        "same_socket": not set(np.cumsum(l3)) <= set(np.cumsum(sockets)),
        "other_socket": len(sockets) > 1,
    }
    return [key for key, so in needed.items() if so]


def missing_times(table: SocketsTable, l3: Sequence[int], per_tile: int) -> list[str]:
    """Return a line for each time between cores that a machine has and the table does not state."""
    return [
        f"{key}: missing; the machine has such cores, so give the time of a cache line between them"
        for key in needed_times(table.sockets, l3, per_tile)
        if getattr(table, key) is None
    ]


def times_in(table: SocketsTable) -> Times:
    """Return the times of a table in seconds."""

    def seconds(given: Quantity | None) -> float:
        return si(given) if given else 0.0

    same_l3_s, other_s = seconds(table.same_l3), seconds(table.other_socket)
    same_socket_s = si(table.same_socket) if table.same_socket else same_l3_s
    # A further link costs the first one's addition, unless the file states it.
    further_s = si(table.further_link) if table.further_link else max(other_s - same_socket_s, 0.0)
    return Times(seconds(table.same_tile), same_l3_s, same_socket_s, other_s, further_s)
