"""Standard Task Graph files, one by hand, wrong ones, and the published set where it is at hand."""

from __future__ import annotations

import gzip
import re
import tarfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
        "2 3\n0 0 0\n",
        "{}",
        "2\n0 0 1\n",
        "#\n" * 30_000,
        " " * 60_000,
    ):
        assert not STG.recognises(text.encode())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    2\n", "    2 2\n", "line 1: expected the number of tasks alone, found 2 numbers"),
        ("    2\n", "    3\n", "4 task lines; expected 5, the 3 announced and two dummies; is the file cut off?"),
        ("    2\n", "    1\n", "line 5: more than the 1 tasks and two dummies announced"),
        ("    1    5", "    2    5", "line 3: task 2 where task 1 is due; tasks are in order"),
        ("    1    5", "    1   -5", "line 3: '-5' is not a whole number of up to 15 digits"),
        ("    1    5", "    1  5.0", "line 3: '5.0' is not a whole number"),
        ("    1    5", "    1  1_0", "line 3: '1_0' is not a whole number"),
        ("    1    5", "    1    ٥", "line 3: '٥' is not a whole number"),
        ("    1    5", "    1 " + "9" * 16, f"line 3: '{'9' * 16}' is not a whole number"),
        ("    1    5    1    0", "    1    5    1", "line 3: expected task, time, number of predecessors and as many"),
        ("    1    5    1    0", "    1    5", "line 3: expected task, time, number of predecessors"),
        ("    1    5    1    0", "    1    5    1    4", "line 3: task 1 has predecessor 4; expected another one of 0"),
        ("    1    5    1    0", "    1    5    1    1", "line 3: task 1 has predecessor 1; expected another one of 0"),
    ],
)  # fmt: skip
def test_wrong_files(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in BY_HAND
    with pytest.raises(FormatError, match=re.escape(f"hand.stg: {message}")):
        read(tmp_path, BY_HAND.replace(old, new, 1))


def test_empty(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="line 1: expected the number of tasks alone, found 0 numbers"):
        read(tmp_path, "# nothing\n")


def test_a_cycle(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"hand\.stg: the graph has a cycle: task 1 -> task 2 -> task 1"):
        read(tmp_path, BY_HAND.replace("    1    5    1    0", "    1    5    1    2"))


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


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not here")
def test_the_published_graphs(tmp_path: Path) -> None:
    """Every one has the tasks that it announces and the critical path that its generator wrote down."""
    with tarfile.open(next(SAMPLES.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
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
