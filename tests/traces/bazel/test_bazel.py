"""Profiles of Bazel: recorded builds, joined with their action graph by hand; the critical path; damaged files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import simsched as ss
from simsched.errors import FormatError, GraphError
from simsched.graph import TaskGraph

#: Recorded with Bazel 4.2: rules g0 to g5, each of which reads what the one but one before wrote, and all.
SEEDS = Path(__file__).parents[1] / "seeds" / "bazel"
REAL, ACTIONS = SEEDS / "real" / "main.json", SEEDS / "real" / "actions.json"


def named(graph: TaskGraph) -> list[tuple[str, str]]:
    ends = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return sorted((graph.task_name(a).split(":")[-1], graph.task_name(b).split(":")[-1]) for a, b in ends)


RULES = [("g0", "g2"), ("g1", "g3"), ("g2", "g4"), ("g3", "g5"), ("g4", "all"), ("g5", "all")]


def test_a_recorded_build_with_its_actions() -> None:
    graph = ss.load(REAL, actions=ACTIONS)
    assert named(graph) == sorted(RULES)
    assert graph.kinds.to_list() == ["BazelWorkspaceStatusAction", *["Executing genrule"] * 7]
    assert graph.report.facts["early_starts"] == 0
    assert graph.report.facts["actions_not_joined"] == 1
    assert graph.recorded is not None
    assert graph.recorded.makespan_s == pytest.approx(6.226471 - 4.640850)


def test_the_critical_path_alone() -> None:
    graph = ss.load(REAL, edges="critical")
    assert named(graph) == [("g0", "g2"), ("g2", "g4"), ("g4", "all")]
    assert "no dependencies but those of its critical path" in graph.report.doubts[0]


@pytest.mark.parametrize("file", [REAL, SEEDS / "old" / "main.json"])
def test_order_of_threads(file: Path) -> None:
    graph = ss.load(file, edges="lanes")
    assert (graph.report.format, graph.n_tasks, graph.n_edges) == ("bazel", 8, 6)
    assert set(named(graph)) <= set(named(ss.load(file)))
    assert graph.recording is not None
    assert all(name.startswith("skyframe-evaluator") for name in graph.recording.lane_names)


def event(category: str, name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    return {"cat": category, "name": name, "ph": "X", "ts": ts, "dur": dur, "pid": 1, "tid": 3, **more}


def profile(*events: dict[str, Any]) -> bytes:
    launch = event("build phase marker", "Launch Blaze", 0, 1)
    told = {"bazel_version": "release 7.1.0"}
    return json.dumps({"otherData": told, "traceEvents": [launch, *events]}).encode()


def aquery(*actions: tuple[str, list[str]], transitive: bool = False) -> bytes:
    """Return an action graph of actions with an output and inputs; paths have one fragment."""
    files = sorted({file for output, inputs in actions for file in (output, *inputs)})
    ident = {file: i + 1 for i, file in enumerate(files)}
    sets = [
        {"id": i + 1, "directArtifactIds": [ident[f] for f in inputs]}
        for i, (_, inputs) in enumerate(actions)
    ]
    if transitive:
        sets += [{"id": one["id"] + 100, "transitiveDepSetIds": [one["id"]]} for one in sets]
    return json.dumps(
        {
            "pathFragments": [{"id": i, "label": file} for file, i in ident.items()],
            "artifacts": [{"id": str(i), "pathFragmentId": i} for i in ident.values()],
            "depSetOfFiles": sets,
            "actions": [
                {"inputDepSetIds": [i + 1 + 100 * transitive], "outputIds": [ident[output]]}
                for i, (output, _) in enumerate(actions)
            ],
        }
    ).encode()


@pytest.mark.parametrize("transitive", [False, True])
def test_actions_that_were_there_already_are_passed_through(transitive: bool) -> None:
    ran = profile(
        event("action processing", "Compiling a.cc", 10, 4, out="a.o", args={"mnemonic": "CppCompile"}),
        event("action processing", "Linking app", 20, 5, out="app"),
        event("action resource lock", "cpu", 21, 2),
    )
    graph = ss.load(
        ran, actions=aquery(("a.o", ["a.cc"]), ("x.a", ["a.o"]), ("app", ["x.a"]), transitive=transitive)
    )
    assert graph.n_edges == 1
    assert graph.kinds.to_list() == ["CppCompile", "Linking app"]
    assert graph.report.facts["bazel"] == "release 7.1.0"
    assert graph.report.facts["waited_for_resources_s"] == pytest.approx(2e-6)


ONE = profile(event("action processing", "a", 10, 4, out="a.o"))


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (profile(), {}, "no action in the profile"),
        (ONE, {"edges": "some"}, "edges is 'some'; expected one of lanes"),
        (profile(event("action processing", "a", 10, -4)), {}, "event 1: dur is -4, expected 0 or more"),
        (
            profile(event("action processing", "a", 1, 4)),
            {"actions": ACTIONS},
            "no primary outputs in the profile",
        ),
        (ONE, {"actions": b"{}"}, "no actions in it"),
        (ONE, {"actions": aquery(("b.o", []))}, "it has no output of the profile, as 'a.o'"),
        (ONE, {"actions": b'{"actions": [{"outputIds": 3}]}'}, "actions 0: outputIds is 3, expected a list"),
        (ONE[:-30], {}, "cut off"),
    ],
)
def test_refused(content: bytes, options: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        ss.load(content, **options)


def test_a_cycle() -> None:
    both = profile(*(event("action processing", x, 10, 4, out=x) for x in "ab"))
    with pytest.raises(GraphError, match="cycle"):
        ss.load(both, actions=aquery(("a", ["b"]), ("b", ["a"])))


def test_tolerant_keeps_what_is_complete() -> None:
    graph = ss.load(ONE[:-2] + b', {"cat"', tolerant=True)
    assert graph.n_tasks == 1
