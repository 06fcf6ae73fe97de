"""Commands that really run graphs, on tasks that only spin."""

import json

import pandas as pd
import pytest

import simsched as ss
from simsched.cli.common import graphs_of
from simsched.errors import SimschedError


@pytest.fixture
def spinning(tmp_path, real_runs):
    path = tmp_path / "spins.simsched"
    ss.TaskGraph.from_edges([2e-4] * 6, [(0, 3), (1, 4)], kinds="spin").save(path)
    return path


def test_execute(spinning, tmp_path, piped):
    """A task that spins takes at least its time; how much longer the host decides."""
    done = piped(
        "execute", spinning, "--layout", "1x1", "--repeats", "1", "--json", "--out", tmp_path / "run.csv"
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["runs"], facts["layout"], facts["tasks"], facts["edges"]) == (1, "1x1", 6, 2)
    tasks = pd.read_csv(tmp_path / "run.csv")
    assert (tasks["finish_s"] - tasks["start_s"]).min() >= 2e-4
    assert facts["makespan_s"] == pytest.approx(tasks["finish_s"].max() - tasks["start_s"].min(), abs=1e-12)
    assert facts["makespan_s"] >= 6 * 2e-4


def test_calibrate(spinning, tmp_path, piped):
    done = piped("calibrate", spinning, "--out", tmp_path / "host.json", "--repeats", "2")
    assert done.returncode == 0, done.stderr
    assert ss.Calibration.load(tmp_path / "host.json").ops[0].op.kind == "spin"
    kinds = (
        "--kind",
        "Softmax",
        "--kind",
        "Tanh",
        "--out",
        tmp_path / "kinds.json",
        "-n",
        "1",
        "--pairs",
        "0",
    )
    done = piped("calibrate", *kinds)
    assert done.returncode == 0, done.stderr
    assert {one.op.kind for one in ss.Calibration.load(tmp_path / "kinds.json").ops} == {"Softmax", "Tanh"}
    assert "no graph was given" in piped("calibrate", "--out", tmp_path / "kinds.json").stderr


def test_crosscheck_of_several_graphs_writes_reports(spinning, tmp_path, piped):
    other = tmp_path / "more.simsched"
    ss.load(spinning).save(other)
    page, text = tmp_path / "check.html", tmp_path / "check.md"
    done = piped(
        "crosscheck", spinning, other, "--policy", "fifo", "--layout", "1x1", "--repeats", "2",
        "--html", page, "--md", text, "--json",
    )  # fmt: skip
    told = json.loads(done.stdout)
    # 3: others disturbed the runs of both.
    assert done.returncode == (0 if told["summary"]["cases"] else 3), done.stderr
    assert [case["graph"] for case in told["cases"]] == ["spins.simsched", "more.simsched"]
    assert len({*told["notes"]}) == len(told["notes"]) > 0
    assert told["summary"]["cases"] + told["summary"]["declined"] == 2
    assert sum(not case["cannot_tell"] for case in told["cases"]) == told["summary"]["cases"]
    assert told["summary"]["ratios_within"] is None
    assert "| spins.simsched | fifo | 1x1 |" in text.read_text()
    assert "<summary>more.simsched, fifo 1x1: " in page.read_text()


def test_graphs_and_options_of_their_reader(spinning, tmp_path):
    (tmp_path / "sub").mkdir()
    same = tmp_path / "sub" / spinning.name
    ss.load(spinning).save(same)
    assert list(graphs_of([str(spinning), str(same)])) == [str(spinning), str(same)]
    workload = "rnn[layers=1,steps=2,hidden=8]"
    found = graphs_of([str(spinning), workload])
    assert found[workload].n_tasks == ss.workload(workload).n_tasks
    assert list(found) == [spinning.name, workload]
    with pytest.raises(SimschedError, match="rnn"):
        graphs_of([workload, "--step", "3"])
    with pytest.raises(SimschedError, match="nonsense"):
        graphs_of(["--nonsense", "3", str(spinning)])
    with pytest.raises(SimschedError, match="option --nonsense needs a value"):
        graphs_of([str(spinning), "--nonsense"])
    with pytest.raises(SimschedError, match="no graph was given"):
        graphs_of(["--nonsense=3"])


def test_options_of_one_file(tmp_path):
    """Options between a file's brackets are for its reader alone; a name that has brackets itself is a name."""
    table = tmp_path / "tasks.csv"
    table.write_text("name,duration_s\na,1\nb,2\n")
    for name, edge in (("one.csv", "0,1"), ("other.csv", "1,0")):
        (tmp_path / name).write_text(f"before,after\n{edge}\n")
    odd = tmp_path / "odd[step=2]"
    odd.write_text("digraph odd { a [duration_s=1] }")
    one, other = (f"{table}[edges={tmp_path / name}]" for name in ("one.csv", "other.csv"))
    found = graphs_of([one, other, str(odd)])
    assert [graph.to_frames()[1].iloc[:, 0].tolist() for graph in found.values()] == [[0], [1], []]
    assert list(found) == [one, other, "odd[step=2]"]
    with pytest.raises(SimschedError, match="nonsense"):
        graphs_of([one, f"{odd}[nonsense=3]"])


def test_calibrating_on_given_widths_and_pairs(spinning, tmp_path, piped):
    """Two graphs; the report has points, the threads' costs and the pairs; what cannot be is one clear line."""
    out = tmp_path / "host.json"
    options = ("--out", out, "--repeats", "2")
    done = piped("calibrate", spinning, spinning, *options, "--widths", "1", "--pairs", "0")
    assert done.returncode == 0, done.stderr
    found = ss.Calibration.load(out)
    assert [point.width for point in found.ops[0].points] == [1]
    assert found.facts["runs"] >= 4  # one more for each that others disturbed
    assert found.pairs == ()
    assert "wake up" in done.stdout
    assert f"wrote {out}" in done.stdout
    pairs = "1" if ss.machine("host").n_threads > 1 else "0"
    climb = ("--widths", "climb", "--climb-step", "1", "--tolerance", "0.1", "--pairs", pairs)
    done = piped("calibrate", spinning, *options, *climb)
    assert done.returncode == 0, done.stderr
    assert ss.Calibration.load(out).method.endswith("climb in steps of 1")
    assert len(ss.Calibration.load(out).pairs) == int(pairs)
    for wrong, says in (("all", "widths='all'"), ("1,4096", "has teams of 1 to")):
        done = piped("calibrate", spinning, *options, "--widths", wrong)
        assert done.returncode == 2
        assert says in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--layout", "9999x1"), "9999"),
        (("--policy", "best"), "no policy is called 'best'"),
        (("--repeats", "0"), "repeats is 0"),
    ],
)
def test_bad_input_is_one_clear_line(spinning, arguments, says, piped):
    done = piped("execute", spinning, *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
