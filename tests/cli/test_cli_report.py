"""`simsched report` as people type it."""

import json
import re
import sys

import pytest

from simsched.cli import app as cli

SMALL = ["lstm[layers=1,steps=2,hidden=8,batch=4]", "-m", "generic[cores=4]", "-p", "fifo", "-p", "critical-path",
         "--replays", "2", "--seeds", "2"]  # fmt: skip


@pytest.fixture
def run(monkeypatch, capsys):
    def typed(*arguments):
        monkeypatch.setattr(sys, "argv", ["simsched", "report", *map(str, arguments)])
        with pytest.raises(SystemExit) as done:
            cli.main()
        said = capsys.readouterr()
        return done.value.code, said.out, said.err

    return typed


def test_both_files_and_the_verdict(run, tmp_path):
    files = [tmp_path / "report.html", tmp_path / "report.md"]
    code, out, _ = run(*SMALL, "--out", files[0], "-o", files[1])
    assert code == 0
    assert "the shortest of 2 policies" in out
    assert out.endswith(f"wrote {files[0]}\nwrote {files[1]}\n")
    assert files[0].read_text("utf-8").startswith("<!DOCTYPE html>")
    command = "simsched report 'lstm[layers=1,steps=2,hidden=8,batch=4]' -m 'generic[cores=4]' -p fifo"
    assert command in files[1].read_text("utf-8")


def test_markdown_and_json_are_printed(run):
    _, out, _ = run(*SMALL, "--markdown")
    assert re.match(r"# lstm\[.*\] on generic\[cores=4\]\n", out)
    _, out, _ = run(*SMALL, "--json")
    facts = json.loads(out)
    assert facts["policy"] in {"fifo", "critical-path"}
    assert facts["headline"].endswith(".")
    rows = facts["tables"]["Policies on generic[cores=4], the shortest first"]
    assert {row["policy"] for row in rows} == {"fifo", "critical-path"}


def test_noise_gives_intervals(run):
    _, out, _ = run(*SMALL, "--noise", "0.2", "--markdown")
    assert "| interval | 95 % interval of the mean |" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "report.pdf"], "a report is written as a page or as Markdown"),
        (["--out", "none/report.html"], "there is no folder"),
        (["--layout", "99x99"], "needs 9801 cores"),
        (["--policy", "nothing"], "nothing"),
        (["--markdown", "--json"], "--markdown and --json"),
    ],
)
def test_bad_usage_is_one_line(run, arguments, said):
    code, out, err = run(*SMALL, *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
