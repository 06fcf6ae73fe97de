"""WfFormat by hand in its layouts, the round trip, and what is refused."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import simsched as ss
from simsched.errors import FormatError, GraphError
from simsched.graph import RecordedOn, Recording, TaskGraph
from simsched.graph.loading import load
from simsched.graph.recording import UNKNOWN
from simsched.testing.strategies import graphs
from simsched.traces.wfformat.reader import WFFORMAT

pytest.importorskip("ijson")

SAMPLES = Path(__file__).parents[3] / "../shared/samples/wfformat"
#: What the schema of version 1.5 demands of ids.
ID = re.compile(r"^[0-9a-zA-Z-_.]*$")
Instance = dict[str, Any]


def task(name: str, parents: str = "", children: str = "", **more: Any) -> Instance:
    return {"name": name, "id": name, "parents": parents.split(), "children": children.split(), **more}


def instance() -> Instance:
    """Three tasks in version 1.5: split, then two that map its file."""
    ran: list[Instance] = [
        {"id": "map_ID2", "runtimeInSeconds": 2.5, "coreCount": 2, "avgCPU": 50, "machines": ["m"]}
    ]
    ran += [{"id": "split_ID1", "runtimeInSeconds": 1, "readBytes": 5, "writtenBytes": 6}]
    specified = [task("split_ID1", "", "map_ID2 map_ID3", outputFiles=["big"])]
    specified += [
        task(name, "split_ID1", inputFiles=["big"], outputFiles=["x"]) for name in ("map_ID2", "map_ID3")
    ]
    files = [{"id": "big", "sizeInBytes": 100}, {"id": "x", "sizeInBytes": 7}]
    return {
        "name": "hand",
        "schemaVersion": "1.5",
        "runtimeSystem": {"name": "Pegasus", "version": "5"},
        "workflow": {
            "specification": {"tasks": specified, "files": files},
            "execution": {
                "makespanInSeconds": 9.5,
                "executedAt": "now",
                "tasks": ran,
                "machines": [{"nodeName": "m"}],
            },
        },
    }


def write(folder: Path, made: Instance) -> Path:
    path = folder / "hand.json"
    path.write_text(json.dumps(made))
    return path


def edges(graph: TaskGraph) -> list[tuple[int, int]]:
    return list(zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True))


def test_by_hand(tmp_path: Path) -> None:
    graph = load(write(tmp_path, instance()))
    assert edges(graph) == [(0, 1), (0, 2)]
    assert graph.durations_s.tolist()[:2] == [1, 2.5]
    assert math.isnan(graph.durations_s[2])
    assert graph.widths.tolist() == [1, 2, 1]
    assert graph.data is not None
    assert graph.data.size_B.tolist() == [100, 7]
    assert np.isnan(
        graph.bytes_B
    ).all()  # Neither files nor what an execution read and wrote are memory traffic.
    assert graph.kinds.to_list() == ["split", "map", "map"]
    assert (graph.name, graph.report.format) == ("hand", "wfformat")
    facts = graph.report.facts
    assert (facts["makespan_s"], facts["machines"], facts["mean_cpu_share"]) == (9.5, 1, 0.5)
    assert (facts["schema_version"], facts["runtime_system"]) == ("1.5", "Pegasus")
    assert "1 task without a runtime: unknown duration." in graph.report.notes


def test_the_processor_that_ran_the_tasks(tmp_path: Path) -> None:
    made = instance()
    machines = made["workflow"]["execution"]["machines"]
    machines[0]["cpu"] = {"vendor": "GenuineIntel", "coreCount": 48, "speedInMHz": 1200}
    machines.append({"nodeName": "idle", "cpu": {"vendor": "AuthenticAMD", "coreCount": 8}})
    graph = load(write(tmp_path, made))
    assert graph.recorded_on == RecordedOn("GenuineIntel, 48 cores, 1200 MHz")
    made["workflow"]["specification"]["tasks"][1]["id"] = "map_ID2"
    made["workflow"]["execution"]["tasks"][1]["machines"] = ["idle"]
    graph = load(write(tmp_path, made))
    assert graph.recorded_on == UNKNOWN
    several = "2 different processors: GenuineIntel, 48 cores, 1200 MHz; AuthenticAMD, 8 cores."
    assert f"Tasks ran on {several}" in graph.report.notes


@pytest.mark.parametrize(
    "cpu", [None, 3, {"coreCount": 24}, {"vendor": ""}, {"vendor": ["x"]}, {"vendor": None, "speed": "fast"}]
)
def test_a_processor_that_is_not_told(tmp_path: Path, cpu: object) -> None:
    made = instance()
    made["workflow"]["execution"]["machines"][0]["cpu"] = cpu
    assert load(write(tmp_path, made)).recorded_on == UNKNOWN


def test_old_layouts_call_cores_and_speed_otherwise(tmp_path: Path) -> None:
    cpu = {"vendor": "GenuineIntel", "count": 4, "speed": 2300.5}
    tasks = [{"name": "a", "runtime": 3, "machine": "m"}]
    workflow = {"makespan": 3, "jobs": tasks, "machines": [{"nodeName": "m", "cpu": cpu}]}
    made = {"name": "old", "schemaVersion": "1.2", "workflow": workflow}
    assert load(write(tmp_path, made)).recorded_on == RecordedOn("GenuineIntel, 4 cores, 2300.5 MHz")


def test_a_version_that_is_not_told(tmp_path: Path) -> None:
    made = instance()
    del made["schemaVersion"]
    assert "schema_version" not in load(write(tmp_path, made)).report.facts
    made["schemaVersion"] = 1.5
    assert load(write(tmp_path, made)).report.facts["schema_version"] == "1.5"


@pytest.mark.parametrize("version", ["1.0", "1.2", "1.3", "1.4"])
def test_old_layouts_refer_by_name(tmp_path: Path, version: str) -> None:
    new = version == "1.4"
    size, runtime = ("sizeInBytes", "runtimeInSeconds") if new else ("size", "runtime")
    tasks = [
        {"name": "a_ID1", "id": "ID1", runtime: 3, "cores": 4, "machine": "m", "category": "first",
         "files": [{"link": "output", "name": "f", size: 8}]},
        {"name": "b_ID2", "id": "ID2", runtime: 5, "parents": ["a_ID1"],
         "files": [{"link": "input", "name": "f", size: 8}]},
    ]  # fmt: skip
    where = "jobs" if version < "1.3" else "tasks"
    made = {
        "name": "old",
        "schemaVersion": version,
        "wms": {"name": "M"},
        "workflow": {"makespan": 8, where: tasks},
    }
    graph = load(write(tmp_path, made))
    assert edges(graph) == [(0, 1)]
    assert (graph.durations_s.tolist(), graph.widths.tolist()) == ([3, 5], [4, 1])
    assert graph.data is not None
    assert (graph.data.size_B.tolist(), graph.kinds.to_list()) == ([8], ["first", "b"])


def test_what_does_not_fit_is_told(tmp_path: Path) -> None:
    made = instance()
    first, second, third = made["workflow"]["specification"]["tasks"]
    first["children"].remove("map_ID3")
    second["parents"].append("nobody")
    third["children"].append("gone")
    made["workflow"]["execution"]["tasks"].append({"id": "stranger", "runtimeInSeconds": 1})
    made["workflow"]["execution"]["tasks"].append({"id": "map_ID2", "runtimeInSeconds": 7})
    graph = WFFORMAT.read(write(tmp_path, made))
    assert edges(graph) == [(0, 1), (0, 2)]
    assert graph.durations_s[1] == 7
    told = "\n".join(graph.report.notes)
    for sentence in (
        "2 parents or children are not tasks",
        "1 edge named by only one",
        "1 execution of no task",
        "1 execution of a task that was executed before",
    ):
        assert sentence in told


def process(number: int, name: str, parents: str, children: str, reads: str, writes: str) -> Instance:
    """A task as Nextflow's tracer writes it: named as its process, and so are those it refers to."""
    files = [{"link": "input", "name": f, "path": "/x/", "sizeInBytes": 1} for f in reads.split()]
    files += [{"link": "output", "name": f, "path": "/x/", "sizeInBytes": 1} for f in writes.split()]
    return task(name, parents, children, runtimeInSeconds=1, command="run me", files=files) | {
        "id": str(number)
    }


def test_names_that_several_tasks_have_mean_those_that_a_file_joins(tmp_path: Path) -> None:
    tasks = [process(i, "FLOW.TRIM", "", "FLOW.MAP FLOW.QC", "", f"trimmed{i}") for i in (0, 1)]
    tasks += [
        process(2 + i, "FLOW.MAP", "FLOW.TRIM", "FLOW.SUM", f"trimmed{i}", f"mapped{i}") for i in (0, 1)
    ]
    tasks += [process(4, "FLOW.QC", "FLOW.TRIM", "", "trimmed1", "")]
    tasks += [process(5, "FLOW.SUM", "FLOW.MAP", "", "mapped0 mapped1", "")]
    made = {"name": "flow", "schemaVersion": "1.4", "workflow": {"tasks": tasks}}
    graph = load(write(tmp_path, made))
    assert edges(graph) == [(0, 2), (0, 4), (1, 3), (1, 4), (2, 5), (3, 5)]
    assert graph.kinds.to_list() == ["FLOW.TRIM"] * 2 + ["FLOW.MAP"] * 2 + ["FLOW.QC", "FLOW.SUM"]
    (told,) = [note for note in graph.report.notes if "several tasks" in note]
    # A child of each TRIM, a parent of each MAP, of QC and of SUM; the children QC and SUM are one task each.
    assert told.startswith("6 parents or children")
    assert "; 0 of them found none" in told
    for one in tasks:
        one["files"] = []
    graph = load(write(tmp_path, made))
    assert edges(graph) == [(0, 4), (1, 4), (2, 5), (3, 5)]
    assert any("; 6 of them found none, and have no edge" in note for note in graph.report.notes)


def test_no_dependencies_at_all_are_told(tmp_path: Path) -> None:
    made = instance()
    for one in made["workflow"]["specification"]["tasks"]:
        one.update(parents=[], children=[], inputFiles=[])
    graph = load(write(tmp_path, made))
    assert graph.n_edges == 0
    assert any("no task waits for another" in note for note in graph.report.notes)


@pytest.mark.parametrize(
    ("name", "command", "kind"),
    [
        (
            "FLOW:SORT__HG00096__ID" + "1645504557321206042154969182557350504982735865633",
            {"arguments": []},
            "FLOW:SORT",
        ),
        ("FLOW:SORT (HG00096)", {"arguments": []}, "FLOW:SORT"),
        ("FLOW:SORT_7", {"program": "sort \\\n -k 1 a > b", "arguments": []}, "FLOW:SORT"),
        ("job", {"program": "sort", "arguments": ["-k"]}, "sort"),
    ],
)
def test_kinds_of_nextflow(tmp_path: Path, name: str, command: Instance, kind: str) -> None:
    specified = {"tasks": [task(name)], "files": []}
    specified["tasks"][0] |= {"name": name, "id": "1", "parents": [], "children": []}
    ran = {"tasks": [{"id": "1", "runtimeInSeconds": 1, "command": command}]}
    made = {"name": "x", "schemaVersion": "1.5", "workflow": {"specification": specified, "execution": ran}}
    assert load(write(tmp_path, made)).kinds.to_list() == [kind]
    ran["tasks"][0]["category"] = "told"
    assert load(write(tmp_path, made)).kinds.to_list() == ["told"]


def test_edges_of_files(tmp_path: Path) -> None:
    made = instance()
    for one in made["workflow"]["specification"]["tasks"]:
        one.update(parents=[], children=[])
    graph = WFFORMAT.read(write(tmp_path, made))
    assert edges(graph) == [(0, 1), (0, 2)]
    assert any("edges are from the task that writes a file" in note for note in graph.report.notes)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda w: w["specification"].update(tasks=[]), FormatError, "no tasks in workflow.specification"),
        (lambda w: w["specification"]["tasks"].append(3), FormatError, "task 3 is 3; expected an object"),
        (
            lambda w: w["specification"]["tasks"].append(task("map_ID2")),
            FormatError,
            "tasks 1 and 3 both have id",
        ),
        (
            lambda w: w["specification"]["tasks"].append({}),
            FormatError,
            "task 3 has name None; expected a name or",
        ),
        (
            lambda w: w["specification"]["tasks"][0].update(parents=7),
            FormatError,
            "task 0 has parents 7; expected",
        ),
        (lambda w: w["specification"]["tasks"][0].update(parents=["map_ID2"]), GraphError, "cycle"),
        (
            lambda w: w["execution"]["tasks"][0].update(runtimeInSeconds=-1),
            FormatError,
            "execution 0 has runtimeIn",
        ),
        (
            lambda w: w["execution"]["tasks"][0].update(runtimeInSeconds="x"),
            FormatError,
            "has runtimeInSeconds 'x'",
        ),
        (
            lambda w: w["execution"]["tasks"][0].update(runtimeInSeconds=1e15),
            FormatError,
            "at most 1e.12 seconds",
        ),
        (lambda w: w["execution"]["tasks"][0].update(coreCount=1e18), FormatError, "task 1 took 1e.18 cores"),
        (
            lambda w: w["specification"]["files"][0].update(sizeInBytes=-1),
            FormatError,
            "file 0 has sizeInBytes -1",
        ),
    ],
)
def test_refused(
    tmp_path: Path, change: Callable[[Instance], object], error: type[Exception], message: str
) -> None:
    made = instance()
    change(made["workflow"])
    with pytest.raises(error, match=message) as caught:
        ss.load(write(tmp_path, made), format="wfformat")
    assert "hand.json" in str(caught.value)


def test_cut_off(tmp_path: Path) -> None:
    path = write(tmp_path, instance())
    path.write_text(path.read_text()[:-90])
    with pytest.raises(FormatError, match=r"cut off.*tolerant=true"):
        WFFORMAT.read(path)
    assert WFFORMAT.read(path, tolerant=True).n_tasks == 3
    path.write_text('{"schemaVersion": "1.5", "workflow": {"specification": {"tasks": [{"name')
    with pytest.raises(FormatError, match=r"no tasks in .*; .*cut off at byte"):
        WFFORMAT.read(path, tolerant=True)


def sizes_of(graph: TaskGraph) -> list[tuple[int, list[int], str]]:
    """Return producer, readers and bytes of each object, sorted."""
    data = graph.data
    if data is None:
        return []
    readers = [data.readers.neighbours(i).tolist() for i in range(data.n)]
    return sorted(zip(data.producer.tolist(), readers, map(str, data.size_B.tolist()), strict=True))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs())
def test_round_trip(tmp_path: Path, graph: TaskGraph) -> None:
    """What comes back, and that the file keeps to the rules of the schema of version 1.5."""
    path = tmp_path / "any.wfformat.json"
    if not graph.n_tasks:
        with pytest.raises(FormatError, match="at least one task"):
            graph.save(path)
        return
    graph.save(path)
    back = load(path)
    for column in ("durations_s", "widths", "bytes_B"):
        np.testing.assert_array_equal(getattr(back, column), getattr(graph, column))
    assert edges(back) == edges(graph)
    assert sizes_of(back) == sizes_of(graph)
    made = json.loads(path.read_text())
    assert (made["schemaVersion"], bool(made["name"])) == ("1.5", True)
    specified = made["workflow"]["specification"]["tasks"]
    assert all(one["name"] and ID.match(one["id"]) for one in specified)
    assert len({one["id"] for one in specified}) == graph.n_tasks
    execution = made["workflow"].get("execution", {"makespanInSeconds": 0, "executedAt": "-", "tasks": [0]})
    assert execution.keys() >= {"makespanInSeconds", "executedAt", "tasks"}
    assert execution["tasks"]


def test_seconds_that_the_reader_refuses_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"task 1 takes 1e\+19 s; a workflow is read with at most 1e\+12 s"):
        TaskGraph.from_edges([1.0, 1e19]).save(tmp_path / "long.wfformat.json")
    assert not [*tmp_path.iterdir()]


def test_what_the_format_has_no_place_for_comes_back(tmp_path: Path) -> None:
    """Without FLOPs and shapes, a recorded step took 6.3 ms in place of 10.4."""
    run = Recording(np.array([0.0, 1.0]), np.array([1.0, 3.5]), np.array([1, 0], np.int32), ("a", "b"))
    graph = TaskGraph.from_edges(
        [1.0, 2.5], [(0, 1)], kinds="MatMul", flops=[1e19, np.nan], bytes_B=[8.0, np.nan], shapes=["64x512", ""],
        scopes=["", "layer"], recording=run,
    )  # fmt: skip
    by_kind = TaskGraph.from_edges([[1.0, 0.5], [2.0, np.inf]])
    unknown = TaskGraph.from_edges([np.nan, 1.0], flops=[1e9, 1e9])
    for one in (graph, by_kind, unknown):
        one.save(tmp_path / "g.wfformat.json")
        back = load(tmp_path / "g.wfformat.json")
        for column in ("durations_s", "seconds_by_kind", "flops", "bytes_B"):
            np.testing.assert_array_equal(getattr(back, column), getattr(one, column))
        assert (back.shapes.to_list(), back.scopes.to_list()) == (one.shapes.to_list(), one.scopes.to_list())
        assert not any("workflow system" in note for note in back.report.notes)
        assert (back.recording is None) == (one.recording is None)
        if one is graph and back.recording is not None:
            assert back.recording.lane_names == run.lane_names
            for column in ("start_s", "finish_s", "lanes"):
                np.testing.assert_array_equal(getattr(back.recording, column), getattr(run, column))
            made = json.loads((tmp_path / "g.wfformat.json").read_text())
            made["lane_names"] = ["a"]
            with pytest.raises(FormatError, match="a task has lane 1; expected an index of the 1 lane_names"):
                load(write(tmp_path, made))


def test_kinds_and_names_come_back(tmp_path: Path) -> None:
    graph = TaskGraph.from_edges(
        [1, 2], [(0, 1)], names=["one", "t\u00fc\n2"], kinds=["k", "l"], bytes_B=[0.1, np.nan]
    )
    graph.save(tmp_path / "g.wfformat.json")
    back = load(tmp_path / "g.wfformat.json")
    assert back.names is not None
    assert back.recorded_on is None, "numbers that are given stay given"
    assert (back.names.to_list(), back.kinds.to_list()) == (["one", "t\u00fc\n2"], ["k", "l"])


def test_tasks_without_names_and_kinds_are_of_one_kind(tmp_path: Path) -> None:
    TaskGraph.from_edges([1, 2], [(0, 1)]).save(tmp_path / "g.wfformat.json")
    assert load(tmp_path / "g.wfformat.json").kinds.to_list() == ["task", "task"]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container of a JSON value with each of its keys."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [(value, key) for key in keys] + [place for key in keys for place in _places(value[key])]


@settings(max_examples=35, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 10**6),
    st.sampled_from([None, -1, 1e400, "", "map_ID2", [], {}, [[]], 2**70, 10**400, "\ud800", True]),
    st.booleans(),
)
def test_any_value_anywhere(tmp_path: Path, at: int, new: Any, own: bool) -> None:
    made = copy.deepcopy(instance())
    if own:
        made["description"], made["lane_names"] = "Written by simsched 1", ["a"]
        for one in made["workflow"]["specification"]["tasks"]:
            one |= {
                "flops": 1,
                "start_s": 0,
                "finish_s": 1,
                "lane": 0,
                "seconds_by_kind": [1, 2],
                "scope": "s",
            }
    places = _places(made)
    container, key = places[at % len(places)]
    container[key] = new
    with suppress(FormatError, GraphError):
        assert WFFORMAT.read(write(tmp_path, made)).n_tasks > 0


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not here")
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("blast-chameleon-small-001", (43, 120)), ("epigenomics-chameleon-hep-1seq-100k-001", (41, 48)),
        ("helloworld-forkjoin-10-chameleon", (10, 16)), ("montage-chameleon-2mass-005d-001", (58, 114)),
    ],
)  # fmt: skip
def test_public_instances(name: str, counts: tuple[int, int]) -> None:
    graph = load(SAMPLES / f"{name}.json")
    assert (graph.n_tasks, graph.n_edges) == counts
    assert graph.data is not None
    assert np.isfinite(graph.data.size_B).all()
    # Of unknown work, tasks are no faster on a device.
    assert ss.simulate(graph, "grace-hopper", "heft").makespan_s >= graph.critical_path_s
