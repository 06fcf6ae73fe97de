"""`simsched sweep`."""

import json
import sys

import pandas as pd
import pytest
from daemons import Daemons

from simsched.cli import app as cli
from simsched.sweep import Sweep, cluster

SPEC = """
graphs = ["lstm[layers=1,steps=2,hidden=64]"]
machines = ["generic[cores=4]"]
policies = ["fifo", "critical-path"]
layouts = ["2x1", "99x1"]
seeds = 5
"""


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path / "spec.toml"


def test_json_counts_points_and_errors(spec, tmp_path, piped):
    done = piped("sweep", spec, "--out", tmp_path / "out", "--json", "--workers", 2)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["points"], facts["failed"]) == (20, 10)
    assert sum(facts["errors"].values()) == 10
    assert len(pd.read_parquet(facts["results"])) == 20
    assert any("library" in note for note in facts["notes"])


def test_text_and_going_on(spec, tmp_path, piped):
    first, again = (piped("sweep", spec, "--out", tmp_path / "out") for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert "20 points, 10 failed, in" in first.stdout
    assert "10 x LayoutError: the layout 99x1 needs 99 cores" in first.stdout
    assert again.stdout == first.stdout


def test_a_sweep_of_failures_alone_fails(spec, tmp_path, piped):
    spec.write_text(SPEC.replace('"2x1", ', ""))
    done = piped("sweep", spec, "--out", tmp_path / "out", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["failed"] == 10
    assert "error: all points failed; " in done.stderr


def test_an_interrupt_says_what_is_kept(spec, tmp_path, monkeypatch, capsys):
    def interrupted():
        error = KeyboardInterrupt()
        error.add_note("3 of 20 points are kept")
        raise error

    monkeypatch.setattr(Sweep, "run", lambda *_, **__: interrupted())
    monkeypatch.setattr(sys, "argv", ["simsched", "sweep", str(spec), "--out", str(tmp_path / "new")])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == 130
    assert capsys.readouterr().err == "simsched: interrupted: 3 of 20 points are kept\n"


def test_the_same_on_a_cluster(spec, tmp_path, piped):
    piped("sweep", spec, "--out", tmp_path / "here")
    with Daemons(tmp_path) as daemons:
        daemons.start()
        done = piped("sweep", spec, "--out", tmp_path / "there", "--cluster", daemons.address)
    assert done.returncode == 0, done.stderr
    here, there = (pd.read_parquet(tmp_path / name / "results.parquet") for name in ("here", "there"))
    pd.testing.assert_frame_equal(here.drop(columns="replay_s"), there.drop(columns="replay_s"))


def test_errors_are_one_line(spec, tmp_path, piped):
    piped("sweep", spec, "--out", tmp_path / "out")
    (tmp_path / "other.toml").write_text(SPEC.replace("seeds = 5", "seeds = 6"))
    (tmp_path / "wrong.toml").write_text(SPEC + "sedes = 1")
    for arguments, words in (
        (
            [tmp_path / "other.toml", "--out", tmp_path / "out"],
            "the store of another sweep: seed, points differ;",
        ),
        ([tmp_path / "wrong.toml", "--out", tmp_path / "new"], "sedes: unknown key"),
        ([spec], "--out"),
    ):
        done = piped("sweep", *arguments)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_no_cluster_is_one_line(spec, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cluster, "CONNECT_S", 0.2)
    asked = ["sweep", str(spec), "--out", str(tmp_path / "new"), "--cluster", "tcp://127.0.0.1:9"]
    monkeypatch.setattr(sys, "argv", ["simsched", *asked])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == 2
    assert "no Dask scheduler at tcp://127.0.0.1:9" in capsys.readouterr().err
