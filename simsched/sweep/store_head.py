"""The head of a store: the sweep's description, its graphs and machines, and who may continue it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simsched.errors import SimschedError, SweepError
from simsched.files import write_text
from simsched.graph.storage import save
from simsched.sweep.description import description, graph_id, identity, machine_id
from simsched.version import version

if TYPE_CHECKING:
    from simsched.sweep.sweep import Sweep

FORMAT, VERSION = "simsched-sweep", 1
#: Possible content of a store that was left before it had its head.
OWN = {"graphs", "machines", "parts", "lock", "begun"}


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
    try:
        for name in ("graphs", "machines"):
            (folder / name).mkdir(exist_ok=True)
        for graph in sweep.axis("graph").listed:
            save(graph, folder / "graphs" / f"{graph_id(graph)}.simsched")
        for machine in sweep.axis("machine").listed:
            made_of = {"spec": machine.spec, "content": machine.content}
            _write_json(folder / "machines" / f"{machine_id(machine)}.json", made_of)
        _write_json(folder / "sweep.json", head | description(sweep))
    except SimschedError as error:
        raise SweepError(str(error)) from error
    except OSError as error:
        raise SweepError(f"{folder} cannot be written: {error.strerror or error}") from error


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
            f"{folder} was written by simsched {there.get('simsched')}, this is {here['simsched']}: their results are "
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
        If it is damaged, or of a newer version.
    """
    file = folder / "sweep.json"
    try:
        head = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SweepError(f"{file} cannot be read: {error}") from error
    if not isinstance(head, dict) or head.get("format") != FORMAT or head.get("version") != VERSION:
        raise SweepError(f"{file} is not a {FORMAT} of version {VERSION}; it may be of a newer simsched")
    return head


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


def _write_json(file: Path, value: Any) -> None:
    write_text(file, json.dumps(value, indent=1, default=str), durable=True)
