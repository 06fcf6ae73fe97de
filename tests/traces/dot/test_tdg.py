"""Nanos++'s task dependency graphs: sizes as ratios of times, taskwaits, the legend, clusters; a real one."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import simsched as ss
from simsched.errors import FormatError, GraphError
from simsched.graph import TaskGraph
from simsched.traces.dot.format import DOT
from simsched.traces.dot.tdg import TDG

SAMPLES = Path(__file__).parents[3] / "../shared/samples/ompss"
#: Diameters over the smallest: 1, 2 and 10, so times are 1 to 4 to 100.
LINEAR = """\
digraph {
  graph[compound=true];
  1[style="filled", color="black", fillcolor="lightblue3", width="1", height="1"];
  1 -> 2 [style="solid", color="black"];
  1 -> 4 [style="dashed", color="gray47"];
  subgraph cluster_7 { rank="same"; style="rounded"; label="Concurrent";
    2[style="filled", color="black", fillcolor="red", width="2", height="2"];
    3[style="filled", color="black", fillcolor="red", width="10", height="10"];
  }
  2 -> -4 [ltail="cluster_7", style="solid", color="black"];
  4[style="filled", color="black", fillcolor="green", width="1", height="1"];
  -4[label="Taskwait", style="bold", width="-inf", height="-inf"];
  node [shape=plaintext];
  subgraph cluster_1 {
    label="User functions:"; style="rounded";
    funcs_table [label=<<table border="0" cellspacing="10" cellborder="0">
      <tr>
        <td bgcolor="lightblue3" width="15px" border="1"></td>
        <td>potrf</td>
      </tr>
      <tr>
        <td bgcolor="red" width="15px" border="1"></td>
        <td></td>
      </tr>
    </table>>]
    01[label="", width=0.3, height=0.3, shape=box, fillcolor=red, style=filled];
    02[label="", width=0.3, height=0.3, shape=box, fillcolor=green, style=filled];
    01 -> 02[style="invis"];
    02 -> "gemm"[style="invis"];
  }
}
"""


def read(tmp_path: Path, text: str, **options: object) -> TaskGraph:
    """Return the graph of a file with this text."""
    path = tmp_path / "hand.tdg.dot"
    path.write_text(text)
    assert TDG.recognises(text.encode())
    assert not DOT.recognises(text.encode())
    return TDG.read(path, **options)


def by_name(graph: TaskGraph) -> list[float]:
    """Return the durations of tasks 1 to 4 and of the taskwait."""
    assert graph.names is not None
    seconds = dict(zip(graph.names.to_list(), graph.durations_s.tolist(), strict=True))
    return [seconds[name] for name in ("1", "2", "3", "4", "-4")]


def test_by_hand(tmp_path: Path) -> None:
    graph = read(tmp_path, LINEAR, seconds=10.6)
    assert by_name(graph) == pytest.approx([0.1, 0.4, 10.0, 0.1, 0.0])
    pairs = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    assert {(graph.task_name(a), graph.task_name(b)) for a, b in pairs} == {
        ("1", "2"),
        ("2", "-4"),
        ("3", "-4"),
    }
    kinds = (
        dict(zip(graph.names.to_list(), graph.kinds.to_list(), strict=True))
        if graph.names is not None
        else {}
    )
    assert kinds == {"1": "potrf", "2": "gemm", "3": "gemm", "4": "gemm", "-4": "taskwait"}
    facts = graph.report.facts
    assert (facts["node_size"], facts["synchronizations"], facts["tasks_inside_tasks"]) == ("linear", 1, 1)


def test_logarithms(tmp_path: Path) -> None:
    """The same diameters as Nanos++ writes them by default: the logarithm of e times each."""
    text = LINEAR.replace('"2", height', f'"{1 + math.log(2)}", height')
    text = text.replace('"10", height', f'"{1 + math.log(10)}", height')
    assert by_name(read(tmp_path, text, seconds="10.6")) == pytest.approx([0.1, 0.4, 10.0, 0.1, 0.0])
    linear = by_name(read(tmp_path, text, seconds="10.6", node_size="linear"))
    assert linear[1] / linear[0] == pytest.approx((1 + math.log(2)) ** 2)


@pytest.mark.parametrize("width", ["1", "inf", "nan"])
def test_sizes_that_tell_nothing(tmp_path: Path, width: str) -> None:
    text = re.sub(r'width="(2|10)"', f'width="{width}"', LINEAR)
    graph = read(tmp_path, text, seconds=1)
    assert [math.isnan(s) for s in by_name(graph)] == [True] * 4 + [False]
    assert (
        "the sizes of the nodes show no times: all are one or zero, or some are infinite"
        in graph.report.notes
    )


def test_without_a_sum_durations_are_unknown(tmp_path: Path) -> None:
    graph = read(tmp_path, LINEAR)
    assert [math.isnan(s) for s in by_name(graph)] == [True] * 4 + [False]
    assert any("seconds= gives the sum" in note for note in graph.report.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seconds": "0"}, "seconds is '0'; expected a finite number above zero"),
        ({"seconds": "1s"}, "seconds is '1s'"),
        ({"seconds": math.inf}, "seconds is inf"),
        ({"node_size": "constant"}, "node_size is 'constant'; expected log or linear"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(tmp_path, LINEAR, **options)


@pytest.mark.parametrize(
    ("width", "message"), [("-3", "has width '-3'"), ("wide", "has width 'wide'"), ("1e200", "has")]
)
def test_wrong_widths(tmp_path: Path, width: str, message: str) -> None:
    with pytest.raises(FormatError, match=f"node 2 {message}"):
        read(tmp_path, LINEAR.replace('"2", height', f'"{width}", height'), seconds=1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20)
@given(data=st.data())
def test_damage(data: st.DataObject, tmp_path: Path) -> None:
    lines = LINEAR.splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(lines) - 1))
        line = lines[place]
        cut = data.draw(st.integers(0, len(line)))
        lines[place] = data.draw(
            st.sampled_from(["", line * 2, line[:cut], line.replace("4", "1"), line.replace("1", "9" * 30)])
        )
    path = tmp_path / "damaged.dot"
    path.write_text("".join(lines))
    try:
        graph = TDG.read(path, seconds=1)
    except (FormatError, GraphError):
        return
    assert graph.report.facts["tasks"] == graph.n_tasks


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not here")
def test_a_real_one(tmp_path: Path) -> None:
    """220 tasks and 495 dependencies of a tiled Cholesky, and the taskwait at its end."""
    graph = ss.load(next(SAMPLES.glob("*.tdg.dot.gz")), seconds=0.1)
    assert (graph.n_tasks, graph.n_edges) == (221, 496)
    assert graph.work_s == pytest.approx(0.1)
    assert graph.kinds.to_list().count("taskwait") == 1
