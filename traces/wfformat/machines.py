"""The machines of a workflow instance: what their processors are, as far as it is told."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from simsched.graph.columns import plain_text


def node_and_processor(machine: Any) -> tuple[str, str]:
    """Return the node's name and its processor in words; "" for each that is not told, or not as the format has it.

    A processor without a vendor is none: many instances state the number of cores alone.

    Examples
    --------
    >>> node_and_processor({"nodeName": "m", "cpu": {"vendor": "GenuineIntel", "coreCount": 48, "speedInMHz": 1200}})
    ('m', 'GenuineIntel, 48 cores, 1200 MHz')
    >>> node_and_processor({"nodeName": "m", "cpu": {"coreCount": 48}})
    ('m', '')
    """
    told = machine if isinstance(machine, Mapping) else {}
    cpu = told.get("cpu")
    cpu = cpu if isinstance(cpu, Mapping) else {}
    vendor, node = _text(cpu, "vendor"), _text(told, "nodeName")
    sizes = (_number(cpu, "cores", "coreCount", "count"), _number(cpu, "MHz", "speedInMHz", "speed"))
    return node, ", ".join(filter(None, (vendor, *sizes))) if vendor else ""


def processors(machines: Iterable[tuple[str, str]], used: set[str]) -> tuple[str, ...]:
    """Return the different processors of the machines that ran tasks; of all, where tasks name none of them.

    Parameters
    ----------
    machines : iterable of pair of str
        Nodes and their processors, as `node_and_processor` returns them.
    used : set of str
        Nodes that ran tasks.
    """
    every = list(machines)
    those = [processor for node, processor in every if node in used] or [processor for _, processor in every]
    return tuple(dict.fromkeys(those))


def _text(told: Mapping[str, Any], key: str) -> str:
    value = told.get(key)
    return plain_text(value).strip() if isinstance(value, str) else ""


def _number(told: Mapping[str, Any], unit: str, *keys: str) -> str:
    value = next((told[key] for key in keys if told.get(key) is not None), None)
    if type(value) not in (int, float, Decimal) or not 0 < value < math.inf:  # type: ignore[operator]  # numbers by now
        return ""
    return f"{value:.6g} {unit}"
