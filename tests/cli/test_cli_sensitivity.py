"""The command `sensitivity`."""

import json


def test_numbers_as_json_and_pictures(tmp_path, piped):
    options = [
        "lstm[layers=1,steps=1]",
        "-m",
        "generic",
        "--parameter",
        "cores.clock",
        "--parameter",
        "runtime.pop",
    ]
    done = piped("sensitivity", *options, "--json", "--out", tmp_path / "t.png", "--out", tmp_path / "t.csv")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["parameter"] for row in rows] == ["cores.clock", "runtime.pop"]
    assert rows[0]["elasticity"] < 0 == rows[1]["elasticity"]
    assert all((tmp_path / name).stat().st_size > 100 for name in ("t.png", "t.csv"))


def test_sobol(tmp_path, piped):
    options = ["lstm[layers=1,steps=1]", "-m", "generic", "--parameter", "cores.clock", "--sobol", "8"]
    done = piped("sensitivity", *options, "--out", tmp_path / "s.svg")
    assert done.returncode == 0, done.stderr
    assert "first" in done.stdout
    assert (tmp_path / "s.svg").stat().st_size > 100


def test_what_is_wrong_is_told_in_a_line(piped):
    for options, said in (
        (["--parameter", "cores.clok"], "no parameter"),
        (["--sobol", "7"], "power of two"),
        (["--change", "2"], "change is 2.0"),
        (["--noise", "pink"], "noise is 'pink'"),
        (["--out", "x.pdf"], ".csv"),
    ):
        done = piped("sensitivity", "lstm[layers=1,steps=1]", "-m", "generic", *options)
        assert (done.returncode, said in done.stderr) == (2, True)
        assert done.stderr.count("\n") == 1
