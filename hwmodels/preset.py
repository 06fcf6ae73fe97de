"""`Preset`: the machine whose numbers stand in for what a topology does not know."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simsched.machine import machine
from simsched.machine.variations import quantities

if TYPE_CHECKING:
    from simsched.hwmodels.topology import Topology
    from simsched.machine import Machine

#: From the least trusted to the most.
CONFIDENCES = ("unverified", "low", "med", "high")

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
    most : str
        Highest confidence that a number of it has for the other: "high" for the same processor.
    """

    machine: Machine
    most: str

    @classmethod
    def named(cls, like: str, topology: Topology, most: str = "low") -> Preset:
        """Return the machine of a name or file; numbers of the same processor keep their confidence.

        Raises
        ------
        SpecError
            If no machine is called so.
        MachineError
            If its file is malformed.
        """
        chips = re.findall(r"[0-9]{4}", like)
        same = any(re.search(rf"\b{chip}\b", topology.model) for chip in chips)
        return cls(machine(like), "high" if same else most)

    @property
    def name(self) -> str:
        """What the numbers are said to be taken from."""
        return self.machine.spec

    @property
    def n_sockets(self) -> int:
        """Sockets of the machine."""
        return len(self.machine.content["structure"].get("sockets", [0]))

    def content(self) -> Table:
        """Return the machine's file with every number marked as taken from it."""
        content = deepcopy(dict(self.machine.content))
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
