"""`Preset`: the machine whose numbers stand in for what a topology does not know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simsched.errors import MachineError
from simsched.machine import machine
from simsched.machine.variations import edited, quantities
from simsched.spec import format_scalar, parse_path

if TYPE_CHECKING:
    from simsched.hwmodels.topology import Topology
    from simsched.machine import Machine

#: From the least trusted to the most.
CONFIDENCES = ("unverified", "low", "med", "high")
#: Variations that say nothing of the numbers that are taken, but of the machine that they are taken for.
OF_THE_OTHER = ("cores", "smt", "cluster", "reuse_teams")

Table = dict[str, Any]


def number(value: float | list[float], unit: str, source: str, confidence: str = "high") -> Table:
    """Return a quantity as a machine file has it."""
    return {"value": value, "unit": unit, "source": source, "confidence": confidence}


@dataclass(frozen=True)
class Preset:
    """A machine, and how far its numbers are to be trusted for another.

    Parameters
    ----------
    machine : Machine
        The machine.
    stated : mapping
        Its file, variations included.
    most : str
        Highest confidence that a number of it has for the other: "high" for the same processor.
    """

    machine: Machine
    stated: Mapping[str, Any]
    most: str

    @classmethod
    def named(cls, like: str, topology: Topology, most: str = "low") -> Preset:
        """Return the machine of a name or file; numbers of the same processor keep their confidence.

        Raises
        ------
        SpecError
            If no machine is called so.
        MachineError
            If its file is malformed, or a variation of it is none of its numbers.
        """
        found, spec = machine(like), parse_path(like)
        if wrong := [key for key in OF_THE_OTHER if key in spec.params]:
            raise MachineError(
                f"like={like}: {wrong[0]} is not a number to be taken from {spec.name}; write it behind: "
                f"[like={spec.name},{wrong[0]}={format_scalar(spec.params[wrong[0]])}]"
            )
        chips = re.findall(r"[0-9]{4}", spec.name)
        same = any(re.search(rf"\b{chip}\b", topology.model) for chip in chips)
        return cls(found, edited(found.content, spec.params, spec.name), "high" if same else most)

    @property
    def name(self) -> str:
        """What the numbers are said to be taken from."""
        return self.machine.spec

    @property
    def n_sockets(self) -> int:
        """Sockets of the machine."""
        return len(self.stated["structure"].get("sockets", [0]))

    def content(self) -> Table:
        """Return the machine's file with every number marked as taken from it."""
        content = deepcopy(dict(self.stated))
        for _, quantity in quantities(content):
            quantity.update(self.taken(quantity))
        return content

    def taken(self, quantity: Table) -> Table:
        """Return a quantity of the machine's file, marked."""
        confidence = min(quantity["confidence"], self.most, key=CONFIDENCES.index)
        source = f"taken from {self.name}: {quantity['source']}"
        return number(quantity["value"], quantity["unit"], source, confidence)

    def assumed(self, value: float, unit: str, why: str) -> Table:
        """Return a quantity that follows from numbers of the machine, as its file does not state it."""
        return number(value, unit, f"assumed from {self.name}: {why}", "unverified")
