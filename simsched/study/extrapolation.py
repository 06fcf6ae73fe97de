"""What of a prediction lies beyond what was measured or is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simsched.schedule import Schedule


def beyond(schedule: Schedule) -> tuple[str, ...]:
    """Return what of a simulated schedule is extrapolated, in sentences; nothing where nothing is.

    That is a machine of more cores than its file has, and tasks on more threads than their seconds were measured on.
    """
    machine, said = schedule.require_machine(), []
    built = int(machine.content["cores"]["count"]["value"])
    if machine.n_cores > built:
        said.append(f"the machine is built with {built} cores")
    if (inputs := schedule.inputs) is not None and inputs.costs.measured is not None:
        table = inputs.costs.on(schedule.graph, machine, inputs.runtime).table
        if table is not None and (count := int(np.sum(table.beyond(schedule.widths)))):
            widest = int(schedule.widths.max())
            said.append(f"{count} tasks run on up to {widest} threads, more than they were measured on")
    return tuple(said)
