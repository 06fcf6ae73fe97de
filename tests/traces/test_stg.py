"""Standard Task Graph files, one by hand, wrong ones, and the published set where it is at hand."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tarballs import unpack

import simsched as ss
from simsched.errors import FormatError, GraphError
from simsched.graph import TaskGraph
from simsched.traces.stg import STG

SAMPLES = Path(__file__).resolve().parents[2] / "../shared/samples/stg"

BY_HAND = """\
    2
    0    0    0
    1    5    1    0
    2    3    2    0    1   # the last
    3    0    1    2
# CP Length           : 8
"""


def read(tmp_path: Path, text: str) -> TaskGraph:
    """Return the graph of a file with this text."""
    path = tmp_path / "hand.stg"
    path.write_text(text)
    return STG.read(path)


def test_by_hand(tmp_path: Path) -> None:
    """0 (0 s) -> 1 (5 s) -> 2 (3 s) -> 3 (0 s), and 0 -> 2: the critical path has 0 + 5 + 3 + 0 = 8 s."""
    graph = read(tmp_path, BY_HAND)
    assert graph.durations_s.tolist() == [0, 5, 3, 0]
    assert list(zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)) == [
        (0, 1), (0, 2), (1, 2), (2, 3),
    ]  # fmt: skip
    assert graph.kinds.to_list() == ["dummy", "task", "task", "dummy"]
    assert graph.name == "hand"
    assert graph.report.facts == {"tasks": 4, "edges": 4, "stated_critical_path_s": 8.0}
    assert graph.report.notes == []
    assert graph.critical_path_s == 8


def test_another_critical_path_is_told(tmp_path: Path) -> None:
    graph = read(tmp_path, BY_HAND.replace(": 8", ": 9"))
    assert graph.report.notes == ["the file states a critical path of 9, its tasks have one of 8"]


def test_gzipped(tmp_path: Path) -> None:
    path = tmp_path / "hand.stg.gz"
    path.write_bytes(gzip.compress(BY_HAND.encode()))
    assert STG.read(path).name == "hand"


def test_recognises() -> None:
    for text in (BY_HAND, "# first\n\n" + BY_HAND, BY_HAND.replace("\n", "\r\n"), BY_HAND[:25]):
        assert STG.recognises(text.encode())
    for text in (
        "",
        "2",
        "2\n",
        "2\n1 0 0\n",
        "2 3 4\n0 0 0\n",
        "{}",
        "2\n0 0 1\n",
        "#\n" * 30_000,
        " " * 60_000,
    ):
        assert not STG.recognises(text.encode())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    2\n", "    2 2 2\n", "line 1: expected the number of tasks, alone or with processors, found 3 numbers"),
        ("    2\n", "    3\n", "4 task lines; expected 5, the 3 tasks and two dummies announced; is the file cut off?"),
        ("    2\n", "    1\n", "line 5: more than the 1 task and two dummies announced"),
        ("    1    5", "    2    5", "line 3: task 2 where task 1 is due; tasks are in order"),
        ("    1    5", "    1   -5", "line 3: '-5' is not a whole number of up to 15 digits"),
        ("    1    5", "    1  5.0", "line 3: '5.0' is not a whole number"),
        ("    1    5", "    1  1_0", "line 3: '1_0' is not a whole number"),
        ("    1    5", "    1    ٥", "line 3: '٥' is not a whole number"),
        ("    1    5", "    1 " + "9" * 16, f"line 3: '{'9' * 16}' is not a whole number"),
        ("    1    5    1    0", "    1    5    1", "line 3: expected 1 predecessor, behind the task or each"),
        ("    1    5    1    0", "    1    5", "line 3: expected task, time, number of predecessors"),
        ("    1    5    1    0", "    1    5    1    4", "line 3: task 1 has predecessor 4; expected another one of 0"),
        ("    1    5    1    0", "    1    5    1    1", "line 3: task 1 has predecessor 1; expected another one of 0"),
    ],
)  # fmt: skip
def test_wrong_files(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in BY_HAND
    with pytest.raises(FormatError, match=re.escape(f"hand.stg: {message}")):
        read(tmp_path, BY_HAND.replace(old, new, 1))


BARE = "# by hand\n 3 2\n 0 15 0\n 1 14 1\n   0 4\n 2 16 2\n   0 3\n   1 14\n# Generated\n"


def test_no_dummies_behind_processors(tmp_path: Path) -> None:
    """15 s, then 14 s, then 16 s: tasks of a generator that counts all of them, with times of their own."""
    graph = read(tmp_path, BARE)
    assert STG.recognises(BARE.encode())
    assert graph.durations_s.tolist() == [15, 14, 16]
    assert graph.kinds.to_list() == ["task"] * 3
    assert graph.critical_path_s == 45
    assert graph.report.facts["stated_processors"] == 2
    with pytest.raises(FormatError, match=r"a task has predecessor 3; expected one of the 3 tasks from 0"):
        read(tmp_path, BARE.replace("   0 3", "   3 3"))
    with pytest.raises(FormatError, match="3 task lines; expected 5, the 3 tasks and two dummies announced"):
        read(tmp_path, BARE.replace(" 3 2", " 3", 1))


def test_empty(tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match="line 1: expected the number of tasks, alone or with processors, found 0 numbers"
    ):
        read(tmp_path, "# nothing\n")


def test_a_cycle(tmp_path: Path) -> None:
    path = tmp_path / "hand.stg"
    path.write_text(BY_HAND.replace("    1    5    1    0", "    1    5    1    2"))
    with pytest.raises(GraphError, match=r"hand\.stg: the graph has a cycle: task 1 -> task 2 -> task 1"):
        ss.load(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damage(data: st.DataObject, tmp_path: Path) -> None:
    damaged = bytearray(BY_HAND.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place : place + 1] = data.draw(
            st.sampled_from([b"", b"\xff", b"9", b"0", b" ", b"\n", b"#", b"-"])
        )
    path = tmp_path / "damaged.stg"
    path.write_bytes(damaged)
    try:
        graph = STG.read(path)
    except (FormatError, GraphError):
        return
    assert graph.n_tasks >= 2


WITH_COSTS = """\
    2
    0    0    0
    1    5    1
         0    0
    2    3    2
         0    0
         1    7
    3    0    1
         2    0
"""
PROTOTYPE = """\
     2     3
     1     5     0
     2     3     1     1
     3     0     2     1     2
"""


def test_communication_costs_are_read_and_left_out(tmp_path: Path) -> None:
    graph = read(tmp_path, WITH_COSTS)
    assert graph.durations_s.tolist() == [0, 5, 3, 0]
    assert graph.n_edges == 4
    assert graph.report.facts["communication_s"] == 7
    assert "messages between cores cost no time here" in graph.report.notes[0]
    assert STG.recognises(WITH_COSTS.encode())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "         1    7\n",
            "",
            "line 5: expected 2 predecessors, behind the task or each with its communication",
        ),
        ("         1    7", "         1", "found 1 number on line 7"),
        ("         1    7", "         9    7", "line 5: task 2 has predecessor 9"),
    ],
)
def test_wrong_costs(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(tmp_path, WITH_COSTS.replace(old, new))


def test_prototypes(tmp_path: Path) -> None:
    """1 (5 s) -> 2 (3 s) -> dummy 3, and 1 -> 3; for 3 processors."""
    graph = read(tmp_path, PROTOTYPE)
    assert graph.kinds.to_list() == ["task", "task", "dummy"]
    assert (graph.n_edges, graph.critical_path_s) == (3, 8)
    assert graph.report.facts["stated_processors"] == 3
    assert STG.recognises(PROTOTYPE.encode())
    with pytest.raises(FormatError, match="2 task lines; expected 3, the 2 tasks and a dummy announced"):
        read(tmp_path, PROTOTYPE[: PROTOTYPE.index("     3     0")])


def test_units(tmp_path: Path) -> None:
    (tmp_path / "hand.stg").write_text(BY_HAND)
    graph = STG.read(tmp_path / "hand.stg", unit="1e-3")
    assert graph.durations_s.tolist() == pytest.approx([0, 5e-3, 3e-3, 0])
    assert graph.report.facts["stated_critical_path_s"] == pytest.approx(8e-3)
    assert graph.report.notes == []


@pytest.mark.parametrize("unit", ["ms", "", 0, -1, "nan", 1e300, None, [1], 10**400, True])
def test_wrong_units(tmp_path: Path, unit: object) -> None:
    (tmp_path / "hand.stg").write_text(BY_HAND)
    with pytest.raises(FormatError, match=r"hand\.stg: unit is .*; expected a number of seconds"):
        STG.read(tmp_path / "hand.stg", unit=unit)


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simsched.traces.stg.MAX_LINE_B", 100)
    with pytest.raises(FormatError, match="line 1: longer than 100 bytes; refused"):
        read(tmp_path, " " * 200 + BY_HAND)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not here")
def test_the_published_graphs(tmp_path: Path) -> None:
    """Every one has the tasks that it announces and the critical path that its generator wrote down."""
    unpack(next(SAMPLES.glob("*.tar.gz")), tmp_path)
    files = sorted(tmp_path.rglob("*.stg"))
    assert files
    for file in files:
        text = file.read_text()
        graph = STG.read(file)
        stated = re.search(r"CP Length\s*:\s*(\d+)", text)
        assert stated is not None
        assert STG.recognises(text[: 1 << 16].encode())
        assert graph.n_tasks == int(text.split()[0]) + 2
        assert graph.critical_path_s == int(stated[1])
        assert graph.report.notes == []
