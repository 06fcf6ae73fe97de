"""What every command keeps, those of the future too: help, JSON, errors, widths, hostile names, completion."""

import json
import re

import pytest

from simsched.cli.app import FILES, commands

COMMANDS = commands().commands
#: Commands that read no file and no name.
WITHOUT_INPUT = {"crossed", "measure"}
#: Commands that print no results.
WITHOUT_RESULTS: set[str] = set()
#: Commands that really run graphs, which refuse tasks whose kind they do not know (2) or hosts too disturbed (3).
REAL = {"execute", "calibrate", "crosscheck"}
#: Parameters that hold the name of a graph or of something registered, and a name that each completes.
NAMES = {
    "graph": "rnn", "graphs": "rnn", "machine": "knl-7250", "policy": "fifo", "paper": "graphi", "system": "graphi",
    "what": "machines", "names": "grace",
}  # fmt: skip
#: Values for required parameters that are not input.
VALUES = {
    "cores": "2,4",
    "out": "written.json",
    "target": "written.simsched",
    "policy": "fifo",
    "names": "grace",
}
#: Suffixes that options for files to write take, where not .png.
SUFFIXES = {"report --out": ".html", "measure --out": ".toml"}
#: What makes commands quick here.
BRIEF = {
    "execute": ["--repeats", "1"],
    "calibrate": ["--repeats", "1"],
    "crosscheck": ["--repeats", "1", "--policy", "fifo", "--layout", "1x1"],
    "explain": ["--replays", "4"],
    "report": ["--replays", "4"],
    "verdicts": ["--policy", "fifo", "--policy", "corun", "--seeds", "2"],
    "predict": ["--cores", "2,4"],
    "machines": ["generic", "grace", "--policy", "fifo", "--samples", "2"],
    "sensitivity": ["--parameter", "cores.clock"],
}
NASTY = "\x1b]0;title\x07\x1b[2J\x7f\r\n<b>\u202etask\x9b1m" + 40 * "/long"
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")


def examples(name):
    return re.findall(rf"(?m)^ *(simsched {name}\b.*)$", COMMANDS[name].epilog or "")


def arguments_of(name, source):
    """Return what the command needs to run on `source`."""
    words = []
    for param in COMMANDS[name].params:
        if param.param_type_name == "argument" and param.name not in VALUES:
            words.append(str(source))
        elif param.required:
            assert param.name in VALUES, f"{name}: give {param.name} a value in VALUES"
            words += [param.opts[0]] if param.param_type_name == "option" else []
            words.append(VALUES[param.name])
    return [name, *words, *BRIEF.get(name, [])]


def fails(constant):
    raise AssertionError(f"{constant} is not JSON")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A recording whose names, categories and lanes are what a terminal would obey."""
    lanes = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": NASTY}} for tid in (1, 2)
    ]
    spans = [
        {"ph": "X", "name": NASTY, "cat": NASTY, "pid": 1, "tid": 1 + i % 2, "ts": 10.0 * i, "dur": 9.0}
        for i in range(6)
    ]
    path = tmp_path_factory.mktemp("hostile") / "hostile.json"
    path.write_text(json.dumps({"traceEvents": [*lanes, *spans]}))
    return path


def test_each_is_looked_for_where_it_is() -> None:
    assert {
        name: command.callback.__module__.rpartition(".")[2] for name, command in COMMANDS.items()
    } == FILES
    assert list(COMMANDS) == list(FILES)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_that_fit(name, piped):
    done = piped(name, "--help", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert 1 <= len(examples(name)) <= 2
    for example in examples(name):
        assert re.search(rf"(?m)^ +{re.escape(example)}$", done.stdout), "no line of its own"
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_list_of_commands_is_whole_sentences(piped):
    told = piped("--help", COLUMNS="80").stdout
    assert all(re.search(rf"(?m)^  {name} +\S.*\.$", told) for name in COMMANDS)
    assert "..." not in told.partition("Commands:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_results_come_as_json(name):
    options = {option for param in COMMANDS[name].params for option in param.opts}
    assert ("--json" in options) == (name not in WITHOUT_RESULTS)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in WITHOUT_INPUT])
def test_what_is_not_there_is_one_clear_line(name, piped, tmp_path):
    missing = "no\x1b[2J\x07such"
    done = piped(*arguments_of(name, missing), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("simsched: error: ")
    assert "no\\x1b[2J\\x07such" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "param"),
    [
        (name, p)
        for name, c in COMMANDS.items()
        for p in c.params
        if p.opts[0][:2] == "--" and p.metavar == "FILE"
    ],
)
def test_where_nothing_can_be_written_is_told_before_any_work(name, param, piped, tmp_path):
    arguments = [
        *arguments_of(name, "no-such-graph"),
        param.opts[0],
        f"nowhere/x{SUFFIXES.get(f'{name} {param.opts[0]}', '.png')}",
    ]
    done = piped(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no folder nowhere; create it first" in done.stderr


def takes_a_graph(name):
    return any(param.name in ("graph", "graphs") for param in COMMANDS[name].params)


@pytest.mark.parametrize("name", list(filter(takes_a_graph, COMMANDS)))
def test_names_from_files_are_only_shown(name, hostile, on_terminal, tmp_path):
    done = on_terminal(60, *arguments_of(name, hostile), cwd=tmp_path)
    assert done.returncode in ({0, 2, 3} if name in REAL else {0}), done.stderr
    assert not CONTROLS.search(done.stdout + done.stderr)
    lines = done.stdout.splitlines()
    assert done.returncode == 2 or lines
    assert [line for line in lines if len(line) > 60 and " " in line.strip()] == []


@pytest.mark.parametrize("name", list(filter(takes_a_graph, COMMANDS)))
def test_json_is_json_and_nothing_else(name, hostile, piped, tmp_path):
    if name in WITHOUT_RESULTS:
        return
    done = piped(*arguments_of(name, hostile), "--json", cwd=tmp_path)
    assert done.returncode in ({0, 2, 3} if name in REAL else {0}), done.stderr
    assert not CONTROLS.search(done.stdout + done.stderr)
    if done.returncode != 2:
        assert json.loads(done.stdout, parse_constant=fails)


@pytest.mark.parametrize(
    ("name", "param"), [(name, p) for name, c in COMMANDS.items() for p in c.params if p.name in NAMES]
)
def test_names_are_completed(name, param):
    command = COMMANDS[name]
    context = command.make_context(name, [], resilient_parsing=True)
    wanted = NAMES[param.name]
    found = [item.value for item in param.shell_complete(context, wanted[:3])]
    assert wanted in found
    assert all(value.startswith(wanted[:3]) for value in found)
