"""Description of a sweep as JSON: for its store, and to distinguish it from others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.errors import SweepError
from simsched.graph.storage import digest
from simsched.sweep.axes import Range

if TYPE_CHECKING:
    from simsched.graph import TaskGraph
    from simsched.machine import Machine
    from simsched.policy import Policy
    from simsched.sweep.sweep import Sweep

#: Characters of an identity: 80 bits.
ID = 20
#: Most values of an axis that are listed; of more there are their number and a digest.
MOST_LISTED = 10_000


def description(sweep: Sweep) -> dict[str, Any]:
    """Return all that defines a sweep; graphs, machines and cost models by their identity.

    Raises
    ------
    SweepError
        If something has no content that identifies it.
    """
    said = {
        each.name: _values(each.values)
        for each in sweep.axes
        if each.name not in ("graph", "machine", "policy")
    }
    return {
        "graphs": [{"name": graph.name, "id": graph_id(graph)} for graph in sweep.axis("graph").listed],
        "machines": [
            {"spec": Path(one.spec).name, "id": machine_id(one)} for one in sweep.axis("machine").listed
        ],
        "policies": [{"spec": str(one), "class": _class(one)} for one in sweep.axis("policy").listed],
        **said,
        "costs": None if sweep.costs is None else _hash(content(sweep.costs)),
        "runtime": None if sweep.runtime is None else content(sweep.runtime),
        "engine": sweep.engine,
        "design": sweep.design,
        "samples": sweep.samples,
        "design_seed": sweep.design_seed,
        "points": len(sweep),
    }


def identity(sweep: Sweep) -> str:
    """Return a sweep's identity."""
    return _hash(description(sweep))


def graph_id(graph: TaskGraph) -> str:
    """Return a graph's identity."""
    return digest(graph)[:ID]


def machine_id(machine: Machine) -> str:
    """Return a machine's identity: everything that affects a replay, wherever its file is."""
    seen = (f.name for f in fields(machine) if f.name not in ("spec", "facts"))
    return _hash({name: content(getattr(machine, name)) for name in seen})


def _class(policy: Policy) -> str:
    return f"{type(policy).__module__}:{type(policy).__qualname__}"


def _values(values: tuple[Any, ...] | Range) -> Any:
    if isinstance(values, Range):
        return {"low": values.low, "high": values.high, "log": values.log}
    plain = [value if isinstance(value, bool | int | float | dict | None) else str(value) for value in values]
    return plain if len(plain) <= MOST_LISTED else {"values": len(plain), "sha256": _hash(plain)}


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=_plain).encode()).hexdigest()[:ID]


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise SweepError(f"{value!r:.80} has no content that distinguishes it from another")


def content(value: Any) -> Any:
    """Return the content of an object as plain values: its fields and attributes, arrays by their bytes.

    Raises
    ------
    SweepError
        If there is something in it that has no content, as a function.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return [
            value.dtype.str,
            list(value.shape),
            hashlib.sha256(np.ascontiguousarray(value).data).hexdigest(),
        ]
    if isinstance(value, Mapping):
        return [[content(key), content(one)] for key, one in value.items()]
    if isinstance(value, list | tuple | set | frozenset):
        return [content(one) for one in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, np.generic | Enum):
        return value.item() if isinstance(value, np.generic) else value.name
    return [f"{type(value).__module__}:{type(value).__qualname__}", *_attributes(value)]


def _attributes(value: Any) -> list[Any]:
    if is_dataclass(value):
        return [[f.name, content(getattr(value, f.name))] for f in fields(value)]
    if not callable(value) and hasattr(value, "__dict__"):
        return [[name, content(one)] for name, one in sorted(vars(value).items())]
    return [_plain(value)]
