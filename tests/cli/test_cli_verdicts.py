"""The command `verdicts`, and noise on the command line."""

import json

import pytest

GRAPHS = ["lstm[layers=1,steps=2]", "lstm[layers=2,steps=2]"]


def test_verdicts_in_words_and_as_json(tmp_path, piped):
    options = [*GRAPHS, "-p", "critical-path", "-p", "sequential", "-m", "generic", "--seeds", "5"]
    done = piped("verdicts", *options, "--out", tmp_path / "v.png", "--out", tmp_path / "v.csv")
    assert done.returncode == 0, done.stderr
    assert [f"{g}: " in done.stdout for g in (*(f"on {g}" for g in GRAPHS), "over all graphs")] == [True] * 3
    assert "note: " in done.stdout
    assert all((tmp_path / name).stat().st_size > 100 for name in ("v.png", "v.csv"))
    found = json.loads(piped("verdicts", *options, "--over", "graphs", "--json").stdout)
    assert [row["pairs"] for row in found["rows"]] == [5, 5, 2]
    assert found["notes"]


def test_noise_of_run_and_compare(piped):
    run = [GRAPHS[0], "-m", "generic", "--json", "--noise"]
    quiet, loud, again = (
        json.loads(piped("run", *run, noise).stdout)["makespan_s"]
        for noise in ("0", "stragglers[share=0.5]", "stragglers[share=0.5]")
    )
    assert quiet < loud == again
    found = json.loads(piped("compare", *run, "stragglers[share=0.5]", "-p", "critical-path").stdout)
    (row,) = found["rows"]
    assert row["makespan_s"] == pytest.approx(loud)


def test_what_is_wrong_is_told_in_a_line(piped):
    for options, said in (
        ([GRAPHS[0], "-p", "fifo"], "two or more"),
        (["-p", "fifo", "-p", "corun"], "GRAPH"),
        ([GRAPHS[0], "-p", "fifo", "-p", "corun", "--over", "graphs"], "give two of them"),
    ):
        done = piped("verdicts", *options)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
