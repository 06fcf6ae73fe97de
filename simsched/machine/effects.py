"""`Effects`: the mutual slowdowns of running tasks that a replay accounts for."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Effects:
    """Switches of docs/semantics.md, rule 5.

    Parameters
    ----------
    share_bandwidth : bool
        Tasks that ask a memory domain for more than it moves slow each other down.
    share_tiles : bool
        Teams on one tile divide its L2.
    share_cores : bool
        Threads on one core divide it, as hardware threads or in turn.
    share_interconnect : bool
        The overhead of a team's threads grows with all running threads, not only with the team's own.
    remote_memory : bool
        Data stay in the domain of the cores that produced them, and are slower to reach from other domains.
    share_links : bool
        Objects that move share the links on their ways.
    fair_cores : bool
        All running threads have equal shares of all cores, as an operating system gives them: what policies with
        `oversubscribe=fair` do; no switch.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.machine import Effects
    >>> ss.machine("knl-7250[contention=false,share_tiles=true]").effects == Effects(share_tiles=True)
    True
    >>> Effects().any, Effects.all() == ss.machine("knl-7250[contention=true]").effects
    (False, True)
    """

    share_bandwidth: bool = False
    share_tiles: bool = False
    share_cores: bool = False
    share_interconnect: bool = False
    remote_memory: bool = False
    share_links: bool = False
    fair_cores: bool = False

    @classmethod
    def all(cls, on: bool = True) -> Effects:
        """Return all switches on, or all off."""
        return cls(*[on] * len(NAMES))

    @property
    def any(self) -> bool:
        """Whether running tasks slow each other down; transfers over links do not count here."""
        return any(getattr(self, field.name) for field in fields(self) if field.name != "share_links")


NAMES = tuple(field.name for field in fields(Effects) if field.name != "fair_cores")
