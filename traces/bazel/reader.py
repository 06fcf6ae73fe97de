"""Profiles of Bazel (`--profile`, `command.profile.gz`): each action of a build is a task.

References
----------
analysis_v2.proto of Bazel: actions with their inputs, sets of sets of artifacts, and artifacts with their paths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.budget import budget
from simsched.graph.contracting import contracted
from simsched.graph.loading import Reader, plain_name
from simsched.graph.report import KINDS_ARE
from simsched.multimap import multimap
from simsched.text import counted, printable
from simsched.traces.bazel.profile import Profile
from simsched.traces.shared.json_stream import shown, stream
from simsched.traces.shared.options import TOLERANT, given, mends_if, word
from simsched.traces.shared.places import Place
from simsched.traces.shared.spans import Spans, Whole, graph_of
from simsched.traces.shared.timeline import in_order

_LISTS = ("pathFragments", "artifacts", "depSetOfFiles", "actions")
#: Deepest path.
MAX_DEPTH = 200


class _ActionGraph:
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
                if (one := fragments.get(str(fragment))) is None:
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


EDGES = ("lanes+critical", "lanes", "critical")
_ADVICE = (
    "actions= takes what bazel aquery --output=jsonproto prints, where the profile has primary outputs "
    "(--experimental_profile_include_primary_output)"
)


def _recognises(head: bytes) -> bool:
    """Recognise the id of the build, or Bazel's first phase."""
    return (
        head.lstrip().startswith(b"{")
        and b'"traceEvents"' in head
        and (b'"build phase marker"' in head or b'"bazel_version"' in head)
    )


def _read(
    path: Path,
    *,
    actions: str | Path | None = None,
    edges: str = EDGES[0],
    tolerant: bool | str = False,
) -> TaskGraph:
    """Return the graph of the actions of a build; options as in `options`.

    Raises
    ------
    FormatError
        If a file is malformed, no action ran, or the action graph is of another build.
    GraphError
        If dependencies form a cycle.

    Examples
    --------
    >>> import simsched as ss
    >>> text = b'''{"otherData": {"build_id": "1"}, "traceEvents": [
    ... {"cat": "build phase marker", "name": "Launch Blaze", "ph": "X", "ts": 0, "dur": 3000, "pid": 1, "tid": 1},
    ... {"cat": "action processing", "name": "Compiling a.cc", "ph": "X", "ts": 3100, "dur": 900, "pid": 1, "tid": 2},
    ... {"cat": "action processing", "name": "Linking app", "ph": "X", "ts": 4100, "dur": 500, "pid": 1, "tid": 2}]}'''
    >>> graph = ss.load(text)
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('bazel', ['Compiling', 'Linking app'], [0.0009, 0.0005], 1)
    """
    word(path, "edges", edges, EDGES)
    report = ImportReport(path.name, "bazel", {KINDS_ARE: "mnemonics"})
    profile = Profile(path, mends_if(path, tolerant, report), with_outputs=actions is not None)
    spans = profile.actions()
    if not len(spans):
        raise FormatError(
            f"{path}: no action in the profile; nothing was built, or all of it was there already "
            f"({sum(profile.counts.values())} spans of Bazel's own work)"
        )
    order = np.lexsort((np.arange(len(spans)), spans.finish_ns, spans.start_ns))
    tasks = spans.taken(order)
    _describe(report, profile)
    if actions is not None:
        outputs = [profile.outputs[row] for row in order.tolist()]
        graph = given(path, "actions", actions, "what bazel aquery --output=jsonproto prints")
        found: Whole | list[tuple[int, int]] = _of_actions(path, graph, outputs, report)
    else:
        found = _without(tasks, profile, edges, report)
    name = plain_name(path, ".profile", ".json")
    return graph_of(
        path, tasks, found, report, name, names=[tasks.labels[code] for code in tasks.scope.tolist()]
    )


BAZEL = Reader(
    title="profile of a Bazel build (--profile)",
    dependencies="bazel aquery (actions=); without it order of each thread, and the critical path",
    times="us",
    options={
        "actions": "what bazel aquery --output=jsonproto prints, in a file: the action graph of the same build",
        "edges": "lanes+critical (when not given), lanes, or critical: where edges come from without actions=",
        "tolerant": TOLERANT,
    },
    recognises=_recognises,
    read=_read,
)


def _describe(report: ImportReport, profile: Profile) -> None:
    version = profile.about.get("bazel_version")
    report.facts.update({"bazel": printable(version)[:60]} if isinstance(version, str) else {})
    report.facts["other_spans"] = sum(profile.counts.values())
    report.facts["waited_for_resources_s"] = profile.waited_ns / 1e9
    report.note(
        f"actions waited {profile.waited_ns / 1e9:.6g} s for CPUs and memory, which is in their seconds",
        when=profile.waited_ns,
    )


def _of_actions(path: Path, graph: Path, outputs: list[str], report: ImportReport) -> list[tuple[int, int]]:
    """Return the edges of the action graph; an output that was written twice is that of its first action."""
    if not any(outputs):
        raise FormatError(
            f"{path}: no primary outputs in the profile, by which actions= is joined; build with "
            "--experimental_profile_include_primary_output"
        )
    tasks = {output: i for i, output in reversed(list(enumerate(outputs))) if output}
    edges, joined = _ActionGraph(graph).edges(tasks, len(outputs))
    if not joined:
        raise FormatError(
            f"{graph}: it has no output of the profile, as {shown(next(filter(None, outputs)))}"
        )
    alone = len(outputs) - joined
    report.facts["actions_not_joined"] = alone
    report.note(f"{counted(alone, 'action is', 'actions are')} not in actions= and without edges", when=alone)
    return edges


def _without(tasks: Spans, profile: Profile, edges: str, report: ImportReport) -> Whole:
    critical = _critical_edges(tasks, profile.critical)
    report.facts.update(critical_components=len(profile.critical), critical_edges=len(critical))
    report.doubt(
        "a Bazel profile records no dependencies but those of its critical path: edges are "
        + " and ".join(
            text
            for key, text in (("lanes", "the order on each thread, a chain"), ("critical", "that path"))
            if key in edges
        )
        + f"; {_ADVICE}"
    )
    chosen = [in_order(tasks.lane)] if "lanes" in edges else []
    return np.unique(np.concatenate([*chosen, critical] if "critical" in edges else chosen), axis=0)


def _critical_edges(tasks: Spans, components: Sequence[tuple[str, int, int]]) -> Whole:
    """Return edges between the actions that follow each other on the critical path, shape (m, 2).

    Parameters
    ----------
    tasks : Spans
        By start; their names are scopes.
    components : list of (str, int, int)
        Name, start and finish of each; its action is the one of its name that starts nearest to it.
    """
    wanted = {_inner(name) for name, *_ in components}
    called = multimap(
        (tasks.labels[code], task)
        for task, code in enumerate(tasks.scope.tolist())
        if tasks.labels[code] in wanted
    )
    starts = tasks.start_ns
    path = [
        min(called[_inner(name)], key=lambda task: abs(int(starts[task]) - start))
        for name, start, _ in sorted(components, key=lambda component: component[1:])
        if _inner(name) in called
    ]
    pairs = np.array(list(pairwise(path)), np.int64).reshape(-1, 2)
    return pairs[(pairs[:, 0] < pairs[:, 1]) & (tasks.finish_ns[pairs[:, 0]] <= starts[pairs[:, 1]])]


def _inner(name: str) -> str:
    """Return the name of an action in that of its component: `action 'Linking app'`."""
    return name.removeprefix("action '").removesuffix("'")
