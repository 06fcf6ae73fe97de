"""Profiles of XLA: one that JAX recorded, with its HLO; spans by hand; loops; damaged files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import simsched as ss
from simsched.errors import FormatError
from simsched.graph import TaskGraph

pytest.importorskip("google.protobuf")

from simsched.traces.shared.protobuf import message_classes
from simsched.traces.shared.wire import spelled
from simsched.traces.xplane import reader, space

SEEDS = Path(__file__).parents[1] / "seeds" / "xplane"
#: Two runs, recorded with JAX 0.10.2 on a CPU, of x = sort(a @ b); y = cumsum(a @ c); z = sort(b @ c); x @ y + z @ z.
JAX = SEEDS / "jax" / "main.pb"


def edges(graph: TaskGraph) -> list[tuple[str, str]]:
    ends = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return sorted((graph.kinds[a], graph.kinds[b]) for a, b in ends)


def test_operations_of_jax() -> None:
    graph = ss.load(JAX)
    assert (graph.report.format, graph.n_tasks) == ("xplane", 24)
    facts = graph.report.facts
    assert (facts["programs"], facts["runs"], facts["early_starts"]) == (1, 2, 0)
    # Three products that wait for nothing, in the first run; the second comes after the first.
    starts = sorted(set(range(24)) - set(graph.successors.indices.tolist()))
    assert [graph.kinds[i] for i in starts] == ["ynn_fusion.3", "dot", "ynn_fusion.1"]
    once = {("ynn_fusion.3", "sort.6"), ("ynn_fusion.1", "sort.7"), ("dot", "wrapped_reduce-window")}
    assert once | {
        ("sort.6", "ynn_fusion.2"),
        ("sort.7", "ynn_fusion"),
        ("ynn_fusion", "wrapped_add"),
    } <= set(edges(graph))
    assert edges(graph).count(("wrapped_add", "dot")) == 1
    assert graph.average_parallelism > 2


def test_spans_of_jax() -> None:
    graph = ss.load(JAX, tasks="spans", names="PjitFunction*")
    assert graph.kinds.to_list() == ["PjitFunction(f)"] * 2
    assert ss.load(JAX, tasks="spans", process="/host:CPU").n_tasks == 14


def test_operations_without_hlo() -> None:
    graph = ss.load(SEEDS / "spans" / "main.pb")
    assert edges(graph) == [("fusion.1", "copy.2")]
    assert graph.durations_s.tolist() == [4e-6, 3e-6]
    assert "2 of 2 operations are of programs whose HLO is not in the file" in graph.report.doubts[0]
    assert graph.recording is not None
    assert graph.recording.lane_names == ("XLA Ops",)
    spans = ss.load(SEEDS / "spans" / "main.pb", tasks="spans")
    assert spans.recording is not None
    assert spans.recording.lane_names == ("/device:TPU:0: XLA Ops", "/host:CPU: main")


def looped() -> bytes:
    """Return a profile of b, then a loop whose body is m and then n, twice, then e."""
    whole = space.MESSAGES["Plane"] + ", lines 3 Line*"
    classes = message_classes(
        "looped", {"Space": "planes 1 Plane*", **space.MESSAGES, "Plane": whole}, "tests"
    )
    inner = message_classes("looped_hlo", reader.MESSAGES, "tests")["Hlo"]()
    main = inner.hlo_module.computations.add(id=1, root_id=13)
    body = inner.hlo_module.computations.add(id=2, root_id=22)
    for computation, name, ident, operands, called in (
        (body, "parameter", 20, [], []), (body, "m", 21, [20], []), (body, "n", 22, [21], []),
        (main, "b", 11, [], []), (main, "loop", 12, [11], [2]), (main, "e", 13, [12], []),
    ):  # fmt: skip
        computation.instructions.add(
            id=ident,
            name=name.encode(),
            opcode=name.encode(),
            operand_ids=operands,
            called_computation_ids=called,
        )
    made = classes["Space"]()
    meta, host = made.planes.add(name=b"/host:metadata"), made.planes.add(name=b"/host:CPU")
    entry = meta.event_metadata.add(key=5)
    entry.value.name = b"jit_f(5)"
    entry.value.stats.add(bytes_value=inner.SerializeToString())
    for number, name in enumerate(("hlo_op", "program_id", "run_id", "b", "m", "n", "e")):
        told = host.stat_metadata.add(key=number)
        told.value.name = name.encode()
    line = host.lines.add(name=b"pool", timestamp_ns=10)
    for start, op in enumerate((3, 4, 5, 4, 5, 6)):
        event = line.events.add(metadata_id=9, offset_ps=start * 1000, duration_ps=1000)
        event.stats.add(metadata_id=0, ref_value=op)
        event.stats.add(metadata_id=1, int64_value=5)
        event.stats.add(metadata_id=2, uint64_value=1)
    return bytes(made.SerializeToString())


def test_loops_are_entered_and_left() -> None:
    graph = ss.load(looped())
    pairs = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    assert graph.kinds.to_list() == ["b", "m", "n", "m", "n", "e"]
    assert sorted(pairs) == [(0, 1), (0, 3), (0, 5), (1, 2), (2, 3), (3, 4), (4, 5)]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (JAX.read_bytes(), {"tasks": "some"}, "tasks is 'some'; expected one of ops, spans"),
        (b"\n\x0b\x12\x09/host:CPU", {}, "no event that takes time"),
        (b"\n\x0b\x12\x09/host:CPU", {"tasks": "ops"}, "no event that takes time"),
        (JAX.read_bytes()[:-900], {}, "cut off in the field|a message that is damaged"),
        (
            JAX.read_bytes(),
            {"process": "/device:GPU:0"},
            "process is '/device:GPU:0'; expected one of '/host:CPU'",
        ),
        (b"\n\x0b\x12\x09/host:CPU" * 10_001, {}, "byte 130002: more than 10000 planes"),
    ],
)
def test_refused(content: bytes, options: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        ss.load(content, **options)


def test_tolerant_reads_what_is_there() -> None:
    graph = ss.load(JAX.read_bytes()[:-2000], tolerant=True)
    assert graph.n_tasks > 0
    assert any("cut off" in note or "damaged" in note for note in graph.report.notes)


@pytest.mark.parametrize(
    "piece", [b"\x1a\x00", b"\x22\x02\x08\x01", b"\x2a\x02\x08\x01"], ids=["lines", "events", "statistics"]
)
def test_what_a_plane_holds_counts_as_tasks(piece: bytes) -> None:
    plane = b"\x12\x05/host" + piece * 500
    with pytest.raises(FormatError, match="more than 416 tasks, the most within limit=10 kB"):
        ss.load(spelled(1, plane), format="xplane", limit="10kB")
