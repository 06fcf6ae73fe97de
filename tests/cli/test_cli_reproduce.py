"""`simsched reproduce` and `simsched list papers`."""

import json
import os
import re

import pytest


def test_json_is_rows_and_nothing_else(piped):
    done = piped("reproduce", "chaos", "--tables", "Table 8", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert len(rows) == 12
    fields = ["system", "table", "case", "quantity", "unit", "simulated", "paper", "relative_error", "use"]
    assert all(list(row) == fields for row in rows)
    assert rows[0]["case"] == {"network": "small", "threads": 480}
    assert rows[4]["paper"] is rows[4]["relative_error"] is None
    assert "8 equal as printed" in done.stderr


def test_text_pictures_and_progress(tmp_path, piped):
    done = piped("reproduce", "swtvm", "-t", "Fig. 5", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "## Fig. 5: time, ms, network alexnet" in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["swtvm-Fig._5.png", "swtvm.md"]
    assert (tmp_path / "out/swtvm.md").read_text() in done.stdout


def test_all_systems_are_written_though_the_reader_of_a_pipe_stops_early(tmp_path, served):
    """It stopped after the system at which the reader had gone."""
    ask, status = served
    reader, writer = os.pipe()
    os.close(reader)
    with (tmp_path / "stderr").open("wb") as errors:
        words = ["reproduce", "all", "-t", "Fig. 5", "--out", "out"]
        ask(words, tmp_path, dict(os.environ), [writer, errors.fileno()])
    os.close(writer)
    assert status() == 0, (tmp_path / "stderr").read_text()
    assert {path.name for path in (tmp_path / "out").glob("*.md")} == {"graphi.md", "swtvm.md"}


def test_list_of_papers(piped):
    done = piped("list", "papers")
    assert done.returncode == 0, done.stderr
    assert re.search(r"(?m)^chaos +Workers that train", done.stdout)
    assert "Table 8; Table 9; Fig. 5, 8" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("chaso",), "no published system is called 'chaso'"),
        (("chaos", "-t", "Table 99"), "chaos has no table 'Table 99'"),
        (("chaos[variant=best]",), "chaos[variant='best']: expected one of chaos"),
        (("chaos[colour=1]",), "has no parameter 'colour'; it has variant, batch"),
    ],
)
def test_bad_input_is_one_clear_line(arguments, says, piped):
    done = piped("reproduce", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
