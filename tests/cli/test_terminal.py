"""What is shown on a terminal: widths, bars, interrupts, encodings; completion as shells ask for it."""

import io
import json
import math
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from simsched.cli import app as cli
from simsched.cli.common import records, say_json, say_notes, waiting
from simsched.progress import progress_bar


@pytest.mark.parametrize(
    ("line", "shell", "asked"),
    [
        ("--notes run rnn", {}, "run"),
        ("--version", {}, ""),
        ("", {"COMP_WORDS": "simsched compare --po", "_SIMSCHED_COMPLETE": "complete_bash"}, "compare"),
        ("", {"_TYPER_COMPLETE_ARGS": "simsched tune rnn ", "_SIMSCHED_COMPLETE": "complete_zsh"}, "tune"),
        ("learn a.json", {"COMP_WORDS": "other tool"}, "learn"),
    ],
)
def test_what_is_imported_is_what_is_asked_for(line, shell, asked, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["simsched", *line.split()])
    for name in ("COMP_WORDS", "_TYPER_COMPLETE_ARGS", "_SIMSCHED_COMPLETE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in shell.items():
        monkeypatch.setenv(name, value)
    assert cli._asked() == asked


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "rnn"), ("tune", "rnn"), ("explain", "rnn", "--replays", "8"), ("run", "rnn"),
        ("reproduce", "swtvm", "--tables", "Fig. 5"), ("list", "machines"), ("list", "formats"), ("list", "papers"),
    ],
)  # fmt: skip
def test_lines_fit(columns, arguments, on_terminal):
    done = on_terminal(columns, *arguments)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) > 4
    assert [line for line in lines if len(line) > columns] == []


def test_markdown_is_a_table_on_a_terminal_and_markdown_in_a_pipe(on_terminal, piped):
    command = ("reproduce", "swtvm", "--tables", "Fig. 5")
    assert "| layer |" not in on_terminal(80, *command).stdout
    assert "| layer |" in piped(*command, COLUMNS="40").stdout


def test_an_encoding_without_a_character_is_no_error(piped):
    done = piped("explain", "rnn", "--task", "5", PYTHONIOENCODING="iso8859-5")
    assert done.returncode == 0, done.stderr
    assert "\\xb5s" in done.stdout


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, cli.Abort, None])
def test_an_interrupt_is_one_line(interrupt, monkeypatch, capsys):
    def interrupted(*arguments, **options):
        if interrupt is None:
            return 130  # so typer does with an interrupt in a command
        raise interrupt

    monkeypatch.setattr(cli, "commands", lambda _asked: interrupted)
    monkeypatch.setattr(cli, "arranged", lambda app, arguments: ["list"])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == 130
    assert capsys.readouterr().err == "simsched: interrupted\n"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "shows"), [(Terminal, True), (io.StringIO, False)])
def test_long_work_shows_that_it_goes_on_where_a_terminal_is(stream, shows, monkeypatch):
    bar, wait = stream(), stream()
    monkeypatch.setattr(sys, "stderr", bar)
    with progress_bar(2, "\x1bpolicy") as progress:
        time.sleep(1.1)
        progress(1)
    monkeypatch.setattr(sys, "stderr", wait)
    with waiting("reading \x1bfile"):
        time.sleep(1.3)
    assert ("50%" in bar.getvalue()) == ("\\x1bpolicy" in bar.getvalue()) == shows
    assert ("reading \\x1bfile: 00:00" in wait.getvalue()) == shows


def test_short_work_shows_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar(2, "policy") as progress, waiting("reading"):
        progress(1)
    assert sys.stderr.getvalue() == ""


def test_json_has_null_for_what_is_no_number(capsys):
    frame = pd.DataFrame(
        {"a_s": [1.5, np.nan], "n": [1, 2], "flag": [True, False], "name": ["\x7f\x1b\u2028", None]}
    )
    say_json({"rows": records(frame), "least_s": -math.inf, "count": np.int64(3)})
    told = capsys.readouterr().out
    assert told.isascii()
    assert "\x7f" not in told
    assert json.loads(told) == {
        "rows": [
            {"a_s": 1.5, "n": 1, "flag": True, "name": "\x7f\x1b\u2028"},
            {"a_s": None, "n": 2, "flag": False, "name": None},
        ],
        "least_s": None,
        "count": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("run --machine knl", ["knl-7210", "knl-7250"]),
        ("tune rnn --policy crit", ["critical-path"]),
        ("run ls", ["lstm"]),
        ("list form", ["formats"]),
        ("reproduce al", ["all"]),
        ("run rnn --core", ["--core-use"]),
        ("run my_own_fi", []),
    ],
)
def test_bash_completes(words, found, piped):
    typed = f"simsched {words}"
    index = str(len(typed.split()) - 1)
    done = piped(COMP_WORDS=typed, COMP_CWORD=index, _SIMSCHED_COMPLETE="complete_bash")
    assert done.stdout.split() == found, done.stderr


def test_version_and_completion_script(piped):
    assert piped("--version").stdout.startswith("simsched ")
    # The shell that asks is the one whose script is shown.
    command = f"{sys.executable} -m simsched.cli.app --show-completion; true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "complete_bash" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "rnn", "--polcy", "fifo"), "has no option --polcy; did you mean --policy?"),
        (("run", "lstmm"), "names them); did you mean lstm?"),
        (("crosscheck", "rnn", "--step", "3"), "rnn is a workload, which has no option --step"),
    ],
)
def test_slips_are_told_what_was_meant(arguments, says, piped):
    done = piped(*arguments)
    assert done.returncode == 2
    assert says in done.stderr


def test_only_the_weightiest_notes_are_printed_unless_all_are_asked_for(capsys):
    notes = [f"note {number}" for number in range(5)]
    say_notes(notes[:4])
    assert capsys.readouterr().out.count("note: ") == 4
    say_notes(notes)
    assert capsys.readouterr().out.splitlines() == [
        "note: note 0", "note: note 1", "note: note 2", "note: 2 more; --notes prints all",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"), [(["--notes"], []), ([], ["--notes"]), (["--notes"], ["--notes"])]
)
def test_all_notes_may_be_asked_for_anywhere(before, after, piped):
    options = ["--cores", "34,68,136,204,272,544", "--machine", "knl-7250", "--samples", "1"]
    done = piped(*before, "predict", "lstm[layers=1,steps=1]", *after, *options)
    assert done.returncode == 0, done.stderr
    assert "note: 544 cores: the machine is built with 68 cores" in done.stdout
    assert "--notes prints all" not in done.stdout
