"""The command that lays a recorded run beside its replays."""

import json

import pytest

import simsched as ss
from simsched.traces.samples import sample_files


def test_bundled_recording(piped):
    kineto, execution_trace = sample_files("cnn")
    files = [kineto, "--execution-trace", execution_trace]
    done = piped("replay-recorded", *files, "-p", "fifo", "-p", "sequential", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = found["rows"]
    assert any("wrappers" in note for note in found["notes"])
    assert [(row["policy"], row["layout"]) for row in rows] == [("fifo", "1x1"), ("sequential", "1x1")]
    expected = ss.replay_recorded(ss.load(kineto, execution_trace=execution_trace), "fifo").row()
    assert rows[0]["calibrated_s"] == pytest.approx(expected["calibrated_s"])
    told = piped("replay-recorded", *files)
    assert "recorded" in told.stdout
    assert "wake-up" in told.stdout


def test_bad_input_is_one_clear_line(tmp_path, piped):
    path = tmp_path / "made.simsched"
    ss.TaskGraph.from_edges([1.0]).save(path)
    done = piped("replay-recorded", path)
    assert done.returncode == 2
    assert "has no recording" in done.stderr
    assert "Traceback" not in done.stderr
