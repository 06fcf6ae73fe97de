"""The command that learns from recordings."""

import json

import simsched as ss
from simsched.learning.file import facts
from simsched.traces.samples import sample_files


def test_bundled_recording(tmp_path, piped):
    kineto, execution_trace = sample_files("cnn")
    files, out = [kineto, "--execution-trace", execution_trace], tmp_path / "host.toml"
    done = piped("learn", *files, "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    graph = ss.load(kineto, execution_trace=execution_trace)
    learned = ss.learn([graph])
    assert found["seconds"] == facts(learned)["seconds"]
    assert facts(ss.Learned.load(out)) == facts(learned)
    told = piped("learn", *files, "--cores", "1,2", "--picture", tmp_path / "curve.png", "--json")
    rows = json.loads(told.stdout)["rows"]
    assert [row["layout"] for row in rows] == ["1x1", "2x1"]
    assert rows[0]["makespan_s"] == learned.predict(graph, "fifo", [1])["makespan_s"][0]
    assert (tmp_path / "curve.png").stat().st_size > 1000


def test_bad_input_is_one_clear_line(tmp_path, piped):
    path = tmp_path / "made.simsched"
    ss.TaskGraph.from_edges([1.0]).save(path)
    for arguments, message in (([path], "no recorded tasks"), ([path, "--cores", "x"], "")):
        done = piped("learn", *arguments)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr
