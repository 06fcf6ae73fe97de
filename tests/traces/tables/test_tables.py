"""CSV and Parquet tables: exact round trips, tables by hand, and what is refused."""

from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import simsched as ss
from simsched.errors import FormatError, GraphError, SimschedError
from simsched.graph import Recording, TaskGraph
from simsched.graph.loading import load
from simsched.testing.strategies import graphs
from simsched.traces.tables import csv

pytest.importorskip("pyarrow")

NUMBERS = ("durations_s", "widths", "flops", "bytes_B")
TEXTS = ("kinds", "shapes", "scopes")
FORMS = ["csv", "parquet"]
#: Of pandas before 3.1, no table can have a NUL byte.
ODD = ["=1+1", "NA", 'a"b,c\r\n', "", "\u00e4\u2028" if csv._cuts_at_nul() else "\u00e4\x00\u2028"]


def rich(names: list[str] | None, recorded: bool) -> TaskGraph:
    """A graph with something in every column."""
    run = Recording(
        np.array([0.0, 0.1, 1 / 3, 2, 2]), np.array([0.1, 1 / 3, 2, 2, 5e9 / 7]),
        np.array([2, 0, 2, 0, 1], np.int32), ("zero", "0", "=cmd()"),
    )  # fmt: skip
    return TaskGraph.from_edges(
        [0.1, np.nan, 1 / 3, 5e-324, 1e300], [(2, 0), (1, 0), (2, 4)], names=names, kinds=ODD, scopes=ODD[::-1],
        shapes=["2x3", "()", "", "", ""], flops=[1e9, np.nan, 0, 1, 2], bytes_B=[np.nan, 1, 2, 3, 4],
        widths=[1, 2, 68, 1, 1], name="rich", recording=run if recorded else None,
    )  # fmt: skip


def assert_same(one: TaskGraph, other: TaskGraph) -> None:
    for column in NUMBERS:
        assert getattr(one, column).tobytes() == getattr(other, column).tobytes(), column
    for column in TEXTS:
        assert getattr(one, column).to_list() == getattr(other, column).to_list(), column
    assert one.successors.indices.tolist() == other.successors.indices.tolist()
    assert one.successors.indptr.tolist() == other.successors.indptr.tolist()
    assert (one.names and one.names.to_list()) == (other.names and other.names.to_list())
    assert (one.recording is None) == (other.recording is None)
    if one.recording is not None and other.recording is not None:
        for field in ("start_s", "finish_s", "lanes"):
            assert getattr(one.recording, field).tobytes() == getattr(other.recording, field).tobytes()
        assert one.recording.lane_names == other.recording.lane_names


def test_cells_of_a_line_are_bounded(tmp_path: Path) -> None:
    """Seven million cells, which take 1.3 GB in pandas, are 7 kB of gzip."""
    (tmp_path / "g.tasks.csv.gz").write_bytes(gzip.compress(b"duration_s\n1\n" + b"," * 7_000_000))
    (tmp_path / "g.edges.csv").write_text("before,after\n")
    with pytest.raises(
        FormatError, match=r"csv.gz: more than 8\d\d\d columns, the most for files of this size"
    ):
        load(tmp_path / "g.tasks.csv.gz")
    (tmp_path / "g.tasks.csv").write_bytes(b"duration_s\n" + b"1,,\n" * 400_000)
    with pytest.raises(FormatError, match="its first row has more cells than the header"):
        load(tmp_path / "g.tasks.csv")


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("names", [None, ODD])
@pytest.mark.parametrize("form", FORMS)
def test_round_trip(tmp_path: Path, form: str, names: list[str] | None, recorded: bool) -> None:
    graph = rich(names, recorded)
    graph.save(tmp_path / f"rich.tasks.{form}")
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"rich.edges.{form}", f"rich.tasks.{form}"]
    back = load(tmp_path / f"rich.tasks.{form}")
    assert_same(graph, back)
    assert (back.name, back.report.format) == ("rich", form)


def test_a_nul_byte_is_refused_where_pandas_cuts_texts_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write(tmp_path, 'kind,duration_s\n"a\0b",1\n')
    if not csv._cuts_at_nul():
        assert load(table).kinds.to_list() == ["a\0b"]
    monkeypatch.setattr(pd, "read_csv", lambda *_, **__: pd.DataFrame({"text": ["a"]}))
    with pytest.raises(FormatError, match=r"a NUL byte, at which pandas .* cuts texts; upgrade it"):
        load(table)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs(), st.sampled_from(FORMS))
def test_any_graph_comes_back(tmp_path: Path, graph: TaskGraph, form: str) -> None:
    path = tmp_path / f"any.tasks.{form}"
    graph.save(path)
    assert_same(graph, load(path, format=form))


def write(folder: Path, tasks: str, edges: str = "before,after\n") -> Path:
    """Write both tables and return the one of tasks."""
    (folder / "hand.tasks.csv").write_text(tasks, encoding="utf-8")
    (folder / "hand.edges.csv").write_text(edges, encoding="utf-8")
    return folder / "hand.tasks.csv"


def test_by_hand(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "\ufefftask,kind,duration_s,width,start_s,finish_s,lane,colour\r\n"
        "b,k,1.5,,1,2.5,w1,red\r\na,,NaN,4.0,0,1,w2,blue\r\n",
        "before,after\na,b\n",
    )
    graph = load(path)
    assert graph.durations_s.tolist()[0] == 1.5
    assert np.isnan(graph.durations_s[1])
    assert graph.topological_order.tolist() == [1, 0]
    assert graph.widths.tolist() == [1, 4]
    assert graph.recording is not None
    assert (graph.recording.lanes.tolist(), graph.recording.lane_names) == ([0, 1], ("w1", "w2"))
    assert graph.report.notes == [
        "Not kept, as task graphs have no such columns: 'colour'.",
        "1 task has no duration_s: it is unknown.",
    ]


def test_labels_that_look_like_numbers(tmp_path: Path) -> None:
    assert load(write(tmp_path, "task,duration_s\n10,1\n20,2\n", "before,after\n20,10\n")).n_edges == 1
    assert load(write(tmp_path, "task,duration_s\n10,1\nx,2\n", "before,after\nx,10\n")).n_edges == 1
    assert load(write(tmp_path, "duration_s\n1\n2\n", "before,after\n0,1\n")).n_edges == 1
    graph = load(write(tmp_path, "task,kind,duration_s\n01,1e5,1\n1,100000.0,2\n", "before,after\n01,1\n"))
    assert [graph.task_name(task) for task in range(2)] == ["01", "1"]
    assert graph.kinds.to_list() == ["1e5", "100000.0"]
    times = "duration_s,start_s,finish_s,lane,lane_name\n1,0,1,01,01\n1,0,1,1,1\n"
    recording = load(write(tmp_path, times, "before,after\n")).recording
    assert recording is not None
    assert recording.lane_names == ("01", "1")


def test_what_separates_columns_comes_before_what_lacks(tmp_path: Path) -> None:
    (path := tmp_path / "t.tasks.csv").write_text("task;duration_s\na;1\n")
    with pytest.raises(FormatError, match="Separate columns by commas alone"):
        load(path)


@pytest.mark.parametrize(
    ("tasks", "names"),
    [
        ("task,duration_s\n10,1\nx,2\n", ["10", "x"]),
        ("task,duration_s\n10,1\n20,2\n", ["10", "20"]),
        ("task,duration_s,name\na,1,load\nb,2,\n", ["load", ""]),
    ],
)
def test_labels_are_names_where_there_are_no_others(tmp_path: Path, tasks: str, names: list[str]) -> None:
    graph = load(write(tmp_path, tasks, "before,after\n"))
    assert [graph.task_name(task) for task in range(2)] == names


def test_other_names_and_gzip(tmp_path: Path) -> None:
    write(tmp_path, "duration_s\n1\n2\n", "before,after\n0,1\n").rename(tmp_path / "t.csv")
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress((tmp_path / "hand.edges.csv").read_bytes()))
    assert load(tmp_path / "t.csv", edges=str(tmp_path / "e.csv")).n_edges == 1
    with pytest.raises(FormatError, match=r"call this one NAME.tasks.csv.*give the table of edges as edges="):
        load(tmp_path / "t.csv")
    with pytest.raises(FormatError, match="edges is 3; expected the path"):
        load(tmp_path / "t.csv", edges=3)


def test_rows_are_bounded(tmp_path: Path) -> None:
    rows = "1\n" * 100
    assert load(write(tmp_path, f"duration_s\n{rows}", "before,after\n"), limit=2400).n_tasks == 100
    with pytest.raises(FormatError, match=r"more than 100 tasks, the most within limit=2.4 kB; raise it"):
        load(write(tmp_path, f"duration_s\n{rows}1\n", "before,after\n"), limit=2400)


@pytest.mark.parametrize(
    ("tasks", "edges", "message"),
    [
        (
            "duration_s\n1\nx\n",
            "before,after\n",
            "row 2 after the header has duration_s 'x'; expected a number",
        ),
        (
            "duration_s\n1_0\n",
            "before,after\n",
            "row 1 after the header has duration_s '1_0'; expected a number",
        ),
        ("duration_s\n-1\n", "before,after\n", "task 0 has duration -1.0 seconds"),
        ("duration_s\ninf\n", "before,after\n", "task 0 has duration inf"),
        (
            "duration_s,width\n1,2.5\n",
            "before,after\n",
            "row 1 after the header has width '2.5'; expected a whole",
        ),
        ("duration_s,width\n1,x.0\n", "before,after\n", "row 1 after the header has width 'x.0'"),
        ("duration_s,width\n1,0\n", "before,after\n", "widths are 1 to"),
        ("duration_s,duration_s\n1,1\n", "before,after\n", "two columns 'duration_s'"),
        (
            "task;duration_s\na;1\n",
            "before;after\n",
            "columns are 'task;duration_s'. Separate columns by commas alone",
        ),
        (
            "task, duration_s\na, 1\n",
            "before,after\n",
            "columns are 'task', ' duration_s'. Separate columns by commas",
        ),
        ("duration_s\n1\n", "before\tafter\n", "no column 'before'; .* Separate columns by commas alone"),
        ("duration_s\n1\n", "before,past\n", "no column 'after'; its columns are 'before', 'past'"),
        (
            "duration_s\n1\n",
            "before,after\n0,x\n",
            "row 1 after the header has after 'x'; expected a whole number",
        ),
        ("duration_s\n1\n", "before,after\n0,7\n", "edge 0 .* names a task that is not there"),
        ("duration_s\n1\n1\n", "before,after\n0,1\n1,0\n", "cycle"),
        ("task,duration_s\na,1\na,1\n", "before,after\n", "two tasks are labelled 'a'"),
        ("duration_s,kind\n1,a,b,c\n", "before,after\n", "not a CSV table: its first row has more cells"),
        ("duration_s,kind\n1,a\n1,a,b\n", "before,after\n", "not a CSV table: .*line 3"),
        ("duration_s,start_s\n1,1\n", "before,after\n", r"there is only \['start_s'\]"),
        ("duration_s,start_s,finish_s,lane\n1,2,1,0\n", "before,after\n", "recorded from 2.0 to 1.0"),
        ("duration_s,start_s,finish_s,lane\n1,0,1,-3\n", "before,after\n", "lanes are -3 to -3"),
        ("duration_s,start_s,finish_s,lane\n1,0,1,99999999\n", "before,after\n", "expected 0 to 999999"),
        ("duration_s," + "x," * 40_000 + "\n1\n", "before,after\n", "a header of more than 65536 bytes"),
        ("duration_s,shape\n1,2y3\n", "before,after\n", "shape '2y3' is not written like"),
        ("duration_s\n1\n\n3\n\n", "before,after\n", 'line 3: blank; in a table of one column write ""'),
        ("duration_s,start_s,finish_s,lane\n1,0,1,w\n1,1,2,\n", "before,after\n", "row 2 has no lane"),
        ('duration_s,"kind\nx"\n1,a\n', "before,after\n", "line 1: column 'kind' is cut by quotes"),
    ],
)
def test_refused(tmp_path: Path, tasks: str, edges: str, message: str) -> None:
    with pytest.raises((FormatError, GraphError), match=message) as caught:
        load(write(tmp_path, tasks, edges))
    assert "hand." in str(caught.value)


def test_texts_of_windows_are_refused_with_a_way_out(tmp_path: Path) -> None:
    path = write(tmp_path, "duration_s,kind\n1,Größe\n", "before,after\n")
    path.write_bytes(path.read_text().encode("cp1252"))
    with pytest.raises(FormatError, match=r"Gr\\xf6\\xdfe.* is not UTF-8; .* iconv -f CP1252 -t UTF-8"):
        load(path)


def test_a_table_of_a_schedule_is_refused_with_a_reason(tmp_path: Path) -> None:
    ss.simulate(TaskGraph.from_edges([1.0]), "generic[cores=1]", "fifo").save(tmp_path / "s.parquet")
    with pytest.raises(
        FormatError, match=r"no column 'duration_s'.*table of a schedule, which holds no graph"
    ):
        load(tmp_path / "s.parquet")


def test_only_names_of_two_files_are_written(tmp_path: Path) -> None:
    with pytest.raises(SimschedError, match=r"call this one NAME\.tasks\.csv"):
        rich(None, False).save(tmp_path / "x.csv", format="csv")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(FORMS), st.integers(0, 2**20), st.binary(max_size=5), st.integers(0, 9))
def test_damaged(tmp_path: Path, form: str, at: int, new: bytes, dropped: int) -> None:
    """A valid graph or one of the two errors, whichever of the two files is damaged."""
    path = tmp_path / f"g.tasks.{form}"
    rich(ODD, True).save(path)
    broken = path if at % 2 else tmp_path / f"g.edges.{form}"
    data = broken.read_bytes()
    at %= len(data)
    broken.write_bytes(data[:at] + new + data[at + dropped :])
    with suppress(FormatError, GraphError):
        assert load(path, format=form).n_edges >= 0


@pytest.mark.parametrize(
    "columns",
    [
        {"duration_s": [[1.0]]}, {"duration_s": ["x"]}, {"duration_s": [True]}, {"duration_s": [1.0], "width": ["x"]},
        {"duration_s": [1.0], "width": [2.5]}, {"duration_s": [1.0], "start_s": ["a"], "finish_s": [1], "lane": [0]},
    ],
)  # fmt: skip
def test_parquet_of_other_types(tmp_path: Path, columns: dict[str, Any]) -> None:
    pd.DataFrame(columns).to_parquet(tmp_path / "g.tasks.parquet")
    pd.DataFrame({"before": [], "after": []}).to_parquet(tmp_path / "g.edges.parquet")
    with pytest.raises((FormatError, GraphError), match=r"g\.tasks\.parquet"):
        load(tmp_path / "g.tasks.parquet")


RUN = {"start_s": [0.0, 1.0], "finish_s": [1.0, 2.0]}


def parquet(folder: Path, tasks: dict[str, Any], edges: dict[str, Any] | None = None) -> Path:
    """Write both tables, of two tasks, and return the one of tasks."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    path = folder / "g.tasks.parquet"
    write_table(pa.table({"duration_s": [1.0, 2.0], **tasks}), path)
    write_table(pa.table(edges or {"before": [0], "after": [1]}), folder / "g.edges.parquet")
    return path


def test_what_is_absent_in_parquet(tmp_path: Path) -> None:
    tasks = {"width": [4, None], "kind": ["a", None], **RUN, "lane": [0, 1], "lane_name": ["zero", None]}
    graph = load(parquet(tmp_path, tasks))
    assert (graph.widths.tolist(), graph.kinds.to_list()) == ([4, 1], ["a", ""])
    assert graph.recording is not None
    assert graph.recording.lane_names == ("zero", "lane 1")


@pytest.mark.parametrize(
    ("tasks", "edges", "message"),
    [
        ({"width": [2.5, None]}, None, "whole numbers of threads"),
        ({"width": ["a", None]}, None, "whole numbers of threads"),
        ({"width": [float("inf"), None]}, None, "whole numbers of threads"),
        ({"width": [1e30, None]}, None, "whole numbers of threads"),
        ({**RUN, "lane": [0, None]}, None, "row 2 has no lane"),
        ({**RUN, "lane": [None, "w"]}, None, "row 1 has no lane"),
        (
            {"task": [["a"], ["b"]]},
            {"before": [["a"]], "after": [["b"]]},
            "column .task. holds .*; expected plain values",
        ),
        ({"task": [{"a": 1}, {"a": 2}]}, None, "column .task. holds .*; expected plain values"),
    ],
)
def test_parquet_refused(
    tmp_path: Path, tasks: dict[str, Any], edges: dict[str, Any] | None, message: str
) -> None:
    with pytest.raises((FormatError, GraphError), match=rf"g\.tasks\.parquet: .*{message}"):
        load(parquet(tmp_path, tasks, edges))


def test_a_parquet_bomb(tmp_path: Path) -> None:
    """One text of 1 MB, 5000 times, takes 1 MB in the file."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    names = pa.DictionaryArray.from_arrays(np.zeros(5000, np.int32), ["x" * 10**6])
    write_table(pa.table({"duration_s": np.ones(5000), "name": names}), tmp_path / "g.tasks.parquet")
    with pytest.raises(
        FormatError,
        match=r"more than \d+ bytes, the most for files of this size; .* higher limit, as in limit=",
    ):
        load(tmp_path / "g.tasks.parquet")
