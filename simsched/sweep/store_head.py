"""The head of a store: the sweep's description, its graphs and machines, and who may continue it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simsched.errors import SimschedError, SweepError
from simsched.files import read_small, write_text
from simsched.graph.storage import save
from simsched.parameters import is_whole
from simsched.sweep.description import description, graph_id, identity, machine_id
from simsched.text import one_line, printable
from simsched.version import version

if TYPE_CHECKING:
    from simsched.sweep.sweep import Sweep

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
            if not (file := folder / "machines" / f"{machine_id(machine)}.json").exists():
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
        other = [key for key in here if _plain(here[key]) != there.get(key)]
        raise SweepError(
            f"{folder} is the store of another sweep: {', '.join(other) or 'something'} differs; give a new folder"
        )
    return True


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


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


def _write_json(file: Path, value: Any, most_B: float = inf) -> None:
    text = json.dumps(value, indent=1, default=str)
    if len(text) > most_B:
        raise SweepError(
            f"{file} would be longer than {most_B} bytes; take fewer graphs, machines and policies"
        )
    write_text(file, text, durable=True)
