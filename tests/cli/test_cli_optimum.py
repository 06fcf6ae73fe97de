"""`simsched optimum`, `compare --bound` and the searches of `simsched tune`."""

import json

import pytest

import simsched as ss


@pytest.fixture(scope="module")
def graph_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("graphs") / "five.simsched"
    ss.TaskGraph.from_edges([3.0, 3.0, 2.0, 2.0, 2.0], kinds="k\x1b[2J").save(path)
    return str(path)


def test_optimum(graph_file, tmp_path, piped):
    options = [
        graph_file,
        "-m",
        "generic[cores=2]",
        "--layout",
        "2x1",
        "--limit",
        "5",
        "--out",
        tmp_path / "o.csv",
    ]
    done = piped("optimum", *options, "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    wanted = {
        "makespan_s": 6,
        "bound_s": 6,
        "gap": 0,
        "status": "optimal",
        "layout": "2x1",
        "exact": True,
    }
    assert {key: facts[key] for key in wanted} == wanted
    serial = "kinds taken to be serial, as nothing is known of them ('k\\x1b[2J')"
    assert [note.partition(":")[0] for note in facts["notes"]][1:] == ["cost curves", serial]
    assert (tmp_path / "o.csv").read_text().count("\n") == 6
    text = piped("optimum", *options[:5], "-m", "knl-7250[cores=2]")
    assert text.returncode == 0, text.stderr
    assert "status      optimal" in text.stdout
    assert "note: left out: what running tasks share here" in text.stdout


def test_what_is_wrong_is_one_line(graph_file, piped):
    for options, message in ((["--limit", "0"], "limit_s is 0.0"), (["--layout", "9x9"], "needs 81 cores")):
        done = piped("optimum", graph_file, "-m", "generic[cores=2]", *options)
        assert done.returncode == 2
        assert message in done.stderr
        assert done.stderr.count("\n") == 1


def test_compare_with_an_optimum(graph_file, piped):
    options = ["-m", "generic[cores=2]", "-p", "critical-path", "--bound", "optimum", "--limit", 5, "--json"]
    done = piped("compare", graph_file, *options)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["bound_s"], row["bound_from"], row["makespan_s"]) == (6, "area", 7)
    assert row["gap"] == pytest.approx(1 / 6)


def test_searches(graph_file, tmp_path, piped):
    picture, table = tmp_path / "t.png", tmp_path / "t.csv"
    for method in ("widths", "optuna"):
        options = ["-m", "generic[cores=2]", "--evaluations", 8, "--out", picture, "--out", table, "--json"]
        done = piped("tune", graph_file, "--method", method, *options)
        assert done.returncode == 0, done.stderr
        rows = json.loads(done.stdout)["rows"]
        assert 1 <= len(rows) <= 8
        assert "\x1b" not in done.stdout
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert table.read_text().partition("\n")[0].endswith(",evaluation")
