"""The action graph of a Bazel build, as `bazel aquery --output=jsonproto` prints it.

References
----------
analysis_v2.proto of Bazel: actions with their inputs, sets of sets of artifacts, and artifacts with their paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.graph.contracting import contracted
from simsched.traces.shared.json_stream import shown, stream
from simsched.traces.shared.places import Place

_LISTS = ("pathFragments", "artifacts", "depSetOfFiles", "actions")
#: Deepest path.
MAX_DEPTH = 200


class ActionGraph:
    """Actions, artifacts and sets of them, as nodes.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.

    Raises
    ------
    FormatError
        If the file is not what aquery prints.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[str, list[Any]] = {name: [] for name in _LISTS}
        for prefix, value in stream(path, *(f"{name}.item" for name in _LISTS)):
            name = prefix.removesuffix(".item")
            records = self._found[name]
            records.append(Place(path, name, len(records)).record(value))
            budget().check(path, len(records), "tasks")
        if not self._found["actions"]:
            raise FormatError(
                f"{path}: no actions in it; expected what bazel aquery --output=jsonproto prints"
            )

    def edges(self, tasks: Mapping[str, int], count: int) -> tuple[list[tuple[int, int]], int]:
        """Return the edges between tasks, also through actions that did not run, and how many actions are tasks.

        Parameters
        ----------
        tasks : mapping of str to int
            The task that writes a file, by its path.
        count : int
            Number of tasks.

        Raises
        ------
        GraphError
            If they form a cycle.
        """
        paths, nodes = self._artifacts(), dict[tuple[str, str], int]()
        kept, edges = [True] * count, list[tuple[int, int]]()

        def node(kind: str, ident: object) -> int:
            key = kind, str(ident)
            if key not in nodes:
                nodes[key] = len(kept)
                kept.append(False)
            return nodes[key]

        for number, depset in enumerate(self._found["depSetOfFiles"]):
            place = Place(self._path, "depSetOfFiles", number)
            this = node("depset", _ident(place, depset))
            edges += [(node("artifact", one), this) for one in _idents(place, depset, "directArtifactIds")]
            edges += [(node("depset", one), this) for one in _idents(place, depset, "transitiveDepSetIds")]
        joined = set[int]()
        for number, action in enumerate(self._found["actions"]):
            place = Place(self._path, "actions", number)
            outputs = _idents(place, action, "outputIds")
            ran = next((tasks[paths[one]] for one in outputs if paths.get(one) in tasks), None)
            joined |= {ran} if ran is not None else set()
            this = node("action", number) if ran is None else ran
            edges += [(node("depset", one), this) for one in _idents(place, action, "inputDepSetIds")]
            edges += [(this, node("artifact", one)) for one in outputs]
        return contracted(edges, kept, called=lambda _: "an action"), len(joined)

    def _artifacts(self) -> dict[str, str]:
        """Return the paths of artifacts by id."""
        fragments = {
            _ident(Place(self._path, "pathFragments", number), told): told
            for number, told in enumerate(self._found["pathFragments"])
        }
        found: dict[str, str] = {}
        for number, told in enumerate(self._found["artifacts"]):
            place = Place(self._path, "artifacts", number)
            whole = told.get("execPath")
            parts, fragment = list[str](), told.get("pathFragmentId")
            while whole is None and fragment is not None and len(parts) < MAX_DEPTH:
                one = fragments.get(str(fragment))
                if one is None:
                    raise place.error(f"pathFragmentId {shown(fragment)} is not there")
                parts.append(place.text(one.get("label"), "label"))
                fragment = one.get("parentId")
            found[_ident(place, told)] = whole if isinstance(whole, str) else "/".join(reversed(parts))
        return found


def _ident(place: Place, record: Mapping[str, Any]) -> str:
    """Return an id, which Bazel before 4 writes as text."""
    ident = record.get("id")
    if type(ident) not in (int, str):
        raise place.error(f"id is {shown(ident)}, expected a whole number")
    return str(ident)


def _idents(place: Place, record: Mapping[str, Any], key: str) -> list[str]:
    return list(map(str, place.array(record.get(key, []), key)))
