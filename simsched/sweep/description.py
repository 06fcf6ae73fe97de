"""Description of a sweep as JSON, to distinguish it from others, and the head of its store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.errors import SimschedError, SweepError
from simsched.files import read_small, write_text
from simsched.graph.storage import digest, save
from simsched.parameters import is_whole
from simsched.sweep.axes import Range
from simsched.sweep.code import code_id
from simsched.text import one_line, printable
from simsched.version import version

if TYPE_CHECKING:
    from simsched.graph import TaskGraph
    from simsched.machine import Machine
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
            {"spec": Path(one.spec).name, "id": _machine_id(one)} for one in sweep.axis("machine").listed
        ],
        "policies": [
            {
                "spec": str(one),
                "class": f"{type(one).__module__}:{type(one).__qualname__}",
                "code": code_id(one)[:ID],
            }
            for one in sweep.axis("policy").listed
        ],
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


def _machine_id(machine: Machine) -> str:
    """Return a machine's identity: everything that affects a replay, wherever its file is."""
    seen = (f.name for f in fields(machine) if f.name not in ("spec", "facts"))
    return _hash({name: content(getattr(machine, name)) for name in seen})


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
    name = f"{type(value).__module__}:{type(value).__qualname__}"
    return [name, *filter(None, [code_id(type(value))]), *_attributes(value)]


def _attributes(value: Any) -> list[Any]:
    if is_dataclass(value):
        return [[f.name, content(getattr(value, f.name))] for f in fields(value)]
    if not callable(value) and hasattr(value, "__dict__"):
        return [[name, content(one)] for name, one in sorted(vars(value).items())]
    return [_plain(value)]


FORMAT, VERSION = "simsched-sweep", 2
#: Most bytes of `sweep.json`.
MOST_B = 16_000_000
#: Possible content of a store that was left before it had its head.
OWN = {"graphs", "machines", "parts", "lock", "begun"}


@dataclass(frozen=True)
class Owner:
    """Sweep that a store's rows are of.

    Parameters
    ----------
    sweep_id : str
    points : int
    """

    sweep_id: str
    points: int

    @classmethod
    def of(cls, head: dict[str, Any]) -> Owner:
        """Return the owner that the content of `sweep.json` states."""
        return cls(head["sweep_id"], head["points"])


def write_head(folder: Path, sweep: Sweep) -> None:
    """Write the graphs and machines of a sweep, and then its description.

    Raises
    ------
    SweepError
        If the folder holds something else, or cannot be written.
    """
    others = sorted(
        file.name for file in folder.iterdir() if file.name not in OWN and not file.name.startswith(".")
    )
    if others:
        raise SweepError(f"{folder} is not the store of a sweep: it holds {others[0]!r}; give a new folder")
    head = {"format": FORMAT, "version": VERSION, "simsched": version(), "sweep_id": identity(sweep)}
    write_inputs(folder, sweep)
    with _told():
        _write_json(folder / "sweep.json", head | description(sweep), MOST_B)


def write_inputs(folder: Path, sweep: Sweep) -> list[str]:
    """Write the graphs and machines that the folder lacks; return their files' names.

    Raises
    ------
    SweepError
        If the folder cannot be written.
    """
    made = []
    with _told():
        for graph in sweep.axis("graph").listed:
            if not (file := folder / "graphs" / f"{graph_id(graph)}.simsched").exists():
                file.parent.mkdir(exist_ok=True)
                save(graph, file)
                made.append(f"graphs/{file.name}")
        for machine in sweep.axis("machine").listed:
            if not (file := folder / "machines" / f"{_machine_id(machine)}.json").exists():
                file.parent.mkdir(exist_ok=True)
                _write_json(file, {"spec": machine.spec, "content": machine.content})
                made.append(f"machines/{file.name}")
    return made


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except SimschedError as error:
        raise SweepError(str(error)) from error
    except OSError as error:
        raise SweepError(f"{error.filename} cannot be written: {error.strerror or error}") from error


def check_head(folder: Path, sweep: Sweep) -> bool:
    """Return whether the folder is a store of the sweep: False where it is none yet.

    Raises
    ------
    SweepError
        If it is another sweep's, or another version's.
    """
    if not (folder / "sweep.json").exists():
        return False
    there, here = read_head(folder), {"simsched": version(), **description(sweep)}
    if there.get("simsched") != here["simsched"]:
        raise SweepError(
            f"{folder} was written by simsched {printable(str(there.get('simsched')))[:40]}, this is "
            f"{here['simsched']}: their results are "
            "not to be mixed; give a new folder, or go on with that version"
        )
    if there.get("sweep_id") != identity(sweep):
        other = [key for key in here if json.loads(json.dumps(here[key], default=str)) != there.get(key)]
        if other == ["policies"] and (changed := _changed(here["policies"], there.get("policies"))):
            raise SweepError(
                f"{folder} has rows of another version of policy {', '.join(changed)}: its code, or a value that it "
                "uses, has changed since (or it ran under another Python); give a new folder, or remove this one"
            )
        raise SweepError(
            f"{folder} is the store of another sweep: {', '.join(other) or 'something'} "
            f"differ{'s' * (len(other) < 2)}; give a new folder"
        )
    return True


def _changed(here: list[dict[str, str]], there: Any) -> list[str]:
    """Return the policies of which nothing but the code differs, by their specs; none if more differs."""
    if not isinstance(there, list) or not all(isinstance(one, dict) and "code" in one for one in there):
        return []
    pairs = [*zip(here, there, strict=False)]
    alike = [*there] == [{**one, "code": other["code"]} for one, other in pairs]
    differ = dict.fromkeys(one["spec"] for one, other in pairs if one != other)
    return [*differ] if alike and len(here) == len(there) else []


def read_head(folder: Path) -> dict[str, Any]:
    """Return the content of `sweep.json`.

    Raises
    ------
    SweepError
        If it is damaged, or of another version.
    """
    file = folder / "sweep.json"
    try:
        head = json.loads(read_small(file, MOST_B, "description of a sweep"))
    except SimschedError as error:
        raise SweepError(str(error)) from error
    except RecursionError:
        raise SweepError(f"{file} cannot be read: its values are nested too deeply") from None
    # Python's errors of bytes that are no UTF-8, of what is no JSON, and of numbers beyond its limits.
    except ValueError as error:
        raise SweepError(f"{file} cannot be read: {one_line(str(error))}") from error
    if not isinstance(head, dict) or head.get("format") != FORMAT or head.get("version") != VERSION:
        raise SweepError(f"{file} is not a {FORMAT} of version {VERSION}; it may be of another simsched")
    if type(head.get("sweep_id")) is not str or not is_whole(head.get("points"), least=0):
        raise SweepError(f"{file} is damaged: it states no sweep_id or no number of points")
    return head


def _write_json(file: Path, value: Any, most_B: float = inf) -> None:
    text = json.dumps(value, indent=1, default=str)
    if len(text) > most_B:
        raise SweepError(
            f"{file} would be longer than {most_B} bytes; take fewer graphs, machines and policies"
        )
    write_text(file, text, durable=True)
