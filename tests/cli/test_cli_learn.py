"""The command that learns from recordings."""

import json

import numpy as np

import simsched as ss
from simsched.graph import Recording
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


def test_predictions_from_a_file(tmp_path, piped):
    kineto, execution_trace = sample_files("cnn")
    graph = ss.load(kineto, execution_trace=execution_trace)
    learned, out = ss.learn([graph]), tmp_path / "host.toml"
    learned.save(out)
    files = [kineto, "--execution-trace", execution_trace]
    done = piped("predict", *files, "--learned", out, "--cores", "1,2", "--samples", "3", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["layout"] for row in rows] == ["1x1", "2x1"]
    assert rows[1]["makespan_s"] == learned.predict(graph, "fifo", [1, 2], samples=3)["makespan_s"][1]
    other = piped(
        "predict",
        *files,
        "--learned",
        out,
        "-m",
        "generic[cores=2]",
        "--cores",
        "2",
        "--samples",
        "1",
        "--json",
    )
    expected = learned.predict(graph, cores=[2], machine="generic[cores=2]", samples=1)
    assert json.loads(other.stdout)["rows"][0]["makespan_s"] == expected["makespan_s"][0]
    for wrong, message in (
        (["--learned", out, "--weak"], "--weak: predictions from recordings"),
        (["--learned", tmp_path / "none.toml"], "none.toml"),
        (["--machine", out], f"give it as `simsched predict GRAPH --learned {out}`"),
    ):
        refused = piped("predict", *files, *wrong)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert message in refused.stderr.replace("\n  ", " ")


def test_recordings_of_one_file_name_are_told_apart_by_their_paths(tmp_path, piped):
    files = []
    for place, folder in enumerate("ab", 1):
        ends = np.cumsum(np.full(4, 0.1 * place))
        run = Recording(ends - 0.1 * place, ends, np.zeros(4, np.int32), ("a",))
        files.append(tmp_path / folder / "r.simsched")
        files[-1].parent.mkdir()
        ss.TaskGraph.from_edges([1.0] * 4, kinds="k", recording=run, name="r").save(files[-1])
    done = piped("learn", *files, "--validate", "--json")
    assert [row["recording"] for row in json.loads(done.stdout)["rows"]] == list(map(str, files))


def test_bad_input_is_one_clear_line(tmp_path, piped):
    path = tmp_path / "made.simsched"
    ss.TaskGraph.from_edges([1.0]).save(path)
    for arguments, message in (([path], "no recorded tasks"), ([path, "--cores", "x"], "")):
        done = piped("learn", *arguments)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr
