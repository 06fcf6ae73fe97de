"""`simsched crossed`."""

import json


def test_json_is_runs_and_their_notes(tmp_path, piped):
    done = piped("crossed", "--machine", "own", "--system", "swtvm", "--json", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = found["rows"]
    assert any(note.startswith("cost curves:") for note in found["notes"])
    assert len(rows) == 2 * 5
    assert {row["policy_of"] for row in rows} == {"graphi", "concurrency-control", "swtvm", "chaos", "wpar"}
    assert all(row["over_own"] == 1 for row in rows if row["policy_of"] == "swtvm")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "crossed-own.png",
        "crossed.csv",
        "crossed.md",
    ]


def test_bad_names_are_one_line(piped):
    for arguments, words in ((["-s", "nobody"], "nobody"), (["-m", "nothing"], "nothing")):
        done = piped("crossed", *arguments)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr
