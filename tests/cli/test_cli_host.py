"""Commands that really run graphs, on tasks that only spin."""

import json
import subprocess
import sys

import pytest

import simsched as ss
from simsched.errors import EngineError
from simsched.execute.module import module


@pytest.fixture
def spinning(tmp_path):
    try:
        module()
    except EngineError as error:
        pytest.skip(str(error))
    path = tmp_path / "spins.simsched"
    ss.TaskGraph.from_edges([2e-4] * 6, [(0, 3), (1, 4)], kinds="spin").save(path)
    return path


def simsched(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "simsched.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_execute(spinning, tmp_path):
    done = simsched(
        "execute", spinning, "--layout", "1x1", "--repeats", "3", "--json", "--out", tmp_path / "run.csv"
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["makespan_s"] == pytest.approx(6 * 2e-4, rel=0.5)
    assert (facts["runs"], facts["layout"], facts["tasks"], facts["edges"]) == (3, "1x1", 6, 2)
    assert (tmp_path / "run.csv").read_text().startswith("task,")


def test_calibrate_and_crosscheck(spinning, tmp_path):
    done = simsched("calibrate", spinning, "--out", tmp_path / "host.json", "--repeats", "2")
    assert done.returncode == 0, done.stderr
    assert ss.Calibration.load(tmp_path / "host.json").ops[0].op.kind == "spin"
    done = simsched(
        "crosscheck",
        spinning,
        "--policy",
        "fifo",
        "--layout",
        "1x1",
        "--repeats",
        "2",
        "--out",
        tmp_path / "check.md",
    )
    assert done.returncode == 0, done.stderr
    assert "| spins.simsched | fifo | 1x1 |" in (tmp_path / "check.md").read_text()
    assert "1 cases" in done.stdout


def test_calibrating_on_given_widths_and_pairs(spinning, tmp_path):
    """Two graphs; the report has points, the threads' costs and the pairs; what cannot be is one clear line."""
    out = tmp_path / "host.json"
    options = ("--out", out, "--repeats", "2")
    done = simsched("calibrate", spinning, spinning, *options, "--widths", "1", "--pairs", "0")
    assert done.returncode == 0, done.stderr
    found = ss.Calibration.load(out)
    assert [point.width for point in found.ops[0].points] == [1]
    assert found.facts["runs"] == 4
    assert found.pairs == ()
    assert "wake up" in done.stdout
    assert f"wrote {out}" in done.stdout
    pairs = "1" if ss.machine("host").n_threads > 1 else "0"
    climb = ("--widths", "climb", "--climb-step", "1", "--tolerance", "0.1", "--pairs", pairs)
    done = simsched("calibrate", spinning, *options, *climb)
    assert done.returncode == 0, done.stderr
    assert ss.Calibration.load(out).method.endswith("climb in steps of 1")
    assert len(ss.Calibration.load(out).pairs) == int(pairs)
    for wrong, says in (("all", "widths='all'"), ("1,4096", "has teams of 1 to")):
        done = simsched("calibrate", spinning, *options, "--widths", wrong)
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
def test_bad_input_is_one_clear_line(spinning, arguments, says):
    done = simsched("execute", spinning, *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
